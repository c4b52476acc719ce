/// What happens to the tasks of a manager's present context and to the manager, as ``SessionManager/events`` tells it.
public enum SessionEvent: Sendable {
    /// A task was added; comes before anything else of it.
    case added(DownloadTask)
    /// Something happened to a task.
    case task(DownloadTask, DownloadEvent)
    /// A task was canceled or removed, and is in ``SessionManager/tasks`` no more; comes behind everything else of it.
    case removed(DownloadTask)
    /// All tasks together are further, or there are more or fewer of them.
    case progress(AggregateProgress)
    /// The manager stands elsewhere now. When the status ``Status/isAtRest``, nothing runs or waits any more. Told also
    /// when another context is shown.
    case status(Status)
}

/// Where several tasks stand as a whole. Canceled and removed tasks of a group count as such, but not their bytes; a manager
/// has none.
public struct AggregateProgress: Sendable, Hashable {
    /// Bytes that are there, those of tasks whose sizes are not known included.
    public let completedBytes: Int64
    /// The sum of the sizes that are known.
    public let totalBytes: Int64
    /// How many tasks have a size that is known.
    public let knownSizes: Int
    /// How many tasks have which status.
    public let counts: TaskCounts
    /// Whether no task runs, waits or is about to end; true where there is none.
    public let isAtRest: Bool
    private let completedOfTotal: Int64

    init(_ totals: Totals) {
        (completedBytes, totalBytes) = (totals.completed, totals.total)
        (knownSizes, counts, completedOfTotal) = (totals.knownSizes, totals.counts, totals.completedOfTotal)
        isAtRest = totals.isAtRest
    }

    /// How many tasks have bytes that count.
    private var tasks: Int { counts.all - counts[.canceled] - counts[.removed] }

    /// Whether ``totalBytes`` is the size of all that is here.
    public var isTotalKnown: Bool { knownSizes == tasks }

    /// How much is there, between 0 and 1, where those whose sizes are not known yet are taken to be as large as the others
    /// are on average, and no smaller than what is there of them; 0 while none is known. For a bar, which is not full with
    /// the first of many then; it goes back where a task turns out to be larger.
    public var estimatedFractionCompleted: Double {
        guard knownSizes > 0, knownSizes < tasks else { return fractionCompleted }
        if totalBytes <= 0 { return Double(counts[.succeeded]) / Double(tasks) }
        let average = Double(totalBytes) / Double(knownSizes)
        let ofOthers = max(average * Double(tasks - knownSizes), Double(completedBytes) - Double(completedOfTotal))
        return min(1, max(0, Double(completedBytes) / (Double(totalBytes) + ofOthers)))
    }

    /// How much is there, between 0 and 1, of the tasks whose sizes are known; 0 while none is. While others have yet to
    /// begin, that may be all: see ``estimatedFractionCompleted``.
    public var fractionCompleted: Double {
        if totalBytes <= 0 { return tasks > 0 && counts[.succeeded] == tasks ? 1 : 0 }
        return min(1, max(0, Double(completedOfTotal) / Double(totalBytes)))
    }
}
