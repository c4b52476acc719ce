import Dispatch
import Foundation

/// The clock of the machine.
public final class SystemClock: SessionManager.Clock {
    private let queue = DispatchQueue(label: "lanner.clock")
    private let origin = ContinuousClock.now

    /// A clock that begins at zero now.
    public init() {}

    /// Time since the clock was made; goes on while the machine sleeps.
    public var now: Duration { origin.duration(to: .now) }

    /// The time of day.
    public var date: Date { Date() }

    /// Calls `work` on the clock's queue once `now` has reached the deadline.
    public func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        let delay = max(deadline - now, .zero)
        let (seconds, attoseconds) = delay.components
        // A day at most, so that it fits the queue's nanoseconds; then it is looked at again.
        let nanoseconds = min(seconds, 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds) + 1)) { [self] in
            if now >= deadline { work() } else { schedule(at: deadline, work) }
        }
    }
}
