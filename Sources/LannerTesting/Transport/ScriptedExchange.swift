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

    typealias Receiver = @Sendable (TransportEvent) -> Void

    private enum Outcome {
        case complete
        case failed(TransportFailure)
    }

    /// What is next for the receiver.
    private enum Delivery {
        case event(TransportEvent)
        /// What has been told to an earlier receiver.
        case replayed(TransportEvent)
        case farewell(TransportFailure)
    }

    private struct State {
        var course: Course
        /// The file as far as it has come; nil when the body is delivered in pieces.
        var file: [UInt8]?
        /// Whether it has yet to tell what of that was there before.
        var owesHeld = false
        var isHandedOver = false
        /// What was delivered; -1 before the head.
        var position: Int64 = -1
        /// What the exchange is to end with, instead of going on.
        var failure: TransportFailure?
        var isPaused = false
        /// Who is told; nil for nobody, since the process that asked has ended.
        var receive: Receiver?
        /// How many receivers there have been.
        var receivers = 1
        /// What a new receiver is told before anything else.
        var replay: [TransportEvent] = []
        /// What the receiver is told as it leaves; the exchange goes on.
        var farewell: TransportFailure?
        /// How it has ended; told again to a new receiver.
        var outcome: Outcome?
        /// Whether a thread is in `receive`, and will go on with whatever comes next.
        var isDelivering = false
        var isOver = false
    }

    /// Those that do are attended to by their name.
    var outlivesProcess: Bool { false }

    private let head: ResponseHead
    private let body: any ScriptedBody
    private let pieceLength: Int
    private let canPause: Bool
    private let handover: Handover?
    private let onEnd: @Sendable () -> Void
    private let state: Locked<State>

    init(
        head: ResponseHead, body: any ScriptedBody, course: Course, pieceLength: Int, canPause: Bool,
        handover: Handover?, receive: @escaping Receiver, onEnd: @escaping @Sendable () -> Void
    ) {
        self.head = head
        self.body = body
        self.pieceLength = pieceLength
        self.canPause = canPause
        self.onEnd = onEnd
        self.handover = handover
        // A 206 brings what is missing, any other answer all there is.
        let file = handover.map { head.status == 206 ? $0.held : [] }
        state = Locked(State(course: course, file: file, owesHeld: file?.isEmpty == false, receive: receive))
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
        state.withLock { state in
            if state.outcome == nil { state.failure = state.failure ?? failure }
        }
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

    /// Whether somebody is told what comes.
    var isTaken: Bool { state.withLock { $0.receive != nil } }

    /// How far it is, for those who may take it up.
    var progress: TransportSurvivor.Progress {
        switch state.withLock({ $0.outcome }) {
        case nil: .running
        case .failed(let failure) where failure.fault == .canceled: .interrupted
        case .complete, .failed: .ended
        }
    }

    /// Goes on without its receiver, which is told this, or nothing.
    func leave(with failure: TransportFailure?) {
        state.withLock { state in
            if failure == nil { (state.receive, state.replay) = (nil, []) }
            if state.receive != nil { state.farewell = failure }
        }
        deliver()
    }

    /// Tells another receiver what has come so far, and then what comes; returns its number.
    func take(_ receive: @escaping Receiver) -> Int {
        let number = state.withLock { state in
            (state.receive, state.farewell) = (receive, nil)
            state.receivers += 1
            state.replay = state.position >= 0 ? [.head(head)] : []
            if let count = state.file?.count, count > 0 { state.replay.append(.progress(Int64(count))) }
            switch state.outcome {
            case .complete: state.replay += [.file(Self.newPlace()), .end]
            case .failed(let failure): state.replay.append(.failure(failure))
            // The last receiver has it, or there was none.
            case nil where state.isHandedOver: state.replay.append(.file(Self.newPlace()))
            case nil: break
            }
            return state.receivers
        }
        deliver()
        return number
    }

    /// Whether a receiver is the one that is told.
    func tells(_ number: Int) -> Bool {
        state.withLock { $0.receive != nil && $0.farewell == nil && $0.receivers == number }
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
        while let (delivery, receive) = state.withLock({ next(&$0) }) { report(delivery, to: receive) }
    }

    private func report(_ delivery: Delivery, to receive: Receiver?) {
        switch delivery {
        case .event(.end):
            onEnd()
            receive?(.end)
        case .event(.failure(let failure)):
            let failure = TransportFailure(failure.fault, failure.message, resumeData: resumeData)
            state.withLock { $0.outcome = .failed(failure) }
            onEnd()
            receive?(.failure(failure))
        case .event(.file(let url)), .replayed(.file(let url)): if let receive { handOver(at: url, to: receive) }
        case .event(let event), .replayed(let event): receive?(event)
        case .farewell(let failure): receive?(.failure(failure))
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

    private func handOver(at url: URL, to receive: Receiver) {
        let file = state.withLock { $0.file ?? [] }
        // Also what a write has left that failed.
        defer { try? FileManager.default.removeItem(at: url) }
        do throws(FileError) {
            // Foundation would wait for the device.
            let written = try PosixFileSystem().open(url.path, .create)
            defer { written.close() }
            try written.write(file, at: 0)
            receive(.file(url))
        } catch {
            let fault = error.fault == .noSpace ? TransportFault.diskFull : .other
            state.withLock { $0.failure = TransportFailure(fault, "The file cannot be written: \(error)") }
        }
    }

    /// What is next, and for whom; nil, and the delivery is over for now, when there is nothing.
    private func next(_ state: inout State) -> (Delivery, Receiver?)? {
        let receive = state.receive
        guard let delivery = nextDelivery(&state) else {
            state.isDelivering = false
            return nil
        }
        // Who takes it up from here on is told of it again.
        if case .event(.end) = delivery { state.outcome = .complete }
        switch delivery {
        case .event(.end), .event(.failure): (state.isOver, state.receive) = (true, nil)
        case .replayed(.end), .replayed(.failure), .farewell: state.receive = nil
        case .event, .replayed: break
        }
        return (delivery, receive)
    }

    private func nextDelivery(_ state: inout State) -> Delivery? {
        if let farewell = state.farewell {
            (state.farewell, state.replay) = (nil, [])
            return .farewell(farewell)
        }
        if !state.replay.isEmpty { return .replayed(state.replay.removeFirst()) }
        if state.isOver { return nil }
        return (state.failure.map { .failure($0) } ?? content(&state)).map { .event($0) }
    }

    private func content(_ state: inout State) -> TransportEvent? {
        let (position, course) = (state.position, state.course)
        if position >= course.cut { return .failure(TransportFailure(course.fault, "The script ends the exchange.")) }
        if position < 0 {
            guard course.limit >= 0 else { return nil }
            state.position = 0
            return .head(head)
        }
        if state.owesHeld {
            state.owesHeld = false
            return .progress(Int64(state.file?.count ?? 0))
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
        return .file(Self.newPlace())
    }

    private static func newPlace() -> URL {
        directory.appendingPathComponent("lanner-scripted-\(UUID().uuidString)", isDirectory: false)
    }

    private static let directory = FileManager.default.temporaryDirectory
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
