/// The monitor of a manager that was given none.
package enum DefaultNetworkMonitor {
    /// The system's where it has one, else none: see ``UnwatchedNetwork`` for why. Not on watches, where only some kinds of
    /// apps are told of a network (Apple's technical note TN3135).
    package static func make() -> any NetworkMonitor {
        #if canImport(Darwin) && canImport(Network) && !os(watchOS)
        SystemNetworkMonitor()
        #else
        UnwatchedNetwork()
        #endif
    }
}

/// A ``NetworkMonitor`` that tells nothing: every network counts as available.
///
/// The default where the system has no monitor of its own, as on Linux, or none for every app, as on watches. On Linux the
/// kernel's routes are all that could be asked, and they do not tell: a container may have nothing but its loopback device
/// and reach servers over it, or over a proxy; another may have a route and reach nobody. So a download over a network that
/// is gone fails there and is tried again by the ``SessionConfiguration/retryPolicy``; give it enough retries, or a monitor
/// of your own.
///
/// Also for programs that would rather fail than wait, and for those that download from the machine they run on.
public struct UnwatchedNetwork: NetworkMonitor {
    private final class Watch: NetworkWatch {
        func cancel() {}
    }

    /// Makes the monitor.
    public init() {}

    /// Never calls.
    public func watch(_ receive: @escaping @Sendable (NetworkPath) -> Void) -> any NetworkWatch { Watch() }
}
