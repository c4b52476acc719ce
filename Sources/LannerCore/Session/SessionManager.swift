import Dispatch
import Foundation
import LannerMachine

/// Downloads files: queues, pauses, resumes, verifies and remembers them.
///
/// Keep it as long as downloads are to run, for its tasks do not: when it is let go of it ends as by ``invalidate()``.
///
/// Managers with different identifiers never touch each other, where neither a `store` nor a
/// ``Cache/downloadFilePath`` is given to both. One directory has one manager at a time, in this
/// process and in others: a second one cannot be used, and says so in ``unavailable``.
///
/// Every method may be called on any thread, also from inside any callback. Callbacks run on the main queue or on
/// ``operationQueue``, as each was asked for. A handler that is given to a method is called exactly once, never inside
/// that method, also when there was nothing to do, and when the manager is invalidated meanwhile.
public final class SessionManager: Sendable {
    /// The name that tells this manager's downloads from those of others.
    public let identifier: String
    /// The queue of callbacks that did not ask for the main queue. Where it is serial, as the manager's own is, one that blocks
    /// holds up all behind it.
    public let operationQueue: DispatchQueue
    /// The directories.
    public let cache: Cache
    /// Why the manager cannot be used: ``LannerError/storeError(_:)`` when its directory is in use or its records cannot be
    /// read, ``LannerError/cacheError(path:message:)`` when a directory cannot be made or read. Nil when all is well.
    /// No file or record that is there is changed by a manager that cannot be used; directories and lock files may be
    /// made.
    public let unavailable: LannerError?
    /// What of the records could not be restored when the manager was made, one sentence for each; they are logged as well.
    /// Empty when all is well.
    public let restorationProblems: [String]

    let engine: Engine
    let state: Locked<ManagerState>

    /// Makes a manager over a transport, and restores the downloads of its records.
    ///
    /// Blocks while the records are read. A file that was just being put into its place when the process ended is
    /// compared with its digest meanwhile, which takes as long as reading it; where no digest was given, its size decides.
    /// Its task is ``Status/running`` until that is on record, and succeeds then. One of more than 16 MiB that has a digest
    /// is compared only when its task goes on: until then it is suspended, with all of its bytes.
    ///
    /// - Parameters:
    ///   - identifier: Names the manager; the default cache and log lines go by it. Without a `cache`, all programs of a
    ///     user that give the same one have the same downloads, one program at a time, unless they are in sandboxes: take
    ///     one in reverse-DNS style, such as "com.example.podcasts".
    ///   - configuration: May be changed later.
    ///   - transport: Carries out the exchanges; the manager invalidates it in the end, so that each needs its own.
    ///   - store: Keeps the records; a ``FileStore`` in the cache's `downloadPath` when nil. With a ``MemoryStore``
    ///     nothing is remembered.
    ///   - clock: Where time comes from; a ``SystemClock`` when nil.
    ///   - network: Tells what network there is; the system's monitor when nil, on Linux and watchOS
    ///     ``UnwatchedNetwork``, with which a download over a network that is gone fails once its retries are used up,
    ///     unless the system waits, as with a background session.
    ///   - logger: Takes log lines. When nil, they go to standard error, one for every status of every task, until
    ///     ``Logable/option`` of ``logger`` is ``LogOption/none``.
    ///   - cache: The directories; when nil, the defaults for the identifier, in the user's cache directory.
    ///   - operationQueue: The queue of callbacks that do not ask for the main queue. A serial one keeps their order.
    ///     One of the manager's own when nil, which is quicker: where others use that one, too, the order between them
    ///     and the callbacks is left open.
    ///   - linkProvider: Gives other links to files whose links expire or are refused; nil when there are none.
    ///   - hasherProvider: Makes the hashers that files and pieces are compared by, from another implementation of the
    ///     same algorithms; the library's own when nil.
    public convenience init(
        _ identifier: String, configuration: SessionConfiguration = SessionConfiguration(),
        transport: any Transport, store: (any Store)? = nil, clock: (any Clock)? = nil,
        network: (any NetworkMonitor)? = nil, logger: (any Logable)? = nil, cache: Cache? = nil,
        operationQueue: DispatchQueue? = nil, linkProvider: DownloadLink.Provider? = nil,
        hasherProvider: Checksum.HasherProvider? = nil
    ) {
        self.init(
            identifier, configuration: configuration, transport: transport, store: store, logger: logger, cache: cache,
            operationQueue: operationQueue,
            environment: Environment(
                clock: clock ?? SystemClock(), network: network ?? DefaultNetworkMonitor.make(),
                makeHasher: hasherProvider ?? { $0.makeHasher() }, links: linkProvider.map { ProvidedLinks($0) }))
    }

    package init(
        _ identifier: String, configuration: SessionConfiguration, transport: any Transport, store: (any Store)?,
        logger: (any Logable)?, cache: Cache?, operationQueue: DispatchQueue?, environment: Environment
    ) {
        self.identifier = identifier
        let queue = operationQueue ?? DispatchQueue(label: "lanner.operationQueue")
        self.operationQueue = queue
        let queueLane: any Lane = operationQueue == nil ? PooledLane("operation", on: queue) : DispatchLane(queue)
        let cache = cache ?? Cache(identifier)
        self.cache = cache
        let startup = Startup(cache: cache, environment: environment, store: store)
        (unavailable, restorationProblems) = (startup.error, startup.problems)
        engine = Engine(
            environment: environment, transport: transport, store: startup.store, cache: cache,
            operationLane: environment.operationLane ?? queueLane, identity: startup.identity,
            settings: configuration.settings(transport.traits, in: environment),
            logger: logger ?? ConsoleLogger(identifier: identifier))
        state = Locked(ManagerState(configuration: configuration))
        engine.begin(self, configuration, startup)
    }

    deinit {
        endActivity()
        engine.managerIsGone()
    }

    // MARK: Properties

    /// What the manager works by. A change applies at once. To get and to set it are two steps, each safe on any
    /// thread: to change single fields from several threads is for you to order.
    public var configuration: SessionConfiguration {
        get { state.withLock { $0.configuration } }
        set {
            state.withLock { $0.configuration = newValue }
            // Of two that are set at once the engine takes the one that stays.
            engine.apply { state.withLock { $0.configuration } }
        }
    }

    /// Takes the log lines.
    public var logger: any Logable {
        get { engine.logging.withLock { $0.logger } }
        set { engine.logging.replace(\.logger, by: newValue) }
    }

    /// Where the tasks stand as a whole: running while any runs, waits, or is being suspended, canceled or removed; else
    /// suspended, failed or succeeded, the first that any task is; canceled or removed when the last task went that way;
    /// waiting before the first.
    public var status: Status { engine.state.withLock { $0.totals.status } }

    /// Every task of the present context, in order. O(n log n).
    public var tasks: [DownloadTask] { engine.tasks { $0.scope.ids } }

    /// The tasks of the present context that have succeeded, in order. Nobody looks whether the file of each is still there:
    /// it may have been taken away since, or replaced by that of another task (``FileConflictPolicy/replace``). O(n log n) in
    /// the number of these.
    public var succeededTasks: [DownloadTask] { engine.tasks { $0.scope.roll.ids([.succeeded]) } }

    /// The progress in bytes of all tasks whose sizes are known. The same object every time. Once it has been asked for it
    /// moves by itself as tasks do, on any thread, also inside a call of yours; and whenever it is asked for here.
    public var progress: Progress {
        let (progress, isMine) = state.withLock { ($0.progress, $0.beginProgress()) }
        guard isMine else { return progress }
        repeat {
            let totals = engine.state.withLock { state in
                state.isProgressShown = true
                return state.totals
            }
            progress.set(completed: totals.completedOfTotal, total: totals.total)
        } while state.withLock { $0.endProgress() }
        return progress
    }

    /// Bytes a second of all running tasks.
    public var speed: Int64 { engine.running.reduce(0) { $0 &+ $1.speed } }

    /// Seconds until all tasks whose sizes are known are done at the present speed; 0 when that cannot be told.
    public var timeRemaining: Int64 {
        let totals = engine.state.withLock { $0.totals }
        let speed = speed
        // Sizes are what servers say: their sum may be too much.
        let (rest, isTooMuch) = totals.total.subtractingReportingOverflow(totals.completedOfTotal)
        return speed > 0 && !isTooMuch ? max(0, rest) / speed : 0
    }

    /// Ends everything, and returns when that is done: every transfer has stopped, what it received is written and
    /// recorded, files, store and transport are closed, and the directory is free for another manager. To that one the
    /// downloads look as if the process had ended here; transfers that outlive the process go on, for that one to take
    /// up. The same happens when a manager is let go of.
    ///
    /// Handlers that wait are called. No other callback comes any more, except those that are already on their queue, and
    /// that of a comparison of a finished file that is under way, which is given up soon; ``networkActivityHandler`` is
    /// told that nothing runs. Whatever a call asks for later is not done, which is logged as
    /// ``LannerError/invalidated``. Every ``DownloadTask/status`` stays what it was, that of a task that ran as well. Only how
    /// things stand is still told to whoever asks then: a closure for the end of a task that is at rest is called once, and
    /// so is an observer. A second call waits for the first.
    ///
    /// May be called from every callback, on any queue. Only the manager's own work cannot wait for itself: inside the
    /// logger, or in an observer of a `Progress`, this returns at once, and all of the above holds soon after the logger
    /// or the observer has returned. Elsewhere it waits for the disk, up to five seconds for what a transport with
    /// resume data leaves, and for a logger or an observer that runs meanwhile: do not call it while you hold something
    /// that they need.
    public func invalidate() {
        engine.invalidate()
    }
}

/// What a manager's lock guards.
struct ManagerState {
    var configuration: SessionConfiguration
    /// Nobody's part: what is current when the manager is made would wait for it.
    let progress = Progress.discreteProgress(totalUnitCount: 0)
    /// Who changes `progress` just now: one thread at a time, since it is not made for more on Linux, and not under
    /// the lock, since its observers run meanwhile.
    private var progressTurn = Turn.free
    var callbacks = Callbacks<SessionManager>()
    var pending = PendingCalls()
    /// How often the end of all was told.
    var ends = 0
    /// Whether a notification that the disk is full is on its way.
    var isFullSpacePending = false
    var taskCompletion: Callback<DownloadTask>?
    var activitySign: ActivitySign?
    var tellsActivity = true

    init(configuration: SessionConfiguration) {
        self.configuration = configuration
    }

    /// The closures, which are let go of outside the lock: they may hold anything.
    mutating func takeCallbacks() -> [Any] {
        defer { (callbacks, taskCompletion, activitySign) = (Callbacks(), nil, nil) }
        return [callbacks, taskCompletion as Any, activitySign as Any]
    }

    private enum Turn {
        case free
        case taken
        /// Another has asked meanwhile.
        case wanted
    }

    /// Whether the caller is the one to change the progress; else whoever does so does it once more.
    mutating func beginProgress() -> Bool {
        let isFree = progressTurn == .free
        progressTurn = isFree ? .taken : .wanted
        return isFree
    }

    /// Ends the turn, unless the progress has to be changed once more; whether it has.
    mutating func endProgress() -> Bool {
        let isWanted = progressTurn == .wanted
        progressTurn = isWanted ? .taken : .free
        return isWanted
    }
}
