import Foundation

/// A store that forgets everything with the process: for tests, and for downloads that need not be remembered.
///
/// What a process that dies has not finished stays in the manager's `downloadTmpPath`: nobody knows of it any more.
///
/// A test restarts a manager by giving the ``contents`` of the closed store to a new one.
public final class MemoryStore: Store {
    private struct State {
        var values: [String: Data]
        var isLoaded = false
        var isClosed = false
        var outbox: Outbox
        /// Changes that wait for the turn of their commit, as those of a store that has to write them; nil where they are
        /// made at once.
        var waiting: Fifo<[StoreChange]>?

        mutating func apply(_ changes: [StoreChange]) {
            for change in changes { values.apply(change) }
        }

        mutating func applyFirst() -> Bool {
            guard let changes = waiting?.popFirst() else { return false }
            apply(changes)
            return true
        }
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

    /// Makes the changes of later commits, and calls their completions, on a lane of another factory's; what waits for
    /// an earlier lane is lost, as with a process that dies.
    package func use(_ lanes: any LaneFactory) {
        state.withLock { $0.waiting = Fifo() }
        state.replace(\.outbox, by: Self.outbox(lanes))
    }

    private static func outbox(_ lanes: any LaneFactory) -> Outbox {
        Outbox(lanes.makeLane("store"))
    }

    /// What is kept now, with every commit that was made; on a bench of `LannerTesting` with those whose turn has come.
    public var contents: [String: Data] {
        state.withLock { $0.values }
    }

    /// Everything that is kept; see ``Store/load()``. A second call fails with ``StoreError/Reason/inUse``.
    public func load() throws -> StoreContents {
        try state.withLock { state in
            if state.isClosed { throw Self.closed }
            if state.isLoaded { throw Self.inUse }
            state.isLoaded = true
            return StoreContents(values: state.values)
        }
    }

    /// Makes changes at once, on a bench in their turn; `completion` is called soon after. See
    /// ``Store/commit(_:durability:completion:)``.
    public func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let outbox = state.withLock { state in
            if state.isClosed {
                state.outbox.add(completion, .failure(Self.closed))
            } else if state.waiting != nil {
                state.waiting?.append(changes)
                state.outbox.add(inTurn(completion), .success(()))
            } else {
                state.apply(changes)
                state.outbox.add(completion, .success(()))
            }
            return state.outbox
        }
        outbox.send()
    }

    /// Makes the changes of the first commit that waits before its completion is called, unless a close has.
    private func inTurn(_ completion: @escaping Outbox.Completion) -> Outbox.Completion {
        { [weak self] result in
            _ = self?.state.withLock { $0.applyFirst() }
            completion(result)
        }
    }

    /// Makes the changes of what was committed; later commits fail, and ``contents`` stay.
    public func close() {
        state.withLock { state in
            while state.applyFirst() {}
            state.isClosed = true
        }
    }

    private static let inUse = StoreError(
        .inUse, "The store in memory is another manager's; make one for each, and a new one with its contents later.")
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
