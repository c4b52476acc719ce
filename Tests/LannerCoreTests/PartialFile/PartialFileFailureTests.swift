import LannerCore
import LannerMachine
import Testing

@testable import LannerTesting

@Suite struct PartialFileFailureTests {
    private func failure(_ fault: DiskFault, _ operation: String) -> PartialFileEvent {
        .failed(FileError(fault: fault, operation: operation, path: PartialFileBench.path))
    }

    @Test func fullDiskInMidWrite() {
        let bench = PartialFileBench(disk: MemoryDisk(capacity: 2500))
        bench.file.open(total: nil)
        for start: Int64 in [0, 1000, 2000, 3000] { bench.write(start..<(start + 1000)) }
        bench.file.checkpoint()
        bench.file.finish(total: 4000)
        let expected = [.opened(held: []), .wrote(0..<1000), .wrote(1000..<2000), failure(.noSpace, "write")]
        #expect(bench.events() == expected)
        #expect(bench.file.outstanding == 0)
        bench.file.close(sync: true)
        #expect(bench.events() == [.closed(written: [0..<2000], synced: [0..<2000])])
    }

    @Test func fullDiskAtOpen() {
        let disk = MemoryDisk(capacity: 1000)
        disk.put(Sample.bytes(500), at: PartialFileBench.path)
        let bench = PartialFileBench(disk: disk, holding: [0..<500], durable: [0..<200])
        bench.file.open(total: 2000)
        bench.write(500..<600)
        bench.file.close(sync: false)
        let closed = PartialFileEvent.closed(written: [0..<500], synced: [0..<200])
        #expect(bench.events() == [failure(.noSpace, "allocate"), closed])
    }

    @Test func fullDiskWhenTheSizeIsKnown() {
        let bench = PartialFileBench(disk: MemoryDisk(capacity: 1000))
        bench.file.open(total: nil)
        bench.file.setTotal(2 << 20)
        #expect(bench.events() == [.opened(held: []), failure(.noSpace, "allocate 2097152 bytes for")])
    }

    @Test func fullDiskWhenTheBeginningOfASmallFileComes() {
        let bench = PartialFileBench(disk: MemoryDisk(capacity: 1000))
        bench.file.open(total: nil)
        bench.file.setTotal(2000)
        #expect(bench.events() == [.opened(held: [])])
        bench.write(0..<100)
        #expect(bench.events() == [failure(.noSpace, "allocate 2000 bytes for")])
    }

    @Test func whatCannotBeOpenedKeepsItsClaim() {
        let bench = PartialFileBench(holding: [0..<500])
        bench.disk.fail(.open, with: .tooManyFiles)
        bench.file.open(total: nil)
        bench.file.close(sync: true)
        #expect(bench.events() == [failure(.tooManyFiles, "open"), .closed(written: [0..<500], synced: [])])
    }

    @Test func shortFileHoldsLess() {
        let disk = MemoryDisk()
        disk.put(Sample.bytes(300), at: PartialFileBench.path)
        let bench = PartialFileBench(disk: disk, holding: [0..<200, 250..<400, 500..<600], durable: [0..<350])
        bench.file.open(total: nil)
        bench.file.close(sync: false)
        let held: ByteRanges = [0..<300]
        #expect(bench.events() == [.opened(held: held), .closed(written: held, synced: held)])
    }

    @Test func missingFileHoldsNothing() {
        let bench = PartialFileBench(holding: [0..<200])
        bench.file.open(total: nil)
        #expect(bench.events() == [.opened(held: [])])
    }

    @Test func failedSyncLeavesOnlyWhatWasSyncedBefore() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.file.checkpoint()
        _ = bench.events()
        bench.disk.fail(.sync, with: .inputOutput)
        bench.write(100..<200)
        bench.file.checkpoint()
        #expect(bench.events() == [.wrote(100..<200), failure(.inputOutput, "sync")])
        #expect(bench.disk.contents(of: PartialFileBench.path)?.count == 100, "the process may end before the close")
        bench.file.close(sync: true)
        #expect(bench.events() == [.closed(written: [0..<100], synced: [0..<100])])
        #expect(bench.disk.counters[.sync] == 2, "a later sync that succeeds would prove nothing")
        // To a later process neither: what it read would be what the device has not.
        #expect(bench.disk.contents(of: PartialFileBench.path)?.count == 100)
    }

    @Test func failedSyncAtClose() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.disk.fail(.sync, with: .inputOutput)
        bench.file.close(sync: true)
        let end = [failure(.inputOutput, "sync"), .closed(written: [], synced: [])]
        #expect(bench.events() == [.opened(held: []), .wrote(0..<100)] + end)
    }

    /// They are written together where there is room, and one by one where there is not for all.
    @Test func whatThereIsRoomForIsKeptOfWhatWaits() {
        let (disk, chunk) = (MemoryDisk(), Int64(1 << 20))
        let truth = TruthfulDisk(disk)
        let bench = PartialFileBench(disk: disk, over: truth, hasher: nil)
        bench.file.open(total: nil)
        for number in 0..<Int64(6) { bench.write(number * chunk..<(number + 1) * chunk) }
        disk.capacity = 6 * chunk - 1
        let events = bench.events()
        #expect(truth.direct == [0..<4 * chunk, 4 * chunk..<6 * chunk])
        let expected: [PartialFileEvent] = [
            .opened(held: []), .wrote(0..<4 * chunk), .wrote(4 * chunk..<5 * chunk), failure(.noSpace, "write"),
        ]
        #expect(events == expected)
        #expect(bench.file.outstanding == 0)
        bench.file.close(sync: true)
        let held: ByteRanges = [0..<5 * chunk]
        #expect(bench.events().last == .closed(written: held, synced: held))
    }

    /// What the hasher has no room for is read back: through the cache.
    @Test func whatIsReadBackIsNotWrittenDirectly() {
        let (disk, chunk) = (MemoryDisk(), Int64(1 << 20))
        let truth = TruthfulDisk(disk)
        let bench = PartialFileBench(disk: disk, over: truth, backlogLimit: Int(chunk))
        bench.file.open(total: nil)
        for number in [0, 2, 3, 4, 5] as [Int64] { bench.write(number * chunk..<(number + 1) * chunk) }
        _ = bench.events()
        #expect(truth.direct == [0..<chunk])
        bench.file.close(sync: false)
        _ = bench.events()
    }

    @Test func failedSyncAtFinish() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.disk.fail(.sync, with: .inputOutput)
        bench.file.finish(total: 100)
        #expect(bench.events().last == failure(.inputOutput, "sync"))
    }

    @Test func unreadableBytesAreNotHeld() {
        let disk = MemoryDisk()
        disk.put([UInt8](repeating: 0, count: 3 << 20), at: PartialFileBench.path)
        let whole: ByteRanges = [0..<(3 << 20)]
        let bench = PartialFileBench(disk: disk, holding: whole, durable: whole)
        disk.fail(.read, with: .inputOutput, skipping: 1)
        bench.file.open(total: nil)
        #expect(bench.events() == [.opened(held: whole), failure(.inputOutput, "read")])
        bench.file.close(sync: true)
        let readable: ByteRanges = [0..<(1 << 20)]
        #expect(bench.events() == [.closed(written: readable, synced: readable)])
    }

    @Test func fileThatWasCutBehindOurBack() throws {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(100..<200)
        _ = bench.events()
        let other = try bench.disk.open(PartialFileBench.path, .readWrite)
        try other.truncate(to: 150)
        other.close()
        // Written behind the gap, the file would have its size again, with zeros in it.
        bench.write(200..<300)
        #expect(bench.events() == [failure(.other, "write")])
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [100..<150], synced: [])])
    }

    /// What waits is written together.
    @Test func fileThatWasCutUnderWhatWaits() throws {
        let (disk, chunk) = (MemoryDisk(), Int64(1 << 20))
        let bench = PartialFileBench(disk: disk, over: TruthfulDisk(disk), hasher: nil)
        bench.file.open(total: nil)
        bench.write(0..<chunk)
        _ = bench.events()
        let other = try disk.open(PartialFileBench.path, .readWrite)
        try other.truncate(to: 150)
        other.close()
        for number in 1...Int64(6) { bench.write(number * chunk..<(number + 1) * chunk) }
        #expect(bench.events() == [failure(.other, "write")])
        #expect(bench.file.outstanding == 0)
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [0..<150], synced: [])])
    }

    @Test func fileThatWasCutBeforeItsEndIsToldOf() throws {
        let bench = PartialFileBench()
        bench.file.open(total: 300)
        bench.write(0..<300)
        _ = bench.events()
        let other = try bench.disk.open(PartialFileBench.path, .create)
        other.close()
        bench.file.finish(total: 300)
        #expect(bench.events() == [failure(.other, "finish")])
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [], synced: [])])
    }

    /// A cleaner may take it. Else all would be fetched to be thrown away, or what lies there now be taken for it.
    @Test(arguments: [false, true], [false, true])
    func fileThatWasRemovedBehindOurBack(isReplaced: Bool, isComplete: Bool) throws {
        let bench = PartialFileBench()
        bench.file.open(total: 300)
        bench.write(0..<200)
        if isComplete { bench.write(200..<300) }
        _ = bench.events()
        try bench.disk.remove(PartialFileBench.path)
        if isReplaced { bench.disk.put([UInt8](repeating: 7, count: 300), at: PartialFileBench.path) }
        if isComplete { bench.file.finish(total: 300) } else { bench.write(200..<300) }
        #expect(bench.events() == [failure(.other, isComplete ? "finish" : "write")])
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [], synced: [])])
    }

    @Test func directoryThatIsGoneIsMadeAgain() throws {
        let directory = try TemporaryDirectory()
        let path = directory("Tmp/file.part")
        let (lanes, events) = (ManualLanes(), Locked<[PartialFileEvent]>([]))
        let file = PartialFile(
            path: path, fileSystem: PosixFileSystem(), lanes: PartialFile.Lanes(lanes), hasher: nil, pieces: nil,
            claimed: ByteRanges(), durable: ByteRanges(), load: WriteLoad()
        ) { event in
            events.withLock { $0.append(event) }
        }
        file.open(total: nil)
        file.close(sync: false)
        lanes.runAll()
        #expect(events.withLock { $0 } == [.opened(held: []), .closed(written: [], synced: [])])
    }

    @Test(arguments: [[0..<100, 200..<300], [1..<300], [0..<299], [0..<301]] as [ByteRanges])
    func finishNeedsExactlyTheWholeFile(written: ByteRanges) {
        let bench = PartialFileBench()
        bench.file.open(total: 300)
        for range in written.ranges { bench.write(range) }
        bench.file.finish(total: 300)
        #expect(bench.events().last == failure(.other, "finish"))
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: written, synced: [])])
    }

    @Test(arguments: [-1, Int64.min, Int64.max, Int64.max - 99])
    func impossiblePlacesAreFailures(offset: Int64) {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.file.write(Sample.chunk(0..<100), at: offset)
        #expect(bench.events() == [.opened(held: []), failure(.tooLarge, "write")])
        #expect(bench.file.outstanding == 0)
    }

    @Test func impossibleTotalsAreFailures() {
        for total in [-1, Int64.min] {
            let bench = PartialFileBench()
            bench.file.open(total: total)
            bench.file.finish(total: total)
            #expect(bench.events() == [.opened(held: []), failure(.other, "finish")])
        }
        let huge = PartialFileBench(disk: MemoryDisk(capacity: 1000))
        huge.file.open(total: .max)
        #expect(huge.events() == [failure(.noSpace, "allocate \(Int64.max) bytes for")])
    }

    @Test func callsBeforeOpenAreFailures() {
        let bench = PartialFileBench()
        bench.write(0..<10)
        bench.file.checkpoint()
        bench.file.open(total: nil)
        bench.file.close(sync: true)
        #expect(bench.events() == [failure(.other, "write"), .closed(written: [], synced: [])])
        #expect(bench.file.outstanding == 0)
    }

    /// The file is finished while a checkpoint is under way, and closed while the sync of the finish is, which is
    /// behind that.
    private func closing(_ bench: PartialFileBench, sync: Bool) -> [PartialFileEvent] {
        func duringASync(_ work: @escaping @Sendable (PartialFile) -> Void) {
            bench.disk.state.withLock { state in
                state.whileSyncing = { [file = bench.file, lanes = bench.lanes] _ in
                    work(file)
                    while lanes.runNext("file.write") {}
                }
            }
            #expect(bench.lanes.runNext("file.sync"))
            bench.disk.state.withLock { $0.whileSyncing = nil }
        }
        bench.file.open(total: nil)
        bench.write(0..<10)
        bench.file.checkpoint()
        while bench.lanes.runNext("file.write") {}
        duringASync { file in
            file.write(Sample.chunk(10..<20), at: 10)
            file.finish(total: 20)
        }
        duringASync { $0.close(sync: sync) }
        return bench.events()
    }

    /// Else it would claim bytes that the sync finds to be lost.
    @Test(arguments: [false, true]) func aCloseDoesNotOvertakeTheSyncOfAFinish(sync: Bool) {
        let events = closing(PartialFileBench(hasher: nil), sync: sync)
        #expect(events.last == .closed(written: [0..<20], synced: [0..<20]))
    }

    /// That says nothing about the bytes.
    @Test func aNameThatCannotBeSyncedLosesNoByte() {
        let bench = PartialFileBench(hasher: nil)
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.disk.fail(.syncDirectory, with: .tooManyFiles)
        bench.file.checkpoint()
        let error = FileError(fault: .tooManyFiles, operation: "syncDirectory", path: "/Tmp")
        #expect(bench.events().last == .failed(error))
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [0..<100], synced: [])])
    }

    /// Somebody cuts the file while it is synced.
    @Test func aSyncDoesNotVouchForWhatWasCutMeanwhile() throws {
        let bench = PartialFileBench(hasher: nil)
        bench.file.open(total: nil)
        bench.write(0..<300)
        bench.file.checkpoint()
        while bench.lanes.runNext("file.write") {}
        let other = try bench.disk.open(PartialFileBench.path, .readWrite)
        bench.disk.state.withLock { state in
            state.whileSyncing = { [file = bench.file, lanes = bench.lanes] _ in
                try? other.truncate(to: 150)
                file.write(Sample.chunk(300..<400), at: 300)
                while lanes.runNext("file.write") {}
            }
        }
        #expect(bench.lanes.runNext("file.sync"))
        bench.disk.state.withLock { $0.whileSyncing = nil }
        bench.file.close(sync: false)
        #expect(bench.events().last == .closed(written: [0..<150], synced: [0..<150]))
        other.close()
    }
}
