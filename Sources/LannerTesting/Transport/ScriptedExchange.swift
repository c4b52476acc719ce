import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

/// One exchange of a ``ScriptedTransport``: a body, how far it has been delivered, and what stops it.
final class ScriptedExchange: TransportExchange {
    /// How far the delivery goes. Positions count bytes of the body; -1 is before the head.
    struct Course {
        /// Where it waits for a release.
        var limit = Int64.max
        /// Where it fails.
        var cut = Int64.max
        var fault = TransportFault.connectionLost
    }

    private struct State {
        var course: Course
        /// What was delivered; -1 before the head.
        var position: Int64 = -1
        /// What the exchange is to end with, instead of going on.
        var failure: TransportFailure?
        var isPaused = false
        /// Whether a thread is in `receive`, and will go on with whatever comes next.
        var isDelivering = false
        var isOver = false
    }

    private let head: ResponseHead
    private let body: any ScriptedBody
    private let pieceLength: Int
    private let receive: @Sendable (TransportEvent) -> Void
    private let onEnd: @Sendable () -> Void
    private let state: Locked<State>

    init(
        head: ResponseHead, body: any ScriptedBody, course: Course, pieceLength: Int,
        receive: @escaping @Sendable (TransportEvent) -> Void, onEnd: @escaping @Sendable () -> Void
    ) {
        self.head = head
        self.body = body
        self.pieceLength = pieceLength
        self.receive = receive
        self.onEnd = onEnd
        state = Locked(State(course: course))
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }

    func cancel() {
        fail(TransportFailure(.canceled, "The exchange was canceled."))
    }

    func pause() {
        state.withLock { $0.isPaused = true }
    }

    func resume() {
        state.withLock { $0.isPaused = false }
        deliver()
    }

    func fail(_ failure: TransportFailure) {
        state.withLock { $0.failure = $0.failure ?? failure }
        deliver()
    }

    /// Lets the head and so many more bytes go than were let go before; nil for all.
    func release(_ bytes: Int64?) {
        state.withLock { state in
            let (limit, isTooLarge) = max(0, state.course.limit).addingReportingOverflow(bytes ?? .max)
            state.course.limit = isTooLarge ? .max : limit
        }
        deliver()
    }

    /// Ends without a word, as the death of a process does.
    func abandon() {
        state.withLock { $0.isOver = true }
    }

    // MARK: Delivery

    /// Delivers what can be delivered now, unless someone is at it.
    func deliver() {
        let isMine = state.withLock { state in
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        guard isMine else { return }
        while let event = state.withLock({ next(&$0) }) {
            switch event {
            case .end, .failure: onEnd()
            case .head, .bytes, .file: break
            }
            receive(event)
        }
    }

    /// The next event; nil, and the delivery is over for now, when there is none.
    private func next(_ state: inout State) -> TransportEvent? {
        let event = state.isOver ? nil : state.failure.map { .failure($0) } ?? content(&state)
        guard let event else {
            state.isDelivering = false
            return nil
        }
        switch event {
        case .end, .failure: state.isOver = true
        case .head, .bytes, .file: break
        }
        return event
    }

    private func content(_ state: inout State) -> TransportEvent? {
        let (position, course) = (state.position, state.course)
        if position >= course.cut { return .failure(TransportFailure(course.fault, "The script ends the exchange.")) }
        if position < 0 {
            guard course.limit >= 0 else { return nil }
            state.position = 0
            return .head(head)
        }
        let length = body.length
        if position >= length { return .end }
        let end = min(length, course.limit, course.cut)
        guard position < end, !state.isPaused else { return nil }
        let data = body.bytes(from: position, count: Int(min(Int64(pieceLength), end - position)))
        state.position += Int64(data.count)
        return .bytes(data)
    }
}

/// The bytes of an answer.
protocol ScriptedBody: Sendable {
    var length: Int64 { get }
    /// Bytes from a position before the end: at least one, at most `count`.
    func bytes(from position: Int64, count: Int) -> Data
}

extension Reply: ScriptedBody {}

extension [UInt8]: ScriptedBody {
    var length: Int64 { Int64(count) }

    func bytes(from position: Int64, count: Int) -> Data {
        Data(self[Int(position)..<Swift.min(self.count, Int(position) + count)])
    }
}
