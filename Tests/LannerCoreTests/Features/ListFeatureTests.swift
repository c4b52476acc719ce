import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("R-02: lists") struct ListFeatureTests {
    @Test func eachListHasALimit() throws {
        let lists = ListBench(["a1", "a2", "a3", "a4", "o1", "o2", "n1", "n2"], limit: 6) {
            ["a": "a", "o": "one"][$0.prefix(1)]
        }
        #expect(lists.names(.running) == "a1 a2 a3 o1 n1 n2")
        let reasons = lists.manager.tasks.map(\.waitingReason)
        #expect(reasons == [nil, nil, nil, .listSlot, nil, .listSlot, nil, nil])
        lists.release("n1")
        #expect(lists.names(.running) == "a1 a2 a3 o1 n2", "three and one are all that these lists run")
        lists.release("o1")
        #expect(lists.names(.running) == "a1 a2 a3 o2 n2")
        #expect(lists.manager.fetchTask(key: "a4")?.list == "a")
    }

    @Test("N-09: what is missing is told as it is now") func reasons() throws {
        let lists = ListBench(["a", "b", "c"], limit: 1) { _ in "one" }
        let last = try #require(lists.manager.fetchTask(key: "c"))
        #expect(last.waitingReason == .listSlot)
        lists.manager.configuration.listLimits["one"] = 2
        #expect(last.waitingReason == .slot)
        lists.manager.configuration.maxConcurrentTasksLimit = 2
        lists.bench.settle()
        #expect(last.waitingReason == .listSlot && lists.names(.running) == "a b")
    }

    @Test func limitsChangeWhileTheyRun() {
        let lists = ListBench(["a", "b", "c", "d", "e"]) { _ in "x" }
        #expect(lists.names(.running) == "a b c")
        lists.manager.configuration.standardListLimit = 4
        lists.bench.settle()
        #expect(lists.names(.running) == "a b c d")
        lists.manager.configuration.listLimits["x"] = 1
        lists.bench.settle()
        #expect(lists.names(.running) == "a b c d", "what runs goes on")
        for name in ["a", "b", "c"] { lists.release(name) }
        #expect(lists.names(.running) == "d")
    }

    @Test func aTaskMayGoToAnotherList() {
        let lists = ListBench(["a", "b"]) { _ in "one" }
        #expect(lists.names(.running) == "a")
        lists.manager.download(DownloadRequest("https://a.example/b", key: "b", list: "other"))
        lists.bench.settle()
        #expect(lists.names(.running) == "a b")
        lists.bench.relaunch()
        #expect(lists.manager.tasks.map(\.list) == ["one", "other"])
        #expect(lists.manager.tasks(list: "other").map(\.key) == ["b"] && lists.manager.tasks(list: "one").count == 1)
    }

    @Test func allEnd() {
        let lists = ListBench((0..<40).map(String.init), limit: 3) { ["one", "x", nil][(Int($0) ?? 0) % 3] }
        while lists.bench.transport.underway > 0 {
            #expect(lists.bench.transport.underway <= 3)
            lists.bench.transport.release()
            lists.bench.settle()
        }
        #expect(lists.manager.succeededTasks.count == 40)
    }

    @Test func tenThousandAreOneCommit() {
        let bench = TestBench()
        bench.transport.holdsAll = true
        bench.store.hold()
        let tasks = bench.manager.multiDownload(
            requests: (0..<10_000).map {
                DownloadRequest(
                    "https://a.example/\($0)", key: "\($0)", list: "\($0 % 7)", startsImmediately: $0 % 2 == 0)
            })
        bench.settle()
        #expect(tasks.count == 10_000 && bench.store.held == 1)
        bench.store.release()
        bench.settle()
        bench.relaunch()
        #expect(bench.manager.taskCounts.all == 10_000)
    }
}
