import Foundation
import LannerCore
import LannerLoopback

extension TransportContract {
    /// A place on the network, real or not, that serves what the contract puts there. Methods may be called on any
    /// thread. Paths begin with "/", and are without percent-encoding and without a query: a path is that of every request
    /// whose target means it, "/a b" for "/a%20b?c".
    public protocol Site: Sendable {
        /// The address of the root.
        var baseURL: URL { get }
        /// Puts a resource at a path, to be served as a good server does, with validators and ranges.
        func put(_ resource: LoopbackServer.Resource, at path: String)
        /// How the requests of a path go from now on.
        func always(_ path: String, _ answer: Answer)
        /// The requests of a path that have arrived, the oldest first.
        func requests(_ path: String) -> [Request]
        /// Returns when so many answers have been held back, over the life of the place.
        func waitUntilHeld(_ count: Int) async throws
        /// Lets the answers go on that are held back now.
        func release() throws
        /// How many bytes of bodies have been sent for a path; nil, as by default, where nobody counts them. What only
        /// that shows is then not looked for.
        func bytesSent(_ path: String) -> Int64?
        /// Has the bodies of a path sent at this rate from now on, in small steps. False, as by default, where that cannot be
        /// done, as where no time passes; what needs it is then left out.
        func trickle(_ path: String, bytesPerSecond: Int) -> Bool
    }

    /// How a request goes at a ``Site``. Counts of bytes are of the body that is sent.
    public enum Answer: Sendable {
        /// As it should be.
        case whole
        /// As it should be, after an answer of 103 with a field `Link`; places that know no such thing leave it out.
        case afterHints
        /// This status, with these fields and this body.
        case status(Int, LoopbackServer.Fields = [:], body: [UInt8] = [])
        /// As it should be, with these fields added.
        case fields(LoopbackServer.Fields)
        /// The connection ends after this many bytes of the body.
        case cut(afterBytes: Int64)
        /// The connection breaks without an answer.
        case broken
        /// Nothing more comes after this many bytes, until it is released.
        case stall(afterBytes: Int64)
        /// Nothing comes, until it is released.
        case hold
    }

    /// A request as a ``Site`` got it.
    public struct Request: Sendable, Hashable {
        /// Path and query as they were sent.
        public var target: String
        /// The header.
        public var fields: HeaderFields

        /// Makes a request.
        public init(target: String, fields: HeaderFields) {
            self.target = target
            self.fields = fields
        }
    }
}

extension TransportContract.Site {
    /// Not counted.
    public func bytesSent(_ path: String) -> Int64? { nil }

    /// Cannot be done.
    public func trickle(_ path: String, bytesPerSecond: Int) -> Bool { false }
}

/// A loopback server as the place of a contract.
struct LoopbackSite: TransportContract.Site {
    private let server: LoopbackServer

    init(_ server: LoopbackServer) {
        self.server = server
    }

    var baseURL: URL { server.baseURL }

    func put(_ resource: LoopbackServer.Resource, at path: String) {
        server.put(path, resource)
    }

    func always(_ path: String, _ answer: TransportContract.Answer) {
        server.always(path, Self.step(answer))
    }

    func requests(_ path: String) -> [TransportContract.Request] {
        server.requests(path).map { request in
            let lines = request.fields.lines.map { HeaderFields.Field(name: $0.name, value: $0.value) }
            return TransportContract.Request(target: request.target, fields: HeaderFields(lines))
        }
    }

    func waitUntilHeld(_ count: Int) async throws {
        try await server.waitForStalls(count)
    }

    func release() throws {
        try server.release()
    }

    func bytesSent(_ path: String) -> Int64? { server.bytesSent(path) }

    func trickle(_ path: String, bytesPerSecond: Int) -> Bool {
        server.always(path, .trickle(bytesPerSecond: bytesPerSecond))
        return true
    }

    private static func step(_ answer: TransportContract.Answer) -> LoopbackServer.Step {
        switch answer {
        case .whole: .pass
        case .afterHints: .raw(hinted)
        case .status(let status, let fields, let body): .status(status, fields, body: body)
        case .fields(let fields): .fields(fields)
        case .cut(let count): .cut(afterBytes: count)
        case .broken: .resetAtOnce
        case .stall(let count): .stall(afterBytes: count)
        case .hold: .hold
        }
    }

    private static let hinted = Array(
        ("HTTP/1.1 103 Early Hints\r\nLink: </style>\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").utf8)
}

/// A scripted transport as the place of a contract.
struct ScriptedSite: TransportContract.Site {
    let transport: ScriptedTransport

    var baseURL: URL { URL(string: "http://example.com/") ?? URL(fileURLWithPath: "/") }

    func put(_ resource: LoopbackServer.Resource, at path: String) {
        transport.serve(resource, at: path)
    }

    func always(_ path: String, _ answer: TransportContract.Answer) {
        transport.always(path, Self.step(answer))
    }

    func requests(_ path: String) -> [TransportContract.Request] {
        transport.requests.map(transport.meant(by:)).filter { $0.url.path == path }.map { request in
            let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
            let query = parts?.percentEncodedQuery.map { "?" + $0 } ?? ""
            return TransportContract.Request(target: (parts?.percentEncodedPath ?? "") + query, fields: request.fields)
        }
    }

    /// What is held back is so as soon as it has begun.
    func waitUntilHeld(_ count: Int) async throws {}

    func release() {
        transport.release()
    }

    private static func step(_ answer: TransportContract.Answer) -> ScriptedTransport.Step {
        switch answer {
        case .whole: .pass
        // The same answer as a server's; the hints would stay with the transport.
        case .afterHints:
            .exactly(ResponseHead(status: 200, fields: ["Content-Length": "5"]), body: Array("hello".utf8))
        case .status(let status, let fields, let body): .status(status, fields, body: body)
        case .fields(let fields): .fields(fields)
        case .cut(let count): .cut(afterBytes: count)
        case .broken: .failure(.connectionLost)
        case .stall(let count): .stall(afterBytes: count)
        case .hold: .hold
        }
    }
}
