import LannerMachine

extension SessionManager {
    /// Calls `handler` while any task advances; a call that is still to come is not doubled. On the main queue, or on
    /// ``operationQueue``.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The manager.
    @discardableResult
    public func progress(onMainQueue: Bool = true, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.progress, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Calls `handler` each time the last task has ended and all have succeeded. - Returns: The manager.
    @discardableResult
    public func success(onMainQueue: Bool = true, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.success, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Calls `handler` each time nothing runs or waits any more and ``status`` is not succeeded. - Returns: The manager.
    @discardableResult
    public func failure(onMainQueue: Bool = true, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.failure, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Calls `handler` each time nothing runs or waits any more; the closures of ``success(onMainQueue:handler:)`` and
    /// ``failure(onMainQueue:handler:)`` are not called then. - Returns: The manager.
    @discardableResult
    public func completion(onMainQueue: Bool = true, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.completion, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    func tellProgress() {
        let callback = state.withLock { state -> Callback<SessionManager>? in
            guard let callback = state.callbacks.progress, !state.callbacks.isProgressPending else { return nil }
            state.callbacks.isProgressPending = true
            return callback
        }
        guard let callback else { return }
        engine.lane(callback).run { [weak self] in
            guard let self else { return }
            state.withLock { $0.callbacks.isProgressPending = false }
            callback.handler(self)
        }
    }

    func tellEnd(_ status: Status) {
        let callback = state.withLock { $0.callbacks.ended(succeeded: status == .succeeded) }
        if let callback { engine.dispatch(callback, self) }
    }
}
