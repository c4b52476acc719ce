import LannerMachine

/// Events that wait for the drainer.
struct Inbox {
    struct Entry {
        let event: Event
        let time: EngineState.Time
    }

    private var entries: [Entry] = []
    /// Whether a drainer is there, who looks here before it goes.
    private var isWatched = false
    /// Whether nothing is taken any more.
    private var isClosed = false

    mutating func watch() { isWatched = true }

    /// Whether the drainer will take them, if anybody does.
    mutating func add(_ events: [Event], _ time: EngineState.Time) -> Bool {
        if isClosed { return true }
        for event in events { entries.append(Entry(event: event, time: time)) }
        return isWatched
    }

    /// The same of one.
    mutating func add(_ event: Event, _ time: EngineState.Time) -> Bool {
        if isClosed { return true }
        entries.append(Entry(event: event, time: time))
        return isWatched
    }

    /// Gives all that waits, for an empty array.
    mutating func takeAll(into taken: inout [Entry]) {
        swap(&entries, &taken)
    }

    /// The drainer goes, unless something is there.
    mutating func leave() -> Bool {
        isWatched = !entries.isEmpty
        return !isWatched
    }

    /// What comes from now on is dropped.
    mutating func close() { isClosed = true }
}
