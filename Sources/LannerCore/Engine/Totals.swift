/// What of a task counts in its manager's totals.
struct TaskFigures: Equatable {
    var status: Status
    var completed: Int64
    /// Nil while it is not known.
    var total: Int64?

    /// Whether what ran, or was about to stop, stands still with what it has.
    func stops(since before: TaskFigures) -> Bool {
        [.running, .willSuspend].contains(before.status) && [.waiting, .suspended, .failed].contains(status)
    }
}

/// Sums over tasks, kept as they change.
struct Totals {
    private(set) var completed: Int64 = 0
    /// Of these the bytes of tasks whose sizes are known, and those sizes.
    private(set) var completedOfTotal: Int64 = 0
    private(set) var total: Int64 = 0
    /// How many tasks have a size that is known.
    private(set) var knownSizes = 0
    private(set) var counts = TaskCounts()
    /// How many tasks run, wait or are about to end.
    private var underway = 0
    /// What the manager is when it has no task left.
    private var lastEnd = Status.waiting

    mutating func add(_ figures: TaskFigures) { add(figures, 1) }

    mutating func remove(_ figures: TaskFigures) { add(figures, -1) }

    mutating func replace(_ before: TaskFigures, by after: TaskFigures) {
        remove(before)
        if after.status.isGone { lastEnd = after.status } else { add(after) }
    }

    private mutating func add(_ figures: TaskFigures, _ sign: Int64) {
        counts[figures.status] += Int(sign)
        if !figures.status.isAtRest { underway += Int(sign) }
        guard !figures.status.isGone else { return }
        completed &+= sign &* figures.completed
        guard let size = figures.total else { return }
        completedOfTotal &+= sign &* figures.completed
        total &+= sign &* size
        knownSizes += Int(sign)
    }

    /// The status of the manager: running while anything runs, waits or is about to end.
    var status: Status {
        if !isAtRest { return .running }
        if counts[.suspended] > 0 { return .suspended }
        if counts[.failed] > 0 { return .failed }
        return counts[.succeeded] > 0 ? .succeeded : lastEnd
    }

    /// Whether no task runs, waits or is about to end.
    var isAtRest: Bool { underway == 0 }
}

extension Status {
    /// Whether the task is no more.
    var isGone: Bool {
        switch self {
        case .canceled, .removed: true
        case .waiting, .running, .suspended, .failed, .succeeded, .willSuspend, .willCancel, .willRemove: false
        }
    }
}
