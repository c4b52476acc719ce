import Foundation

extension DownloadTask {
    /// Posted by a task that runs, when it begins to and while it advances: as often as the closure of
    /// ``progress(onMainQueue:handler:)`` is called. Posted on ``SessionManager/operationQueue``; the object is the task.
    public static let runningNotification = Notification.Name("lanner.downloadTask.running")
    /// Posted by a task that has come to rest: succeeded, suspended, failed, canceled or removed. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let didCompleteNotification = Notification.Name("lanner.downloadTask.didComplete")
}

extension SessionManager {
    /// Posted by a manager while any of its tasks advances. Posted on ``operationQueue``; the object is the manager.
    public static let runningNotification = Notification.Name("lanner.sessionManager.running")
    /// Posted by a manager when nothing runs or waits any more. Posted on ``operationQueue``; the object is the manager.
    public static let didCompleteNotification = Notification.Name("lanner.sessionManager.didComplete")
}

extension Notification {
    /// The task that posted this; nil when none did.
    public var downloadTask: DownloadTask? { object as? DownloadTask }
    /// The manager that posted this; nil when none did.
    public var sessionManager: SessionManager? { object as? SessionManager }
}

extension Engine {
    /// Posts on the operation queue.
    func post(_ name: Notification.Name, by sender: any Sendable & AnyObject) {
        operationLane.run { NotificationCenter.default.post(name: name, object: sender) }
    }

    /// Posts on the operation queue that a task runs, unless that is on its way already.
    func postRunning(_ task: DownloadTask) {
        let isDue = task.state.withLock { state in
            defer { state.isRunningPending = true }
            return !state.isRunningPending
        }
        guard isDue else { return }
        operationLane.run {
            task.state.withLock { $0.isRunningPending = false }
            NotificationCenter.default.post(name: DownloadTask.runningNotification, object: task)
        }
    }
}
