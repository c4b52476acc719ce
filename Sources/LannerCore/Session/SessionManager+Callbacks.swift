import Foundation
import LannerMachine

extension SessionManager {
    /// Calls `handler` while any task advances: for each of them up to four times a second, unless
    /// ``SessionConfiguration/progressInterval`` limits the calls for all together. A call that is still pending is not
    /// repeated. On the main queue, or on ``operationQueue``.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The manager.
    @discardableResult
    public func progress(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        // The old one is given out of the lock; see `Locked.replace`.
        _ = state.withLock { state -> Callback<SessionManager>? in
            state.pending.replaceProgress()
            defer { state.callbacks.progress = callback }
            return state.callbacks.progress
        }
        return self
    }

    /// Calls `handler` each time the last task has ended and all have succeeded, from the next end on; not because
    /// finished tasks are removed from among others. On the main queue, or on ``operationQueue``; replaces an earlier
    /// closure of this kind. - Returns: The manager.
    @discardableResult
    public func success(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.success, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Calls `handler` each time nothing runs or waits any more and ``status`` is not succeeded, from the next end on;
    /// not because finished tasks are removed from among others. On the main queue, or on ``operationQueue``; replaces
    /// an earlier closure of this kind. - Returns: The manager.
    @discardableResult
    public func failure(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.failure, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Calls `handler` each time nothing runs or waits any more, from the next end on; not because finished tasks are
    /// removed from among others. The closures of ``success(onMainQueue:handler:)`` and ``failure(onMainQueue:handler:)``
    /// are not called then. On the main queue, or on ``operationQueue``; replaces an earlier closure of this kind.
    /// - Returns: The manager.
    @discardableResult
    public func completion(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        state.replace(\.callbacks.completion, by: Callback(onMainQueue: onMainQueue, handler: handler))
        return self
    }

    /// Called with true when the first task begins to run, and with false when none runs any more: for a sign that there
    /// is network activity. On ``operationQueue``, in order. Not called while ``isControlNetworkActivityIndicator`` is
    /// false.
    public var networkActivityHandler: (@Sendable (Bool) -> Void)? {
        get { state.withLock { $0.networkActivityHandler } }
        set { state.replace(\.networkActivityHandler, by: newValue) }
    }

    /// Whether ``networkActivityHandler`` is called. True unless set.
    public var isControlNetworkActivityIndicator: Bool {
        get { state.withLock { $0.tellsActivity } }
        set { state.withLock { $0.tellsActivity = newValue } }
    }

    func tellActivity(_ isActive: Bool) {
        let handler = state.withLock { $0.tellsActivity ? $0.networkActivityHandler : nil }
        if let handler { engine.operationLane.run { handler(isActive) } }
    }

    /// Nothing runs here any more.
    func endActivity() {
        if engine.state.withLock({ $0.endActivity() }) { tellActivity(false) }
    }

    func tellProgress() {
        let (pending, isDue) = state.withLock { state in
            defer { state.pending.isRunning = true }
            let callback = state.pending.isProgress ? nil : state.callbacks.progress
            return (callback.map { ($0, state.pending.beginProgress()) }, !state.pending.isRunning)
        }
        if isDue { postRunning() }
        guard let (callback, number) = pending else { return }
        engine.lane(callback).run { [weak self] in
            guard let self else { return }
            state.withLock { $0.pending.endProgress(number) }
            callback.handler(self)
        }
    }

    private func postRunning() {
        guard engine.isPosting else { return state.withLock { $0.pending.isRunning = false } }
        engine.operationLane.run { [weak self] in
            guard let self else { return }
            state.withLock { $0.pending.isRunning = false }
            NotificationCenter.default.post(name: Self.runningNotification, object: self)
        }
    }

    func tellEnd(_ status: Status) {
        let callback = state.withLock { $0.callbacks.ended(succeeded: status == .succeeded) }
        if let callback { engine.dispatch(callback, self) }
        guard engine.isPosting else { return }
        engine.operationLane.run { [weak self] in
            if let self { NotificationCenter.default.post(name: Self.didCompleteNotification, object: self) }
        }
    }
}
