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
    /// What lies before `head` was taken.
    private var events: [Event?] = []
    private var head = 0
    /// How many were taken out of `events` for good: the number of the first one there.
    private var base = 0
    /// The number of the progress of each subject that a later one takes the place of.
    private var latest: [ObjectIdentifier?: Int] = [:]

    var count: Int { events.count - head }

    mutating func append(_ event: Event) {
        let subject = event.subject
        if !event.isProgress {
            latest[subject] = nil
        } else if let number = latest[subject] {
            events[number - base] = event
            return
        } else {
            latest[subject] = base + events.count
        }
        events.append(event)
    }

    mutating func popFirst() -> Event? {
        guard head < events.count, let event = events[head] else { return nil }
        if event.isProgress, latest[event.subject] == base + head { latest[event.subject] = nil }
        events[head] = nil
        head += 1
        // Now and then, so that taking stays cheap.
        if head == events.count || (head >= 64 && head * 2 >= events.count) {
            events.removeFirst(head)
            (base, head) = (base + head, 0)
        }
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
