import Foundation
import LannerMachine

/// Carries out what the machine decides.
///
/// Every event goes to the machine under the lock; the actions it answers with join one queue there, in order, and one
/// thread at a time (the drainer) runs them outside the lock. So actions run in the order of events, no foreign code runs
/// under a lock, and what an action reports at once is simply the next event. Who asks for something is the drainer where
/// there is none, until a lane takes over because it takes long. What is reported is left in the inbox for the drainer
/// to take to the machine, which is a lane where there is none: whoever reports does not wait for the lock, and goes
/// on.
final class Engine: Sendable {
    let environment: Environment
    let transport: any Transport
    /// Of the transport, which is foreign: not asked under a lock.
    let traits: TransportTraits
    let store: any Store
    let cache: Cache
    let operationLane: any Lane
    /// Renames, removals and directory syncs.
    let fileLane: any Lane
    /// Copies files to other devices.
    let copyLane: any Lane
    /// Runs the actions that a caller does not.
    let drainLane: any Lane
    /// Files that wait to be moved.
    let moves: Batch<FileMove>
    /// Finished files that are gone, of which there is a record yet.
    let removals: Batch<FinishedRemoval>
    let boot: String?
    /// Whether unfinished files lie where files have no holes, as on most sticks.
    let fillsGaps: Bool
    let state: Locked<EngineState>
    /// Locked for moments only, also inside the lock of the state.
    let inbox = Locked(Inbox())
    /// Locked for moments only, also inside the lock of the state.
    let openFiles = Locked(OpenFiles())
    /// Whose space is given back on the file lane.
    let trims = Locked(Trims())
    let logging: Locked<Logging>
    /// Whether anybody is to be posted anything.
    let postsNotifications = Locked(true)
    /// What waits for the disk.
    let load = WriteLoad()
    /// Small files that are finished, on their way to the device.
    let syncs: SyncGroup
    /// Keeps the limits on bandwidth. Locked for moments only, also inside other locks; inside its own comes only a task's.
    let throttle = Locked(Throttle())

    init(
        environment: Environment, transport: any Transport, store: any Store, cache: Cache, operationLane: any Lane,
        identity: StoreIdentity, settings: Settings, logger: any Logable
    ) {
        self.environment = environment
        self.transport = transport
        traits = transport.traits
        self.store = store
        self.cache = cache
        self.operationLane = operationLane
        fileLane = environment.lanes.makeGatheringLane("files")
        (moves, removals) = (Batch(on: fileLane), Batch(on: fileLane))
        copyLane = environment.lanes.makeLane("copies")
        drainLane = environment.lanes.makeGatheringLane("drain")
        syncs = SyncGroup(of: environment.fileSystem, lane: environment.lanes.makeLane("file.sync"))
        fillsGaps = environment.fileSystem.fillsGaps(in: cache.downloadTmpPath)
        // A stick may have been away since, and with it what was not synced: nothing of a file tells.
        let keepsUnsynced = environment.fileSystem.keepsUnsynced(in: cache.downloadTmpPath)
        boot = keepsUnsynced ? environment.fileSystem.bootIdentifier() : nil
        var machine = Machine(settings: settings, seed: environment.seed)
        if environment.notesCoverage { machine.coverage = Coverage() }
        state = Locked(EngineState(machine: machine, identity: identity))
        logging = Locked(Logging(logger))
    }

    /// The manager, while there is one.
    var manager: SessionManager? { state.withLock { $0.manager } }

    /// Whether nothing happens any more.
    var isOver: Bool { state.withLock { $0.isInvalidated } }

    /// The same for the caller, who may be carrying out what was asked for before the end.
    var isOverHere: Bool { state.withLock { $0.isOverHere } }

    func job(_ id: DownloadID) -> Job? { state.withLock { $0.jobs[id] } }

    /// See ``EngineState/job(of:)``.
    func job(of task: DownloadTask) -> Job? { state.withLock { $0.job(of: task) } }

    // MARK: Events

    /// Tells the machine of events, and sees to it that its actions are run, by the drainer or a lane.
    func handle(_ events: [Event]) {
        report { $0.add(events, $1) }
    }

    func handle(_ event: Event) {
        report { $0.add(event, $1) }
    }

    private func report(_ add: (inout Inbox, EngineState.Time) -> Bool) {
        let time = time()
        // Whoever watches looks again before it goes.
        if inbox.withLock({ add(&$0, time) }) { return }
        // Not here: what is reported before the lane's turn comes is taken along.
        if state.withLock({ !$0.isInvalidated && becomeDrainer(&$0) }) { handOver([], PendingChanges()) }
    }

    /// The same with events that are made under the lock from what stands there, all earlier ones being with the machine.
    /// The caller stays no longer than its patience for actions, but for the last of them; if it is patient, for all that
    /// have come of that, and its patience for what comes of these.
    func enter(isPatient: Bool = false, _ makeEvents: (inout EngineState) -> [Event]) {
        let time = time()
        let isDrainer = state.withLock { state -> Bool in
            guard !state.isInvalidated else { return false }
            takeInbox(&state)
            for event in makeEvents(&state) { state.take(event, time) }
            return becomeDrainer(&state)
        }
        guard isDrainer else { return }
        if isPatient { drainPatiently() } else { drain(.caller(until: time.now + environment.patience)) }
    }

    /// The same of what is nothing to the machine; the drainer looks what comes of it before it goes.
    func note(_ change: (inout EngineState) -> Void) {
        enter { state in
            change(&state)
            return []
        }
    }

    /// Runs work behind all that has happened so far, before all that happens later: at once, or by whoever is the
    /// drainer now. The caller stays no longer than its patience for actions of others.
    func inOrder(_ work: @escaping @Sendable () -> Void) {
        let deadline = environment.clock.now + environment.patience
        let isDrainer = state.withLock { state -> Bool? in
            guard !state.isInvalidated, let ticket = state.makeTicket(work) else { return nil }
            takeInbox(&state)
            state.actions.append(.answer(ticket))
            return becomeDrainer(&state)
        }
        switch isDrainer {
        case true?: drain(.caller(until: deadline))
        case false?: break
        case nil: work()
        }
    }

    /// The time of an event, by which the machine looks what is due: each has its own, since a timer would not be due at a
    /// time that was looked at before it came. The clock is foreign: not asked under a lock.
    func time() -> EngineState.Time {
        let (now, date) = (environment.clock.now, environment.clock.date)
        return EngineState.Time(now: now, wallSeconds: Int64(rounding: date.timeIntervalSince1970))
    }

    /// Takes what waits in the inbox to the machine, so that it comes before what follows.
    func takeInbox(_ state: inout EngineState) {
        inbox.withLock { $0.takeAll(into: &state.arrived) }
        for index in state.arrived.indices { state.take(state.arrived[index].event, state.arrived[index].time) }
        state.arrived.removeAll(keepingCapacity: state.arrived.count <= Self.fewEvents)
    }

    /// Up to so many the places of events and actions are used again.
    static let fewEvents = 256
    /// So many at most are run before exchanges begin that are to begin together.
    private static let someActions = 128

    /// Whether the calling thread is the one to run what waits, no other doing so.
    func becomeDrainer(_ state: inout EngineState) -> Bool {
        guard state.drainer == nil else { return false }
        state.drainer = .thread(.current)
        inbox.withLock { $0.watch() }
        return true
    }

    /// On whose time actions are run.
    enum Stay: Equatable {
        /// Of a caller, who stays no longer than that.
        case caller(until: Duration?)
        case lane

        func isOver(at now: @autoclosure () -> Duration) -> Bool {
            if case .caller(let deadline?) = self { now() >= deadline } else { false }
        }
    }

    /// Runs what waits, and at last, after all that led there, the end; what is left when a caller has to go on a lane.
    func drain(_ stay: Stay) {
        var batch: [Order] = []
        while nextBatch(&batch) {
            if !run(batch[...], PendingChanges(), stay) { return }
            batch.removeAll(keepingCapacity: batch.count <= Self.fewEvents)
        }
        tearDown()
    }

    /// Runs all that waits now, however long that takes, and goes on as any caller: what comes meanwhile is of others.
    private func drainPatiently() {
        var batch: [Order] = []
        if nextBatch(&batch) { _ = run(batch[...], PendingChanges(), .caller(until: nil)) } else { return tearDown() }
        drain(.caller(until: environment.clock.now + environment.patience))
    }

    /// Runs actions and commits what they have changed; false when the rest was handed over.
    private func run(_ batch: ArraySlice<Order>, _ pending: PendingChanges, _ stay: Stay) -> Bool {
        var changes = pending
        for index in batch.indices {
            if stay.isOver(at: environment.clock.now) {
                begin(&changes)
                handOver(batch[index...], changes)
                return false
            }
            // Whoever is answered may end the process: what led to the answer is with the store by then.
            if case .answer = batch[index].action {
                commit(changes)
                changes = PendingChanges()
            }
            run(batch[index].action, batch[index].job, &changes, stay)
            // What begins is not held up by all the rest of a long batch.
            if (index + 1).isMultiple(of: Self.someActions) { begin(&changes) }
        }
        commit(changes)
        return true
    }

    private func handOver(_ rest: ArraySlice<Order>, _ changes: PendingChanges) {
        state.withLock { $0.drainer = .coming(rest, changes) }
        drainLane.run { [self] in
            takeOver()
            drain(.lane)
        }
    }

    /// Lets go of what it has run before it returns, still as the drainer: that may be the last to hold the manager, whose
    /// end would wait for another one, who may come on this very lane.
    private func takeOver() {
        let (rest, changes) = state.withLock { $0.takeOver() }
        _ = run(rest, changes, .lane)
    }

    /// Fills an empty batch with what waits; false when the drainer may go.
    private func nextBatch(_ batch: inout [Order]) -> Bool {
        state.withLock { state in
            takeInbox(&state)
            guard !state.actions.isEmpty else {
                if let last = deliverIfDue(&state) {
                    batch.append(Order(action: last))
                    return true
                }
                // Nobody comes after the last drainer of all.
                if state.isInvalidated { return false }
                // Or something has come this moment.
                if !inbox.withLock({ $0.leave() }) { return true }
                state.drainer = nil
                return false
            }
            state.takeOrders(&batch)
            return true
        }
    }

    // MARK: Actions

    private func run(_ action: Action, _ job: Job?, _ changes: inout PendingChanges, _ stay: Stay) {
        switch action {
        case .file(_, let attempt, let action):
            if let job { run(action, of: job, attempt, onLane: stay == .lane) }
        case .transport(_, let action):
            if let job { run(action, of: job, &changes) }
        case .link(_, let attempt, let action):
            if let job { run(action, of: job, attempt) }
        case .store(_, let attempt, let action):
            if let job { run(action, of: job, attempt, &changes) }
        case .tell(_, let notice):
            if let job { tell(notice, of: job) }
        case .ignored(let id, let reason): logIgnored(id, reason)
        case .answer(let ticket): state.withLock { $0.tickets.removeValue(forKey: ticket) }?()
        case .wake(let time):
            environment.clock.wake(at: time) { [weak self] in self?.handle(.timer) }
        }
    }

    /// What is left to be done for a download that was forgotten.
    func endForgetting(_ job: Job, _ unwanted: Leftover?) {
        throttle.withLock { $0.forget(job.id) }
        if let unwanted { drop([unwanted]) }
    }

    private func logIgnored(_ id: DownloadID, _ reason: IgnoredReason) {
        guard let task = job(id)?.task else { return }
        log { .downloadTask("ignored a late event: \(reason)", task: task) }
    }

    /// Logs, unless the logger is silent.
    func log(_ type: () -> LogType) {
        tellLogger(type)
        logging.withLock { $0.end() }
    }

    /// Lets go of the logger before it returns: that may be the last to hold the manager, whose end does not wait for who
    /// is in the logger's code.
    private func tellLogger(_ type: () -> LogType) {
        let logger = logging.withLock { $0.begin() }
        if logger.option != .none { logger.log(type()) }
    }
}

/// Who takes the log lines.
struct Logging {
    var logger: any Logable
    /// Who is in the logger's code.
    fileprivate(set) var threads: [ThreadNumber] = []

    init(_ logger: any Logable) {
        self.logger = logger
    }

    /// The logger, in whose code the thread is from now on.
    fileprivate mutating func begin() -> any Logable {
        threads.append(.current)
        return logger
    }

    fileprivate mutating func end() {
        guard let index = threads.lastIndex(of: .current) else { return }
        threads.remove(at: index)
    }
}
