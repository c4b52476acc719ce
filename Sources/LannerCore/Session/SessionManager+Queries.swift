import LannerMachine

// Questions about the tasks of the present context; none costs more than its answer.

extension SessionManager {
    /// The tasks that wait, run, are suspended or have failed, in order.
    public var tasksInProgress: [DownloadTask] { engine.tasks { $0.scope.roll.ids(Status.inProgress) } }

    /// The tasks of a list, or those that have none, in order.
    public func tasks(list: String?) -> [DownloadTask] {
        engine.tasks { $0.scope.roll(of: list).ids(Status.allCases) }
    }

    /// The tasks of a list, or those that have none, that wait, run, are suspended or have failed, in order.
    public func tasksInProgress(list: String?) -> [DownloadTask] {
        engine.tasks { $0.scope.roll(of: list).ids(Status.inProgress) }
    }

    /// The tasks of a list, or those that have none, that have succeeded, in order; see ``SessionManager/succeededTasks``.
    public func succeededTasks(list: String?) -> [DownloadTask] {
        engine.tasks { $0.scope.roll(of: list).ids([.succeeded]) }
    }

    /// How many tasks there are. O(1).
    public var taskCounts: TaskCounts { engine.state.withLock { TaskCounts($0.scope.roll) } }

    /// How many tasks of a list there are, or of those that have none. O(1).
    public func taskCounts(list: String?) -> TaskCounts {
        engine.state.withLock { TaskCounts($0.scope.roll(of: list)) }
    }

    /// Where the task of a key stands; nil when there is none. O(1).
    public func status(key: String) -> Status? { fetchTask(key: key)?.status }
}

extension Status {
    /// Whether the task has yet to succeed and may still: it waits, runs, is suspended or has failed.
    public var isInProgress: Bool {
        switch self {
        case .waiting, .running, .suspended, .failed, .willSuspend: true
        case .canceled, .removed, .succeeded, .willCancel, .willRemove: false
        }
    }

    static let inProgress = allCases.filter(\.isInProgress)

    /// Its place among all cases.
    var position: Int {
        switch self {
        case .waiting: 0
        case .running: 1
        case .suspended: 2
        case .canceled: 3
        case .failed: 4
        case .removed: 5
        case .succeeded: 6
        case .willSuspend: 7
        case .willCancel: 8
        case .willRemove: 9
        }
    }
}

/// How many tasks have which status.
public struct TaskCounts: Sendable, Hashable {
    /// In the order of the statuses.
    private var counts = [Int](repeating: 0, count: Status.allCases.count)

    init() {}

    init(_ roll: Roll) {
        for status in Status.allCases { self[status] = roll.count(status) }
    }

    /// How many have one status.
    public internal(set) subscript(status: Status) -> Int {
        get { counts[status.position] }
        set { counts[status.position] = newValue }
    }

    /// How many there are.
    public var all: Int { counts.reduce(0, +) }

    /// How many have yet to succeed and may still; see ``Status/isInProgress``.
    public var inProgress: Int { Status.inProgress.reduce(0) { $0 + self[$1] } }
}
