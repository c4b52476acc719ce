import LannerMachine
import Testing

/// One machine on the bench: events are fed by hand, the actions come back.
struct Bench {
    var machine: Machine
    var settings: Settings
    var now: Duration = .zero
    let id = DownloadID(1)

    init(_ settings: Settings = Settings(), seed: UInt64 = 1) {
        self.settings = settings
        machine = Machine(settings: settings, seed: seed)
    }

    /// A machine with one download that sits in `suspended`.
    static func resting(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, saved: Saved? = nil
    ) -> Bench {
        var bench = Bench(settings)
        let saved = saved ?? Saved(status: .suspended)
        bench.feed(.add([NewDownload(id: bench.id, rank: 0, hasDigest: hasDigest, mirrors: mirrors, saved: saved)]))
        return bench
    }

    /// The file is being opened.
    static func opening(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, saved: Saved? = nil
    ) -> Bench {
        var bench = resting(settings, hasDigest: hasDigest, mirrors: mirrors, saved: saved)
        bench.feed(.user(.start, [bench.id], nil))
        return bench
    }

    /// The first request is out.
    static func requesting(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, saved: Saved? = nil
    ) -> Bench {
        var bench = opening(settings, hasDigest: hasDigest, mirrors: mirrors, saved: saved)
        bench.feed(.file(bench.id, 1, .opened(held: saved?.written ?? ByteRanges())))
        return bench
    }

    /// Parts have proved to be of no use, twice: exchange 3 of attempt 3 asks for the whole.
    static func plain(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, held: Int64 = 500
    ) -> Bench {
        var bench = requesting(settings, hasDigest: hasDigest, mirrors: mirrors, saved: .holding(0..<held))
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 206))))
        bench.closed(1, 0..<held)
        bench.pass(.seconds(100))
        bench.opened(2, 0..<held)
        #expect(bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 206)))).restarts.isEmpty)
        bench.closed(2, 0..<held)
        #expect(bench.opened(3, 0..<held).asks == [.whole])
        return bench
    }

    /// The same, and all comes, into the new file of attempt 4.
    static func gettingWhole(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, held: Int64 = 500
    ) -> Bench {
        var bench = plain(settings, hasDigest: hasDigest, mirrors: mirrors, held: held)
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file()))).restarts == [.unusableAnswer])
        return bench
    }

    /// Bytes arrive: a 200 of 1000 bytes, or what is given.
    static func transferring(
        _ settings: Settings = Settings(), hasDigest: Bool = false, mirrors: Int = 0, saved: Saved? = nil,
        head: ResponseHead = .file()
    ) -> Bench {
        var bench = requesting(settings, hasDigest: hasDigest, mirrors: mirrors, saved: saved)
        bench.feed(.exchange(bench.id, 1, .head(head)))
        return bench
    }

    /// All 1000 bytes are there, and are being verified.
    static func verifying(_ settings: Settings = Settings(), hasDigest: Bool = false) -> Bench {
        var bench = transferring(settings, hasDigest: hasDigest)
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        return bench
    }

    /// The intent to publish is being recorded.
    static func announcing(_ settings: Settings = Settings()) -> Bench {
        var bench = verifying(settings)
        bench.feed(.file(bench.id, 1, .verified(.sizeOnly)))
        return bench
    }

    /// The file is being moved.
    static func moving(_ settings: Settings = Settings()) -> Bench {
        var bench = announcing(settings)
        bench.feed(.store(bench.id, 1, .recorded))
        return bench
    }

    /// The success is being recorded.
    static func recording(_ settings: Settings = Settings()) -> Bench {
        var bench = moving(settings)
        bench.feed(.file(bench.id, 1, .published))
        return bench
    }

    static func succeeded(_ settings: Settings = Settings()) -> Bench {
        var bench = recording(settings)
        bench.feed(.store(bench.id, 1, .recorded))
        return bench
    }

    static func failed(_ failure: DownloadFailure = DownloadFailure(.status(404), "")) -> Bench {
        resting(saved: Saved(status: .failed(failure)))
    }

    @discardableResult
    mutating func feed(_ event: Event) -> [Action] {
        machine.handle(event, now: now, wallSeconds: 1_704_067_200)
    }

    @discardableResult
    mutating func verb(_ verb: Verb, _ ticket: Ticket? = nil) -> [Action] {
        feed(.user(verb, [id], ticket))
    }

    /// The file of an attempt is open and holds this.
    @discardableResult
    mutating func opened(_ attempt: Attempt, _ ranges: Range<Int64>...) -> [Action] {
        feed(.file(id, attempt, .opened(held: ByteRanges(ranges))))
    }

    /// The file of an attempt is closed and holds what it held.
    @discardableResult
    mutating func closed(_ attempt: Attempt = 1, _ ranges: Range<Int64>...) -> [Action] {
        feed(.file(id, attempt, .closed(written: ByteRanges(ranges), synced: ByteRanges(ranges))))
    }

    /// Of an answer's body so many bytes more come, up to its end, and are written at once; `received` says how many
    /// came of each.
    mutating func bring(
        _ more: Int64, over exchange: Exchange, _ received: inout [ExchangeNumber: Int64]
    ) -> [Action] {
        guard let body = exchange.body else { return [] }
        let length = body.upperBound - body.lowerBound
        let before = received[exchange.number] ?? 0
        let count = min(before + more, length)
        received[exchange.number] = count
        let range = body.lowerBound + before..<body.lowerBound + count
        var actions = range.isEmpty ? [] : feed(.file(id, 1, .wrote(range)))
        actions += feed(.exchange(id, exchange.number, .received(count)))
        if count == length { actions += feed(.exchange(id, exchange.number, .ended(received: count))) }
        return actions
    }

    /// Time passes, and the timer with it.
    @discardableResult
    mutating func pass(_ time: Duration) -> [Action] {
        now += time
        return feed(.timer)
    }

    var state: State? { machine[id]?.state }
    var phase: Phase? { machine[id]?.phase }

    var transfer: Transfer? {
        if case .transferring(let transfer) = state { return transfer }
        return nil
    }

    var attempt: Attempt { machine[id]?.attempt ?? 0 }

    /// The exchange that was begun first, of those under way.
    var exchange: ExchangeNumber {
        if case .opening(let opening) = state, case .request(let exchange) = opening.step { return exchange.number }
        return transfer?.exchanges.first?.number ?? 0
    }
}

extension ResponseHead {
    /// A 200 with a strong entity tag.
    static func file(_ total: Int64? = 1000, tag: String? = "\"a\"") -> ResponseHead {
        var fields: HeaderFields = [:]
        fields["ETag"] = tag
        fields["Content-Length"] = total.map { "\($0)" }
        return ResponseHead(status: 200, fields: fields)
    }

    /// A 206 of a part.
    static func part(_ range: Range<Int64>, of total: Int64?, tag: String? = "\"a\"") -> ResponseHead {
        var fields: HeaderFields = [:]
        fields["ETag"] = tag
        let text = total.map { "\($0)" } ?? "*"
        fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(text)"
        return ResponseHead(status: 206, fields: fields)
    }
}

extension Saved {
    /// A record of a download that holds some bytes of a file of 1000.
    static func holding(_ ranges: Range<Int64>..., tag: String? = "\"a\"", status: Status = .suspended) -> Saved {
        let entityTag = tag.flatMap { EntityTag($0) }
        let version = Version(entityTag: entityTag, lastModified: nil, isLastModifiedStrong: false, total: 1000)
        return Saved(
            status: status, version: version, generation: 1, written: ByteRanges(ranges), synced: ByteRanges(ranges),
            total: 1000)
    }
}

extension Settings {
    static func sliced(_ lengths: ClosedRange<Int64>, inFlight: Int = 2) -> Settings {
        var settings = Settings()
        settings.delivery = .sliced(lengths, inFlight: inFlight)
        return settings
    }

    func with(_ change: (inout Settings) -> Void) -> Settings {
        var settings = self
        change(&settings)
        return settings
    }
}

extension [Action] {
    /// The tickets that are answered.
    var answers: [Ticket] { compactMap { if case .answer(let ticket) = $0 { ticket } else { nil } } }

    var phases: [Phase] { notices.compactMap { if case .status(let phase) = $0 { phase } else { nil } } }

    var restarts: [RestartReason] { notices.compactMap { if case .restarted(let reason) = $0 { reason } else { nil } } }

    var notices: [Notice] { compactMap { if case .tell(_, let notice) = $0 { notice } else { nil } } }

    /// The exchanges that are begun.
    var begun: [ExchangeNumber] {
        compactMap { if case .transport(_, .begin(let number, _)) = $0 { number } else { nil } }
    }

    var asks: [Ask] { compactMap { if case .transport(_, .begin(_, let ask)) = $0 { ask } else { nil } } }

    /// What was wanted of whoever gives links.
    var links: [LinkAction] { compactMap { if case .link(_, _, let action) = $0 { action } else { nil } } }

    var records: [Saved] { compactMap { if case .store(_, _, .record(let saved, _)) = $0 { saved } else { nil } } }

    var wakes: [Duration] { compactMap { if case .wake(let time) = $0 { time } else { nil } } }

    var ignored: [IgnoredReason] { compactMap { if case .ignored(_, let reason) = $0 { reason } else { nil } } }

    /// When the next attempt is, and after what.
    var retry: (failure: DownloadFailure, time: Duration)? {
        notices.lazy.compactMap { if case .retrying(let failure, let time) = $0 { (failure, time) } else { nil } }.first
    }

    /// Whether nothing is done but to note that the event came too late.
    var isOnlyIgnored: Bool { !isEmpty && ignored.count == count }
}

extension DownloadFailure {
    static let disk = DownloadFailure(.disk(.inputOutput), "")
}

extension SeededGenerator {
    /// A number from 0 up to a bound that is not reached.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 1) % max(1, bound)
    }

    /// True in so many cases of a hundred.
    mutating func chance(_ percent: Int) -> Bool {
        below(100) < percent
    }
}
