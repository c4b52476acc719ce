import Foundation
import LannerCore

/// Gives links to the manager of a ``TestBench`` as a test says: at once by a closure, or when it is told to.
///
/// May be used on any thread.
public final class ManualLinks: Sendable {
    private struct Call: Sendable {
        var number: Int
        var request: DownloadLink.Request
        var answer: @Sendable (Result<DownloadLink?, any Error>) -> Void
        var isCanceled = false
    }

    private struct State {
        var requests: [DownloadLink.Request] = []
        var canceled = 0
        var waiting: [Call] = []
    }

    private let state = Locked(State())
    private let closure: (@Sendable (DownloadLink.Request) throws -> DownloadLink?)?

    /// Answers by a closure, inside the manager's question; without one every call waits for ``answer(_:)``.
    public init(_ answer: (@Sendable (DownloadLink.Request) throws -> DownloadLink?)? = nil) {
        closure = answer
    }

    /// What was asked for so far, in order.
    public var requests: [DownloadLink.Request] { state.withLock { $0.requests } }

    /// How many calls wait for an answer, those included that nobody wants any more: a provider may not notice. Those of a
    /// process that has died are gone.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// The same, of those that somebody wants.
    var awaitedCount: Int { state.withLock { $0.waiting.count { !$0.isCanceled } } }

    /// How many calls were canceled, each counted once, however often it was.
    public var canceledCount: Int { state.withLock { $0.canceled } }

    /// What the call that has waited longest asks for.
    var oldestWaiting: DownloadLink.Request? { state.withLock { $0.waiting.first?.request } }

    /// Whether a call for a task waits, be it wanted any more or not.
    func isAsked(for task: DownloadTask) -> Bool { state.withLock { $0.waiting.contains { $0.request.task === task } } }

    /// Answers the call for a task that has waited longest before all others.
    func hurry(_ task: DownloadTask) {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.request.task === task }) else { return }
            state.waiting.insert(state.waiting.remove(at: index), at: 0)
        }
    }

    /// Answers the latest call before all others.
    func hurryLatest() {
        state.withLock { state in
            if let last = state.waiting.popLast() { state.waiting.insert(last, at: 0) }
        }
    }

    /// Answers the call that has waited longest; false when none does.
    @discardableResult
    public func answer(_ result: Result<DownloadLink?, any Error>) -> Bool {
        let call = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
        call?.answer(result)
        return call != nil
    }

    /// Forgets the calls that wait, as the death of a process does.
    func abandon() {
        // An answer may be the last to hold a manager.
        state.replace(\.waiting, by: [])
    }
}

extension ManualLinks: LinkSource {
    package func ask(
        _ request: DownloadLink.Request, _ answer: @escaping @Sendable (Result<DownloadLink?, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.requests.append(request)
            if closure == nil {
                state.waiting.append(Call(number: state.requests.count, request: request, answer: answer))
            }
            return state.requests.count
        }
        if let closure { answer(Result { try closure(request) }) }
        return { [self] in
            state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return }
                if !state.waiting[index].isCanceled { state.canceled += 1 }
                state.waiting[index].isCanceled = true
            }
        }
    }
}
