#if canImport(Darwin) && canImport(Network)
import Dispatch
import Network

/// The ``NetworkMonitor`` of Apple's systems, over `NWPathMonitor`.
///
/// It knows the default way out of the machine. Downloads from the machine itself wait, too, while there is none: give
/// their manager an ``UnwatchedNetwork``, which is also the default on watches: there the system tells most apps that no
/// network is available, whatever there is, and everything would wait.
public struct SystemNetworkMonitor: NetworkMonitor {
    /// Unchecked for older SDKs, in which `NWPathMonitor` does not say that it guards itself.
    private final class Watch: NetworkWatch, @unchecked Sendable {
        private let monitor = NWPathMonitor()

        init(_ receive: @escaping @Sendable (NetworkPath) -> Void) {
            monitor.pathUpdateHandler = { receive(NetworkPath($0)) }
            monitor.start(queue: DispatchQueue(label: "lanner.network"))
        }

        deinit { monitor.cancel() }

        func cancel() { monitor.cancel() }
    }

    /// Makes the monitor.
    public init() {}

    /// Calls on a queue of its own.
    public func watch(_ receive: @escaping @Sendable (NetworkPath) -> Void) -> any NetworkWatch { Watch(receive) }
}

extension NetworkPath {
    /// A path for which a connection has first to be made (`requiresConnection`) counts as one: the attempt makes it.
    fileprivate init(_ path: NWPath) {
        self.init(
            isAvailable: path.status != .unsatisfied, kind: Kind(path), isExpensive: path.isExpensive,
            isConstrained: path.isConstrained)
    }
}

extension NetworkPath.Kind {
    /// A path that can use several is of the kind that systems prefer.
    fileprivate init(_ path: NWPath) {
        if path.usesInterfaceType(.wiredEthernet) {
            self = .wired
        } else if path.usesInterfaceType(.wifi) {
            self = .wifi
        } else {
            self = path.usesInterfaceType(.cellular) ? .cellular : .other
        }
    }
}
#endif
