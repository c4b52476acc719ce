/// An event that may have to wait for who is told of it.
protocol QueuedEvent: Sendable {
    /// What it is about; nil for the whole.
    var subject: ObjectIdentifier? { get }
    /// Whether a later one of the same kind says all that it says.
    var isProgress: Bool { get }
}

/// Events that wait for somebody slow.
///
/// Of the progress of one subject only the latest waits, until something else of that subject has come behind it; nothing
/// else is dropped. So what waits is at most one event for each subject and two for each change that was no progress.
struct EventQueue<Event: QueuedEvent>: Sendable {
    private var events = Fifo<Event>()
    /// The number of the progress of each subject that a later one takes the place of.
    private var latest: [ObjectIdentifier?: Int] = [:]

    var count: Int { events.count }

    mutating func append(_ event: Event) {
        let subject = event.subject
        if event.isProgress, let number = latest[subject] { return events.replace(number, by: event) }
        let number = events.append(event)
        latest[subject] = event.isProgress ? number : nil
    }

    mutating func popFirst() -> Event? {
        let number = events.firstNumber
        guard let event = events.popFirst() else { return nil }
        if event.isProgress, latest[event.subject] == number { latest[event.subject] = nil }
        return event
    }
}

extension DownloadEvent: QueuedEvent {
    var subject: ObjectIdentifier? { nil }

    var isProgress: Bool {
        switch self {
        case .progress: true
        case .status, .restarted, .retrying, .response: false
        }
    }
}

extension SessionEvent: QueuedEvent {
    var subject: ObjectIdentifier? {
        switch self {
        case .added(let task), .task(let task, _), .removed(let task): ObjectIdentifier(task)
        case .status, .progress: nil
        }
    }

    var isProgress: Bool {
        switch self {
        case .progress: true
        case .task(_, let event): event.isProgress
        case .added, .removed, .status: false
        }
    }
}

extension AggregateProgress: QueuedEvent {
    var subject: ObjectIdentifier? { nil }
    var isProgress: Bool { true }
}
