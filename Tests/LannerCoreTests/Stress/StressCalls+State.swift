import Foundation
import LannerMachine
import LannerTesting

@testable import LannerCore

extension StressCalls {
    static let settings = [
        StressCall("configuration") { call in call.manager.configuration = call.configuration() },
        StressCall("configuration, changed") { call in
            call.manager.configuration.maxConcurrentTasksLimit = 1 + call.index(6)
        },
        StressCall("logger") { call in
            let logger = call.manager.logger
            logger.option = .default
            call.manager.logger = logger
        },
        StressCall("metadata") { call in call.task()?.metadata = ["number": "\(call.index(99))"] },
        StressCall("priority") { call in call.task()?.priority = call.priority() },
        StressCall("maximumBytesPerSecond") { call in
            call.task()?.maximumBytesPerSecond = call.flag() ? call.rate() : nil
        },
        StressCall("maximumBytesPerSecond of all") { call in
            call.manager.configuration.maximumBytesPerSecond = call.flag() ? call.rate() : nil
        },
        StressCall("metadata, changed") { call in call.task()?.metadata["other"] = "\(call.index(99))" },
        StressCall("linkExpirationDate") { call in
            let task = call.task()
            task?.linkExpirationDate = task?.linkExpirationDate.map { _ in Date() } ?? Date() + 60
        },
        StressCall("networkActivityHandler") { call in
            let round = call.round
            call.manager.networkActivityHandler = { _ in round.callAnything("callback that stays") }
            let isTold = call.manager.isControlNetworkActivityIndicator
            call.manager.isControlNetworkActivityIndicator = call.flag() || !isTold
        },
    ]

    static let questions = [
        StressCall("tasks") { call in
            let manager = call.manager
            _ = (manager.tasks, manager.succeededTasks, manager.tasksInProgress)
        },
        StressCall("tasks(list:)") { call in
            let (manager, list) = (call.manager, call.list())
            _ = (manager.tasks(list: list), manager.succeededTasks(list: list), manager.tasksInProgress(list: list))
        },
        StressCall("taskCounts") { call in
            let counts = (call.manager.taskCounts, call.manager.taskCounts(list: call.list()))
            _ = (counts.0.all, counts.0.inProgress, counts.1[.running])
        },
        StressCall("fetchTask") { call in
            _ = (call.manager.fetchTask(call.address()), call.manager.fetchTask(key: call.key()))
            _ = call.manager.status(key: call.key())
        },
        StressCall("figures of a manager") { call in
            let manager = call.manager
            _ = (manager.status, manager.progress.fractionCompleted, manager.speed, manager.timeRemaining)
            _ = (manager.speedString, manager.timeRemainingString, manager.identifier, manager.unavailable)
        },
        StressCall("figures of a task") { call in
            guard let task = call.task() else { return }
            _ = (task.status, task.waitingReason, task.error, task.response, task.validation, task.progress.isFinished)
            _ = (task.completedBytes, task.totalBytes, task.speed, task.timeRemaining, task.startDate, task.endDate)
            _ = (
                task.maximumBytesPerSecond, task.speedString, task.timeRemainingString, task.startDateString,
                task.endDateString
            )
        },
        StressCall("names of a task") { call in
            guard let task = call.task() else { return }
            _ = (task.key, task.list, task.context, task.priority, task.url, task.currentURL, task.manager?.status)
            _ = (task.fileName, task.filePath, task.pathExtension, task == call.task(), task.hashValue)
        },
        StressCall("files of a cache") { call in
            let cache = call.manager.cache
            _ = (cache.filePath(url: call.address()), cache.fileURL(url: call.address()))
            _ = (cache.fileExists(fileName: "name"), cache.fileExists(url: call.address()))
        },
    ]

    static let callbacks = [
        StressCall("progress of a task") { call in
            call.task()?.progress(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("success of a task") { call in
            call.task()?.success(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("failure of a task") { call in
            call.task()?.failure(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("completion of a task") { call in
            call.task()?.completion(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("callbacks of tasks") { call in
            call.tasks().progress(onMainQueue: call.flag(), handler: call.callback())
                .success(onMainQueue: call.flag(), handler: call.callback())
                .failure(onMainQueue: call.flag(), handler: call.callback())
                .completion(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("progress of a manager") { call in
            call.manager.progress(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("ends of a manager") { call in
            call.manager.success(onMainQueue: call.flag(), handler: call.callback())
                .failure(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("completion of a manager") { call in
            call.manager.completion(onMainQueue: call.flag(), handler: call.callback())
        },
        StressCall("validateFile") { call in
            call.task()?.validateFile(
                code: call.code(), type: .md5, onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("validateFile of tasks") { call in
            let tasks = call.tasks()
            let (codes, isOnMainQueue) = (tasks.map { _ in call.code() }, call.flag())
            // One handler for each, as the array calls one for each.
            for (task, code) in zip(tasks, codes) {
                [task].validateFile(codes: [code], type: .md5, onMainQueue: isOnMainQueue, handler: call.handler())
            }
        },
    ]

    static let listening = [
        StressCall("events") { call in
            guard let task = call.task() else { return }
            let (round, limit) = (call.round, call.index(20))
            _ = round.listen(call.name) { await round.take(task.events, upTo: limit) }
        },
        StressCall("events, canceled") { call in
            guard let task = call.task() else { return }
            let listener = call.round.listen(call.name) { for await _ in task.events {} }
            _ = call.round.listen(call.name) { listener.cancel() }
        },
        StressCall("file") { call in
            guard let task = call.task() else { return }
            _ = call.round.listen(call.name) { _ = try? await task.file }
        },
        StressCall("file, canceled") { call in
            guard let task = call.task() else { return }
            let listener = call.round.listen(call.name) { _ = try? await task.file }
            _ = call.round.listen(call.name) { listener.cancel() }
        },
        StressCall("clearDiskCache") { call in
            let cache = call.manager.cache
            if call.flag() { return cache.clearDiskCache(onMainQueue: call.flag(), handler: call.handler()) }
            _ = call.round.listen(call.name) { try? await cache.clearDiskCache() }
        },
    ]

    static let surroundings = [
        StressCall("network") { call in
            let (round, path) = (call.round, call.path())
            round.onQueue(call.name) { round.network.path = path }
            round.onQueue(call.name) { round.network.path = NetworkPath() }
        },
        StressCall("outage") { call in
            call.round.transport.scripted.outage = .notConnected
            call.round.transport.scripted.outage = nil
        },
        StressCall("another manager in the directory") { call in
            let queue = DispatchQueue(label: "another")
            let other = call.round.makeManager(ScriptedTransport(), RecordingLog(), queue, UnwatchedNetwork())
            other.download(call.address(), onMainQueue: call.flag(), handler: call.handler())
            other.invalidate()
        },
    ]
}
