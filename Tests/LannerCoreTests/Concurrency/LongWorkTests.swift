import Dispatch
import Testing

@testable import LannerCore

@Suite(.timeLimit(.minutes(10))) struct LongWorkTests {
    private struct Seen {
        var running = 0
        var most = 0
        var order: [Int] = []
    }

    /// More than there may be threads.
    @Test(arguments: [1, 2]) func aFewRunAtATimeInOrder(width: Int) {
        let (pool, gate, done) = (LanePool(limit: 8), Latch(), DispatchGroup())
        let work = LongWork(atATime: width, pool)
        let seen = Locked(Seen())
        for number in 0..<100 {
            done.enter()
            work.run("\(number)") {
                seen.withLock { seen in
                    seen.running += 1
                    seen.most = max(seen.most, seen.running)
                    seen.order.append(number)
                }
                gate.wait()
                seen.withLock { $0.running -= 1 }
                done.leave()
            }
        }
        // There is a thread left for it.
        PooledLane("other", pool).run { gate.open() }
        done.wait()
        let (most, order) = seen.withLock { ($0.most, $0.order) }
        #expect(most <= width && order.sorted() == Array(0..<100))
        if width == 1 { #expect(order == Array(0..<100)) }
    }
}
