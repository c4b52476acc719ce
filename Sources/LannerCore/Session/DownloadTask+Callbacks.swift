extension DownloadTask {
    /// Calls `handler` while the task advances, at most four times a second, and at the beginning and the end of each attempt;
    /// where it stalls, until ``speed`` has fallen to 0, and when it begins to wait, is suspended or fails. A call that is
    /// still pending is not repeated.
    /// On the main queue, or on the manager's operation queue.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The task.
    @discardableResult
    public func progress(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        // Nobody would let go of it any more.
        guard let engine, !engine.isOver else { return self }
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        // The old one is given out of the lock; see `Locked.replace`.
        _ = state.withLock { state -> Callback<DownloadTask>? in
            if state.status.isGone { return nil }
            state.pending.replaceProgress()
            defer { state.callbacks.progress = callback }
            return state.callbacks.progress
        }
        return self
    }

    /// Calls `handler` each time the task succeeds; once soon, when it has already. Never for a task whose manager is gone.
    /// On the main queue, or on the manager's operation queue.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The task.
    @discardableResult
    public func success(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.success) { $0 == .succeeded }
    }

    /// Calls `handler` each time the task comes to rest without success (suspended, failed, canceled, removed); once
    /// soon, when it has already. Never for a task whose manager is gone. On the main queue, or on the manager's operation
    /// queue.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The task.
    @discardableResult
    public func failure(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.failure) { $0.isAtRest && $0 != .succeeded }
    }

    /// Calls `handler` each time the task comes to rest, however; once soon, when it has already. The closures of
    /// ``success(onMainQueue:handler:)`` and ``failure(onMainQueue:handler:)`` are not called then. Never for a task whose
    /// manager is gone. On the main queue, or on the manager's operation queue.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The task.
    @discardableResult
    public func completion(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.completion, isDue: { $0.isAtRest })
    }

    private func set(
        _ callback: Callback<DownloadTask>,
        at kind: WritableKeyPath<Callbacks<DownloadTask>, Callback<DownloadTask>?> & Sendable,
        isDue: @escaping @Sendable (Status) -> Bool
    ) -> Self {
        guard let engine else { return self }
        // In order with the news of the task, so that an end is told by exactly one of the two: this, or the news.
        engine.listen { [self] in
            let isOver = engine.isOverHere
            // The old one is given out of the lock; see `Locked.replace`.
            let (isDueNow, rounds, _) = state.withLock { state -> (Bool, UInt32, Callback<DownloadTask>?) in
                let old = state.callbacks[keyPath: kind]
                if !state.status.isGone, !isOver { state.callbacks[keyPath: kind] = callback }
                let isReplaced = state.callbacks.completion != nil && kind != \.completion
                return (isDue(state.status) && !isReplaced, state.rounds, old)
            }
            guard isDueNow else { return }
            // Once it has gone on another end is told, and this one no more.
            engine.lane(callback).run { [self] in
                // Nor where a completion was set behind it.
                let isDue = state.withLock {
                    $0.rounds == rounds && (kind == \.completion || $0.callbacks.completion == nil)
                }
                if isDue { callback.handler(self) }
            }
        }
        return self
    }
}
