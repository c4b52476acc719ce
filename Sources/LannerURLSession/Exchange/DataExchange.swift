import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One GET carried out by a data task.
final class DataExchange: TransportExchange, SessionExchange {
    let host: String
    private let request: URLRequest
    private let mailbox: Mailbox
    private let control: SessionControl
    // Only URLSession's own queue comes here; the lock costs nothing then.
    private let reader = Locked(ResponseReader())

    init(
        _ request: URLRequest, control: SessionControl, receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        host = request.hostAndPort
        self.request = request
        self.control = control
        mailbox = Mailbox(receive: receive)
    }

    // MARK: The owner's side

    func cancel() {
        abandon(.canceled)
    }

    // A URLSession task that is suspended and resumed on Linux starts again at byte 0 and says nothing: never do it.
    func pause() {}
    func resume() {}

    // MARK: The control queue's side

    var isOver: Bool { mailbox.isClosed }
    var isToldToTheEnd: Bool { false }

    func makeTask(in session: URLSession) -> URLSessionTask {
        session.dataTask(with: request)
    }

    func stop(_ task: URLSessionTask?) {
        task?.cancel()
    }

    /// Reports the failure at once; URLSession, which may be stuck in the resolver, follows when it can.
    func abandon(_ failure: TransportFailure) {
        if mailbox.abandon(failure) { control.stop(self) }
    }

    // MARK: URLSession's side

    func took(response: HTTPURLResponse) {
        let failure = reader.withLock { $0.response(ResponseHead(response)) }
        if let failure { abandon(failure) }
    }

    func took(data: Data) {
        guard !data.isEmpty else { return }
        switch reader.withLock({ $0.bytes(data.count) }) {
        case .deliver(let head):
            if let head { mailbox.post(.head(head)) }
            mailbox.post(.bytes(data))
        case .drop:
            break
        case .refuse(let failure):
            abandon(failure)
        }
    }

    func took(offset: Int64, response: HTTPURLResponse?) {}
    func took(written: Int64, response: HTTPURLResponse) {}
    func took(file: URL, response: HTTPURLResponse?) {}

    func answered(by response: HTTPURLResponse?) {
        finish(with: response.map(ResponseHead.init))
        control.stop(self)
    }

    func ended(_ error: (any Error)?, response: HTTPURLResponse?) {
        if let error {
            mailbox.finish(.failure(TransportFailure(error, for: request.url)))
        } else {
            finish(with: response.map(ResponseHead.init))
        }
        control.ended(self)
    }

    private func finish(with last: ResponseHead?) {
        switch reader.withLock({ $0.end(last) }) {
        case .complete(let head):
            if let head { mailbox.post(.head(head)) }
            mailbox.finish(.end)
        case .refuse(let failure):
            mailbox.finish(.failure(failure))
        }
    }
}
