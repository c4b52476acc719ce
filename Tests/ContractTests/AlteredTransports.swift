import Dispatch
import LannerCore
import LannerTesting

/// A transport whose exchanges are begun in a way of a test's own.
struct AlteredTransport: Transport {
    typealias Receiver = @Sendable (TransportEvent) -> Void

    private let transport: any Transport
    private let start: @Sendable (TransportRequest, @escaping Receiver) -> any TransportExchange

    init(
        _ transport: any Transport,
        start: @escaping @Sendable (TransportRequest, @escaping Receiver) -> any TransportExchange
    ) {
        (self.transport, self.start) = (transport, start)
    }

    var traits: TransportTraits { transport.traits }

    func begin(_ request: TransportRequest, receive: @escaping Receiver) -> any TransportExchange {
        start(request, receive)
    }

    func invalidate() {
        transport.invalidate()
    }
}

/// An exchange that is told some things in another way.
final class AlteredExchange: TransportExchange {
    typealias Call = @Sendable () -> Void

    private let calls: (cancel: Call, pause: Call, resume: Call)

    init(_ exchange: any TransportExchange, cancel: Call? = nil, pause: Call? = nil, resume: Call? = nil) {
        calls = (cancel ?? exchange.cancel, pause ?? exchange.pause, resume ?? exchange.resume)
    }

    func cancel() { calls.cancel() }
    func pause() { calls.pause() }
    func resume() { calls.resume() }
}

extension AlteredTransport {
    /// Hands over the first piece after a `resume()` behind the next one.
    static func swapping(_ transport: any Transport) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let state = Locked((isResumed: false, held: TransportEvent?.none))
            let exchange = transport.begin(request) { event in
                let isHeld = state.withLock { state in
                    guard case .bytes = event, state.isResumed else { return false }
                    state = (false, event)
                    return true
                }
                if isHeld { return }
                receive(event)
                if let held = state.withLock({ $0.held.take() }) { receive(held) }
            }
            return AlteredExchange(
                exchange,
                resume: {
                    state.withLock { $0.isResumed = true }
                    exchange.resume()
                })
        }
    }

    /// Goes on when it is asked to pause, having been asked to go on so many times.
    static func restless(_ transport: any Transport, resumes: Int) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let (exchange, left) = (transport.begin(request, receive: receive), Locked(resumes))
            return AlteredExchange(
                exchange, pause: { if left.withLock({ $0 > 0 }) { exchange.pause() } },
                resume: {
                    left.withLock { $0 -= 1 }
                    exchange.resume()
                })
        }
    }

    /// Goes on when `resume()` was called as often as `pause()`; the difference is never less than `least`.
    static func counting(_ transport: any Transport, least: Int) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let (exchange, pauses) = (transport.begin(request, receive: receive), Locked(0))
            let count: @Sendable (Int) -> Int = { change in
                pauses.withLock { pauses in
                    pauses = max(least, pauses + change)
                    return pauses
                }
            }
            return AlteredExchange(
                exchange, pause: { if count(1) == 1 { exchange.pause() } },
                resume: { if count(-1) == 0 { exchange.resume() } })
        }
    }

    /// Hands nothing over while it is paused, and reads on all the same.
    static func greedy(_ transport: any Transport) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let relay = Relay(receive)
            let exchange = transport.begin(request, receive: relay.add)
            return AlteredExchange(exchange, pause: { relay.pause(true) }, resume: { relay.pause(false) })
        }
    }

    /// Reports a cancellation, and lets the transfer go on.
    static func idle(_ transport: any Transport) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let relay = Relay(receive)
            let exchange = transport.begin(request, receive: relay.add)
            return AlteredExchange(exchange, cancel: { relay.end(.canceled) })
        }
    }

    /// Takes the time that is meant for silence for that of the whole exchange.
    static func hurried(_ transport: any Transport) -> AlteredTransport {
        AlteredTransport(transport) { request, receive in
            let relay = Relay(receive)
            let exchange = transport.begin(request, receive: relay.add)
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(request.timeout.components.seconds))) {
                relay.end(.timedOut)
                exchange.cancel()
            }
            return exchange
        }
    }
}

/// Hands events over one by one, on a queue of its own.
private final class Relay: Sendable {
    private let receive: AlteredTransport.Receiver
    private let queue = DispatchQueue(label: "lanner.relay")
    private let state = Locked((events: [TransportEvent](), isPaused: false, isOver: false))

    init(_ receive: @escaping AlteredTransport.Receiver) {
        self.receive = receive
    }

    @Sendable func add(_ event: TransportEvent) {
        state.withLock { state in
            if state.isOver { return }
            state.events.append(event)
            if case .end = event { state.isOver = true }
            if case .failure = event { state.isOver = true }
        }
        queue.async { self.handOver() }
    }

    func end(_ fault: TransportFault) {
        add(.failure(TransportFailure(fault, "The test ends the exchange.")))
    }

    func pause(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
        queue.async { self.handOver() }
    }

    private func handOver() {
        while let event = state.withLock({ $0.isPaused || $0.events.isEmpty ? nil : $0.events.removeFirst() }) {
            receive(event)
        }
    }
}
