import Foundation
import LannerCore

/// A clock that must not be used: asking it for the time, or to be called later, fails the test, with a sentence that
/// says which.
///
/// A manager looks at its clock as soon as it is made: this is for code that should do without time. Where the handler
/// returns, the clock shows zero and 1970, and calls nobody.
public final class UnimplementedClock: SessionManager.Clock {
    private let touch: Touch

    /// Makes a clock; without a handler a touch ends the process. See ``UnimplementedHandler``.
    public init(_ handler: UnimplementedHandler? = nil) {
        touch = Touch(type: "UnimplementedClock", handler: handler ?? Touch.trap)
    }

    /// Fails the test.
    public var now: Duration {
        touch.report("the time")
        return .zero
    }

    /// Fails the test.
    public var date: Date {
        touch.report("the date")
        return Date(timeIntervalSince1970: 0)
    }

    /// Fails the test.
    public func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        touch.report("a call at \(deadline)")
    }
}
