/// What happens to a task, as ``DownloadTask/events`` tells it.
public enum DownloadEvent: Sendable {
    /// The task stands elsewhere now. Go by this value: ``DownloadTask/status`` may be ahead of it when it is told.
    case status(Status)
    /// ``DownloadTask/completedBytes``, and the size where it is known. Told again of a task that stalls only until its
    /// ``DownloadTask/speed`` has fallen to 0. At most every
    /// ``SessionConfiguration/progressInterval``; what that has withheld is told before another event. Bytes that were
    /// still being written when an attempt ended, or was asked to, are told once they are, before the task rests or runs
    /// again: that may be behind ``retrying(_:after:)`` and the status that follows, ``Status/waiting`` or
    /// ``Status/willSuspend``.
    case progress(completed: Int64, total: Int64?)
    /// Bytes that were there were given up, and why. What comes of the task is told by what follows: mostly it begins again,
    /// but it may also fail.
    case restarted(RestartReason)
    /// An attempt failed, and another follows after that delay, or sooner where a network was missing that comes back.
    case retrying(LannerError, after: Duration)
    /// The server described the file.
    case response(ResponseHead)
}

extension DownloadTask {
    /// What happens to the task, beginning with its status once all that was asked for before is on its way: one that has
    /// just been started does not rest. Ends when the task is removed or canceled, or its manager is invalidated. Any
    /// number may listen.
    public var events: EventSequence<DownloadEvent> { makeSequence() }

    /// Calls a closure with what happens to the task, beginning as ``events`` does. Any number may be added.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on the manager's operation queue.
    ///   - handler: Called in the order of the events, never inside this call, until the observation is canceled or let go
    ///     of. One of a task that has no manager is never called.
    /// - Returns: The observation: hold it for as long as the closure is to be called.
    public func observe(
        onMainQueue: Bool, handler: @escaping @Sendable (DownloadEvent) -> Void
    ) -> EventObservation {
        guard let engine else { return EventObservation {} }
        return makeObservation(on: engine.lane(onMainQueue: onMainQueue), handler)
    }
}

extension DownloadTask: EventSource {
    func listen(_ begin: @escaping @Sendable () -> Void) {
        if let engine { engine.listen(begin) } else { begin() }
    }

    func add(_ makeObserver: (DownloadEvent) -> Observer<DownloadEvent>) {
        let isManagerGone = engine?.isOver ?? true
        let (observer, isAdded) = state.withLock { state in
            let observer = makeObserver(.status(state.status))
            return (observer, !isManagerGone && state.observers.add(observer))
        }
        if !isAdded { observer.end() }
    }

    func remove(_ observer: Observer<DownloadEvent>) {
        _ = state.withLock { $0.observers.remove(observer) }
    }

    /// Nothing more comes.
    func endObservers() {
        for observer in state.withLock({ $0.observers.end() }) { observer.end() }
    }
}
