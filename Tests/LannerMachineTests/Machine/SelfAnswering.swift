import LannerMachine

/// A bench on which actions are answered by themselves: files are opened, closed, verified and moved at once, records kept,
/// and wakes noted.
protocol SelfAnswering {
    var bench: Bench { get set }
    /// The wakes that were asked for and have not come.
    var wakes: [Duration] { get set }
    /// What an action comes to that is answered otherwise; false of all others.
    mutating func handle(_ action: Action) -> Bool
}

extension SelfAnswering {
    mutating func feed(_ event: Event) {
        for action in bench.feed(event) where !handle(action) { answer(action) }
    }

    private mutating func answer(_ action: Action) {
        switch action {
        case .file(let id, let attempt, .open): feed(.file(id, attempt, .opened(held: ByteRanges())))
        case .file(let id, let attempt, .close):
            feed(.file(id, attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
        case .file(let id, let attempt, .verify): feed(.file(id, attempt, .verified(.sizeOnly)))
        case .file(let id, let attempt, .publish): feed(.file(id, attempt, .published))
        case .store(let id, let attempt, .record(_, .confirmed)): feed(.store(id, attempt, .recorded))
        case .wake(let time): wakes.append(time)
        default: break
        }
    }

    /// Adds so many downloads, and starts them.
    mutating func begin(
        _ count: UInt64, list: (UInt64) -> String? = { _ in nil }, host: (UInt64) -> HostID = { _ in HostID(7) }
    ) {
        let new = (1...count).map {
            NewDownload(id: DownloadID($0), rank: Int64($0), list: list($0), host: host($0))
        }
        feed(.add(new))
        feed(.user(.start, new.map(\.id), nil))
    }

    /// The timer comes, if its time has.
    mutating func fire() {
        let now = bench.now
        guard wakes.contains(where: { $0 <= now }) else { return }
        wakes.removeAll { $0 <= now }
        feed(.timer)
    }

    /// Time passes up to the next wake; false when there is none up to then.
    mutating func passToWake(by end: Duration = .seconds(1_000_000_000)) -> Bool {
        guard let next = wakes.min(), next <= end else { return false }
        bench.now = max(bench.now, next)
        fire()
        return true
    }

    /// A server sends a download a file of ten bytes.
    mutating func sendFile(_ id: DownloadID, _ number: ExchangeNumber) {
        feed(.exchange(id, number, .head(.file(10))))
        feed(.exchange(id, number, .received(10)))
        if let attempt = bench.machine[id]?.attempt { feed(.file(id, attempt, .wrote(0..<10))) }
        feed(.exchange(id, number, .ended(received: 10)))
    }
}

/// The same where the answers of servers take their time.
protocol LateAnswering: SelfAnswering {
    /// Whose answers are on their way, and until when.
    var underway: [(time: Duration, id: DownloadID, number: ExchangeNumber)] { get set }
    /// The answer of a server is there.
    mutating func answer(_ id: DownloadID, _ number: ExchangeNumber)
}

extension LateAnswering {
    /// Time passes up to when something is due, at most for so long.
    mutating func pass(_ time: Duration) {
        let end = bench.now + time
        while true {
            let next = underway.indices.min { underway[$0].time < underway[$1].time }
            if passToWake(by: next.map { min(underway[$0].time, end) } ?? end) { continue }
            guard let next, underway[next].time <= end else { break }
            let (time, id, number) = underway.remove(at: next)
            bench.now = time
            answer(id, number)
        }
        bench.now = end
    }
}
