import Foundation
import LannerCore
import LannerTesting
import Testing

/// Commits that are too large for a frame of the journal.
@Suite struct StoreLargeCommitTests {
    private static let large: [StoreChange] = [
        .put("b", String(repeating: "2", count: 60)), .remove("a"), .put("c", String(repeating: "3", count: 60)),
    ]
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

    @Test(arguments: [StoreDurability.process, .machine])
    func areKeptAmongOthers(_ durability: StoreDurability) throws {
        let (stepped, _) = try opened()
        stepped.commit(1, [.put("a", "1")])
        stepped.commit(2, Self.large, durability)
        stepped.commit(3, [.put("d", "4")])
        stepped.commit(4, [.put("b", "5")], durability)
        stepped.lanes.runAll()
        #expect(stepped.reports.ids == [1, 2, 3, 4] && stepped.reports.reasons.allSatisfy { $0 == nil })
        let after = Self.kept.merging(["b": "5", "d": "4"]) { $1 }
        #expect(try reopened(stepped.disk.afterProcessDeath()) == after)
        if durability == .process { return }
        var random = SeededGenerator(seed: 1)
        #expect(try reopened(stepped.disk.afterMachineDeath(&random)) == after)
    }

    /// Whatever the disk refuses, and whenever it begins to.
    @Test func areKeptAsAWholeOrNotAtAll() throws {
        for first in 0..<20 {
            let (stepped, _) = try opened()
            #expect(stepped.commitNow([.put("a", "1")], .machine) == nil)
            let count = stepped.disk.log.count
            stepped.disk.fail { _, number in number >= count + first ? .inputOutput : nil }
            let isKept = stepped.commitNow(Self.large) == nil
            for seed in 0..<20 as Range<UInt64> {
                var random = SeededGenerator(seed: seed)
                let found = try reopened(stepped.disk.afterMachineDeath(&random))
                #expect(found == Self.kept || !isKept && found == ["a": "1"], "\(first), \(seed)")
            }
            stepped.disk.fail { _, _ in nil }
            #expect(stepped.commitNow([.put("d", "4")], .machine) == nil)
            stepped.store.close()
            let before = isKept ? Self.kept : ["a": "1"]
            #expect(try reopened(stepped.disk.afterProcessDeath()) == before.merging(["d": "4"]) { $1 })
        }
    }
}
