import Foundation
import LannerMachine

// The handlers of all of these keep one promise, which is told at each: called exactly once, whatever happens. Those of
// `cancel` and `remove` wait for the store; for the others the store has the record by then, and may still be writing it.

extension SessionManager {
    /// Starts a task, or starts it again; what is there of the file is kept.
    ///
    /// - Parameters:
    ///   - url: The URL of the task, which was given no other key.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it has been started, which
    ///     may be before it runs; soon when it runs, waits or has succeeded already.
    ///     When there is no such task, it is called soon with one that belongs to no manager, whose
    ///     ``DownloadTask/status`` is ``Status/removed`` and whose ``DownloadTask/error`` is
    ///     ``LannerError/fetchDownloadTaskFailed(url:)``.
    public func start(
        _ url: any URLConvertible, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.start, url, true, onMainQueue, handler)
    }

    /// Starts a task, or starts it again; what is there of the file is kept.
    ///
    /// - Parameters:
    ///   - task: The task; nil, as from ``fetchTask(_:)`` when there is none, does nothing.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it has been started, which
    ///     may be before it runs; soon when it runs, waits or has succeeded already.
    ///     When the task is not, or no longer, this manager's, it is called soon with the task as it is; when it is
    ///     nil, with one that belongs to no manager.
    public func start(_ task: DownloadTask?, onMainQueue: Bool, handler: DownloadTask.Handler? = nil) {
        perform(.start, task, true, onMainQueue, handler)
    }

    /// Stops a task that runs or waits, and keeps what is there of the file.
    ///
    /// - Parameters:
    ///   - url: The URL of the task, which was given no other key.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it has come to rest; the store has its
    ///     record by then, and may still be writing it. Soon when it rests already. One that is just being finished
    ///     succeeds first. When there is no task for the URL, it is called soon with one that belongs to no manager,
    ///     whose ``DownloadTask/status`` is ``Status/removed`` and whose ``DownloadTask/error`` is
    ///     ``LannerError/fetchDownloadTaskFailed(url:)``.
    public func suspend(
        _ url: any URLConvertible, startsNext: Bool = true, onMainQueue: Bool,
        handler: DownloadTask.Handler? = nil
    ) {
        perform(.suspend, url, startsNext, onMainQueue, handler)
    }

    /// Stops a task that runs or waits, and keeps what is there of the file.
    ///
    /// - Parameters:
    ///   - task: The task; nil, as from ``fetchTask(_:)`` when there is none, does nothing.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it has come to rest; the store has its
    ///     record by then, and may still be writing it. Soon when it rests already. One that is just being finished
    ///     succeeds first. When the task is not, or no longer, this manager's, it is called soon with the task as it
    ///     is; when it is nil, with one that belongs to no manager.
    public func suspend(
        _ task: DownloadTask?, startsNext: Bool = true, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.suspend, task, startsNext, onMainQueue, handler)
    }

    /// Stops and forgets a task, and deletes what is there of the file, unless
    /// ``SessionConfiguration/keepsPartialFileOnCancel`` is set. A task that has succeeded is left alone.
    ///
    /// - Parameters:
    ///   - url: The URL of the task, which was given no other key.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it is gone, and its
    ///     file deleted or recorded as left; soon when it has succeeded.
    ///     When there is no such task, it is called soon with one that belongs to no manager, whose
    ///     ``DownloadTask/status`` is ``Status/removed`` and whose ``DownloadTask/error`` is
    ///     ``LannerError/fetchDownloadTaskFailed(url:)``.
    public func cancel(
        _ url: any URLConvertible, startsNext: Bool = true, onMainQueue: Bool,
        handler: DownloadTask.Handler? = nil
    ) {
        perform(.cancel, url, startsNext, onMainQueue, handler)
    }

    /// Stops and forgets a task, and deletes what is there of the file, unless
    /// ``SessionConfiguration/keepsPartialFileOnCancel`` is set. A task that has succeeded is left alone.
    ///
    /// - Parameters:
    ///   - task: The task; nil, as from ``fetchTask(_:)`` when there is none, does nothing.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it is gone, and its
    ///     file deleted or recorded as left; soon when it has succeeded.
    ///     When the task is not, or no longer, this manager's, it is called soon with the task as it is; when it is
    ///     nil, with one that belongs to no manager.
    public func cancel(
        _ task: DownloadTask?, startsNext: Bool = true, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.cancel, task, startsNext, onMainQueue, handler)
    }

    /// Forgets a task, whatever it is, and deletes an unfinished file, one that a canceled task has left as well
    /// (``SessionConfiguration/keepsPartialFileOnCancel``).
    ///
    /// - Parameters:
    ///   - url: The URL of the task, which was given no other key.
    ///   - completely: Whether a finished file is deleted, too: when the program dies meanwhile, at the next launch. Where
    ///     the disk refuses that, or the store to forget the task, ``DownloadTask/error`` says why.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it and its files are gone.
    ///     When there is no such task, it is called soon with one that belongs to no manager, whose
    ///     ``DownloadTask/status`` is ``Status/removed`` and whose ``DownloadTask/error`` is
    ///     ``LannerError/fetchDownloadTaskFailed(url:)``.
    public func remove(
        _ url: any URLConvertible, completely: Bool = false, startsNext: Bool = true, onMainQueue: Bool,
        handler: DownloadTask.Handler? = nil
    ) {
        perform(.remove(completely: completely), url, startsNext, onMainQueue, handler)
    }

    /// Forgets a task, whatever it is, and deletes an unfinished file.
    ///
    /// - Parameters:
    ///   - task: The task; nil, as from ``fetchTask(_:)`` when there is none, does nothing.
    ///   - completely: Whether a finished file is deleted, too: when the program dies meanwhile, at the next launch. Where
    ///     the disk refuses that, or the store to forget the task, ``DownloadTask/error`` says why.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the task when it and its files are gone.
    ///     When the task is not, or no longer, this manager's, it is called soon with the task as it is; when it is
    ///     nil, with one that belongs to no manager.
    public func remove(
        _ task: DownloadTask?, completely: Bool = false, startsNext: Bool = true, onMainQueue: Bool,
        handler: DownloadTask.Handler? = nil
    ) {
        perform(.remove(completely: completely), task, startsNext, onMainQueue, handler)
    }

    /// Starts every task of the present context that has not succeeded.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when all have been started; soon
    ///     when there are none. The manager lives until then.
    public func totalStart(onMainQueue: Bool, handler: Handler? = nil) {
        performAll(.start, onMainQueue, handler)
    }

    /// Suspends every task of the present context that runs or waits.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when all have come to rest; the
    ///     store has their records by then, and may still be writing them. Soon when there are none. The manager lives
    ///     until then.
    public func totalSuspend(onMainQueue: Bool, handler: Handler? = nil) {
        performAll(.suspend, onMainQueue, handler)
    }

    /// Cancels every task of the present context that has not succeeded; see `cancel`
    /// for what becomes of their files.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when they are gone, and their files
    ///     deleted or recorded as left; soon when there are none. The manager lives until then.
    public func totalCancel(onMainQueue: Bool, handler: Handler? = nil) {
        performAll(.cancel, onMainQueue, handler)
    }

    /// Removes every task of the present context.
    ///
    /// - Parameters:
    ///   - completely: Whether finished files are deleted, too.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when they and their files are
    ///     gone; soon when there are none. The manager lives until then.
    public func totalRemove(
        completely: Bool = false, onMainQueue: Bool, handler: Handler? = nil
    ) {
        performAll(.remove(completely: completely), onMainQueue, handler)
    }

    // MARK: -

    private func perform(
        _ verb: Verb, _ url: any URLConvertible, _ startsNext: Bool, _ onMainQueue: Bool,
        _ handler: DownloadTask.Handler?
    ) {
        if let task = fetchTask(url) { return perform(verb, task, startsNext, onMainQueue, handler) }
        if case .remove = verb, let key = (try? url.asURL())?.absoluteString { engine.dropLeftover(ofKey: key) }
        performNothing(url, .fetchDownloadTaskFailed(url: url), onMainQueue, handler)
    }

    func performNothing(
        _ url: any URLConvertible, _ error: LannerError, _ onMainQueue: Bool, _ handler: DownloadTask.Handler?
    ) {
        engine.log { .error("nothing to do", error: error) }
        guard let handler else { return }
        let nobody = DownloadTask(nowhere: url, .removed, error, cache)
        engine.dispatch(Callback(onMainQueue: onMainQueue, handler: handler), nobody)
    }

    func perform(
        _ verb: Verb, _ task: DownloadTask?, _ startsNext: Bool, _ onMainQueue: Bool, _ handler: DownloadTask.Handler?
    ) {
        guard let task else {
            return performNothing("", .fetchDownloadTaskFailed(url: ""), onMainQueue, handler)
        }
        perform(verb, { $0.ids(of: [task]) }, startsNext, onMainQueue, handler, task)
    }

    private func performAll(_ verb: Verb, _ onMainQueue: Bool, _ handler: Handler?) {
        perform(verb, nil, true, onMainQueue, handler, self)
    }

    /// A verb over some downloads, or over all of the present context when nil. The handler's argument lives until then.
    func perform<Sender: Sendable>(
        _ verb: Verb, _ whom: ((EngineState) -> [DownloadID])?, _ startsNext: Bool, _ onMainQueue: Bool,
        _ handler: (@Sendable (Sender) -> Void)?, _ sender: Sender
    ) {
        guard let handler else { return engine.user(verb, whom, startsNext: startsNext, nil) }
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        engine.user(verb, whom, startsNext: startsNext) { [engine] in engine.dispatch(callback, sender) }
    }

    /// Forgets the records of tasks at rest, in one commit, and not the tasks: for who is about to end the manager. Calls
    /// `done` exactly once, with whether the store has done so, when that and all that was to be recorded before is
    /// with it.
    package func dropRecords(of tasks: [DownloadTask], _ done: @escaping @Sendable (Bool) -> Void) {
        let keys = engine.state.withLock { $0.ids(of: tasks) }.map(DownloadRecord.key)
        if keys.isEmpty { return done(true) }
        engine.inOrder { [engine] in
            if engine.isOver { done(false) } else { engine.forget(keys, done) }
        }
    }
}

extension EngineState {
    /// The numbers of those tasks that are here.
    func ids(of tasks: [DownloadTask]) -> [DownloadID] { tasks.compactMap { job(of: $0)?.id } }
}
