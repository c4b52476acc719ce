import Foundation
import LannerCore
import LannerTesting
import Testing

/// Somebody removes the files of a store that is open.
@Suite struct StoreRemovalTests {
    private static let before = StoreChange.put(key: "before", value: Data("1".utf8))
    private static let after = StoreChange.put(key: "after", value: Data("2".utf8))

    @Test(arguments: [StoreDurability.process, .machine])
    func recordsOfARemovedDirectoryAreWrittenAnew(_ durability: StoreDurability) async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place("store"), isDirectory: true)
        let store = FileStore(directory: directory)
        _ = try store.load()
        #expect(await store.commit([Self.before], .machine) == nil)
        try FileManager.default.removeItem(at: directory)
        #expect(await store.commit([Self.after], durability) == nil)
        let second = FileStore(directory: directory)
        let error = #expect(throws: StoreError.self) { try second.load() }
        #expect(error?.reason == .inUse)
        store.close()
        #expect(Set(try second.load().values.keys) == ["before", "after"])
        second.close()
    }

    /// A file with a hole, larger than any store's.
    @Test func aJournalOfAnAbsurdSizeIsAnError() async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place.path, isDirectory: true)
        let store = FileStore(directory: directory)
        _ = try store.load()
        #expect(await store.commit([Self.before], .machine) == nil)
        store.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        let name = try #require(names.first { $0.hasPrefix("journal-") })
        let journal = try FileHandle(forWritingTo: directory.appendingPathComponent(name))
        try journal.truncate(atOffset: 1 << 34)
        try journal.close()
        let error = #expect(throws: StoreError.self) { try FileStore(directory: directory).load() }
        #expect(error?.reason == .disk(.tooLarge))
    }

    @Test func aJournalThatIsGoneIsBegunAnew() async throws {
        let place = try TemporaryDirectory()
        let store = FileStore(directory: URL(fileURLWithPath: place.path, isDirectory: true))
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(atPath: place("journal-1"))
        // Another file of that name is not the journal, either.
        try Data().write(to: URL(fileURLWithPath: place("journal-1")))
        #expect(await store.commit([Self.after]) == nil)
        store.close()
        let second = FileStore(directory: URL(fileURLWithPath: place.path, isDirectory: true))
        let contents = try second.load()
        #expect(Set(contents.values.keys) == ["before", "after"])
        #expect(contents.problems.isEmpty)
        second.close()
    }

    @Test func aLockThatIsGoneIsTakenAgain() async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place.path, isDirectory: true)
        let store = FileStore(
            directory: place.path, disk: PosixFileSystem(), lanes: PooledLanes(), smallestCompaction: 100)
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(atPath: place("lock"))
        for _ in 0..<20 { #expect(await store.commit([Self.after]) == nil) }
        let other = FileStore(directory: directory)
        #expect((#expect(throws: StoreError.self) { try other.load() })?.reason == .inUse)
        store.close()
        #expect(!FileManager.default.fileExists(atPath: place("journal-1")), "compacted")
        #expect(Set(try other.load().values.keys) == ["before", "after"])
        other.close()
    }

    /// Who goes on with the same journal, and may have gone.
    @Test(arguments: [true, false]) func aLockThatIsGoneMayBeAnothers(isOpen: Bool) async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place.path, isDirectory: true)
        let store = FileStore(directory: directory)
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(atPath: place("lock"))
        let other = FileStore(directory: directory)
        #expect(Set(try other.load().values.keys) == ["before"])
        #expect(await other.commit([.put(key: "other", value: Data())]) == nil)
        if !isOpen { other.close() }
        for _ in 0..<2 { #expect(await store.commit([Self.after]) == .inUse) }
        store.close()
        other.close()
        #expect(try keys(in: directory) == ["before", "other"])
    }

    /// The lock was removed with the directory: another store may have come in, and may have gone again.
    @Test(arguments: [true, false])
    func recordsThatAnotherHasPutThereStay(isOpen: Bool) async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place("store"), isDirectory: true)
        let store = FileStore(directory: directory)
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(at: directory)
        let other = FileStore(directory: directory)
        #expect(try other.load() == StoreContents())
        #expect(await other.commit([.put(key: "other", value: Data())]) == nil)
        if !isOpen { other.close() }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        for _ in 0..<2 { #expect(await store.commit([Self.after], .machine) == .inUse) }
        store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == names)
        other.close()
        #expect(try keys(in: directory) == ["other"])
    }

    @Test func aRemovedDirectoryIsNotMadeAgainForNothing() async throws {
        let place = try TemporaryDirectory()
        let store = FileStore(directory: URL(fileURLWithPath: place("store"), isDirectory: true))
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(atPath: place("store"))
        store.close()
        #expect(!FileManager.default.fileExists(atPath: place("store")))
    }

    @Test func aDirectoryThatCannotBeMadeAgainIsTold() async throws {
        let place = try TemporaryDirectory()
        let directory = URL(fileURLWithPath: place("store"), isDirectory: true)
        let store = FileStore(directory: directory)
        _ = try store.load()
        #expect(await store.commit([Self.before]) == nil)
        try FileManager.default.removeItem(at: directory)
        try Data().write(to: URL(fileURLWithPath: place("store")))
        #expect(await store.commit([Self.after]) == .disk(.inTheWay))
        try FileManager.default.removeItem(atPath: place("store"))
        #expect(await store.commit([Self.after]) == nil)
        store.close()
        #expect(try keys(in: directory) == ["before", "after"])
    }

    /// What a later store finds.
    private func keys(in directory: URL) throws -> Set<String> {
        let next = FileStore(directory: directory)
        defer { next.close() }
        return Set(try next.load().values.keys)
    }
}
