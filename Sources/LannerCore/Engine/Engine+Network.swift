import LannerMachine

// Which network there is, and whether it may be used.

/// Lets downloads run while there is a network that they may use.
struct NetworkGate {
    /// Which kinds may be used.
    var access = NetworkAccess()
    /// What the monitor has told last; nil while it has told nothing.
    var path: NetworkPath?
    /// Whether requests wait for a network by themselves: then nobody is stopped or held back for want of one, and who has
    /// found none all the same is told when there is one.
    var onlyWakes = false
    /// What was found last; nil before the monitor has told anything.
    private var found: Bool?

    /// Whether downloads may run.
    var isOpen: Bool { onlyWakes || isAllowed }

    private var isAllowed: Bool { path.map(access.allows) ?? true }

    /// What the machine has to be told because of a change; it has to be told the first time, too.
    mutating func news() -> [Event] {
        guard path != nil, found != isAllowed else { return [] }
        found = isAllowed
        return isOpen == isAllowed ? [.network(available: isAllowed)] : []
    }
}

extension Engine {
    /// Has the monitor tell of the network from now on.
    func watchNetwork() {
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
        let watch = state.withLock { $0.networkWatch.take() }
        watch?.cancel()
    }
}
