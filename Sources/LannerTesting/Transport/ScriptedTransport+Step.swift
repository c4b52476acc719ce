import LannerCore
import LannerLoopback
import LannerMachine

extension ScriptedTransport {
    /// How one request goes: as it should, or not. Counts of bytes are of the body that is sent, after any range was
    /// applied.
    public enum Step: Sendable {
        /// As it should be.
        case pass
        /// The resource is replaced from now on, and then served.
        case changeTo(LoopbackServer.Resource)

        // Other answers.

        /// A status with a body, for example a 503 with `Retry-After`.
        case status(Int, LoopbackServer.Fields = [:], body: [UInt8] = [])
        /// A redirect; the location is sent as it is given.
        case redirect(to: String, status: Int = 302)
        /// This head and this body, whatever they claim.
        case exactly(ResponseHead, body: [UInt8] = [])
        /// The answer it should be, with these fields in the place of those of the same name.
        case fields(LoopbackServer.Fields)

        // Ranges.

        /// `Range` is ignored: a 200 with everything.
        case ignoreRange
        /// A 206 of another range, moved by this many bytes, and honest about it.
        case wrongRange(offset: Int64)
        /// A 206 with the bytes asked for and this `Content-Range`; without the field for nil.
        case contentRange(String?)
        /// A 206 in `multipart/byteranges`, with the range as its only part.
        case multipart

        // Bodies.

        /// The byte at this position of the resource is sent with all its bits turned over.
        case corrupt(at: Int64)
        /// The exchange fails after this many bytes; after the head for 0. However it is framed: over a real connection the cut
        /// of a body that nothing but the close ends looks like its end (RFC 9112, 6.3), as `LoopbackServer` shows.
        case cut(afterBytes: Int64, with: TransportFault = .connectionLost)
        /// Nothing more is sent after this many bytes until ``ScriptedTransport/release(_:bytes:)``; then the rest.
        case stall(afterBytes: Int64)

        // No answer.

        /// The exchange fails before the head.
        case failure(TransportFault)
        /// Nothing at all is sent until ``ScriptedTransport/release(_:bytes:)``; then the answer.
        case hold
    }
}

extension ScriptedTransport.Step {
    /// What the server answers.
    var answer: LoopbackServer.Step {
        switch self {
        case .pass, .exactly, .cut, .stall, .failure, .hold: .pass
        case .changeTo(let resource): .changeTo(resource)
        case .status(let status, let fields, let body): .status(status, fields, body: body)
        case .redirect(let location, let status): .redirect(to: location, status: status)
        case .fields(let fields): .fields(fields)
        case .ignoreRange: .ignoreRange
        case .wrongRange(let offset): .wrongRange(offset: offset)
        case .contentRange(let value): .contentRange(value)
        case .multipart: .multipart
        case .corrupt(let position): .corrupt(at: position)
        }
    }

    /// Whether a request goes otherwise than it would without the step; `usual` is the answer that it would get.
    func matters(to reply: Reply, insteadOf usual: @autoclosure () -> Reply) -> Bool {
        switch self {
        case .pass, .changeTo, .status, .redirect, .exactly, .fields, .failure, .hold: true
        case .ignoreRange, .wrongRange, .contentRange, .multipart, .corrupt: !reply.isLike(usual())
        case .cut: course.cut <= reply.length
        case .stall: course.limit < reply.length
        }
    }

    /// How far the delivery goes by itself.
    var course: ScriptedExchange.Course {
        switch self {
        case .cut(let count, let fault): .init(cut: max(0, count), fault: fault)
        case .stall(let count): .init(limit: max(0, count))
        case .failure(let fault): .init(cut: -1, fault: fault)
        case .hold: .init(limit: -1)
        case .pass, .changeTo, .status, .redirect, .exactly, .fields, .ignoreRange, .wrongRange, .contentRange,
            .multipart, .corrupt:
            .init()
        }
    }
}
