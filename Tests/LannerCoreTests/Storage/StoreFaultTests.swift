import Foundation
import LannerCore
import LannerMachine
import Testing

/// Stores on disks that refuse, and stores whose process or machine dies.
@Suite struct StoreFaultTests {
    private static func reopened(_ disk: MemoryDisk) throws -> StoreContents {
        let (stepped, contents) = try SteppedStore.opened(disk)
        stepped.store.close()
        return contents
    }

    @Test(arguments: [DiskFault.noSpace, .inputOutput])
    func aFailedWriteCostsItsCommitsOnly(fault: DiskFault) throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in operation == "write journal-1" ? fault : nil }
        #expect(stepped.commitNow([.put("b", "2")]) == .disk(fault))
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "1"])
        stepped.disk.fail { _, _ in nil }
        #expect(stepped.commitNow([.put("c", "3")]) == nil)
        let contents = try Self.reopened(stepped.disk.afterProcessDeath())
        #expect(contents == StoreContents(values: ["a": Data("1".utf8), "c": Data("3".utf8)]))
    }

    @Test func aJournalThatCannotBeCutIsLeftBehind() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in operation.hasSuffix("journal-1") ? .inputOutput : nil }
        #expect(stepped.commitNow([.put("b", "2")]) == .disk(.inputOutput))
        #expect(stepped.commitNow([.put("c", "3")]) == nil)
        #expect(stepped.disk.files.keys.sorted().contains("journal-2"))
        let contents = try Self.reopened(stepped.disk.afterProcessDeath())
        #expect(contents == StoreContents(values: ["a": Data("1".utf8), "c": Data("3".utf8)]))
    }

    @Test func afterAFailedSyncEverythingIsWrittenAnew() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in operation == "sync journal-1" ? .inputOutput : nil }
        #expect(stepped.commitNow([.put("b", "2")], .machine) == .disk(.inputOutput))
        stepped.disk.fail { _, _ in nil }
        let before = stepped.disk.log.count
        #expect(stepped.commitNow([.put("c", "3")], .machine) == nil)
        #expect(!stepped.disk.log[before...].contains("write journal-1"))
        for seed in 0..<20 as Range<UInt64> {
            var random = SplitMix(seed)
            let contents = try Self.reopened(stepped.disk.afterMachineDeath(&random))
            #expect(contents.values.texts == ["a": "1", "c": "3"])
        }
    }

    @Test func closingPaysTheDebtOfAFailedSync() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in operation == "sync journal-1" ? .inputOutput : nil }
        #expect(stepped.commitNow([.put("b", "2")], .machine) == .disk(.inputOutput))
        stepped.store.close()
        #expect(stepped.disk.files.keys.sorted() == ["journal-2", "snapshot-2"])
        #expect(try Self.reopened(stepped.disk).values.texts == ["a": "1"])
    }

    @Test func aFailedCompactionCostsNothing() throws {
        let (stepped, _) = try SteppedStore.opened(smallestCompaction: 100)
        stepped.disk.fail { operation, _ in operation.contains("snapshot-2") ? .noSpace : nil }
        for count in 0..<40 { #expect(stepped.commitNow([.put("a", "\(count)")]) == nil) }
        let tries = stepped.disk.log.filter { $0 == "create snapshot-2.new" }.count
        #expect((2...6).contains(tries))
        stepped.disk.fail { _, _ in nil }
        for count in 40..<120 { #expect(stepped.commitNow([.put("a", "\(count)")]) == nil) }
        #expect(stepped.disk.files["journal-1"] == nil)
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "119"])
    }

    /// Bytes of a failed commit that a crash brings back behind newer ones are not taken for a commit.
    @Test func bytesThatWereCutOffDoNotComeBack() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        let start = stepped.disk.files["journal-1"] ?? []
        #expect(stepped.commitNow([.put("b", "2")]) == nil)
        let old = (stepped.disk.files["journal-1"] ?? []).dropFirst(start.count)
        stepped.disk.fail { operation, _ in operation.hasPrefix("write") ? .noSpace : nil }
        #expect(stepped.commitNow([.put("c", "3")]) == .disk(.noSpace))
        stepped.disk.fail { _, _ in nil }
        #expect(stepped.commitNow([.remove("b")]) == nil)
        var files = stepped.disk.files
        files["journal-1"]?.append(contentsOf: old)
        let contents = try Self.reopened(MemoryDisk(files))
        #expect(contents == StoreContents(values: ["a": Data("1".utf8)]))
    }
}

/// Runs that end at every single operation on the disk.
@Suite struct StoreCrashTests {
    /// A run that was cut short.
    private struct Run {
        var disk: MemoryDisk
        /// What there was after each commit, before the first one first.
        var states: [[String: Data]] = [[:]]
        /// How many commits were reported as done; the process's death does not harm them.
        var done = 0
        /// How many had to survive the death of the machine.
        var durable = 0
        /// Whether nothing failed.
        var isComplete = true
    }

    /// Commits one by one, each the successor of the last, until the disk fails; from then on it fails for good.
    private static func run(failingAt limit: Int, seed: UInt64) throws -> Run {
        var random = SplitMix(seed)
        var run = Run(disk: MemoryDisk())
        run.disk.fail { _, count in count >= limit ? .inputOutput : nil }
        let (stepped, _) = try SteppedStore.opened(run.disk, smallestCompaction: 150)
        for count in 1...25 {
            let key = "\(random.below(4))"
            let changes: [StoreChange] = [
                random.below(4) == 0 ? .remove(key) : .put(key, "value \(count)"), .put("n", "\(count)"),
            ]
            let durability: StoreDurability = random.below(3) == 0 ? .machine : .process
            var state = run.states[count - 1]
            state.make(changes)
            run.states.append(state)
            guard stepped.commitNow(changes, durability) == nil else {
                run.isComplete = false
                return run
            }
            run.done = count
            if durability == .machine { run.durable = count }
        }
        return run
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
        var random = SplitMix(seed)
        try Self.forEachEnd(seed) { run, place in
            for _ in 0..<4 {
                let (stepped, contents) = try SteppedStore.opened(run.disk.afterMachineDeath(&random))
                let possible = run.states[run.durable...]
                for key in ["0", "1", "2", "3", "n"] {
                    #expect(possible.contains { $0[key] == contents.values[key] }, place)
                }
                #expect(contents.values.count <= 5, place)
                try Self.goOn(stepped, contents, place)
            }
        }
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
        var random = SplitMix(0)
        let (_, after) = try SteppedStore.opened(stepped.disk.afterMachineDeath(&random))
        #expect(after.values == contents.values.merging(["new": Data("one".utf8)]) { $1 }, place)
        #expect(after.problems == [], place)
    }
}
