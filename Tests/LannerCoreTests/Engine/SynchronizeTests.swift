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

    /// Its file is closed first, and only then is that it stops on record.
    @Test(arguments: [Verb.suspend, .cancel, .remove(completely: true)])
    func whatIsStoppingIsOnRecord(_ verb: Verb) throws {
        for steps in 0..<20 {
            let bench = TestBench.serving(Sample.bytes(2 << 20))
            bench.transport.script(place, .stall(afterBytes: 1 << 20))
            let task = try #require(bench.manager.download(address))
            bench.settle()
            switch verb {
            case .cancel: bench.manager.cancel(task)
            case .remove: bench.manager.remove(task)
            default: bench.manager.suspend(task)
            }
            for _ in 0..<steps { _ = bench.lanes.runNext() }
            let errors = Tally()
            bench.manager.synchronize { errors.add($0.map { "\($0)" } ?? "none") }
            while errors.all.isEmpty { try #require(bench.lanes.runNext()) }
            #expect(errors.all == ["none"])
            #expect(bench.records.map(\.saved.status) == (verb == .suspend ? [.suspended] : []), "after \(steps) steps")
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
