import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// Runs that end, or that fail once, at every single operation on the disk.
@Suite struct StoreCrashTests {
    /// A run that was cut short.
    private struct Run {
        var disk: CrashDisk
        /// What there was after each commit, before the first one first.
        var states: [[String: Data]] = [[:]]
        /// How many commits were reported as done; the process's death does not harm them.
        var done = 0
        /// How many had to survive the death of the machine.
        var durable = 0
        /// Whether nothing failed.
        var isComplete = true
    }

    private typealias Script = [(changes: [StoreChange], durability: StoreDurability)]

    /// The commits of a run, some of which have to survive the death of the machine.
    private static func script(_ seed: UInt64) -> Script {
        var random = SeededGenerator(seed: seed)
        return (1...25).map { count in
            let key = "\(random.below(4))"
            let change = random.below(4) == 0 ? StoreChange.remove(key) : .put(key, "value \(count)")
            return ([change, .put("n", "\(count)")], random.below(3) == 0 ? .machine : .process)
        }
    }

    /// Commits one after the other until the disk fails; from then on it fails for good.
    private static func run(failingAt limit: Int, seed: UInt64) throws -> Run {
        var run = Run(disk: CrashDisk())
        run.disk.fail { _, count in count >= limit ? .inputOutput : nil }
        let (stepped, _) = try SteppedStore.opened(run.disk, smallestCompaction: smallestCompaction)
        for (changes, durability) in script(seed) {
            var state = run.states[run.done]
            state.make(changes)
            run.states.append(state)
            guard stepped.commitNow(changes, durability) == nil else {
                run.isComplete = false
                return run
            }
            run.done += 1
            if durability == .machine { run.durable = run.done }
        }
        return run
    }

    private static let smallestCompaction: Int64 = 150

    /// One operation fails, the store goes on: what was reported as kept is there, what failed is not.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func oneFailure(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var failing = 0
        var isReached = true
        while isReached {
            let disk = CrashDisk()
            disk.fail { [failing] _, count in count == failing ? .inputOutput : nil }
            try Self.check(Self.script(seed), on: disk, "seed \(seed), operation \(failing)", &random)
            isReached = disk.log.count > failing
            failing += 1
        }
        #expect(failing > 40)
    }

    private static func check(
        _ script: Script, on disk: CrashDisk, _ place: Comment, _ random: inout SeededGenerator
    ) throws {
        let (stepped, _) = try SteppedStore.opened(disk, smallestCompaction: smallestCompaction)
        var model: [String: Data] = [:]
        for (changes, durability) in script {
            let isKept = stepped.commitNow(changes, durability) == nil
            if isKept { model.make(changes) }
            let (_, contents) = try SteppedStore.opened(disk.afterProcessDeath())
            #expect(contents == StoreContents(values: model), place)
            if isKept, durability == .machine {
                let (_, contents) = try SteppedStore.opened(disk.afterMachineDeath(&random))
                #expect(contents.values == model, place)
            }
        }
        stepped.store.close()
        let (_, contents) = try SteppedStore.opened(disk)
        #expect(contents == StoreContents(values: model), place)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func deathOfTheProcess(seed: UInt64) throws {
        try Self.forEachEnd(seed) { run, place in
            let disk = run.disk.afterProcessDeath()
            let (stepped, contents) = try SteppedStore.opened(disk)
            #expect(run.states[run.done...].contains(contents.values), place)
            #expect(contents.problems == [], place)
            try Self.goOn(stepped, contents, place)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func deathOfTheMachine(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try Self.forEachEnd(seed) { run, place in
            for _ in 0..<4 {
                let (stepped, contents) = try SteppedStore.opened(run.disk.afterMachineDeath(&random))
                let possible = run.states[run.durable...]
                for key in ["0", "1", "2", "3", "n"] {
                    #expect(possible.contains { $0[key] == contents.values[key] }, place)
                }
                #expect(contents.values.count <= 5, place)
                #expect(!contents.problems.contains { $0.contains("is gone") }, place)
                try Self.goOn(stepped, contents, place)
            }
        }
    }

    /// What a store has told is not taken back, though the last process had not synced it, and the first sync of this one
    /// fails.
    @Test(arguments: [1, 2, 3] as [UInt64], [nil, .sync, .syncDirectory] as [MemoryDisk.Operation?])
    func deathOfTheMachineAfterThatOfTheProcess(seed: UInt64, failing: MemoryDisk.Operation?) throws {
        var random = SeededGenerator(seed: seed)
        for limit in 0... {
            let disk = MemoryDisk()
            let store = Self.store(disk)
            _ = try store.load()
            disk.operationsLeft = limit
            for (changes, durability) in Self.script(seed) {
                store.commit(changes, durability: durability) { _ in }
            }
            let isOver = disk.operationsLeft != 0
            disk.endProcess()
            if let failing { disk.fail(failing, with: .inputOutput) }
            let told = try Self.store(disk).load()
            disk.failNothing()
            disk.endProcess()
            disk.loseUnsynced(&random)
            #expect(try Self.store(disk).load() == told, "seed \(seed), operation \(limit)")
            if isOver {
                #expect(limit > 40)
                break
            }
        }
    }

    /// A store that works inside its calls.
    private static func store(_ disk: MemoryDisk) -> FileStore {
        FileStore(directory: "/store", disk: disk, lanes: InlineLanes(), smallestCompaction: smallestCompaction)
    }

    private struct InlineLanes: LaneFactory {
        private struct InlineLane: Lane {
            func run(_ work: @escaping @Sendable () -> Void) { work() }
        }

        func makeLane(_ label: String) -> any Lane { InlineLane() }
        func wait(for latch: Latch) {}
    }

    private static func forEachEnd(_ seed: UInt64, _ check: (Run, Comment) throws -> Void) throws {
        var limit = 0
        while true {
            let run = try run(failingAt: limit, seed: seed)
            try check(run, "seed \(seed), operation \(limit)")
            if run.isComplete { break }
            limit += 1
        }
        #expect(limit > 40)
    }

    /// A store that was opened after a crash works.
    private static func goOn(_ stepped: SteppedStore, _ contents: StoreContents, _ place: Comment) throws {
        #expect(stepped.commitNow([.put("new", "one")], .machine) == nil, place)
        var random = SeededGenerator(seed: 0)
        let (_, after) = try SteppedStore.opened(stepped.disk.afterMachineDeath(&random))
        #expect(after.values == contents.values.merging(["new": Data("one".utf8)]) { $1 }, place)
        #expect(after.problems == [], place)
    }

    /// The process died before its last commit was synced, the machine dies while the next store is open.
    @Test(arguments: 0..<20 as Range<UInt64>) func whatWasReadOnceStays(seed: UInt64) throws {
        let (disk, lanes) = (MemoryDisk(), ManualLanes())
        let open = { FileStore(directory: "/store", disk: disk, lanes: lanes) }
        let first = open()
        _ = try first.load()
        first.commit([.put("a", "1")], durability: .machine) { _ in }
        lanes.runAll()
        first.commit([.remove(key: "a")], durability: .process) { _ in }
        lanes.runAll()
        disk.endProcess()
        let second = open()
        #expect(try second.load().values.isEmpty)
        var random = SeededGenerator(seed: seed)
        disk.loseUnsynced(&random)
        #expect(try open().load().values.isEmpty)
    }
}
