import Lanner

/// Follows one download from its start until it comes to rest, and reports what happens. Not for several threads at once.
final class Follower {
    let index: Int
    let item: GetPlan.Item
    let task: DownloadTask
    /// Bytes that were there before the start, and still were when it began.
    private var held: Int64
    let reporter: any Reporter
    private var updates: UpdateInterval
    private var hasBegun = false
    private var reported: Int64
    private var reportedSpeed: Int64 = 0
    /// The transport, where that decodes what a server has encoded.
    var decoder: String?

    init(index: Int, item: GetPlan.Item, task: DownloadTask, held: Int64, reporter: any Reporter) {
        (self.index, self.item, self.task, self.held, self.reporter) = (index, item, task, held, reporter)
        updates = UpdateInterval(interval: reporter.interval)
        reported = held
    }

    /// How it has ended, if it has; it must have been started.
    func outcome() -> DownloadOutcome? { outcome(of: task.status) }

    /// Returns when the task has come to rest.
    func follow() async -> DownloadOutcome {
        for await event in task.events {
            if let outcome = take(event) { return outcome }
        }
        return .suspended(goesOn: true)
    }

    /// What has happened; how the download has ended, when it has come to rest with that.
    func take(_ event: DownloadEvent) -> DownloadOutcome? {
        switch event {
        case .status(let status):
            if status == .running, !hasBegun {
                hasBegun = true
                report(.start, Standing(bytes: held, total: task.totalBytes))
            }
            return outcome(of: status)
        case .progress(let completed, _):
            reportProgress(completed)
        case .restarted(let reason):
            // What it held before it was started is gone.
            if !hasBegun { held = 0 }
            (reported, reportedSpeed) = (0, 0)
            report(.restarted(reason))
        case .retrying(let error, let delay): report(.retrying(Trouble(error), after: delay))
        case .response(let head): take(head)
        }
        return nil
    }

    private func take(_ head: ResponseHead) {
        // Once, however often it is asked.
        guard head.fields.isContentCoded, let coding = head.fields["Content-Encoding"], let transport = decoder.take()
        else { return }
        reporter.note(
            "\(item.name.printable): the server sends it as \(coding.printable), which \(transport) decodes: the file is not "
                + "as it is there; with --transport curl it is")
    }

    /// Reports bytes, and that no more come: what is shown else stays as if they did.
    private func reportProgress(_ completed: Int64) {
        let standing = Standing(task)
        guard completed != reported || standing.speed != reportedSpeed else { return }
        // Of a stall nothing may be told after that.
        let hasStalled = standing.speed == 0 && reportedSpeed > 0 && completed != standing.total
        guard updates.admits(at: .now) || hasStalled else { return }
        (reported, reportedSpeed) = (completed, standing.speed)
        report(.progress, standing)
    }

    private func outcome(of status: Status) -> DownloadOutcome? {
        switch status {
        case .waiting, .running, .willSuspend, .willCancel, .willRemove: return nil
        case .succeeded:
            report(.done(isVerified: task.validation == .correct))
            return .done
        case .failed:
            let standing = Standing(atRest: task)
            let trouble = Trouble(
                task.error ?? LannerError.invalidated, held: standing.bytes, goesOn: standing.goesOn,
                from: OtherServer(of: item, at: task.currentURL))
            report(.failed(trouble), standing)
            return .failed(trouble)
        case .suspended, .canceled, .removed:
            let standing = Standing(atRest: task)
            report(.suspended, standing)
            return .suspended(goesOn: standing.goesOn)
        }
    }

    private func report(_ event: DownloadReport.Event, _ standing: Standing? = nil) {
        reporter.report(DownloadReport(index: index, item: item, event: event, standing: standing ?? Standing(task)))
    }
}

/// Lets one in each interval through, the first after an interval.
struct UpdateInterval {
    let interval: Duration
    private var last: ContinuousClock.Instant

    init(interval: Duration, since start: ContinuousClock.Instant = .now) {
        self.interval = interval
        last = start
    }

    mutating func admits(at now: ContinuousClock.Instant) -> Bool {
        guard now - last >= interval else { return false }
        last = now
        return true
    }
}
