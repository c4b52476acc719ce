import Dispatch
import LannerCore

/// Hands the events of one exchange to its receiver: in order, one at a time, and as the last one exactly one of
/// `end` and `failure`.
///
/// URLSession calls its delegate on the one queue that carries all URLSession traffic of the process, so nothing may
/// wait there for a receiver. Events are put down here and handed over elsewhere: in batches, because a thread woken
/// for each piece of 16 KiB costs more than receiving it. A receiver that lags behind by more than `capacity` bytes
/// slows the poster down: the further behind, the longer each piece is held up, which keeps memory small while the
/// receiver stands still; but never for long, so that other exchanges, timers and calls get their turn in between.
final class Mailbox: Sendable {
    typealias Receiver = @Sendable (TransportEvent) -> Void

    fileprivate struct State {
        /// Given up with the last event, so that what the receiver holds is freed.
        var receive: Receiver?
        var waiting = Fifo<TransportEvent>()
        var waitingBytes = 0
        /// The terminal event was accepted; what is posted later is dropped.
        var isClosed = false
        /// Handing over is under way, or about to be; what comes in meanwhile is taken along.
        var isDraining = false
        /// A look at what waits is due within `delay`.
        var isLookDue = false
        var posterWaits = false
        /// What waits until all that was posted has been handed over.
        var fences: [@Sendable () -> Void] = []
    }

    /// Bytes that are worth a wake-up.
    static let batch = 1 << 20
    /// How long fewer bytes may wait.
    static let delay = DispatchTimeInterval.milliseconds(5)
    /// Bytes that may wait before the poster is slowed down.
    static let capacity = 2 << 20
    /// How long one piece is held up for each `capacity` that waits, and at most.
    static let brake = (step: 5, longest: 50)

    // Concurrent, because a receiver may block; each mailbox has at most one block on it.
    private static let deliveries = DispatchQueue(label: "lanner.transport.deliveries", attributes: .concurrent)

    private let state: Locked<State>
    private let room = DispatchSemaphore(value: 0)

    init(receive: @escaping Receiver) {
        state = Locked(State(receive: receive))
    }

    /// Whether the last event was accepted.
    var isClosed: Bool {
        state.withLock { $0.isClosed }
    }

    /// Adds an event that is not the last one. May block for some milliseconds.
    func post(_ event: TransportEvent) {
        let (wake, backlog) = state.withLock { $0.post(event) }
        switch wake {
        case .none: break
        case .now: startDraining()
        case .later: Self.deliveries.asyncAfter(deadline: .now() + Self.delay) { self.look() }
        }
        if backlog > 0 {
            let milliseconds = min(backlog * Self.brake.step, Self.brake.longest)
            if room.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut { stopWaiting() }
        }
    }

    /// What was to end the wait is not to spare the next piece its own.
    private func stopWaiting() {
        let isFreed = state.withLock { state in
            defer { state.posterWaits = false }
            return !state.posterWaits
        }
        // It was ended at the same time, or is about to be.
        if isFreed { _ = room.wait(timeout: .now() + .milliseconds(Self.brake.longest)) }
    }

    /// Adds the last event behind all that waits. Only the first call counts; returns whether it was this one.
    @discardableResult
    func finish(_ event: TransportEvent) -> Bool {
        close(with: event, dropping: false)
    }

    /// Adds the last event in place of all that waits. Only the first call counts; returns whether it was this one.
    @discardableResult
    func abandon(_ failure: TransportFailure) -> Bool {
        close(with: .failure(failure), dropping: true)
    }

    /// Runs work once all that was posted so far has been handed over.
    func fence(_ work: @escaping @Sendable () -> Void) {
        let (isClear, drains) = state.withLock { state -> (Bool, Bool) in
            if state.isClear { return (true, false) }
            state.fences.append(work)
            return (false, state.takeOver())
        }
        if isClear { work() }
        if drains { startDraining() }
    }

    private func close(with event: TransportEvent, dropping: Bool) -> Bool {
        let (closes, drains) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed else { return (false, false) }
            state.isClosed = true
            if dropping { state.empty() }
            state.waiting.append(event)
            return (true, state.takeOver())
        }
        if drains { startDraining() }
        return closes
    }

    private func startDraining() {
        Self.deliveries.async { self.drain() }
    }

    private func look() {
        let drains = state.withLock { state in
            state.isLookDue = false
            return state.takeOver()
        }
        if drains { drain() }
    }

    private func drain() {
        while let (event, receive) = next() {
            receive(event)
        }
        let fences = state.withLock { state in
            defer { if state.isClear { state.fences = [] } }
            return state.isClear ? state.fences : []
        }
        for fence in fences { fence() }
    }

    private func next() -> (TransportEvent, Receiver)? {
        let (delivery, frees) = state.withLock { state in
            let delivery = state.next()
            let frees = state.posterWaits && state.waitingBytes <= Self.capacity / 2
            if frees { state.posterWaits = false }
            return (delivery, frees)
        }
        if frees { room.signal() }
        return delivery
    }
}

/// Who is to come for what was posted.
private enum Wake {
    case none, now, later
}

extension Mailbox.State {
    /// Returns how many times `capacity` waits now, as well.
    fileprivate mutating func post(_ event: TransportEvent) -> (Wake, backlog: Int) {
        guard !isClosed else { return (.none, 0) }
        waiting.append(event)
        waitingBytes += event.byteCount
        let backlog = waitingBytes / Mailbox.capacity
        posterWaits = backlog > 0
        return (wake(), backlog)
    }

    private mutating func wake() -> Wake {
        if waitingBytes >= Mailbox.batch { return takeOver() ? .now : .none }
        guard !isDraining, !isLookDue else { return .none }
        isLookDue = true
        return .later
    }

    /// Makes the caller the one who hands over, unless somebody does already.
    mutating func takeOver() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }

    /// The next event to hand over; nil ends the handing over.
    mutating func next() -> (TransportEvent, Mailbox.Receiver)? {
        guard let receive, let event = waiting.popFirst() else {
            isDraining = false
            return nil
        }
        waitingBytes -= event.byteCount
        if isClosed, waiting.count == 0 { self.receive = nil }
        return (event, receive)
    }

    /// Whether nothing waits, and nothing is being handed over.
    var isClear: Bool { !isDraining && waiting.count == 0 }

    mutating func empty() {
        (waiting, waitingBytes) = (Fifo(), 0)
    }
}

extension TransportEvent {
    fileprivate var byteCount: Int {
        switch self {
        case .bytes(let data): data.count
        case .head, .progress, .file, .end, .failure: 0
        }
    }
}
