import Foundation
import LannerMachine

/// One download of a ``SessionManager``, which makes it and carries it out.
///
/// All properties may be read on any thread; each is a snapshot of its own.
public final class DownloadTask: Sendable {
    /// What the task is known by in its manager: the key of its ``DownloadRequest``, else the text of its URL.
    public let key: String
    /// The context the task belongs to. See ``SessionManager/context``.
    public let context: String?

    package let id: DownloadID
    let cache: Cache
    let state: Locked<TaskState>

    init(id: DownloadID, identity: Identity, cache: Cache, state: TaskState) {
        self.id = id
        key = identity.key
        context = identity.context
        self.cache = cache
        self.state = Locked(state)
    }

    /// A task that no manager has and that never changes: what a handler is told with when there is no other.
    convenience init(nowhere url: any URLConvertible, _ status: Status, _ error: any Error, _ cache: Cache) {
        let url = (try? url.asURL()) ?? URL(fileURLWithPath: "/dev/null")
        var state = TaskState(engine: nil, status: status, url: url, place: FilePlace(FileName.standard(for: url)))
        state.error = error
        self.init(
            id: DownloadID(0), identity: Identity(context: nil, key: url.absoluteString), cache: cache, state: state)
    }

    /// The URL the task was last asked for by. Redirects do not change it; where they led says ``currentURL``.
    public var url: URL { state.withLock { $0.url } }

    /// The list whose limit the task keeps; nil for none.
    public var list: String? { state.withLock { $0.list } }

    /// What the program wants to remember with the task. Kept in the task's record, which is written again and again
    /// while the task runs: keep it small.
    ///
    /// What is set is remembered soon; a task that is no manager's remembers it as long as it lives. To get and to set
    /// it are two steps, each safe on any thread: to change single values from several threads is for you to order.
    public var metadata: [String: String] {
        get { state.withLock { $0.metadata } }
        set {
            state.replace(\.metadata, by: newValue)
            engine?.record(self)
        }
    }

    /// How much the task matters: of those that wait, and whose list and host are not full, one of the highest priority
    /// runs next, and of these the first in the order of ``SessionManager/tasks``; of those that have failed and are tried
    /// again no more than half, while others of that priority wait (``RetryPolicy``).
    ///
    /// May be changed at any time, and is remembered. What runs goes on, also when one of a higher priority waits; while
    /// there are such, one of a lower priority does not run.
    public var priority: DownloadPriority {
        get { state.withLock { $0.priority } }
        set {
            if engine?.prioritize(self, newValue) != true { state.withLock { $0.priority = newValue } }
        }
    }

    /// How many bytes a second the task may take, at least 1: what is set below counts as 1. Nil, the default, for no
    /// limit but ``SessionConfiguration/maximumBytesPerSecond``, which holds as well.
    ///
    /// May be changed at any time, also while the task runs, and is remembered. Bytes of bodies are counted as they
    /// come. A quarter of a second's worth, or 16 KiB where that is more, may come at once; then the task's exchanges
    /// are paused until as much time has passed as it has taken, or, with a transport that cannot pause, the
    /// next, smaller slice is asked for so much later. What is on its way by then comes still, and is counted. Neither
    /// silence nor slowness that a limit brings about is a fault of the server: no timeout but
    /// ``SessionConfiguration/timeoutIntervalForResource`` runs meanwhile. A server may close a connection that takes
    /// nothing for long; the task goes on over another.
    ///
    /// A transport that hands over files (``TransportTraits/Delivery/file``) cannot be held back: with such, limits
    /// do not hold. Nor do they with one that cannot pause, as `URLSessionTransport`, where a server has no ranges.
    public var maximumBytesPerSecond: Int64? {
        get { state.withLock { $0.maximumBytesPerSecond } }
        set {
            let limit = newValue.map { max(1, $0) }
            if engine?.limit(self, limit) != true { state.withLock { $0.maximumBytesPerSecond = limit } }
        }
    }

    /// What the file has to be, as asked for last; nil where nothing was, or the manager has the task no more.
    public var checksum: Checksum.Digest? { engine?.job(of: self)?.state.withLock { $0.digest } }

    /// The other places of the file, as asked for last; none where the manager has the task no more.
    public var mirrors: [URL] { engine?.job(of: self)?.state.withLock { $0.askedMirrors } ?? [] }

    /// The manager of the task; nil once that is gone.
    public var manager: SessionManager? { engine?.manager }

    var engine: Engine? { state.withLock { $0.engine } }

    /// Whether the finished file is there, and not another task's; what cannot be looked at is taken to be.
    package var hasFile: Bool { engine?.hasFile(of: self) == true }

    /// What tells the finished file that was put in its place; nil where that is not known.
    package var fingerprint: FileFingerprint? {
        engine?.job(of: self)?.state.withLock { $0.fileInPlace?.fingerprint }
    }

    /// Where the task stands now. Whoever is told of an event goes by what that says: this may be ahead of it.
    public var status: Status { state.withLock { $0.status } }

    /// Why the task waits now; nil when it does not.
    ///
    /// A waiting task transfers nothing. It can be suspended, canceled or removed at once; if its file is still being
    /// closed, handlers are called right after that.
    public var waitingReason: WaitingReason? {
        let (wait, engine) = state.withLock { ($0.wait, $0.engine) }
        guard let wait else { return nil }
        // Nobody is told when this changes for all that wait, of whom there may be many.
        if wait == .slot, engine?.isWithoutNetwork == true { return .network }
        return WaitingReason(wait, missingSlot: engine?.missingSlot(of: self) ?? .slot)
    }

    /// When the task goes on by itself, where it waits for a time, as the manager's clock has it; where its host is left alone
    /// for a while, when the first of those that wait for that goes on. Nil otherwise.
    public var waitingUntil: Date? {
        guard let engine else { return nil }
        let (clock, reason) = (engine.environment.clock, waitingReason)
        let end: Duration? =
            switch reason {
            case .retry(let time), .disk(let time): time
            case .hostSlot: engine.restEnd(ofHostOf: self)
            case .slot, .listSlot, .network, .context, nil: nil
            }
        return end.map { clock.date.addingTimeInterval(($0 - clock.now) / .seconds(1)) }
    }

    /// Why the task failed, or why its last attempt did, also while the task waits for the next, except for space: then
    /// ``waitingReason`` is `disk`, and there is no error. Nil once another runs, and when all is well. Of a task that was
    /// removed or canceled, why the store could not forget it at first, which is tried again by itself: where the process ends
    /// before that is done, the task comes back, without what is gone of its file. Or why the disk has kept its finished file:
    /// the next manager of these records tries again to remove it, where something tells it from others, as on all usual file
    /// systems.
    public var error: (any Error)? { state.withLock { $0.error } }

    /// The name of the finished file, in the manager's ``Cache/downloadFilePath`` unless it was given a destination. It may
    /// change until the task has succeeded, by what the server says (``FileNaming/serverName``) or for one that is free
    /// (``FileConflictPolicy/keepBoth``).
    public var fileName: String { place.name }

    /// The path of the finished file, whether or not it is there yet.
    public var filePath: String { cache.path(of: place) }

    package var identity: Identity { Identity(context: context, key: key) }

    var place: FilePlace { state.withLock { $0.place } }

    /// The extension of the file's name; nil when it has none.
    public var pathExtension: String? {
        let suffix = (fileName as NSString).pathExtension
        return suffix.isEmpty ? nil : suffix
    }

    /// Where the last request for the task's own URL went, by a link or after redirects; ``url`` before the first of this
    /// launch. Those to ``DownloadRequest/mirrors`` do not count.
    public var currentURL: URL { state.withLock { $0.currentURL } ?? url }

    /// The head of the last answer that was used; nil before the first of this launch.
    public var response: ResponseHead? { state.withLock { $0.response } }

    /// Whether the file was found to be what it should be.
    public var validation: Validation { state.withLock { $0.validation } }

    // MARK: Figures

    /// Bytes that are written; with a transport that hands over files, the bytes that it holds.
    public var completedBytes: Int64 { state.withLock { $0.completed } }

    /// The size of the file; nil while it is not known.
    public var totalBytes: Int64? { state.withLock { $0.total } }

    /// The progress in bytes; indeterminate while the size is not known; one unit of one for an empty file. The same object
    /// every time.
    public var progress: Progress {
        // Made when first asked for: most tasks are never asked. Not under the lock, for Foundation's code runs.
        while true {
            let (kept, figures) = state.withLock { ($0.progress, $0.figures) }
            if let kept { return kept }
            // Nobody's part: what is current now would wait for it.
            let progress = Progress.discreteProgress(totalUnitCount: 0)
            progress.set(ofFile: figures.completed, total: figures.total)
            state.withLock { $0.keep(progress, showing: figures) }
        }
    }

    /// Bytes a second over the last three seconds, of a shorter time as many as have come; 0 when the task does not run, has
    /// stalled, or has all its bytes.
    public var speed: Int64 { state.withLock { $0.speed.value } }

    /// Seconds until the end at the present speed; 0 when that cannot be told.
    public var timeRemaining: Int64 { state.withLock { $0.timeRemaining } }

    /// When the task first began to run, in seconds since 1970; 0 before.
    public var startDate: TimeInterval { state.withLock { $0.startDate } }

    /// When the task last succeeded or failed, in seconds since 1970; 0 before, and again from when it next runs.
    public var endDate: TimeInterval { state.withLock { $0.endDate } }
}

extension DownloadTask: Hashable {
    /// Whether both are the same task.
    public static func == (left: DownloadTask, right: DownloadTask) -> Bool { left === right }

    /// Hashes the identity.
    public func hash(into hasher: inout Swift.Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What was told of a task's progress.
struct ToldProgress: Equatable {
    var completed: Int64
    var total: Int64?
    /// In a stall nothing but this changes, until it is 0.
    var speed: Int64
}

/// What a task shows. Changed by the engine only, in the order of its actions.
struct TaskState {
    weak var engine: Engine?
    var status: Status
    /// How often it has gone on, or wanted to: what was due at its end before that is not due any more.
    var rounds: UInt32 = 0
    /// What it waits for, as the machine tells it; nil when it does not.
    var wait: Wait?
    var error: (any Error)?
    /// Why it failed last, for those who were told of that and look when it runs again.
    var lastFailure: (any Error)?
    var url: URL
    var list: String?
    var metadata: [String: String] = [:]
    var place: FilePlace
    /// Whether the name will be that which the server gives.
    var isNameOpen = false
    var priority = DownloadPriority.normal
    var maximumBytesPerSecond: Int64?
    var currentURL: URL?
    var response: ResponseHead?
    var validation = Validation.unknown {
        didSet { verdicts &+= 1 }
    }
    /// How often something was found of the file, or begun to be looked for: what was begun before is of another time.
    var verdicts: UInt32 = 0
    var completed: Int64 = 0
    var total: Int64?
    var speed = SpeedMeter()
    var startDate: TimeInterval = 0
    var endDate: TimeInterval = 0
    @Apart private var ownCallbacks: Callbacks<DownloadTask>?
    var pending = PendingCalls()
    var observers = Observers<DownloadEvent>()
    var pace = ProgressPace()
    /// The progress that was last told; nil when the next is news whatever it is.
    var told: ToldProgress?
    var fileWaiters: Set<FileWaiter> = []
    /// Whether the last who waited for the file was canceled, and nobody has waited or started the task since.
    var isUnwanted = false
    @Apart var validationRequest: ValidationRequest?

    /// The object users see, once one has asked for it.
    private(set) var progress: Progress?

    init(engine: Engine?, status: Status, url: URL, place: FilePlace) {
        self.engine = engine
        self.status = status
        self.url = url
        self.place = place
    }

    var callbacks: Callbacks<DownloadTask> {
        get { ownCallbacks ?? Callbacks() }
        set { ownCallbacks = newValue }
    }

    /// The closures, which are let go of outside the lock: they may hold anything.
    mutating func takeCallbacks() -> Callbacks<DownloadTask>? {
        defer { ownCallbacks = nil }
        return ownCallbacks
    }

    var timeRemaining: Int64 {
        guard let total, speed.value > 0 else { return 0 }
        return max(0, total - completed) / speed.value
    }

    /// Keeps the object that users see, unless there is one, or the task has moved on from what this one shows.
    mutating func keep(_ progress: Progress, showing figures: TaskFigures) {
        if self.progress == nil, figures == self.figures { self.progress = progress }
    }

    mutating func setProgress(completed: Int64, total: Int64?) {
        self.completed = completed
        self.total = total
    }
}

extension Progress {
    /// That of one file. Where this is empty there is nothing to do, which a `Progress` never finishes: one unit is done.
    func set(ofFile completed: Int64, total: Int64?) {
        if total == 0 { set(completed: 1, total: 1) } else { set(completed: completed, total: total) }
    }

    /// Indeterminate while the size is not known. What does not change is not set: observers are told of nothing. It never
    /// seems to be more than finished in between: parents would keep that.
    func set(completed: Int64, total: Int64?) {
        let total = total ?? -1
        if totalUnitCount != total {
            #if canImport(Darwin)
            if completedUnitCount > completed { completedUnitCount = completed }
            #else
            // There a change from one size to another ends the process, when it has been 0 or they multiply to too much.
            // From no size to one does not.
            totalUnitCount = -1
            if completedUnitCount != completed { completedUnitCount = completed }
            #endif
            totalUnitCount = total
        }
        if completedUnitCount != completed { completedUnitCount = completed }
    }
}
