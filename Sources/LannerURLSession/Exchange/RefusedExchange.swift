import LannerCore

/// The exchange of a request that is not sent, because it could do harm.
final class RefusedExchange: TransportExchange {
    init(_ failure: TransportFailure, receive: @escaping @Sendable (TransportEvent) -> Void) {
        Mailbox(receive: receive).finish(.failure(failure))
    }

    func cancel() {}
    func pause() {}
    func resume() {}
}
