import Foundation

// All of these are posted on the manager's operation queue, in order. The object is the task, or the manager.

extension DownloadTask {
    /// Posted by a task that runs, when it begins to, and with each ``progressNotification``. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let runningNotification = Notification.Name("lanner.downloadTask.running")
    /// Posted by a task that has come to rest: succeeded, suspended, failed, canceled or removed. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let didCompleteNotification = Notification.Name("lanner.downloadTask.didComplete")

    /// Posted by a task that was added to its manager, before any other. Not by those that are restored at launch.
    /// Posted on ``SessionManager/operationQueue``; the object is the task.
    public static let addedNotification = Notification.Name("lanner.downloadTask.added")
    /// Posted by a task that begins to run, also when it does so again. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let startedNotification = Notification.Name("lanner.downloadTask.started")
    /// Posted by a task that runs, while it advances, and where it stalls until ``speed`` has fallen to 0; at most every
    /// ``SessionConfiguration/progressInterval``, and not again before the last one was posted. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let progressNotification = Notification.Name("lanner.downloadTask.progress")
    /// Posted by a task that wants to run and may not yet; ``waitingReason`` says why. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let waitingNotification = Notification.Name("lanner.downloadTask.waiting")
    /// Posted by a task that has succeeded, besides ``didCompleteNotification``. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let succeededNotification = Notification.Name("lanner.downloadTask.succeeded")
    /// Posted by a task that has failed, besides ``didCompleteNotification``; ``error`` says why. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let failedNotification = Notification.Name("lanner.downloadTask.failed")
    /// Posted by a task that was suspended, besides ``didCompleteNotification``. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let suspendedNotification = Notification.Name("lanner.downloadTask.suspended")
    /// Posted by a task that was canceled or removed, and is its manager's no more, besides ``didCompleteNotification``.
    /// Posted on ``SessionManager/operationQueue``; the object is the task.
    public static let deletedNotification = Notification.Name("lanner.downloadTask.deleted")
    /// Posted by a task that found no space on the disk, and has failed or waits for it. Posted on
    /// ``SessionManager/operationQueue``; the object is the task.
    public static let fullSpaceNotification = Notification.Name("lanner.downloadTask.fullSpace")
}

extension SessionManager {
    /// Posted by a manager while any of its tasks advances. Posted on ``operationQueue``; the object is the manager.
    public static let runningNotification = Notification.Name("lanner.sessionManager.running")
    /// Posted by a manager when nothing runs or waits any more, and when downloads are asked for that are all there, as all
    /// others are. Posted on ``operationQueue``; the object is the manager.
    public static let didCompleteNotification = Notification.Name("lanner.sessionManager.didComplete")
    /// Posted by a manager when tasks of it found no space on the disk, once for all that found so at the same time. Posted
    /// on ``operationQueue``; the object is the manager.
    public static let fullSpaceNotification = Notification.Name("lanner.sessionManager.fullSpace")
}

extension Notification {
    /// The task that posted this; nil when none did.
    public var downloadTask: DownloadTask? { object as? DownloadTask }
    /// The manager that posted this; nil when none did.
    public var sessionManager: SessionManager? { object as? SessionManager }
}

extension Engine {
    /// As it is configured just now.
    var isPosting: Bool { postsNotifications.withLock { $0 } }

    /// Posts that tasks were added, and wait if they were started.
    func postAdded(_ tasks: [DownloadTask]) {
        guard isPosting else { return }
        let waiting = tasks.filter { $0.status == .waiting }
        operationLane.run {
            for task in tasks { NotificationCenter.default.post(name: DownloadTask.addedNotification, object: task) }
            for task in waiting {
                NotificationCenter.default.post(name: DownloadTask.waitingNotification, object: task)
            }
        }
    }

    /// Posts that a task has another status.
    func postStatus(of task: DownloadTask, _ status: Status, isDiskFull: Bool) {
        guard isPosting else { return }
        let names = status.notifications + (isDiskFull ? [DownloadTask.fullSpaceNotification] : [])
        guard !names.isEmpty else { return }
        operationLane.run {
            for name in names { NotificationCenter.default.post(name: name, object: task) }
        }
        if isDiskFull { manager?.postFullSpace() }
    }

    /// Posts that a running task has advanced, unless that is on its way already.
    func postProgress(of task: DownloadTask) {
        guard isPosting else { return }
        let isDue = task.state.withLock { state in
            defer { state.pending.isRunning = true }
            return !state.pending.isRunning
        }
        guard isDue else { return }
        operationLane.run {
            task.state.withLock { $0.pending.isRunning = false }
            NotificationCenter.default.post(name: DownloadTask.runningNotification, object: task)
            NotificationCenter.default.post(name: DownloadTask.progressNotification, object: task)
        }
    }
}

extension SessionManager {
    /// Posts that there is no space, unless that is on its way already.
    fileprivate func postFullSpace() {
        let isDue = state.withLock { state in
            defer { state.isFullSpacePending = true }
            return !state.isFullSpacePending
        }
        guard isDue else { return }
        engine.operationLane.run { [weak self] in
            guard let self else { return }
            state.withLock { $0.isFullSpacePending = false }
            NotificationCenter.default.post(name: Self.fullSpaceNotification, object: self)
        }
    }
}

extension Status {
    /// What a task posts that has come there.
    fileprivate var notifications: [Notification.Name] {
        switch self {
        case .waiting: [DownloadTask.waitingNotification]
        case .running: [DownloadTask.runningNotification, DownloadTask.startedNotification]
        case .succeeded: [DownloadTask.didCompleteNotification, DownloadTask.succeededNotification]
        case .failed: [DownloadTask.didCompleteNotification, DownloadTask.failedNotification]
        case .suspended: [DownloadTask.didCompleteNotification, DownloadTask.suspendedNotification]
        case .canceled, .removed: [DownloadTask.didCompleteNotification, DownloadTask.deletedNotification]
        case .willSuspend, .willCancel, .willRemove: []
        }
    }
}
