import Foundation
import LannerMachine

// What the machine wants of the transport.

extension Engine {
    func run(_ action: TransportAction, of job: Job, _ pending: inout PendingChanges) {
        switch action {
        case .begin(let number, let ask): begin(job, number, ask, &pending)
        case .accept(let number, let body): accept(job, number, body, &pending)
        case .cut(let number, let position): job.state.withLock { $0.sinks[number] }?.cut(at: position)
        case .follow(let number, let location): follow(job, number, location)
        case .stop(let number, let keepBytes): stop(job, number, keepBytes: keepBytes)
        case .readdress:
            job.state.withLock { state in
                if !state.coming.isEmpty { state.address = state.coming.removeFirst() }
                // They led to the old one.
                (state.link, state.oldWay) = (nil, nil)
                // The machine may not record it before the end of the attempt, and somebody else may record the URL.
                if state.saved.status != .succeeded { state.saved.isOfOtherURL = true }
            }
        case .leadBack: job.state.withLock { $0.leadBack() }
        case .keepWay(let number): job.state.withLock { $0.oldWay = $0.sinks[number]?.way.destination }
        case .takeOldWay(let source):
            if let destination = job.state.withLock({ $0.oldWay }) { lead(job, source, to: destination) }
        case .flush: for sink in job.state.withLock({ $0.sinks.values }) { sink.flush() }
        // While others begin in its place: what it owes under a limit is theirs to wait for.
        case .takesNoMore: leaveThrottle(job)
        case .remirror(let steps):
            job.state.withLock { state in
                state.mirrors = state.comingMirrors[steps - 1]
                state.comingMirrors.removeFirst(steps)
            }
        }
    }

    func begin(_ job: Job, _ number: ExchangeNumber, _ ask: Ask, _ pending: inout PendingChanges) {
        if isOver || !mayBegin(job, number, ask) { return }
        let id = job.id
        do throws(DownloadFailure) {
            let destination = try destination(job, ask.source)
            noteWay(of: job, ask.source, destination.url)
            let request = request(job, destination, ask)
            let way = Sink.Way(source: ask.source, destination: destination)
            let isPausable = traits.delivery == .pausable
            let sink = Sink(
                way, isPausable: isPausable, meter: meter(job, number), lanes: environment.lanes,
                takeIn: { [weak self] path in self?.takeIn(path, of: job, number) }
            ) { [weak self] report in self?.take(report, of: job, number) }
            job.state.withLock { $0.sinks.put(sink, at: number) }
            if traits.outlivesProcess, ask.range == nil {
                return beginNamed(job, number, ask, request, sink, &pending)
            }
            pending.begins.append((request, sink))
            // Under a limit what one brings decides when the next may begin.
            if request.isLimited { begin(&pending) }
        } catch {
            handle(.exchange(id, number, .failed(error)))
        }
    }

    /// Begins the exchanges that are to begin, except those that have been stopped since.
    func begin(_ pending: inout PendingChanges) {
        if pending.begins.isEmpty { return }
        let begins = pending.begins.filter { !$0.sink.isClosed }
        pending.begins = []
        if begins.isEmpty { return }
        let exchanges = transport.begin(
            begins.map { request, sink in TransportBeginning(request) { sink.receive($0) } })
        for (begin, exchange) in zip(begins, exchanges) { begin.sink.attach(exchange) }
    }

    /// Of the requests for the download's own URL the last one is shown.
    func noteWay(of job: Job, _ source: Source, _ url: URL) {
        if source == 0 { job.task.state.withLock { $0.currentURL = url } }
    }

    private func request(_ job: Job, _ destination: Destination, _ ask: Ask) -> TransportRequest {
        var fields = destination.fields
        for field in ask.headerFields.fields { fields.append(field.name, field.value) }
        // There are firewalls that refuse who does not say it.
        if fields["Accept"] == nil { fields.append("Accept", "*/*") }
        let (access, timeout) = state.withLock { ($0.gate.access, $0.timeout) }
        var request = TransportRequest(
            url: destination.url, fields: fields, resumeData: ask.resumeData.map { Data($0) }, timeout: timeout,
            networkAccess: access, isLimited: !throttle.withLock { $0.isFree(job.id) })
        request.known = KnownAddress(destination.address)
        return request
    }

    private func destination(_ job: Job, _ source: Source) throws(DownloadFailure) -> Destination {
        if source > 0 { return try mirrorDestination(job, source) }
        let (known, link, address) = job.state.withLock { ($0.destination, $0.link, $0.attempted) }
        if let known { return known }
        let destination = try Destination(
            link ?? KeptLink(url: address.url), url: address.url, fields: address.fields)
        job.state.withLock { $0.destination = destination }
        return destination
    }

    /// The way to a mirror, with the fields for the download's own URL as far as they may leave its origin.
    private func mirrorDestination(_ job: Job, _ source: Source) throws(DownloadFailure) -> Destination {
        let (known, mirrors, address) = job.state.withLock { ($0.mirrorDestinations[source], $0.mirrors, $0.attempted) }
        if let known { return known }
        guard source <= mirrors.count else {
            throw DownloadFailure(.transport(.unacceptableRequest), "There is no mirror \(source).")
        }
        let destination = try Destination(
            KeptLink(url: mirrors[source - 1]), url: address.url, fields: address.fields)
        job.state.withLock { $0.mirrorDestinations[source] = destination }
        return destination
    }

    private func take(_ report: Sink.Report, of job: Job, _ number: ExchangeNumber) {
        let id = job.id
        switch report {
        case .head(let head): handle(.exchange(id, number, .head(head)))
        case .received(let count): handle(.exchange(id, number, .received(count)))
        case .holds(let count): handleToTheEnd(.exchange(id, number, .holds(count)))
        case .ended(let count):
            _ = job.state.withLock { $0.sinks.remove(number) }
            handle(.exchange(id, number, .ended(received: count)))
            settled(id)
        case .failed(let failure):
            job.state.withLock { state in
                // A stop that comes between the two events does not close the file before the second.
                if let sink = state.sinks.remove(number) { state.ending.put(sink, at: number) }
            }
            keepResumeData(failure, of: id, number)
            // Not another of the same number, which took over the bytes that this one has left.
            if stopsWithExchange(job, failure), self.job(id) === job {
                handle(.user(.suspend, [id], nil))
            } else {
                handle(.exchange(id, number, .failed(DownloadFailure(asSeenHere(failure)))))
            }
            ended(number, of: job)
            settled(id)
        case .overflowed:
            _ = job.state.withLock { $0.sinks.remove(number) }
            handle(.exchange(id, number, .overflowed))
            settled(id)
        case .waits: waits(job, number)
        case .stopped(let failure):
            keepResumeData(failure, of: id, number)
            ended(number, of: job)
        }
    }

    private func keepResumeData(_ failure: TransportFailure?, of id: DownloadID, _ number: ExchangeNumber) {
        guard let data = failure?.resumeData, traits.hasResumeData else { return }
        handleToTheEnd(.exchange(id, number, .resumeData(Array(data))))
    }

    // MARK: Stopping

    /// Work that has to come behind the end of every exchange that was stopped: at once when there is none.
    func afterEnding(_ job: Job, _ work: @escaping @Sendable () -> Void) {
        let isNow = job.state.withLock { state in
            if !state.ending.isEmpty { state.afterEnding = work }
            return state.ending.isEmpty
        }
        if isNow { work() }
    }

    private func ended(_ number: ExchangeNumber, of job: Job) {
        let work = job.state.withLock { state in
            state.ending.remove(number)
            return state.ending.isEmpty ? state.afterEnding.take() : nil
        }
        work?()
    }

    func stop(_ job: Job, _ number: ExchangeNumber, keepBytes: Bool) {
        let (sink, hasFailed) = job.state.withLock { state in
            state.heldBack.remove(number)
            let sink = state.sinks.remove(number)
            // Before the stop: the end may come inside it.
            if keepBytes, let sink { state.ending.put(sink, at: number) }
            return (sink, state.hasFileFailed)
        }
        guard let sink else { return }
        if traits.outlivesProcess { state.withLock { _ = $0.delivery.awaited.remove(job.id) } }
        guard keepBytes else { return _ = sink.stop(keepBytes: false) }
        let tellsEnd = sink.stop(keepBytes: !hasFailed, tellingEnd: traits.hasResumeData)
        guard tellsEnd else { return ended(number, of: job) }
        // What would have gone on with its file, or given it up, may have come before the stop.
        sink.relieve()
        if job.state.withLock({ $0.hasFileFailed }) { giveUpFiles(of: job) }
    }

    /// Files of exchanges that were stopped are read no further.
    func giveUpFiles(of job: Job) {
        for number in job.state.withLock({ $0.ending.numbers }) {
            let sink = job.state.withLock { $0.ending[number] }
            if sink?.giveUpFile() == true { ended(number, of: job) }
        }
    }

    // MARK: Answers

    private func accept(
        _ job: Job, _ number: ExchangeNumber, _ body: Range<Int64>, _ pending: inout PendingChanges
    ) {
        let (sink, file, isForOther) = job.state.withLock { ($0.sinks[number], $0.file, $0.carryExchangeOver()) }
        if isForOther {
            put(job, &pending)
            pending.durability = .machine
        }
        guard let sink, let file else { return }
        sink.accept(body, into: file)
    }

    private func follow(_ job: Job, _ number: ExchangeNumber, _ location: String) {
        let way = job.state.withLock { $0.sinks[number]?.way }
        stop(job, number, keepBytes: false)
        do throws(DownloadFailure) {
            // Nobody knows any more how it got there: the way is gone again from its beginning.
            guard let way, job.state.withLock({ $0.exchange?.isInherited != true }) else {
                return handle(.exchange(job.id, number, .redirected))
            }
            var destination = way.destination
            try destination.follow(location)
            lead(job, way.source, to: destination)
            handle(.exchange(job.id, number, .redirected))
        } catch {
            handle(.exchange(job.id, number, .failed(error)))
        }
    }
}

extension Engine {
    /// Requests to a place go somewhere else from now on.
    private func lead(_ job: Job, _ source: Source, to destination: Destination) {
        job.state.withLock { state in
            if source == 0 { state.destination = destination } else { state.mirrorDestinations[source] = destination }
        }
    }
}

extension JobState {
    /// Requests begin at the first URL again: where redirects led to may have expired. One that a link led to for this
    /// attempt alone stays.
    mutating func leadBack() {
        guard attempted == address, coming.isEmpty else { return }
        (destination, mirrorDestinations) = (nil, [:])
    }
}

extension DownloadFailure {
    /// The exchange failed.
    init(_ failure: TransportFailure) {
        self.init(
            failure.fault == .diskFull ? .disk(.noSpace) : .transport(failure.fault), failure.description)
    }
}
