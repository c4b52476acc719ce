import Foundation
import LannerCore
import LannerTesting
import Testing

/// T3-03 and T3-06: what is done with many at once costs the store one commit, however many they are.
@Suite struct BatchCostTests {
    private let bench = TestBench()

    init() {
        // So that none runs: those would be recorded one by one as they stop.
        bench.network.path = NetworkPath(isAvailable: false)
        bench.settle()
    }

    /// The commits that a call leads to.
    private func commits(_ call: (SessionManager) -> Void) -> Int {
        let before = bench.store.commitCount
        call(bench.manager)
        bench.settle()
        return bench.store.commitCount - before
    }

    @Test func everyBatchIsOneCommit() {
        let urls = (0..<500).map { "https://example.com/\($0)" }
        #expect(commits { $0.multiDownload(urls) } == 1)
        #expect(bench.manager.tasks.count == 500)
        #expect(commits { $0.totalSuspend() } == 1)
        #expect(bench.manager.status == .suspended)
        #expect(commits { $0.totalStart() } == 1)
        #expect(bench.manager.tasks.allSatisfy { $0.status == .waiting })
        #expect(commits { manager in manager.tasksSort { $0.key > $1.key } } == 1)
        #expect(commits { manager in manager.suspend(manager.tasks) } == 1)
        #expect(commits { $0.totalRemove() } == 1)
        #expect(bench.manager.tasks.isEmpty)
    }

    /// They are taken ten thousand at a time, and are one batch all the same: none twice, one handler, one context.
    @Test func aLongListIsOneBatchInParts() {
        var urls = (0..<20_000).map { "https://example.com/\($0)" }
        // In another part than the first of its kind, and one that cannot be used.
        urls[15_000] = urls[0]
        urls[15_001] = "nonsense"
        let calls = Tally()
        bench.manager.context = "one"
        let before = bench.log.errors.count
        let cost = commits { $0.multiDownload(urls) { calls.add("\($0.tasks.count)") } }
        #expect(cost == 2)
        #expect(bench.manager.tasks.count == 19_998)
        #expect(calls.all == ["19998"])
        #expect(bench.log.errors.count == before + 2)
        let order = bench.manager.tasks.map(\.key)
        #expect(order == urls.indices.filter { $0 != 15_000 && $0 != 15_001 }.map { urls[$0] })
    }

    @Test func whatHasNothingToDoIsNoCommit() {
        #expect(commits { $0.totalSuspend() } == 0)
        #expect(commits { $0.totalRemove() } == 0)
    }
}
