import Foundation
import LannerMachine

// Exchanges that outlive the process: named and recorded before they begin, and taken up again at launch.

extension Engine {
    // MARK: Beginning

    /// Begins an exchange under a name that is on record, or takes the one up that was left under it.
    func beginNamed(
        _ job: Job, _ number: ExchangeNumber, _ ask: Ask, _ request: TransportRequest, _ sink: Sink,
        _ pending: inout PendingChanges
    ) {
        let (mark, isRecorded) = job.state.withLock { $0.takeExchange(isResumed: ask.resumeData != nil) }
        let begin: @Sendable (Bool) -> Void = { [weak self] isKept in
            guard let self, !isOver, job.state.withLock({ $0.sinks[number] === sink }) else { return }
            var request = request
            // One whose name is not kept could not be found again: it ends with the process.
            if isKept { request.name = mark.name(job.token, job.id) }
            let exchange = transport.begin(request) { sink.receive($0) }
            sink.attach(exchange, isLasting: isKept && exchange.outlivesProcess)
            if isKept, !exchange.outlivesProcess {
                log { .downloadTask("ends with the process: its transport keeps no such request", task: job.task) }
            }
        }
        if isRecorded { return begin(true) }
        state.withLock { $0.delivery.beginnings += 1 }
        put(job, &pending)
        pending.durability = .machine
        pending.completions.append { [weak self] isKept in
            begin(isKept)
            self?.note { $0.delivery.beginnings -= 1 }
        }
    }

    /// Whether an exchange was ended by the system or its user, and with it the download that ran only because it had
    /// survived.
    func stopsWithExchange(_ job: Job, _ failure: TransportFailure) -> Bool {
        failure.fault == .canceled && traits.outlivesProcess
            && job.state.withLock { $0.exchange?.isAdopted == true }
    }

    /// What nobody here has canceled was broken off, for those who want it.
    func asSeenHere(_ failure: TransportFailure) -> TransportFailure {
        guard failure.fault == .canceled, traits.outlivesProcess else { return failure }
        return TransportFailure(.connectionLost, failure.message)
    }

    /// An exchange has come to its end, or is over for this process.
    func settled(_ id: DownloadID) {
        guard traits.outlivesProcess else { return }
        note { $0.delivery.awaited.remove(id) }
    }

    /// A file was handed over, and is yet to be read.
    func waits(_ job: Job, _ number: ExchangeNumber) {
        guard traits.outlivesProcess else { return }
        note { state in
            // It may have been stopped meanwhile.
            if job.state.withLock({ $0.sinks[number] != nil }) { state.delivery.awaited.insert(job.id) }
        }
    }

    // MARK: At launch

    /// Has the transport tell what has survived.
    func recover() {
        guard traits.outlivesProcess else { return }
        transport.recover { [weak self] recovery in
            guard let self, !isOver else { return }
            switch recovery {
            case .survivors(let survivors): take(survivors)
            case .delivered:
                let now = environment.clock.now
                note { $0.delivery.noteDelivered(at: now) }
            }
        }
    }

    private func take(_ survivors: [TransportSurvivor]) {
        let (jobs, isFirst) = state.withLock { state in
            defer { state.hasRecovered = true }
            return (state.jobs.values.filter(state.isLiving).inOrder, !state.hasRecovered)
        }
        let progress = Dictionary(survivors.map { ($0.name, $0.progress) }, uniquingKeysWith: { $1 })
        var known: [(job: Job, progress: TransportSurvivor.Progress)] = []
        var absent: [Job] = []
        var names = Set<String>()
        for job in jobs {
            guard let mark = job.state.withLock({ $0.exchange?.mark }) else { continue }
            let name = mark.name(job.token, job.id)
            names.insert(name)
            if let progress = progress[name] { known.append((job, progress)) } else { absent.append(job) }
        }
        let unread = state.withLock { $0.unread }
        for survivor in survivors where !names.contains(survivor.name) {
            if let id = ExchangeMark.download(named: survivor.name), unread.contains(id) { continue }
            transport.discard(survivor.name)
        }
        // Those that have ended come first, since they free their slots.
        for (job, progress) in known where progress == .ended { settle(job, progress) }
        for (job, progress) in known where progress != .ended { settle(job, progress) }
        guard isFirst else { return }
        goOn(absent.filter { $0.state.withLock { $0.exchange?.phase == .left } })
        enter { state in
            defer { state.interrupted = [] }
            return state.interrupted.isEmpty ? [] : [.user(.start, state.interrupted.sorted(), nil)]
        }
    }

    private func settle(_ job: Job, _ progress: TransportSurvivor.Progress) {
        let isShelved = state.withLock { $0.isShelved(job.task.context) }
        let isWanted = job.state.withLock { state -> Bool? in
            guard state.exchange?.phase == .left else { return nil }
            state.exchange?.progress = progress
            return state.exchange?.isWanted
        }
        switch (isWanted, progress) {
        case (nil, _), (false?, .ended): break
        case (true?, .running) where !isShelved, (true?, .ended) where !isShelved: adopt(job, progress)
        // It is taken up once its context is shown, or it is started.
        case (true?, .ended): goOn([job])
        case (let isWanted, .running), (let isWanted, .interrupted):
            salvage(job) { [weak self] in if isWanted == true { self?.goOn([job]) } }
        }
    }

    private func adopt(_ job: Job, _ progress: TransportSurvivor.Progress) {
        enter { state in
            guard state.isLiving(job) else { return [] }
            let resumes = state.resumesAtLaunch
            let isWanted = job.state.withLock { state in
                guard state.exchange?.phase == .left, state.exchange?.isWanted == true else { return false }
                state.exchange?.isAdopted = !resumes
                return true
            }
            guard isWanted else { return [] }
            if progress == .ended { state.delivery.awaited.insert(job.id) }
            return [.user(.start, [job.id], nil)]
        }
    }

    /// Starts downloads without their exchange, if they are to go on by themselves.
    private func goOn(_ jobs: [Job]) {
        guard state.withLock({ $0.resumesAtLaunch }) else {
            // Not beside one that is being started.
            return inOrder { [self] in jobs.forEach(giveBackSpace) }
        }
        enter { state in
            let wanted = jobs.filter { job in
                state.isLiving(job) && job.state.withLock { $0.exchange?.isWanted ?? true }
            }
            return wanted.isEmpty ? [] : [.user(.start, wanted.map(\.id), nil)]
        }
    }

    // MARK: Stopping what nobody has taken up

    /// Stops the exchanges of downloads that are not to run.
    func salvage(_ jobs: [Job]) {
        for job in jobs { salvage(job) }
    }

    /// Stops an exchange, and keeps what it leaves with the download. One that has come to its end stays as it is: it is
    /// taken up when the download is started.
    private func salvage(_ job: Job, _ done: @escaping @Sendable () -> Void = {}) {
        let mark = job.state.withLock { state -> ExchangeMark? in
            guard state.exchange?.phase == .left else { return nil }
            state.exchange?.phase = .salvaged
            return state.exchange?.mark
        }
        guard let mark else { return }
        var request = TransportRequest(url: job.task.url)
        request.name = mark.name(job.token, job.id)
        let left = Locked(Left())
        let exchange = transport.begin(request) { [weak self] event in
            switch event {
            case .head(let head): left.withLock { $0.begin(with: head, isResumed: mark.isResumed) }
            case .progress(let count): left.withLock { $0.hold(count) }
            case .end:
                self?.leave(job, mark)
                done()
            case .failure(let failure) where failure.fault == .unavailable: break
            case .failure(let failure):
                self?.inherit(job, mark, failure.resumeData, left.withLock { $0 })
                done()
            case .bytes, .file: break
            }
        }
        exchange.cancel()
    }

    private func leave(_ job: Job, _ mark: ExchangeMark) {
        job.state.withLock { state in
            guard state.exchange?.mark == mark, state.exchange?.phase == .salvaged else { return }
            state.exchange?.phase = .left
            state.exchange?.progress = .ended
        }
    }

    private func inherit(_ job: Job, _ mark: ExchangeMark, _ data: Data?, _ left: Left) {
        let data = traits.hasResumeData ? data : nil
        enter { state in
            guard state.isLiving(job) else { return [] }
            // Who has been started meanwhile takes up the exchange itself, and with it what that has left.
            if state.machine[job.id]?.phase == .running { return [] }
            guard job.state.withLock({ $0.endSalvage(mark, of: data) }), let data else { return [] }
            return [.inherit(job.id, Legacy(Array(data), held: left.held, joint: left.joint))]
        }
        if data == nil { record([job]) }
    }
}

/// What the data stand for that an exchange leaves.
private struct Left {
    /// Nil as long as there is no answer.
    private(set) var held: Int64?
    /// Where the answer goes on with earlier data, as long as nothing has shown that they end there.
    private(set) var joint: Int64?

    mutating func begin(with head: ResponseHead, isResumed: Bool) {
        held = 0
        guard isResumed, head.status == 206, case .part(let body, _) = ContentRange(fields: head.fields) else { return }
        (held, joint) = (body.lowerBound, body.lowerBound)
    }

    mutating func hold(_ count: Int64) {
        held = count
        if count == joint { joint = nil }
    }
}

extension EngineState {
    /// Notes whether the user wants downloads to run, also those whose file may yet turn out to be wrong; returns those
    /// whose exchange has to be stopped though nobody has taken it up.
    mutating func note(_ verb: Verb, _ ids: [DownloadID]) -> [Job] {
        if !interrupted.isEmpty, verb.decides { interrupted.subtract(ids) }
        if case .start = verb {
            for id in ids {
                guard let job = jobs[id] else { continue }
                job.state.withLock { $0.comparison?.starts = true }
                job.task.state.withLock { $0.isUnwanted = false }
            }
        }
        // What was never started has no exchange, and others are not meant.
        guard machine.settings.outlivesProcess, verb != .startAdded, let isWanted = verb.wantsToRun else { return [] }
        return ids.compactMap { jobs[$0] }.filter { job in
            // Who is not shown any more stays wanted, or not.
            job.state.withLock { verb == .shelve ? $0.isLeftRunning : $0.want(isWanted) }
        }
    }

    /// Those of which the bytes that an earlier verb was to keep are not waited for any more.
    func stopped(_ ids: [DownloadID], forgottenBy verb: Verb) -> [Job] {
        guard verb.wantsToRun == nil, verb != .settle else { return [] }
        return ids.compactMap { jobs[$0] }.filter { $0.state.withLock { !$0.ending.isEmpty } }
    }
}

extension Verb {
    /// Whether it says of a download that was interrupted what is to become of it.
    fileprivate var decides: Bool {
        switch self {
        case .start, .downloadAgain, .suspend, .cancel, .remove: true
        case .startAdded, .shelve, .unshelve, .settle: false
        }
    }

    /// Whether the download is to run; nil when it is to be forgotten, or nothing is said of it.
    fileprivate var wantsToRun: Bool? {
        switch self {
        case .start, .startAdded, .unshelve: true
        case .downloadAgain(let starts): starts
        case .suspend, .shelve: false
        case .cancel, .remove, .settle: nil
        }
    }
}
