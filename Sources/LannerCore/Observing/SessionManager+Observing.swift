extension SessionManager {
    /// What happens to the manager and to its tasks, beginning with its status once all that was asked for before is on its
    /// way; ends when the manager is invalidated or gone. Any number may listen.
    public var events: EventSequence<SessionEvent> { engine.makeSequence() }

    /// Calls a closure with what happens to the manager and to its tasks, beginning as ``events`` does. Any number may be
    /// added.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called in the order of the events, never inside this call, until the observation is canceled or let go
    ///     of.
    /// - Returns: The observation: hold it for as long as the closure is to be called.
    public func observe(
        onMainQueue: Bool, handler: @escaping @Sendable (SessionEvent) -> Void
    ) -> EventObservation {
        engine.makeObservation(on: engine.lane(onMainQueue: onMainQueue), handler)
    }

    /// Calls `handler` each time a task of the present context comes to rest, however; after those of the task's own
    /// closures that are called on the same queue. On the main queue, or on ``operationQueue``.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The manager.
    @discardableResult
    public func taskCompletion(onMainQueue: Bool, handler: @escaping DownloadTask.Handler) -> Self {
        if engine.isOver { return self }
        state.replace(\.taskCompletion, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }
}

extension Engine: EventSource {
    func listen(_ begin: @escaping @Sendable () -> Void) {
        inOrder(begin)
    }

    /// Whoever looks at the tasks meanwhile sees how they stood before what comes now.
    func addEarly(_ observer: Observer<SessionEvent>) {
        state.withLock { state in
            observer.hold()
            _ = state.observers.add(observer)
        }
    }

    func add(_ makeObserver: (SessionEvent) -> Observer<SessionEvent>) {
        let (observer, isAdded) = state.withLock { state in
            let observer = makeObserver(.status(state.totals.status))
            return (observer, !state.isInvalidated && state.observers.add(observer))
        }
        if !isAdded { observer.end() }
    }

    func remove(_ observer: Observer<SessionEvent>) {
        _ = state.withLock { $0.observers.remove(observer) }
    }
}
