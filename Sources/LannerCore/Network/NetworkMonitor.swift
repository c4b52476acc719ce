/// Tells managers what network there is, so that downloads stop without one and go on with it.
///
/// While there is none, or only one of a kind that the ``SessionConfiguration`` does not allow, nothing runs: what ran
/// has stopped and kept its bytes, everything waits (``WaitingReason/network``), and no attempt is counted. A monitor must
/// be sure when it says that there is no network: whoever has one that the monitor does not know of waits for nothing.
///
/// Methods may be called on any thread, by any number of managers.
public protocol NetworkMonitor: Sendable {
    /// Calls `receive` with the present path, before this returns or soon after, and then with each other one as it comes,
    /// until the watch is canceled: one call at a time, in order, on any thread, under no lock that a call of the watch
    /// takes.
    ///
    /// A monitor that cannot tell never calls it: then every network counts as available, what fails is the retry policy's,
    /// and the kinds of networks are left to the transport.
    func watch(_ receive: @escaping @Sendable (NetworkPath) -> Void) -> any NetworkWatch
}

/// One who is told by a ``NetworkMonitor``.
public protocol NetworkWatch: AnyObject, Sendable {
    /// Ends the calls, but for one that is under way. Returns at once, may be called in a call, and again.
    func cancel()
}

/// The way to other machines, as far as a ``NetworkMonitor`` knows.
public struct NetworkPath: Sendable, Hashable {
    /// What the way begins with.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A wireless network.
        case wifi
        /// Mobile data.
        case cellular
        /// A cable.
        case wired
        /// Anything else, or unknown.
        case other
    }

    /// Whether there is a network at all.
    public var isAvailable: Bool
    /// What it begins with.
    public var kind: Kind
    /// Whether the system calls it expensive, as mobile data and hotspots mostly are.
    public var isExpensive: Bool
    /// Whether it is in low-data mode.
    public var isConstrained: Bool

    /// Makes a path: one over a cable that costs nothing, unless said otherwise.
    public init(
        isAvailable: Bool = true, kind: Kind = .wired, isExpensive: Bool = false, isConstrained: Bool = false
    ) {
        self.isAvailable = isAvailable
        self.kind = kind
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }

    /// No network.
    public static let unavailable = NetworkPath(isAvailable: false, kind: .other)
}

extension NetworkAccess {
    /// Whether a path may be used.
    public func allows(_ path: NetworkPath) -> Bool {
        path.isAvailable && (cellular || path.kind != .cellular) && (expensive || !path.isExpensive)
            && (constrained || !path.isConstrained)
    }
}
