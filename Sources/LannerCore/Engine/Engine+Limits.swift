import LannerMachine

// Limits on bandwidth: who has had enough is paused, or asks for nothing more, until the clock says otherwise.

extension Engine {
    /// Whether the transport can be held back at all.
    private var canHoldBack: Bool {
        switch traits.delivery {
        case .pausable, .sliced: true
        case .file: false
        }
    }

    // MARK: Limits

    /// Another limit of all downloads, or none; `releaseHeld` has to follow.
    func limit(_ limit: Int64?, at now: Duration) {
        throttle.withLock { $0.setLimit(limit, at: now) }
    }

    /// Gives a task another limit; false when it is no longer here.
    func limit(_ task: DownloadTask, _ limit: Int64?) -> Bool {
        let now = environment.clock.now
        let isHere = change(task) { _, job in setLimit(limit, of: job, at: now) }
        if isHere { releaseHeld() }
        return isHere
    }

    /// What the machine has to know of another limit, which is not recorded yet; `releaseHeld` has to follow.
    func setLimit(_ limit: Int64?, of job: Job, at now: Duration) -> [Event] {
        let (isOther, rate) = job.task.state.withLock { task in
            let before = task.maximumBytesPerSecond
            task.maximumBytesPerSecond = limit
            return (before != limit, task.rateLimit)
        }
        guard isOther else { return [] }
        throttle.withLock { $0.setLimit(rate, of: job.id, at: now) }
        return [.limit(job.id, rate)]
    }

    // MARK: Holding back

    /// What the sink of an exchange keeps limits by; nil where they cannot be kept.
    func meter(_ job: Job, _ number: ExchangeNumber) -> Sink.Meter? {
        canHoldBack ? Sink.Meter(self, job.id, number) : nil
    }

    /// Whether a request may go out now; else it goes when that is time.
    func mayBegin(_ job: Job, _ number: ExchangeNumber, _ ask: Ask) -> Bool {
        guard canHoldBack else { return true }
        let now = environment.clock.now
        repeat {
            if mayBegin(job, at: now) {
                _ = job.state.withLock { $0.heldBack.remove(number) }
                return true
            }
            job.state.withLock { $0.heldBack.put(ask, at: number) }
            // Who has let it go before it was put there has not found it.
        } while !throttle.withLock { $0.isHeld(job.id) }
        tellHeld([(job.id, number)], now)
        return false
    }

    private func mayBegin(_ job: Job, at now: Duration) -> Bool {
        throttle.withLock { throttle in
            // Asked in here: whoever sets another limit meanwhile does so in the throttle after this.
            throttle.open(job.id, limit: job.task.state.withLock { $0.rateLimit }, at: now)
            return throttle.mayBegin(job.id, at: now)
        }
    }

    fileprivate func charge(_ count: Int64, to id: DownloadID) -> Bool {
        if throttle.withLock({ $0.isFree(id) }) { return false }
        let now = environment.clock.now
        return throttle.withLock { $0.charge(count, to: id, at: now) }
    }

    /// Says how long exchanges are held back at least, and comes back then.
    fileprivate func tellHeld(_ held: [(id: DownloadID, number: ExchangeNumber)], _ now: Duration) {
        let (next, isToArm) = throttle.withLock { $0.arm(at: now) }
        guard let next else { return }
        if isToArm { environment.clock.wake(at: next) { [weak self] in self?.releaseHeld() } }
        handle(held.map { .exchange($0.id, $0.number, .heldBack(until: next)) })
    }

    // MARK: Letting go

    /// Lets go who need not be held back any more.
    func releaseHeld() {
        let now = environment.clock.now
        let (free, held) = throttle.withLock { throttle in
            throttle.disarm(at: now)
            let free = throttle.release(at: now)
            return (free, throttle.held.sorted())
        }
        for job in free.compactMap({ job($0) }) { letGo(job, now) }
        if held.isEmpty { return }
        tellHeld(held.compactMap { job($0) }.flatMap { job in job.exchangeNumbers.map { (job.id, $0) } }, now)
    }

    private func letGo(_ job: Job, _ now: Duration) {
        handle(job.exchangeNumbers.map { .exchange(job.id, $0, .heldBack(until: now)) })
        let (sinks, begins) = job.state.withLock { state in
            (state.sinks.values, state.heldBack.numbers)
        }
        if !begins.isEmpty { inOrder { [self] in begins.forEach { beginHeld(job, $0) } } }
        for sink in sinks { sink.followMeter() }
    }

    private func beginHeld(_ job: Job, _ number: ExchangeNumber) {
        guard !isOver, let ask = job.state.withLock({ $0.heldBack.remove(number) }) else { return }
        var pending = PendingChanges()
        begin(job, number, ask, &pending)
        commit(pending)
    }

    /// A download takes nothing for the time being.
    func leaveThrottle(_ job: Job) {
        let now = environment.clock.now
        job.state.withLock { $0.heldBack = ExchangeList() }
        throttle.withLock { $0.close(job.id, at: now) }
    }
}

extension Sink {
    /// Keeps the limits on bandwidth for an exchange.
    struct Meter: Sendable {
        private weak var engine: Engine?
        private let id: DownloadID
        private let number: ExchangeNumber

        fileprivate init(_ engine: Engine, _ id: DownloadID, _ number: ExchangeNumber) {
            (self.engine, self.id, self.number) = (engine, id, number)
        }

        /// Counts what has come; whether that was too much, and was not before. Then ``hold()`` has to follow.
        func charge(_ count: Int64) -> Bool { engine?.charge(count, to: id) ?? false }

        /// Sees to it that it goes on in time.
        func hold() { engine.map { $0.tellHeld([(id, number)], $0.environment.clock.now) } }

        /// Whether it was too much so far.
        var isHeld: Bool { engine?.throttle.withLock { $0.isHeld(id) } ?? false }
    }
}

extension Job {
    /// The exchanges that are out, or held back.
    fileprivate var exchangeNumbers: [ExchangeNumber] {
        state.withLock { $0.sinks.numbers + $0.heldBack.numbers }
    }
}

extension TaskState {
    /// The limit that is kept.
    var rateLimit: Int64? { maximumBytesPerSecond.map { max(1, $0) } }
}
