import LannerMachine

// Which network there is, and whether it may be used.

/// Lets downloads run while there is a network that they may use.
struct NetworkGate {
    /// Which kinds may be used.
    var access = NetworkAccess()
    /// What the monitor has told last; nil while it has told nothing.
    var path: NetworkPath?
    /// What the machine was told last.
    private var told: Bool?

    /// Whether downloads may run.
    var isOpen: Bool { path.map(access.allows) ?? true }

    /// What the machine has to be told because of a change; it has to be told the first time, too.
    mutating func news() -> [Event] {
        guard path != nil, told != isOpen else { return [] }
        told = isOpen
        return [.network(available: isOpen)]
    }
}

extension Engine {
    /// Has the monitor tell of the network from now on.
    func watchNetwork() {
        // Exchanges that go on without the manager wait for their network without it.
        if traits.outlivesProcess { return }
        let watch = environment.network.watch { [weak self] path in self?.take(path) }
        let isOver = state.withLock { state in
            if !state.isInvalidated { state.networkWatch = watch }
            return state.isInvalidated
        }
        if isOver { watch.cancel() }
    }

    private func take(_ path: NetworkPath) {
        enter { state in
            state.gate.path = path
            return state.gate.news()
        }
    }

    /// Whether nobody is admitted because of the network.
    var isWithoutNetwork: Bool { state.withLock { !$0.gate.isOpen } }

    func endNetworkWatch() {
        let watch = state.withLock { state in
            defer { state.networkWatch = nil }
            return state.networkWatch
        }
        watch?.cancel()
    }
}
