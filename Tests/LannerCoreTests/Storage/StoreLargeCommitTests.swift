import Foundation
import LannerCore
import LannerTesting
import Testing

/// Commits that are too large for a frame of the journal.
@Suite struct StoreLargeCommitTests {
    private static let large: [StoreChange] = [
        .put("b", String(repeating: "2", count: 60)), .remove("a"), .put("c", String(repeating: "3", count: 60)),
    ]
    private static let before = ["a": "1"]
    private static let kept = ["b": String(repeating: "2", count: 60), "c": String(repeating: "3", count: 60)]

    private func opened(_ disk: CrashDisk = CrashDisk()) throws -> (SteppedStore, StoreContents) {
        try SteppedStore.opened(disk, largestFrame: 100)
    }

    private func reopened(_ disk: CrashDisk) throws -> [String: String] {
        let (stepped, contents) = try opened(disk)
        #expect(contents.problems.isEmpty)
        stepped.store.close()
        return contents.values.texts
    }

    private func foundAfterMachineDeaths(_ disk: CrashDisk) throws -> Set<[String: String]> {
        var found: Set<[String: String]> = []
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            found.insert(try reopened(disk.afterMachineDeath(&random)))
        }
        return found
    }

    @Test(arguments: [StoreDurability.process, .machine])
    func areKeptAmongOthers(_ durability: StoreDurability) throws {
        let (stepped, _) = try opened()
        stepped.commit(1, [.put("a", "1")])
        stepped.commit(2, Self.large, durability)
        stepped.commit(3, [.put("d", "4")])
        stepped.commit(4, [.put("b", "5")], durability)
        stepped.lanes.runAll()
        #expect(stepped.reports.ids == [1, 2, 3, 4] && stepped.reports.reasons.allSatisfy { $0 == nil })
        #expect(stepped.disk.log.contains("rename snapshot-2.new"), "the journal has no frame of them")
        let after = Self.kept.merging(["b": "5", "d": "4"]) { $1 }
        #expect(try reopened(stepped.disk.afterProcessDeath()) == after)
        if durability == .process { return }
        var random = SeededGenerator(seed: 1)
        #expect(try reopened(stepped.disk.afterMachineDeath(&random)) == after)
    }

    /// Whatever the disk refuses, whenever it begins to, and whether it goes on.
    @Test(arguments: [1, 100])
    func areKeptAsAWholeOrNotAtAll(_ refusals: Int) throws {
        var outcomes: Set<Bool> = []
        var foundAfterFailure: Set<[String: String]> = []
        for first in 0..<20 {
            let (stepped, _) = try opened()
            #expect(stepped.commitNow([.put("a", "1")], .machine) == nil)
            let start = stepped.disk.log.count + first
            stepped.disk.fail { _, number in start..<start + refusals ~= number ? .inputOutput : nil }
            let isKept = stepped.commitNow(Self.large) == nil
            outcomes.insert(isKept)
            let isNamed = stepped.disk.files["snapshot-2"] != nil
            #expect(isNamed || !isKept, "\(first)")
            let there = isNamed ? Self.kept : Self.before
            #expect(try reopened(stepped.disk.afterProcessDeath()) == there, "\(first)")
            let found = try foundAfterMachineDeaths(stepped.disk)
            if isKept {
                #expect(found == [Self.kept], "\(first)")
            } else {
                #expect(found.contains(Self.before) && found.isSubset(of: [Self.before, Self.kept]), "\(first)")
                foundAfterFailure.formUnion(found)
            }
            stepped.disk.fail { _, _ in nil }
            #expect(stepped.commitNow([.put("d", "4")], .machine) == nil)
            stepped.store.close()
            let after = (isKept ? Self.kept : Self.before).merging(["d": "4"]) { $1 }
            #expect(try reopened(stepped.disk.afterProcessDeath()) == after)
        }
        #expect(outcomes == [true, false] && foundAfterFailure == [Self.before, Self.kept])
    }

    /// The snapshot counts, and has no journal yet.
    @Test(arguments: ["create", "write", "sync"])
    func areKeptWhenTheJournalBehindThemCannotBeMade(_ operation: String) throws {
        let (stepped, _) = try opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { refused, _ in refused == operation + " journal-2" ? .noSpace : nil }
        #expect(stepped.commitNow(Self.large) == nil)
        #expect(try reopened(stepped.disk.afterProcessDeath()) == Self.kept)
        #expect(stepped.commitNow([.put("d", "4")]) == nil)
        #expect(try reopened(stepped.disk.afterProcessDeath()) == Self.kept.merging(["d": "4"]) { $1 })
    }

    @Test func areTakenBackAtTheEndWhenTheyFailed() throws {
        let (stepped, _) = try opened()
        #expect(stepped.commitNow([.put("a", "1")], .machine) == nil)
        stepped.disk.fail { operation, _ in operation == "sync store" ? .inputOutput : nil }
        #expect(stepped.commitNow(Self.large) == .disk(.inputOutput))
        stepped.disk.fail { _, _ in nil }
        stepped.store.close()
        #expect(try reopened(stepped.disk.afterProcessDeath()) == Self.before)
        #expect(try foundAfterMachineDeaths(stepped.disk) == [Self.before])
    }
}
