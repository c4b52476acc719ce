import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// Stores on disks that refuse, and stores whose process or machine dies.
@Suite struct StoreFaultTests {
    private static func reopened(_ disk: CrashDisk) throws -> StoreContents {
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

    /// Commits that wait are written together, and fail by themselves.
    @Test(arguments: [0, 1, 2]) func whatThereIsRoomForIsKept(large: Int) throws {
        let (disk, lanes) = (MemoryDisk(capacity: 30_000), ManualLanes())
        let store = FileStore(directory: "/store", disk: disk, lanes: lanes)
        _ = try store.load()
        let reports = Reports()
        for index in 0..<3 {
            let value = String(repeating: "x", count: index == large ? 60_000 : 1000)
            store.commit([.put("\(index)", value)], durability: .machine) { reports.report(index, $0) }
        }
        lanes.runAll()
        #expect(reports.ids == [0, 1, 2])
        #expect(reports.reasons == (0..<3).map { $0 == large ? .disk(.noSpace) : nil })
        store.close()
        let again = FileStore(directory: "/store", disk: disk, lanes: lanes)
        let contents = try again.load()
        again.close()
        #expect(contents.problems == [] && contents.values.count == 2 && contents.values["\(large)"] == nil)
    }

    /// Where the disk takes nothing each is tried, but not much more than once, and not with a sync of its own.
    @Test func aFullDiskIsNotTriedWithoutEnd() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        let before = stepped.disk.log.count
        stepped.disk.fail { operation, _ in operation.hasPrefix("write") ? .noSpace : nil }
        for index in 0..<100 { stepped.commit(index, [.put("\(index)", "x")], .machine) }
        stepped.lanes.runAll()
        #expect(stepped.reports.reasons.dropFirst().allSatisfy { $0 == .disk(.noSpace) })
        let log = stepped.disk.log[before...]
        #expect(log.count { $0.hasPrefix("write") } < 200 && !log.contains { $0.hasPrefix("sync") })
    }

    /// What cannot be read now may be readable at the next launch: nothing is changed, and a person told what to do.
    @Test func aBadSectorLeavesEverythingAsItIs() throws {
        let (disk, lanes) = (MemoryDisk(), ManualLanes())
        func makeStore() -> FileStore { FileStore(directory: "/store", disk: disk, lanes: lanes) }
        let store = makeStore()
        _ = try store.load()
        store.commit([.put("a", "1")], durability: .machine) { _ in }
        lanes.runAll()
        store.close()
        let paths = disk.paths
        disk.fail(.read, with: .inputOutput, path: "/store/journal-1")
        let other = makeStore()
        let error = #expect(throws: StoreError.self) { try other.load() }
        other.close()
        #expect(error?.reason == .disk(.inputOutput) && error?.message.contains("move it away") == true)
        #expect(disk.paths == paths)
        let again = makeStore()
        #expect(try again.load().values.texts == ["a": "1"])
        again.close()
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
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "1"])
        stepped.disk.fail { _, _ in nil }
        let before = stepped.disk.log.count
        #expect(stepped.commitNow([.put("c", "3")], .machine) == nil)
        #expect(!stepped.disk.log[before...].contains("write journal-1"))
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let contents = try Self.reopened(stepped.disk.afterMachineDeath(&random))
            #expect(contents.values.texts == ["a": "1", "c": "3"])
        }
    }

    /// Else each commit would leave one more, where there is no room for them.
    @Test func aSnapshotThatCannotBeNamedIsNotLeftBehind() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in
            operation == "sync journal-1" || operation.hasPrefix("rename") ? .inputOutput : nil
        }
        for value in ["2", "3", "4"] { #expect(stepped.commitNow([.put("b", value)], .machine) == .disk(.inputOutput)) }
        #expect(!stepped.disk.files.keys.contains { $0.hasSuffix(".new") })
        stepped.disk.fail { _, _ in nil }
        #expect(stepped.commitNow([.put("c", "3")], .machine) == nil)
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "1", "c": "3"])
    }

    /// Else each launch would leave one more, where there is no room for them.
    @Test func damageIsSetAsideOnceWhateverTheDiskRefuses() throws {
        let (stepped, _) = try SteppedStore.opened()
        for (key, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
            #expect(stepped.commitNow([.put(key, value)], .machine) == nil)
        }
        stepped.store.close()
        var files = stepped.disk.files
        files["journal-1"]?[60] ^= 1
        let disk = CrashDisk(files)
        for refused in ["write snapshot-2.new", "write corrupt-1.bin", "rename snapshot-2.new", "write snapshot-2.new"]
        {
            disk.fail { operation, _ in operation == refused ? .noSpace : nil }
            let contents = try Self.reopened(disk)
            #expect(contents.values.texts == ["b": "2", "c": "3"] && contents.problems.count == 1)
            let left = disk.files.filter { $0.key.hasPrefix("corrupt-") }
            #expect(left.count <= 1 && left.values.allSatisfy { $0.count > 30 }, "\(refused): \(left)")
        }
        disk.fail { _, _ in nil }
        #expect(try Self.reopened(disk).problems.count == 1)
        #expect(disk.files.keys.sorted() == ["corrupt-1.bin", "journal-2", "snapshot-2"])
        #expect(try Self.reopened(disk).values.texts == ["b": "2", "c": "3"])
    }

    /// A file system may lose what it has no place for, and say that all is well.
    @Test func whatAJournalLosesIsWrittenAnew() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.state.withLock { $0.hollow = ["journal-1"] }
        #expect(stepped.commitNow([.put("b", "2")], .machine) == .disk(.inputOutput))
        #expect(stepped.commitNow([.put("c", "3")], .machine) == nil)
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "1", "c": "3"])
    }

    @Test func aSnapshotThatLosesSomethingTakesNoPlace() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.disk.fail { operation, _ in operation == "sync journal-1" ? .inputOutput : nil }
        #expect(stepped.commitNow([.put("b", "2")], .machine) == .disk(.inputOutput))
        stepped.disk.state.withLock { $0.hollow = ["snapshot-2.new"] }
        #expect(stepped.commitNow([.put("c", "3")], .machine) == .disk(.inputOutput))
        #expect(stepped.disk.files["snapshot-1"] != nil && stepped.disk.files["snapshot-2"] == nil)
        stepped.disk.state.withLock { $0.hollow = [] }
        #expect(stepped.commitNow([.put("d", "4")], .machine) == nil)
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts == ["a": "1", "d": "4"])
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

    /// What is of no use any more is given up before the space is needed.
    @Test func aJournalThatCannotBeMadeLeavesOneSnapshot() throws {
        let (stepped, _) = try SteppedStore.opened(smallestCompaction: 100)
        stepped.disk.fail { operation, _ in
            operation.hasPrefix("create journal-") && operation != "create journal-1" ? .noSpace : nil
        }
        for count in 0..<60 { _ = stepped.commitNow([.put("a", "\(count)")]) }
        let names = stepped.disk.files.keys
        #expect(names.count { $0.hasPrefix("snapshot-") } == 1 && !names.contains("journal-1"), "\(names.sorted())")
        stepped.disk.fail { _, _ in nil }
        #expect(stepped.commitNow([.put("b", "1")]) == nil)
        #expect(try Self.reopened(stepped.disk.afterProcessDeath()).values.texts["b"] == "1")
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
        let contents = try Self.reopened(CrashDisk(files))
        #expect(contents == StoreContents(values: ["a": Data("1".utf8)]))
    }

    /// A torn end does not come back behind newer commits, where it would pass for damage.
    @Test func aTornEndIsCutForGood() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")], .machine) == nil)
        #expect(stepped.commitNow([.put("b", String(repeating: "long ", count: 20))]) == nil)
        var files = stepped.disk.files
        files["journal-1"]?.removeLast()
        for seed in 0..<20 as Range<UInt64> {
            let (second, _) = try SteppedStore.opened(CrashDisk(files))
            #expect(second.commitNow([.put("c", "3")]) == nil)
            var random = SeededGenerator(seed: seed)
            #expect(try Self.reopened(second.disk.afterMachineDeath(&random)).problems == [])
        }
    }
}
