/// What of a task counts in its manager's totals.
struct TaskFigures: Equatable {
    var status: Status
    var completed: Int64
    var total: Int64
}

/// Sums over all tasks, kept as they change.
struct Totals {
    private(set) var completed: Int64 = 0
    private(set) var total: Int64 = 0
    /// How many tasks run, wait or are about to end.
    private var underway = 0
    private var suspended = 0
    private var failed = 0
    private var succeeded = 0
    /// What the manager is when it has no task left.
    private var lastEnd = Status.waiting

    mutating func add(_ figures: TaskFigures) {
        completed &+= figures.completed
        total &+= figures.total
        count(1, figures.status)
    }

    mutating func replace(_ before: TaskFigures, by after: TaskFigures) {
        remove(before)
        if after.status == .canceled || after.status == .removed {
            lastEnd = after.status
        } else {
            add(after)
        }
    }

    private mutating func remove(_ figures: TaskFigures) {
        completed &-= figures.completed
        total &-= figures.total
        count(-1, figures.status)
    }

    private mutating func count(_ change: Int, _ status: Status) {
        switch status {
        case .waiting, .running, .willSuspend, .willCancel, .willRemove: underway += change
        case .suspended: suspended += change
        case .failed: failed += change
        case .succeeded: succeeded += change
        case .canceled, .removed: break
        }
    }

    /// The status of the manager: running while anything runs, waits or is about to end.
    var status: Status {
        if underway > 0 { return .running }
        if suspended > 0 { return .suspended }
        if failed > 0 { return .failed }
        return succeeded > 0 ? .succeeded : lastEnd
    }
}
