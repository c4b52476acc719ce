import Foundation
import LannerMachine

// What the machine wants of the transport.

extension Engine {
    func run(_ action: TransportAction, of job: Job) {
        switch action {
        case .begin(let number, let ask): begin(job, number, ask)
        case .accept(let number, let body): accept(job, number, body)
        case .follow(let number, let location): follow(job, number, location)
        case .stop(let number, let keepBytes): stop(job, number, keepBytes: keepBytes)
        case .flush: for sink in sinks(job) { sink.flush() }
        }
    }

    private func sinks(_ job: Job) -> [Sink] {
        job.state.withLock { state in state.sinks.sorted { $0.key < $1.key }.map(\.value) }
    }

    private func begin(_ job: Job, _ number: ExchangeNumber, _ ask: Ask) {
        if isOver { return }
        let id = job.id
        let sink = Sink(isPausable: transport.traits.delivery == .pausable) { [weak self] report in
            self?.take(report, of: id, number)
        }
        do throws(Failure) {
            let request = try request(job, ask)
            job.state.withLock { $0.sinks[number] = sink }
            sink.attach(transport.begin(request) { sink.receive($0) })
        } catch {
            handle(.exchange(id, number, .failed(error)))
        }
    }

    private func request(_ job: Job, _ ask: Ask) throws(Failure) -> TransportRequest {
        let destination = try destination(job)
        var fields = destination.fields
        for field in ask.headerFields.fields { fields.append(field.name, field.value) }
        let (access, timeout) = state.withLock { ($0.networkAccess, $0.timeout) }
        return TransportRequest(
            url: destination.url, fields: fields, resumeData: ask.range == nil ? takeResumeData(job) : nil,
            timeout: timeout, networkAccess: access)
    }

    private func takeResumeData(_ job: Job) -> Data? {
        job.state.withLock { state in
            defer { state.resumeData = nil }
            return state.resumeData
        }
    }

    private func destination(_ job: Job) throws(Failure) -> Destination {
        let (known, fields) = job.state.withLock { ($0.destination, $0.fields) }
        if let known { return known }
        let destination = try Destination(url: job.task.url, fields: fields)
        job.state.withLock { $0.destination = destination }
        return destination
    }

    private func take(_ report: Sink.Report, of id: DownloadID, _ number: ExchangeNumber) {
        switch report {
        case .head(let head): handle(.exchange(id, number, .head(head)))
        case .received(let count): handle(.exchange(id, number, .received(count)))
        case .ended(let count):
            _ = job(id)?.state.withLock { $0.sinks.removeValue(forKey: number) }
            handle(.exchange(id, number, .ended(received: count)))
        case .failed(let failure):
            job(id)?.state.withLock { state in
                state.sinks[number] = nil
                state.resumeData = failure.resumeData ?? state.resumeData
            }
            handle(.exchange(id, number, .failed(Failure(failure))))
        }
    }

    private func accept(_ job: Job, _ number: ExchangeNumber, _ body: Range<Int64>) {
        let (sink, file) = job.state.withLock { ($0.sinks[number], $0.file) }
        guard let sink, let file else { return }
        sink.accept(body, into: file)
    }

    private func follow(_ job: Job, _ number: ExchangeNumber, _ location: String) {
        stop(job, number, keepBytes: false)
        do throws(Failure) {
            var destination = try destination(job)
            try destination.follow(location)
            job.state.withLock { $0.destination = destination }
            job.task.state.withLock { $0.currentURL = destination.url }
            handle(.exchange(job.id, number, .redirected))
        } catch {
            handle(.exchange(job.id, number, .failed(error)))
        }
    }

    private func stop(_ job: Job, _ number: ExchangeNumber, keepBytes: Bool) {
        job.state.withLock { $0.sinks.removeValue(forKey: number) }?.stop(keepBytes: keepBytes)
    }
}

extension Failure {
    /// The exchange failed.
    init(_ failure: TransportFailure) {
        self.init(
            failure.fault == .diskFull ? .disk(.noSpace) : .transport(failure.fault), failure.message)
    }
}
