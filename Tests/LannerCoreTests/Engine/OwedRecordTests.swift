import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Records that the store could not keep.
@Suite(.timeLimit(.minutes(10))) struct OwedRecordTests {
    private let disk = MemoryDisk()

    private func bench() -> TestBench {
        let bench = TestBench(disk: disk)
        bench.transport.serve(.init(Sample.bytes(1000)), at: place)
        bench.relaunch(store: store(bench))
        return bench
    }

    private func store(_ bench: TestBench) -> any Store {
        FileStore(directory: "/downloads", disk: disk, lanes: bench.lanes)
    }

    @Test func aRemovalThatWasNotKeptIsTriedAgain() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 300))
        bench.run(for: .seconds(1))
        disk.fail(.write, with: .noSpace, path: "/downloads/journal-1")
        bench.manager.remove(task)
        bench.settle()
        #expect(task.status == .removed)
        bench.run(for: .seconds(60))
        bench.reboot(store: store(bench))
        #expect(bench.manager.tasks.isEmpty)
    }

    @Test func theLastRecordCounts() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 300))
        bench.run(for: .seconds(1))
        disk.fail(.write, with: .noSpace, path: "/downloads/journal-1")
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        bench.transport.release()
        bench.run(for: .seconds(60))
        bench.reboot(store: store(bench))
        #expect(bench.manager.fetchTask(address)?.status == .succeeded)
    }

    @Test func theEndIsTheLastTry() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 300))
        bench.run(for: .seconds(1))
        disk.fail(.write, with: .noSpace, path: "/downloads/journal-1")
        bench.manager.remove(task)
        bench.settle()
        bench.manager.invalidate()
        bench.reboot(store: store(bench))
        #expect(bench.manager.tasks.isEmpty)
    }

    /// They may have taken the space that the records lack.
    @Test func bytesThatWereGivenUpGoThoughThatIsNotOnRecord() async throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        let expected = try digest(of: Sample.bytes(2000))
        let task = try bench.download(.stall(afterBytes: 300), checksum: expected)
        bench.run(for: .seconds(2))
        bench.store.fail(.commit, with: .disk(.noSpace), times: .max)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.status == .failed && bench.files.isEmpty, "\(bench.files)")
        bench.store.failNothing()
        bench.relaunch()
        let restored = try #require(bench.manager.fetchTask(address))
        #expect(restored.completedBytes == 300, "the record is the old one")
        bench.transport.serve(.init(Sample.bytes(2000)), at: place)
        bench.manager.start(restored)
        let events = EventLog(restored)
        #expect(bench.runToRest())
        #expect(await events.untilRest().contains("restarted: bytesLost"))
        #expect(bench.contents(of: restored) == Sample.bytes(2000))
    }

    /// A download was asked for again while its predecessor was being removed, and the process ended before that was
    /// recorded.
    @Test func ofTwoRecordsOfOneURLTheLaterCounts() throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        _ = try bench.download(.stall(afterBytes: 300))
        bench.run(for: .seconds(1))
        var contents = bench.contents
        var record = try #require(bench.records.first)
        record.id = DownloadID(record.id.number + 1)
        record.saved = Saved(status: .active)
        contents[record.storeKey] = record.encoded
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        #expect(bench.manager.tasks.map(\.id) == [record.id])
        #expect(bench.files.isEmpty, "the other's partial file is gone")
        bench.settle()
        #expect(bench.records.map(\.id) == [record.id], "and its record")
    }

    /// A later commit has kept the record meanwhile, so that no change is owed any more.
    @Test func anExchangeThatNoRecordNamesAnyMoreIsGivenUpAtTheNextTry() throws {
        var owed = OwedChanges()
        var record = [StoreChange.put(key: "1", value: Data("without X".utf8))]
        var given = ["X"]
        var none: [String] = []
        let first = try #require(owed.begin(&record, &given))
        let second = try #require(owed.begin(&record, &none))
        #expect(owed.end(first, given, isKept: false) != nil)
        #expect(owed.end(second, none, isKept: true) == nil)
        owed.isDue()
        var nothing: [StoreChange] = []
        let third = try #require(owed.begin(&nothing, &none))
        #expect(none == ["X"] && nothing.isEmpty)
        #expect(owed.end(third, none, isKept: true) == nil)
        var later: [String] = []
        #expect(owed.begin(&nothing, &later) == nil, "once is enough")
    }
}
