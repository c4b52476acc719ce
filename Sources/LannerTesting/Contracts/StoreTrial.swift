import Foundation
import LannerCore

/// One clause tried on one place.
struct StoreTrial: Sendable {
    let clause: StoreContract.Clause
    let findings: ContractFindings<StoreContract.Clause>
    let makeStore: @Sendable () throws -> any Store

    /// Opens a store, and returns what it holds. On a thread that may be blocked.
    private func open() async throws -> (store: any Store, contents: StoreContents) {
        let makeStore = makeStore
        return try await Arrival.of("The return of `load`") { () -> Result<(any Store, StoreContents), any Error> in
            Result {
                let store = try makeStore()
                return (store, try store.load())
            }
        }.get()
    }

    private func close(_ store: any Store) async throws {
        try await Arrival.of("The return of `close`") { store.close() }
    }

    /// Commits and waits; nil when it is done.
    private func commit(
        _ store: any Store, _ changes: [StoreChange], _ durability: StoreDurability = .process
    ) async throws -> StoreError? {
        let arrival = Arrival<StoreError?>()
        try await Arrival.of("The return of `commit`") {
            store.commit(changes, durability: durability) { arrival.arrive($0.error) }
        }
        return try await arrival.wait(for: "The completion of a commit")
    }

    private func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        findings.expect(isKept, clause, detail())
    }

    /// Commits, and expects it to be done.
    private func put(
        _ store: any Store, _ changes: [StoreChange], _ durability: StoreDurability = .process
    ) async throws {
        if let error = try await commit(store, changes, durability) { expect(false, "A commit failed: \(error).") }
    }

    /// Closes a store, and expects the next one on its place to hold these values.
    private func reopen(_ store: any Store, expecting values: [String: Data]) async throws {
        try await close(store)
        let (next, contents) = try await open()
        let wrong = Set(values.keys).union(contents.values.keys).filter { values[$0] != contents.values[$0] }
        expect(
            wrong.isEmpty,
            "The next store holds \(contents.values.count) values instead of \(values.count), wrong at "
                + "\(wrong.count) keys, such as \(wrong.min().debugDescription).")
        expect(contents.problems.isEmpty, "The next store has problems: \(contents.problems).")
        try await close(next)
    }
}

extension StoreTrial {
    func empty() async throws {
        let (store, contents) = try await open()
        expect(contents == StoreContents(), "A new store holds \(contents.values.count) values.")
        try await close(store)
    }

    func kept() async throws {
        let (store, _) = try await open()
        try await put(store, [.put("a", "1"), .put("b", "2")])
        try await put(store, [.put("a", "3"), .remove(key: "b")], .machine)
        try await put(store, [], .machine)
        try await reopen(store, expecting: ["a": Data("3".utf8)])
    }

    func anything() async throws {
        let values: [String: Data] = [
            "": Data(), "\u{0}": Data([0]), "a/../b": Data(0...255), "käse 🧀\n": Data("\u{FEFF}".utf8),
            "key": Data([1]), "Key": Data([2]), "key ": Data([3]),
            String(repeating: "k", count: 5000): Data(repeating: 0xFF, count: 3 << 20),
        ]
        let (store, _) = try await open()
        // In the same order every time.
        try await put(store, values.sorted { $0.key < $1.key }.map { .put(key: $0.key, value: $0.value) })
        try await reopen(store, expecting: values)
    }

    func order() async throws {
        let (store, _) = try await open()
        let changes: [StoreChange] = [
            .put("a", "1"), .remove(key: "a"), .put("a", "2"), .put("b", "1"), .remove(key: "b"),
        ]
        try await put(store, changes)
        try await reopen(store, expecting: ["a": Data("2".utf8)])
    }

    func missing() async throws {
        let (store, _) = try await open()
        try await put(store, [.remove(key: "none")])
        try await put(store, [.put("a", "1"), .remove(key: "none"), .remove(key: "none")])
        try await reopen(store, expecting: ["a": Data("1".utf8)])
    }

    func completions() async throws {
        let (store, _) = try await open()
        let order = Locked<[Int]>([])
        // Two for each key, with every pair of durabilities.
        let changes = (0..<500).map { number in
            number % 3 == 0 ? StoreChange.remove(key: "\(number / 2)") : .put("\(number / 2)", "\(number)")
        }
        try await Arrival.of("The return of `commit`") {
            for (number, change) in changes.enumerated() {
                let durability = [StoreDurability.process, .machine, .machine, .process, .process][number % 5]
                store.commit([change], durability: durability) { _ in
                    order.withLock { $0.append(number) }
                }
            }
        }
        // The last: behind the others, and once more for one of them that comes twice.
        for _ in 0..<2 { try await put(store, [], .machine) }
        let seen = order.withLock { $0 }
        expect(Set(seen).count == 500, "Of 500 commits \(Set(seen).count) were completed.")
        expect(seen.count == Set(seen).count, "500 commits were completed \(seen.count) times.")
        expect(seen == seen.sorted(), "Completions did not come in the order of the commits.")
        var values: [String: Data] = [:]
        for change in changes { values.apply(change) }
        try await reopen(store, expecting: values)
    }

    func notInside() async throws {
        let (store, _) = try await open()
        let wasInside = try await Arrival.of("A completion") { () -> Bool in
            let (thread, done) = (ObjectIdentifier(Thread.current), Latch())
            let (hasReturned, wasInside) = (Locked(false), Locked(false))
            store.commit([.put("a", "1")], durability: .process) { _ in
                let isHere = ObjectIdentifier(Thread.current) == thread
                wasInside.withLock { $0 = isHere && !hasReturned.withLock { $0 } }
                done.open()
            }
            hasReturned.withLock { $0 = true }
            done.wait()
            return wasInside.withLock { $0 }
        }
        expect(!wasInside, "The completion was called inside `commit`.")
        try await close(store)
    }

    func atOnce() async throws {
        let (store, _) = try await open()
        let barrier = Barrier()
        defer { barrier.open() }
        try await Arrival.of("The return of `commit`") {
            store.commit([.put("a", "1")], durability: .process) { _ in barrier.hold() }
        }
        try await barrier.wait(for: "The completion of a commit")
        let arrival = Arrival<StoreError?>()
        try await Arrival.of("The return of `commit` while a completion blocked") {
            store.commit([.put("b", "2")], durability: .process) { arrival.arrive($0.error) }
        }
        barrier.open()
        let error = try await arrival.wait(for: "The completion of the next commit")
        expect(error == nil, "A commit behind one whose completion blocked failed: \(error.debugDescription).")
        try await reopen(store, expecting: ["a": Data("1".utf8), "b": Data("2".utf8)])
    }

    func threads() async throws {
        let (store, _) = try await open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for count in 0..<50 { try await put(store, [.put("\(writer)", "\(count)")]) }
                }
            }
            try await group.waitForAll()
        }
        let values = (0..<8).map { ("\($0)", Data("49".utf8)) }
        try await reopen(store, expecting: Dictionary(uniqueKeysWithValues: values))
    }

    func close(times: Int) async throws {
        let (store, _) = try await open()
        try await Arrival.of("The return of `commit`") {
            for number in 0..<100 { store.commit([.put("\(number)", "x")], durability: .process) { _ in } }
        }
        for _ in 0..<times { try await close(store) }
        let values = (0..<100).map { ("\($0)", Data("x".utf8)) }
        try await reopen(store, expecting: Dictionary(uniqueKeysWithValues: values))
    }

    func closed() async throws {
        let (store, _) = try await open()
        try await put(store, [.put("a", "1")])
        try await close(store)
        let error = try await commit(store, [.put("late", "x")])
        expect(error?.reason == .closed, "A late commit ended with \(error.map { "\($0.reason)" } ?? "success").")
        try await refuseLoad(store, .closed)
        try await reopen(store, expecting: ["a": Data("1".utf8)])
    }

    func inUse() async throws {
        let (store, _) = try await open()
        try await put(store, [.put("a", "1")])
        try await refuseLoad(store, .inUse)
        try await put(store, [.put("b", "2")])
        try await reopen(store, expecting: ["a": Data("1".utf8), "b": Data("2".utf8)])
    }

    /// Twice: that the one which was refused is gone must not free the place.
    func taken() async throws {
        let (store, _) = try await open()
        try await put(store, [.put("a", "1")])
        for _ in 0..<2 { try await refuseLoad(try makeStore(), .inUse) }
        try await put(store, [.put("b", "2")])
        try await reopen(store, expecting: ["a": Data("1".utf8), "b": Data("2".utf8)])
    }

    /// Loads a store once more, and expects it to say that it must not be.
    private func refuseLoad(_ store: any Store, _ reason: StoreError.Reason) async throws {
        switch try await Arrival.of("The return of `load`", { Result { try store.load() } }) {
        case .success: expect(false, "A store was loaded once more.")
        case .failure(let error):
            expect((error as? StoreError)?.reason == reason, "Another load ended with \(error), not with \(reason).")
        }
    }

    func inside() async throws {
        let (store, _) = try await open()
        let (arrival, closed) = (Arrival<StoreError?>(), Arrival<Void>())
        try await Arrival.of("The return of `commit`") {
            store.commit([.put("a", "1")], durability: .process) { _ in
                store.commit([.put("b", "2")], durability: .machine) { arrival.arrive($0.error) }
                store.close()
                closed.arrive(())
            }
        }
        let error = try await arrival.wait(for: "The completion of a commit that was made inside another's")
        expect(error == nil, "A commit made inside a completion failed: \(error.debugDescription).")
        // Another `close` meanwhile does nothing, and need not wait for it.
        try await closed.wait(for: "The return of a `close` inside a completion")
        try await reopen(store, expecting: ["a": Data("1".utf8), "b": Data("2".utf8)])
    }

    func model() async throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var (store, contents) = try await open()
            var model = contents.values
            for _ in 0..<12 {
                for _ in 0..<Int.random(in: 0..<30, using: &random) {
                    let changes = Self.changes(&random)
                    for change in changes { model.apply(change) }
                    try await put(store, changes, Int.random(in: 0..<4, using: &random) == 0 ? .machine : .process)
                }
                try await reopen(store, expecting: model)
                (store, contents) = try await open()
            }
            try await close(store)
        }
    }

    private static func changes(_ random: inout SeededGenerator) -> [StoreChange] {
        (0..<Int.random(in: 0..<5, using: &random)).map { _ in
            let key = "key \(Int.random(in: 0..<40, using: &random))"
            if Int.random(in: 0..<3, using: &random) == 0 { return .remove(key: key) }
            let count = Int.random(in: 0..<300, using: &random)
            return .put(key: key, value: Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
        }
    }
}

extension StoreChange {
    fileprivate static func put(_ key: String, _ value: String) -> StoreChange {
        .put(key: key, value: Data(value.utf8))
    }
}

extension [String: Data] {
    fileprivate mutating func apply(_ change: StoreChange) {
        switch change {
        case .put(let key, let value): self[key] = value
        case .remove(let key): self[key] = nil
        }
    }
}

extension Result where Success == Void, Failure == StoreError {
    fileprivate var error: StoreError? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}
