import Foundation
import LannerMachine

/// What the record of a download says of the exchange that the transport keeps for it.
///
/// It is recorded before the exchange begins, and leaves the record with the attempt; the transport is told to give it up
/// when that is kept. So at every instant the exchange of the record is the only one that may be taken up: whatever else
/// has survived is of an older attempt, or of a download that is gone.
struct ExchangeMark: Sendable, Hashable {
    /// Grows with every exchange of the download.
    var serial: UInt64
    /// The partial file that its answer goes into. The bytes of another were given up, and what was begun for it.
    var generation: UInt32
    /// Whether it goes on with resume data, which changes what its answer means.
    var isResumed: Bool

    /// What the transport knows it by. The token tells it from those of a store that is lost.
    func name(_ token: UInt64, _ id: DownloadID) -> String { String(token, radix: 16) + "-\(id.number)-\(serial)" }

    /// The download that has the exchange of a name.
    static func download(named name: String) -> DownloadID? {
        let parts = name.split(separator: "-")
        return parts.count == 3 ? UInt64(parts[1]).map { DownloadID($0) } : nil
    }
}

/// The exchange that the transport keeps for a download.
struct KeptExchange: Sendable {
    enum Phase: Sendable {
        /// An earlier process has begun it, and nobody has taken it up yet.
        case left
        /// It is being stopped, without having been taken up, for what it leaves.
        case salvaged
        /// Begun or taken up here.
        case taken
        /// So is the attempt that it belongs to: the next record of that does not name it any more.
        case over

        /// Whether it may be taken up.
        fileprivate var isOpen: Bool {
            switch self {
            case .left, .salvaged: true
            case .taken, .over: false
            }
        }
    }

    fileprivate(set) var mark: ExchangeMark
    var phase: Phase
    /// How far it is, once the transport has said so.
    var progress: TransportSurvivor.Progress?
    /// Whether its download is to run.
    var isWanted = true
    /// Whether an earlier process has begun it.
    let isInherited: Bool
    /// Whether it runs only because it has survived: with it, the download stops.
    var isAdopted = false
}

extension JobState {
    /// The exchange for a request of this kind: the one that was left, if it asked for the same, be it that it is being
    /// stopped for what it leaves; else another, which has to be recorded first.
    mutating func takeExchange(isResumed: Bool) -> (mark: ExchangeMark, isRecorded: Bool) {
        let generation = saved.firstGeneration
        if let left = exchange, left.phase.isOpen, left.mark.generation == generation,
            left.mark.isResumed == isResumed
        {
            exchange?.phase = .taken
            return (left.mark, true)
        }
        dropExchange()
        lastSerial += 1
        let mark = ExchangeMark(serial: lastSerial, generation: generation, isResumed: isResumed)
        exchange = KeptExchange(mark: mark, phase: .taken, isInherited: false)
        return (mark, false)
    }

    /// Names the exchange no more; the transport gives it up once that is recorded.
    mutating func dropExchange() {
        if let mark = exchange?.mark { dropped.append(mark) }
        exchange = nil
    }

    /// The same when what is to be recorded has no use for it.
    mutating func dropExchange(recording saved: Saved) {
        guard let exchange else { return }
        // Its answer may go into another file than it was begun for.
        let isUnderWay = exchange.phase == .taken && !sinks.isEmpty
        let isOfUse =
            switch saved.status {
            // Nobody would take up the exchange of what was canceled.
            case .active, .suspended:
                !saved.isLeftover && exchange.phase != .over
                    && (isUnderWay || exchange.mark.generation == saved.firstGeneration)
            case .publishing, .succeeded, .failed: false
            }
        if !isOfUse { dropExchange() }
    }

    /// Its answer goes into the partial file that there is now; says whether that is another, which has to be recorded.
    mutating func carryExchangeOver() -> Bool {
        guard let exchange, exchange.phase == .taken, let fileGeneration, exchange.mark.generation != fileGeneration
        else { return false }
        self.exchange?.mark.generation = fileGeneration
        // It brings all of that, whatever it went on with.
        self.exchange?.mark.isResumed = false
        return true
    }

    /// The attempt is over.
    mutating func endExchange() {
        if exchange?.phase == .taken { exchange?.phase = .over }
    }

    /// The user wants the download to run or not; returns whether an exchange that nobody has taken up has to be stopped.
    mutating func want(_ isWanted: Bool) -> Bool {
        exchange?.isWanted = isWanted
        exchange?.isAdopted = false
        return !isWanted && isLeftRunning
    }

    /// Whether an exchange runs that nobody has taken up.
    var isLeftRunning: Bool { exchange?.phase == .left && exchange?.progress == .running }

    /// Nobody takes it up any more: the download has another URL.
    mutating func leaveExchange() {
        switch exchange?.phase {
        case .left, .salvaged: dropExchange()
        case .taken, .over, nil: break
        }
    }

    /// What was to be salvaged has ended with data or without; says whether it is still of use.
    mutating func endSalvage(_ mark: ExchangeMark, of data: Data?) -> Bool {
        guard exchange?.mark == mark, exchange?.phase == .salvaged else { return false }
        if data == nil { dropExchange() } else { exchange?.phase = .over }
        return true
    }
}

extension Saved {
    /// The generation, as of the first attempt on: the record of that may still say that there was none.
    var firstGeneration: UInt32 { max(1, generation) }
}

extension Job {
    /// The names of the exchanges that the record no longer names.
    func takeDropped() -> [String] {
        state.withLock { state in
            defer { state.dropped = [] }
            return state.dropped.map { $0.name(token, id) }
        }
    }
}
