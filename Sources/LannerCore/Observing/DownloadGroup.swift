/// Several tasks, of one manager or of many, and where they stand as a whole.
///
/// ```swift
/// let group = DownloadGroup(manager.multiDownload(urls))
/// for await progress in group.updates {
///     print(progress.estimatedFractionCompleted)
///     if progress.isAtRest { break }
/// }
/// ```
public final class DownloadGroup: Sendable {
    /// The tasks, each once.
    public let tasks: [DownloadTask]
    private let sums: GroupSums

    /// A group of tasks. Costs as much as there are of them; afterwards a change of one costs no more in a large group than
    /// in a small one.
    public init(_ tasks: some Sequence<DownloadTask>) {
        var seen: Set<DownloadTask> = []
        self.tasks = tasks.filter { seen.insert($0).inserted }
        sums = GroupSums(self.tasks)
        sums.begin(self.tasks)
    }

    /// Where the tasks stand now, whatever is held back from ``updates``. Costs as much as there are of them.
    public var progress: AggregateProgress {
        var totals = Totals()
        for task in tasks { totals.add(task.state.withLock { $0.figures }) }
        return AggregateProgress(totals)
    }

    /// Where the tasks stand, from now on; at most every ``SessionConfiguration/progressInterval`` of the first task's
    /// manager, and when the last has come to rest. Only the latest waits for who is slow. Ends when nothing more can
    /// happen to any of the tasks: they are canceled or removed, or their managers invalidated. Any number may listen;
    /// they need not hold the group.
    public var updates: EventSequence<AggregateProgress> { sums.makeSequence() }

    /// Calls a closure with where the tasks stand, as ``updates`` tells it. Any number may be added.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on the operation queue of the first task's
    ///     manager.
    ///   - handler: Called in order, never inside this call, until the observation is canceled or let go of; never in a
    ///     group whose first task has no manager.
    /// - Returns: The observation: hold it for as long as the closure is to be called. It holds the group.
    public func observe(
        onMainQueue: Bool, handler: @escaping @Sendable (AggregateProgress) -> Void
    ) -> EventObservation {
        guard let engine = tasks.first?.engine else { return EventObservation {} }
        let observation = sums.makeObservation(on: engine.lane(onMainQueue: onMainQueue), handler)
        return EventObservation { [sums] in
            observation.cancel()
            withExtendedLifetime(sums) {}
        }
    }
}

extension [DownloadTask] {
    /// The tasks as a group.
    public var group: DownloadGroup { DownloadGroup(self) }
}

/// The sums of a group, kept as its tasks change. The tasks do not hold it.
final class GroupSums: EventSource {
    private struct State {
        var totals = Totals()
        var figures: [ObjectIdentifier: TaskFigures] = [:]
        var observers = Observers<AggregateProgress>()
        /// Of how many tasks more may come.
        var open = 0
        var pace = ProgressPace()

        /// Whether a task stands elsewhere now.
        mutating func take(_ new: TaskFigures, of task: DownloadTask) -> Bool {
            let old = figures.updateValue(new, forKey: ObjectIdentifier(task))
            guard old != new else { return false }
            if let old { totals.remove(old) }
            totals.add(new)
            return true
        }

        mutating func keep(at now: Duration, every interval: Duration) -> News? {
            observers.all.isEmpty ? nil : keep(pace.note(at: now, every: interval, isLast: totals.isAtRest))
        }

        /// Has the observers keep where all stand, or says when to come back. Under the lock, for tasks of several
        /// managers come at the same time: what comes behind is newer. The observers are queues of ours.
        func keep(_ verdict: ProgressPace.Verdict) -> News {
            switch verdict {
            case .tell:
                let progress = AggregateProgress(totals)
                for observer in observers.all { observer.keep(progress) }
                return News(observers: observers.all)
            case .withhold(let wake): return News(wake: wake)
            }
        }
    }

    /// What is left to do outside the lock.
    private struct News {
        /// Those who are told what they keep.
        var observers: [Observer<AggregateProgress>] = []
        /// When to come back for what was withheld.
        var wake: Duration?
    }

    private let state = Locked(State())
    private let observed = Locked<[(task: DownloadTask, observer: Observer<DownloadEvent>)]>([])
    /// Those of the tasks' managers, each once; the clock and the interval of the first are the group's.
    private let engines: [Engine]
    private var engine: Engine? { engines.first }

    init(_ tasks: [DownloadTask]) {
        var seen: Set<ObjectIdentifier> = []
        engines = tasks.compactMap(\.engine).filter { seen.insert(ObjectIdentifier($0)).inserted }
        state.withLock { $0.open = tasks.count }
    }

    deinit {
        for (task, observer) in observed.withLock({ $0 }) { task.remove(observer) }
    }

    func begin(_ tasks: [DownloadTask]) {
        for task in tasks {
            let observer = Observer<DownloadEvent>(
                keep: { _ in }, tell: { [weak self, unowned task] in self?.follow(task) },
                end: { [weak self] in self?.close() })
            observed.withLock { $0.append((task, observer)) }
            task.add { _ in observer }
            follow(task)
        }
    }

    /// A task may stand elsewhere now.
    private func follow(_ task: DownloadTask) {
        let (now, interval) = (engine?.environment.clock.now ?? .zero, engine?.progressInterval ?? .zero)
        let news = state.withLock { state in
            // Inside: of two who come at the same time none leaves what is older.
            state.take(task.state.withLock { $0.figures }, of: task) ? state.keep(at: now, every: interval) : nil
        }
        if let news { tell(news) }
    }

    private func tell(_ news: News) {
        for observer in news.observers { observer.tell() }
        guard let wake = news.wake else { return }
        engine?.environment.clock.wake(at: wake) { [weak self] in self?.wake() }
    }

    /// The time of what was withheld has come.
    private func wake() {
        let (now, interval) = (engine?.environment.clock.now ?? .zero, engine?.progressInterval ?? .zero)
        let news = state.withLock { state in
            state.pace.wake(at: now, every: interval).map { state.keep($0) }
        }
        if let news { tell(news) }
    }

    /// Nothing more can happen to one of the tasks.
    private func close() {
        let observers = state.withLock { state in
            state.open -= 1
            return state.open == 0 ? state.observers.end() : []
        }
        for observer in observers { observer.end() }
    }

    // MARK: Observers

    func listen(_ begin: @escaping @Sendable () -> Void) {
        engines.reduce(begin) { next, engine in { engine.listen(next) } }()
    }

    func add(_ makeObserver: (AggregateProgress) -> Observer<AggregateProgress>) {
        let (observer, isAdded) = state.withLock { state in
            let observer = makeObserver(AggregateProgress(state.totals))
            return (observer, state.open > 0 && state.observers.add(observer))
        }
        if !isAdded { observer.end() }
    }

    func remove(_ observer: Observer<AggregateProgress>) {
        _ = state.withLock { $0.observers.remove(observer) }
    }
}
