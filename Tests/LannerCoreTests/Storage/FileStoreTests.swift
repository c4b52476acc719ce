import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

@Suite struct FileStoreTests {
    @Test func commitsThatWaitAreWrittenAndSyncedTogether() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([]) == nil)
        let before = stepped.disk.log.count
        for id in 0..<100 { stepped.commit(id, [.put("\(id)", "x")], id == 50 ? .machine : .process) }
        stepped.lanes.runAll()
        #expect(stepped.disk.log[before...] == ["write journal-1", "sync journal-1"])
        #expect(stepped.reports.ids == [0] + Array(0..<100))
    }

    /// Under the thread sanitizer this finds reads of nothing that write to what all threads share.
    @Test func emptyJournalsAreReadOnManyThreads() {
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            let loaded = (0..<50).map { _ in try? SteppedStore.opened(CrashDisk(["journal-1": []])).1.values }
            #expect(loaded.allSatisfy { $0 == [:] })
        }
    }

    @Test func whatIsCommittedDuringAWriteIsWrittenTogetherNext() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([]) == nil)
        let before = stepped.disk.log.count
        let ids = Locked(Array(1...10))
        stepped.disk.fail { _, _ in
            let late = ids.withLock { ids in
                defer { ids = [] }
                return ids
            }
            for id in late { stepped.commit(id, [.put("\(id)", "x")], .machine) }
            return nil
        }
        stepped.commit(0, [.put("0", "x")])
        stepped.lanes.runAll()
        #expect(stepped.disk.log[before...] == ["write journal-1", "write journal-1", "sync journal-1"])
        #expect(stepped.reports.ids == [0] + Array(0...10))
    }

    @Test func processDurabilityNeedsNoSync() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([]) == nil)
        let before = stepped.disk.log.count
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        #expect(stepped.disk.log[before...] == ["write journal-1"])
    }

    @Test func committingDoesNothingOnTheCallersThread() throws {
        let (stepped, _) = try SteppedStore.opened()
        let before = stepped.disk.log
        stepped.commit(1, [.put("a", "1")])
        #expect(stepped.disk.log == before)
        #expect(stepped.reports.all.isEmpty)
        stepped.store.close()
        #expect(stepped.reports.all.isEmpty)
        stepped.lanes.runAll()
        #expect(stepped.reports.ids == [1])
    }

    @Test func completionsStayInOrderAcrossClose() throws {
        let (stepped, _) = try SteppedStore.opened()
        stepped.commit(1, [.put("a", "1")])
        stepped.commit(2, [.put("b", "1")])
        stepped.store.close()
        stepped.commit(3, [.put("c", "1")])
        stepped.lanes.runAll()
        #expect(stepped.reports.ids == [1, 2, 3])
        #expect(stepped.reports.reasons == [nil, nil, .closed])
    }

    @Test func commitBeforeLoadFails() {
        let stepped = SteppedStore()
        #expect(stepped.commitNow([.put("a", "1")]) == .closed)
        #expect(stepped.disk.log.isEmpty)
    }

    @Test func secondStoreOnADirectoryIsRefused() throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place("store"), isDirectory: true)
        let first = FileStore(directory: directory)
        _ = try first.load()
        let second = FileStore(directory: directory)
        let error = #expect(throws: StoreError.self) { try second.load() }
        #expect(error?.reason == .inUse)
        #expect(error?.message.contains(directory.path) == true)
        first.close()
        #expect(try second.load() == StoreContents())
        second.close()
    }

    /// Records may hold credentials.
    @Test func filesAreForTheOwnerAlone() throws {
        let place = try TemporaryDirectory()
        let store = FileStore(directory: place.path, disk: PosixFileSystem(), lanes: ManualLanes())
        // Damage, so that something is set aside, too.
        try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: place("journal-1")))
        _ = try store.load()
        store.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        #expect(names == ["corrupt-1.bin", "journal-2", "lock", "snapshot-2"])
        #expect(try names.map { try place.permissions($0) } == [0o600, 0o600, 0o600, 0o600])
    }

    @Test(arguments: ["snapshot-1", "journal-1"])
    func laterVersionIsRefusedAndLeftAlone(name: String) throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("a", "1")]) == nil)
        stepped.store.close()
        var files = stepped.disk.files
        files[name] = files[name].map { Self.header($0, version: 2) + $0.dropFirst(16) }
        files["snapshot-0"] = [1]
        let disk = CrashDisk(files)
        let later = SteppedStore(disk)
        let error = #expect(throws: StoreError.self) { try later.store.load() }
        #expect(error?.reason == .unknownVersion)
        #expect(error?.message.contains("/store/\(name) has format 2") == true)
        #expect(disk.files == files)
        #expect(disk.log.isEmpty)
        // The lock was given back.
        disk.state.withLock { #expect($0.locks.isEmpty) }
    }

    private static func header(_ bytes: [UInt8], version: UInt8) -> [UInt8] {
        let start = bytes[..<8] + [version, 0, 0, 0]
        let sum = Array(start).withUnsafeBytes { CRC32C.checksum($0) }
        return start + withUnsafeBytes(of: sum.littleEndian) { Array($0) }
    }

    /// The format of version 1 does not change.
    @Test func bytesOfVersionOne() throws {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put("k", "v"), .remove("é")]) == nil)
        let hex = try #require(stepped.disk.files["journal-1"]).map { String(format: "%02x", $0) }.joined()
        let header = "894c616e6e65724a" + "01000000" + "3b34e42f" + "0000000000000000" + "8ab2288c"
        let frame = "ffae4cf5" + "16000080" + "0100000000000000" + "c0998e5e" + "4e286da8"
        let put = "01" + "01000000" + "01000000" + "6b" + "76"
        let remove = "02" + "02000000" + "00000000" + "c3a9"
        #expect(hex == header + frame + put + remove)
    }

    @Test func compactionKeepsTheJournalSmall() throws {
        let (stepped, _) = try SteppedStore.opened(smallestCompaction: 1000)
        var largest = 0
        for count in 0..<1000 {
            #expect(stepped.commitNow([.put("\(count % 10)", "value \(count)")]) == nil)
            largest = max(largest, stepped.disk.files["journal-\(Self.generation(stepped.disk))"]?.count ?? 0)
        }
        #expect(largest < 1200)
        #expect(Self.generation(stepped.disk) > 10)
        #expect(stepped.disk.files.count == 2)
        stepped.store.close()
        let (_, contents) = try SteppedStore.opened(stepped.disk)
        let expected = Dictionary(uniqueKeysWithValues: (990..<1000).map { ("\($0 % 10)", "value \($0)") })
        #expect(contents.values.texts == expected)
    }

    private static func generation(_ disk: CrashDisk) -> Int {
        disk.files.keys.compactMap { Int($0.drop { $0 != "-" }.dropFirst()) }.max() ?? 0
    }

    @Test func nothingIsMadeUntilSomethingIsCommitted() throws {
        let (stepped, contents) = try SteppedStore.opened()
        stepped.store.close()
        #expect(contents.values.isEmpty)
        #expect(stepped.disk.files.isEmpty)
    }

    @Test func unreadableDirectory() throws {
        let place = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: place("file")))
        let store = FileStore(directory: URL(fileURLWithPath: place("file")))
        let error = #expect(throws: StoreError.self) { try store.load() }
        #expect(error?.reason == .disk(.inTheWay))
        #expect(error?.message.contains(place("file")) == true)
    }
}
