import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Waiting for what is on record.
@Suite(.timeLimit(.minutes(10))) struct SynchronizeTests {
    @Test func whatWasAskedForOutlivesTheMachine() async throws {
        let bench = TestBench(recordsOnDisk: true)
        bench.transport.script(place, .hold)
        let manager = bench.manager
        let task = try #require(manager.download(address))
        task.metadata["played"] = "1"
        try await bench.run { try await manager.synchronize() }
        for seed in 1...8 as ClosedRange<UInt64> {
            bench.reboot(seed: seed)
            #expect(bench.manager.fetchTask(address)?.metadata == ["played": "1"])
        }
    }

    /// Whatever is left to be kept, also of before.
    @Test func whatTheStoreCannotKeepIsTold() async throws {
        let bench = TestBench.serving([1, 2, 3])
        let manager = bench.manager
        bench.store.fail(.commit, with: .disk(.noSpace), times: 100)
        _ = try #require(manager.download(address))
        await #expect(throws: LannerError.self) { try await bench.run { try await manager.synchronize() } }
        bench.store.failNothing()
        try await bench.run { try await manager.synchronize() }
        bench.relaunch()
        #expect(bench.manager.fetchTask(address) != nil)
    }

    @Test func nothingIsKeptBehindTheEnd() async throws {
        let bench = TestBench()
        let manager = bench.manager
        manager.invalidate()
        bench.settle()
        do {
            try await bench.run { try await manager.synchronize() }
            Issue.record("it returned")
        } catch {
            guard case .invalidated? = error as? LannerError else { throw error }
        }
    }
}
