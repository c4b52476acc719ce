import Foundation
import LannerCore
import LannerMachine

/// A clock that stands still until it is advanced, so that a test decides when anything happens.
///
/// Every method may be called on any thread; only one at a time should advance. What threads of their own schedule is in
/// the order in which they come to it, which is not the same every time: for a manager on such a clock, unlike that of a
/// ``TestBench``, wait for what has to be scheduled (``waitUntilScheduled()``) before time passes.
public final class ManualClock: SessionManager.Clock {
    private struct Place: Comparable {
        var deadline: Duration
        /// Of two with one deadline the one scheduled first runs first.
        var number: UInt64

        static func < (left: Place, right: Place) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }

    private struct State {
        var now: Duration
        var date: Date
        var lastNumber: UInt64 = 0
        var queue = IndexedHeap<Place>()
        /// What is to be done, by its key in the queue.
        var work: [Int: @Sendable () -> Void] = [:]
        /// Keys below the largest in use that are free.
        var freeKeys: [Int] = []

        mutating func add(_ work: @escaping @Sendable () -> Void, at deadline: Duration) {
            lastNumber += 1
            let key = freeKeys.popLast() ?? self.work.count
            self.work[key] = work
            queue.set(key, to: Place(deadline: deadline, number: lastNumber))
        }

        mutating func forget() -> [@Sendable () -> Void] {
            defer { (queue, work, freeKeys) = (IndexedHeap(), [:], []) }
            return Array(work.values)
        }

        mutating func move(to time: Duration) {
            guard time > now else { return }
            date += (time - now) / .seconds(1)
            now = time
        }

        /// The next work that is due by a time; the clock moves to its deadline.
        mutating func next(by time: Duration) -> (@Sendable () -> Void)? {
            guard let first = queue.first, first.priority.deadline <= time else { return nil }
            queue.remove(first.key)
            freeKeys.append(first.key)
            move(to: first.priority.deadline)
            return work.removeValue(forKey: first.key)
        }
    }

    private let state: Locked<State>
    private let scheduled = Gauge()

    /// A clock that shows these times; the date is the first day of 2025 unless said otherwise.
    public init(now: Duration = .zero, date: Date = Date(timeIntervalSince1970: 1_735_689_600)) {
        state = Locked(State(now: now, date: date))
    }

    /// The time since the clock's origin. Moves by ``advance(by:)`` and ``advance(to:)`` only.
    public var now: Duration { state.withLock { $0.now } }

    /// The time of day. Moves along with ``now``, and may be set to anything.
    public var date: Date {
        get { state.withLock { $0.date } }
        set { state.withLock { $0.date = newValue } }
    }

    /// Keeps work for its time. What is due already is done by the next ``advance(by:)``, also by one of zero.
    public func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.add(work, at: deadline) }
        scheduled.raise()
    }

    /// Lets time pass, doing all that falls due on the way, what is scheduled meanwhile included, in the order of the
    /// deadlines and on the calling thread; ``now`` shows each deadline while its work runs.
    public func advance(by duration: Duration) {
        advance(to: now + duration)
    }

    /// The same up to a time; one that has passed changes nothing but does what is due.
    public func advance(to time: Duration) {
        advance(to: time, atMost: .max)
    }

    /// The same, or so much of it, and says how much was done.
    @discardableResult
    func advance(to time: Duration, atMost limit: Int) -> Int {
        let end = max(time, now)
        var count = 0
        while count < limit {
            guard let work = state.withLock({ $0.next(by: end) }) else {
                state.withLock { $0.move(to: end) }
                break
            }
            work()
            count += 1
        }
        return count
    }

    /// When the next work is due; nil when none is scheduled.
    public var nextDeadline: Duration? { state.withLock { $0.queue.first?.priority.deadline } }

    /// How much work is scheduled.
    public var scheduledCount: Int { state.withLock { $0.queue.count } }

    /// Waits until any work is scheduled, for ever if there is none to come, and says when the next is due.
    ///
    /// - Throws: `CancellationError` when the Swift task is canceled.
    @discardableResult
    public func waitUntilScheduled() async throws -> Duration {
        while true {
            let (next, count) = state.withLock { ($0.queue.first?.priority.deadline, Int($0.lastNumber)) }
            if let next { return next }
            try await scheduled.wait(for: count + 1)
        }
    }

    /// Forgets all that is scheduled, as the death of a process does.
    package func abandon() {
        let forgotten = state.withLock { $0.forget() }
        // Released outside the lock: a closure may be the last to hold a manager.
        _ = forgotten
    }
}
