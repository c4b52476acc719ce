import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct TotalTests {
    private func bench(_ count: Int) -> TestBench {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init(Sample.bytes(1000)))
        for number in 0..<count {
            bench.transport.script("/\(number)", .stall(afterBytes: 500))
            bench.manager.download("https://example.com/\(number)")
        }
        bench.settle()
        return bench
    }

    @Test func answersWithoutAnyTask() {
        let bench = TestBench()
        let calls = Tally()
        bench.manager.totalStart { _ in calls.add("start") }
        bench.manager.totalSuspend { _ in calls.add("suspend") }
        bench.manager.totalCancel { _ in calls.add("cancel") }
        bench.manager.totalRemove { _ in calls.add("remove") }
        bench.settle()
        #expect(calls.all == ["start", "suspend", "cancel", "remove"])
        #expect(bench.manager.status == .waiting)
    }

    @Test func suspendsStartsAndCancelsAll() {
        let bench = bench(10)
        let calls = Tally()
        #expect(bench.transport.underway == 6)
        bench.manager.totalSuspend { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(bench.transport.underway == 0)
        #expect(bench.manager.status == .suspended)
        #expect(bench.manager.tasks.allSatisfy { $0.status == .suspended })
        bench.manager.totalStart { calls.add($0.status.rawValue) }
        bench.settle()
        // Six go on and succeed, the four behind them stall as they begin.
        #expect(bench.manager.status == .running)
        #expect(bench.manager.succeededTasks.count == 6 && bench.transport.underway == 4)
        bench.manager.configuration.maxConcurrentTasksLimit = 2
        bench.manager.multiDownload(["https://example.com/10", "https://example.com/11"])
        bench.settle()
        bench.manager.suspend("https://example.com/9")
        bench.settle()
        let others = Array(bench.manager.tasks.suffix(6))
        #expect(others.map(\.status) == [.running, .running, .running, .suspended, .waiting, .waiting])
        bench.manager.totalCancel { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(others.allSatisfy { $0.status == .canceled } && bench.transport.underway == 0)
        #expect(bench.manager.tasks == bench.manager.succeededTasks && bench.manager.tasks.count == 6)
        bench.manager.totalRemove(completely: true) { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all == ["suspended", "running", "succeeded", "removed"])
        #expect(bench.manager.tasks == [] && bench.files == [] && bench.records.isEmpty)
        #expect(bench.manager.progress.totalUnitCount == 0 && bench.manager.progress.completedUnitCount == 0)
    }

    @Test func addsUpProgress() {
        let bench = bench(2)
        bench.run(for: .seconds(1))
        #expect(bench.manager.progress.totalUnitCount == 2000)
        #expect(bench.manager.progress.completedUnitCount == 1000)
        bench.transport.release()
        bench.settle()
        #expect(bench.manager.progress.completedUnitCount == 2000)
    }

    /// Who shows it binds it once.
    @Test func progressMovesByItself() {
        let bench = bench(2)
        let progress = bench.manager.progress
        bench.run(for: .seconds(1))
        #expect(progress.totalUnitCount == 2000 && progress.completedUnitCount == 1000)
        bench.transport.release()
        bench.settle()
        #expect(progress.completedUnitCount == 2000)
        bench.manager.context = "another"
        bench.settle()
        #expect(progress.totalUnitCount == 0)
    }
}
