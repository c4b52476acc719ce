import Dispatch
import Foundation
import LannerCore
import LannerTesting

/// A transport that breaks one clause and keeps the others, as far as they let it.
struct Flaw: Sendable, CustomStringConvertible {
    let description: String
    let clause: TransportContract.Clause
    var breakIt: @Sendable (ScriptedTransport) -> any Transport

    static let all: [Flaw] = [
        Flaw(description: "ends twice", clause: .oneEnding) { transport in
            BrokenTransport(transport) { event, receive in
                receive(event)
                if case .end = event { receive(event) }
            }
        },
        Flaw(description: "delivers after the end", clause: .nothingAfter) { transport in
            BrokenTransport(transport) { event, receive in
                receive(event)
                if case .failure = event { receive(.bytes(Data([1]))) }
            }
        },
        Flaw(description: "delivers in parallel", clause: .oneAtATime) { transport in
            BrokenTransport(transport) { event, receive in DispatchQueue.global().async { receive(event) } }
        },
        Flaw(description: "says end on a short body", clause: .shortBody) { transport in
            BrokenTransport(transport) { event, receive in receive(event.fault == .connectionLost ? .end : event) }
        },
        Flaw(description: "fails when a field comes twice", clause: .repeatedField) { transport in
            BrokenTransport(transport) { event, receive in
                guard case .head(let head) = event, head.fields.values(of: "Set-Cookie").count > 1 else {
                    return receive(event)
                }
                receive(.failure(TransportFailure(.other, "A field came twice.")))
            }
        },
        Flaw(description: "keeps the last of the fields of a name", clause: .repeatedField) { transport in
            BrokenTransport(transport) { event, receive in
                guard case .head(var head) = event else { return receive(event) }
                for field in head.fields.fields { head.fields[field.name] = field.value }
                receive(.head(head))
            }
        },
        Flaw(description: "does not report a cancellation", clause: .cancelBeforeHead) { transport in
            BrokenTransport(transport) { event, receive in
                if event.fault != .canceled { receive(event) }
            }
        },
        Flaw(description: "says end on a cancellation", clause: .cancelWhileBlocked) { transport in
            BrokenTransport(transport) { event, receive in receive(event.fault == .canceled ? .end : event) }
        },
        Flaw(description: "is not canceled inside receive", clause: .cancelInside) { DeafTransport($0) },
        Flaw(description: "is not invalidated inside receive", clause: .invalidateInside) { DeafTransport($0) },
        Flaw(description: "does not report after invalidate", clause: .invalidate) { transport in
            BrokenTransport(transport) { event, receive in
                if event.fault != .unavailable { receive(event) }
            }
        },
        Flaw(description: "uses its buffer again", clause: .keptBytes) { transport in
            let buffer = Buffer()
            return BrokenTransport(transport) { event, receive in
                if case .bytes(let data) = event { receive(.bytes(buffer.hold(data))) } else { receive(event) }
            }
        },
        Flaw(description: "asks for a range unasked", clause: .ownFields) { transport in
            BrokenTransport(transport, sending: { $0.fields["Range"] = $0.fields["Range"] ?? "bytes=0-" })
        },
        Flaw(description: "encodes the path anew", clause: .target) { transport in
            BrokenTransport(
                transport,
                sending: { request in
                    guard var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true) else { return }
                    parts.path = String(parts.path)
                    request.url = parts.url ?? request.url
                })
        },
        Flaw(description: "answers from a cache", clause: .cache) { CachingTransport(transport: $0) },
        Flaw(description: "cannot pause", clause: .pause) { AlteredTransport.restless($0, resumes: 0) },
        Flaw(description: "cannot pause again", clause: .pause) { AlteredTransport.restless($0, resumes: 3) },
        Flaw(description: "counts pauses", clause: .pause) { AlteredTransport.counting($0, least: 0) },
        Flaw(description: "counts whatever is called", clause: .pause) {
            AlteredTransport.counting($0, least: .min)
        },
        Flaw(description: "swaps two pieces when it goes on", clause: .pause) { AlteredTransport.swapping($0) },
        Flaw(description: "is not canceled while paused", clause: .endWhilePaused) { StuckTransport(transport: $0) },
        Flaw(description: "is not invalidated while paused", clause: .endWhilePaused) {
            StuckTransport(transport: $0, isInvalidated: false)
        },
        Flaw(description: "returns several in another order", clause: .beginSeveral) { MixedTransport(transport: $0) },
        Flaw(description: "follows redirects", clause: .redirect) { FollowingTransport(transport: $0) },
    ]
}

/// Changes what goes in and what comes out.
struct BrokenTransport: Transport {
    typealias Receiver = @Sendable (TransportEvent) -> Void

    private let transport: ScriptedTransport
    private let change: @Sendable (TransportEvent, @escaping Receiver) -> Void
    private let send: @Sendable (inout TransportRequest) -> Void

    init(
        _ transport: ScriptedTransport, _ change: @escaping @Sendable (TransportEvent, @escaping Receiver) -> Void
    ) {
        self.transport = transport
        self.change = change
        send = { _ in }
    }

    init(_ transport: ScriptedTransport, sending send: @escaping @Sendable (inout TransportRequest) -> Void) {
        self.transport = transport
        self.send = send
        change = { event, receive in receive(event) }
    }

    var traits: TransportTraits { transport.traits }

    func begin(_ request: TransportRequest, receive: @escaping Receiver) -> any TransportExchange {
        var request = request
        send(&request)
        return transport.begin(request) { [change] event in change(event, receive) }
    }

    func invalidate() {
        transport.invalidate()
    }
}

/// Goes where a redirect points, as URLSession does when it is left alone.
private struct FollowingTransport: Transport {
    let transport: ScriptedTransport
    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let isElsewhere = Locked(false)
        return transport.begin(request) { event in
            if case .head(let head) = event, let location = head.fields["Location"],
                let url = URL(string: location, relativeTo: request.url)
            {
                isElsewhere.withLock { $0 = true }
                _ = begin(TransportRequest(url: url.absoluteURL, fields: request.fields), receive: receive)
            } else if !isElsewhere.withLock({ $0 }) {
                receive(event)
            }
        }
    }

    func invalidate() {
        transport.invalidate()
    }
}

/// Keeps answers that may be kept, and sends no request for them any more.
private struct CachingTransport: Transport {
    let transport: ScriptedTransport
    private let kept = Locked<[URL: [TransportEvent]]>([:])
    var traits: TransportTraits { transport.traits }

    init(transport: ScriptedTransport) {
        self.transport = transport
    }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        if let events = kept.withLock({ $0[request.url] }) {
            for event in events { receive(event) }
            return EndedExchange()
        }
        let events = Locked<[TransportEvent]>([])
        return transport.begin(request) { event in
            let all = events.withLock { events in
                events.append(event)
                return events
            }
            if case .head(let head)? = all.first, head.fields["Cache-Control"] != nil, case .end = event {
                kept.withLock { $0[request.url] = all }
            }
            receive(event)
        }
    }

    func invalidate() {
        transport.invalidate()
    }
}

private final class EndedExchange: TransportExchange {
    func cancel() {}
    func pause() {}
    func resume() {}
}

/// Does nothing that it is told inside `receive`.
private struct DeafTransport: Transport {
    @TaskLocal private static var isInside = false

    private let transport: ScriptedTransport

    init(_ transport: ScriptedTransport) {
        self.transport = transport
    }

    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let exchange = transport.begin(request) { event in Self.$isInside.withValue(true) { receive(event) } }
        return AlteredExchange(exchange, cancel: { if !Self.isInside { exchange.cancel() } })
    }

    func invalidate() {
        if !Self.isInside { transport.invalidate() }
    }
}

/// Returns exchanges that are begun together in another order.
private struct MixedTransport: Transport {
    let transport: ScriptedTransport
    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        transport.begin(request, receive: receive)
    }

    func begin(_ beginnings: [TransportBeginning]) -> [any TransportExchange] {
        transport.begin(beginnings).reversed()
    }

    func invalidate() {
        transport.invalidate()
    }
}

/// Has what is paused wait to go on before it is canceled, or invalidated.
private struct StuckTransport: Transport {
    let transport: ScriptedTransport
    var isInvalidated = true
    private let isPaused = Locked(false)
    var traits: TransportTraits { transport.traits }

    init(transport: ScriptedTransport, isInvalidated: Bool = true) {
        (self.transport, self.isInvalidated) = (transport, isInvalidated)
    }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let (exchange, isPaused, isCanceled) = (transport.begin(request, receive: receive), isPaused, !isInvalidated)
        return AlteredExchange(
            exchange,
            cancel: { if isCanceled || !isPaused.withLock({ $0 }) { exchange.cancel() } },
            pause: {
                isPaused.withLock { $0 = true }
                exchange.pause()
            },
            resume: {
                isPaused.withLock { $0 = false }
                exchange.resume()
            })
    }

    func invalidate() {
        if isInvalidated || !isPaused.withLock({ $0 }) { transport.invalidate() }
    }
}

/// Memory that each piece is put into anew.
// @unchecked Sendable: exchanges use it one after the other, each on one thread at a time.
private final class Buffer: @unchecked Sendable {
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)

    deinit {
        memory.deallocate()
    }

    func hold(_ data: Data) -> Data {
        guard let start = memory.baseAddress, data.count <= memory.count else { return data }
        memory.copyBytes(from: data)
        return Data(bytesNoCopy: start, count: data.count, deallocator: .none)
    }
}

extension TransportEvent {
    fileprivate var fault: TransportFault? {
        guard case .failure(let failure) = self else { return nil }
        return failure.fault
    }
}
