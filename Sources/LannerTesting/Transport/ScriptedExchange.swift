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

    /// How a body goes that is handed over as a file.
    struct Handover: Sendable {
        /// What the transport holds from an earlier exchange.
        var held: [UInt8]
        /// What goes on with that as long as the answer has not begun.
        var data: Data?
        /// Keeps what it holds when the exchange breaks off, and says what goes on with it.
        var keep: @Sendable (ResponseHead, [UInt8]) -> Data?
    }

    private struct State {
        var course: Course
        /// The file as far as it has come; nil when the body is delivered in pieces.
        var file: [UInt8]?
        var isHandedOver = false
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
    private let canPause: Bool
    private let handover: Handover?
    private let receive: @Sendable (TransportEvent) -> Void
    private let onEnd: @Sendable () -> Void
    private let state: Locked<State>

    init(
        head: ResponseHead, body: any ScriptedBody, course: Course, pieceLength: Int, canPause: Bool,
        handover: Handover?,
        receive: @escaping @Sendable (TransportEvent) -> Void, onEnd: @escaping @Sendable () -> Void
    ) {
        self.head = head
        self.body = body
        self.pieceLength = pieceLength
        self.canPause = canPause
        self.receive = receive
        self.onEnd = onEnd
        self.handover = handover
        // A 206 brings what is missing, any other answer all there is.
        state = Locked(State(course: course, file: handover.map { head.status == 206 ? $0.held : [] }))
    }

    var isPaused: Bool { state.withLock { $0.isPaused } }

    func cancel() {
        fail(TransportFailure(.canceled, "The exchange was canceled."))
    }

    func pause() {
        state.withLock { $0.isPaused = canPause }
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
        while let event = state.withLock({ next(&$0) }) { report(event) }
    }

    private func report(_ event: TransportEvent) {
        switch event {
        case .end:
            onEnd()
            receive(event)
        case .failure(let failure):
            onEnd()
            receive(.failure(TransportFailure(failure.fault, failure.message, resumeData: resumeData)))
        case .file(let url): handOver(at: url)
        case .head, .bytes, .progress: receive(event)
        }
    }

    /// What goes on with a file that has begun to come, here or in an earlier exchange.
    private var resumeData: Data? {
        guard let handover else { return nil }
        let (position, file) = state.withLock { ($0.position, $0.isHandedOver ? nil : $0.file) }
        if position < 0 { return handover.data }
        guard position > 0, [200, 206].contains(head.status) else { return nil }
        return file.flatMap { handover.keep(head, $0) }
    }

    private func handOver(at url: URL) {
        let file = state.withLock { $0.file ?? [] }
        do {
            try Data(file).write(to: url)
            receive(.file(url))
            try? FileManager.default.removeItem(at: url)
        } catch {
            state.withLock { $0.failure = TransportFailure(.diskFull, "The file cannot be written: \(error)") }
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
        case .head, .bytes, .progress, .file: break
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
        if position >= length { return completion(&state) }
        let end = min(length, course.limit, course.cut)
        guard position < end, !state.isPaused else { return nil }
        let data = body.bytes(from: position, count: Int(min(Int64(pieceLength), end - position)))
        state.position += Int64(data.count)
        guard state.file != nil else { return .bytes(data) }
        state.file?.append(contentsOf: data)
        return .progress(Int64(state.file?.count ?? 0))
    }

    private func completion(_ state: inout State) -> TransportEvent {
        guard state.file != nil, !state.isHandedOver else { return .end }
        state.isHandedOver = true
        let name = "lanner-scripted-\(UUID().uuidString)"
        return .file(FileManager.default.temporaryDirectory.appendingPathComponent(name))
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
