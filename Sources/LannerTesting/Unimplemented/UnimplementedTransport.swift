import LannerCore

/// A transport that must not be used: beginning an exchange fails the test, with a sentence that names the URL.
///
/// For tests of code that must not touch the network. Managers may be made with it and ended: ``traits`` and
/// ``invalidate()`` are no use. Where the handler returns, the exchange fails with `TransportFault.unavailable`.
public final class UnimplementedTransport: Transport {
    /// What the transport claims to be.
    public let traits: TransportTraits
    private let touch: Touch

    /// Makes a transport; without a handler a touch ends the process. See ``UnimplementedHandler``.
    public init(
        traits: TransportTraits = TransportTraits(delivery: .pausable), _ handler: UnimplementedHandler? = nil
    ) {
        self.traits = traits
        touch = Touch(type: "UnimplementedTransport", handler: handler ?? Touch.trap)
    }

    /// Fails the test.
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        touch.report(request.url.absoluteString)
        receive(.failure(TransportFailure(.unavailable, "The transport of this test is not implemented.")))
        return NoExchange()
    }

    /// Does nothing.
    public func invalidate() {}
}

/// An exchange that is over.
final class NoExchange: TransportExchange {
    func cancel() {}
    func pause() {}
    func resume() {}
}
