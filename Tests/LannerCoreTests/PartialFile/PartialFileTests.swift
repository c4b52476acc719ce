import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

@Suite struct PartialFileTests {
    @Test func writesInOrder() {
        let bench = PartialFileBench()
        bench.file.open(total: 3000)
        bench.write(0..<1000)
        bench.write(1000..<2000)
        bench.write(2000..<3000)
        #expect(bench.file.outstanding == 3000)
        #expect(bench.events() == [.opened(held: []), .wrote(0..<1000), .wrote(1000..<2000), .wrote(2000..<3000)])
        #expect(bench.file.outstanding == 0)
        bench.file.finish(total: 3000)
        #expect(bench.events() == [.finished(digest: FNV64.digest(of: Sample.bytes(3000)))])
        #expect(bench.contents == Sample.bytes(3000))
        #expect(bench.disk.counters.bytesRead == 0, "all of it was hashed from memory")
        bench.file.close(sync: true)
        #expect(bench.events() == [.closed(written: [0..<3000], synced: [0..<3000])])
        #expect(bench.disk.counters[.sync] == 1)
    }

    @Test func takesBytesBeforeItIsOpen() {
        let bench = PartialFileBench()
        bench.file.open(total: nil, isAwaited: false)
        bench.write(0..<1000)
        #expect(bench.contents == nil)
        #expect(bench.events() == [.wrote(0..<1000)], "nobody waits to hear that it is open")
        bench.file.finish(total: 1000)
        #expect(bench.events() == [.finished(digest: FNV64.digest(of: Sample.bytes(1000)))])
    }

    /// Around the cache, and what waits one behind the other together: what is large, from when 4 MiB wait until the
    /// file has kept up for 64 MiB.
    @Test func aFileThatIsBehindIsWrittenDirectly() {
        let (disk, chunk) = (MemoryDisk(), Int64(1 << 20))
        let truth = TruthfulDisk(disk)
        let bench = PartialFileBench(disk: disk, over: truth, hasher: nil)
        let data = Data(count: Int(chunk))
        func write(_ range: Range<Int64>) {
            var chunk = Chunk()
            chunk.append(data.prefix(range.count))
            bench.file.write(chunk, at: range.lowerBound)
        }
        bench.file.open(total: nil)
        write(0..<chunk)
        #expect(bench.events() == [.opened(held: []), .wrote(0..<chunk)])
        // Less than 4 MiB wait behind the first.
        for number in 100..<Int64(104) { write(number * chunk..<(number + 1) * chunk) }
        #expect(bench.events().count == 4)
        #expect(truth.direct == [])
        // Together up to 4 MiB; not what lies elsewhere, or is small.
        for number in 1...6 { write(Int64(number) * chunk..<(Int64(number) + 1) * chunk) }
        write(9 * chunk..<10 * chunk)
        write(10 * chunk..<10 * chunk + 100)
        #expect(bench.file.outstanding == 7 * chunk + 100)
        let events = bench.events()
        var expected = [chunk..<5 * chunk, 5 * chunk..<7 * chunk, 9 * chunk..<10 * chunk]
        #expect(truth.direct == expected)
        let wrote: [PartialFileEvent] = [
            .wrote(expected[0]), .wrote(expected[1]), .wrote(expected[2]),
            .wrote(10 * chunk..<10 * chunk + 100),
        ]
        #expect(events == wrote)
        #expect(bench.file.outstanding == 0)
        // 7 MiB and 100 bytes of the 64 are written already.
        for number in 20..<Int64(20 + 60) {
            write(number * chunk..<(number + 1) * chunk)
            _ = bench.events()
            if number < 20 + 57 { expected.append(number * chunk..<(number + 1) * chunk) }
        }
        #expect(truth.direct == expected)
        bench.file.close(sync: false)
        _ = bench.events()
    }

    /// The disk is behind with all of them together, though little of each waits.
    @Test func filesThatAreBehindTogetherAreWrittenDirectly() {
        let (disk, load, chunk) = (MemoryDisk(), WriteLoad(), Int64(1 << 20))
        let truth = TruthfulDisk(disk)
        let bench = PartialFileBench(disk: disk, over: truth, hasher: nil, load: load)
        func write(_ number: Int64) {
            var piece = Chunk()
            piece.append(Data(count: Int(chunk)))
            bench.file.write(piece, at: number * chunk)
        }
        bench.file.open(total: nil)
        load.add(6 << 20)
        write(0)
        #expect(load.waiting == 7 << 20)
        _ = bench.events()
        #expect(load.waiting == 6 << 20)
        #expect(truth.direct == [])
        load.add(1 << 20)
        write(1)
        _ = bench.events()
        #expect(truth.direct == [chunk..<2 * chunk])
        write(2)
        bench.file.close(sync: false, dropping: true)
        _ = bench.events()
        #expect(load.waiting == 7 << 20)
    }

    @Test func writesOutOfOrder() {
        let bench = PartialFileBench()
        bench.file.open(total: 4000)
        for range: Range<Int64> in [3000..<4000, 1000..<2000, 0..<1000] { bench.write(range) }
        _ = bench.events()
        bench.write(2000..<3000)
        bench.file.finish(total: 4000)
        #expect(bench.events().last == .finished(digest: FNV64.digest(of: Sample.bytes(4000))))
        #expect(bench.contents == Sample.bytes(4000))
        #expect(bench.disk.counters.bytesRead == 2000, "what came early is read back, nothing else")
    }

    @Test func finishesAnEmptyFile() {
        let bench = PartialFileBench()
        bench.file.open(total: 0)
        bench.file.finish(total: 0)
        #expect(bench.events() == [.opened(held: []), .finished(digest: FNV64.digest(of: []))])
        #expect(bench.contents == [])
    }

    @Test func finishesWithoutHasher() {
        let bench = PartialFileBench(hasher: nil)
        bench.file.open(total: nil)
        bench.write(0..<10)
        bench.file.finish(total: 10)
        #expect(bench.events() == [.opened(held: []), .wrote(0..<10), .finished(digest: nil)])
        #expect(bench.disk.counters.bytesRead == 0)
    }

    @Test func hashesWhatIsHeldBeforeTheRest() {
        let disk = MemoryDisk()
        disk.put(Sample.bytes(1_500_000), at: PartialFileBench.path)
        let bench = PartialFileBench(disk: disk, holding: [0..<1_500_000])
        bench.file.open(total: 1_510_000)
        #expect(bench.events() == [.opened(held: [0..<1_500_000])])
        #expect(disk.counters.bytesRead == 1_500_000, "the prefix is read as soon as the file is open")
        bench.write(1_500_000..<1_510_000)
        bench.file.finish(total: 1_510_000)
        #expect(bench.events().last == .finished(digest: FNV64.digest(of: Sample.bytes(1_510_000))))
        #expect(disk.counters.bytesRead == 1_500_000)
    }

    @Test func startsOverWhenNothingIsClaimed() {
        let disk = MemoryDisk()
        disk.put([1, 2, 3], at: PartialFileBench.path)
        let bench = PartialFileBench(disk: disk)
        bench.file.open(total: nil)
        #expect(bench.events() == [.opened(held: [])])
        #expect(bench.contents == [])
    }

    @Test func cutsWhatLiesBeyondTheTotal() {
        let disk = MemoryDisk()
        disk.put(Sample.bytes(500), at: PartialFileBench.path)
        let bench = PartialFileBench(disk: disk, holding: [0..<100], durable: [0..<100])
        bench.file.open(total: nil)
        bench.file.finish(total: 100)
        #expect(bench.events().last == .finished(digest: FNV64.digest(of: Sample.bytes(100))))
        #expect(bench.contents == Sample.bytes(100))
        #expect(disk.counters[.sync] == 1, "the bytes are on the device, the cut is not")
    }

    @Test func whatCannotBeCutIsAFailure() {
        let disk = MemoryDisk()
        disk.put(Sample.bytes(500), at: PartialFileBench.path)
        disk.fail(.truncate, with: .inputOutput)
        let bench = PartialFileBench(disk: disk, holding: [0..<100], durable: [0..<100])
        bench.file.open(total: nil)
        bench.file.finish(total: 100)
        guard case .failed(let error) = bench.events().last else {
            Issue.record("It did not fail.")
            return
        }
        #expect(error.fault == .inputOutput && error.operation == "truncate")
    }

    @Test func bytesWrittenTwiceCountOnce() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(100..<200)
        let junk = [UInt8](repeating: 0xAA, count: 300)
        var wrong = Chunk()
        wrong.append(Data(junk))
        bench.file.write(wrong, at: 0)
        #expect(bench.events() == [.opened(held: []), .wrote(100..<200), .wrote(0..<300)])
        var expected = junk
        expected.replaceSubrange(100..<200, with: Sample.bytes(100..<200))
        #expect(bench.contents == expected)
        bench.file.finish(total: 300)
        #expect(bench.events() == [.finished(digest: FNV64.digest(of: bench.contents ?? []))])
    }

    @Test func reservesWhenTheSizeIsKnown() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.file.setTotal(2 << 20)
        #expect(bench.events() == [.opened(held: [])])
        #expect(bench.disk.used == 2 << 20)
        #expect(bench.contents == [])
    }

    @Test func reservesForASmallFileOnlyWhenItComesInParts() {
        let cases: [(Range<Int64>, Int)] = [(0..<1000, 0), (0..<999, 1), (1..<1000, 1)]
        for (first, reservations) in cases {
            let bench = PartialFileBench()
            bench.file.open(total: nil)
            bench.file.setTotal(1000)
            bench.write(first)
            bench.write(0..<1000)
            #expect(bench.events().contains(.wrote(first)))
            #expect(bench.disk.counters[.allocate] == reservations)
            #expect(bench.disk.used == 1000)
        }
    }

    @Test func checkpointCoversWhatWasHandedOverBefore() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.file.checkpoint()
        bench.file.checkpoint()
        #expect(bench.events() == [.opened(held: []), .wrote(0..<100), .synced([0..<100])])
        bench.file.checkpoint()
        #expect(bench.events() == [.synced([0..<100])])
        #expect(bench.disk.counters[.sync] == 1, "nothing was written since")
        bench.write(200..<300)
        bench.file.close(sync: false)
        #expect(bench.events() == [.wrote(200..<300), .closed(written: [0..<100, 200..<300], synced: [0..<100])])
    }

    @Test func closeWritesWhatWasAccepted() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.file.checkpoint()
        bench.file.close(sync: true)
        bench.file.close(sync: false)
        bench.write(100..<200)
        bench.file.checkpoint()
        bench.file.finish(total: 100)
        let whole: ByteRanges = [0..<100]
        #expect(bench.events() == [.opened(held: []), .wrote(0..<100), .closed(written: whole, synced: whole)])
        #expect(bench.file.outstanding == 0)
        #expect(bench.contents == Sample.bytes(100))
    }

    @Test func closeDropsWhatNobodyWants() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        _ = bench.events()
        bench.write(100..<200)
        bench.write(200..<300)
        bench.file.close(sync: false, dropping: true)
        #expect(bench.file.outstanding == 0)
        #expect(bench.events() == [.closed(written: [0..<100], synced: [])])
        #expect(bench.contents == Sample.bytes(100))
    }

    @Test func closeGivesUpAFinish() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        bench.write(0..<100)
        bench.file.finish(total: 100)
        bench.file.close(sync: false)
        #expect(bench.events() == [.opened(held: []), .wrote(0..<100), .closed(written: [0..<100], synced: [])])
    }

    @Test func closesWhatWasNeverOpened() {
        let bench = PartialFileBench(holding: [0..<50, 60..<70], durable: [0..<40])
        bench.file.close(sync: true)
        #expect(bench.events() == [.closed(written: [0..<50, 60..<70], synced: [0..<40])])
        #expect(bench.contents == nil)
    }

    @Test func aHasherThatFallsBehindKeepsLittleMemory() {
        let disk = MemoryDisk()
        disk.put([], at: "/Tmp/.here")
        let memory = LiveMemory()
        let (writing, hashing) = (ManualLanes(), ManualLanes())
        let lanes = PartialFile.Lanes(HashingApart(others: writing, hashing: hashing))
        let last = Locked<PartialFileEvent?>(nil)
        let file = PartialFile(
            path: PartialFileBench.path, fileSystem: disk, lanes: lanes, hasher: FNV64(), backlogLimit: 3000
        ) { event in
            last.withLock { $0 = event }
        }
        file.open(total: nil)
        for start in stride(from: Int64(0), to: 100_000, by: 1000) {
            file.write(Sample.chunk(start..<(start + 1000), counting: memory), at: start)
            writing.runAll()
            #expect(memory.pieces <= 3)
        }
        file.finish(total: 100_000)
        writing.runAll()
        hashing.runAll()
        #expect(last.withLock { $0 } == .finished(digest: FNV64.digest(of: Sample.bytes(100_000))))
        #expect(disk.counters.bytesRead == 97_000)
        #expect(memory.pieces == 0)
    }

    @Test func everyMethodMayBeCalledFromAReport() {
        let disk = MemoryDisk()
        disk.put([], at: "/Tmp/.here")
        let lanes = ManualLanes()
        let events = Locked<[PartialFileEvent]>([])
        let own = Locked<PartialFile?>(nil)
        let file = PartialFile(
            path: PartialFileBench.path, fileSystem: disk, lanes: PartialFile.Lanes(lanes), hasher: nil
        ) { event in
            events.withLock { $0.append(event) }
            guard let file = own.withLock({ $0 }) else { return }
            switch event {
            case .opened: file.write(Sample.chunk(0..<10), at: 0)
            case .wrote: file.checkpoint()
            case .synced: file.finish(total: 10)
            case .finished: file.close(sync: true)
            case .damaged, .failed, .closed: break
            }
        }
        own.withLock { $0 = file }
        file.open(total: nil)
        lanes.runAll()
        own.withLock { $0 = nil }
        let whole: ByteRanges = [0..<10]
        let expected: [PartialFileEvent] = [
            .opened(held: []), .wrote(0..<10), .synced(whole), .finished(digest: nil),
            .closed(written: whole, synced: whole),
        ]
        #expect(events.withLock { $0 } == expected)
    }

    /// Another file had the name before, and its removal may not have got to the device; nor to a record, which claims
    /// some of its bytes.
    @Test(arguments: 0..<20 as Range<UInt64>, [[], [0..<1]] as [ByteRanges])
    func whatIsSyncedHasItsName(seed: UInt64, claimed: ByteRanges) throws {
        let (disk, lanes) = (MemoryDisk(), ManualLanes())
        disk.put([UInt8](repeating: 0xff, count: 100), at: "/Tmp/file")
        try disk.syncDirectory("/Tmp")
        try disk.remove("/Tmp/file")
        let synced = Locked(false)
        let file = PartialFile(
            path: "/Tmp/file", fileSystem: disk, lanes: .init(lanes), hasher: nil, claimed: claimed, durable: claimed
        ) { event in
            if case .synced = event { synced.withLock { $0 = true } }
        }
        file.open(total: nil)
        file.write(Sample.chunk(0..<100), at: 0)
        lanes.runAll()
        file.checkpoint()
        lanes.runAll()
        #expect(synced.withLock { $0 })
        var random = SeededGenerator(seed: seed)
        disk.loseUnsynced(&random)
        #expect(disk.contents(of: "/Tmp/file") == Sample.bytes(100))
    }
}

/// Lanes for hashing that run by themselves.
private struct HashingApart: LaneFactory {
    let others: ManualLanes
    let hashing: ManualLanes

    func makeLane(_ label: String) -> any Lane {
        label == "file.hash" ? hashing.makeLane(label) : others.makeLane(label)
    }

    func wait(for latch: Latch) { others.wait(for: latch) }
}
