import Dispatch
import Foundation
import LannerCore

/// A store that gives its place back some time after it has called all completions.
final class SlowStore: Store {
    /// What one store after the other has.
    final class Place: Sendable {
        fileprivate let state = Locked(PlaceState())
    }

    fileprivate struct PlaceState {
        var values: [String: Data] = [:]
        var isTaken = false
    }

    private let place: Place
    private let queue = DispatchQueue(label: "lanner.slow")
    private let isInside = DispatchSpecificKey<Bool>()
    private let phase = Locked((hasPlace: false, isClosed: false))
    private let waiting = Locked<[@Sendable () -> Void]>([])

    init(_ place: Place) {
        self.place = place
        queue.setSpecific(key: isInside, value: true)
    }

    func load() throws -> StoreContents {
        if phase.withLock({ $0.isClosed }) { throw Self.closed }
        let values = try place.state.withLock { state in
            if state.isTaken { throw StoreError(.inUse, "The place is in use.") }
            state.isTaken = true
            return state.values
        }
        phase.withLock { $0.hasPlace = true }
        return StoreContents(values: values)
    }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let isClosed = phase.withLock { phase in
            if !phase.isClosed { place.state.withLock { state in changes.forEach { state.apply($0) } } }
            return phase.isClosed
        }
        waiting.withLock { $0.append { completion(isClosed ? .failure(Self.closed) : .success(())) } }
        queue.async { self.callNext() }
    }

    private func callNext() {
        waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
    }

    /// Closed by one, it is no matter to others.
    func close() {
        let hasPlace = phase.withLock { phase in
            defer { phase = (false, true) }
            return phase.hasPlace
        }
        guard hasPlace else { return }
        if DispatchQueue.getSpecific(key: isInside) == true { callAll() } else { queue.sync { callAll() } }
        Thread.sleep(forTimeInterval: 0.05)
        place.state.withLock { $0.isTaken = false }
    }

    private func callAll() {
        while !waiting.withLock({ $0.isEmpty }) { callNext() }
    }

    private static let closed = StoreError(.closed, "The store is closed.")
}

extension SlowStore.PlaceState {
    fileprivate mutating func apply(_ change: StoreChange) {
        switch change {
        case .put(let key, let value): values[key] = value
        case .remove(let key): values[key] = nil
        }
    }
}
