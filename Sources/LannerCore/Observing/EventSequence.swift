/// Events, from how things stand on, until nothing more can come or the loop is left.
///
/// Each sequence has a queue of its own, and holds up nobody: of progress only the latest waits there, of every task its
/// own; changes of status and the like all wait, and are as rare as they are. One iterator at a time.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    private let lifetime: Lifetime

    init(_ listener: Listener<Element>, onEnd: @escaping @Sendable () -> Void) where Element: QueuedEvent {
        lifetime = Lifetime(next: listener.next, onEnd: onEnd)
    }

    /// Makes the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(lifetime: lifetime) }

    /// Waits for one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let lifetime: Lifetime

        /// The next event; nil at the end. When the Swift task is canceled, nothing more is added, and the end comes behind
        /// what waits in the queue.
        public mutating func next() async -> Element? { await lifetime.next() }
    }

    fileprivate final class Lifetime: Sendable {
        let next: @Sendable () async -> Element?
        private let onEnd: @Sendable () -> Void

        init(next: @escaping @Sendable () async -> Element?, onEnd: @escaping @Sendable () -> Void) {
            self.next = next
            self.onEnd = onEnd
        }

        deinit { onEnd() }
    }
}

/// The queue of one sequence.
final class Listener<Event: QueuedEvent>: Sendable {
    private struct State {
        var queue = EventQueue<Event>()
        var isOver = false
        var waiting: CheckedContinuation<Event?, Never>?

        /// Who waits, and what for: the first event, or the end behind the last.
        mutating func takeWaiting() -> (waiting: CheckedContinuation<Event?, Never>, event: Event?)? {
            guard let waiting, queue.count > 0 || isOver else { return nil }
            self.waiting = nil
            return (waiting, queue.popFirst())
        }
    }

    private let state = Locked(State())

    /// Takes an event, for who asks from now on.
    @Sendable func keep(_ event: Event) {
        state.withLock { state in
            if !state.isOver { state.queue.append(event) }
        }
    }

    /// Wakes who has asked before.
    @Sendable func tell() {
        wake { _ in }
    }

    @Sendable func end() {
        wake { $0.isOver = true }
    }

    private func wake(_ change: (inout State) -> Void) {
        let due = state.withLock { state in
            change(&state)
            return state.takeWaiting()
        }
        due?.waiting.resume(returning: due?.event)
    }

    @Sendable func next() async -> Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Event?? in
                    if let event = state.queue.popFirst() { return .some(event) }
                    if state.isOver || state.waiting != nil { return .some(nil) }
                    state.waiting = continuation
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            end()
        }
    }
}
