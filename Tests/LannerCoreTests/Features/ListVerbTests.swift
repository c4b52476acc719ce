import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("R-04: startWaiting") struct StartWaitingTests {
    @Test func fillsTheSlotsInOrder() {
        let lists = ListBench(["a", "b", "c", "d", "e"], limit: 2, starts: false) { $0 == "b" ? "one" : "x" }
        #expect(lists.names(.suspended) == "a b c d e")
        lists.manager.startWaiting(list: "x")
        lists.bench.settle()
        #expect(lists.names(.running) == "a c" && lists.names(.waiting) == "d e" && lists.names(.suspended) == "b")
        lists.manager.startWaiting()
        lists.bench.settle()
        #expect(lists.names(.waiting) == "b d e")
        for name in ["a", "c", "b", "d", "e"] { lists.release(name) }
        #expect(lists.names(.succeeded) == "a b c d e")
        #expect(lists.bench.transport.requests.map(\.url.lastPathComponent) == ["a", "c", "b", "d", "e"])
    }

    @Test(arguments: [false, true]) func leavesAloneWhatWasSuspended(relaunches: Bool) {
        let lists = ListBench(["a", "b", "c"], starts: false) { _ in nil }
        let calls = Tally()
        lists.manager.suspend(key: "b")
        lists.bench.settle()
        if relaunches { lists.bench.relaunch() }
        lists.manager.startWaiting { _ in calls.add("started") }
        lists.bench.settle()
        #expect(lists.names(.suspended) == "b" && lists.names(.running) == "a c" && calls.all == ["started"])
    }

    /// Of what was added again nobody was told yet.
    @Test func startsWhatWasAddedAgainThisMoment() throws {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        let again = DownloadRequest("https://a.example/1", startsImmediately: false)
        let task = try #require(bench.manager.download("https://a.example/1"))
        bench.settle()
        try bench.disk.remove(task.filePath)
        bench.manager.logger = LogThatCalls { [bench] in
            bench.manager.download(again)
            bench.manager.startWaiting()
        }
        bench.manager.download("https://a.example/2")
        bench.settle()
        #expect(task.status == .succeeded && bench.transport.requests.count == 3)
    }

    @Test func eachCallDecides() {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        bench.manager.multiDownload(
            requests: (0..<4).map {
                DownloadRequest("https://a.example/\($0)", startsImmediately: $0 % 2 == 0 ? true : nil)
            })
        bench.manager.download(DownloadRequest("https://a.example/4", startsImmediately: false))
        bench.settle()
        #expect(bench.manager.tasks.map(\.status) == [.succeeded, .succeeded, .succeeded, .succeeded, .suspended])
        bench.manager.startWaiting()
        bench.settle()
        #expect(bench.manager.succeededTasks.count == 5)
    }
}

@Suite("R-05: verbs over several tasks") struct BatchVerbTests {
    @Test func byKeysAndByTasks() {
        let (lists, calls) = (ListBench(["a", "b", "c", "d"]) { _ in nil }, Tally())
        let handler: SessionManager.Handler = { calls.add($0.tasks.map(\.status.rawValue).joined(separator: " ")) }
        lists.manager.suspend(keys: ["a", "nobody", "c"], handler: handler)
        lists.bench.settle()
        #expect(calls.all.last == "suspended running suspended running")
        #expect(lists.bench.log.errors.contains { "\($0)" == LannerError.noTask(key: "nobody").description })
        lists.manager.start(keys: ["a"], handler: handler)
        lists.bench.settle()
        #expect(calls.all.last == "running running suspended running")
        lists.manager.cancel(Array(lists.manager.tasks.prefix(2)), handler: handler)
        lists.bench.settle()
        #expect(calls.all.last == "suspended running")
        lists.manager.remove(lists.manager.tasks, completely: true, handler: handler)
        lists.bench.settle()
        lists.manager.remove(keys: [], handler: handler)
        lists.manager.start(keys: ["a"], handler: handler)
        lists.bench.settle()
        #expect(calls.all.suffix(3) == ["", "", ""] && calls.all.count == 6)
    }

    @Test func byOneKey() {
        let (lists, calls) = (ListBench(["a"]) { _ in nil }, Tally())
        let handler: DownloadTask.Handler = { calls.add($0.status.rawValue) }
        lists.manager.suspend(key: "a", handler: handler)
        lists.bench.settle()
        lists.manager.start(key: "a", handler: handler)
        lists.bench.settle()
        lists.manager.cancel(key: "a", handler: handler)
        lists.bench.settle()
        lists.manager.remove(key: "a", handler: handler)
        lists.bench.settle()
        #expect(calls.all == ["suspended", "running", "canceled", "removed"])
    }

    @Test func theFreedPlaceStaysEmpty() {
        let lists = ListBench(["a", "b", "c", "d"], limit: 2) { _ in nil }
        lists.manager.suspend(key: "a", startsNext: false)
        lists.bench.settle()
        #expect(lists.names(.running) == "b" && lists.names(.waiting) == "c d")
        #expect(lists.manager.tasks.last?.waitingReason == .slot)
        lists.release("b")
        #expect(lists.names(.running) == "c", "that of another is filled")
        lists.manager.remove(keys: ["c"], startsNext: false)
        lists.bench.settle()
        #expect(lists.names(.running) == "" && lists.names(.waiting) == "d")
        lists.manager.startWaiting()
        lists.bench.settle()
        #expect(lists.names(.running) == "d")
    }

    @Test func itStaysEmptyInItsListToo() {
        let lists = ListBench(["a", "b"], limit: 9) { _ in "one" }
        lists.manager.cancel(lists.manager.fetchTask(key: "a"), startsNext: false)
        lists.bench.settle()
        #expect(lists.names(.waiting) == "b" && lists.manager.tasks.first?.waitingReason == .listSlot)
        lists.manager.download("https://a.example/other")
        lists.bench.settle()
        #expect(lists.names(.running) == "b https://a.example/other", "something was started")
    }

    @Test func aBatchIsOneCommit() {
        let lists = ListBench((0..<100).map(String.init), limit: 1) { _ in nil }
        lists.bench.store.hold()
        lists.manager.suspend(keys: (1..<100).map(String.init))
        lists.bench.settle()
        #expect(lists.bench.store.held == 1)
        lists.bench.store.release()
    }
}

@Suite("R-11: questions") struct QueryTests {
    @Test func answersWithoutASearch() {
        let lists = ListBench(["a", "b", "c", "d", "e"], limit: 2) { $0 < "c" ? "x" : nil }
        lists.release("a")
        lists.manager.suspend(key: "e")
        lists.bench.settle()
        let (manager, counts) = (lists.manager, lists.manager.taskCounts)
        #expect(counts[.succeeded] == 1 && counts[.running] == 2 && counts[.waiting] == 1 && counts[.suspended] == 1)
        #expect(counts.all == 5 && counts.inProgress == 4)
        #expect(manager.taskCounts(list: "x").all == 2 && manager.taskCounts(list: "x")[.succeeded] == 1)
        #expect(manager.taskCounts(list: nil).inProgress == 3 && manager.taskCounts(list: "none").all == 0)
        #expect(
            manager.tasks(list: "x").map(\.key) == ["a", "b"] && manager.tasks(list: nil).map(\.key) == ["c", "d", "e"])
        #expect(manager.tasksInProgress.map(\.key) == ["b", "c", "d", "e"])
        #expect(manager.tasksInProgress(list: "x").map(\.key) == ["b"])
        #expect(manager.succeededTasks(list: "x").map(\.key) == ["a"] && manager.succeededTasks(list: nil).isEmpty)
        #expect(manager.status(key: "d") == .waiting && manager.status(key: "e") == .suspended)
        #expect(manager.status(key: "nobody") == nil && manager.status(key: "e")?.isInProgress == true)
    }

    /// Whatever happens, what is counted is what there is.
    @Test(arguments: 0..<20) func countsAreRight(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let lists = ListBench((0..<12).map(String.init), limit: 3) { ["one", "x", nil][(Int($0) ?? 0) % 3] }
        let (manager, bench) = (lists.manager, lists.bench)
        for _ in 0..<60 {
            let key = "\(random.next() % 14)"
            switch random.next() % 9 {
            case 0: manager.suspend(key: key)
            case 1: manager.start(key: key)
            case 2: manager.cancel(key: key)
            case 3: manager.remove(key: key)
            case 4: bench.transport.release()
            case 5: manager.context = [nil, "other"][Int(random.next() % 2)]
            case 6: bench.transport.fail("/" + key, with: .secureConnectionFailed)
            case _:
                let list = ["one", "x", "y"][Int(random.next() % 3)]
                manager.download(DownloadRequest("https://a.example/" + key, key: key, list: list))
            }
            for _ in 0..<random.next() % 20 { _ = bench.lanes.runNext() }
            if random.next() % 4 == 0 { bench.settle() }
            compare(manager)
        }
    }

    private func compare(_ manager: SessionManager) {
        let tasks = manager.tasks
        for list in [nil, "one", "x", "y"] {
            let those = tasks.filter { $0.list == list }
            #expect(manager.tasks(list: list) == those)
            for status in Status.allCases {
                #expect(manager.taskCounts(list: list)[status] == those.count { $0.status == status })
            }
        }
        #expect(manager.taskCounts.all == tasks.count)
        #expect(manager.succeededTasks == tasks.filter { $0.status == .succeeded })
        #expect(manager.tasksInProgress == tasks.filter(\.status.isInProgress))
    }
}

@Suite("R-06: a wrong checksum") struct ChecksumRetryTests {
    private func bench(retries: Int) throws -> (TestBench, DownloadTask) {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumChecksumRetries = retries
        let bench = TestBench.serving([1, 2, 3], configuration: configuration)
        return (bench, try bench.download(checksum: LoopbackServer.Resource([4, 5, 6]).digest(.md5)))
    }

    @Test(arguments: [0, 1, 3]) func isTriedSoOftenAndThenFails(retries: Int) throws {
        let (bench, task) = try bench(retries: retries)
        #expect(bench.runToRest())
        #expect(bench.ranges == Array(repeating: "whole", count: retries + 1))
        #expect(task.status == .failed && task.reason == .checksumMismatch && bench.files.isEmpty)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.transport.requests.count == 2 * (retries + 1), "a start counts anew")
    }

    @Test func isMended() throws {
        let (bench, task) = try bench(retries: 3)
        while bench.transport.requests.isEmpty { _ = bench.lanes.runNext() }
        bench.transport.serve(.init([4, 5, 6]), at: place)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.contents(of: task) == [4, 5, 6] && task.validation == .correct)
        #expect(bench.transport.requests.count == 2)
    }
}
