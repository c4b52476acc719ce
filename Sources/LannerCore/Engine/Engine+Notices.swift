import Foundation
import LannerMachine

// What a user may see of a task: its state, callbacks, events, the log.

extension Engine {
    func tell(_ notice: Notice, of job: Job) {
        let task = job.task
        switch notice {
        case .status(let phase):
            // Until its context is chosen nothing follows.
            if case .waiting(.shelved) = phase { giveBackSpace(of: job) }
            tellStatus(job, phase)
        case .progress(let completed, let total): tellProgress(task, completed, total)
        case .restarted(let reason):
            log { .downloadTask("gives up bytes (\(reason.rawValue))", task: task) }
            tell(.restarted(reason), of: task) { ($0.validation, $0.told) = (.unknown, nil) }
        case .head(let head, let source):
            if let field = ServerDigest.malformedField(head) {
                log { .downloadTask("\(field) is malformed, and ignored", task: task) }
            }
            let place = head.url.flatMap { try? WebAddress($0) }?.url
            if let place { noteWay(of: job, source, place) }
            settleName(job, head, from: source, place)
            tell(.response(head), of: task) { $0.response = head }
        case .retrying(let failure, let time):
            let error = LannerError(failure)
            let delay = max(.zero, time - environment.clock.now)
            log { .error("\(Destination.redacted(task.url.absoluteString)): tries again in \(delay)", error: error) }
            tell(.retrying(error, after: delay), of: task) { $0.error = error }
        case .verified(let result):
            // What it was hashed for, if for anything, has not decided.
            if result == .sizeOnly { job.state.withLock { $0.followed = nil } }
            task.state.withLock { $0.validation = Validation(result) }
        }
    }

    // MARK: Events

    /// Changes a task and tells of it, behind the progress that was withheld.
    private func tell(_ event: DownloadEvent, of task: DownloadTask, _ change: (inout TaskState) -> Void) {
        let audience = audience(of: task)
        let now = environment.clock.now
        let (withheld, observers) = task.state.withLock { state in
            let withheld = state.takeWithheldProgress(at: now)
            change(&state)
            return (withheld, state.observers.all)
        }
        if let withheld { tell(withheld, of: task, observers, audience) }
        send(event, of: task, observers, audience)
    }

    /// Who is told of the events of a task besides its own observers: those of the manager, while it shows the task.
    private struct Audience {
        var observers: [Observer<SessionEvent>]
        var progressInterval: Duration
    }

    private func audience(of task: DownloadTask) -> Audience {
        state.withLock { state in
            let isShown = task.context == state.context
            return Audience(
                observers: isShown ? state.observers.all : [], progressInterval: state.progressInterval)
        }
    }

    private func send(
        _ event: DownloadEvent, of task: DownloadTask, _ observers: [Observer<DownloadEvent>], _ audience: Audience
    ) {
        for observer in observers { observer.receive(event) }
        for observer in audience.observers { observer.receive(.task(task, event)) }
    }

    // MARK: Status

    private func tellStatus(_ job: Job, _ phase: Phase) {
        let task = job.task
        let (date, now) = (environment.clock.date.timeIntervalSince1970, environment.clock.now)
        let (before, after, withheld, observers, stopped, ending) = task.state.withLock { state in
            let before = state.figures
            let withheld = Status(phase) == before.status ? nil : state.takeWithheldProgress(at: now)
            state.enter(phase, at: date)
            let stopped = state.figures.stops(since: before) ? state.progressCall() : nil
            // Whoever sets a closure from here on finds the end, and is told of it by that.
            let ending = state.callbacks.ended(succeeded: phase == .succeeded)
            return (before, state.figures, withheld, state.observers.all, stopped, ending)
        }
        guard before.status != after.status else { return count(task, before, after) }
        // Before anybody is told: what a closure asks the manager has the change in it.
        let whole = note(job, before, after)
        // Behind that: who has listened before it did not find the change.
        let audience = audience(of: task)
        log { .downloadTask("is \(after.status.rawValue)", task: task) }
        if after.status == .failed, let error = task.error {
            log { .error("\(Destination.redacted(task.url.absoluteString)) failed", error: error) }
        }
        if let withheld { tell(withheld, of: task, observers, audience) }
        send(.status(after.status), of: task, observers, audience)
        if let stopped { call(stopped, task) }
        if after.status.isAtRest { tellEnd(task, after.status, to: ending) }
        if after.status == .succeeded {
            job.state.withLock { $0.hasReplaced = [] }
            compareIfNeeded(job)
        }
        postStatus(of: task, after.status, isDiskFull: phase.isDiskFull)
        tell(whole)
        // Nothing can happen to it any more, and its closures may hold it.
        if after.status.isGone { _ = task.state.withLock { $0.takeCallbacks() } }
    }

    private func tellEnd(_ task: DownloadTask, _ status: Status, to ending: Callback<DownloadTask>?) {
        if let ending { dispatch(ending, task) }
        if let callback = taskCompletion(of: task) { dispatch(callback, task) }
        if status.isGone { task.endObservers() }
        if status != .suspended { settleValidation(of: task) }
    }

    /// The manager's closure for the ends of tasks, while it shows the task.
    private func taskCompletion(of task: DownloadTask) -> Callback<DownloadTask>? {
        let manager = state.withLock { $0.context == task.context ? $0.manager : nil }
        return manager?.state.withLock { $0.taskCompletion }
    }

    // MARK: Progress

    private func tellProgress(_ task: DownloadTask, _ completed: Int64, _ total: Int64?) {
        let audience = audience(of: task)
        let now = environment.clock.now
        let (before, after, progress, news, observers) = task.state.withLock { state in
            let before = state.figures
            state.setProgress(completed: completed, total: total)
            state.noteSpeed(at: now)
            let news = state.dueProgress(at: now, every: audience.progressInterval)
            return (before, state.figures, state.progress, news, state.observers.all)
        }
        // Not under the lock: its observers run here and now, and may ask the task anything.
        progress?.set(ofFile: completed, total: total)
        if let news { tell(news, of: task, observers, audience) }
        count(task, before, after, isTold: news != nil)
    }

    private func tell(
        _ news: ProgressNews, of task: DownloadTask, _ observers: [Observer<DownloadEvent>], _ audience: Audience
    ) {
        send(.progress(completed: news.completed, total: news.total), of: task, observers, audience)
        if let callback = news.callback { call(callback, task) }
        if news.isRunning { postProgress(of: task) }
    }

    private func call(_ progress: ProgressCall, _ task: DownloadTask) {
        lane(progress.callback).run {
            task.state.withLock { $0.pending.endProgress(progress.number) }
            progress.callback.handler(task)
        }
    }

    // MARK: Callbacks

    /// Calls back on the queue that was asked for; never here and now.
    func dispatch<Sender: Sendable>(_ callback: Callback<Sender>, _ sender: Sender) {
        lane(callback).run { callback.handler(sender) }
    }

    func lane<Sender>(_ callback: Callback<Sender>) -> any Lane { lane(onMainQueue: callback.onMainQueue) }

    func lane(onMainQueue: Bool) -> any Lane { onMainQueue ? environment.mainLane : operationLane }
}

/// Progress of a task that is told now.
private struct ProgressNews {
    var completed: Int64
    var total: Int64?
    var isRunning: Bool
    var callback: ProgressCall?
}

/// A call of a progress closure, with what ends it.
private struct ProgressCall {
    var callback: Callback<DownloadTask>
    var number: UInt32
}

extension TaskState {
    fileprivate mutating func enter(_ phase: Phase, at now: TimeInterval) {
        status = Status(phase)
        wait = nil
        switch phase {
        case .waiting(let reason):
            wait = reason
            rounds &+= 1
        case .running:
            rounds &+= 1
            if startDate == 0 { startDate = now }
            endDate = 0
            error = nil
        case .failed(let failure):
            error = LannerError(failure)
            lastFailure = error
        case .succeeded: error = nil
        case .willSuspend, .willCancel, .willRemove, .suspended, .canceled, .removed: break
        }
        if status != .running { speed.stop() }
        if status == .succeeded || status == .failed { end(at: now) }
    }

    /// Of one that has all its bytes nothing comes any more, though it runs until it is in its place.
    fileprivate mutating func noteSpeed(at now: Duration) {
        guard status == .running else { return }
        if completed == total { speed.stop() } else { speed.note(completed, at: now) }
    }

    /// Notes the end, once: the record of it may be made before it is told.
    mutating func end(at now: TimeInterval) {
        if endDate == 0 { endDate = now }
    }

    /// The progress as it is now, unless it was told, or it is too soon to tell. What may be the last for a while is told
    /// whenever it comes: the last byte, what a task that stands still has, and that bytes were given up.
    fileprivate mutating func dueProgress(at now: Duration, every interval: Duration) -> ProgressNews? {
        guard told != reached else { return nil }
        let isLast = status != .running || told == nil || (completed == total && completed != told?.completed)
        switch pace.note(at: now, every: interval, isLast: isLast) {
        case .tell: return progressNews()
        // A transfer is looked at several times a second, whether bytes come or not, and its end is told: nobody has to
        // come back for this.
        case .withhold: return nil
        }
    }

    /// The progress that was withheld, if any was.
    fileprivate mutating func takeWithheldProgress(at now: Duration) -> ProgressNews? {
        pace.takeWithheld(at: now) ? progressNews() : nil
    }

    private mutating func progressNews() -> ProgressNews {
        told = reached
        let isRunning = status == .running
        return ProgressNews(
            completed: completed, total: total, isRunning: isRunning, callback: isRunning ? progressCall() : nil)
    }

    /// A call of the closure, if there is one and none is pending.
    fileprivate mutating func progressCall() -> ProgressCall? {
        guard !pending.isProgress, let callback = callbacks.progress else { return nil }
        return ProgressCall(callback: callback, number: pending.beginProgress())
    }

    private var reached: ToldProgress { ToldProgress(completed: completed, total: total, speed: speed.value) }

    var figures: TaskFigures {
        TaskFigures(status: status, completed: completed, total: total)
    }
}

extension Validation {
    fileprivate init(_ result: Verification) {
        switch result {
        // Of a file that is wrong none will be there.
        case .sizeOnly, .mismatch: self = .unknown
        case .correct: self = .correct
        }
    }
}

extension Status {
    init(_ phase: Phase) {
        switch phase {
        case .waiting: self = .waiting
        case .running: self = .running
        case .willSuspend: self = .willSuspend
        case .willCancel: self = .willCancel
        case .willRemove: self = .willRemove
        case .suspended: self = .suspended
        case .failed: self = .failed
        case .canceled: self = .canceled
        case .removed: self = .removed
        case .succeeded: self = .succeeded
        }
    }
}

extension Phase {
    /// Whether a download waits or has failed for want of space.
    fileprivate var isDiskFull: Bool {
        switch self {
        case .waiting(.disk): true
        case .failed(let failure): failure.reason == .disk(.noSpace)
        case .waiting, .running, .willSuspend, .willCancel, .willRemove, .suspended, .canceled, .removed, .succeeded:
            false
        }
    }
}
