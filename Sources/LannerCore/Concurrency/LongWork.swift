import Foundation

/// Work that keeps a thread busy for long, such as reading a whole file: begun in order, and only so much of it at a time
/// that threads and processors are left for everything else.
final class LongWork: Sendable {
    static let shared = LongWork(atATime: max(2, ProcessInfo.processInfo.activeProcessorCount / 2), .shared)

    private struct Piece {
        let label: String
        let work: @Sendable () -> Void
    }

    private struct State {
        var waiting = Fifo<Piece>()
        var running = 0

        mutating func begin(limit: Int) -> Piece? {
            guard running < limit, let piece = waiting.popFirst() else { return nil }
            running += 1
            return piece
        }
    }

    private let limit: Int
    private let pool: LanePool
    private let state = Locked(State())

    init(atATime limit: Int, _ pool: LanePool) {
        self.limit = limit
        self.pool = pool
    }

    func run(_ label: String, _ work: @escaping @Sendable () -> Void) {
        let piece = state.withLock { state in
            state.waiting.append(Piece(label: label, work: work))
            return state.begin(limit: limit)
        }
        if let piece { run(piece) }
    }

    /// On a lane of its own: the next one waits behind all lanes that have come meanwhile.
    private func run(_ piece: Piece) {
        PooledLane(piece.label, pool).run { [self] in
            piece.work()
            let next = state.withLock { state in
                state.running -= 1
                return state.begin(limit: limit)
            }
            if let next { run(next) }
        }
    }
}
