import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct TaskFeatureTests {
    private let addresses = ["http://a.example/1", "http://a.example/2", "http://a.example/3"]

    private func bench(_ configuration: SessionConfiguration = SessionConfiguration()) -> TestBench {
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(1000)))
        return bench
    }

    @Test("T1-02: a download is added without being started, remembered, and started later") func addsOnly() throws {
        var configuration = SessionConfiguration()
        configuration.startsImmediately = false
        let bench = bench(configuration)
        let calls = Tally()
        bench.manager.download(addresses[0]) { calls.add("\($0.status.rawValue)") }
        bench.manager.multiDownload(addresses) { calls.add("\($0.tasks.count) tasks") }
        bench.settle()
        #expect(calls.all == ["suspended", "3 tasks"])
        #expect(bench.manager.tasks.map(\.status) == [.suspended, .suspended, .suspended])
        #expect(bench.manager.status == .suspended)
        bench.relaunch()
        #expect(bench.manager.tasks.map(\.url.absoluteString) == addresses)
        #expect(bench.transport.requests.isEmpty)
        bench.manager.start(addresses[1])
        bench.settle()
        #expect(bench.manager.tasks.map(\.status) == [.suspended, .succeeded, .suspended])
    }

    @Test("T1-05: network activity is told from the first transfer to the last") func activity() {
        let (bench, calls) = (bench(), Tally())
        bench.manager.networkActivityHandler = { calls.add("\($0)") }
        bench.manager.multiDownload(addresses)
        bench.settle()
        #expect(calls.all == ["true", "false"])
        bench.manager.isControlNetworkActivityIndicator = false
        bench.manager.download("http://a.example/4")
        bench.settle()
        #expect(calls.all.count == 2)
    }

    /// Whoever shows a sign is told of what runs already, and that it is to be shown no more.
    @Test func activityIsToldToWhoComesLate() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.networkActivityHandler = { calls.add("first \($0)") }
        bench.settle()
        bench.manager.isControlNetworkActivityIndicator = false
        bench.settle()
        bench.manager.isControlNetworkActivityIndicator = true
        bench.settle()
        #expect(calls.all == ["first true", "first false", "first true"])
        bench.manager.networkActivityHandler = { calls.add("second \($0)") }
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        #expect(calls.all.dropFirst(3) == ["second true", "second false"])
    }

    @Test func activityIsToldOfWhatGoesOnAtLaunch() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let (bench, calls) = (TestBench.serving(large, configuration: configuration), Tally())
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.relaunch()
        bench.manager.networkActivityHandler = { calls.add("\($0)") }
        bench.settle()
        #expect(calls.all == ["true", "false"])
    }

    @Test("T3-17: what becomes of a manager is logged") func managerLines() {
        let bench = bench()
        bench.manager.download(addresses[0])
        bench.settle()
        let name = bench.manager.identifier
        #expect(bench.log.lines.filter { $0.hasPrefix(name) } == ["\(name): is running", "\(name): is succeeded"])
    }

    /// A file that is found at launch is no transfer.
    @Test func activityIsToldOfWhatBeginsBesideAFileThatWasFound() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download()
        let contents = try bench.stepBehindTheMove(of: first)
        for begins in [true, false] {
            let calls = Tally()
            bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
            bench.manager.networkActivityHandler = { calls.add("\($0)") }
            bench.transport.serveElsewhere(.init(large))
            if begins { bench.manager.download("https://example.com/other") }
            bench.settle()
            #expect(calls.all == (begins ? ["true", "false"] : []))
        }
    }

    @Test("T3-05: a verb over a task that is nil calls its handler") func noTask() {
        let (bench, calls) = (bench(), Tally())
        let task = bench.manager.fetchTask(addresses[0])
        let handler: DownloadTask.Handler = { calls.add($0.status.rawValue) }
        bench.manager.start(task, handler: handler)
        bench.manager.suspend(task, handler: handler)
        bench.manager.cancel(task, handler: handler)
        bench.manager.remove(task, completely: true, handler: handler)
        #expect(calls.all.isEmpty)
        bench.settle()
        #expect(calls.all == ["removed", "removed", "removed", "removed"])
    }

    @Test("T3-08: closures are set on several tasks at once, and chained") func arrays() {
        let (bench, calls) = (bench(), Tally())
        bench.transport.script("/2", .status(404))
        bench.manager.multiDownload(addresses)
            .progress { calls.add("progress \($0.url.lastPathComponent)") }
            .success { calls.add("success \($0.url.lastPathComponent)") }
            .failure { calls.add("failure \($0.url.lastPathComponent)") }
        bench.settle()
        #expect(Set(calls.all).isSuperset(of: ["progress 1", "progress 3", "success 1", "failure 2", "success 3"]))
        #expect(!calls.all.contains("success 2"))
        let ended = Tally()
        bench.manager.tasks.completion { ended.add($0.status.rawValue) }
        bench.settle()
        #expect(ended.all == ["succeeded", "failed", "succeeded"])
    }

    @Test("T3-07: all have succeeded once, however many are removed afterwards") func endsOnce() {
        let (bench, calls) = (bench(), Tally())
        bench.manager.success { calls.add($0.status.rawValue) }.failure { calls.add($0.status.rawValue) }
        bench.manager.multiDownload(addresses)
        bench.settle()
        #expect(calls.all == ["succeeded"])
        bench.manager.remove(addresses[0])
        bench.settle()
        #expect(calls.all == ["succeeded"] && bench.manager.status == .succeeded)
        bench.manager.download(addresses[0])
        bench.settle()
        #expect(calls.all == ["succeeded", "succeeded"])
        bench.manager.totalRemove()
        bench.settle()
        #expect(calls.all == ["succeeded", "succeeded", "removed"])
    }

    @Test("T3-25: the files of several tasks are compared at once") func validatesArrays() throws {
        let (bench, calls) = (bench(), Tally())
        let right = try digest(of: Sample.bytes(1000), .md5).hexadecimal
        let tasks = bench.manager.multiDownload(addresses)
        bench.settle()
        tasks.validateFile(codes: [right, right.uppercased(), "0"], type: .md5) { task in
            calls.add("\(task.url.lastPathComponent) \(task.validation)")
        }
        bench.settle()
        #expect(Set(calls.all) == ["1 correct", "2 correct", "3 incorrect"])
        tasks.validateFile(codes: [right], type: .md5) { _ in calls.add("never") }
        bench.settle()
        #expect(calls.all.count == 3)
        #expect(bench.log.errors.contains { "\($0)" == LannerError.codesMatchFailed.description })
    }
}

@Suite("T3-09: notifications", .serialized) struct NotificationFeatureTests {
    /// Notes the notifications of a bench, whatever other tests post meanwhile.
    private final class Listener: Sendable {
        let calls = Tally()
        private let tokens = Locked<[any NSObjectProtocol]>([])

        init(_ names: [(Notification.Name, String)], _ note: @escaping @Sendable (Notification) -> String?) {
            for (name, label) in names {
                let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [calls] in
                    if let text = note($0) { calls.add("\(label) \(text)") }
                }
                nonisolated(unsafe) let kept = token
                tokens.withLock { $0.append(kept) }
            }
        }

        deinit {
            for token in tokens.withLock({ $0 }) { NotificationCenter.default.removeObserver(token) }
        }
    }

    @Test func areTold() throws {
        let bench = TestBench.serving(large)
        let task = Locked<DownloadTask?>(nil)
        let ofTasks = Listener([
            (DownloadTask.runningNotification, "running"), (DownloadTask.didCompleteNotification, "did complete"),
        ]) { note in
            guard let sender = note.downloadTask, sender === task.withLock({ $0 }) else { return nil }
            return sender.status.rawValue
        }
        let manager = bench.manager
        let ofManagers = Listener([
            (SessionManager.runningNotification, "running"), (SessionManager.didCompleteNotification, "did complete"),
        ]) { note in
            note.downloadTask == nil && note.sessionManager === manager ? manager.status.rawValue : nil
        }
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        task.withLock { $0 = bench.manager.download(address) }
        bench.settle()
        bench.run(for: .seconds(2))
        bench.manager.suspend(address)
        bench.settle()
        #expect(ofTasks.calls.all.first == "running running")
        #expect(ofTasks.calls.all.last == "did complete suspended")
        #expect(ofTasks.calls.all.count { $0.hasPrefix("did") } == 1)
        #expect(ofManagers.calls.all.last == "did complete suspended")
        #expect(ofManagers.calls.all.contains("running running"))
        bench.manager.start(address)
        bench.settle()
        #expect(ofTasks.calls.all.last == "did complete succeeded")
        #expect(ofManagers.calls.all.last == "did complete succeeded")
    }
}
