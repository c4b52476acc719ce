import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Records that can be read and yet claim what cannot be.
@Suite struct SpoiledRecordTests {
    private static let spoiled: [Saved] = [
        Saved(status: .active, generation: 0, written: [0..<500], total: 1000),
        Saved(status: .active, generation: .max, written: [0..<500], total: 1000),
        Saved(status: .active, generation: 1, written: [0..<Int64.max], total: 1000),
        Saved(status: .active, generation: 1, written: [5..<Int64.max], synced: [0..<Int64.max], total: .max),
        Saved(status: .publishing, generation: 1, written: [0..<10], total: 1000),
        Saved(status: .publishing, generation: 1),
        Saved(status: .succeeded, generation: 1),
        Saved(status: .succeeded, generation: 1, total: .max),
        Saved(status: .failed(DownloadFailure(.store, "")), generation: 1, written: [0..<Int64.max]),
    ]

    @Test func tasksMoveBetweenRanksAtTheEndsOfNumbers() throws {
        let ends: [Int64] = [-(1 << 62), 1 << 62, 1 << 62]
        let records = zip(1..., ends).map { number, rank in
            let url = "https://example.com/\(number)"
            return DownloadRecord(
                id: DownloadID(UInt64(number)), token: 1, url: url, place: FilePlace("\(number)"), rank: rank, key: url,
                saved: Saved(status: .suspended))
        }
        let bench = TestBench()
        let contents = Dictionary(uniqueKeysWithValues: records.map { ($0.storeKey, $0.encoded) })
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        #expect(bench.manager.tasks.map(\.fileName) == ["1", "2", "3"])
        bench.manager.moveTask(at: 2, to: 1)
        bench.settle()
        #expect(bench.manager.tasks.map(\.fileName) == ["1", "3", "2"])
    }

    @Test func theManagerSaysWhatCouldNotBeRestored() {
        let bench = TestBench()
        #expect(bench.manager.restorationProblems.isEmpty)
        bench.relaunch(store: MemoryStore(["d1": Data([1, 2, 3])], lanes: bench.lanes))
        #expect(bench.manager.restorationProblems == ["The record “d1” makes no sense and is left out."])
    }

    /// Its number is nobody else's, nor is its partial file.
    @Test func aRecordWithoutAURLIsLeftAlone() throws {
        let record = DownloadRecord(
            id: DownloadID(7), token: 1, url: "https://[", place: FilePlace("7"), rank: 1, key: "7",
            saved: Saved(status: .suspended))
        let bench = TestBench.serving(Sample.bytes(10))
        let key = record.storeKey
        bench.relaunch(store: MemoryStore([key: record.encoded], lanes: bench.lanes))
        #expect(bench.manager.restorationProblems == ["The record “\(key)” makes no sense and is left out."])
        let other = try bench.download()
        bench.settle()
        #expect(other.status == .succeeded && other.id.number > 7)
        #expect(bench.contents[key] == record.encoded)
    }

    /// A later version of the library knows another status, another algorithm, or something else to do with a file that is
    /// in the way: a program that goes back to an earlier version, and on again, has lost nothing by it.
    @Test(arguments: [("active", "queued"), ("sha256:", "blake3:"), ("md5", "xxh"), ("keepBoth", "askFirst")])
    func whatALaterVersionHasWrittenIsLeftAlone(known: String, unknown: String) throws {
        let bytes = Sample.bytes(1000)
        let bench = TestBench.serving(bytes)
        let request = try DownloadRequest(
            address, checksum: digest(of: bytes), pieces: .of(bytes, length: 300, .md5), conflictPolicy: .keepBoth)
        bench.transport.script(place, .stall(afterBytes: 500))
        try #require(bench.manager.download(request) != nil)
        bench.run(for: .seconds(2))
        let partial = try #require(bench.files.first)
        var contents = bench.contents
        let record = try #require(bench.records.first)
        let key = record.storeKey
        var later = record.encoded
        let range = try #require(later.firstRange(of: Array(known.utf8)))
        later.replaceSubrange(range, with: Array(unknown.utf8))
        (contents[key], contents[StoreIdentity.key]) = (later, StoreIdentity(token: record.token).encoded)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        #expect(bench.manager.restorationProblems == ["The record “\(key)” makes no sense and is left out."])
        bench.transport.serve(.init([1]), at: "/other")
        let other = try #require(bench.manager.download("https://example.com/other"))
        #expect(bench.runToRest())
        #expect(other.status == .succeeded && DownloadRecord.key(other.id) != key)
        #expect(bench.contents[key] == later && bench.files.contains(partial))
    }

    @Test(arguments: spoiled) func endsWithTheRightFile(saved: Saved) throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        for version in [
            nil, Version(entityTag: EntityTag("\"x\""), lastModified: nil, isLastModifiedStrong: false, total: 7),
        ] {
            var saved = saved
            saved.version = version
            let record = DownloadRecord(
                id: DownloadID(1), token: 1, url: address, place: FilePlace("f"), rank: 1 << 62, boot: "boot-1",
                key: address, saved: saved)
            let other = DownloadRecord(
                id: DownloadID(1 << 62), token: 1, url: "https://example.com/other", place: FilePlace("g"),
                rank: -(1 << 62), key: "https://example.com/other", saved: saved)
            bench.relaunch(
                store: MemoryStore(
                    [record.storeKey: record.encoded, other.storeKey: other.encoded], lanes: bench.lanes))
            let task = try #require(bench.manager.fetchTask(address))
            // Sums must not trap either.
            _ = (bench.manager.progress.fractionCompleted, bench.manager.timeRemaining, task.progress.fractionCompleted)
            bench.manager.start(task)
            bench.runToRest()
            if saved.status != .succeeded {
                #expect(task.status == .succeeded)
                #expect(bench.contents(of: task) == Sample.bytes(1000))
            }
            bench.transport.serve(.init([1]), at: "/new")
            let new = try #require(bench.manager.download("https://example.com/new"))
            bench.settle()
            #expect(new.status == .succeeded, "numbers at their end do not get in the way")
        }
    }
}
