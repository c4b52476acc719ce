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

    @Test func whatFailsForOneReasonIsLoggedOnce() throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        func lines() -> Int { bench.log.lines.count { $0.hasPrefix("could not keep records") } }
        bench.store.fail(.commit, with: .disk(.noSpace), times: .max)
        for number in 0..<20 {
            bench.manager.download("https://example.com/\(number)")
            bench.settle()
        }
        #expect(lines() == 1)
        bench.store.failNothing()
        bench.run(for: .seconds(120))
        bench.store.fail(.commit, with: .disk(.noSpace))
        bench.manager.download("https://example.com/another")
        bench.settle()
        #expect(lines() == 2)
    }

    /// One record that the store does not take costs no other download its success.
    @Test func whatTheStoreRefusesHoldsUpNothingElse() throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        let kept = MemoryStore(lanes: bench.lanes)
        let store = RefusingStore(kept)
        bench.relaunch(store: store)
        let refused = try bench.download(.stall(afterBytes: 300))
        bench.run(for: .seconds(2))
        store.refuse(DownloadRecord.key(refused.id))
        bench.manager.suspend(refused)
        bench.settle()
        let others = (1...3).map { "https://example.com/\($0)" }
        for other in others {
            bench.transport.serve(.init(Sample.bytes(1000)), at: "/" + other.lastComponent)
            let task = try #require(bench.manager.download(other))
            #expect(bench.runToRest())
            #expect(task.status == .succeeded)
        }
        bench.relaunch(store: MemoryStore(kept.contents, lanes: bench.lanes))
        for other in others { #expect(bench.manager.fetchTask(other)?.status == .succeeded) }
        #expect(bench.manager.fetchTask(address)?.completedBytes == 300)
    }

    /// Nor is it told of one that it takes when it does not take that another has lost its file by that.
    @Test func noSuccessIsKeptWithoutWhatItHasReplaced() throws {
        let bench = TestBench()
        let kept = MemoryStore(lanes: bench.lanes)
        let store = RefusingStore(kept)
        bench.relaunch(store: store)
        let contents = ["/one": Sample.bytes(1000), "/two": Sample.bytes(2000)]
        for (place, bytes) in contents { bench.transport.serve(.init(bytes), at: place) }
        let one = try #require(bench.manager.download("https://example.com/one", fileName: "a"))
        #expect(bench.runToRest())
        bench.clock.date -= 3600
        store.refuse(DownloadRecord.key(one.id))
        _ = bench.manager.download("https://example.com/two", fileName: "a")
        #expect(bench.runToRest() && bench.disk.contents(of: one.filePath) == contents["/two"])
        bench.relaunch(store: MemoryStore(kept.contents, lanes: bench.lanes))
        bench.manager.remove("https://example.com/one", completely: true)
        #expect(bench.runToRest())
        #expect(bench.disk.contents(of: one.filePath) == contents["/two"])
    }

    /// Of a key the latest is kept, in whatever order commits fail and are tried again.
    @Test(arguments: 0..<300 as Range<UInt64>) func noOldRecordComesAfterANewOne(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var owed = OwedChanges()
        var (kept, wanted): ([String: Data], [String: Data]) = ([:], [:])
        var waiting: [OwedChanges.Commit] = []
        func end(_ commit: OwedChanges.Commit, isKept: Bool) {
            if isKept { kept.make(commit.changes) }
            _ = owed.end(commit, isKept: isKept)
        }
        for step in 0..<100 {
            if random.below(3) > 0 {
                let keys = (0...random.below(3)).map { _ in "\(random.below(5))" }
                let changes = keys.map { random.below(4) == 0 ? StoreChange.remove($0) : .put($0, "\(step)") }
                wanted.make(changes)
                waiting += owed.begin(changes, dropped: [])
            } else if random.below(10) == 0 {
                owed.tryTimeCame()
                waiting += owed.begin([], dropped: [])
            } else if !waiting.isEmpty {
                end(waiting.removeFirst(), isKept: random.below(2) == 0)
            }
        }
        while !waiting.isEmpty { end(waiting.removeFirst(), isKept: random.below(2) == 0) }
        for commit in owed.begin([], dropped: []) { end(commit, isKept: true) }
        #expect(kept == wanted && owed.begin([], dropped: []).isEmpty)
    }

    /// While the store keeps nothing, each new change brings little of what is owed along.
    @Test func muchThatIsOwedIsNotTriedWithEveryCommit() throws {
        var owed = OwedChanges()
        var tried = 0
        for key in 0..<20_000 {
            for commit in owed.begin([.put("\(key)", String(repeating: "x", count: 500))], dropped: []) {
                tried += commit.changes.count
                _ = owed.end(commit, isKept: false)
            }
        }
        #expect(tried < 1_000_000)
        #expect(owed.begin([], dropped: []).count == 20_000)
    }

    /// Where a later commit has kept the record, with that.
    @Test func anExchangeIsGivenUpWhenNoRecordNamesItAnyMore() throws {
        var owed = OwedChanges()
        let record = [StoreChange.put("1", "without X")]
        let first = try #require(owed.begin(record, dropped: ["X"]).first)
        let second = try #require(owed.begin(record, dropped: []).first)
        #expect(owed.end(first, isKept: false).delay != nil)
        #expect(owed.end(second, isKept: true).dropped == ["X"])
        owed.tryTimeCame()
        #expect(owed.begin([], dropped: []).isEmpty, "once is enough")
    }

    /// The record on the disk names it until one that does not is kept.
    @Test func anExchangeIsNotGivenUpBeforeTheRecordIsKept() throws {
        var owed = OwedChanges()
        let first = try #require(owed.begin([.put("1", "without X")], dropped: ["X"]).first)
        #expect(owed.end(first, isKept: false).delay != nil)
        let more = owed.begin([.put("2", "another")], dropped: ["Y"])
        #expect(more.count == 2)
        #expect(owed.end(more[0], isKept: false).dropped == [])
        #expect(owed.end(more[1], isKept: true).dropped == ["Y"])
        let last = owed.begin([], dropped: [])
        #expect(last.map { owed.end($0, isKept: true).dropped } == [["X"]])
    }
}

/// A store that takes no commit that changes a key.
private final class RefusingStore: Store {
    private let store: MemoryStore
    private let refused = Locked<String?>(nil)

    init(_ store: MemoryStore) { self.store = store }

    func refuse(_ key: String) { refused.withLock { $0 = key } }

    func load() throws -> StoreContents { try store.load() }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let refused = refused.withLock { $0 }
        let isRefused = changes.contains { change in
            switch change {
            case .put(let key, _), .remove(let key): key == refused
            }
        }
        // In its turn.
        store.commit(isRefused ? [] : changes, durability: durability) { result in
            completion(isRefused ? .failure(StoreError(.disk(.noSpace), "refused")) : result)
        }
    }

    func close() { store.close() }
}

extension OwedChanges {
    fileprivate mutating func end(_ commit: Commit, isKept: Bool) -> Outcome {
        end(commit, isKept ? .success(()) : .failure(StoreError(.disk(.noSpace), "full")))
    }
}
