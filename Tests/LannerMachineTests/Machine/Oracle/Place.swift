import LannerMachine

/// What the model knows of one download.
final class Place {
    let id: DownloadID
    /// Whether the machine has it.
    var isKnown = true
    var list: String?
    /// The host of its URL, and of the one it last began with.
    var host = HostID.unknown
    var begunHost = HostID.unknown
    var isShelved = false
    var remote: Remote
    var hasDigest: Bool {
        didSet { hadDigest = true }
    }
    /// Whether there was a digest at some time: then bytes may be mixed for a while, though never published so.
    private(set) var hadDigest: Bool

    var generations: [Generation] = []
    var file: WorkingFile?
    /// The version that was moved to its place.
    var finished: Int?
    /// Whether another URL or other pieces were given since the file was opened.
    var isOtherAsked = false
    /// Whether somebody has cut or removed the partial file since it was last opened.
    var isTampered = false {
        didSet { wasTampered = wasTampered || isTampered }
    }
    /// The same since ever: a record of before may come back with a crash.
    private(set) var wasTampered = false
    /// What is being removed, if anything is.
    var discard: (attempt: Attempt, finished: Bool)?

    var flows: [Flow] = []
    /// The call for another link that is out, and whether a link was given since the file was opened that has brought
    /// nothing yet.
    var call: (attempt: Attempt, reason: LinkReason)?
    var isLinkFresh = false
    /// When the link's time is over, and whether the server refuses it.
    var linkExpires: Int64?
    var isLinkDead = false

    /// Events of attempts and exchanges that are over, still on their way.
    var stray: [Event] = []

    /// What the store holds, nil when nothing.
    var kept: Saved?
    /// Whether the store still has to handle the removal of the record.
    var isUnrecording = false
    /// Whether the store has handled it, well or not.
    var isForgettable = false

    var attempt: Attempt = 0
    var phase = Phase.suspended
    var progress: Int64 = 0
    /// Whether progress may go back, a restart having been told.
    var mayGoBack = false

    init(id: DownloadID, remote: Remote, hasDigest: Bool) {
        self.id = id
        self.remote = remote
        self.hasDigest = hasDigest
        hadDigest = hasDigest
    }

    /// Whether a whole version was received that no digest decides on, and nothing else is out.
    var hasAll: Bool {
        guard let file, !hasDigest, file.expected == nil, flows.allSatisfy({ $0.stage == .over }) else { return false }
        return remote.totals.contains { file.received == ByteRanges([0..<$0]) }
    }

    /// Index of a generation, made when it is not there.
    func generation(_ number: UInt32) -> Int {
        if let index = generations.firstIndex(where: { $0.number == number }) { return index }
        generations.append(Generation(number: number))
        if generations.count > 3 { generations.removeFirst() }
        return generations.count - 1
    }
}

/// A partial file that is open, as the engine has it.
struct WorkingFile {
    enum Work: Equatable {
        case open(ByteRanges)
        case write(Range<Int64>, version: Int)
        case setTotal
        case sync
        case verify(Int64)
        case publish
        /// The file was moved before, and is looked for in its place.
        case find
        case close
    }

    let attempt: Attempt
    let generation: UInt32
    var work: [Work]
    /// Whether the caller's digest was there when it was opened: one that comes later is not compared.
    var hasDigest = false
    var isOpen = false
    var hasFailed = false
    var isClosing = false
    var verified: Int64?
    var verification: Verification?
    /// The version whose digest the server has told.
    var expected: Int?
    var written = ByteRanges()
    var synced = ByteRanges()
    /// What was written and was not right.
    var wrong = ByteRanges()

    /// Whether once nothing more was wanted of the server, all that it sent being there or waiting to be written.
    var isSettled = false

    /// What is written, or waits for that.
    var received: ByteRanges {
        var received = written
        for case .write(let range, _) in work { received.insert(range) }
        return received
    }

    /// Whether all of it is there, and it is only to be looked over, synced and moved.
    var isFinishing: Bool {
        verified != nil
            || work.contains { work in
                switch work {
                case .verify, .publish, .find: true
                case .open, .write, .setTotal, .sync, .close: false
                }
            }
    }
}

/// One exchange.
struct Flow {
    enum Stage: Equatable {
        case asked
        case headed
        case redirected
        case flowing
        case over
    }

    let number: ExchangeNumber
    let ask: Ask
    var stage = Stage.asked
    var answer: Remote.Answer?
    /// Up to where the body has come, and up to where it was handed to the file.
    var position: Int64 = 0
    var handed: Int64 = 0
    /// Where the connection breaks.
    var cut: Int64?
    var isStalled = false
    var redirects = 0
    var window: Range<Int64>?
    var accepted = Duration.zero

    /// What the file is still to get of it.
    var rest: Range<Int64>? { window.map { min(handed, $0.upperBound)..<$0.upperBound } }

    /// Whether a range may be asked for besides: nobody brings it, or this does, and can end before, or is not waited
    /// for as it has brought nothing for long.
    func leaves(_ range: Range<Int64>, at now: Duration) -> Bool {
        guard stage == .flowing, let window else { return !(ask.range ?? 0..<Int64.max).overlaps(range) }
        let hasBroughtNothing = handed == window.lowerBound && now - accepted >= Pace.recentTime
        let least = hasBroughtNothing ? window.lowerBound : window.lowerBound + 1
        return !window.overlaps(range) || least <= range.lowerBound && window.upperBound >= range.upperBound
    }
}
