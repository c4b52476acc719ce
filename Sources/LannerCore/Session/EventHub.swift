import Foundation
import LannerMachine

/// What happens to a task, as ``DownloadTask/events`` tells it.
public enum DownloadEvent: Sendable {
    /// The task stands elsewhere now.
    case status(Status)
    /// Bytes that are safe, and the size where it is known.
    case progress(completed: Int64, total: Int64?)
    /// The bytes so far were given up, and why.
    case restarted(RestartReason)
    /// An attempt failed, and another follows after that delay, or sooner where a network was missing that comes back.
    case retrying(LannerError, after: Duration)
    /// The server described the file.
    case response(ResponseHead)
}

/// Hands events to any number of listeners, each with a queue of its own, so that a slow one harms no one: of progress
/// only the latest waits, nothing else is dropped.
final class EventHub: Sendable {
    private let listeners = Locked<[ObjectIdentifier: Listener]>([:])
    private let observers = Locked<[@Sendable (DownloadEvent) -> Void]>([])

    /// Adds a listener, which is told how things stand first. One that nobody hears any more is not added.
    func add(_ listener: Listener, first event: DownloadEvent) {
        listener.send(event)
        listeners.withLock { if !listener.isFinished { $0[ObjectIdentifier(listener)] = listener } }
    }

    func remove(_ listener: Listener) {
        listener.finish()
        _ = listeners.withLock { $0.removeValue(forKey: ObjectIdentifier(listener)) }
    }

    /// Adds someone who is called at once, where the event is told of.
    func observe(_ observer: @escaping @Sendable (DownloadEvent) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func send(_ event: DownloadEvent) {
        for observer in observers.withLock({ $0 }) { observer(event) }
        for listener in listeners.withLock({ Array($0.values) }) { listener.send(event) }
    }

    func finish() {
        let all = listeners.withLock { listeners in
            defer { listeners = [:] }
            return Array(listeners.values)
        }
        for listener in all { listener.finish() }
    }
}

/// The queue of one listener.
final class Listener: Sendable {
    private struct Queue {
        var events: [DownloadEvent] = []
        var isFinished = false
        var waiting: CheckedContinuation<DownloadEvent?, Never>?
    }

    private let queue = Locked(Queue())

    var isFinished: Bool { queue.withLock { $0.isFinished } }

    func send(_ event: DownloadEvent) {
        let waiting = queue.withLock { queue -> CheckedContinuation<DownloadEvent?, Never>? in
            guard !queue.isFinished else { return nil }
            if let waiting = queue.waiting {
                queue.waiting = nil
                return waiting
            }
            if case .progress = event, case .progress = queue.events.last { queue.events.removeLast() }
            queue.events.append(event)
            return nil
        }
        waiting?.resume(returning: event)
    }

    func finish() {
        let waiting = queue.withLock { queue in
            defer { queue.waiting = nil }
            queue.isFinished = true
            return queue.waiting
        }
        waiting?.resume(returning: nil)
    }

    func next() async -> DownloadEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = queue.withLock { queue -> DownloadEvent?? in
                    if !queue.events.isEmpty { return .some(queue.events.removeFirst()) }
                    if queue.isFinished || queue.waiting != nil { return .some(nil) }
                    queue.waiting = continuation
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            finish()
        }
    }
}

/// The events of one task, from its present status on, until it is removed or the loop is left.
///
/// Each sequence has its own queue; one iterator at a time.
public struct DownloadEvents: AsyncSequence, Sendable {
    /// What is told.
    public typealias Element = DownloadEvent

    private let lifetime: Lifetime

    init(listener: Listener, onEnd: @escaping @Sendable () -> Void) {
        lifetime = Lifetime(listener: listener, onEnd: onEnd)
    }

    /// Makes the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(lifetime: lifetime) }

    /// Waits for one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let lifetime: Lifetime

        /// The next event; nil at the end, or when the Swift task is canceled.
        public mutating func next() async -> DownloadEvent? { await lifetime.listener.next() }
    }

    fileprivate final class Lifetime: Sendable {
        let listener: Listener
        private let onEnd: @Sendable () -> Void

        init(listener: Listener, onEnd: @escaping @Sendable () -> Void) {
            self.listener = listener
            self.onEnd = onEnd
        }

        deinit { onEnd() }
    }
}
