/// Somebody who is told of events, on the thread that tells: the closures are quick, and call no code of others.
final class Observer<Event: Sendable>: Sendable {
    private let take: @Sendable (Event) -> Void
    /// Wakes who waits for what was kept: not under a lock, which whoever cancels the one that waits may need.
    let tell: @Sendable () -> Void
    /// Nothing more comes. Not under a lock either.
    let end: @Sendable () -> Void
    /// Whether it was removed, perhaps before it was added.
    fileprivate let isUnwanted = Locked(false)
    /// What has come before it is told how things stand; nil when that does not wait.
    private let early = Locked<[Event]?>(nil)

    init(
        keep: @escaping @Sendable (Event) -> Void, tell: @escaping @Sendable () -> Void = {},
        end: @escaping @Sendable () -> Void = {}
    ) {
        (take, self.tell, self.end) = (keep, tell, end)
    }

    /// Takes an event, which is told once `tell` is called: may be called under a lock.
    func keep(_ event: Event) {
        early.withLock { if $0 == nil { take(event) } else { $0?.append(event) } }
    }

    /// Holds back what comes until it is told how things stand.
    func hold() {
        early.withLock { $0 = [] }
    }

    fileprivate var isHeld: Bool { early.withLock { $0 != nil } }

    func receive(_ event: Event) {
        keep(event)
        tell()
    }
}

/// Who is told of the events of one source. Kept with what the events are about, under the same lock, so that an observer
/// is told of everything that comes behind what it found, and of nothing before.
struct Observers<Event: Sendable>: Sendable {
    private(set) var all: [Observer<Event>] = []
    /// Whether nothing more comes.
    private(set) var isOver = false

    /// Adds an observer, unless it was removed already; false when nothing more comes.
    mutating func add(_ observer: Observer<Event>) -> Bool {
        if isOver { return false }
        if !observer.isUnwanted.withLock({ $0 }), !all.contains(where: { $0 === observer }) { all.append(observer) }
        return true
    }

    /// Removes an observer, and gives it back, to be let go of outside the lock.
    mutating func remove(_ observer: Observer<Event>) -> Observer<Event>? {
        observer.isUnwanted.withLock { $0 = true }
        return all.firstIndex { $0 === observer }.map { all.remove(at: $0) }
    }

    /// Nothing more comes; returns those who have to be told that. Who is yet to be told how things stand learns it then.
    mutating func end() -> [Observer<Event>] {
        isOver = true
        defer { all = [] }
        return all.filter { !$0.isHeld }
    }
}

/// What can be observed.
protocol EventSource: AnyObject, Sendable {
    associatedtype ObservedEvent: QueuedEvent

    /// Lets somebody begin to listen behind all that was asked for before, so that how things stand is what came of that.
    func listen(_ begin: @escaping @Sendable () -> Void)
    /// Adds an observer before `listen` calls back, to hold back what comes until then; where `first` says all of that,
    /// nothing.
    func addEarly(_ observer: Observer<ObservedEvent>)
    /// Adds an observer, made under the lock with the event that says how things stand; ends it at once when nothing more
    /// comes.
    func add(_ makeObserver: (ObservedEvent) -> Observer<ObservedEvent>)
    func remove(_ observer: Observer<ObservedEvent>)
}

extension Observer where Event: QueuedEvent {
    /// Takes how things stand, and behind that what was held back, but for what that says as well.
    fileprivate func begin(with first: Event) {
        early.withLock { early in
            take(first)
            for event in early ?? [] where event.subject != nil { take(event) }
            early = nil
        }
    }
}

extension EventSource {
    func addEarly(_: Observer<ObservedEvent>) {}

    /// A sequence of its own for whoever asks.
    func makeSequence() -> EventSequence<ObservedEvent> {
        let listener = Listener<ObservedEvent>()
        let observer = Observer(keep: listener.keep, tell: listener.tell, end: listener.end)
        begin(observer)
        return EventSequence(listener) { [self] in remove(observer) }
    }

    /// Calls a closure with every event, until the observation is canceled.
    func makeObservation(on lane: any Lane, _ handler: @escaping @Sendable (ObservedEvent) -> Void) -> EventObservation
    {
        let delivery = ObserverDelivery(lane, handler)
        let observer = Observer(keep: delivery.keep, tell: delivery.tell, end: delivery.end)
        begin(observer)
        return EventObservation { [weak self] in
            delivery.cancel()
            self?.remove(observer)
        }
    }

    /// Tells an observer how things stand, and then what comes.
    private func begin(_ observer: Observer<ObservedEvent>) {
        addEarly(observer)
        listen { [self] in
            add { first in
                observer.begin(with: first)
                return observer
            }
            observer.tell()
        }
    }
}
