import Foundation

/// Work that keeps a thread busy for long, such as reading a whole file: begun in order, and only so much of it at a time
/// that threads and processors are left for everything else.
final class LongWork: Sendable {
    static let shared = LongWork(atATime: max(2, ProcessInfo.processInfo.activeProcessorCount / 2), .shared)

    private struct Piece {
        let label: String
        let work: @Sendable () -> Void
    }

    private let pool: LanePool
    private let turns: Locked<Turns<Piece>>

    init(atATime limit: Int, _ pool: LanePool) {
        self.pool = pool
        turns = Locked(Turns(atATime: limit))
    }

    func run(_ label: String, _ work: @escaping @Sendable () -> Void) {
        turns.withLock { $0.append(Piece(label: label, work: work)) }
        begin()
    }

    /// Lets as much begin as may, each on a lane of its own: the next waits behind all lanes that have come meanwhile.
    private func begin() {
        while let piece = turns.withLock({ $0.begin() }) {
            PooledLane(piece.label, pool).run { [self] in
                piece.work()
                turns.withLock { $0.end() }
                begin()
            }
        }
    }
}
