import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// Small files of one directory on a disk in memory, which are finished together; all lanes are run by hand.
@Suite struct SyncGroupTests {
    private final class Files {
        let disk = MemoryDisk()
        let lanes = ManualLanes()
        let files: [PartialFile]
        private let recorded = Locked<[Int: [PartialFileEvent]]>([:])
        /// What is done as one of them says that it is finished.
        let onFinish = Locked<(@Sendable (Int) -> Void)?>(nil)

        init(_ count: Int, size: Int64 = 100, isHashed: Bool = false) {
            disk.put([], at: "/Tmp/.here")
            try? disk.syncDirectory("/Tmp")
            let group = SyncGroup(of: disk, lane: lanes.makeLane("file.sync"))
            files = (0..<count).map { [disk, lanes, recorded, onFinish] number in
                PartialFile(
                    path: "/Tmp/\(number).part", fileSystem: disk, lanes: PartialFile.Lanes(lanes),
                    hasher: isHashed ? FNV64() : nil, group: group
                ) { event in
                    recorded.withLock { $0[number, default: []].append(event) }
                    if case .finished = event { onFinish.withLock { $0 }?(number) }
                }
            }
            for file in files {
                file.open(total: nil)
                file.write(Sample.chunk(0..<size), at: 0)
            }
            lanes.runAll()
        }

        /// The last event of each file, after everything has run.
        var last: [PartialFileEvent?] {
            lanes.runAll()
            return recorded.withLock { recorded in files.indices.map { recorded[$0]?.last } }
        }

        func events(of number: Int) -> [PartialFileEvent]? { recorded.withLock { $0[number] } }

        func finish(_ size: Int64 = 100) {
            for file in files { file.finish(total: size) }
        }
    }

    private let finished: PartialFileEvent? = .finished(digest: nil)

    @Test func thoseThatWaitAreBroughtToTheDeviceTogether() {
        let files = Files(3)
        files.finish()
        #expect(files.last == [finished, finished, finished])
        #expect(files.disk.counters[.syncDirectory] == 2, "one of them for the names of all three")
        for number in 0..<3 { #expect(files.disk.hasDurably([0..<100], of: "/Tmp/\(number).part")) }
    }

    @Test func aNameThatCannotBeSyncedLosesNoByte() {
        let files = Files(1)
        files.disk.fail(.syncDirectory, with: .tooManyFiles)
        files.finish()
        let error = FileError(fault: .tooManyFiles, operation: "syncDirectory", path: "/Tmp")
        #expect(files.last == [.failed(error)])
        files.files[0].close(sync: false)
        #expect(files.last == [.closed(written: [0..<100], synced: [])])
    }

    @Test func oneByItselfIsSyncedByItself() throws {
        let files = Files(1)
        let other = try files.disk.open("/Tmp/other", .create)
        try other.write([1, 2, 3], at: 0)
        files.finish()
        #expect(files.last == [finished])
        #expect(files.disk.hasDurably([0..<100], of: "/Tmp/0.part"))
        #expect(!files.disk.hasDurably([0..<3], of: "/Tmp/other"))
    }

    @Test func aLargeOneKeepsNobodyWaiting() {
        let size = Int64(Chunk.standardSize) + 1
        let files = Files(2, size: size)
        files.finish(size)
        #expect(files.last == [finished, finished])
        #expect(files.disk.counters[.syncDirectory] == 3, "each has synced its own name")
    }

    @Test func whatFailsOfOneIsToldByThatOne() {
        let files = Files(3)
        files.disk.fail(.sync, with: .inputOutput, path: "/Tmp/1.part")
        files.finish()
        let failed = PartialFileEvent.failed(FileError(fault: .inputOutput, operation: "sync", path: "/Tmp/1.part"))
        #expect(files.last == [finished, failed, finished])
        files.files[1].close(sync: true)
        #expect(files.last[1] == .closed(written: [], synced: []))
    }

    @Test func namesThatCannotBeKeptFailAll() {
        let files = Files(2)
        files.disk.fail(.syncDirectory, with: .inputOutput, times: 3)
        files.finish()
        let failed = PartialFileEvent.failed(FileError(fault: .inputOutput, operation: "syncDirectory", path: "/Tmp"))
        #expect(files.last == [failed, failed])
    }

    @Test func whoIsClosedInTheGroupIsClosedBehindItsSync() {
        let files = Files(3)
        files.finish()
        // The group waits for its turn now.
        while files.lanes.runNext("file.write") {}
        files.files[0].close(sync: false)
        files.files[1].close(sync: true)
        while files.lanes.runNext("file.write") {}
        #expect(files.disk.openFiles == 3)
        let last = files.last
        #expect(last[0] == .closed(written: [0..<100], synced: []))
        #expect(last[1] == .closed(written: [0..<100], synced: [0..<100]))
        #expect(last[2] == finished)
        #expect(files.disk.openFiles == 0)
    }

    @Test func whoHasWaitedIsClosedAlready() {
        let files = Files(2)
        files.finish()
        #expect(files.last == [finished, finished])
        #expect(files.disk.openFiles == 0)
        let before = files.disk.counters
        files.files[0].close(sync: true)
        #expect(!files.lanes.runNext(), "there is nothing left to do")
        #expect(files.last[0] == .closed(written: [0..<100], synced: [0..<100]))
        #expect(files.disk.counters == before)
    }

    @Test(arguments: ["file.hash", "file.sync"])
    func whoIsYetToBeHashedStaysOpen(first: String) {
        let files = Files(2, isHashed: true)
        files.finish()
        while files.lanes.runNext("file.write") {}
        while files.lanes.runNext(first) {}
        #expect(files.disk.openFiles == 2)
        #expect(files.last == Array(repeating: .finished(digest: FNV64.digest(of: Sample.bytes(100))), count: 2))
        #expect(files.disk.openFiles == (first == "file.hash" ? 0 : 2))
        for file in files.files { file.close(sync: false) }
        #expect(files.last == Array(repeating: .closed(written: [0..<100], synced: [0..<100]), count: 2))
        #expect(files.disk.openFiles == 0)
    }

    /// Each has a thread while it is synced.
    @Test func whereTheyCannotGoTogetherSoManyGoAtOnce() {
        let files = Files(40)
        files.disk.fail(.syncDirectory, with: .inputOutput)
        files.finish()
        while files.lanes.runNext("file.write") {}
        #expect(files.lanes.runNext("file.sync"))
        #expect(files.lanes.count == 32)
        // One that waits for its turn, and one whose sync is queued.
        files.files[39].close(sync: true)
        files.files[0].close(sync: false)
        let last = files.last
        #expect(last[39] == .closed(written: [0..<100], synced: [0..<100]))
        #expect(last[0] == .closed(written: [0..<100], synced: []))
        #expect(last.dropFirst().dropLast() == ArraySlice(repeating: finished, count: 38))
        #expect(files.disk.openFiles == 0)
    }

    /// Who is closed before it could say that it is finished does not say so any more, and has synced all.
    @Test func whoIsClosedMeanwhileHasSyncedAll() throws {
        let (disk, lanes, events) = (MemoryDisk(), ManualLanes(), Locked<[PartialFileEvent]>([]))
        disk.put([], at: "/Tmp/.here")
        let truth = TruthfulDisk(disk)
        let file = PartialFile(
            path: "/Tmp/file.part", fileSystem: truth, lanes: PartialFile.Lanes(lanes), hasher: nil,
            group: SyncGroup(of: truth, lane: lanes.makeLane("file.sync"))
        ) { event in
            events.withLock { $0.append(event) }
        }
        file.open(total: nil)
        file.write(Sample.chunk(0..<100), at: 0)
        file.finish(total: 100)
        truth.beforeClose.withLock { $0 = { [weak file] in file?.close(sync: false) } }
        lanes.runAll()
        let end = PartialFileEvent.closed(written: [0..<100], synced: [0..<100])
        #expect(events.withLock { $0 } == [.opened(held: []), .wrote(0..<100), end])
        #expect(disk.openFiles == 0 && truth.device == [0..<100])
    }

    @Test func whoIsClosedAsItSaysThatItIsFinishedSaysSoNext() {
        let files = Files(2)
        files.onFinish.withLock { $0 = { [all = files.files] number in all[number].close(sync: true) } }
        files.finish()
        let end = PartialFileEvent.closed(written: [0..<100], synced: [0..<100])
        #expect(files.last == [end, end])
        for file in files.files { file.close(sync: true) }
        #expect(!files.lanes.runNext())
        files.onFinish.withLock { $0 = nil }
        #expect(files.events(of: 1) == [.opened(held: []), .wrote(0..<100), .finished(digest: nil), end])
    }

    /// A failed one has to be closed by who gave it up.
    @Test func whoFailsStaysOpen() {
        let files = Files(2)
        files.disk.fail(.sync, with: .inputOutput, path: "/Tmp/1.part")
        files.finish()
        #expect(files.last[0] == finished)
        #expect(files.disk.openFiles == 1)
    }
}
