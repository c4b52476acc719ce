import Lanner

/// Follows one download from its start until it comes to rest, and reports what happens.
struct Follower: Sendable {
    var index: Int
    var item: GetPlan.Item
    var task: DownloadTask
    /// Bytes that were there before the start.
    var held: Int64
    var reporter: any Reporter

    /// Returns when the task has come to rest. It must have been started.
    func follow() async -> Outcome {
        var throttle = Throttle(interval: reporter.interval)
        var hasBegun = false
        var reported = held
        for await event in task.events {
            switch event {
            case .status(let status):
                if status == .running, !hasBegun {
                    hasBegun = true
                    report(.start, Standing(bytes: held, total: task.totalBytes))
                }
                if let outcome = outcome(of: status) { return outcome }
            case .progress(let completed, _):
                if completed != reported, throttle.admits(at: .now) {
                    reported = completed
                    report(.progress)
                }
            case .restarted(let reason): report(.restarted(reason))
            case .retrying(let error, let delay): report(.retrying(Trouble(error), after: delay))
            case .response: break
            }
        }
        return .suspended
    }

    private func outcome(of status: Status) -> Outcome? {
        switch status {
        case .waiting, .running, .willSuspend, .willCancel, .willRemove: return nil
        case .succeeded:
            report(.done(isVerified: task.validation == .correct))
            return .done
        case .failed:
            let trouble = Trouble(task.error ?? LannerError.invalidated)
            report(.failed(trouble))
            return .failed(trouble)
        case .suspended, .canceled, .removed:
            report(.suspended)
            return .suspended
        }
    }

    private func report(_ event: Report.Event, _ standing: Standing? = nil) {
        reporter.report(Report(index: index, item: item, event: event, standing: standing ?? Standing(task)))
    }
}

/// Lets one in each interval through, the first after an interval.
struct Throttle {
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
