import Foundation
import LannerMachine

// What a user may see of all tasks together.

/// What is to be told of all tasks together.
private struct WholeNews {
    var observers: [Observer<SessionEvent>]
    /// Where they stand, when somebody observes that and it is due.
    var progress: AggregateProgress?
    var isProgressDue = false
    /// Whether some of it was withheld before.
    var wasWithheld = false
    /// The status, when it is another than was told last.
    var status: Status?
    /// When to come back for what was withheld.
    var wake: Duration?
    /// Whose `Progress` has to move, when somebody has it: it is not withheld.
    var shown: SessionManager?
}

extension Engine {
    var progressInterval: Duration { state.withLock { $0.progressInterval } }

    /// Announces downloads that were just added, before anything else is told of them.
    func announce(_ tasks: [DownloadTask], _ state: inout EngineState) {
        let context = state.context
        guard !tasks.isEmpty, let ticket = state.makeTicket({ [self] in tellAdded(tasks, in: context) }) else { return }
        state.actions.append(.answer(ticket))
    }

    /// `context` was the present one then.
    private func tellAdded(_ tasks: [DownloadTask], in context: String?) {
        let observers = state.withLock { $0.observers.all }
        postAdded(tasks)
        let shown = tasks.filter { $0.context == context }
        if shown.isEmpty { return }
        for observer in observers { shown.forEach { observer.receive(.added($0)) } }
        tellAll()
    }

    /// The progress of a task is another; `isTold`: it was told, if only of another speed, which is in that of all.
    func count(_ task: DownloadTask, _ before: TaskFigures, _ after: TaskFigures, isTold: Bool = false) {
        guard isTold || before != after else { return }
        let now = environment.clock.now
        tell(state.withLock { $0.note(task, before, after, isTold: isTold, at: now) })
    }

    /// A task stands elsewhere now, which is yet to be told; one that is gone is nobody's any more.
    func note(_ job: Job, _ before: TaskFigures, _ after: TaskFigures) -> WholeChange {
        let now = environment.clock.now
        let (change, unwanted) = state.withLock { state in
            let change = state.note(job.task, before, after, at: now)
            return (change, after.status.isGone ? state.forget(job) : nil)
        }
        if after.status.isGone { endForgetting(job, unwanted) }
        return change
    }

    func tell(_ change: WholeChange) {
        if let isActive = change.activity { change.manager?.tellActivity(isActive) }
        // Of what happens in another context only its tasks tell.
        guard let news = change.news else { return }
        if let gone = change.gone {
            for observer in news.observers { observer.receive(.removed(gone)) }
        }
        tell(news, isProgress: change.isProgress, change.manager)
        if let end = change.end { change.manager?.tellEnd(end) }
    }

    /// Tells what there is to tell of all tasks.
    func tellAll() {
        let now = environment.clock.now
        let (news, manager) = state.withLock { state in
            (state.isInvalidated ? nil : state.wholeNews(at: now), state.manager)
        }
        if let news { tell(news, isProgress: false, manager) }
    }

    private func tell(_ news: WholeNews, isProgress: Bool, _ manager: SessionManager?) {
        // Brought up to date by being asked for.
        _ = news.shown?.progress
        if news.isProgressDue, isProgress || news.wasWithheld { manager?.tellProgress() }
        if let progress = news.progress {
            for observer in news.observers { observer.receive(.progress(progress)) }
        }
        if let status = news.status {
            if let manager { log { .sessionManager("is \(status.rawValue)", manager: manager) } }
            for observer in news.observers { observer.receive(.status(status)) }
        }
        if let wake = news.wake {
            environment.clock.wake(at: wake) { [weak self] in self?.inOrder { [weak self] in self?.wakeProgress() }
            }
        }
    }

    /// The time of the progress that was withheld has come.
    private func wakeProgress() {
        let now = environment.clock.now
        let (news, manager) = state.withLock { state in
            (state.isInvalidated ? nil : state.withheldNews(at: now), state.manager)
        }
        if let news { tell(news, isProgress: false, manager) }
    }
}

/// What became of the sums when a task has changed.
struct WholeChange {
    fileprivate var manager: SessionManager?
    /// Whether a task runs, when that has changed.
    fileprivate var activity: Bool?
    /// What is to be told of all, when the manager shows the task.
    fileprivate var news: WholeNews?
    /// Whether those who follow the progress hear of it: all run, and have come farther, or slower; or one has stopped.
    fileprivate var isProgress: Bool
    /// The task, when it is no more.
    fileprivate var gone: DownloadTask?
    /// How all have come to rest, when they have.
    fileprivate var end: Status?
}

extension EngineState {
    fileprivate mutating func note(
        _ task: DownloadTask, _ before: TaskFigures, _ after: TaskFigures, isTold: Bool = false, at now: Duration
    ) -> WholeChange {
        active += (after.status == .running ? 1 : 0) - (before.status == .running ? 1 : 0)
        let isNews = isTold || before.completed != after.completed
        let end = scopes[task.context, default: Scope()].replace(task.id, before, by: after)
        let activity = isActivityTold == (active > 0) ? nil : active > 0
        isActivityTold = active > 0
        return WholeChange(
            manager: manager, activity: activity,
            news: task.context == context ? wholeNews(at: now) : nil,
            isProgress: totals.status == .running && isNews || after.stops(since: before),
            gone: after.status.isGone && before.status != after.status ? task : nil, end: end)
    }

    /// Whether it was told that tasks run, which they do no more.
    mutating func endActivity() -> Bool {
        defer { isActivityTold = false }
        return isActivityTold
    }

    /// What is to be told of the tasks of the present context. Before their end all is told.
    fileprivate mutating func wholeNews(at now: Duration) -> WholeNews {
        let totals = totals
        var news = WholeNews(observers: observers.all, wasWithheld: pace.isWithheld)
        news.take(pace.note(at: now, every: progressInterval, isLast: totals.isAtRest), totals)
        if isProgressShown { news.shown = manager }
        if totals.status != toldStatus {
            toldStatus = totals.status
            news.status = toldStatus
        }
        return news
    }

    /// The progress that was withheld, if it was not told meanwhile.
    fileprivate mutating func withheldNews(at now: Duration) -> WholeNews? {
        guard let verdict = pace.wake(at: now, every: progressInterval) else { return nil }
        var news = WholeNews(observers: observers.all, wasWithheld: true)
        news.take(verdict, totals)
        return news
    }
}

extension WholeNews {
    fileprivate mutating func take(_ verdict: ProgressPace.Verdict, _ totals: Totals) {
        switch verdict {
        case .tell:
            isProgressDue = true
            if !observers.isEmpty { progress = AggregateProgress(totals) }
        case .withhold(let time): wake = time
        }
    }
}
