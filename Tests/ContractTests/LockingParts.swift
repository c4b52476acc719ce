import Dispatch
import Foundation
import LannerCore
import LannerTesting

// Parts that call back under a lock of their own, which is not recursive: whoever calls them inside never returns.

struct LockingTransport: Transport {
    let transport: ScriptedTransport
    private let lock = NSLock()

    init(_ transport: ScriptedTransport) {
        self.transport = transport
    }

    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        lock.withLock {}
        let exchange = transport.begin(request) { [lock] event in lock.withLock { receive(event) } }
        let locked = { @Sendable [lock] (call: @escaping @Sendable () -> Void) -> @Sendable () -> Void in
            {
                lock.withLock {}
                call()
            }
        }
        return AlteredExchange(
            exchange, cancel: locked(exchange.cancel), pause: locked(exchange.pause), resume: locked(exchange.resume))
    }

    func invalidate() {
        lock.withLock {}
        transport.invalidate()
    }
}

// @unchecked Sendable: `lock` guards the rest.
final class LockingStore: Store, @unchecked Sendable {
    private let lock = NSLock()
    private let queue: DispatchQueue?
    private var values: [String: Data]
    private var isLoaded = false
    private var isClosed = false

    /// Calls back on a queue, or at once.
    init(_ values: [String: Data], on queue: DispatchQueue? = nil) {
        (self.values, self.queue) = (values, queue)
    }

    var contents: [String: Data] { lock.withLock { values } }

    func load() throws -> StoreContents {
        try lock.withLock {
            if isClosed { throw Self.closed }
            if isLoaded { throw StoreError(.inUse, "The store is another manager's.") }
            isLoaded = true
            return StoreContents(values: values)
        }
    }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        lock.withLock {
            let result: Result<Void, StoreError> = isClosed ? .failure(Self.closed) : .success(())
            if !isClosed { for change in changes { apply(change) } }
            guard let queue else { return completion(result) }
            queue.async { self.lock.withLock { completion(result) } }
        }
    }

    private func apply(_ change: StoreChange) {
        switch change {
        case .put(let key, let value): values[key] = value
        case .remove(let key): values[key] = nil
        }
    }

    func close() {
        lock.withLock { isClosed = true }
    }

    private static let closed = StoreError(.closed, "The store is closed.")
}

// @unchecked Sendable: `lock` guards the rest.
final class LockingClock: SessionManager.Clock, @unchecked Sendable {
    private let lock = NSLock()
    private let clock = ManualClock()

    var now: Duration { lock.withLock { clock.now } }
    var date: Date { clock.date }

    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        lock.withLock { clock.schedule(at: deadline, work) }
    }

    func advance(by duration: Duration) {
        lock.withLock { clock.advance(by: duration) }
    }
}
