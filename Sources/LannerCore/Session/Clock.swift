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
        /// never inside this call.
        func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void)
    }
}
