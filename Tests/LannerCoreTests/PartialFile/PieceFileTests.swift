import Foundation
import LannerMachine
import Testing

@testable import LannerCore
@testable import LannerTesting

/// Pieces of a partial file that are compared while it is written, and a hasher that comes late.
@Suite struct PieceFileTests {
    private static let bytes = Sample.bytes(1000)
    private static let digest = FNV64.digest(of: bytes)

    private func bench(
        _ disk: MemoryDisk = MemoryDisk(), holding: ByteRanges = [], durable: ByteRanges = [],
        hasher: (any Checksum.Hasher)? = nil, length: Int = 100
    ) -> PartialFileBench {
        PartialFileBench(
            disk: disk, holding: holding, durable: durable, hasher: hasher, pieces: .of(Self.bytes, length: length))
    }

    /// Writes zeros where others belong.
    private func spoil(_ bench: PartialFileBench, _ range: Range<Int64>) {
        bench.file.write(.zeros(Int(range.upperBound - range.lowerBound)), at: range.lowerBound)
    }

    private func open(_ bench: PartialFileBench, total: Int64? = 1000) {
        bench.file.open(total: total)
        _ = bench.events()
    }

    @Test func rightOnesAreNotToldOf() {
        let bench = bench()
        open(bench)
        for start in stride(from: 900, through: 0, by: -150) as StrideThrough<Int64> {
            bench.write(start..<min(1000, start + 150))
        }
        bench.file.finish(total: 1000)
        let events = bench.events()
        #expect(events.count == 8 && events.last == .finished(digest: nil))
        #expect(bench.disk.counters.bytesRead == 1000, "each is read once")
        bench.file.close(sync: true)
        #expect(bench.events() == [.closed(written: [0..<1000], synced: [0..<1000])])
    }

    @Test func aWrongOneIsToldOfAtOnceAndCanBeWrittenAgain() {
        let bench = bench()
        open(bench)
        spoil(bench, 150..<160)
        bench.write(0..<1000)
        #expect(bench.events() == [.wrote(150..<160), .wrote(0..<1000), .damaged(100..<200)])
        bench.write(0..<300)
        #expect(bench.events() == [.wrote(100..<200)], "the rest is there")
        bench.file.finish(total: 1000)
        #expect(bench.events() == [.finished(digest: nil)])
        #expect(bench.contents == Self.bytes)
    }

    /// Of another version, which is shorter.
    @Test func aWrongOneNeedNotBeWrittenBeyondTheEnd() {
        let bytes = Array(Self.bytes[..<950])
        let bench = PartialFileBench(pieces: .of(bytes, length: 100))
        open(bench)
        bench.write(0..<1000)
        #expect(bench.events() == [.wrote(0..<1000), .damaged(900..<1000)])
        bench.file.setTotal(950)
        bench.write(900..<950)
        #expect(bench.events() == [.wrote(900..<950)])
        bench.file.finish(total: 950)
        #expect(bench.events() == [.finished(digest: FNV64.digest(of: bytes))])
    }

    @Test func itIsComparedAgain() {
        let bench = bench()
        open(bench)
        spoil(bench, 0..<100)
        #expect(bench.events() == [.wrote(0..<100), .damaged(0..<100)])
        spoil(bench, 0..<100)
        #expect(bench.events() == [.wrote(0..<100), .damaged(0..<100)])
        bench.write(0..<100)
        #expect(bench.events() == [.wrote(0..<100)])
    }

    @Test func whatIsHeldIsCompared() {
        let disk = MemoryDisk()
        var held = Self.bytes
        held[250] ^= 1
        disk.put(held, at: PartialFileBench.path)
        let bench = bench(disk, holding: [0..<1000], durable: [0..<220])
        bench.file.open(total: 1000)
        #expect(bench.events() == [.opened(held: [0..<1000]), .damaged(200..<300)])
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [0..<200, 300..<1000], synced: [0..<200])])

        let again = self.bench(disk, holding: [0..<220, 240..<1000], durable: [0..<220])
        again.file.open(total: 1000)
        #expect(again.events() == [.opened(held: [0..<220, 240..<1000])])
        again.write(220..<240)
        #expect(again.events() == [.wrote(220..<240), .damaged(200..<300)])
        again.file.close(sync: true)
        #expect(again.events() == [.closed(written: [0..<200, 300..<1000], synced: [0..<200, 300..<1000])])
    }

    @Test func theLastIsComparedWhenTheSizeIsKnown() {
        for isLate in [false, true] {
            let bench = bench(length: 300)
            open(bench, total: nil)
            spoil(bench, 900..<1000)
            #expect(bench.events() == [.wrote(900..<1000)])
            if isLate {
                bench.write(0..<900)
                _ = bench.events()
                bench.file.finish(total: 1000)
            } else {
                bench.file.setTotal(1000)
            }
            #expect(bench.events() == [.damaged(900..<1000)])
        }
    }

    /// All is written, the first piece wrong; nobody has heard of it yet.
    private func spoiledWhole() -> PartialFileBench {
        let bench = bench()
        open(bench)
        spoil(bench, 0..<100)
        bench.write(100..<1000)
        return bench
    }

    @Test func afterAFinishThatFailsBytesAreTaken() {
        let bench = spoiledWhole()
        // Told before anything ran.
        bench.file.finish(total: 1000)
        #expect(bench.events() == [.wrote(0..<100), .wrote(100..<1000), .damaged(0..<100)])
        // Who has not heard of it yet.
        bench.file.finish(total: 1000)
        #expect(bench.events().isEmpty)
        bench.write(0..<50)
        bench.file.finish(total: 1000)
        #expect(bench.events() == [.wrote(0..<50)])
        bench.write(50..<100)
        #expect(bench.events() == [.wrote(50..<100)])
        bench.file.finish(total: 1000)
        #expect(bench.events() == [.finished(digest: nil)])
    }

    /// The first finish is given up, and on its way still when the second is called.
    @Test func aFinishThatWasGivenUpCompletesNothing() {
        let disk = MemoryDisk()
        disk.put([], at: "/Tmp/.here")
        let (lanes, events) = (ManualLanes(), Locked<[PartialFileEvent]>([]))
        let (own, isWrong) = (Locked<PartialFile?>(nil), Locked(true))
        let file = PartialFile(
            path: PartialFileBench.path, fileSystem: disk, lanes: PartialFile.Lanes(lanes), hasher: nil,
            pieces: .of(Self.bytes, length: 1000)
        ) { event in
            events.withLock { $0.append(event) }
            guard let file = own.withLock({ $0 }) else { return }
            switch event {
            case .opened: file.write(.zeros(1000), at: 0)
            case .wrote: file.finish(total: 1000)
            case .damaged:
                let isFirst = isWrong.withLock { isWrong in
                    defer { isWrong = false }
                    return isWrong
                }
                file.write(isFirst ? .zeros(1000) : Sample.chunk(0..<1000), at: 0)
            case .synced, .finished, .failed, .closed: break
            }
        }
        own.withLock { $0 = file }
        file.open(total: 1000)
        lanes.runAll()
        let wrote = PartialFileEvent.wrote(0..<1000)
        let damaged = PartialFileEvent.damaged(0..<1000)
        #expect(
            events.withLock { $0 } == [
                .opened(held: []), wrote, damaged, wrote, damaged, wrote, .finished(digest: nil),
            ])
        #expect(disk.contents(of: PartialFileBench.path) == Self.bytes)
    }

    @Test func theHasherOfTheWholeTakesOnlyWhatIsRight() {
        let bench = bench(hasher: FNV64())
        open(bench)
        spoil(bench, 500..<600)
        bench.write(0..<1000)
        #expect(bench.events().last == .damaged(500..<600))
        bench.write(500..<600)
        _ = bench.events()
        bench.file.finish(total: 1000)
        #expect(bench.events().last == .finished(digest: Self.digest))
    }

    @Test func aSyncDoesNotVouchForWhatIsGone() {
        let bench = bench()
        open(bench)
        spoil(bench, 0..<100)
        bench.write(100..<200)
        bench.file.checkpoint()
        // Written, and the sync is begun, before anybody compares.
        while bench.lanes.runNext("file.write") || bench.lanes.runNext("file.sync") {}
        #expect(bench.events() == [.wrote(0..<100), .wrote(100..<200), .synced([0..<200]), .damaged(0..<100)])
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [100..<200], synced: [100..<200])])
    }

    @Test func aSyncThatWasBegunBeforeVouchesForTheRest() {
        let disk = MemoryDisk()
        let bench = bench(disk)
        open(bench)
        spoil(bench, 0..<100)
        bench.write(100..<200)
        bench.file.checkpoint()
        while bench.lanes.runNext("file.write") {}
        disk.state.withLock { $0.whileSyncing = { [lanes = bench.lanes] _ in _ = lanes.runNext("file.hash") } }
        while bench.lanes.runNext("file.sync") {}
        disk.state.withLock { $0.whileSyncing = nil }
        #expect(bench.events() == [.wrote(0..<100), .wrote(100..<200), .damaged(0..<100), .synced([100..<200])])
    }

    @Test func whatWasWrittenAgainIsSyncedLikeTheRest() {
        let bench = bench()
        open(bench)
        spoil(bench, 0..<100)
        _ = bench.events()
        bench.write(0..<200)
        bench.file.close(sync: true)
        #expect(bench.events().last == .closed(written: [0..<200], synced: [0..<200]))
    }

    @Test func closingEndsIt() {
        let bench = spoiledWhole()
        bench.file.finish(total: 1000)
        bench.file.close(sync: false)
        let events = bench.events()
        #expect(events.last == .closed(written: [0..<1000], synced: []))
        #expect(!events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test func whatCannotBeReadFails() {
        let bench = bench()
        open(bench)
        bench.disk.fail(.read, with: .inputOutput)
        bench.write(0..<200)
        guard case .failed(let error) = bench.events().last else {
            Issue.record("it did not fail")
            return
        }
        #expect(error.fault == .inputOutput)
        bench.file.close(sync: false)
        #expect(bench.events() == [.closed(written: [], synced: [])])
    }

    @Test func whatComesTwiceDoesNotBringBackWhatWasWrongMeanwhile() throws {
        let disk = MemoryDisk()
        disk.put([], at: PartialFileBench.path)
        var state = PartialFileState(
            claimed: [0..<100], durable: [], hasher: false, pieces: .of(Self.bytes, length: 100), backlogLimit: 0)
        state.file = try disk.open(PartialFileBench.path, .readWrite)
        let missing = state.missing(in: 0..<200)
        #expect(missing == [100..<200])
        state.compare([UInt8](repeating: 0, count: 16), of: 0..<100)
        state.wrote(0..<200, missing: missing)
        #expect(state.written == [100..<200])
        #expect((0..<3).map { _ in state.takeEvent() } == [.damaged(0..<100), .wrote(100..<200), nil])
    }

    // MARK: A hasher that comes late

    @Test(arguments: [0, 1, 500, 1000] as [Int64]) func hashesFromTheFirstByteOn(_ held: Int64) {
        let bench = PartialFileBench(hasher: nil)
        open(bench)
        if held > 0 { bench.write(0..<held) }
        _ = bench.events()
        bench.file.hash(with: FNV64())
        if held < 1000 { bench.write(held..<1000) }
        bench.file.finish(total: 1000)
        #expect(bench.events().last == .finished(digest: Self.digest))
        #expect(bench.disk.counters.bytesRead == (held > 0 ? 1000 : 0), "what it has missed is read back")
    }

    @Test func isHashedThoughNothingRanMeanwhile() {
        let bench = PartialFileBench(hasher: nil)
        bench.file.open(total: 1000)
        bench.write(0..<1000)
        bench.file.hash(with: FNV64())
        bench.file.finish(total: 1000)
        #expect(bench.events().last == .finished(digest: Self.digest))
    }

    @Test func theFirstHasherStays() {
        let bench = PartialFileBench(hasher: FNV64())
        open(bench)
        bench.file.hash(with: Checksum.Algorithm.md5.makeHasher())
        bench.write(0..<1000)
        bench.file.finish(total: 1000)
        bench.file.hash(with: Checksum.Algorithm.md5.makeHasher())
        #expect(bench.events().last == .finished(digest: Self.digest))
    }
}

extension Chunk {
    fileprivate static func zeros(_ count: Int) -> Chunk {
        var chunk = Chunk()
        chunk.append(Data(repeating: 0, count: count))
        return chunk
    }
}
