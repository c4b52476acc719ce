import Foundation
import LannerCore
import LannerLoopback

/// One clause tried on one transport.
struct TransportTrial: Sendable {
    typealias Clause = TransportContract.Clause
    typealias Record = TransportWitness.Record

    let clause: Clause
    let findings: ContractFindings<Clause>
    let setup: TransportContract.Setup
    let setUp: @Sendable () throws -> TransportContract.Setup
    /// Those that later processes have made.
    let successors = Locked<[any Transport]>([])

    var transport: any Transport { setup.transport }
    var site: any TransportContract.Site { setup.site }
    var deliversFile: Bool { transport.traits.delivery == .file }

    /// Where most clauses have their file.
    static let path = "/file"

    /// Tries the clause, and ends what was tried.
    func run() async throws {
        guard clause.applies(to: transport.traits) else { return try await invalidate(transport) }
        try await ending { try await clause.run(self) }
    }

    /// Ends the transports behind something. After a failure nobody waits for that: a call that has not returned may hold a
    /// lock.
    private func ending(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            for transport in transports { Thread.detachNewThread { transport.invalidate() } }
            throw error
        }
        for transport in transports { try await invalidate(transport) }
    }

    private var transports: [any Transport] { [transport] + successors.withLock { $0 } }

    /// Puts a file at the usual path.
    func serve(
        _ length: Int64, seed: UInt64 = 1, _ answer: TransportContract.Answer = .whole, at path: String = path,
        framing: LoopbackServer.Resource.Framing = .contentLength
    ) -> LoopbackServer.Resource {
        let resource = LoopbackServer.Resource(.generated(seed: seed, length: length), framing: framing)
        site.put(resource, at: path)
        site.always(path, answer)
        return resource
    }

    func request(_ target: String = path, _ fields: HeaderFields = [:], resume: Data? = nil) -> TransportRequest {
        let url = URL(string: target, relativeTo: site.baseURL)?.absoluteURL ?? site.baseURL
        return TransportRequest(url: url, fields: fields, resumeData: resume, timeout: .seconds(3600))
    }

    func witness(
        comparing resource: LoopbackServer.Resource? = nil,
        hook: @escaping @Sendable (TransportEvent) -> Void = { _ in }
    ) -> TransportWitness {
        TransportWitness(findings, transport.traits.delivery, comparing: resource, hook: hook)
    }

    // MARK: Carrying out

    /// Begins an exchange, on a thread that may be blocked, and returns it.
    func begin(_ witness: TransportWitness, _ request: TransportRequest) async throws -> any TransportExchange {
        let transport = transport
        return try await Arrival.of("The return of `begin`") { transport.begin(request, receive: witness.receive) }
    }

    func begin(_ witness: TransportWitness) async throws -> any TransportExchange {
        try await begin(witness, request())
    }

    func cancel(_ exchange: any TransportExchange) async throws {
        try await Arrival.of("The return of `cancel`") { exchange.cancel() }
    }

    func invalidate(_ transport: any Transport) async throws {
        try await Arrival.of("The return of `invalidate`") { transport.invalidate() }
    }

    /// Begins an exchange that the site holds back, after so many others.
    func beginHeld(_ witness: TransportWitness, after others: Int = 0) async throws -> any TransportExchange {
        let exchange = try await begin(witness)
        try await held(others + 1)
        return exchange
    }

    /// Returns when so many answers are held back.
    func held(_ count: Int) async throws {
        try await NeverCame.unless("A request") { [site] in try await site.waitUntilHeld(count) }
    }

    /// Carries out an exchange to its end.
    func fetch(_ request: TransportRequest) async throws -> Record {
        let witness = witness()
        let exchange = try await begin(witness, request)
        defer { withExtendedLifetime(exchange) {} }
        return try await witness.end()
    }

    func fetch(_ target: String = path, _ fields: HeaderFields = [:]) async throws -> Record {
        try await fetch(request(target, fields))
    }

    /// Lets the site go on, on another thread: whoever delivers there may be blocked by the receiver.
    func release() {
        let site = site
        Thread.detachNewThread { try? site.release() }
    }

    /// Carries out another exchange, so that what is still on its way has had its chance to come.
    func fence() async throws {
        let resource = serve(10_000, seed: 99, at: "/fence")
        expect(try await fetch("/fence"), resource.bytes, "An exchange after the one that was tried")
    }

    /// The same on a transport of its own.
    func fenceElsewhere() async throws {
        let trial = TransportTrial(clause: clause, findings: findings, setup: try setUp(), setUp: setUp)
        try await trial.ending { try await trial.fence() }
    }

    /// Until a count has stayed the same for a while, in which other exchanges began and ended: a thread that has more may
    /// have been kept waiting by others. Not when it has become nil.
    func settle(_ count: () -> Int64?) async throws {
        var (last, since) = (-1 as Int64, ContinuousClock.now)
        while let now = count(), now != last || .now - since < .milliseconds(250) {
            if now != last { (last, since) = (now, .now) }
            try await fenceElsewhere()
        }
    }

    // MARK: Expecting

    func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        findings.expect(isKept, clause, detail())
    }

    /// Expects an exchange to be complete with these bytes.
    func expect(_ record: Record, _ bytes: [UInt8], _ what: String) {
        expect(record.isComplete, "\(what) ended with \(record.ending).")
        if record.isComplete { expect(record.body == bytes, "\(what) had \(Self.difference(record.body, bytes)).") }
    }

    /// Expects an exchange whose pieces were compared to be complete.
    func expect(_ record: Record, _ resource: LoopbackServer.Resource, _ what: String) {
        expect(record.isComplete, "\(what) ended with \(record.ending).")
        expect(Int64(record.byteCount) == resource.length, "\(what) had \(record.byteCount) bytes.")
        expectRight(record, what)
    }

    /// Expects the pieces that were compared to be those that were served.
    private func expectRight(_ record: Record, _ what: String) {
        let first = record.firstWrong
        expect(first == nil, "\(what) had other bytes than were served, in a piece at \(first ?? 0).")
    }

    /// Expects an exchange to have failed in one of these ways, with no more than the beginning of these bytes.
    func expect(_ record: Record, failed faults: [TransportFault], beginning bytes: [UInt8] = [], _ what: String) {
        expect(record.fault.map(faults.contains) ?? false, "\(what) ended with \(record.ending).")
        expectRight(record, what)
        expect(bytes.starts(with: record.body), "\(what) had \(Self.difference(record.body, bytes)).")
    }

    /// Expects that the usual path's body, of which there is more than can be on its way, was not sent as a whole.
    func expectUnsent(of resource: LoopbackServer.Resource, _ what: String) {
        guard let sent = site.bytesSent(Self.path) else { return }
        expect(sent < resource.length, "All of \(sent) bytes were sent for \(what).")
    }

    private static func difference(_ given: [UInt8], _ expected: [UInt8]) -> String {
        let same = zip(given, expected).prefix { $0 == $1 }.count
        return "\(given.count) bytes, of which the first \(same) are those of the \(expected.count) that were served"
    }
}

extension TransportWitness {
    /// What has come, after the ending.
    func end() async throws -> Record {
        try await wait(for: "`end` or `failure`") { $0.isOver }
    }
}
