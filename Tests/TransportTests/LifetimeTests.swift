import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

/// Cancellation, invalidation, and many exchanges at once, over every transport that speaks to real servers.
@Suite(.timeLimit(.minutes(10)))
struct LifetimeTests {
    let server: LoopbackServer
    let resource = LoopbackServer.Resource(.generated(seed: 5, length: 2_000_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", resource)
        server.put("/small", LoopbackServer.Resource(.generated(seed: 6, length: 10_000)))
    }

    /// Carries out another exchange, so that what was still on its way for earlier ones has had its chance to come.
    private func fence(_ transport: any Transport) async {
        #expect(await transport.fetch(server.url("/small")).isComplete)
    }

    @Test(arguments: TransportKind.allCases) func cancelingBeforeTheHead(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        server.always("/file", .hold)
        let recorder = Recorder()
        let exchange = transport.start(server.url("/file"), recorder)
        try await server.waitForStalls(1)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
        try server.release()
        await fence(transport)
        #expect(recorder.log.breaches == [])
        #expect(recorder.log.head == nil)
    }

    @Test(arguments: TransportKind.allCases) func cancelingAtOnce(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        let recorder = Recorder()
        transport.start(server.url("/file"), recorder).cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
        await fence(transport)
        #expect(recorder.log.breaches == [])
    }

    @Test(arguments: TransportKind.allCases) func cancelingInTheBody(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        server.always("/file", .stall(afterBytes: 300_000))
        let recorder = Recorder()
        let exchange = transport.start(server.url("/file"), recorder)
        await recorder.wait { $0.bytes.count == 300_000 }
        exchange.cancel()
        exchange.cancel()
        let failure = await recorder.end().failure
        #expect(failure?.fault == .canceled, "\(failure?.message ?? "complete")")
        try server.release()
        await fence(transport)
        #expect(recorder.log.breaches == [])
        #expect(recorder.log.hasBytes(resource.bytes(in: 0..<300_000)))
    }

    @Test(arguments: TransportKind.allCases) func cancelingAfterTheEndDoesNothing(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        let recorder = Recorder()
        let exchange = transport.start(server.url("/file"), recorder)
        #expect(await recorder.end().isComplete)
        exchange.cancel()
        exchange.pause()
        exchange.resume()
        await fence(transport)
        #expect(recorder.log.breaches == [])
        #expect(recorder.log.failure == nil)
    }

    @Test(arguments: TransportKind.allCases) func cancelingFromInsideTheReceiver(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        // No other end may come first, or that counts.
        server.always("/file", .stall(afterBytes: 1_000_000))
        let exchange = Locked<(any TransportExchange)?>(nil)
        let gate = Turnstile()
        defer { gate.open() }
        let recorder = Recorder { event in
            guard case .bytes = event else { return }
            gate.pass()
            exchange.withLock { $0 }?.cancel()
        }
        let begun = transport.start(server.url("/file"), recorder, timeout: .seconds(3600))
        exchange.withLock { $0 = begun }
        gate.open()
        #expect(await recorder.end().failure?.fault == .canceled)
        try server.release()
        await fence(transport)
        #expect(recorder.log.breaches == [])
    }

    @Test(arguments: TransportKind.allCases) func cancelingAtAnyMoment(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        let paths = ["/file", "/small", "/moved", "/locked"]
        server.always("/moved", .redirect(to: "/small"))
        server.always("/locked", .status(401, ["WWW-Authenticate": "Basic realm=\"a\""], body: [1]))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let url = server.url(paths[number % paths.count])
                group.addTask {
                    let recorder = Recorder()
                    let exchange = transport.start(url, recorder)
                    // From at once to after the end, without a clock: so many turns for others.
                    for _ in 0..<(number * 5) { await Task.yield() }
                    exchange.cancel()
                    #expect(await recorder.end().breaches == [])
                }
            }
        }
        await fence(transport)
    }

    @Test(arguments: TransportKind.allCases) func redirectsCanceledAsTheyAreAnswered(_ kind: TransportKind) async throws
    {
        let transport = try kind.make()
        let current = Locked<(any TransportExchange)?>(nil)
        server.always("/moved", .redirect(to: "/small"))
        server.onRequest { _ in current.withLock { $0 }?.cancel() }
        for _ in 0..<100 {
            let recorder = Recorder()
            current.withLock { $0 = transport.start(server.url("/moved"), recorder) }
            #expect(await recorder.end().breaches == [])
        }
        server.onRequest(nil)
        await fence(transport)
    }

    @Test(arguments: TransportKind.allCases) func invalidatingInTheBody(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        server.always("/file", .stall(afterBytes: 300_000))
        let recorders = (0..<5).map { _ in Recorder() }
        for recorder in recorders { _ = transport.start(server.url("/file"), recorder) }
        for recorder in recorders { await recorder.wait { $0.bytes.count == 300_000 } }
        transport.invalidate()
        transport.invalidate()
        for recorder in recorders { #expect(await recorder.end().failure?.fault == .unavailable) }
        let late = await transport.fetch(server.url("/small"))
        #expect(late.failure?.fault == .unavailable)
        try server.release()
        await fence(try kind.make())
        for recorder in recorders { #expect(recorder.log.breaches == []) }
        try await server.wait { $0.openConnections <= 1 }
    }

    @Test(arguments: TransportKind.allCases) func beginningWhileOthersInvalidate(_ kind: TransportKind) async throws {
        for _ in 0..<20 {
            let transport = try kind.make()
            let recorders = (0..<10).map { _ in Recorder() }
            await withTaskGroup(of: Void.self) { group in
                for recorder in recorders {
                    group.addTask { _ = transport.start(self.server.url("/small"), recorder) }
                }
                group.addTask { transport.invalidate() }
            }
            for recorder in recorders {
                let log = await recorder.end()
                #expect(log.isComplete || log.failure?.fault == .unavailable)
                #expect(log.breaches == [])
            }
        }
    }

    @Test(arguments: TransportKind.allCases) func aTransportThatIsGoneEndsItsExchanges(
        _ kind: TransportKind
    ) async throws {
        server.always("/file", .stall(afterBytes: 1000))
        let recorder = Recorder()
        do {
            let transport = try kind.make()
            _ = transport.start(server.url("/file"), recorder)
            try await server.waitForStalls(1)
            withExtendedLifetime(transport) {}
        }
        #expect(await recorder.end().failure?.fault == .unavailable)
        try server.release()
    }

    @Test(arguments: TransportKind.allCases) func manyAtOnceAllArrive(_ kind: TransportKind) async throws {
        let transport = try kind.make()
        let expected = server.url("/small")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<300 {
                group.addTask {
                    let log = await transport.fetch(expected)
                    #expect(log.isComplete)
                    #expect(log.bytes.count == 10_000)
                    #expect(log.breaches == [])
                }
            }
        }
    }

    @Test(arguments: TransportKind.allCases) func noMoreRunAtOnceThanAllowed(_ kind: TransportKind) async throws {
        let transport = try kind.make(connectionsPerHost: 3)
        server.always("/file", .hold)
        let recorders = (0..<10).map { _ in Recorder() }
        let exchanges = recorders.map { transport.start(server.url("/file"), $0) }
        try await server.waitForStalls(3)
        // One that waits for its turn gives it up.
        exchanges[9].cancel()
        #expect(await recorders[9].end().failure?.fault == .canceled)
        #expect(server.requests.count == 3)
        #expect(server.activity.connections == 3)
        server.clearScript("/file")
        try server.release()
        for recorder in recorders.dropLast() { #expect(await recorder.end().isComplete) }
        #expect(server.requests.count == 9)
    }

    @Test(arguments: TransportKind.allCases) func aReceiverThatStandsStillHoldsUpNobodyElse(
        _ kind: TransportKind
    ) async throws {
        let transport = try kind.make()
        server.put("/large", LoopbackServer.Resource(.generated(seed: 8, length: 3_000_000)))
        let gate = Turnstile()
        defer { gate.open() }
        let slow = Recorder { event in
            if case .bytes = event { gate.pass() }
        }
        _ = transport.start(server.url("/large"), slow, timeout: .seconds(3600))
        await slow.wait { !$0.bytes.isEmpty }
        for _ in 0..<3 { #expect(await transport.fetch(server.url("/small")).isComplete) }
        #expect(!slow.log.isOver)
        gate.open()
        let log = await slow.end()
        #expect(log.isComplete)
        #expect(log.bytes.count == 3_000_000)
        #expect(log.breaches == [])
    }

    @Test(arguments: TransportKind.allCases) func nothingButTheFailureFollowsACancellation(
        _ kind: TransportKind
    ) async throws {
        let transport = try kind.make()
        // No other end may come first, or that counts: neither the last byte nor, on a busy machine, the timeout.
        server.always("/file", .stall(afterBytes: 1_000_000))
        let gate = Turnstile()
        defer { gate.open() }
        let recorder = Recorder { event in
            if case .bytes = event { gate.pass() }
        }
        let exchange = transport.start(server.url("/file"), recorder, timeout: .seconds(3600))
        let seen = await recorder.wait { !$0.bytes.isEmpty }.bytes.count
        exchange.cancel()
        gate.open()
        let log = await recorder.end()
        #expect(log.failure?.fault == .canceled)
        #expect(log.bytes.count == seen)
        #expect(log.breaches == [])
        try server.release()
    }
}
