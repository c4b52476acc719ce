import LannerCore
import LannerLoopback

/// What comes, and when.
extension TransportTrial {
    func order() async throws {
        let resource = serve(300_000)
        let record = try await fetch()
        expect(record, resource.bytes, "A file of 300,000 bytes")
        expect(record.head?.status == 200, "The head had the status \(record.head?.status ?? 0).")
        expect(record.head?.fields["Content-Length"] == "300000", "The head came without its `Content-Length`.")
        try await fence()
    }

    func endings() async throws {
        let answers: [TransportContract.Answer] = [
            .whole, .status(404, body: [1]), .status(503), .cut(afterBytes: 1000), .broken,
        ]
        for answer in answers {
            _ = serve(10_000, answer)
            _ = try await fetch()
        }
        try await fence()
    }

    func oneAtATime() async throws {
        try await blocked { _ in
            true
        } meanwhile: { _ in
            try await fenceElsewhere()
        }
    }

    func blockedReceiver() async throws {
        try await blocked { event in
            switch event {
            case .bytes, .progress, .file: true
            case .head, .end, .failure: false
            }
        } meanwhile: { _ in
            try await fenceElsewhere()
        }
    }

    func others() async throws {
        try await blocked { _ in
            true
        } meanwhile: { _ in
            try await fence()
        }
    }

    func callsWhileBlocked() async throws {
        try await blocked { _ in
            true
        } meanwhile: { exchange in
            try await Arrival.of("The return of `pause` and `resume` while the receiver blocked") {
                exchange.pause()
                exchange.resume()
            }
        }
    }

    /// An exchange whose receiver blocks in the first call that the point names, while something is done twice.
    private func blocked(
        at isThere: @escaping @Sendable (TransportEvent) -> Bool,
        meanwhile act: (any TransportExchange) async throws -> Void
    ) async throws {
        let resource = serve(3_000_000, .hold)
        let barrier = Barrier()
        defer { barrier.open() }
        let witness = witness { if isThere($0) { barrier.hold() } }
        let exchange = try await beginHeld(witness)
        defer { withExtendedLifetime(exchange) {} }
        release()
        try await barrier.wait()
        for _ in 0..<2 { try await act(exchange) }
        barrier.open()
        expect(try await witness.end(), resource.bytes, "An exchange whose receiver blocked")
    }

    func beginInside() async throws {
        let (first, second) = (serve(10_000), serve(20_000, seed: 2, at: "/second"))
        // Given once: that a transport ends twice is for another clause.
        let (transport, next, nextRequest) = (transport, witness(), Locked<TransportRequest?>(request("/second")))
        // What becomes of exchanges that nobody holds is nobody's promise.
        let begun = Locked<[any TransportExchange]>([])
        defer { withExtendedLifetime(begun) {} }
        let witness = witness { event in
            guard case .end = event, let request = nextRequest.withLock({ $0.take() }) else { return }
            let exchange = transport.begin(request, receive: next.receive)
            begun.withLock { $0.append(exchange) }
        }
        let exchange = try await begin(witness)
        defer { withExtendedLifetime(exchange) {} }
        expect(try await witness.end(), first.bytes, "The first exchange")
        expect(try await next.end(), second.bytes, "The exchange that was begun inside `receive`")
    }

    func manyAtOnce() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let resource = serve(50_000, seed: UInt64(number), at: "/\(number)")
                    expect(try await fetch("/\(number)"), resource.bytes, "One of 20 exchanges")
                }
            }
            try await group.waitForAll()
        }
    }

    /// One of several is canceled while its answer is held back, and no other.
    func beginSeveral() async throws {
        let resources = (0..<8).map { serve(20_000, seed: UInt64($0), $0 == 5 ? .hold : .whole, at: "/\($0)") }
        let witnesses = resources.map { _ in witness() }
        let beginnings = witnesses.indices.map { number in
            TransportBeginning(request("/\(number)"), receive: witnesses[number].receive)
        }
        let transport = transport
        let exchanges = try await Arrival.of("The return of `begin`") { transport.begin(beginnings) }
        expect(
            exchanges.count == beginnings.count, "\(exchanges.count) exchanges were returned for \(beginnings.count).")
        try await held(1)
        if exchanges.count > 5 { try await cancel(exchanges[5]) }
        for (number, witness) in witnesses.enumerated() {
            let record = try await witness.end()
            if number == 5 {
                expect(record, failed: [.canceled], "The one that was canceled")
            } else {
                expect(record, resources[number].bytes, "One of several exchanges")
            }
        }
        release()
        try await fence()
        let none = try await Arrival.of("The return of `begin`") { transport.begin([]) }
        expect(none.isEmpty, "Exchanges were returned for none.")
    }
}
