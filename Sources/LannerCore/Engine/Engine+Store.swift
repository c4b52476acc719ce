import Foundation
import LannerMachine

/// What one batch of actions asks for, and is done for all of them at once: changes of the store, which become one commit,
/// and exchanges that begin.
struct PendingChanges {
    struct Confirmation: Sendable {
        var id: DownloadID
        var attempt: Attempt
    }

    var changes: [StoreChange] = []
    var durability = StoreDurability.process
    var confirmations: [Confirmation] = []
    /// Whether a download is forgotten, and its number must not be given again.
    var forgets = false
    /// Who leaves: what is wrong with that is theirs to tell.
    var parting: [DownloadTask] = []
    /// Partial files that no record names any more once this is kept, and that none has use for if it is not: see
    /// `makeFile`. They go when that is known.
    var obsolete: [Obsolete] = []

    /// Exchanges that no record names any more once this is kept, by name.
    var dropped: [String] = []
    /// Exchanges that begin whether this is kept or not.
    var begins: [(request: TransportRequest, sink: Sink)] = []
    /// What waits for these changes; told whether they are kept.
    var completions: [@Sendable (_ isKept: Bool) -> Void] = []

    struct Obsolete: Sendable {
        var job: Job
        var generation: UInt32
    }
}

extension PendingChanges {
    /// What a task that leaves has failed with before is no matter any more.
    fileprivate mutating func part(with task: DownloadTask) {
        task.state.withLock { $0.error = nil }
        parting.append(task)
    }
}

extension Engine {
    func run(_ action: StoreAction, of job: Job, _ attempt: Attempt, _ pending: inout PendingChanges) {
        switch action {
        case .record(let saved, let need): record(job, attempt, saved, need, &pending)
        case .unrecord:
            unrecord(job, attempt, &pending)
            let parting = state.withLock { $0.machine[job.id]?.parting }
            if parting?.takesFileAlong == true { putRemoval(of: job, &pending) }
        }
    }

    private func record(
        _ job: Job, _ attempt: Attempt, _ saved: Saved, _ need: RecordNeed, _ pending: inout PendingChanges
    ) {
        let policy = saved.status == .publishing ? state.withLock { $0.conflictPolicy } : nil
        let (obsolete, replaced) = job.state.withLock { state -> (UInt32?, [Job]) in
            (state.saved, state.lastAttempt) = (saved, attempt)
            state.mirrorOfVersion = saved.source > 0 ? state.mirrors[saved.source - 1] : nil
            state.movePolicy = policy.map { state.conflictPolicy ?? $0 }
            state.dropExchange(recording: saved)
            // Nothing is asked for any more.
            if saved.status.isEnd { (state.destination, state.mirrorDestinations) = (nil, [:]) }
            if saved.status == .succeeded { state.oldWay = nil }
            return (state.fileGeneration.flatMap { $0 < saved.generation ? $0 : nil }, state.hasReplaced)
        }
        if saved.status.isEnd {
            let date = environment.clock.date.timeIntervalSince1970
            job.task.state.withLock { $0.end(at: date) }
        }
        if let obsolete { pending.obsolete.append(PendingChanges.Obsolete(job: job, generation: obsolete)) }
        if saved.status.isRest { giveBackSpace(of: job) }
        if saved.isLeftover { pending.part(with: job.task) }
        put(job, &pending)
        // The store may have refused to keep it by itself.
        for other in replaced where state.withLock({ $0.isLiving(other) }) { put(other, &pending) }
        switch need {
        case .marks: break
        case .status: pending.durability = .machine
        case .confirmed:
            pending.durability = .machine
            pending.confirmations.append(.init(id: job.id, attempt: attempt))
        }
    }

    /// Records a download as it is now.
    func put(_ job: Job, _ pending: inout PendingChanges) {
        pending.changes.append(.put(key: DownloadRecord.key(job.id), value: makeRecord(job).encoded))
        pending.dropped += job.takeDropped()
    }

    private func unrecord(_ job: Job, _ attempt: Attempt, _ pending: inout PendingChanges) {
        job.state.withLock { state in
            state.dropExchange()
            state.saved.isLeftover = false
        }
        pending.dropped += job.takeDropped()
        pending.changes.append(.remove(key: DownloadRecord.key(job.id)))
        pending.forgets = true
        pending.part(with: job.task)
        pending.durability = .machine
        pending.confirmations.append(.init(id: job.id, attempt: attempt))
    }

    func makeRecord(_ job: Job) -> DownloadRecord {
        // Not the whole state, which is large.
        let (place, isNameOpen, list, priority, limit, metadata, startDate, endDate, validation) =
            job.task.state.withLock { task in
                (
                    task.place, task.isNameOpen, task.list, task.priority, task.maximumBytesPerSecond, task.metadata,
                    task.startDate, task.endDate, task.validation
                )
            }
        return job.state.withLock { state in
            var saved = state.saved
            // Until it has no more use for the exchange, which has all of them.
            if state.exchange != nil { (saved.written, saved.synced) = (ByteRanges(), ByteRanges()) }
            // Another file has come in its place.
            if state.fileInPlace == nil { saved.isPublished = false }
            // Whoever takes over what a canceled one has left brings fields of its own, which may be keys.
            let isLeftover = saved.isLeftover
            return DownloadRecord(
                id: job.id, token: job.token, url: state.address.url.absoluteString,
                fields: isLeftover ? [:] : state.address.fields,
                place: place, hasDestination: state.hasDestination, isNameOpen: isNameOpen, rank: state.rank,
                digest: state.digest?.description,
                pieces: state.pieces, isUncompared: saved.mayBeInPlace && state.uncompared != nil,
                isReplaced: saved.status == .succeeded && state.fileInPlace == nil,
                file: state.fileInPlace?.fingerprint, startDate: startDate, endDate: endDate,
                validation: validation, boot: boot, key: job.task.key, list: list, priority: priority,
                maximumBytesPerSecond: limit, context: job.task.context, metadata: metadata,
                conflictPolicy: state.conflictPolicy, movePolicy: state.movePolicy, saved: saved,
                link: isLeftover ? nil : state.link,
                linkExpirationDate: state.linkExpirationDate, mirrors: isLeftover ? [] : state.askedMirrors,
                mirrorOfVersion: state.mirrorOfVersion,
                exchange: state.exchange?.mark, lastSerial: state.lastSerial)
        }
    }

    /// Records what a user has changed of a task that is still here.
    func record(_ task: DownloadTask) {
        if let job = state.withLock({ $0.livingJob(of: task) }) { record([job]) }
    }

    /// Records downloads as they are then, in order with the machine's records; not those that are being forgotten.
    func record(_ jobs: [Job], _ done: @escaping @Sendable () -> Void = {}) {
        inOrder { [self] in
            let living = state.withLock { state in
                state.isOverHere ? [] : jobs.filter(state.isLiving)
            }
            var pending = PendingChanges()
            pending.durability = .machine
            for job in living { put(job, &pending) }
            commit(pending)
            done()
        }
    }

    /// Calls back when all that was to be recorded before is kept by the device, or with why it is not.
    func synchronize(_ done: @escaping @Sendable (LannerError?) -> Void) {
        inOrder { [self] in
            if isOverHere { return done(.invalidated) }
            // What is stopping is on record only once its file is closed.
            user(.settle, { $0.stopping }) { [self] in synchronizeNow(done) }
        }
    }

    private func synchronizeNow(_ done: @escaping @Sendable (LannerError?) -> Void) {
        if isOverHere { return done(.invalidated) }
        commitAll(PendingChanges())
        var pending = PendingChanges()
        pending.durability = .machine
        // Behind all others: commits are kept in their order.
        let identity = state.withLock { $0.identity }
        pending.changes = [.put(key: StoreIdentity.key, value: identity.encoded)]
        pending.completions = [{ [self] _ in done(state.withLock { $0.owed.error }.map(LannerError.storeError)) }]
        commit(pending)
    }

    func commit(_ pending: PendingChanges) {
        var pending = pending
        begin(&pending)
        if !pending.changes.isEmpty { commitAll(pending) }
    }

    /// Commits changes, and before them what was not kept; without changes all of that.
    func commitAll(_ pending: PendingChanges) {
        for commit in state.withLock({ $0.beginCommits(pending) }) {
            let pending = commit.isOwed ? PendingChanges() : pending
            store.commit(commit.changes, durability: commit.isOwed ? .machine : pending.durability) {
                [weak self] result in self?.committed(pending, commit, result)
            }
        }
    }

    /// Commits again what was not kept, behind all that has happened meanwhile.
    private func retryCommit() {
        inOrder { [self] in
            state.withLock { $0.owed.tryTimeCame() }
            if !isOver { commitAll(PendingChanges()) }
        }
    }

    private func remove(_ obsolete: [PendingChanges.Obsolete]) {
        remove(obsolete.map { partialPath($0.job, $0.generation) }) {
            for file in obsolete {
                file.job.state.withLock { if $0.fileGeneration == file.generation { $0.fileGeneration = nil } }
            }
        }
    }

    private func committed(_ pending: PendingChanges, _ commit: OwedChanges.Commit, _ result: Result<Void, StoreError>)
    {
        // Kept or not: their space may be what the store lacks. After the end the directory may be somebody else's: they go
        // at the next launch.
        if !pending.obsolete.isEmpty, !isOver { remove(pending.obsolete) }
        let (known, outcome) = state.withLock { state in (state.owed.error, state.owed.end(commit, result)) }
        switch result {
        case .success:
            if !isOver { outcome.dropped.forEach(transport.discard) }
            answer(pending.confirmations, .recorded)
        case .failure(let error):
            // Not at each try, nor for each of the many that may come while the disk is full.
            if !commit.isOwed, error != known {
                log { .error("could not keep records", error: LannerError.storeError(error)) }
            }
            for task in pending.parting { task.state.withLock { $0.error = LannerError.storeError(error) } }
            if let delay = outcome.delay {
                environment.clock.wake(at: environment.clock.now + delay) { [weak self] in self?.retryCommit() }
            }
            answer(pending.confirmations, .failed(DownloadFailure(error)))
        }
        for completion in pending.completions { completion((try? result.get()) != nil) }
    }

    private func answer(_ confirmations: [PendingChanges.Confirmation], _ event: StoreEvent) {
        guard !confirmations.isEmpty else { return }
        handle(confirmations.map { .store($0.id, $0.attempt, event) })
    }
}

extension EngineState {
    /// Those that are being suspended, canceled or removed, in all contexts.
    fileprivate var stopping: [DownloadID] {
        scopes.values.flatMap { $0.roll.ids([.willSuspend, .willCancel, .willRemove]) }
    }

    /// What is to be committed, in this order.
    fileprivate mutating func beginCommits(_ pending: PendingChanges) -> [OwedChanges.Commit] {
        var changes = pending.changes
        if !changes.isEmpty, let identity = identityToKeep(forgetting: pending.forgets) {
            changes.append(.put(key: StoreIdentity.key, value: identity.encoded))
        }
        return owed.begin(changes, dropped: pending.dropped)
    }
}

extension DownloadFailure {
    /// Why a record could not be kept: want of space, or of files, may be waited for, whatever it is for.
    fileprivate init(_ error: StoreError) {
        let reason: Reason =
            switch error.reason {
            case .disk(let fault) where fault == .noSpace || fault == .tooManyFiles: .disk(fault)
            case .disk, .inUse, .unknownVersion, .closed: .store
            }
        self.init(reason, error.message)
    }
}

extension Saved {
    /// Whether the file may be in its place.
    var mayBeInPlace: Bool { isPublished || status == .publishing || status == .succeeded }
}

extension Saved.Status {
    /// Whether nothing happens to a download that is remembered so.
    fileprivate var isRest: Bool {
        switch self {
        case .suspended, .failed: true
        case .active, .publishing, .succeeded: false
        }
    }

    /// Whether a download that is remembered so has ended.
    fileprivate var isEnd: Bool {
        switch self {
        case .failed, .succeeded: true
        case .active, .suspended, .publishing: false
        }
    }
}
