import Foundation
import LannerCore

/// A store that hands everything on to another one, unless a test has it fail or wait.
///
/// ```swift
/// let store = FaultyStore()
/// store.fail(.commit, with: .disk(.noSpace), skipping: 2)  // the third commit
/// ```
///
/// A ``TestBench`` has one over its own store, in ``TestBench/store``. Without faults it keeps the contract of `Store`
/// if the other store does; with them as well: a commit that is made to fail reports so in its turn, and a held one
/// holds up all that come after it. Every method may be called on any thread.
public final class FaultyStore: Store {
    /// What can be made to fail.
    public enum Operation: String, Sendable, Hashable, CaseIterable {
        /// Reading everything at the beginning.
        case load
        /// Making changes.
        case commit
    }

    fileprivate struct Planned {
        var operation: Operation
        var reason: StoreError.Reason
        var skipping: Int
        var times: Int
        var hasHappened = false
    }

    fileprivate struct Commit {
        var changes: [StoreChange]
        var durability: StoreDurability
        var completion: @Sendable (Result<Void, StoreError>) -> Void
    }

    fileprivate struct State {
        var store: any Store
        var planned: [Planned] = []
        var isHolding = false
        var waiting: [Commit] = []
        var commitCount = 0
    }

    private let state: Locked<State>
    /// Taken around what is handed on, so that commits stay in their order; recursive, as the other store is anyone's.
    private let turn = NSRecursiveLock()

    /// A store over another, without faults.
    public init(_ store: any Store = MemoryStore()) {
        state = Locked(State(store: store))
    }

    // MARK: Faults

    /// Makes an operation fail: the next `times` of it (none for 0), after letting `skipping` of it pass. One that fails
    /// changes nothing. Of several plans for an operation the one made first is used up first. Held commits count when they
    /// go.
    public func fail(
        _ operation: Operation, with reason: StoreError.Reason = .disk(.noSpace), skipping: Int = 0, times: Int = 1
    ) {
        guard times > 0 else { return }
        let planned = Planned(operation: operation, reason: reason, skipping: skipping, times: times)
        state.withLock { $0.planned.append(planned) }
    }

    /// The operations of failures that were planned and have not happened once, as where too many are skipped.
    public var unusedFaults: [Operation] { state.withLock { $0.planned.filter { !$0.hasHappened }.map(\.operation) } }

    /// Takes back every failure that was planned and has not happened.
    public func failNothing() {
        state.withLock { $0.planned = [] }
    }

    /// Lets all commits from now on wait for ``release(_:)``.
    public func hold() {
        state.withLock { $0.isHolding = true }
    }

    /// Lets the first `count` commits go that wait; later ones still do. Nil lets all go, and holds no more.
    public func release(_ count: Int? = nil) {
        turn.withLock {
            if count == nil { state.withLock { $0.isHolding = false } }
            for commit in state.withLock({ $0.take(count) }) { handOn(commit) }
        }
    }

    /// How many commits there were so far, those included that wait or were made to fail.
    public var commitCount: Int { state.withLock { $0.commitCount } }

    /// How many commits wait.
    public var held: Int { state.withLock { $0.waiting.count } }

    // MARK: Store

    /// What the other store has kept, or the planned failure. See `Store.load()`.
    public func load() throws -> StoreContents {
        let (reason, store) = state.withLock { ($0.failure(of: .load), $0.store) }
        if let reason { throw Self.error(reason) }
        return try store.load()
    }

    /// Hands the changes on, now or when they are let go. See `Store.commit(_:durability:completion:)`.
    public func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let commit = Commit(changes: changes, durability: durability, completion: completion)
        turn.withLock {
            let waits = state.withLock { state in
                state.commitCount += 1
                if state.isHolding { state.waiting.append(commit) }
                return state.isHolding
            }
            if !waits { handOn(commit) }
        }
    }

    /// Lets go what is held, then closes the other store. See `Store.close()`.
    public func close() {
        release()
        state.withLock { $0.store }.close()
    }

    /// A failing one as a commit without changes: its turn comes when it should.
    private func handOn(_ commit: Commit) {
        let (reason, store) = state.withLock { ($0.failure(of: .commit), $0.store) }
        guard let reason else {
            return store.commit(commit.changes, durability: commit.durability, completion: commit.completion)
        }
        store.commit([], durability: .process) { result in
            commit.completion(result.flatMap { .failure(Self.error(reason)) })
        }
    }

    private static func error(_ reason: StoreError.Reason) -> StoreError {
        StoreError(reason, "The test has the store fail.")
    }

    /// Goes on with another store, as a new process does: what waits is lost, plans for failures stay.
    package func relaunch(_ store: any Store) {
        // Released outside the lock: a closure may be the last to hold a manager.
        let lost = state.withLock { state in
            defer { (state.store, state.isHolding, state.waiting) = (store, false, []) }
            return state.waiting
        }
        _ = lost
    }
}

extension FaultyStore.State {
    /// Takes the first commits that wait.
    fileprivate mutating func take(_ count: Int?) -> [FaultyStore.Commit] {
        let count = min(max(0, count ?? waiting.count), waiting.count)
        defer { waiting.removeFirst(count) }
        return Array(waiting[..<count])
    }

    /// What an operation fails with that happens now.
    fileprivate mutating func failure(of operation: FaultyStore.Operation) -> StoreError.Reason? {
        guard let first = planned.firstIndex(where: { $0.operation == operation }) else { return nil }
        if planned[first].skipping > 0 {
            planned[first].skipping -= 1
            return nil
        }
        let reason = planned[first].reason
        planned[first].times -= 1
        planned[first].hasHappened = true
        if planned[first].times <= 0 { planned.remove(at: first) }
        return reason
    }
}
