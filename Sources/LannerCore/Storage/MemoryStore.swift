import Foundation

/// A store that forgets everything with the process: for tests, and for downloads that need not be remembered.
///
/// What a process that dies has not finished stays in the manager's `downloadTmpPath`: nobody knows of it any more.
///
/// A test restarts a manager by giving the ``contents`` of the closed store to a new one.
public final class MemoryStore: Store {
    private struct State {
        var values: [String: Data]
        var isClosed = false
        var outbox: Outbox
    }

    private let state: Locked<State>

    /// Makes a store that holds some values.
    public convenience init(_ contents: [String: Data] = [:]) {
        self.init(contents, lanes: PooledLanes())
    }

    /// Makes a store whose completions run on a lane of the factory's.
    package init(_ contents: [String: Data] = [:], lanes: any LaneFactory) {
        state = Locked(State(values: contents, outbox: Self.outbox(lanes)))
    }

    /// Runs the completions of later commits on a lane of another factory's.
    package func use(_ lanes: any LaneFactory) {
        state.replace(\.outbox, by: Self.outbox(lanes))
    }

    private static func outbox(_ lanes: any LaneFactory) -> Outbox {
        Outbox(lanes.makeLane("store"))
    }

    /// What is kept now, with every commit that was made.
    public var contents: [String: Data] {
        state.withLock { $0.values }
    }

    /// Everything that is kept; see ``Store/load()``.
    public func load() throws -> StoreContents {
        try state.withLock { state in
            if state.isClosed { throw Self.closed }
            return StoreContents(values: state.values)
        }
    }

    /// Makes changes at once; `completion` is called soon after. See ``Store/commit(_:durability:completion:)``.
    public func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let outbox = state.withLock { state in
            state.outbox.add(completion, state.isClosed ? .failure(Self.closed) : .success(()))
            if !state.isClosed { for change in changes { state.values.apply(change) } }
            return state.outbox
        }
        outbox.send()
    }

    /// Makes later commits fail; ``contents`` stay.
    public func close() {
        state.withLock { $0.isClosed = true }
    }

    private static let closed = StoreError(.closed, "The store in memory is closed; make a new one.")
}

extension [String: Data] {
    /// Makes one change of a store.
    mutating func apply(_ change: StoreChange) {
        switch change {
        case .put(let key, let value): self[key] = value
        case .remove(let key): self[key] = nil
        }
    }
}
