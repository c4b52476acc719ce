import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite("R-10: notifications of all that happens", .serialized) struct NotificationKindTests {
    /// Notes what the tasks of a manager, and itself, post; whatever others post meanwhile.
    private final class Posts: Sendable {
        let calls = Tally()
        private let tokens = Locked<[any NSObjectProtocol]>([])

        init(_ manager: SessionManager) {
            let names: [(Notification.Name, String)] = [
                (DownloadTask.addedNotification, "added"), (DownloadTask.startedNotification, "started"),
                (DownloadTask.progressNotification, "progress"), (DownloadTask.waitingNotification, "waiting"),
                (DownloadTask.succeededNotification, "succeeded"), (DownloadTask.failedNotification, "failed"),
                (DownloadTask.suspendedNotification, "suspended"), (DownloadTask.deletedNotification, "deleted"),
                (DownloadTask.fullSpaceNotification, "full"), (SessionManager.fullSpaceNotification, "full"),
            ]
            for (name, label) in names {
                let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) {
                    [calls, weak manager] note in
                    if let task = note.downloadTask, task.manager === manager {
                        calls.add("\(task.url.lastPathComponent) \(label)")
                    } else if let sender = note.sessionManager, sender === manager {
                        calls.add("manager \(label)")
                    }
                }
                nonisolated(unsafe) let kept = token
                tokens.withLock { $0.append(kept) }
            }
        }

        deinit {
            for token in tokens.withLock({ $0 }) { NotificationCenter.default.removeObserver(token) }
        }
    }

    @Test func noneIsPostedUnlessItIsWanted() {
        var configuration = SessionConfiguration()
        configuration.postsNotifications = false
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(large))
        let posts = Posts(bench.manager)
        bench.manager.download("https://a.example/1")
        bench.settle()
        #expect(bench.manager.succeededTasks.count == 1 && posts.calls.all.isEmpty)
        bench.manager.configuration.postsNotifications = true
        bench.manager.download("https://a.example/2")
        bench.settle()
        #expect(posts.calls.all.first == "2 added" && posts.calls.all.contains("2 progress"))
        #expect(posts.calls.all.last == "2 succeeded")
    }

    @Test func eachIsPosted() {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(large))
        bench.transport.script("/1", .stall(afterBytes: 1 << 20))
        bench.transport.script("/2", .status(404))
        let posts = Posts(bench.manager)
        bench.manager.multiDownload(["https://a.example/1", "https://a.example/2"])
        #expect(posts.calls.all.isEmpty, "posted on the operation queue")
        bench.settle()
        bench.run(for: .seconds(1))
        #expect(posts.calls.all.prefix(5) == ["1 added", "2 added", "1 waiting", "2 waiting", "1 started"])
        #expect(posts.calls.all.contains("1 progress"))
        posts.calls.clear()
        bench.manager.suspend("https://a.example/1")
        bench.settle()
        #expect(posts.calls.all.filter { !$0.hasSuffix("progress") } == ["1 suspended", "2 started", "2 failed"])
        posts.calls.clear()
        bench.manager.start("https://a.example/1")
        bench.settle()
        #expect(posts.calls.all.filter { !$0.hasSuffix("progress") } == ["1 waiting", "1 started", "1 succeeded"])
        posts.calls.clear()
        bench.manager.remove("https://a.example/1")
        bench.manager.cancel("https://a.example/2")
        bench.settle()
        #expect(Set(posts.calls.all) == ["1 deleted", "2 deleted"] && posts.calls.all.count == 2)
    }

    @Test(arguments: [false, true]) func aFullDiskIsPostedByTheTasksAndOnceByTheManager(waits: Bool) {
        var configuration = SessionConfiguration()
        configuration.waitsForDiskSpace = waits
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(large))
        bench.disk.capacity = 1 << 20
        let posts = Posts(bench.manager)
        bench.manager.multiDownload(["https://a.example/1", "https://a.example/2"])
        bench.settle()
        let all = posts.calls.all
        #expect(all.count { $0 == "1 full" } == 1 && all.count { $0 == "2 full" } == 1)
        #expect(all.count { $0 == "manager full" } == 1, "\(all)")
        #expect(all.contains("1 failed") == !waits && all.count { $0 == "1 waiting" } == (waits ? 2 : 1))
    }

    @Test func restoredTasksAreNotAdded() {
        let bench = TestBench.serving([1])
        bench.manager.download(address)
        bench.settle()
        let posts = Posts(bench.relaunch())
        bench.settle()
        #expect(posts.calls.all.isEmpty)
    }
}
