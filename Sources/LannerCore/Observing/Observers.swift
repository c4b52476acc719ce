/// Somebody who is told of events, on the thread that tells: both closures are quick, and call no code of others.
final class Observer<Event: Sendable>: Sendable {
    let receive: @Sendable (Event) -> Void
    /// Nothing more comes.
    let end: @Sendable () -> Void

    init(receive: @escaping @Sendable (Event) -> Void, end: @escaping @Sendable () -> Void = {}) {
        self.receive = receive
        self.end = end
    }
}

/// Who is told of the events of one source. Kept with what the events are about, under the same lock, so that an observer
/// is told of everything that comes behind what it found, and of nothing before.
struct Observers<Event: Sendable>: Sendable {
    private(set) var all: [Observer<Event>] = []
    /// Whether nothing more comes.
    private(set) var isOver = false

    /// Adds an observer; false when nothing more comes.
    mutating func add(_ observer: Observer<Event>) -> Bool {
        if !isOver { all.append(observer) }
        return !isOver
    }

    /// Removes an observer, and gives it back, to be let go of outside the lock.
    mutating func remove(_ observer: Observer<Event>) -> Observer<Event>? {
        all.firstIndex { $0 === observer }.map { all.remove(at: $0) }
    }

    /// Nothing more comes; returns those who have to be told that.
    mutating func end() -> [Observer<Event>] {
        isOver = true
        defer { all = [] }
        return all
    }
}

/// What can be observed.
protocol EventSource: AnyObject, Sendable {
    associatedtype ObservedEvent: QueuedEvent

    /// Adds an observer, made with the event that says how things stand; ends it at once when nothing more comes.
    func add(_ makeObserver: (ObservedEvent) -> Observer<ObservedEvent>)
    func remove(_ observer: Observer<ObservedEvent>)
}

extension EventSource {
    /// A sequence of its own for whoever asks.
    func makeSequence() -> EventSequence<ObservedEvent> {
        let listener = Listener<ObservedEvent>()
        let observer = Observer(receive: listener.receive, end: listener.end)
        add { first in
            listener.receive(first)
            return observer
        }
        return EventSequence(listener) { [self] in remove(observer) }
    }

    /// Calls a closure with every event, until the observation is canceled.
    func makeObservation(on lane: any Lane, _ handler: @escaping @Sendable (ObservedEvent) -> Void) -> Observation {
        let delivery = ObserverDelivery(lane, handler)
        let observer = Observer(receive: delivery.receive, end: delivery.end)
        add { first in
            delivery.keep(first)
            return observer
        }
        delivery.begin()
        return Observation { [weak self] in
            delivery.cancel()
            self?.remove(observer)
        }
    }
}
