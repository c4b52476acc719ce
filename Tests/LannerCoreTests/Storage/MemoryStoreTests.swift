import Foundation
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

    /// A store that has to write would have lost it.
    @Test func forgetsWhatAProcessThatDiesHasNotWaitedFor() throws {
        let bench = TestBench.serving([1, 2, 3])
        _ = try bench.download()
        bench.relaunch()
        #expect(bench.manager.tasks.isEmpty)
        _ = try bench.download()
        bench.settle()
        bench.relaunch()
        #expect(bench.manager.tasks.map(\.status) == [.succeeded])
    }

    @Test func isFinishedByAClose() throws {
        let bench = TestBench.serving([1, 2, 3])
        _ = try bench.download()
        bench.manager.invalidate()
        bench.relaunch()
        #expect(bench.manager.tasks.count == 1)
    }

    @Test func makesChangesInTheirTurnAndBeforeTheirCompletion() throws {
        let (store, lanes, told) = (MemoryStore(), ManualLanes(), Tally())
        store.use(lanes)
        for (key, number) in [("a", 1), ("b", 2)] {
            store.commit([.put(key: key, value: Data())], durability: .process) { _ in
                told.add("\(number) \(store.contents.keys.sorted())")
            }
        }
        #expect(store.contents.isEmpty)
        lanes.runAll()
        #expect(told.all == ["1 [\"a\"]", "2 [\"a\", \"b\"]"])
        store.commit([.remove(key: "a")], durability: .machine) { _ in told.add("\(store.contents.count)") }
        store.close()
        #expect(store.contents.count == 1 && told.all.count == 2)
        lanes.runAll()
        #expect(told.all.last == "1")
    }

    /// A manager on the disk, with a store of either kind; the next one finds only what the other kind leaves.
    @Test(arguments: [false, true]) func leavesNothingToTheNextLaunch(isInMemory: Bool) async throws {
        let directory = try TemporaryDirectory()
        let cache = Cache("memory", downloadPath: directory.path)
        func manager() -> SessionManager {
            let transport = ScriptedTransport()
            transport.serve(.init([1, 2, 3]), at: place)
            return SessionManager(
                "memory", transport: transport, store: isInMemory ? MemoryStore() : nil, logger: RecordingLog(),
                cache: cache)
        }
        let first = manager()
        let task = try #require(first.download(address, fileName: "file.bin"))
        #expect(try await task.file.path == directory("File/file.bin"))
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()
        let records = isInMemory ? [] : ["journal-1", "lock", "snapshot-1"]
        #expect(names == (["File", "File/file.bin", "Tmp", "manager.lock"] + records).sorted())
        first.invalidate()
        let next = manager()
        #expect(next.tasks.map(\.status) == (isInMemory ? [] : [.succeeded]))
        next.invalidate()
    }

    /// The keys of two would be the same.
    @Test(arguments: [false, true]) func oneStoreIsOneManagers(isInMemory: Bool) throws {
        let bench = TestBench.serving([1, 2, 3])
        let store: any Store =
            isInMemory
            ? MemoryStore([:], lanes: bench.lanes)
            : FileStore(directory: "/records", disk: bench.disk, lanes: bench.lanes)
        bench.relaunch(store: store)
        let elsewhere = Cache("other", downloadPath: "/elsewhere", on: bench.disk, lane: bench.lanes.makeLane("cache"))
        let other = bench.manager(on: store, elsewhere)
        guard case .storeError(let reason) = other.unavailable, reason.message.contains("another manager's") else {
            return #expect(Bool(false), "it is another's, not \(String(describing: other.unavailable))")
        }
        other.invalidate()
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .succeeded, "the first has it as before")
    }
}
