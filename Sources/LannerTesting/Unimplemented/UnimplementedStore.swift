import Dispatch
import LannerCore

/// A store that must not be used: loading from it and committing to it fail the test, with a sentence that says which.
///
/// A manager loads from its store as soon as it is made: this is for code that only hands stores on, or should not have
/// made a manager at all. ``close()`` is no use. Where the handler returns, what was asked for fails as well.
public final class UnimplementedStore: Store {
    private let touch: Touch
    private let queue = DispatchQueue(label: "lanner.unimplemented")

    /// Makes a store; without a handler a touch ends the process. See ``UnimplementedHandler``.
    public init(_ handler: UnimplementedHandler? = nil) {
        touch = Touch(type: "UnimplementedStore", handler: handler ?? Touch.trap)
    }

    /// Fails the test.
    public func load() throws -> StoreContents {
        touch.report("what it has kept")
        throw Self.error
    }

    /// Fails the test.
    public func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        touch.report("a commit of \(changes.count) change\(changes.count == 1 ? "" : "s")")
        queue.async { completion(.failure(Self.error)) }
    }

    /// Does nothing.
    public func close() {}

    private static let error = StoreError(.closed, "The store of this test is not implemented.")
}
