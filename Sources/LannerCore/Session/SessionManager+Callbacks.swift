import Foundation
import LannerMachine

extension SessionManager {
    /// Calls `handler` while any task advances, until ``speed`` has fallen to 0 where all stall, and when one begins to
    /// wait, is suspended or fails: for each of them up to four times a second, unless
    /// ``SessionConfiguration/progressInterval`` limits the calls for all together. A call that is still pending is not
    /// repeated. On the main queue, or on ``operationQueue``.
    ///
    /// Replaces an earlier closure of this kind. - Returns: The manager.
    @discardableResult
    public func progress(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        if engine.isOver { return self }
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        // The old one is given out of the lock; see `Locked.replace`.
        _ = state.withLock { state -> Callback<SessionManager>? in
            state.pending.replaceProgress()
            defer { state.callbacks.progress = callback }
            return state.callbacks.progress
        }
        return self
    }

    /// Calls `handler` each time the last task has ended and all have succeeded, from the next end on, and each time
    /// downloads are asked for that are all there, as all others are; not because finished tasks are removed from among
    /// others, unless that leaves none that has failed. On the main queue, or on ``operationQueue``; replaces an earlier
    /// closure of this kind. - Returns: The manager.
    @discardableResult
    public func success(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.callbacks.success)
    }

    /// Calls `handler` each time nothing runs or waits any more and ``status`` is not succeeded, from the next end on;
    /// not because finished tasks are removed from among others. When no task is left, it is: ``status`` is canceled or
    /// removed then. On the main queue, or on ``operationQueue``; replaces an earlier closure of this kind.
    /// - Returns: The manager.
    @discardableResult
    public func failure(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.callbacks.failure)
    }

    /// Calls `handler` each time nothing runs or waits any more, from the next end on, and each time downloads are asked
    /// for that are all there, as all others are; not because finished tasks are removed from among others, unless none is
    /// left. The closures of ``success(onMainQueue:handler:)`` and
    /// ``failure(onMainQueue:handler:)`` are not called then. On the main queue, or on ``operationQueue``; replaces an
    /// earlier closure of this kind.
    /// - Returns: The manager.
    @discardableResult
    public func completion(onMainQueue: Bool, handler: @escaping Handler) -> Self {
        set(Callback(onMainQueue: onMainQueue, handler: handler), at: \.callbacks.completion)
    }

    /// Once the manager has ended nobody would let go of it any more.
    private func set(
        _ callback: Callback<SessionManager>, at place: WritableKeyPath<ManagerState, Callback<SessionManager>?>
    ) -> Self {
        if !engine.isOver { state.replace(place, by: callback) }
        return self
    }

    /// Called with true when the first task begins to run, soon where one runs already, and with false when none runs any
    /// more: for a sign that there is network activity. On ``operationQueue``, in order, and in turn: never with false
    /// first. One that is replaced is told nothing more, also where it was told true last.
    public var networkActivityHandler: (@Sendable (Bool) -> Void)? {
        get { state.withLock { $0.activitySign?.handler } }
        set {
            if engine.isOver, newValue != nil { return }
            state.replace(\.activitySign, by: newValue.map(ActivitySign.init))
            showActivity()
        }
    }

    /// Whether ``networkActivityHandler`` is called. True unless set. Where it is turned off while tasks run, the handler
    /// is called with false, and where it is turned on, with true.
    public var isControlNetworkActivityIndicator: Bool {
        get { state.withLock { $0.tellsActivity } }
        set {
            state.withLock { $0.tellsActivity = newValue }
            showActivity()
        }
    }

    func tellActivity(_ isActive: Bool) {
        guard let sign = state.withLock({ $0.activitySign }) else { return }
        // By what is set when its turn comes: the word of who turns it off may be before this one.
        engine.operationLane.run { [state] in sign.show(isActive && state.withLock { $0.tellsActivity }) }
    }

    /// Tells how it is now, who is told of it, or whether anybody is, being another.
    private func showActivity() {
        let (sign, isTold) = state.withLock { ($0.activitySign, $0.tellsActivity) }
        guard let sign else { return }
        engine.operationLane.run { [engine] in sign.show(isTold && engine.state.withLock { $0.isActivityTold }) }
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
        let callback = state.withLock { state in
            state.ends += 1
            return state.callbacks.ended(succeeded: status == .succeeded)
        }
        if let callback { engine.dispatch(callback, self) }
        guard engine.isPosting else { return }
        engine.operationLane.run { [weak self] in
            if let self { NotificationCenter.default.post(name: Self.didCompleteNotification, object: self) }
        }
    }
}

/// A sign of network activity that somebody shows. Its calls are those of one lane.
final class ActivitySign: Sendable {
    let handler: @Sendable (Bool) -> Void
    private let isShown = Locked(false)

    init(_ handler: @escaping @Sendable (Bool) -> Void) {
        self.handler = handler
    }

    func show(_ isActive: Bool) {
        let isNews = isShown.withLock { isShown in
            defer { isShown = isActive }
            return isShown != isActive
        }
        if isNews { handler(isActive) }
    }
}
