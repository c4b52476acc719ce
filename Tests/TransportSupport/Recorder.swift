import Dispatch
import Foundation
import LannerCore

/// Writes down the events of one exchange, lets a test wait for them, and notes every breach of the contract's order.
package final class Recorder: Sendable {
    package struct Log: Sendable {
        package internal(set) var head: ResponseHead?
        package internal(set) var bytes: [UInt8] = []
        package internal(set) var file: [UInt8]?
        /// What was reported of the file on its way.
        package internal(set) var progress: [Int64] = []
        package internal(set) var isComplete = false
        package internal(set) var failure: TransportFailure?
        package internal(set) var breaches: [String] = []

        package var isOver: Bool { isComplete || failure != nil }
    }

    private struct State {
        var log = Log()
        var isInside = false
        var waiters: [Waiter] = []
        /// The time limit has run out: nobody waits any more.
        var isCanceled = false
    }

    private struct Waiter {
        var condition: @Sendable (Log) -> Bool
        var continuation: CheckedContinuation<Log, Never>
    }

    private let state = Locked(State())
    private let hook: @Sendable (TransportEvent) -> Void

    /// `hook` is called with each event, after it was written down.
    package init(hook: @escaping @Sendable (TransportEvent) -> Void = { _ in }) {
        self.hook = hook
    }

    package var log: Log { state.withLock { $0.log } }

    package func receive(_ event: TransportEvent) {
        wake { state in
            if state.isInside { state.log.breaches.append("two calls at once") }
            state.isInside = true
            state.log.add(event)
        }
        hook(event)
        state.withLock { $0.isInside = false }
    }

    /// The log as soon as it satisfies the condition, or when the test's time is up.
    @discardableResult
    package func wait(until condition: @escaping @Sendable (Log) -> Bool) async -> Log {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wake { $0.waiters.append(Waiter(condition: condition, continuation: continuation)) }
            }
        } onCancel: {
            wake { $0.isCanceled = true }
        }
    }

    /// The log after the last event.
    package func end() async -> Log {
        await wait { $0.isOver }
    }

    private func wake(_ change: (inout State) -> Void) {
        let (log, ready) = state.withLock { state in
            change(&state)
            let isReady = { [log = state.log, isCanceled = state.isCanceled] (waiter: Waiter) in
                isCanceled || waiter.condition(log)
            }
            let ready = state.waiters.filter(isReady)
            state.waiters.removeAll(where: isReady)
            return (state.log, ready.map(\.continuation))
        }
        for continuation in ready { continuation.resume(returning: log) }
    }
}

/// Holds a receiver up until it is opened, which it then is for good: an event too many does not wait for ever.
package final class Turnstile: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func open() {
        semaphore.signal()
    }

    /// Returns once the turnstile has been opened.
    package func pass() {
        semaphore.wait()
        semaphore.signal()
    }
}

extension Recorder.Log {
    // Compared out of sight of `#expect`, which would print megabytes.
    package func hasBytes(_ expected: [UInt8]) -> Bool { bytes == expected }
    package func hasFile(_ expected: [UInt8]) -> Bool { file == expected }

    mutating func add(_ event: TransportEvent) {
        if isOver { breaches.append("an event after the last one") }
        switch event {
        case .head(let new):
            if head != nil { breaches.append("two heads") }
            head = new
        case .progress(let count): progress.append(count)
        case .bytes(let data):
            if head == nil { breaches.append("bytes before the head") }
            if data.isEmpty { breaches.append("no bytes in bytes") }
            bytes += data
        case .file(let url):
            if head == nil { breaches.append("a file before the head") }
            file = (try? Data(contentsOf: url)).map(Array.init)
        case .end:
            if head == nil { breaches.append("an end without a head") }
            isComplete = true
        case .failure(let failure):
            self.failure = failure
        }
    }
}

extension Transport {
    /// Carries out one exchange and returns what came.
    package func fetch(
        _ url: URL, _ fields: HeaderFields = [:], timeout: Duration = .seconds(3600)
    ) async -> Recorder.Log {
        let recorder = Recorder()
        _ = begin(TransportRequest(url: url, fields: fields, timeout: timeout), receive: recorder.receive)
        return await recorder.end()
    }

    /// The same, blocking the thread: no other test comes between two of these, for longer than a connection is kept.
    package func fetchBlocking(_ url: URL) -> Recorder.Log {
        let end = Turnstile()
        let recorder = Recorder { event in
            switch event {
            case .end, .failure: end.open()
            case .head, .progress, .bytes, .file: break
            }
        }
        let exchange = start(url, recorder)
        withExtendedLifetime(exchange, end.pass)
        return recorder.log
    }

    /// Begins one exchange that the caller follows.
    package func start(
        _ url: URL, _ recorder: Recorder, timeout: Duration = .seconds(3600), isLimited: Bool = false
    ) -> any TransportExchange {
        begin(TransportRequest(url: url, timeout: timeout, isLimited: isLimited), receive: recorder.receive)
    }
}
