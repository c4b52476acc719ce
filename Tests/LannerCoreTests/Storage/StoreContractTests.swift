import Foundation
import LannerCore
import LannerMachine
import Testing

/// A kind of store, and how the same place is opened again.
struct StoreKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes a place, and from it one store after another.
    let place: @Sendable () throws -> @Sendable () -> any Store

    static let all = [
        StoreKind(testDescription: "MemoryStore") {
            let last = Locked(MemoryStore())
            return {
                last.withLock { store in
                    store = MemoryStore(store.contents)
                    return store
                }
            }
        },
        StoreKind(testDescription: "FileStore") {
            let directory = try TemporaryDirectory()
            return { FileStore(directory: URL(fileURLWithPath: directory("deep/store"), isDirectory: true)) }
        },
        StoreKind(testDescription: "FileStore that always compacts") {
            let directory = try TemporaryDirectory()
            return {
                FileStore(
                    directory: directory("store"), disk: PosixFileSystem(), lanes: DispatchLaneFactory(),
                    smallestCompaction: 1)
            }
        },
    ]
}

extension Store {
    /// Commits and waits for the outcome.
    func commit(_ changes: [StoreChange], _ durability: StoreDurability = .process) async -> StoreError.Reason? {
        await withCheckedContinuation { continuation in
            commit(changes, durability: durability) { continuation.resume(returning: $0.reason) }
        }
    }
}

/// What every store has to do.
@Suite struct StoreContractTests {
    @Test(arguments: StoreKind.all)
    func beginsEmpty(kind: StoreKind) throws {
        let store = try kind.place()()
        #expect(try store.load() == StoreContents())
        store.close()
    }

    @Test(arguments: StoreKind.all)
    func keepsWhatWasCommitted(kind: StoreKind) async throws {
        let open = try kind.place()
        let first = open()
        _ = try first.load()
        #expect(await first.commit([.put("a", "1"), .put("b", "2")]) == nil)
        #expect(await first.commit([.put("a", "3"), .remove("b"), .remove("none"), .put("", "")], .machine) == nil)
        #expect(await first.commit([], .machine) == nil)
        first.close()
        let second = open()
        #expect(try second.load().values.texts == ["a": "3", "": ""])
        second.close()
    }

    @Test(arguments: StoreKind.all)
    func changesOfACommitAreMadeInOrder(kind: StoreKind) async throws {
        let open = try kind.place()
        let first = open()
        _ = try first.load()
        let changes: [StoreChange] = [.put("a", "1"), .remove("a"), .put("a", "2"), .put("b", "1"), .remove("b")]
        #expect(await first.commit(changes) == nil)
        first.close()
        let second = open()
        #expect(try second.load().values.texts == ["a": "2"])
        second.close()
    }

    @Test(arguments: StoreKind.all)
    func completionsComeOnceInOrder(kind: StoreKind) async throws {
        let store = try kind.place()()
        _ = try store.load()
        let reports = Reports()
        for id in 0..<500 {
            store.commit([.put("\(id % 7)", "\(id)")], durability: id % 5 == 0 ? .machine : .process) {
                reports.report(id, $0)
            }
        }
        #expect(await store.commit([]) == nil)
        #expect(reports.ids == Array(0..<500))
        #expect(reports.reasons.allSatisfy { $0 == nil })
        store.close()
    }

    @Test(arguments: StoreKind.all)
    func commitsFromManyThreads(kind: StoreKind) async throws {
        let open = try kind.place()
        let store = open()
        _ = try store.load()
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for count in 0..<50 { #expect(await store.commit([.put("\(writer)", "\(count)")]) == nil) }
                }
            }
        }
        store.close()
        let second = open()
        let expected = Dictionary(uniqueKeysWithValues: (0..<8).map { ("\($0)", "49") })
        #expect(try second.load().values.texts == expected)
        second.close()
    }

    @Test(arguments: StoreKind.all)
    func closingFinishesAndThenRefuses(kind: StoreKind) async throws {
        let open = try kind.place()
        let first = open()
        _ = try first.load()
        for id in 0..<100 { first.commit([.put("\(id)", "x")], durability: .process) { _ in } }
        first.close()
        first.close()
        let second = open()
        #expect(try second.load().values.count == 100)
        second.close()
        #expect(await first.commit([.put("late", "x")]) == .closed)
        #expect(throws: StoreError.self) { try first.load() }
        let third = open()
        #expect(try third.load().values.count == 100)
        third.close()
    }

    @Test(arguments: StoreKind.all)
    func mayBeUsedInsideACompletion(kind: StoreKind) async throws {
        let open = try kind.place()
        let first = open()
        _ = try first.load()
        let reason = await withCheckedContinuation { continuation in
            first.commit([.put("a", "1")], durability: .process) { _ in
                first.commit([.put("b", "2")], durability: .machine) { continuation.resume(returning: $0.reason) }
                first.close()
            }
        }
        #expect(reason == nil)
        let second = open()
        #expect(try second.load().values.texts == ["a": "1", "b": "2"])
        second.close()
    }

    @Test(arguments: StoreKind.all, [1, 2, 3] as [UInt64])
    func agreesWithADictionary(kind: StoreKind, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let open = try kind.place()
        var model: [String: Data] = [:]
        for _ in 0..<12 {
            let store = open()
            #expect(try store.load() == StoreContents(values: model), "seed \(seed)")
            for _ in 0..<random.below(30) {
                let changes = Self.changes(&random)
                model.make(changes)
                #expect(await store.commit(changes, random.below(4) == 0 ? .machine : .process) == nil)
            }
            store.close()
        }
    }

    private static func changes(_ random: inout SeededGenerator) -> [StoreChange] {
        (0..<random.below(5)).map { _ in
            let key = "key \(random.below(40))"
            if random.below(3) == 0 { return .remove(key: key) }
            let value = (0..<random.below(300)).map { _ in UInt8.random(in: 0...255, using: &random) }
            return .put(key: key, value: Data(value))
        }
    }
}
