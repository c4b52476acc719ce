import Foundation
import LannerMachine

/// The receiving side of one exchange: gathers the pieces a transport delivers into chunks, and hands them to the
/// partial file once it is known where they belong.
///
/// Called by the transport (one call at a time), by what reads its file, and by the engine (any time). What comes before
/// the answer is judged waits; when the disk cannot keep up, the transport is paused, or its delivery blocks.
final class Sink: Sendable {
    /// What the engine is told.
    enum Report: Sendable {
        case head(ResponseHead)
        case received(Int64)
        /// What the transport holds of a file that it will hand over.
        case holds(Int64)
        /// The end of an exchange that was stopped; nil when it came to its own.
        case stopped(TransportFailure?)
        case ended(Int64)
        case failed(TransportFailure)
        /// More came than belongs to the body.
        case overflowed
        /// The rest of a file waits.
        case waits
    }

    /// How an exchange has ended.
    typealias Outcome = Result<Void, TransportFailure>

    enum Phase {
        /// The answer is not judged yet: what it brings waits.
        case undecided(Early)
        /// Bytes go into the file.
        case open(Target)
        /// Nothing is taken any more.
        case closed
    }

    struct State {
        var phase = Phase.undecided(Early())
        var hasHead = false
        var received: Int64 = 0
        var reported: Int64 = 0
        /// Whether a file was handed over, and what is left of one that waits.
        var hasFile = false
        var unread: Unread?
        /// Bytes that the transport holds, how many it told of first, and how many were told.
        var held: Int64 = 0
        var heldFirst: Int64 = 0
        var heldReported: Int64 = 0
        /// Whether the end is told though nothing else is any more. Of a file that was handed over all is taken before.
        var tellsEnd = false
        var hasEnded = false
        /// Whether the disk does not keep up, and whether a limit has been reached.
        var isFull = false
        var isHeld = false
        var exchange: (any TransportExchange)?
        /// Whether that goes on when the process has ended.
        var isLasting = false
        /// What is opened once there is room, for a transport that waits for that.
        var room: Latch?

        var isPaused: Bool { isFull || isHeld }

        /// Nothing is taken any more; returns what was left of a file.
        @discardableResult
        mutating func close() -> Unread? {
            defer { (phase, unread) = (.closed, nil) }
            return unread
        }
    }

    /// Where the exchange went, from where redirects lead on.
    struct Way: Sendable {
        let source: Source
        let destination: Destination
    }

    let state = Locked(State())
    /// Whether the transport is paused when it has to wait; any other waits while it delivers.
    let isPausable: Bool
    let way: Way
    let meter: Meter?
    let lanes: any LaneFactory
    /// Takes in a file that is handed over, so that it need not be copied; nil where that cannot be done.
    let takeIn: @Sendable (String) -> TakenFile?
    let report: @Sendable (Report) -> Void

    init(
        _ way: Way, isPausable: Bool, meter: Meter?, lanes: any LaneFactory,
        takeIn: @escaping @Sendable (String) -> TakenFile? = { _ in nil }, report: @escaping @Sendable (Report) -> Void
    ) {
        self.way = way
        self.isPausable = isPausable
        self.meter = meter
        self.lanes = lanes
        self.takeIn = takeIn
        self.report = report
    }

    /// Whether nothing is taken any more.
    var isClosed: Bool {
        state.withLock { if case .closed = $0.phase { true } else { false } }
    }

    /// Whether a file was handed over.
    var hasFile: Bool { state.withLock { $0.hasFile } }

    /// Whether the exchange goes on when the process has ended.
    var isLasting: Bool { state.withLock { $0.isLasting } }

    // MARK: The transport's side

    /// The exchange that delivers here; canceled at once when nothing is wanted any more. `isLasting`: it goes on when the
    /// process has ended.
    func attach(_ exchange: any TransportExchange, isLasting: Bool = false) {
        let isClosed = state.withLock { state in
            if case .closed = state.phase { return !state.hasEnded }
            if !state.hasEnded { (state.exchange, state.isLasting) = (exchange, isLasting) }
            return false
        }
        if isClosed { exchange.cancel() }
        // What came before this may have been too much already.
        if state.withLock({ $0.isPaused }) { settlePause() }
    }

    func receive(_ event: TransportEvent) {
        switch event {
        case .head(let head):
            let isOpen = state.withLock { state in
                if case .closed = state.phase { return false }
                state.hasHead = true
                return true
            }
            if isOpen { report(.head(head)) }
        case .bytes(let data): take(data)
        case .progress(let count): hold(count)
        case .file(let url): take(fileAt: url)
        case .end: end(nil)
        case .failure(let failure): end(failure)
        }
    }

    func take(_ data: Data) {
        put(data)
        holdBack()
    }

    func put(_ data: Data) {
        let (news, unwanted) = state.withLock { state -> ([Report], (any TransportExchange)?) in
            switch state.phase {
            case .closed:
                return ([], nil)
            case .undecided(var early):
                // Taken out meanwhile, so that the pieces are not copied each time.
                state.phase = .closed
                early.bytes.append(data)
                state.phase = .undecided(early)
                return ([], nil)
            case .open(var target):
                state.phase = .closed
                let isAll = target.take(data, &state.received)
                // The rest of the answer is another's; or more came than belongs to the body.
                if target.isCutOff { return Self.close(&target, &state, [.ended(state.received)]) }
                guard isAll else { return Self.close(&target, &state, [.received(state.received), .overflowed]) }
                state.phase = .open(target)
                return (Self.progress(&state), nil)
            }
        }
        unwanted?.cancel()
        // Before it is told that bytes have come, which may make others ask for more.
        let isTooMuch = meter?.charge(Int64(data.count)) == true
        news.forEach(report)
        if isTooMuch { meter?.hold() }
    }

    /// Nothing more is taken: what belongs to the body is kept, and the exchange is of no use any more.
    private static func close(
        _ target: inout Target, _ state: inout State, _ news: [Report]
    ) -> ([Report], (any TransportExchange)?) {
        defer { state.exchange = nil }
        return (finish(&target, &state, news), state.exchange)
    }

    /// What has come since the last report, when it is worth one.
    private static func progress(_ state: inout State) -> [Report] {
        guard !state.tellsEnd, state.received - state.reported >= Int64(Chunk.standardSize) else { return [] }
        state.reported = state.received
        return [.received(state.received)]
    }

    private func hold(_ count: Int64) {
        let news = state.withLock { state -> [Report] in
            if state.held == 0 { state.heldFirst = count }
            state.held = max(state.held, count)
            guard state.held - state.heldReported >= Int64(Chunk.standardSize) else { return [] }
            return Self.holding(&state)
        }
        news.forEach(report)
    }

    /// What the transport holds, when that is more than was told and its body has a place; then other news. Before it
    /// what it told of first, which shows where it has gone on.
    private static func holding(_ state: inout State, before news: [Report] = []) -> [Report] {
        guard case .open = state.phase, state.held > state.heldReported else { return news }
        let isMore = state.heldReported == 0 && state.heldFirst < state.held
        state.heldReported = state.held
        return (isMore ? [.holds(state.heldFirst)] : []) + [.holds(state.held)] + news
    }

    func end(_ failure: TransportFailure?) {
        // Let go of outside the lock, as everywhere here: what is the user's goes with it.
        let (news, exchange) = state.withLock { state in
            defer { state.exchange = nil }
            return (Self.end(&state, failure), state.exchange)
        }
        withExtendedLifetime(exchange) {}
        news.forEach(report)
    }

    private static func end(_ state: inout State, _ failure: TransportFailure?) -> [Report] {
        state.hasEnded = true
        let ending: Outcome = failure.map { .failure($0) } ?? .success(())
        switch state.phase {
        case .closed:
            defer { state.tellsEnd = false }
            return state.tellsEnd ? [.stopped(failure)] : []
        case .undecided(var early):
            guard state.hasHead else {
                state.close()
                return [failure.map { .failed($0) } ?? .ended(0)]
            }
            // A file that could not be read has ended it, whatever the transport says of the rest.
            if early.ending != nil { return [] }
            early.ending = ending
            state.phase = .undecided(early)
            return []
        case .open(var target):
            if state.unread == nil { return Self.conclude(&target, &state, ending) }
            state.unread?.ending = ending
            return []
        }
    }

    /// The exchange has brought all that it will, and all of that was taken.
    private static func conclude(_ target: inout Target, _ state: inout State, _ ending: Outcome) -> [Report] {
        let last: [Report] =
            switch ending {
            case .success: [.ended(state.received)]
            case .failure(let failure): [.received(state.received), .failed(failure)]
            }
        return finish(&target, &state, holding(&state, before: last))
    }

    /// Keeps what has come and takes nothing more; returns what is to be told.
    private static func finish(_ target: inout Target, _ state: inout State, _ news: [Report]) -> [Report] {
        target.handOver()
        state.close()
        guard state.tellsEnd else { return news }
        state.tellsEnd = false
        if case .failed(let failure) = news.last { return [.stopped(failure)] }
        return [.stopped(nil)]
    }

    /// What was left of a file has been read, or cannot be; or all of it, so many bytes, has become the file.
    func endUnread(_ failure: TransportFailure?, received count: Int64? = nil) {
        let (news, exchange) = state.withLock { state -> ([Report], (any TransportExchange)?) in
            let ending = failure.map { .failure($0) } ?? state.unread?.ending
            state.unread = nil
            guard case .open(var target) = state.phase else { return ([], nil) }
            if let count { state.received = count }
            guard let ending else { return (Self.progress(&state), nil) }
            defer { state.exchange = nil }
            state.hasEnded = true
            return (Self.conclude(&target, &state, ending), state.exchange)
        }
        withExtendedLifetime(exchange) {}
        news.forEach(report)
    }

    // MARK: The engine's side

    /// The answer was judged good: its body goes to these positions of the file.
    func accept(_ body: Range<Int64>, into file: PartialFile) {
        let (news, exchange) = state.withLock { state -> ([Report], (any TransportExchange)?) in
            guard case .undecided(let early) = state.phase else { return ([], nil) }
            var target = Target(file: file, position: body.lowerBound, end: body.upperBound)
            for piece in early.bytes.pieces where !target.take(piece, &state.received) {
                return Self.close(&target, &state, [.received(state.received), .overflowed])
            }
            state.phase = .open(target)
            guard let ending = early.ending, state.unread == nil else {
                state.unread?.ending = early.ending
                let news = Self.progress(&state)
                return (Self.holding(&state, before: news), nil)
            }
            return (Self.conclude(&target, &state, ending), nil)
        }
        exchange?.cancel()
        relieve()
        news.forEach(report)
    }

    /// The body ends at this position of the file, sooner than the answer: what comes behind it is not taken, and the
    /// exchange ends there.
    func cut(at end: Int64) {
        let (news, exchange) = state.withLock { state -> ([Report], (any TransportExchange)?) in
            guard case .open(var target) = state.phase else { return ([], nil) }
            state.phase = .closed
            target.cut(at: end)
            if target.isCutOff { return Self.close(&target, &state, [.ended(state.received)]) }
            state.phase = .open(target)
            return ([], nil)
        }
        signalRoom()
        exchange?.cancel()
        news.forEach(report)
    }

    /// Hands over what has been gathered, however little.
    func flush() {
        let news = state.withLock { state -> [Report] in
            guard case .open(var target) = state.phase else { return [] }
            target.handOver()
            state.phase = .open(target)
            let holding = Self.holding(&state)
            guard state.received > state.reported else { return holding }
            state.reported = state.received
            return holding + [.received(state.received)]
        }
        news.forEach(report)
    }

    /// Takes nothing more, and ends the exchange. Says whether its end will be told as `stopped`: where it is still to come,
    /// when `tellingEnd`, and of a file that was handed over when all of it was taken, so that none of what has come is
    /// lost.
    @discardableResult
    func stop(keepBytes: Bool, tellingEnd: Bool = false) -> Bool {
        let (exchange, news, unread, tellsEnd) = state.withLock { state in
            if keepBytes, state.hasFile, case .open = state.phase {
                state.tellsEnd = true
                return ((any TransportExchange)?.none, [Report](), Unread?.none, true)
            }
            let holding = tellingEnd ? Self.holding(&state) : []
            if keepBytes, case .open(var target) = state.phase { target.handOver() }
            defer { state.exchange = nil }
            state.tellsEnd = tellingEnd && state.exchange != nil
            return (state.exchange, holding, state.close(), state.tellsEnd)
        }
        // A file is closed outside the lock.
        withExtendedLifetime(unread) {}
        news.forEach(report)
        signalRoom()
        exchange?.cancel()
        return tellsEnd
    }

    /// Takes no more of a file that is being taken to its end though the exchange was stopped; whether that was so.
    func giveUpFile() -> Bool {
        let (isGivenUp, unread) = state.withLock { state in
            guard state.tellsEnd, case .open = state.phase else { return (false, Unread?.none) }
            state.tellsEnd = false
            return (true, state.close())
        }
        withExtendedLifetime(unread) {}
        signalRoom()
        return isGivenUp
    }

    /// Takes nothing more; the exchange goes on without anybody who takes it.
    func leave() {
        let left = state.withLock { state in
            defer { state.exchange = nil }
            return (state.exchange, state.close())
        }
        withExtendedLifetime(left) {}
        signalRoom()
    }

    /// Lets go of the exchange, as the death of the process does.
    func abandon() {
        state.replace(\.exchange, by: nil)
    }
}
