import Foundation
import LannerCore

/// Lanes that run only when told to, all of them on the thread that tells: tests without threads, the same every time.
/// Where several threads tell, one runs after the other.
package final class ManualLanes: LaneFactory {
    private struct Queued {
        var lane: Int
        var label: String
        var work: @Sendable () -> Void
    }

    /// Everything queued, in order; what lies before `head` has run.
    private struct Queue {
        var entries: [Queued?] = []
        var head = 0
        var lanes = 0
        /// The lanes whose work runs now, the innermost last.
        var running: [(lane: Int, label: String)] = []

        mutating func take(at index: Int) -> Queued? {
            entries.remove(at: index)
        }

        mutating func takeFirst() -> Queued? {
            guard head < entries.count else { return nil }
            let first = entries[head]
            entries[head] = nil
            head += 1
            // Now and then, so that taking stays cheap.
            if head >= 1024, head * 2 >= entries.count {
                entries.removeFirst(head)
                head = 0
            }
            return first
        }

        /// The first entry of a lane that does not run already.
        mutating func takeFirstIdle() -> Queued? {
            let index = entries[head...].firstIndex { entry in !running.contains { $0.lane == entry?.lane } }
            return index.flatMap { take(at: $0) }
        }

        /// The first entry of the lane that has the entry at `index`: a lane never overtakes itself.
        func first(ofLaneAt index: Int) -> Int {
            let lane = entries[index]?.lane
            return entries[head...].firstIndex { $0?.lane == lane } ?? index
        }
    }

    private let queue = Locked(Queue())
    /// Held while work runs, by which other work may be run: what runs is the holder's, and it alone finds out that
    /// nothing is left.
    private let turn = NSRecursiveLock()

    /// No lanes, nothing queued.
    package init() {}

    /// A lane that shares the queue of all others.
    package func makeLane(_ label: String) -> any Lane {
        let number = queue.withLock { queue in
            queue.lanes += 1
            return queue.lanes
        }
        return ManualLane(number: number, label: label, lanes: self)
    }

    /// The label of the lane whose work is running; nil when none is.
    package var current: String? { queue.withLock { $0.running.last?.label } }

    /// How much is queued.
    package var count: Int { queue.withLock { $0.entries.count - $0.head } }

    /// Runs what was queued first; false when nothing is.
    @discardableResult
    package func runNext() -> Bool {
        run { $0.takeFirst() }
    }

    /// Runs what was queued first on the lanes of a label; false when nothing is.
    @discardableResult
    package func runNext(_ label: String) -> Bool {
        run { queue in
            queue.entries[queue.head...].firstIndex { $0?.label == label }.flatMap { queue.take(at: $0) }
        }
    }

    /// Runs what was queued first on a lane picked at random, as threads might; false when nothing is queued.
    @discardableResult
    package func runAny(using generator: inout some RandomNumberGenerator) -> Bool {
        run { queue in
            guard queue.head < queue.entries.count else { return nil }
            let picked = Int.random(in: queue.head..<queue.entries.count, using: &generator)
            return queue.take(at: queue.first(ofLaneAt: picked))
        }
    }

    /// The same on a lane whose work does not run already: for work that goes on while other work is in the middle. False
    /// when the lane that was picked runs, too.
    package func runAnyIdle(using generator: inout some RandomNumberGenerator) -> Bool {
        run { queue in
            guard queue.head < queue.entries.count else { return nil }
            let picked = queue.first(ofLaneAt: Int.random(in: queue.head..<queue.entries.count, using: &generator))
            let lane = queue.entries[picked]?.lane
            return queue.running.contains { $0.lane == lane } ? nil : queue.take(at: picked)
        }
    }

    private func run(_ take: (inout Queue) -> Queued?) -> Bool {
        turn.withLock {
            guard let next = queue.withLock({ take(&$0) }) else { return false }
            queue.withLock { $0.running.append((next.lane, next.label)) }
            next.work()
            queue.withLock { _ = $0.running.popLast() }
            return true
        }
    }

    package func wait(for latch: Latch) {
        while !latch.isOpen, run({ $0.takeFirstIdle() }) {}
    }

    /// Forgets everything that is queued, as the death of a process does.
    package func abandon() {
        // Taken out first: what is released here may queue more.
        let forgotten = queue.withLock { queue in
            defer { (queue.entries, queue.head) = ([], 0) }
            return queue.entries
        }
        _ = forgotten
    }

    /// Runs until nothing is queued, or so much work has run, and says how many pieces of it that were.
    @discardableResult
    package func runAll(atMost limit: Int = .max) -> Int {
        var count = 0
        while count < limit, runNext() { count += 1 }
        return count
    }

    fileprivate func append(_ work: @escaping @Sendable () -> Void, to lane: ManualLane) {
        queue.withLock { $0.entries.append(Queued(lane: lane.number, label: lane.label, work: work)) }
    }
}

private struct ManualLane: Lane {
    let number: Int
    let label: String
    let lanes: ManualLanes

    func run(_ work: @escaping @Sendable () -> Void) {
        lanes.append(work, to: self)
    }
}
