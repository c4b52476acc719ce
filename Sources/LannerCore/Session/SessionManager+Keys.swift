import LannerMachine

// Verbs by key, and over several tasks at the cost of one.

extension SessionManager {
    /// Starts the task of a key, or starts it again.
    ///
    /// - Parameters:
    ///   - key: The key of the task.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, as when the task itself is given. When there is
    ///     no task with the key, it is given one of no manager, whose ``DownloadTask/error`` is
    ///     ``LannerError/noTask(key:)``: that has the key, and the task's own need not be the same.
    public func start(
        key: String, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.start, key: key, true, onMainQueue, handler)
    }

    /// Starts several tasks.
    ///
    /// - Parameters:
    ///   - tasks: The tasks; those that are not, or no longer, this manager's are left out.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when all have been started; soon
    ///     when there are none.
    public func start(
        _ tasks: [DownloadTask], onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.start, { $0.ids(of: tasks) }, true, onMainQueue, handler, self)
    }

    /// The same for the tasks of some keys of the present context; those that have none are skipped, and logged.
    public func start(
        keys: [String], onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.start, whom(keys), true, onMainQueue, handler, self)
    }

    /// Stops the task of a key, and keeps what is there of the file.
    ///
    /// - Parameters:
    ///   - key: The key of the task.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, as when the task itself is given. When there is
    ///     no task with the key, it is given one of no manager, whose ``DownloadTask/error`` is
    ///     ``LannerError/noTask(key:)``: that has the key, and the task's own need not be the same.
    public func suspend(
        key: String, startsNext: Bool = true, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.suspend, key: key, startsNext, onMainQueue, handler)
    }

    /// Stops several tasks, and keeps what is there of their files.
    ///
    /// - Parameters:
    ///   - tasks: The tasks; those that are not, or no longer, this manager's are left out.
    ///   - startsNext: Whether the places of those that run are given to others; else they stay empty until something is
    ///     started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when all have come to rest; soon
    ///     when there are none.
    public func suspend(
        _ tasks: [DownloadTask], startsNext: Bool = true, onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.suspend, { $0.ids(of: tasks) }, startsNext, onMainQueue, handler, self)
    }

    /// The same for the tasks of some keys of the present context; those that have none are skipped, and logged.
    public func suspend(
        keys: [String], startsNext: Bool = true, onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.suspend, whom(keys), startsNext, onMainQueue, handler, self)
    }

    /// Stops and forgets the task of a key, unless it has succeeded, and deletes what is there of its file, unless
    /// ``SessionConfiguration/keepsPartialFileOnCancel`` is set.
    ///
    /// - Parameters:
    ///   - key: The key of the task.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, as when the task itself is given. When there is
    ///     no task with the key, it is given one of no manager, whose ``DownloadTask/error`` is
    ///     ``LannerError/noTask(key:)``: that has the key, and the task's own need not be the same.
    public func cancel(
        key: String, startsNext: Bool = true, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) {
        perform(.cancel, key: key, startsNext, onMainQueue, handler)
    }

    /// Stops and forgets several tasks, except those that have succeeded, and deletes what is there of their files, unless
    /// ``SessionConfiguration/keepsPartialFileOnCancel`` is set.
    ///
    /// - Parameters:
    ///   - tasks: The tasks; those that are not, or no longer, this manager's are left out.
    ///   - startsNext: Whether the places of those that run are given to others; else they stay empty until something is
    ///     started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when they are gone, and their files
    ///     deleted or recorded as left; soon when there are none.
    public func cancel(
        _ tasks: [DownloadTask], startsNext: Bool = true, onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.cancel, { $0.ids(of: tasks) }, startsNext, onMainQueue, handler, self)
    }

    /// The same for the tasks of some keys of the present context; those that have none are skipped, and logged.
    public func cancel(
        keys: [String], startsNext: Bool = true, onMainQueue: Bool, handler: Handler? = nil
    ) {
        perform(.cancel, whom(keys), startsNext, onMainQueue, handler, self)
    }

    /// Forgets the task of a key, whatever it is, and what a canceled one has left.
    ///
    /// - Parameters:
    ///   - key: The key of the task.
    ///   - completely: Whether a finished file is deleted, too: when the program dies meanwhile, at the next launch. Where
    ///     the disk refuses that, or the store to forget the task, ``DownloadTask/error`` says why.
    ///   - startsNext: Whether the task's place among those that run is given to another; else it stays empty until
    ///     something is started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, as when the task itself is given. When there is
    ///     no task with the key, it is given one of no manager, whose ``DownloadTask/error`` is
    ///     ``LannerError/noTask(key:)``: that has the key, and the task's own need not be the same.
    public func remove(
        key: String, completely: Bool = false, startsNext: Bool = true, onMainQueue: Bool,
        handler: DownloadTask.Handler? = nil
    ) {
        perform(.remove(completely: completely), key: key, startsNext, onMainQueue, handler)
    }

    /// Forgets several tasks, whatever they are.
    ///
    /// - Parameters:
    ///   - tasks: The tasks; those that are not, or no longer, this manager's are left out.
    ///   - completely: Whether a finished file is deleted, too: when the program dies meanwhile, at the next launch. Where
    ///     the disk refuses that, or the store to forget the task, ``DownloadTask/error`` says why.
    ///   - startsNext: Whether the places of those that run are given to others; else they stay empty until something is
    ///     started.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when they and their files are gone; soon
    ///     when there are none.
    public func remove(
        _ tasks: [DownloadTask], completely: Bool = false, startsNext: Bool = true, onMainQueue: Bool,
        handler: Handler? = nil
    ) {
        perform(.remove(completely: completely), { $0.ids(of: tasks) }, startsNext, onMainQueue, handler, self)
    }

    /// The same for the tasks of some keys of the present context; those that have none are skipped, and logged, but what
    /// canceled ones have left is forgotten.
    public func remove(
        keys: [String], completely: Bool = false, startsNext: Bool = true, onMainQueue: Bool,
        handler: Handler? = nil
    ) {
        let whom = whom(keys) { key in engine.dropLeftover(ofKey: key) }
        perform(.remove(completely: completely), whom, startsNext, onMainQueue, handler, self)
    }

    /// Starts the tasks that were added without being started and of which nothing was asked since: as many as may run at
    /// once, the others wait in the order of ``tasks``. Fills what `suspend` and its like
    /// have left empty, too. Tasks that were suspended stay suspended.
    ///
    /// - Parameters:
    ///   - list: The list whose tasks are started; of the present context all when nil.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call, with the manager, when all have been started; soon when
    ///     there are none.
    public func startWaiting(list: String? = nil, onMainQueue: Bool, handler: Handler? = nil) {
        let suspended = { (state: EngineState) -> [DownloadID] in
            let ids = (list.map { state.scope.roll(of: $0) } ?? state.scope.roll).ids([.suspended, .succeeded])
            // Some may have been started, or added again, and nobody was told yet.
            return ids.filter { state.machine[$0]?.state == .suspended }.sorted()
        }
        perform(.startAdded, suspended, true, onMainQueue, handler, self)
    }

    // MARK: -

    private func perform(
        _ verb: Verb, key: String, _ startsNext: Bool, _ onMainQueue: Bool, _ handler: DownloadTask.Handler?
    ) {
        if let task = fetchTask(key: key) { return perform(verb, task, startsNext, onMainQueue, handler) }
        if case .remove = verb { engine.dropLeftover(ofKey: key) }
        performNothing(key, .noTask(key: key), onMainQueue, handler)
    }

    private func whom(
        _ keys: [String], orElse noteMissing: (_ key: String) -> Void = { _ in }
    ) -> (EngineState) -> [DownloadID] {
        let tasks = keys.compactMap { key in
            let task = fetchTask(key: key)
            if task == nil {
                engine.log { .error("nothing to do", error: LannerError.noTask(key: key)) }
                noteMissing(key)
            }
            return task
        }
        return { $0.ids(of: tasks) }
    }
}
