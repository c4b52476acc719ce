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

    @Test func whatHasNothingToDoIsNoCommit() {
        #expect(commits { $0.totalSuspend() } == 0)
        #expect(commits { $0.totalRemove() } == 0)
    }
}
