import Foundation

/// What the connections of a server share.
final class Host: Sendable {
    struct State: Sendable {
        var site = Site()
        var bytesPerSecond: Int?
        var onRequest: (@Sendable (LoopbackServer.Request) -> Void)?
        /// What stalled answers wait for.
        var release: Gate
    }

    let ledger = Ledger()
    let state: Guarded<State>

    init() throws(LoopbackServer.Failure) {
        state = Guarded(State(release: try Gate()))
    }

    /// Records a request, tells the observer, and decides how it is answered.
    func answer(_ head: RequestHead, connection: Int, now: Date) -> (number: Int, answer: Answer) {
        let request = ledger.record { activity in
            let request = LoopbackServer.Request(
                number: activity.forgotten + activity.requests.count + 1, connection: connection,
                method: head.method, target: head.target, path: head.path, fields: head.fields)
            activity.requests.append(request)
            return request
        }
        state.withLock { $0.onRequest }?(request)
        let (step, published) = state.withLock { $0.site.take(head.path) }
        return (request.number, Answerer(request: head, published: published, now: now).answer(step))
    }

    /// Records bytes of a body, handed over or (negative) not handed over after all.
    func count(_ bytes: Int64, _ number: Int, _ path: String) {
        ledger.record { activity in
            activity.update(number) { $0.bodyBytesSent += bytes }
            activity.bytesByPath[path, default: 0] += bytes
        }
    }
}
