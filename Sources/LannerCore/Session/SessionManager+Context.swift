import LannerMachine

extension SessionManager {
    /// Whose downloads are shown and may run: for example the name of the user who has logged in. Nil is a context like
    /// any other, and the first, unless ``SessionConfiguration/contextAtLaunch`` says otherwise.
    ///
    /// A task belongs to the context in which it was added, for good. One key may have a task in each.
    ///
    /// Files are not kept apart: the same URL leads to the same file, unless its tasks have names of their own, and it is
    /// that of whoever has downloaded it last, and gone when that task is removed with it.
    ///
    /// Setting another context stops what runs and waits, and keeps the bytes. The tasks of the other one come in the place
    /// of those that were shown, and those of them that had run or waited when their context was left do so again.
    /// Meanwhile a task of a context that is not present
    /// - is not in ``tasks``, in any other answer to a question, or in ``status``, ``progress`` and the like, which are
    ///   about the present context only;
    /// - keeps its place in the order, its callbacks and its observers, and is ``Status/waiting`` for
    ///   ``WaitingReason/context`` if it ran or waited; that is no end, and no callback is told of it. A file that was
    ///   just being moved to its place succeeds, which the task tells and the manager does not;
    /// - does what it is asked, where somebody still holds it. To be started means to wait for its context.
    ///
    /// The manager's callbacks tell what happens to the tasks of the present context; the change itself is no end and calls
    /// none. The context is not remembered from one launch to the next, that of each task is.
    public var context: String? {
        get { engine.state.withLock { $0.context } }
        set { engine.choose(newValue) }
    }

    /// Whether all is stopped by ``shutDown(onMainQueue:handler:)``, or since the launch by
    /// ``SessionConfiguration/isShutDownAtLaunch``.
    public var isShutDown: Bool { engine.state.withLock { $0.isShutDown } }

    /// Stops all tasks, and keeps their bytes; until ``context`` is set, also to what it is, nothing runs. Tasks that
    /// ran or waited wait for ``WaitingReason/context``; all are shown as before. Tasks that are started or added
    /// meanwhile wait as well. A later launch knows nothing of it: see ``SessionConfiguration/isShutDownAtLaunch``.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when nothing runs any more; the store
    ///     has all records by then, and may still be writing them. The manager lives until then.
    public func shutDown(onMainQueue: Bool, handler: Handler? = nil) {
        let callback = handler.map { Callback(onMainQueue: onMainQueue, handler: $0) }
        engine.shutDown { [self] in
            if let callback { engine.dispatch(callback, self) }
        }
    }
}
