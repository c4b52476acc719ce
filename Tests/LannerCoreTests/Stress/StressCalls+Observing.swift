import Foundation
import LannerMachine
import LannerTesting

@testable import LannerCore

extension StressCalls {
    static let observing = [
        StressCall("observe a task") { call in
            guard let task = call.task() else { return }
            call.keep(task.observe(onMainQueue: call.flag(), handler: call.observer()))
        },
        StressCall("observe a manager") { call in
            call.keep(call.manager.observe(onMainQueue: call.flag(), handler: call.observer()))
        },
        StressCall("observe a group") { call in
            let group = call.tasks().group
            call.keep(group.observe(onMainQueue: call.flag(), handler: call.observer()))
            _ = group.progress.fractionCompleted
        },
        StressCall("cancel of an observation, twice at once") { call in
            let observation = call.manager.observe(onMainQueue: call.flag(), handler: call.observer())
            call.round.onThread(call.name) { observation.cancel() }
            observation.cancel()
        },
        StressCall("taskCompletion") { call in
            call.manager.taskCompletion(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("events of a manager") { call in
            let (events, round, limit) = (call.manager.events, call.round, call.index(20))
            _ = round.follow(call.name) { await round.take(events, upTo: limit) }
        },
        StressCall("events of a manager, canceled") { call in
            let events = call.manager.events
            let follower = call.round.follow(call.name) { for await _ in events {} }
            _ = call.round.follow(call.name) { follower.cancel() }
        },
        StressCall("updates of a group") { call in
            let (updates, round, limit) = (DownloadGroup(call.tasks()).updates, call.round, call.index(20))
            _ = round.listen(call.name) { await round.take(updates, upTo: limit) }
        },
        StressCall("notifications") { call in
            let round = call.round
            let name = [DownloadTask.progressNotification, SessionManager.runningNotification][call.index(2)]
            // Never used again but to be taken back.
            let center = NotificationCenter.default
            nonisolated(unsafe) let observer = center.addObserver(forName: name, object: nil, queue: nil) { _ in
                round.callAnything("notification")
            }
            call.keep(EventObservation { NotificationCenter.default.removeObserver(observer) })
        },
        StressCall("completionHandler") { call in
            let round = call.round
            call.manager.completionHandler = call.flag() ? nil : { round.callAnything("callback that stays") }
        },
    ]
}

extension StressCaller {
    /// A closure of an observation.
    func observer<Event>() -> @Sendable (Event) -> Void {
        { [round] _ in round.callAnything("observer") }
    }

    /// Holds an observation until the round is over, or lets go of it at once.
    mutating func keep(_ observation: EventObservation) {
        if index(8) > 0 { round.keep(observation) }
    }
}

extension StressRound {
    func take<Event>(_ events: EventSequence<Event>, upTo limit: Int) async {
        var count = 0
        for await _ in events {
            count += 1
            callAnything("events")
            if count > limit { break }
        }
    }
}
