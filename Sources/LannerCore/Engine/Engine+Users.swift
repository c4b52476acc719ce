import Foundation
import LannerMachine

// What a user asks for.

/// What became of requests.
struct Intake {
    typealias Taken = (job: Job, request: CheckedRequest)

    /// Those that were taken, in order, each with its download.
    var taken: [Taken] = []
    /// Why others were not, in order, each with its place among all.
    var refusals: [(index: Int, error: any Error)] = []
    /// Why none of the rest was looked at.
    var end: LannerError?
    fileprivate var count = 0
    fileprivate var seen: Set<Identity> = []
    /// Where those belong that name no context.
    fileprivate var context: String?
    /// Of those that were taken last: what the machine is told, and those that were there before.
    fileprivate var new: [NewDownload] = []
    fileprivate var updates: [Event] = []
    fileprivate var known: [Taken] = []

    var tasks: [DownloadTask] { taken.map(\.job.task) }

    /// What became of each of so many.
    func outcomes(_ count: Int) -> [Result<DownloadTask, any Error>] {
        var (taken, refusals) = (taken[...], refusals[...])
        return (0..<count).map { index in
            if refusals.first?.index == index, let refusal = refusals.popFirst() { return .failure(refusal.error) }
            return taken.popFirst().map { .success($0.job.task) } ?? .failure(end ?? .invalidated)
        }
    }

    fileprivate mutating func refuse(_ error: any Error) {
        refusals.append((count, error))
    }

    /// Makes room once: arrays that grow leave the memory in pieces.
    fileprivate mutating func reserve(_ count: Int) {
        taken.reserveCapacity(count)
        seen.reserveCapacity(count)
    }
}

/// Calls back once, when all parts of an intake have been started and no other follows.
private final class Countdown: Sendable {
    private let state = Locked((awaited: 1, first: DownloadTask?.none))
    private let done: @Sendable (DownloadTask?) -> Void

    init(_ done: @escaping @Sendable (DownloadTask?) -> Void) {
        self.done = done
    }

    func expect() {
        state.withLock { $0.awaited += 1 }
    }

    func arrive() {
        let (awaited, first) = state.withLock { state in
            state.awaited -= 1
            return state
        }
        if awaited == 0 { done(first) }
    }

    /// No other part follows; the first task of all is this.
    func close(with first: DownloadTask?) {
        state.withLock { $0.first = first }
        arrive()
    }
}

extension Engine {
    /// So many are taken at once, and recorded in one commit: the first of a longer list does not wait for the last,
    /// nor does anybody else who calls.
    private static let intakeSize = 10_000

    /// Adds downloads, and starts those that are to be; those that are there already are updated. Throws when nothing
    /// happens any more; when that begins after the first parts of a long list, the rest are a refusal. `done` is called
    /// exactly once, when they have been started, or added, with the first of them; not after a throw.
    func download(
        _ requests: some Sequence<Result<CheckedRequest, any Error>>, count: Int,
        _ done: @escaping @Sendable (DownloadTask?) -> Void
    ) throws(LannerError) -> Intake {
        var intake = Intake()
        intake.reserve(count)
        let countdown = Countdown(done)
        var rest = requests.makeIterator()
        var part: [Result<CheckedRequest, any Error>] = []
        repeat {
            part.removeAll(keepingCapacity: true)
            while part.count < Self.intakeSize, let request = rest.next() { part.append(request) }
            let before = intake.taken.count
            guard take(part, into: &intake) else {
                let error = manager?.unavailable ?? .invalidated
                if intake.count == 0 { throw error }
                if !part.isEmpty { intake.end = error }
                break
            }
            releaseHeld()
            let taken = intake.taken[before...]
            for (job, request) in intake.known { settlePlace(job, request) }
            countdown.expect()
            start(taken, known: intake.known.map(\.job)) { countdown.arrive() }
        } while part.count == Self.intakeSize
        countdown.close(with: intake.taken.first?.job.task)
        return intake
    }

    /// Takes some; false when nothing happens any more.
    private func take(_ requests: [Result<CheckedRequest, any Error>], into intake: inout Intake) -> Bool {
        var isTaken = false
        let now = environment.clock.now
        enter(isPatient: true) { [self] state in
            isTaken = true
            // The one of the first is that of all.
            if intake.seen.isEmpty { intake.context = state.context }
            (intake.new, intake.updates, intake.known) = ([], [], [])
            for request in requests {
                do {
                    try take(request.get(), into: &intake, &state, at: now)
                } catch {
                    intake.refuse(error)
                }
                intake.count += 1
            }
            announce(intake.new.compactMap { state.jobs[$0.id]?.task }, &state)
            return [.add(intake.new)] + intake.updates
        }
        return isTaken
    }

    private func take(
        _ request: CheckedRequest, into intake: inout Intake, _ state: inout EngineState, at now: Duration
    ) throws(LannerError) {
        let context = request.context ?? intake.context
        let identity = Identity(context: context, key: request.key)
        let known = state.livingJob(identity)
        if !intake.seen.insert(identity).inserted { throw request.duplicate }
        try state.checkDestination(of: request, for: known, besides: intake.new)
        if let known {
            intake.updates += state.update(known, request)
            if let limit = request.maximumBytesPerSecond { intake.updates += setLimit(limit, of: known, at: now) }
            intake.taken.append((known, request))
            intake.known.append((known, request))
        } else {
            let job = makeJob(request, context, &state)
            intake.new.append(job.new(isShelved: state.isShelved(context), host: request.host))
            intake.taken.append((job, request))
        }
    }

    /// Some were `known` before.
    private func start(
        _ taken: ArraySlice<Intake.Taken>, known: [Job], _ done: @escaping @Sendable () -> Void
    ) {
        let started = taken.lazy.filter(\.request.starts).map(\.job.task) as [DownloadTask]
        if started.isEmpty { return record(taken.map(\.job), done) }
        // What is being closed or moved is recorded when that is over: what was changed of it is to be kept before.
        let busy = known.isEmpty ? [] : state.withLock { state in known.filter { state.isBusy($0) } }
        if !busy.isEmpty { record(busy) }
        // In one commit with those that are started.
        let records: [Event] = taken.lazy.filter { !$0.request.starts }.map { job, _ in
            .expectDigest(job.id, job.state.withLock { $0.hasDigest })
        }
        // The caller adds the next ones when these are on their way, not beside that.
        user(.start, { $0.ids(of: started) }, behind: records, isPatient: true, done)
    }

    /// A download whose finished file is gone, or replaced by that of another download, begins again, or is only added
    /// anew, in the place that was asked for; one that has its file keeps its place.
    private func settlePlace(_ job: Job, _ request: CheckedRequest) {
        let place = request.place(instead: job.task.place)
        if job.task.status == .succeeded {
            if !hasFile(job) {
                if downloadAgain(job, request, to: place ?? job.task.place) { return }
            } else {
                compareIfNeeded(job, starts: request.starts)
            }
        }
        guard let place, place != job.task.place else { return }
        let error = LannerError.fileNameIsFixed(job.task.place.description, asked: place.description)
        log { .error("could not rename \(Destination.redacted(job.task.url.absoluteString))", error: error) }
    }

    /// Whether it begins again: not when it has already, and nobody was told yet.
    private func downloadAgain(_ job: Job, _ request: CheckedRequest, to place: FilePlace) -> Bool {
        var isAgain = false
        enter { state in
            isAgain = state.isLiving(job) && state.machine[job.id]?.state == .succeeded
            guard isAgain else { return [] }
            state.move(job, request, to: place)
            // Also where there was nothing to give up, the file being empty.
            job.task.state.withLock { $0.validation = .unknown }
            let hasDigest = job.state.withLock { state in
                state.digest = request.checksum ?? state.digest
                state.pieces = request.pieces ?? state.pieces
                return state.hasDigest
            }
            return job.expecting(request.pieces)
                + [.user(.downloadAgain(starts: request.starts), [job.id], nil), .expectDigest(job.id, hasDigest)]
        }
        return isAgain
    }

    private func makeJob(_ request: CheckedRequest, _ context: String?, _ state: inout EngineState) -> Job {
        let identity = Identity(context: context, key: request.key)
        let leftover = state.takeLeftover(of: identity)
        let saved =
            leftover?.saved(for: request.url, isUnstarted: !request.starts)
            ?? Saved(status: .suspended, isUnstarted: !request.starts)
        let id = leftover?.id ?? state.makeID()
        let task = DownloadTask(
            id: id, identity: identity, cache: cache, state: makeTaskState(request, saved, state.fileNaming))
        let job = Job(
            id: id, token: leftover?.token ?? state.identity.token, task: task,
            state: makeJobState(request, saved, rank: state.makeRank(), after: leftover))
        state.keep(job)
        return job
    }

    private func makeTaskState(_ request: CheckedRequest, _ saved: Saved, _ naming: FileNaming) -> TaskState {
        let place = request.destination ?? FilePlace(request.fileName ?? naming.firstName(for: request.url))
        var state = TaskState(
            engine: self, status: request.starts ? .waiting : .suspended, url: request.url, place: place)
        state.isNameOpen = request.destination == nil && request.fileName == nil && naming == .serverName
        (state.list, state.metadata) = (request.list, request.metadata ?? [:])
        state.setProgress(completed: saved.held, total: saved.total)
        state.priority = request.priority ?? .normal
        state.maximumBytesPerSecond = request.maximumBytesPerSecond
        return state
    }

    private func makeJobState(
        _ request: CheckedRequest, _ saved: Saved, rank: Int64, after leftover: Leftover?
    ) -> JobState {
        var state = JobState(
            address: Address(url: request.url, fields: request.fields), digest: request.checksum, rank: rank,
            saved: saved)
        state.pieces = request.pieces
        if let leftover { (state.lastAttempt, state.lastSerial) = (leftover.attempt, leftover.lastSerial) }
        state.mirrors = request.mirrors ?? []
        (state.conflictPolicy, state.hasDestination) = (request.conflictPolicy, request.destination != nil)
        return state
    }

    /// Whether the file of a download is there, and not another's; what cannot be looked at is taken to be.
    private func hasFile(_ job: Job) -> Bool {
        state.withLock { $0.hasItsFile(job) } && environment.fileSystem.mayHaveFile(at: job.task.filePath)
    }

    /// A verb over some downloads, or over all of the present context when nil; `done` is called exactly once, when all
    /// have come to rest, also when there was nothing to do. Before them the machine is told of other events. Only a
    /// patient caller carries out all of it. Whom it is for is asked under the lock that the machine is told under: sooner,
    /// another download could take over the number of one of them, with the bytes that it leaves.
    func user(
        _ verb: Verb, _ whom: ((EngineState) -> [DownloadID])?, behind events: [Event] = [], startsNext: Bool = true,
        isPatient: Bool = false, _ done: (@Sendable () -> Void)?
    ) {
        var isTaken = false
        var (unwanted, forgotten): ([Job], [Job]) = ([], [])
        if whom == nil, case .remove = verb { dropLeftovers() }
        enter(isPatient: isPatient) { state in
            isTaken = true
            let ids = whom?(state) ?? state.scope.ids.sorted()
            unwanted = state.note(verb, ids)
            forgotten = state.stopped(ids, forgottenBy: verb)
            let withheld: [Event] = startsNext ? [] : [.withhold(ids)]
            return events + withheld + [.user(verb, ids, state.makeTicket(done))]
        }
        salvage(unwanted)
        forgotten.forEach(giveUpFiles)
        if isTaken { return }
        logOver("nothing was done")
        done?()
    }

    /// Suspends a download whose file nobody waits for any more.
    func suspendIfUnwanted(_ task: DownloadTask) {
        let unwanted = { (state: EngineState) -> [DownloadID] in
            let isUnwanted = task.state.withLock { state in
                defer { state.isUnwanted = false }
                return state.isUnwanted
            }
            return isUnwanted ? state.ids(of: [task]) : []
        }
        user(.suspend, unwanted, nil)
    }

    func logOver(_ message: String) {
        log { .error(message, error: manager?.unavailable ?? LannerError.invalidated) }
    }

    /// Gives a task another priority; false when it is no longer here.
    func prioritize(_ task: DownloadTask, _ priority: DownloadPriority) -> Bool {
        change(task) { state, job in state.prioritize(job, priority) }
    }

    /// Changes a task, and records it when the machine is told of that; false when it is no longer here.
    func change(_ task: DownloadTask, _ makeEvents: (EngineState, Job) -> [Event]) -> Bool {
        var (isHere, isChanged) = (false, false)
        enter { state in
            guard let job = state.livingJob(of: task) else { return [] }
            let events = makeEvents(state, job)
            (isHere, isChanged) = (true, !events.isEmpty)
            return events
        }
        if isChanged { record(task) }
        return isHere
    }

    // MARK: Queries

    /// Nil of a task that is none of the manager's any more.
    func hasFile(of task: DownloadTask) -> Bool? {
        state.withLock { $0.livingJob(of: task) }.map { hasFile($0) }
    }

    /// The download of a key in the present context.
    func task(_ key: String) -> DownloadTask? {
        state.withLock { state in
            state.ids[Identity(context: state.context, key: key)].flatMap { state.jobs[$0]?.task }
        }
    }

    /// Downloads in order.
    func tasks(_ ids: (EngineState) -> [DownloadID]) -> [DownloadTask] {
        state.withLock { state in ids(state).compactMap { state.jobs[$0] } }.inOrder.map(\.task)
    }

    /// What a task lacks that waits for a slot.
    func missingSlot(of task: DownloadTask) -> WaitingReason {
        state.withLock { $0.machine.missingSlot(of: task.id) }
    }

    /// Until when the host of a task is left alone by all, where it is now.
    func restEnd(ofHostOf task: DownloadTask) -> Duration? {
        state.withLock { $0.machine.restEnd(ofHostOf: task.id) }
    }

    var running: [DownloadTask] {
        state.withLock { state in
            state.machine.running.compactMap { state.jobs[$0]?.task }.filter { $0.context == state.context }
        }
    }
}

extension Job {
    /// What the machine has to know of pieces that were given; nothing of nil.
    fileprivate func expecting(_ pieces: Checksum.Pieces?) -> [Event] {
        pieces.map { [.expectPieces(id, sizes: $0.fileSizes)] } ?? []
    }
}

extension EngineState {
    /// The download of an identity, unless it is on its way out.
    func livingJob(_ identity: Identity) -> Job? {
        ids[identity].flatMap { livingJob($0) }
    }

    /// A download, unless it is on its way out.
    func livingJob(_ id: DownloadID) -> Job? {
        guard let job = jobs[id], let phase = machine[id]?.phase, !phase.isOnItsWayOut else { return nil }
        return job
    }

    /// The same of a task.
    func livingJob(of task: DownloadTask) -> Job? { job(of: task).flatMap { livingJob($0.id) } }

    /// Whether a download is here, and not on its way out; not when another has its number by now.
    func isLiving(_ job: Job) -> Bool { livingJob(job.id) === job }

    /// The download of a task; nil also when another has its number by now, which took over what it has left, or when it is
    /// another manager's.
    func job(of task: DownloadTask) -> Job? {
        jobs[task.id].flatMap { $0.task === task ? $0 : nil }
    }

    /// Whether the machine records nothing of a download as long as its file is being closed or moved.
    fileprivate func isBusy(_ job: Job) -> Bool {
        switch machine[job.id]?.state {
        case .pausing, .publishing: true
        case .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded, nil: false
        }
    }

    /// What of an update the machine has to know.
    fileprivate mutating func update(_ job: Job, _ request: CheckedRequest) -> [Event] {
        // Another checksum may have the file fetched again, which has to be allowed.
        let takesDigests = request.starts || machine[job.id]?.state != .succeeded
        let dropsChecksum = request.dropsChecksum && machine[job.id]?.phase.isIdle == true
        let isReaddressed = job.update(request, takesChecksum: takesDigests, dropsChecksum: dropsChecksum)
        var events: [Event] = isReaddressed ? [.readdress(job.id, request.host)] : []
        if let list = request.list, list != job.task.list {
            job.task.state.withLock { $0.list = list }
            scopes[job.task.context]?.relist(job.id, list)
            events.append(.relist(job.id, list))
        }
        if let priority = request.priority { events += prioritize(job, priority) }
        let place = job.task.place
        if let next = request.place(instead: place), mayRename(job.id) {
            move(job, request, to: next)
        }
        let pieces = takesDigests ? request.pieces : nil
        let (hasDigest, others, mirrors) = job.state.withLock { state in
            defer { state.pieces = pieces ?? state.pieces }
            let others = pieces == state.pieces ? nil : pieces
            return (state.hasDigest || pieces != nil, others, state.renewedMirrors(by: request))
        }
        return events + [.expectDigest(job.id, hasDigest, mirrors: mirrors)]
            + job.expecting(others)
    }

    /// What the machine has to know of another priority, which is not recorded yet.
    fileprivate func prioritize(_ job: Job, _ priority: DownloadPriority) -> [Event] {
        job.task.state.withLock { task in
            if task.priority == priority { return [] }
            task.priority = priority
            return [.prioritize(job.id, priority)]
        }
    }

    /// Gives a download the place that a request leads to.
    fileprivate mutating func move(_ job: Job, _ request: CheckedRequest, to place: FilePlace) {
        if request.destination == nil { move(job, to: place) } else { move(job, toDestination: place) }
    }

    /// Whether the file of a download has yet to be moved to its place, so that it can go to another; not while one that
    /// is fetched again is there.
    fileprivate func mayRename(_ id: DownloadID) -> Bool {
        machine[id]?.hasPlace == false && jobs[id]?.state.withLock { $0.fileInPlace == nil } != false
    }
}

extension Phase {
    /// Whether the download goes, or is gone.
    var isOnItsWayOut: Bool {
        switch self {
        case .willCancel, .willRemove, .canceled, .removed: true
        case .waiting, .running, .willSuspend, .suspended, .failed, .succeeded: false
        }
    }

    /// Whether the download is unfinished, and nothing of it under way.
    fileprivate var isIdle: Bool {
        switch self {
        case .waiting, .suspended, .failed: true
        case .running, .willSuspend, .succeeded, .willCancel, .willRemove, .canceled, .removed: false
        }
    }
}

extension [Job] {
    /// By rank; the id decides between equals.
    var inOrder: [Job] {
        if count < 2 { return self }
        return map { (rank: $0.state.withLock { $0.rank }, job: $0) }
            .sorted { ($0.rank, $0.job.id) < ($1.rank, $1.job.id) }.map(\.job)
    }
}

extension Job {
    /// The user asks for the same again, in other words; says whether with another URL.
    fileprivate func update(_ request: CheckedRequest, takesChecksum: Bool, dropsChecksum: Bool) -> Bool {
        let old = task.state.withLock { task in
            if let metadata = request.metadata { task.metadata = metadata }
            defer { task.url = request.url }
            return task.url
        }
        state.withLock { state in
            state.update(request, insteadOf: old)
            if takesChecksum, request.checksum != nil || dropsChecksum { state.digest = request.checksum }
            if let policy = request.conflictPolicy { state.conflictPolicy = policy }
        }
        if old != request.url { state.withLock { $0.leaveExchange() } }
        return old != request.url
    }
}

extension JobState {
    /// Takes other mirrors over; says what they change, nil when it has them already.
    fileprivate mutating func renewedMirrors(by request: CheckedRequest) -> MirrorChange? {
        guard let mirrors = request.mirrors, mirrors != askedMirrors else { return nil }
        defer { comingMirrors.append(mirrors) }
        return MirrorChange(count: mirrors.count, places: askedMirrors.map(mirrors.source))
    }

    /// Header fields count at once, unless there is a new URL: then they go there only.
    fileprivate mutating func update(_ request: CheckedRequest, insteadOf old: URL) {
        let fields = request.hasFields ? request.fields : nil
        let asked = asked
        if old == request.url {
            // Where redirects led the old ones were sent.
            if fields != nil { oldWay = nil }
            let fields = fields ?? asked.fields
            if address.url == asked.url { address.fields = fields }
            if !coming.isEmpty { coming[coming.count - 1].fields = fields }
        } else {
            let kept = Destination.fields(asked.fields, givenFor: old, goingTo: request.url)
            coming.append(Address(url: request.url, fields: fields ?? kept))
            // That of a link to the old one.
            linkExpirationDate = nil
        }
    }
}
