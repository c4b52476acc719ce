import LannerMachine

// Which downloads are shown and may run.

extension Engine {
    /// Puts the downloads of another context in the place of those that were shown.
    func choose(_ context: String?) {
        if isOver { return logOver("the context was not changed") }
        var unwanted: [Job] = []
        enter { state in
            guard state.isShutDown || state.context != context else { return [] }
            let before = state.isShutDown ? [] : state.scope.ids.sorted()
            (state.context, state.isShutDown, state.toldStatus) = (context, false, nil)
            unwanted = state.note(.shelve, before)
            return [.user(.shelve, before, nil), .user(.unshelve, state.scope.ids.sorted(), nil)]
        }
        salvage(unwanted)
        inOrder { [self] in tellAll() }
    }

    /// Stops what is shown, without changing what is. `done` is called exactly once, when all has stopped.
    func shutDown(_ done: @escaping @Sendable () -> Void) {
        var isTaken = false
        var unwanted: [Job] = []
        enter { state in
            (isTaken, state.isShutDown) = (true, true)
            unwanted = state.note(.shelve, state.scope.ids.sorted())
            // Those of another context may still be stopping.
            let all = state.scopes.values.flatMap(\.ids).sorted()
            return [.user(.shelve, all, state.makeTicket(done))]
        }
        salvage(unwanted)
        if isTaken { return }
        logOver("nothing was shut down")
        done()
    }
}

extension EngineState {
    /// The downloads of the present context.
    var scope: Scope { scopes[context] ?? Scope() }

    /// What they sum up to.
    var totals: Totals { scopes[context]?.totals ?? Totals() }

    /// Whether downloads of a context may not run now.
    func isShelved(_ context: String?) -> Bool { isShutDown || context != self.context }
}
