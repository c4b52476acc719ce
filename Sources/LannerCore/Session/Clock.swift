import Foundation

extension SessionManager {
    /// The time of a ``SessionManager``: what it is, and being called when it has passed.
    ///
    /// A manager takes time from nowhere else, so that a test with a manual clock decides when anything happens.
    /// Methods may be called on any thread.
    public protocol Clock: AnyObject, Sendable {
        /// Time since an arbitrary origin, the same for the life of the clock. Never goes back; goes on while the
        /// machine sleeps where the platform can tell.
        var now: Duration { get }

        /// The time of day, for dates shown and for `Retry-After`. May jump.
        var date: Date { get }

        /// Calls `work` once, on a queue of the clock's, as soon as `now` has reached `deadline`; never before, and
        /// never inside this call. The timers of a system may come early where the machine sleeps or its clock is set: look
        /// at `now` then, and wait again.
        func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void)
    }
}

extension SessionManager.Clock {
    /// The same with a clock that comes early, if only by what it rounds off: then it is asked again, for a little more. Not
    /// for ever, for it may be one that waits for nothing.
    func wake(at deadline: Duration, late: Duration = .zero, _ work: @escaping @Sendable () -> Void) {
        // A clock has what it is yet to call: that must not have the clock.
        schedule(at: deadline + late) { [weak self] in
            guard let self, now < deadline, late < .seconds(100) else { return work() }
            wake(at: deadline, late: late == .zero ? .milliseconds(1) : late * 10, work)
        }
    }
}
