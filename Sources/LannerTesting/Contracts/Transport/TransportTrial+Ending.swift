import LannerCore
import LannerLoopback

/// Ends that are asked for.
extension TransportTrial {
    func cancelBeforeHead() async throws {
        _ = serve(100_000, .hold)
        let witness = witness()
        try await cancel(try await beginHeld(witness))
        let record = try await witness.end()
        expect(record, failed: [.canceled], "An exchange that was canceled before its head")
        expect(record.head == nil, "A head came after all.")
        release()
        try await fence()
    }

    func cancelInBody() async throws {
        let resource = serve(64 << 20, .stall(afterBytes: 100_000))
        let witness = witness(comparing: resource)
        let exchange = try await beginHeld(witness)
        if !deliversFile { try await witness.wait(for: "The first bytes") { $0.byteCount > 0 } }
        for _ in 0..<2 { try await cancel(exchange) }
        expect(try await witness.end(), failed: [.canceled], "An exchange that was canceled in its body")
        // What is closed a little later is so by then.
        try await fence()
        release()
        try await settle { site.bytesSent(Self.path) }
        expectUnsent(of: resource, "an exchange that was canceled")
        try await fence()
    }

    func cancelAtOnce() async throws {
        let resource = serve(100_000)
        for _ in 0..<20 {
            let witness = witness()
            let (transport, request) = (transport, request())
            try await Arrival.of("The return of `begin` and `cancel`") {
                transport.begin(request, receive: witness.receive).cancel()
            }
            expectEnd(try await witness.end(), .canceled, resource, "An exchange that was canceled at once")
        }
        try await fence()
    }

    func cancelInside() async throws {
        try await fromInside { _, exchange in
            exchange.cancel()
        } expecting: {
            .canceled
        }
        try await fence()
    }

    func invalidateInside() async throws {
        try await fromInside { transport, _ in
            transport.invalidate()
        } expecting: {
            .unavailable
        }
        try await fenceElsewhere()
    }

    private func fromInside(
        _ act: @escaping @Sendable (any Transport, any TransportExchange) -> Void,
        expecting fault: () -> TransportFault
    ) async throws {
        let resource = serveLong()
        let begun = Locked<(any TransportExchange)?>(nil)
        let transport = transport
        let witness = witness(comparing: resource) { event in
            guard case .head = event, let exchange = begun.withLock({ $0 }) else { return }
            act(transport, exchange)
        }
        let exchange = try await beginHeld(witness)
        begun.withLock { $0 = exchange }
        release()
        expectCut(try await witness.end(), fault(), resource, "An exchange that was ended inside `receive`")
        begun.withLock { $0 = nil }
    }

    func cancelWhileBlocked() async throws {
        try await whileBlocked("cancel") { _, exchange in
            exchange.cancel()
        } expecting: {
            .canceled
        }
        try await fence()
    }

    func invalidateWhileBlocked() async throws {
        try await whileBlocked("invalidate") { transport, _ in
            transport.invalidate()
        } expecting: {
            .unavailable
        }
        try await fenceElsewhere()
    }

    private func whileBlocked(
        _ call: String, _ act: @escaping @Sendable (any Transport, any TransportExchange) -> Void,
        expecting fault: () -> TransportFault
    ) async throws {
        let resource = serveLong()
        let barrier = Barrier()
        defer { barrier.open() }
        let witness = witness(comparing: resource) { _ in barrier.hold() }
        let exchange = try await beginHeld(witness)
        release()
        try await barrier.wait()
        let transport = transport
        try await Arrival.of("The return of `\(call)` while the receiver blocked") { act(transport, exchange) }
        barrier.open()
        expectCut(try await witness.end(), fault(), resource, "An exchange that was ended while its receiver blocked")
    }

    /// The end may have been on its way already, with the whole body.
    private func expectEnd(
        _ record: Record, _ fault: TransportFault, _ resource: LoopbackServer.Resource, _ what: String
    ) {
        if record.isComplete {
            expect(record, resource.bytes, what)
        } else {
            expect(record, failed: [fault], beginning: resource.bytes, what)
        }
    }

    /// More than can be on its way in pieces; a file may come as a whole.
    private func serveLong() -> LoopbackServer.Resource {
        serve(deliversFile ? 3_000_000 : 64 << 20, .hold)
    }

    /// Of what is so long the end cannot have been on its way.
    private func expectCut(
        _ record: Record, _ fault: TransportFault, _ resource: LoopbackServer.Resource, _ what: String
    ) {
        if deliversFile { expectEnd(record, fault, resource, what) } else { expect(record, failed: [fault], what) }
    }

    func cancelAfterEnd() async throws {
        for answer in [TransportContract.Answer.whole, .cut(afterBytes: 1000)] {
            _ = serve(10_000, answer)
            let witness = witness()
            let exchange = try await begin(witness)
            let before = try await witness.end()
            try await Arrival.of("The return of `cancel`, `pause` and `resume`") {
                exchange.cancel()
                exchange.pause()
                exchange.resume()
            }
            try await fence()
            let after = witness.record
            expect(before.ending == after.ending, "\(before.ending) became \(after.ending).")
        }
    }

    func invalidate() async throws {
        _ = serve(100_000, .hold)
        _ = serve(100_000, .stall(afterBytes: 1000), at: "/stalled")
        let witnesses = [witness(), witness(), witness()]
        var exchanges: [any TransportExchange] = []
        for (witness, path) in zip(witnesses, [Self.path, Self.path, "/stalled"]) {
            exchanges.append(try await begin(witness, request(path)))
        }
        try await held(3)
        for _ in 0..<2 { try await invalidate(transport) }
        for witness in witnesses {
            expect(try await witness.end().fault == .unavailable, "An exchange ended with \(witness.record.ending).")
        }
        for exchange in exchanges { try await cancel(exchange) }
        release()
        try await fenceElsewhere()
    }

    func beginAfterInvalidate() async throws {
        _ = serve(100)
        try await invalidate(transport)
        let record = try await fetch()
        expect(record, failed: [.unavailable], "An exchange that was begun too late")
        expect(record.head == nil, "There was a head.")
        expect(site.requests(Self.path).isEmpty, "A request was sent.")
    }
}
