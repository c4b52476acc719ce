import Foundation
import LannerCore
import LannerLoopback

/// What is promised by transports whose exchanges outlive the process. That it ends is played by the end of the transport.
extension TransportTrial {
    /// Begins an exchange with a name that the site holds back in its body, and has the process end.
    private func beginAndLeave(_ name: String) async throws -> (LoopbackServer.Resource, any Transport) {
        let resource = serve(300_000, .stall(afterBytes: 100_000))
        let witness = namedWitness()
        let exchange = try await beginNamed(name, witness, on: transport)
        try await held(1)
        let next = try await relaunch(transport)
        let left = try await witness.end()
        expect(left.fault == .unavailable, "With the process an exchange ended with \(left.ending).")
        try await cancel(exchange)
        return (resource, next)
    }

    private func namedWitness() -> TransportWitness {
        TransportWitness(findings, transport.traits.delivery, leavesFile: true)
    }

    private func beginNamed(
        _ name: String?, _ witness: TransportWitness, _ fields: HeaderFields = [:], on transport: any Transport
    ) async throws -> any TransportExchange {
        var request = request()
        (request.name, request.fields) = (name, fields)
        let named = request
        return try await Arrival.of("The return of `begin`") { transport.begin(named, receive: witness.receive) }
    }

    private func fetch(
        _ name: String, _ fields: HeaderFields = [:], on transport: any Transport
    ) async throws -> Record {
        let witness = namedWitness()
        let exchange = try await beginNamed(name, witness, fields, on: transport)
        defer { withExtendedLifetime(exchange) {} }
        return try await witness.end()
    }

    /// Ends the transport, and makes the next.
    private func relaunch(_ last: any Transport) async throws -> any Transport {
        guard let successor = setup.successor else { throw MissingSuccessor() }
        try await invalidate(last)
        let next = try successor()
        successors.withLock { $0.append(next) }
        return next
    }

    private func survivors(_ transport: any Transport) async throws -> [TransportSurvivor] {
        let arrival = Arrival<[TransportSurvivor]>()
        try await Arrival.of("The return of `recover`") {
            transport.recover { recovery in
                if case .survivors(let survivors) = recovery { arrival.arrive(survivors) }
            }
        }
        return try await arrival.wait(for: "The survivors")
    }

    private func discard(_ name: String, on transport: any Transport) async throws {
        try await Arrival.of("The return of `discard`") { transport.discard(name) }
    }

    func survivor() async throws {
        let name = Self.makeName()
        let (resource, next) = try await beginAndLeave(name)
        let survivors = try await survivors(next)
        expect(survivors == [TransportSurvivor(name, .running)], "The survivors were \(survivors).")
        let witness = namedWitness()
        let exchange = try await beginNamed(name, witness, on: next)
        defer { withExtendedLifetime(exchange) {} }
        release()
        expect(try await witness.end(), resource.bytes, "The exchange that was taken up")
        expect(witness.record.head?.status == 200, "The head had the status \(witness.record.head?.status ?? 0).")
        expect(site.requests(Self.path).count == 1, "\(site.requests(Self.path).count) requests came.")
        try await discard(name, on: next)
    }

    func survivorEnded() async throws {
        let name = Self.makeName()
        let (resource, next) = try await beginAndLeave(name)
        release()
        for _ in 0..<2 { expect(try await fetch(name, on: next), resource.bytes, "The exchange that was taken up") }
        let last = try await relaunch(next)
        let survivors = try await survivors(last)
        expect(survivors == [TransportSurvivor(name, .ended)], "The survivors were \(survivors).")
        let record = try await fetch(name, ["Authorization": "Basic YTpi"], on: last)
        expect(record, resource.bytes, "The exchange in a third process, asked for something else,")
        expect(site.requests(Self.path).count == 1, "\(site.requests(Self.path).count) requests came.")
        try await discard(name, on: last)
    }

    func survivorCanceled() async throws {
        let name = Self.makeName()
        let (_, next) = try await beginAndLeave(name)
        let witness = namedWitness()
        try await cancel(try await beginNamed(name, witness, on: next))
        expect(try await witness.end(), failed: [.canceled], "The exchange that was canceled")
        let last = try await relaunch(next)
        let survivors = try await survivors(last)
        expect(survivors == [TransportSurvivor(name, .interrupted)], "The survivors were \(survivors).")
        let record = try await fetch(name, on: last)
        expect(record, failed: [.canceled], "The exchange in a third process")
        let isSame = record.failure?.resumeData == witness.record.failure?.resumeData
        expect(isSame, "It had other resume data.")
        try await discard(name, on: last)
        release()
    }

    func discard() async throws {
        let name = Self.makeName()
        let (resource, next) = try await beginAndLeave(name)
        try await discard(name, on: next)
        try await discard(Self.makeName(), on: next)
        release()
        let other = Self.makeName()
        site.always(Self.path, .whole)
        expect(try await fetch(other, on: next), resource.bytes, "An exchange after the one that was discarded")
        let last = try await relaunch(next)
        let survivors = try await survivors(last)
        expect(survivors == [TransportSurvivor(other, .ended)], "The survivors were \(survivors).")
        try await discard(other, on: last)
    }

    func unnamed() async throws {
        _ = serve(300_000, .stall(afterBytes: 100_000))
        let witness = namedWitness()
        let exchange = try await beginNamed(nil, witness, on: transport)
        defer { withExtendedLifetime(exchange) {} }
        try await held(1)
        let next = try await relaunch(transport)
        expect(try await witness.end().fault == .unavailable, "It ended with \(witness.record.ending).")
        let survivors = try await survivors(next)
        expect(survivors.isEmpty, "The survivors were \(survivors).")
        release()
    }

    /// Never used before, since the system may remember.
    private static func makeName() -> String { "contract-" + UUID().uuidString }
}

/// Nobody has said how the next process makes its transport.
private struct MissingSuccessor: Error, CustomStringConvertible {
    var description: String { "a transport that outlives the process needs a successor in its `Setup`." }
}
