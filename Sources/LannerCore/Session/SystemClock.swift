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
        let wait = DispatchTimeInterval.microseconds(Int(Self.nextLook(in: deadline - now)))
        queue.asyncAfter(deadline: .now() + wait) { [self] in
            if now >= deadline { work() } else { schedule(at: deadline, work) }
        }
    }

    /// After how many microseconds to look at `now` again, rounded up. Half a minute at most: the queue does not count the
    /// time in which the machine sleeps.
    static func nextLook(in delay: Duration) -> Int32 {
        let (seconds, attoseconds) = min(max(delay, .zero), .seconds(30)).components
        return Int32(seconds * 1_000_000 + (attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }
}
