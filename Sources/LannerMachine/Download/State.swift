/// Where one download stands. Payload that only one state needs lives in that state; what only a few downloads at a time
/// hold lives outside, so that the many that wait or rest are small.
package enum State: Sendable, Equatable {
    /// Wants to run and may not yet; no file is open. Holds no slot.
    ///
    /// Who waits for a slot is given none while there is no network. `network` is for a download whose transport found
    /// none that it may use, though there should be one: it is tried again when that changes, or after a while.
    ///
    /// Exits: `opening` (admitted), `publishing` (admitted, the file having been moved before), `suspended`, `pausing`
    /// (cancel, remove).
    case waiting(Wait)

    /// Holds a slot; the partial file is being opened, then another link asked for if need be, then the first request is
    /// out.
    ///
    /// Exits: `transferring` (an answer that can be used), `verifying` (nothing was missing), `pausing` (a verb, a
    /// failure).
    indirect case opening(Opening)

    /// Bytes arrive. Holds a slot; when all bytes of a small file are here, and are only to be written, as `verifying`.
    ///
    /// Exits: `verifying` (all bytes are written), `opening` (from zero with a new request), `pausing` (a verb, a
    /// failure).
    indirect case transferring(Transfer)

    /// The partial file is being closed, or the files are being removed; what for is the intent. Holds what it has of
    /// its slot until the file is closed. Verbs may still change the intent.
    ///
    /// Exits: what the intent says.
    case pausing(Pausing)

    /// The file is complete and is being synced and compared with its digest. Holds a slot where a digest may say that
    /// bytes are to be fetched again; else, as nothing more is wanted of the server, only the part of it that is its
    /// list's and its host's: the rest waits for the device, which does it for many at once.
    ///
    /// Exits: `publishing` (as it should be), `transferring` (a piece is wrong), `opening` (from zero, when bytes of an
    /// earlier attempt may be to blame), `pausing` (a verb, a failure, a mismatch).
    case verifying(Verifying)

    /// The file is being recorded, moved, and recorded again. Holds only the part of a slot that is its list's and its
    /// host's. No verb stops it; what was asked meanwhile is done afterwards.
    ///
    /// Exits: `succeeded`, `pausing` (cancel or remove asked meanwhile, or the first record failed), `waiting` (the
    /// disk refuses the move or a record for now, or what was moved is gone, or not what is asked for), `suspended` (the
    /// same, suspend asked meanwhile), `failed`.
    indirect case publishing(Publishing)

    /// Stopped by the user, or found so at launch; the bytes are kept.
    ///
    /// Exits: `waiting` (start), `pausing` (cancel, remove).
    case suspended

    /// Ended without a file. The bytes are kept where they may be of use.
    ///
    /// Exits: `waiting` (start), `pausing` (cancel, remove).
    case failed(DownloadFailure)

    /// The file is verified, in its place, and recorded.
    ///
    /// Exits: `waiting` (downloaded again), `pausing` (remove).
    case succeeded
}

/// What a download waits for.
package enum Wait: Sendable, Hashable {
    /// A slot, its list's, its host's or the machine's: which is missing changes with every other download.
    case slot
    /// The time of the next attempt.
    case retry(at: Duration)
    /// A network that may be used.
    case network
    /// Space on the disk; looked at again at that time.
    case disk(until: Duration)
    /// To be taken off the shelf: what is not wanted for the time being does not run, whatever else is asked of it; and not
    /// before the time of the next attempt, where there is one.
    case shelved(until: Duration?)

    /// Before which no attempt is to be made.
    var nextAttempt: Duration? {
        switch self {
        case .retry(let time): time
        case .shelved(let time): time
        case .slot, .network, .disk: nil
        }
    }
}

/// What `opening` knows.
package struct Opening: Sendable, Equatable {
    /// How far it is.
    package enum Step: Sendable, Equatable {
        /// The partial file is being opened.
        case file
        /// It is open, or new and takes bytes; and another link was asked for at a time.
        case link(asked: Duration)
        /// The request is out.
        case request(Exchange)
    }

    package var step: Step
}

/// One request and its answer.
package struct Exchange: Sendable, Equatable {
    package var number: ExchangeNumber
    package var ask: Ask
    package var begun: Duration
    /// When bytes of it last came.
    package var lastAdvance: Duration
    /// How many redirects led here.
    package var redirects = 0
    /// Whether the answer leads elsewhere, which is being looked at.
    package var isLeaving = false
    /// Where the body belongs, once the answer was judged; the end is open when the size is not known.
    package var body: Range<Int64>?
    /// Bytes of the body so far.
    package var received: Int64 = 0
    /// Bytes that the transport holds, when it hands the body over in the end.
    package var held: Int64 = 0
    /// Whether the server has said that it sends parts, and whether the answer tells how long it is.
    package var (offersRanges, tellsLength) = (false, false)
    /// What came lately.
    var recent: RecentSpeed
    /// Whether it went at once where a redirect had led another one: of this attempt, or of an earlier one.
    var (wasLed, takesOldWay) = (false, false)

    init(number: ExchangeNumber, ask: Ask, begun: Duration) {
        (self.number, self.ask, self.begun, lastAdvance) = (number, ask, begun, begun)
        recent = RecentSpeed(since: begun)
    }

    package var isAccepted: Bool { body != nil }

    /// Bytes a second, lately or in all.
    func speed(at now: Duration) -> Int64 {
        recent.speed ?? received.perSecond(over: now - begun)
    }

    /// What is still to come of an accepted answer.
    package var rest: Range<Int64>? {
        body.map { min($0.upperBound, $0.lowerBound.addingClamped(received))..<$0.upperBound }
    }

    /// Bytes still to come, as far as is known.
    package var remaining: Int64 {
        guard let range = body ?? ask.range else { return .max }
        return max(0, range.upperBound - range.lowerBound - received)
    }
}

/// What one exchange has brought of late.
struct RecentSpeed: Sendable, Equatable {
    private var since: Duration
    private var received: Int64 = 0
    /// Bytes a second over the last full window; nil until there was one.
    private(set) var speed: Int64?

    init(since: Duration) {
        self.since = since
    }

    /// So much has come by now. A window in which it was held back does not count.
    mutating func look(at received: Int64, now: Duration, isHeldUp: Bool) {
        let time = now - since
        guard isHeldUp || time >= Pace.recentTime else { return }
        speed = isHeldUp ? nil : (received - self.received).perSecond(over: time)
        (since, self.received) = (now, received)
    }
}

/// What came from a place.
struct Share: Sendable, Equatable {
    var body: Range<Int64>
    var source: Source
}

/// How many exchanges a place was bringing when it refused another one.
struct Limit: Sendable, Equatable {
    var count: Int
    var time: Duration
}

/// What `transferring` knows.
package struct Transfer: Sendable, Equatable {
    /// The requests that are out, oldest first; few.
    package var exchanges: [Exchange]
    /// Positions that are written, or in the body of an accepted answer.
    package var claimed: ByteRanges
    /// Bytes that were written when it began.
    package var base: Int64
    /// When the attempt began.
    package var since: Duration
    /// When bytes last came, for the watchdog.
    package var lastAdvance: Duration
    /// Up to when none have to come, since it is held back to keep a limit.
    package var heldUntil = Duration.zero
    /// How much of the time it is, of late, in 256ths; nil as long as it never was.
    var heldShare: Int?
    /// Bytes received in this attempt.
    package var received: Int64 = 0
    /// The most that a transport held which hands the body over in the end.
    package var held: Int64 = 0
    /// Bytes that arrived in this attempt, here or at the transport.
    package var arrived: Int64 { max(received, held) }
    /// Where the window of the minimum speed begins: a time and what had been received by then.
    package var speedMark: ByteMark
    /// When and at how many bytes the written mark was last recorded.
    package var lastMark: ByteMark
    /// When the last sync was asked for, and whether it is still under way.
    package var lastSync: Duration
    package var isSyncing = false
    /// From request to header, smoothed.
    package var latency: Duration
    /// Whether the server sends parts of the file.
    package var takesRanges = false
    /// Whether it has only the part of a slot that is its list's and its host's: nothing more is wanted of the server, since
    /// all bytes of a small file are here, and no digest decides.
    package var hasPart = false
    /// How many connections are worth it.
    package var connections: ConnectionRule
    /// Bytes a second that the last exchange of a place has brought.
    var pastSpeeds: [Source: Int64] = [:]
    /// How many exchanges at once a place takes that has refused another, and when it has.
    var limits: [Source: Limit] = [:]
    /// What exchanges that are over have brought from elsewhere than where the version was told, and whence.
    var brought: [Share] = []
    /// Places whose requests go where a redirect has led.
    var led: Set<Source> = []

    /// Whether all bytes of a file of that size have come, written or not.
    func hasReceived(all total: Int64?) -> Bool {
        guard exchanges.isEmpty, let total else { return false }
        return claimed.contains(0..<total)
    }
}

/// What `pausing` knows.
package struct Pausing: Sendable, Equatable {
    /// What comes when the file is closed.
    package enum Intent: Sendable, Equatable {
        case suspend
        /// Forget it; tell `canceled`. `keepsBytes`: its bytes stay, and its record with them, for the next download of
        /// the same.
        case cancel(keepsBytes: Bool)
        /// Forget it; tell `removed`. `finished`: remove the finished file too.
        case remove(finished: Bool)
        /// Wait for a slot again.
        case restart
        /// Wait for the reason to go away.
        case wait(Wait)
        case fail(DownloadFailure)
    }

    /// How far it is.
    package enum Step: Sendable, Equatable {
        /// The partial file is being closed.
        case closing
        /// The record is being marked as one that only keeps bytes (a cancel that keeps them only).
        case keeping
        /// The record is being removed (cancel and remove only).
        case forgetting
        /// The files are being removed (cancel and remove only); `finished`: the finished one too.
        case discarding(finished: Bool)
    }

    package var intent: Intent
    package var step: Step
    /// Whether it has only the part of a slot that is its list's and its host's.
    package var hasPart = false
    /// Who is told when it has come to rest.
    package var tickets: [Ticket] = []
}

/// What `verifying` knows.
package struct Verifying: Sendable, Equatable {
    /// Whether it has only the part of a slot that is its list's and its host's: no digest decides, or one that came too late
    /// to be compared now.
    package var hasPart = false
}

/// What `publishing` knows.
package struct Publishing: Sendable, Equatable {
    /// How far it is.
    package enum Step: Sendable, Equatable {
        /// The intent to publish is being recorded.
        case announcing
        /// The file is being moved; or, where that was done before, looked for in its place.
        case moving
        /// Its place was taken: the name of another one is being recorded.
        case readdressing
        /// The success is being recorded.
        case recording
        /// That failed and is tried again at a time.
        case waitingToRecord(until: Duration)
        /// What was moved is not what is asked for now: that it is no longer the download's is being recorded.
        case disowning
    }

    package var step: Step
    /// How often the success could not be recorded.
    package var recordFailures = 0
    /// Whether it was to be suspended meanwhile: it is, should it come to nothing.
    package var isToRest = false
    /// What was asked meanwhile, and who is told afterwards.
    package var afterwards: Pausing.Intent?
    package var tickets: [Ticket] = []
}
