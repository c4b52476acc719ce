import Foundation
import LannerMachine

// Every handler is called exactly once: when the task has come to rest, or soon when there is nothing to do (also
// when there is no such task, and then it is not called, there being nothing to call it with).

extension SessionManager {
    /// Starts a task, or starts it again; what is there of the file is kept.
    public func start(
        _ url: any URLConvertible, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil
    ) {
        perform(.start, url, onMainQueue, handler)
    }

    /// Starts a task, or starts it again; what is there of the file is kept.
    public func start(_ task: DownloadTask, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil) {
        perform(.start, task, onMainQueue, handler)
    }

    /// Stops a task that runs or waits, and keeps what is there of the file.
    public func suspend(
        _ url: any URLConvertible, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil
    ) {
        perform(.suspend, url, onMainQueue, handler)
    }

    /// Stops a task that runs or waits, and keeps what is there of the file.
    public func suspend(_ task: DownloadTask, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil) {
        perform(.suspend, task, onMainQueue, handler)
    }

    /// Stops and forgets a task, and deletes what is there of the file. A task that has succeeded is left alone.
    public func cancel(
        _ url: any URLConvertible, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil
    ) {
        perform(.cancel, url, onMainQueue, handler)
    }

    /// Stops and forgets a task, and deletes what is there of the file. A task that has succeeded is left alone.
    public func cancel(_ task: DownloadTask, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil) {
        perform(.cancel, task, onMainQueue, handler)
    }

    /// Forgets a task, whatever it is, and deletes an unfinished file; `completely`: a finished one too.
    public func remove(
        _ url: any URLConvertible, completely: Bool = false, onMainQueue: Bool = true,
        handler: Handler<DownloadTask>? = nil
    ) {
        perform(.remove(completely: completely), url, onMainQueue, handler)
    }

    /// Forgets a task, whatever it is, and deletes an unfinished file; `completely`: a finished one too.
    public func remove(
        _ task: DownloadTask, completely: Bool = false, onMainQueue: Bool = true, handler: Handler<DownloadTask>? = nil
    ) {
        perform(.remove(completely: completely), task, onMainQueue, handler)
    }

    /// Starts every task that has not succeeded.
    public func totalStart(onMainQueue: Bool = true, handler: Handler<SessionManager>? = nil) {
        performAll(.start, onMainQueue, handler)
    }

    /// Suspends every task that runs or waits.
    public func totalSuspend(onMainQueue: Bool = true, handler: Handler<SessionManager>? = nil) {
        performAll(.suspend, onMainQueue, handler)
    }

    /// Cancels every task that has not succeeded.
    public func totalCancel(onMainQueue: Bool = true, handler: Handler<SessionManager>? = nil) {
        performAll(.cancel, onMainQueue, handler)
    }

    /// Removes every task; `completely`: finished files too.
    public func totalRemove(
        completely: Bool = false, onMainQueue: Bool = true, handler: Handler<SessionManager>? = nil
    ) {
        performAll(.remove(completely: completely), onMainQueue, handler)
    }

    // MARK: -

    private func perform(
        _ verb: Verb, _ url: any URLConvertible, _ onMainQueue: Bool, _ handler: Handler<DownloadTask>?
    ) {
        guard let task = fetchTask(url) else {
            return engine.log { .error("nothing to do", error: LannerError.fetchDownloadTaskFailed(url: url)) }
        }
        perform(verb, task, onMainQueue, handler)
    }

    private func perform(
        _ verb: Verb, _ task: DownloadTask, _ onMainQueue: Bool, _ handler: Handler<DownloadTask>?
    ) {
        // A task of another manager, or one that is gone, is not mistaken for the one that has its number here.
        let ids = engine.job(task.id)?.task === task ? [task.id] : []
        guard let handler else { return engine.user(verb, ids, nil) }
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        engine.user(verb, ids) { [engine] in engine.dispatch(callback, task) }
    }

    private func performAll(_ verb: Verb, _ onMainQueue: Bool, _ handler: Handler<SessionManager>?) {
        guard let handler else { return engine.user(verb, nil, nil) }
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        engine.user(verb, nil) { [weak self] in
            if let self { engine.dispatch(callback, self) }
        }
    }
}
