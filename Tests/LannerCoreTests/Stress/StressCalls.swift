import Foundation
import LannerMachine

@testable import LannerCore

/// The public interface, call by call.
enum StressCalls {
    static let all =
        adding + verbs + totals + order + settings + questions + callbacks + listening
        + observing + surroundings

    /// Fails soon, and tries again at once.
    static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = RetryPolicy(
            maximumRetries: 2, baseDelay: .milliseconds(1), maximumDelay: .milliseconds(4))
        return configuration
    }

    private static let adding = [
        StressCall("download(_:headers:fileName:checksum:)") { call in
            call.manager.download(
                call.address(), headers: ["X-A": "1"], fileName: call.index(3) == 0 ? "name" : nil,
                checksum: call.digest(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("download(_: DownloadRequest)") { call in
            call.manager.download(call.request(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("multiDownload(_:)") { call in
            let addresses = call.addresses()
            let names = call.flag() ? addresses.indices.map { "name-\($0)" } : nil
            let headers = call.index(4) == 0 ? [["X-A": "1"]] : nil
            call.manager.multiDownload(
                addresses, headersArray: headers, fileNames: names, onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("multiDownload(requests:)") { call in
            let requests = (0..<call.index(5)).map { _ in call.request() }
            call.manager.multiDownload(requests: requests, onMainQueue: call.flag(), handler: call.handler())
        },
    ]

    private static let verbs = [
        StressCall("start(url)") { call in
            call.manager.start(call.address(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("start(task)") { call in
            call.manager.start(call.task(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("start(tasks)") { call in
            call.manager.start(call.tasks(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("start(key:)") { call in
            call.manager.start(key: call.key(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("start(keys:)") { call in
            call.manager.start(keys: call.keys(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("suspend(url)") { call in
            call.manager.suspend(
                call.address(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("suspend(task)") { call in
            call.manager.suspend(
                call.task(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("suspend(tasks)") { call in
            call.manager.suspend(
                call.tasks(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("suspend(key:)") { call in
            call.manager.suspend(
                key: call.key(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("suspend(keys:)") { call in
            call.manager.suspend(
                keys: call.keys(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("cancel(url)") { call in
            call.manager.cancel(
                call.address(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("cancel(task)") { call in
            call.manager.cancel(call.task(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("cancel(tasks)") { call in
            call.manager.cancel(
                call.tasks(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("cancel(key:)") { call in
            call.manager.cancel(
                key: call.key(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("cancel(keys:)") { call in
            call.manager.cancel(
                keys: call.keys(), startsNext: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("remove(url)") { call in
            call.manager.remove(
                call.address(), completely: call.flag(), startsNext: call.flag(), onMainQueue: call.flag(),
                handler: call.handler())
        },
        StressCall("remove(task)") { call in
            call.manager.remove(
                call.task(), completely: call.flag(), startsNext: call.flag(), onMainQueue: call.flag(),
                handler: call.handler())
        },
        StressCall("remove(tasks)") { call in
            call.manager.remove(
                call.tasks(), completely: call.flag(), startsNext: call.flag(), onMainQueue: call.flag(),
                handler: call.handler())
        },
        StressCall("remove(key:)") { call in
            call.manager.remove(
                key: call.key(), completely: call.flag(), startsNext: call.flag(), onMainQueue: call.flag(),
                handler: call.handler())
        },
        StressCall("remove(keys:)") { call in
            call.manager.remove(
                keys: call.keys(), completely: call.flag(), startsNext: call.flag(), onMainQueue: call.flag(),
                handler: call.handler())
        },
    ]

    private static let totals = [
        StressCall("totalStart") { call in
            call.manager.totalStart(onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("totalSuspend") { call in
            call.manager.totalSuspend(onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("totalCancel") { call in
            call.manager.totalCancel(onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("totalRemove") { call in
            call.manager.totalRemove(completely: call.flag(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("startWaiting") { call in
            call.manager.startWaiting(list: call.list(), onMainQueue: call.flag(), handler: call.handler())
        },
        StressCall("shutDown") { call in
            call.manager.shutDown(onMainQueue: call.flag(), handler: call.handler())
            call.manager.context = call.context()
        },
        StressCall("context") { call in
            let context = call.manager.context
            call.manager.context = call.flag() ? call.context() : context
        },
    ]

    private static let order = [
        StressCall("moveTask") { call in
            let count = call.manager.tasks.count + 1
            call.manager.moveTask(at: call.index(count), to: call.index(count))
        },
        StressCall("tasksSort") { call in
            call.manager.tasksSort { $0.completedBytes < $1.completedBytes }
        },
        StressCall("tasksSort that throws") { call in
            try? call.manager.tasksSort { left, _ in
                if left.status == .failed { throw CancellationError() }
                return left.key.isEmpty
            }
        },
    ]
}
