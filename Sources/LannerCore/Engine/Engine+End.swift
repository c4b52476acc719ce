import LannerMachine

// The end of an engine. It is not waited for where it is brought about: each step follows from the last, on whatever
// thread that ended.
//
// 1. Nothing new is taken. What the machine has decided so far is still carried out, by the drainer of the moment.
// 2. That drainer stops every exchange, which hands over what it has received, or leaves data that go on with it, and
//    closes every file.
// 3. When the last file is closed and the last move or removal is done, the records get their last marks, what was on its
//    way out leaves with its files, and store and lock are given back.

/// The end of an engine, once it has begun.
struct Ending {
    /// What a partial file held when it was closed, so late that the machine was not told.
    struct Closed {
        var attempt: Attempt
        var generation: UInt32
        var written: ByteRanges
        var synced: ByteRanges
    }

    /// How far it is.
    enum Step {
        /// What the machine has decided is carried out. → closing
        case carryingOut
        /// Exchanges are stopped and files closed; what was to be moved or removed still is. → waitingForFiles
        case closing
        /// That is done, and some files may have yet to say that they are closed. → last
        case waitingForFiles
        /// The records get their last marks. No exits.
        case last
    }

    /// Opened when all is done.
    let latch = Latch()
    /// The engine lives until then, whoever lets go of it.
    var engine: Engine?
    var step = Step.carryingOut
    var closed: [DownloadID: Closed] = [:]
}

/// Partial files that were opened and have not said that they are closed, or whose space is being given back.
struct OpenFiles {
    var count = 0
    /// Whether the end waits for them.
    var areAwaited = false

    /// One less, unless the end waits for it, which has to hear what it held first; whether that is so.
    mutating func close() -> Bool {
        if !areAwaited { count -= 1 }
        return areAwaited
    }
}

extension Engine {
    /// See ``SessionManager/invalidate()``.
    func invalidate() {
        let (latch, isDrainer, isInside) = state.withLock { state in
            let isInside = state.isDrainedHere
            if state.isInvalidated { return (state.ending?.latch, false, isInside) }
            takeInbox(&state)
            let latch = state.beginEnd(of: self)
            // In this order: a file that the machine does not hear of is told to the end.
            inbox.withLock { $0.close() }
            return (latch, becomeDrainer(&state), isInside)
        }
        if isDrainer { drain(.caller(until: nil)) }
        guard let latch, !isInside, !environment.lanes.isOnOwnLane, !logging.withLock({ $0.threads.contains(.current) })
        else { return }
        environment.lanes.wait(for: latch)
        // Done, or given up with its lanes.
        state.withLock { $0.ending?.engine = nil }
    }

    /// The manager is gone, which may be a mistake where downloads ran that cannot go on without it.
    func managerIsGone() {
        let isMissed = state.withLock { !$0.isInvalidated && !$0.isShutDown && !$0.totals.isAtRest }
        if isMissed, !traits.outlivesProcess {
            log {
                .error(
                    "the manager was let go of while downloads ran; keep it as long as they are to run",
                    error: LannerError.invalidated)
            }
        }
        invalidate()
    }

    /// Step 2, once, by the last drainer of all.
    func tearDown() {
        guard let jobs = state.withLock({ $0.beginTearDown() }) else { return }
        endNetworkWatch()
        for job in jobs {
            cancelAsking(job)
            leaveThrottle(job)
            stopExchanges(of: job)
            giveBackSpace(of: job)
            job.task.state.withLock { $0.speed.stop() }
            let file = job.state.withLock { $0.file.take() }
            // Behind what the exchanges leave: with the last file all is over.
            afterEnding(job) { file?.close(sync: false, resting: true) }
        }
        transport.invalidate()
        waitNoLonger(for: jobs)
        // Behind every move and removal.
        afterFileWork { [self] in advanceEnd { $0.ending?.step = .waitingForFiles } }
        state.withLock { $0.drainer = nil }
    }

    private func stopExchanges(of job: Job) {
        for number in job.state.withLock({ $0.sinks.numbers }) {
            // What outlives the process outlives the manager.
            if let sink = job.takeLasting(number) { sink.leave() } else { stop(job, number, keepBytes: true) }
        }
    }

    /// Closes at last the files of exchanges whose end never comes: the end of a manager is waited for, by views as well.
    private func waitNoLonger(for jobs: [Job]) {
        let late = jobs.filter { $0.state.withLock { $0.afterEnding != nil } }
        if late.isEmpty { return }
        environment.clock.wake(at: environment.clock.now + Self.patienceAtEnd) { [self] in
            for job in late {
                giveUpFiles(of: job)
                let (sinks, done) = job.state.withLock { ($0.takeEnding(), $0.afterEnding.take()) }
                done?()
                // Outside the lock: they hold the job, and it them.
                withExtendedLifetime(sinks) {}
            }
        }
    }

    /// How long what was stopped may take to say what it leaves: the system asks other processes of its own.
    private static let patienceAtEnd: Duration = .seconds(5)

    /// Tells the machine of what goes on record in the end, though nothing else comes to it any more.
    func handleToTheEnd(_ event: Event) {
        // Before the look: what is taken neither here nor there is lost.
        handle(event)
        guard openFiles.withLock({ $0.areAwaited }) else { return }
        let time = time()
        state.withLock { state in
            takeInbox(&state)
            state.take(event, time)
        }
    }

    /// A partial file is closed; nothing more comes from it.
    func fileClosed(_ id: DownloadID, _ closed: Ending.Closed) {
        endFile { state in
            if closed.attempt >= state.ending?.closed[id]?.attempt ?? 0 { state.ending?.closed[id] = closed }
        }
    }

    /// One less to wait for in the end, which notes something of it.
    func endFile(_ note: (inout EngineState) -> Void = { _ in }) {
        // Else the lock of the state, for which many wait, is not needed.
        guard openFiles.withLock({ $0.close() }) else { return }
        advanceEnd { state in
            openFiles.withLock { $0.count -= 1 }
            note(&state)
        }
    }

    private func advanceEnd(_ change: (inout EngineState) -> Void) {
        let isLast = state.withLock { state in
            change(&state)
            return openFiles.withLock { $0.count == 0 } && state.beginLastStep()
        }
        if isLast { finish() }
    }

    /// Step 3, once.
    private func finish() {
        let leaving = recordLast()
        store.close()
        for step in leaving { discardLast(step.job, finished: step.removesFinished) }
        let (jobs, handlers) = state.withLock { state in
            defer { state.tickets = [:] }
            return (state.jobs.values.sorted { $0.id < $1.id }, state.tickets.sorted { $0.key < $1.key }.map(\.value))
        }
        state.withLock { $0.lock }?.release()
        for job in jobs {
            job.task.endObservers()
            settleValidation(of: job.task)
        }
        for observer in state.withLock({ $0.observers.end() }) { observer.end() }
        handlers.forEach { $0() }
        call(state.withLock { $0.delivery.takeHandler() })
        manager?.endActivity()
        // Nothing comes to them any more, and they may hold the manager or a task.
        let callbacks = (
            tasks: jobs.map { $0.task.state.withLock { $0.takeCallbacks() } },
            manager: state.withLock { $0.manager }?.state.withLock { $0.takeCallbacks() }
        )
        // One of these may be the last to hold the manager, whose end waits for this latch.
        withExtendedLifetime((handlers, callbacks)) {
            state.withLock { state in
                state.ending?.engine = nil
                return state.ending?.latch
            }?.open()
        }
    }

    /// Records what the machine would have recorded, had it learnt what the last step finds; returns those that leave.
    private func recordLast() -> [LastStep] {
        let steps = state.withLock { $0.lastSteps() }
        var pending = PendingChanges()
        pending.durability = .machine
        for step in steps {
            if let saved = step.saved {
                step.job.state.withLock { $0.saved = saved }
                pending.changes.append(.put(key: DownloadRecord.key(step.job.id), value: makeRecord(step.job).encoded))
            } else {
                pending.changes.append(.remove(key: DownloadRecord.key(step.job.id)))
                pending.forgets = true
                if step.removesFinished { putRemoval(of: step.job, &pending) }
            }
        }
        // The last try of all that is owed.
        commitAll(PendingChanges())
        commitAll(pending)
        return steps.filter { $0.saved == nil }
    }
}

extension Job {
    /// Takes the receiver of an exchange out that goes on without the process.
    fileprivate func takeLasting(_ number: ExchangeNumber) -> Sink? {
        state.withLock { $0.sinks[number]?.isLasting == true ? $0.sinks.remove(number) : nil }
    }
}

/// What is left to do for a download.
private struct LastStep {
    var job: Job
    /// What goes on record; nil for one that leaves, and its files with it.
    var saved: Saved?
    /// Whether that is its finished file, too.
    var removesFinished = false
}

extension JobState {
    /// Whether the file of an attempt is in its place.
    fileprivate func hasMoved(in attempt: Attempt) -> Bool {
        movedIn == attempt && fileInPlace?.generation == saved.generation
    }
}

extension EngineState {
    /// What to wait for.
    fileprivate mutating func beginEnd(of engine: Engine) -> Latch {
        isInvalidated = true
        engine.openFiles.withLock { $0.areAwaited = true }
        let ending = Ending(engine: engine)
        self.ending = ending
        return ending.latch
    }

    /// All jobs, for the first drainer that finds everything done after the end has begun.
    fileprivate mutating func beginTearDown() -> [Job]? {
        guard ending?.step == .carryingOut, isDrainedHere else { return nil }
        ending?.step = .closing
        return jobs.values.sorted { $0.id < $1.id }
    }

    /// Whether all else that the last step waits for is done, every file being closed; once.
    fileprivate mutating func beginLastStep() -> Bool {
        guard ending?.step == .waitingForFiles else { return false }
        ending?.step = .last
        return true
    }

    /// What is left to do, in the order of the downloads.
    fileprivate func lastSteps() -> [LastStep] {
        jobs.values.compactMap(lastStep).sorted { $0.job.id < $1.job.id }
    }

    private func lastStep(_ job: Job) -> LastStep? {
        guard let download = machine[job.id] else { return nil }
        let closed = closedLast(download)
        guard let parting = download.parting else { return closed.map { LastStep(job: job, saved: $0) } }
        let saved = closed ?? download.saved
        switch parting {
        case .cancel(let keepsBytes, let finished):
            // The machine may not have heard of the move. What came in an earlier one stays.
            let isMoved = download.hasPlace && job.state.withLock { $0.hasMoved(in: download.attempt) }
            guard keepsBytes, !isMoved, !(saved.written.isEmpty && saved.resumeData == nil) else {
                return LastStep(job: job, removesFinished: finished || isMoved)
            }
            var kept = saved
            (kept.status, kept.isLeftover) = (.suspended, true)
            return LastStep(job: job, saved: kept)
        case .remove(let finished): return LastStep(job: job, removesFinished: finished)
        }
    }

    /// What is to be on record of a download whose file was closed by the end. A file of an attempt that the machine has
    /// left behind says nothing of it.
    private func closedLast(_ download: Download) -> Saved? {
        guard let closed = ending?.closed[download.id], download.attempt == closed.attempt else { return nil }
        var saved = download.saved
        guard saved.generation == closed.generation else { return nil }
        // What the file holds may not be what was asked for.
        if download.isUnproven { return saved }
        (saved.written, saved.synced) = (closed.written, closed.synced)
        return saved
    }
}
