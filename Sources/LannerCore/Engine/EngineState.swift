import LannerMachine

/// What the engine's lock guards.
struct EngineState {
    enum Drainer {
        case thread(ThreadNumber)
        /// The lane that was asked to, and what it begins with.
        case coming(ArraySlice<Order>, PendingChanges)
    }

    /// By the clock, and in seconds since 1970.
    struct Time {
        var now: Duration
        var wallSeconds: Int64
    }

    var machine: Machine
    /// Events that are being taken from the inbox; empty otherwise.
    var arrived: [Inbox.Entry] = []
    /// Actions that wait for the drainer.
    var actions: [Action] = []
    /// Who runs the actions.
    var drainer: Drainer?
    var jobs = IDTable<Job>()
    var ids: [Identity: DownloadID] = [:]
    var leftovers: [Identity: Leftover] = [:]
    /// Downloads by context, and which of the contexts is the present one.
    var scopes: [String?: Scope] = [:]
    var context: String?
    /// Whether nothing runs until a context is chosen.
    var isShutDown = false
    /// How many tasks run, in all contexts.
    var active = 0
    /// Whether it was told that there are any.
    var isActivityTold = false
    /// What to call when a ticket is answered.
    var tickets: [Ticket: @Sendable () -> Void] = [:]
    var identity: StoreIdentity
    /// Whether this launch has put the identity into the store.
    private var isIdentityKept = false
    /// Whether numbers of downloads are not only counted on any more.
    private var reusesNumbers = false
    var lastTicket: Ticket = 0
    var lastRank: Int64 = 0
    var isInvalidated = false
    var ending: Ending?
    /// What the store has yet to keep.
    var owed = OwedChanges()
    var gate = NetworkGate()
    var networkWatch: (any NetworkWatch)?
    var timeout: Duration = .seconds(60)
    var fileNaming = FileNaming.urlDigest
    var conflictPolicy = FileConflictPolicy.replace
    var places = Places()
    /// Whether the transport has told which exchanges have outlived the process.
    var hasRecovered = false
    /// Of whom only a later version can read the record.
    var unread: Set<DownloadID> = []
    /// Those without an exchange that go on once it has: who has one has a slot before them.
    var interrupted: Set<DownloadID> = []
    /// Whether downloads whose exchange has not outlived the process go on by themselves.
    var resumesAtLaunch = false
    var delivery = BackgroundDelivery()
    /// Keeps others out of the manager's directory.
    var lock: (any FileLock)?
    weak var manager: SessionManager?
    /// Who is told what happens to the manager, the status that was last told, and when its progress is.
    var observers = Observers<SessionEvent>()
    var toldStatus: Status? = .waiting
    var pace = ProgressPace()
    var progressInterval = Duration.zero
    /// Whether somebody has the manager's `Progress`.
    var isProgressShown = false

    init(machine: Machine, identity: StoreIdentity) {
        self.machine = machine
        self.identity = identity
    }

    mutating func take(_ event: Event, _ time: Time) {
        machine.handle(event, now: time.now, wallSeconds: time.wallSeconds, into: &actions)
    }

    /// Moves the actions that wait to an empty array, with the downloads that they are of: looked up here, for all at once,
    /// since the lock is what threads wait for.
    mutating func takeOrders(_ orders: inout [Order]) {
        orders.reserveCapacity(actions.count)
        for action in actions {
            guard let id = action.download else {
                orders.append(Order(action: action))
                continue
            }
            // Mostly the one before is of the same.
            let last = orders.last?.job
            orders.append(Order(action: action, job: last?.id == id ? last : jobs[id]))
        }
        actions.removeAll(keepingCapacity: actions.count <= Engine.fewEvents)
    }

    /// The calling thread is the drainer that was asked for; what it begins with.
    mutating func takeOver() -> (rest: ArraySlice<Order>, changes: PendingChanges) {
        defer { drainer = .thread(.current) }
        guard case .coming(let rest, let changes) = drainer else { return ([], PendingChanges()) }
        return (rest, changes)
    }

    /// Whether the end has begun, and the calling thread is not who carries out what was asked for before.
    var isOverHere: Bool { isInvalidated && !isDrainedHere }

    /// Whether the calling thread is the drainer.
    var isDrainedHere: Bool {
        guard case .thread(let drainer) = drainer else { return false }
        return drainer == .current
    }

    mutating func makeID() -> DownloadID {
        // No manager counts as far as a record may say: then the numbers begin again, between those that are taken.
        if identity.lastID >= UInt64(DownloadRecord.numbers.upperBound) { (identity.lastID, reusesNumbers) = (0, true) }
        repeat { identity.lastID += 1 } while reusesNumbers && isTaken(DownloadID(identity.lastID))
        return DownloadID(identity.lastID)
    }

    private func isTaken(_ id: DownloadID) -> Bool {
        jobs[id] != nil || unread.contains(id) || leftovers.values.contains { $0.id == id }
    }

    /// The identity, when it has to be in the next commit: in the first one, and when a number is left.
    mutating func identityToKeep(forgetting: Bool) -> StoreIdentity? {
        defer { isIdentityKept = true }
        return forgetting || !isIdentityKept ? identity : nil
    }

    /// Far enough apart that others fit between.
    static let rankGap: Int64 = 1 << 20

    mutating func makeRank() -> Int64 {
        lastRank += Self.rankGap
        return lastRank
    }

    /// Forgets a download, which the caller still has: with it go the user's closures and what they hold. Returns what it
    /// has left, if nobody can use it.
    mutating func forget(_ job: Job) -> Leftover? {
        guard jobs[job.id] === job else { return nil }
        jobs[job.id] = nil
        let (identity, place) = (job.task.identity, job.task.place)
        if ids[identity] == job.id { ids[identity] = nil }
        places.leave(place, job.id)
        places.giveUpClaim(place, job.id)
        return keepLeftover(of: job)
    }

    mutating func makeTicket(_ handler: (@Sendable () -> Void)?) -> Ticket? {
        guard let handler else { return nil }
        lastTicket += 1
        tickets[lastTicket] = handler
        return lastTicket
    }
}

/// An action and the download that it is of.
struct Order {
    let action: Action
    /// Nil when it is of none, or of one that is not here any more.
    var job: Job?
}

extension Action {
    /// The download that it is of.
    fileprivate var download: DownloadID? {
        switch self {
        case .file(let id, _, _), .transport(let id, _), .link(let id, _, _), .store(let id, _, _), .tell(let id, _),
            .ignored(let id, _):
            id
        case .answer, .wake: nil
        }
    }
}
