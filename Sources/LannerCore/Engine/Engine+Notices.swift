import Foundation
import LannerMachine

// What a user may see: the state of tasks, callbacks, events, the log.

extension Engine {
    func tell(_ notice: Notice, of job: Job) {
        let task = job.task
        switch notice {
        case .status(let phase): tellStatus(job, phase)
        case .progress(let completed, let total): tellProgress(task, completed, total)
        case .restarted(let reason):
            log { .downloadTask("starts over (\(reason.rawValue))", task: task) }
            task.state.withLock { $0.validation = .unknown }
            task.hub.send(.restarted(reason))
        case .head(let head):
            settleName(job, head)
            task.state.withLock { $0.response = head }
            task.hub.send(.response(head))
        case .retrying(let failure, let time):
            let error = LannerError(failure)
            task.state.withLock { $0.error = error }
            let delay = max(.zero, time - environment.clock.now)
            log { .error("\(Destination.redacted(task.url.absoluteString)): tries again in \(delay)", error: error) }
            task.hub.send(.retrying(error, after: delay))
        case .verified(let result):
            task.state.withLock { $0.validation = Validation(result) }
        }
    }

    // MARK: Status

    private func tellStatus(_ job: Job, _ phase: Phase) {
        let task = job.task
        let now = environment.clock.date.timeIntervalSince1970
        let (before, after) = task.state.withLock { state in
            let before = state.figures
            state.enter(phase, at: now)
            return (before, state.figures)
        }
        guard before.status != after.status else { return count(task, before, after) }
        log { .downloadTask("is \(after.status.rawValue)", task: task) }
        if after.status == .failed, let error = task.error {
            log { .error("\(Destination.redacted(task.url.absoluteString)) failed", error: error) }
        }
        task.hub.send(.status(after.status))
        if after.status == .running { postRunning(task) }
        if after.status.isAtRest { tellEnd(task, after.status) }
        count(task, before, after)
    }

    private func tellEnd(_ task: DownloadTask, _ status: Status) {
        if let callback = task.state.withLock({ $0.callbacks.ended(succeeded: status == .succeeded) }) {
            dispatch(callback, task)
        }
        post(DownloadTask.didCompleteNotification, by: task)
        if status == .canceled || status == .removed { task.hub.finish() }
        if status != .suspended { settleValidation(of: task) }
    }

    // MARK: Progress

    private func tellProgress(_ task: DownloadTask, _ completed: Int64, _ total: Int64?) {
        let now = environment.clock.now
        let (before, after, callback, progress) = task.state.withLock { state in
            let before = state.figures
            state.setProgress(completed: completed, total: total)
            if state.status == .running { state.speed.note(completed, at: now) }
            return (before, state.figures, state.dueProgress(), state.madeProgress)
        }
        // Not under the lock: its observers run here and now, and may ask the task anything.
        progress?.set(completed: completed, total: total)
        task.hub.send(.progress(completed: completed, total: total))
        if let callback {
            lane(callback).run {
                task.state.withLock { $0.callbacks.isProgressPending = false }
                callback.handler(task)
            }
        }
        if after.status == .running { postRunning(task) }
        count(task, before, after)
    }

    // MARK: The manager as a whole

    private func count(_ task: DownloadTask, _ before: TaskFigures, _ after: TaskFigures) {
        guard before != after else { return }
        let (wasActive, isActive, manager) = state.withLock { state in
            let wasActive = state.active > 0
            state.active += (after.status == .running ? 1 : 0) - (before.status == .running ? 1 : 0)
            return (wasActive, state.active > 0, state.manager)
        }
        let (old, new, isPresent) = state.withLock { state in
            let old = state.scopes[task.context]?.totals ?? Totals()
            state.scopes[task.context, default: Scope()].replace(task.id, before, by: after)
            return (old, state.scopes[task.context]?.totals ?? old, task.context == state.context)
        }
        guard let manager else { return }
        if wasActive != isActive { manager.tellActivity(isActive) }
        // Of what happens in another context only its tasks tell.
        guard isPresent else { return }
        if new.status == .running, before.completed != after.completed { manager.tellProgress() }
        if new.status != old.status, new.status.isAtRest { manager.tellEnd(new.status) }
    }

    // MARK: Callbacks

    /// Calls back on the queue that was asked for; never here and now.
    func dispatch<Sender: Sendable>(_ callback: Callback<Sender>, _ sender: Sender) {
        lane(callback).run { callback.handler(sender) }
    }

    func lane<Sender>(_ callback: Callback<Sender>) -> any Lane {
        callback.onMainQueue ? environment.mainLane : operationLane
    }
}

extension TaskState {
    fileprivate mutating func enter(_ phase: Phase, at now: TimeInterval) {
        wait = nil
        switch phase {
        case .waiting(let reason):
            wait = reason
            status = .waiting
        case .running:
            status = .running
            if startDate == 0 { startDate = now }
            endDate = 0
        case .willSuspend: status = .willSuspend
        case .willCancel: status = .willCancel
        case .willRemove: status = .willRemove
        case .suspended: status = .suspended
        case .failed(let failure):
            status = .failed
            error = LannerError(failure)
        case .canceled: status = .canceled
        case .removed: status = .removed
        case .succeeded:
            status = .succeeded
            error = nil
        }
        if status != .running { speed.stop() }
        if status == .succeeded || status == .failed { end(at: now) }
    }

    /// Notes the end, once: the record of it may be made before it is told.
    mutating func end(at now: TimeInterval) {
        if endDate == 0 { endDate = now }
    }

    /// The progress callback, if one is set and none is on its way.
    fileprivate mutating func dueProgress() -> Callback<DownloadTask>? {
        guard status == .running, let callback = callbacks.progress, !callbacks.isProgressPending else { return nil }
        callbacks.isProgressPending = true
        return callback
    }

    var figures: TaskFigures {
        TaskFigures(status: status, completed: completed, total: total ?? 0)
    }
}

extension Validation {
    fileprivate init(_ result: Verification) {
        switch result {
        case .sizeOnly: self = .unknown
        case .correct: self = .correct
        case .mismatch: self = .incorrect
        }
    }
}
