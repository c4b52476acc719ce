import LannerTesting
import Testing

@testable import LannerCore

/// A store in memory that a test gives to a bench. What it does by itself is in the contract tests.
@Suite struct MemoryStoreTests {
    enum Giving: CaseIterable {
        case atFirst, relaunch, reboot
    }

    /// Many times: threads of its own would now and then be fast enough.
    @Test(arguments: Giving.allCases) func isWaitedFor(giving: Giving) throws {
        for _ in 0..<100 {
            let store = MemoryStore()
            let bench = TestBench.serving([1, 2, 3], store: giving == .atFirst ? store : nil)
            switch giving {
            case .atFirst: break
            case .relaunch: bench.relaunch(store: store)
            case .reboot: bench.reboot(store: store)
            }
            let task = try bench.download()
            bench.settle()
            #expect(task.status == .succeeded)
            #expect(bench.records.count == 1 && store.contents == bench.contents)
        }
    }
}
