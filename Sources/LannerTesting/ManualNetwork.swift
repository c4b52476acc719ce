import LannerCore

/// A network monitor that tells what a test says, when it says so.
///
/// May be used on any thread, but ``path`` set on one at a time; it is told on that thread.
public final class ManualNetwork: NetworkMonitor {
    private struct State {
        var path: NetworkPath?
        var lastWatch: UInt64 = 0
        var watches: [UInt64: @Sendable (NetworkPath) -> Void] = [:]
    }

    private final class Watch: NetworkWatch {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        func cancel() { end() }
    }

    private let state: Locked<State>

    /// A monitor that tells this path from the beginning; for nil nothing until ``path`` is set.
    public init(_ path: NetworkPath? = nil) {
        state = Locked(State(path: path))
    }

    /// What network there is. Setting it tells every watch, before the setter returns, also of what it knows already; nil,
    /// the value of a monitor that has told nothing, cannot be told.
    public var path: NetworkPath? {
        get { state.withLock { $0.path } }
        set {
            let numbers = state.withLock { state in
                state.path = newValue
                return state.watches.keys.sorted()
            }
            // Whoever is told may set another, or end a watch: that is what the rest is told, then.
            for number in numbers {
                let (watch, path) = state.withLock { ($0.watches[number], $0.path) }
                if let watch, let path { watch(path) }
            }
        }
    }

    /// How many watch.
    public var watchCount: Int { state.withLock { $0.watches.count } }

    /// Tells the present path, if there is one, before it returns.
    public func watch(_ receive: @escaping @Sendable (NetworkPath) -> Void) -> any NetworkWatch {
        let (number, path) = state.withLock { state in
            state.lastWatch += 1
            state.watches[state.lastWatch] = receive
            return (state.lastWatch, state.path)
        }
        if let path { receive(path) }
        return Watch { [weak self] in _ = self?.state.withLock { $0.watches.removeValue(forKey: number) } }
    }
}
