import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Journals whose sequence numbers are near their end, as no store makes them.
@Suite struct StoreNumberTests {
    private static func journal(_ base: UInt64) -> [UInt8] {
        var buffer = FrameBuffer()
        buffer.appendHeader(.journal, base: base)
        buffer.appendFrame([.put("a", "old")], sequence: base + 1)
        return buffer.bytes
    }

    private static let snapshot: [UInt8] = {
        var buffer = FrameBuffer()
        buffer.appendHeader(.snapshot, base: 0)
        buffer.appendFrame([StoreChange](), sequence: 1)
        return buffer.bytes
    }()

    @Test(arguments: [1 << 61, StoreFormat.largestNumber - 2] as [UInt64], [false, true])
    func whatIsCommittedCanBeReadAgain(base: UInt64, isDamaged: Bool) throws {
        let damage: [UInt8] = isDamaged ? Array(repeating: 1, count: 50) : []
        let disk = CrashDisk(["snapshot-1": Self.snapshot, "journal-1": Self.journal(base) + damage])
        let (first, contents) = try SteppedStore.opened(disk)
        #expect(contents.values.texts == ["a": "old"])
        #expect(contents.problems.isEmpty != isDamaged)
        #expect(first.commitNow([.put("b", "new")]) == nil)
        first.store.close()
        let (second, again) = try SteppedStore.opened(disk)
        second.store.close()
        #expect(again.values.texts == ["a": "old", "b": "new"])
        #expect(again.problems == [])
    }

    /// The next one would not be found again.
    @Test(arguments: [1 << 61 + 1, StoreFormat.largestNumber - 1] as [UInt64], ["snapshot-", "journal-"])
    func aGenerationNearTheEndIsRefused(generation: UInt64, kind: String) throws {
        let bytes = kind == "snapshot-" ? Self.snapshot : Self.journal(0)
        let disk = CrashDisk(["snapshot-1": Self.snapshot, kind + "\(generation)": bytes])
        #expect(throws: StoreError.self) { try SteppedStore.opened(disk) }
        #expect(disk.log == [])
    }

    @Test func theGenerationBeforeIsGoneOnWith() throws {
        let disk = CrashDisk(["snapshot-\(1 << 61 as UInt64)": Self.snapshot])
        let (first, _) = try SteppedStore.opened(disk)
        #expect(first.commitNow([.put("a", "1")]) == nil)
        first.store.close()
        #expect(throws: StoreError.self) { try SteppedStore.opened(disk) }
    }

    /// Neither is another written over.
    @Test func damageIsSetAsideBesideAnyNumber() throws {
        let journal = Self.journal(0)
        let names = ["corrupt-1.bin", "corrupt-\(StoreFormat.largestNumber - 1).bin"]
        let disk = CrashDisk([
            "snapshot-1": Self.snapshot, "journal-1": journal + Array(repeating: 1, count: 50), names[0]: [7],
            names[1]: [8],
        ])
        let (first, contents) = try SteppedStore.opened(disk)
        first.store.close()
        #expect(contents.values.texts == ["a": "old"] && contents.problems.count == 1)
        #expect(disk.files[names[0]] == [7] && disk.files[names[1]] == [8])
        #expect(disk.files["corrupt-2.bin"] == Array(repeating: 1, count: 50))
    }
}

/// Records whose numbers are near their end.
@Suite struct RecordNumberTests {
    private let bytes = Sample.bytes(1000)

    /// A bench with one download, suspended after 400 bytes.
    private func suspended() throws -> TestBench {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.stall(afterBytes: 400))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        return bench
    }

    /// Launches again with another record in the place of the only one, and its partial file where it says.
    private func relaunch(_ bench: TestBench, _ change: (inout DownloadRecord) -> Void) throws {
        var record = try #require(bench.records.first)
        var contents = bench.contents
        contents[record.storeKey] = nil
        let file = try #require(bench.disk.contents(of: "/downloads/Tmp/" + record.partialName.text))
        change(&record)
        contents[record.storeKey] = record.encoded
        bench.disk.put(file, at: "/downloads/Tmp/" + record.partialName.text)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
    }

    @Test(arguments: [1 << 62, 1 << 62 - 1] as [UInt64]) func noDownloadIsLostBehindTheLastNumber(number: UInt64) throws
    {
        let bench = try suspended()
        try relaunch(bench) { $0.id = DownloadID(number) }
        let addresses = (1...4).map { "https://example.com/\($0)" }
        for address in addresses { bench.transport.serve(.init(bytes), at: "/" + address.lastComponent) }
        for address in addresses { _ = try #require(bench.manager.download(address)) }
        #expect(bench.runToRest())
        #expect(Set(bench.manager.tasks.map(\.id)).count == 5)
        bench.relaunch(store: MemoryStore(bench.contents, lanes: bench.lanes))
        #expect(bench.log.errors.isEmpty && bench.manager.tasks.count == 5)
        for address in addresses { #expect(bench.manager.fetchTask(address)?.status == .succeeded) }
        let first = try #require(bench.manager.fetchTask(address))
        #expect(first.completedBytes == 400)
        _ = try #require(bench.manager.download("https://example.com/5"))
        #expect(Set(bench.manager.tasks.map(\.id)).count == 6)
    }

    @Test(arguments: [1 << 31, 1 << 31 + 1, .max - 1, .max] as [UInt32])
    func noBytesAreLostBehindTheLastGeneration(generation: UInt32) throws {
        let bench = try suspended()
        try relaunch(bench) { $0.saved.generation = generation }
        #expect(bench.manager.tasks.first?.completedBytes == 400)
        // Two other versions, of which the second comes in full.
        for count in [500, 1000] {
            let task = try #require(bench.manager.fetchTask(address))
            bench.transport.serve(.init(Array(Sample.bytes(2000)[count...])), at: place)
            bench.transport.script(place, .stall(afterBytes: 200))
            bench.manager.start(task)
            bench.run(for: .seconds(2))
            bench.manager.suspend(task)
            bench.settle()
            bench.relaunch(store: MemoryStore(bench.contents, lanes: bench.lanes))
            #expect(bench.manager.tasks.first?.completedBytes == 200)
        }
        let task = try #require(bench.manager.fetchTask(address))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.files == [task.filePath])
    }
}
