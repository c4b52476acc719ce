import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// With threads: that the lanes do not wait for each other, and that a real disk behaves like the one in memory.
@Suite(.timeLimit(.minutes(10))) struct PartialFileLaneTests {
    /// A partial file on lanes with threads, its events as a sequence.
    private struct Threaded {
        let file: PartialFile
        private let stream: AsyncStream<PartialFileEvent>

        init(
            _ path: String, on disk: any FileSystem, holding: ByteRanges = [], hasher: (any Checksum.Hasher)? = FNV64(),
            backlogLimit: Int = 8 << 20
        ) {
            let (stream, continuation) = AsyncStream.makeStream(of: PartialFileEvent.self)
            self.stream = stream
            file = PartialFile(
                path: path, fileSystem: disk, lanes: PartialFile.Lanes(PooledLanes()), hasher: hasher,
                claimed: holding, backlogLimit: backlogLimit
            ) { continuation.yield($0) }
        }

        /// The events up to one that fits.
        func events(until isLast: (PartialFileEvent) -> Bool) async -> [PartialFileEvent] {
            var events: [PartialFileEvent] = []
            for await event in stream {
                events.append(event)
                if isLast(event) { break }
            }
            return events
        }

        func write(_ range: Range<Int64>) {
            file.write(Sample.chunk(range), at: range.lowerBound)
        }
    }

    private static func memoryDisk() -> MemoryDisk {
        let disk = MemoryDisk()
        disk.put([], at: "/Tmp/.here")
        return disk
    }

    private static func isEnd(_ event: PartialFileEvent) -> Bool {
        switch event {
        case .finished, .failed, .closed: true
        case .opened, .wrote, .synced, .damaged: false
        }
    }

    /// Holds back an operation of a disk; `reached` returns when one has arrived.
    private struct Stop {
        let hold: MemoryDisk.Hold
        private let stream: AsyncStream<Void>

        init(_ operation: MemoryDisk.Operation, of disk: MemoryDisk) {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            self.stream = stream
            hold = disk.hold(operation) { continuation.yield() }
        }

        func reached() async {
            for await _ in stream { return }
        }
    }

    @Test(arguments: [0, 8000, 8 << 20]) func fillsARealFileFromManyThreads(backlogLimit: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory("file.part")
        let total: Int64 = 300_001
        let threaded = Threaded(path, on: PosixFileSystem(), backlogLimit: backlogLimit)
        threaded.file.open(total: total)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 as Range<Int64> {
                group.addTask {
                    for start in stride(from: writer * 1000, to: total, by: 4000) {
                        threaded.write(start..<min(start + 1000, total))
                        if start % 40_000 == 0 { threaded.file.checkpoint() }
                    }
                }
            }
        }
        threaded.file.finish(total: total)
        let finished = await threaded.events(until: Self.isEnd)
        #expect(finished.last == .finished(digest: FNV64.digest(of: Sample.bytes(total))))
        threaded.file.close(sync: false)
        let whole: ByteRanges = [0..<total]
        #expect(await threaded.events(until: Self.isEnd).last == .closed(written: whole, synced: whole))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(Sample.bytes(total)))
    }

    @Test func resumesARealFile() async throws {
        let directory = try TemporaryDirectory()
        let path = directory("file.part")
        let first = Threaded(path, on: PosixFileSystem())
        first.file.open(total: 1_300_000)
        first.write(0..<1_100_000)
        first.write(1_200_000..<1_250_000)
        first.file.close(sync: true)
        let held: ByteRanges = [0..<1_100_000, 1_200_000..<1_250_000]
        #expect(await first.events(until: Self.isEnd).last == .closed(written: held, synced: held))

        let second = Threaded(path, on: PosixFileSystem(), holding: held)
        second.file.open(total: 1_300_000)
        second.write(1_250_000..<1_300_000)
        second.write(1_100_000..<1_200_000)
        second.file.finish(total: 1_300_000)
        let events = await second.events(until: Self.isEnd)
        #expect(events.first == .opened(held: held))
        #expect(events.last == .finished(digest: FNV64.digest(of: Sample.bytes(1_300_000))))
    }

    @Test func aFileWithoutADirectoryFails() async throws {
        let directory = try TemporaryDirectory()
        try PosixFileSystem().open(directory("file"), .create).close()
        let threaded = Threaded(directory("file/file.part"), on: PosixFileSystem())
        threaded.file.open(total: 10)
        guard case .failed(let error) = await threaded.events(until: Self.isEnd).last else {
            Issue.record("did not fail")
            return
        }
        #expect(error.fault == .inTheWay)
    }

    @Test func writesDoNotWaitForASync() async {
        let disk = Self.memoryDisk()
        let stop = Stop(.sync, of: disk)
        let threaded = Threaded(PartialFileBench.path, on: disk)
        threaded.file.open(total: nil)
        threaded.write(0..<10)
        threaded.file.checkpoint()
        await stop.reached()
        threaded.write(10..<20)
        let meanwhile = await threaded.events { $0 == .wrote(10..<20) }
        #expect(meanwhile == [.opened(held: []), .wrote(0..<10), .wrote(10..<20)])
        stop.hold.release()
        threaded.file.close(sync: false)
        let end = await threaded.events(until: Self.isEnd)
        #expect(end == [.synced([0..<10]), .closed(written: [0..<20], synced: [0..<10])])
    }

    @Test func writesDoNotWaitForTheHasher() async {
        let disk = Self.memoryDisk()
        disk.put(Sample.bytes(10), at: PartialFileBench.path)
        let stop = Stop(.read, of: disk)
        let threaded = Threaded(PartialFileBench.path, on: disk, holding: [0..<10])
        threaded.file.open(total: nil)
        await stop.reached()
        threaded.write(10..<20)
        threaded.file.checkpoint()
        let meanwhile = await threaded.events { $0 == .synced([0..<20]) }
        #expect(meanwhile == [.opened(held: [0..<10]), .wrote(10..<20), .synced([0..<20])])
        threaded.file.finish(total: 20)
        stop.hold.release()
        #expect(
            await threaded.events(until: Self.isEnd) == [.finished(digest: FNV64.digest(of: Sample.bytes(20)))])
    }

    @Test func closeWaitsForAWriteUnderWay() async {
        let disk = Self.memoryDisk()
        let stop = Stop(.write, of: disk)
        let threaded = Threaded(PartialFileBench.path, on: disk)
        threaded.file.open(total: nil)
        threaded.write(0..<10)
        await stop.reached()
        #expect(threaded.file.outstanding == 10)
        threaded.file.close(sync: true)
        stop.hold.release()
        let whole: ByteRanges = [0..<10]
        let events = await threaded.events(until: Self.isEnd)
        #expect(events == [.opened(held: []), .wrote(0..<10), .closed(written: whole, synced: whole)])
    }

    // MARK: What is under way when something else ends

    @Test func aSyncUnderWayWhenAWriteFails() async {
        let disk = Self.memoryDisk()
        let stop = Stop(.sync, of: disk)
        let threaded = Threaded(PartialFileBench.path, on: disk)
        threaded.file.open(total: nil)
        threaded.write(0..<10)
        threaded.file.checkpoint()
        await stop.reached()
        disk.fail(.write, with: .noSpace)
        threaded.write(10..<20)
        _ = await threaded.events(until: Self.isEnd)
        threaded.file.close(sync: false)
        stop.hold.release()
        let end = await threaded.events(until: Self.isEnd)
        #expect(end == [.closed(written: [0..<10], synced: [0..<10])], "the sync counts, but is not told")
    }

    @Test func aSyncUnderWayWhenBytesCannotBeRead() async {
        let disk = Self.memoryDisk()
        disk.put(Sample.bytes(10), at: PartialFileBench.path)
        let (read, sync) = (Stop(.read, of: disk), Stop(.sync, of: disk))
        let threaded = Threaded(PartialFileBench.path, on: disk, holding: [0..<10])
        threaded.file.open(total: nil)
        threaded.file.checkpoint()
        await read.reached()
        await sync.reached()
        disk.fail(.read, with: .inputOutput)
        read.hold.release()
        _ = await threaded.events(until: Self.isEnd)
        threaded.file.close(sync: false)
        sync.hold.release()
        #expect(await threaded.events(until: Self.isEnd) == [.closed(written: [], synced: [])])
    }

    @Test func aWriteUnderWayWhenASyncFails() async {
        let disk = Self.memoryDisk()
        let (write, sync) = (Stop(.write, of: disk), Stop(.sync, of: disk))
        disk.put(Sample.bytes(10), at: PartialFileBench.path)
        let threaded = Threaded(PartialFileBench.path, on: disk, holding: [0..<10], hasher: nil)
        threaded.file.open(total: nil)
        threaded.file.checkpoint()
        threaded.write(10..<20)
        await sync.reached()
        await write.reached()
        disk.fail(.sync, with: .inputOutput)
        sync.hold.release()
        _ = await threaded.events(until: Self.isEnd)
        threaded.file.close(sync: true)
        write.hold.release()
        let end = await threaded.events(until: Self.isEnd)
        #expect(end == [.closed(written: [], synced: [])], "no one knows what the kernel still has")
        #expect(threaded.file.outstanding == 0)
    }

    @Test func closeDuringTheLastSync() async {
        let disk = Self.memoryDisk()
        let stop = Stop(.sync, of: disk)
        let threaded = Threaded(PartialFileBench.path, on: disk, hasher: nil)
        threaded.file.open(total: nil)
        threaded.write(0..<10)
        threaded.file.finish(total: 10)
        await stop.reached()
        threaded.file.close(sync: false)
        stop.hold.release()
        let whole: ByteRanges = [0..<10]
        let events = await threaded.events(until: Self.isEnd)
        #expect(events == [.opened(held: []), .wrote(0..<10), .closed(written: whole, synced: whole)])
    }
}
