/// A closure that is called with events, for as long as this is held.
///
/// The calls come in order, one at a time. When events come faster than the closure returns, of progress only the latest
/// waits; see ``EventSequence``.
public final class EventObservation: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    init(end: @escaping @Sendable () -> Void) {
        self.end = Locked(end)
    }

    deinit { cancel() }

    /// Stops the calls. On the closure's queue, if that is serial, none begins after this has returned. If `cancel()` is
    /// called elsewhere, one call may still be in progress, or just about to begin.
    public func cancel() {
        let end = end.withLock { $0.take() }
        end?()
    }
}

/// The queue of one closure.
final class ObserverDelivery<Event: QueuedEvent>: Sendable {
    private struct Step {
        let event: Event
        let handler: @Sendable (Event) -> Void
    }

    private struct State {
        /// Nil when nothing is wanted any more.
        var handler: (@Sendable (Event) -> Void)?
        var queue = EventQueue<Event>()
        var isOver = false
        /// Whether a run is on its way, or under way.
        var isRunning = false

        /// Whether a run has to be sent on its way.
        mutating func beginRun() -> Bool {
            guard handler != nil, !isRunning, queue.count > 0 else { return false }
            isRunning = true
            return true
        }

        mutating func next() -> Step? {
            guard let handler, let event = queue.popFirst() else { return nil }
            return Step(event: event, handler: handler)
        }

        /// Gives out what is not wanted any more, to be let go of outside the lock.
        mutating func clear() -> Any {
            defer { (handler, queue) = (nil, EventQueue()) }
            return (handler, queue)
        }
    }

    private let state: Locked<State>
    private let lane: any Lane

    init(_ lane: any Lane, _ handler: @escaping @Sendable (Event) -> Void) {
        self.lane = lane
        state = Locked(State(handler: handler))
    }

    /// Takes an event, to be told in the next run.
    @Sendable func keep(_ event: Event) {
        state.withLock { state in
            if state.handler != nil, !state.isOver { state.queue.append(event) }
        }
    }

    /// Sends a run on its way, if none is and something waits.
    @Sendable func tell() {
        if state.withLock({ $0.beginRun() }) { lane.run(run) }
    }

    /// Nothing more comes; what waits is still told.
    @Sendable func end() {
        _ = state.withLock { state in
            state.isOver = true
            return state.isRunning || state.queue.count > 0 ? () : state.clear()
        }
    }

    func cancel() {
        _ = state.withLock { $0.clear() }
    }

    /// So many events at most are told in one run.
    private static var some: Int { 64 }

    /// Tells some of what waits now; the rest, and what comes meanwhile, is told in other runs, so that the queue is free
    /// for others in between.
    @Sendable private func run() {
        for _ in 0..<min(Self.some, state.withLock { $0.queue.count }) {
            guard let step = state.withLock({ $0.next() }) else { break }
            step.handler(step.event)
        }
        let (isDue, _) = state.withLock { state -> (Bool, Any) in
            state.isRunning = false
            let isDue = state.beginRun()
            return (isDue, state.isOver && !isDue ? state.clear() : ())
        }
        if isDue { lane.run(run) }
    }
}
