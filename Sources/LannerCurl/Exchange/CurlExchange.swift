import LannerCore

/// One GET, as its owner and its receiver see it. What libcurl sees is the ``CurlTransfer``.
final class CurlExchange: TransportExchange {
    let request: TransportRequest
    private let loop: Loop
    private let mailbox: Locked<Mailbox>
    /// What carries it out just now. Only on the loop's thread.
    nonisolated(unsafe) var handle: OpaquePointer?

    // Of its own, because a receiver may block.
    private let deliveries = PooledLane("curl.deliveries")

    init(_ request: TransportRequest, loop: Loop, receive: @escaping Mailbox.Receiver) {
        self.request = request
        self.loop = loop
        mailbox = Locked(Mailbox(isLimited: request.isLimited, receive))
    }

    // MARK: The owner's side

    func cancel() {
        abandon(.canceled)
    }

    func pause() {
        mailbox.withLock { $0.pause() }
    }

    func resume() {
        if mailbox.withLock({ $0.resume() }) { loop.post(.go(self)) }
    }

    /// Ends the exchange with a failure, in the place of all that waits, from any thread; does nothing after its end.
    func abandon(_ failure: TransportFailure) {
        let (closes, drains) = mailbox.withLock { $0.close(with: .failure(failure), dropping: true) }
        if drains { startDraining() }
        if closes { loop.post(.drop(self)) }
    }

    // MARK: The transfer's side

    /// Whether nobody waits for anything any more.
    var isOver: Bool { mailbox.withLock { $0.isClosed } }

    /// Whether the transfer has to wait, with so many bytes that it has yet to post; the loop is told when it may go on.
    func holds(with gathered: Int) -> Bool {
        mailbox.withLock { $0.holds(with: gathered) }
    }

    /// Adds an event that is not the last one.
    func post(_ event: TransportEvent) {
        if mailbox.withLock({ $0.post(event) }) { loop.drain(self) }
    }

    /// Adds the last event behind all that waits.
    func finish(_ event: TransportEvent) {
        if mailbox.withLock({ $0.close(with: event, dropping: false).drains }) { loop.drain(self) }
    }

    // MARK: The receiver's side

    func startDraining() {
        deliveries.run { self.drain() }
    }

    private func drain() {
        while true {
            let (step, frees) = mailbox.withLock { $0.next() }
            if frees { loop.post(.go(self)) }
            guard let step else { return }
            step.receive(step.event)
        }
    }
}
