import Dispatch
import Foundation
import Testing

@testable import LannerCore

@Suite(.timeLimit(.minutes(10))) struct LanePoolTests {
    private static func lanes(_ count: Int, _ pool: LanePool) -> [PooledLane] {
        (0..<count).map { PooledLane("\($0)", pool) }
    }

    @Test func aLaneRunsItsWorkInOrderAndOneAtATime() {
        let pool = LanePool()
        let (lanes, each) = (Self.lanes(50, pool), 400)
        let seen = Locked([[Int]](repeating: [], count: lanes.count))
        let inside = Locked([Int](repeating: 0, count: lanes.count))
        let done = DispatchGroup()
        // From several threads, a lane from one of them only.
        DispatchQueue.concurrentPerform(iterations: lanes.count) { index in
            for number in 0..<each {
                done.enter()
                lanes[index].run {
                    let others = inside.withLock { inside in
                        defer { inside[index] += 1 }
                        return inside[index]
                    }
                    seen.withLock { $0[index].append(others == 0 ? number : -1) }
                    inside.withLock { $0[index] -= 1 }
                    done.leave()
                }
            }
        }
        done.wait()
        for lane in seen.withLock({ $0 }) { #expect(lane == Array(0..<each)) }
    }

    @Test func laneThatBlocksHoldsUpNoOther() {
        let pool = LanePool()
        let blocked = Self.lanes(60, pool)
        let (gate, done) = (Latch(), DispatchGroup())
        for lane in blocked {
            done.enter()
            lane.run {
                gate.wait()
                done.leave()
            }
        }
        // Behind all of them, and nothing else is queued that could give a reason to look.
        PooledLane("last", pool).run { gate.open() }
        done.wait()
        #expect(gate.isOpen)
    }

    @Test func theFirstToBlockHoldsUpNoOther() {
        for _ in 0..<50 {
            let pool = LanePool()
            let gate = Latch()
            PooledLane("first", pool).run { gate.wait() }
            PooledLane("second", pool).run { gate.open() }
            gate.wait()
            #expect(gate.isOpen)
        }
    }

    /// Nobody looks in this pool whether lanes are taken, as long as this lasts.
    @Test func whoSaysThatItBlocksIsReplacedAtOnce() {
        let pool = LanePool(interval: .seconds(60))
        for _ in 0..<200 {
            let (gate, done) = (Latch(), Latch())
            let other = PooledLane("other", pool)
            PooledLane("blocks", pool).run {
                other.run { gate.open() }
                // A second time within the first changes nothing.
                pool.block { pool.block { gate.wait() } }
                done.open()
            }
            done.wait()
        }
        // One works and one takes over, a few may be in between.
        #expect(pool.threads <= 16)
    }

    @Test func lanesThatGatherComeLast() {
        var line = WaitingLanes()
        let (lanes, gathering) = (Self.lanes(3, LanePool()), PooledLane("gathers", gathers: true, LanePool()))
        line.append(gathering)
        for lane in lanes { line.append(lane) }
        #expect(line.count == 4)
        #expect(
            (0..<5).map { _ in line.popFirst().map(ObjectIdentifier.init) } == (lanes + [gathering]).map(
                ObjectIdentifier.init) + [nil])
        #expect(line.count == 0)
    }

    /// Though there are always others.
    @Test func lanesThatGatherComeInTheEnd() {
        var line = WaitingLanes()
        let (other, gathering) = (PooledLane("other", LanePool()), PooledLane("gathers", gathers: true, LanePool()))
        for _ in 0..<200 { line.append(other) }
        for _ in 0..<100 { _ = line.popFirst() }
        // So many have gone before there was anybody to go before.
        for _ in 0..<2 { line.append(gathering) }
        let order = (0..<102).compactMap { _ in line.popFirst() }
        #expect(order.indices.filter { order[$0] === gathering } == [64, 65] && line.count == 0)
    }

    @Test func whoBlocksDoesNotCountAsOneThatWorks() {
        let (pool, done) = (LanePool(), Latch())
        let counts = Locked([Int]())
        PooledLane("blocks", pool).run {
            for _ in 0..<3 {
                pool.block { pool.block { counts.withLock { $0.append(pool.working) } } }
                counts.withLock { $0.append(pool.working) }
            }
            done.open()
        }
        done.wait()
        #expect(counts.withLock { $0 } == [0, 1, 0, 1, 0, 1])
    }

    /// What opens it may come behind more of them than there may be threads.
    @Test(arguments: [DispatchTimeInterval.milliseconds(1), .seconds(60)])
    func whoWaitsForALatchLeavesRoomForAnotherThread(interval: DispatchTimeInterval) {
        let pool = LanePool(interval: interval, limit: 4)
        let (gate, done) = (Latch(), DispatchGroup())
        for lane in Self.lanes(20, pool) {
            done.enter()
            lane.run {
                pool.wait(for: gate)
                done.leave()
            }
        }
        PooledLane("last", pool).run { gate.open() }
        // Both return.
        done.wait()
        pool.wait(for: gate)
    }

    @Test func threadsOfOthersMayBlockAsTheyLike() throws {
        let pool = LanePool()
        #expect(pool.block { 7 } == 7)
        let error = FileError(fault: .other, operation: "sync", path: "/a")
        #expect(throws: FileError.self) { try pool.block { () throws(FileError) in throw error } }
        #expect(pool.threads == 0)
    }

    @Test func workMayQueueWorkOnItsOwnLane() {
        let (pool, done) = (LanePool(), Latch())
        let lane = PooledLane("own", pool)
        let order = Locked([Int]())
        lane.run {
            lane.run {
                order.withLock { $0.append(2) }
                done.open()
            }
            order.withLock { $0.append(1) }
        }
        done.wait()
        #expect(order.withLock { $0 } == [1, 2])
    }

    @Test func threadsWithoutWorkGoAndOthersComeForMore() {
        let pool = LanePool(patience: .milliseconds(1))
        let count = Locked(0)
        for _ in 0..<20 {
            let done = DispatchGroup()
            for lane in Self.lanes(20, pool) {
                done.enter()
                lane.run {
                    count.withLock { $0 += 1 }
                    done.leave()
                }
            }
            done.wait()
            while pool.threads > 0 { usleep(500) }
        }
        #expect(count.withLock { $0 } == 400)
    }

    @Test func laneOnAQueueRunsInItsTurnThere() {
        let queue = DispatchQueue(label: "user")
        let lane = PooledLane("callbacks", on: queue, LanePool())
        let order = Locked([String]())
        let (begun, gate, done) = (Latch(), Latch(), Latch())
        queue.async {
            begun.open()
            gate.wait()
            order.withLock { $0.append("user") }
        }
        begun.wait()
        lane.run {
            dispatchPrecondition(condition: .onQueue(queue))
            order.withLock { $0.append("lane") }
            done.open()
        }
        gate.open()
        done.wait()
        #expect(order.withLock { $0 } == ["user", "lane"])
    }

    @Test func whatWorkHoldsGoesWithIt() {
        final class Held: Sendable {}
        let lane = PooledLane("holder", LanePool())
        weak var held: Held?
        let done = Latch()
        do {
            let object = Held()
            held = object
            lane.run { withExtendedLifetime(object) {} }
        }
        lane.run { done.open() }
        done.wait()
        #expect(held == nil)
    }
}
