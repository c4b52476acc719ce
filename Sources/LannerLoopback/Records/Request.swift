extension LoopbackServer {
    /// A request that arrived, and what has become of it so far.
    public struct Request: Sendable, Hashable {
        /// Counted from 1 over the server's life.
        public let number: Int
        /// The connection it came on, counted from 1 over the server's life.
        public let connection: Int
        /// The method as received.
        public let method: String
        /// The target as received.
        public let target: String
        /// The target's path with its percent-encoding undone, without the query.
        public let path: String
        /// The header as received.
        public let fields: Fields
        /// The status that was sent; nil as long as no answer was begun, and when it was not a regular one.
        public internal(set) var status: Int?
        /// Bytes of body handed to the kernel, without the framing of chunks.
        public internal(set) var bodyBytesSent: Int64 = 0
        /// Whether the server is done with it, well or badly.
        public internal(set) var isFinished = false
    }

    /// What has happened on a server so far.
    public struct Activity: Sendable {
        /// The requests in the order of their arrival, since the last ``LoopbackServer/forgetRequests()``.
        public internal(set) var requests: [Request] = []
        /// How many times an answer was held back by a `stall` or `hold` step.
        public internal(set) var stalls = 0
        /// How many connections were taken.
        public internal(set) var connections = 0
        /// How many of them are open.
        public internal(set) var openConnections = 0
        var bytesByPath: [String: Int64] = [:]
        /// How many requests were forgotten.
        var forgotten = 0

        /// Bytes of bodies handed to the kernel for a path, forgotten requests included.
        public func bytesSent(_ path: String) -> Int64 {
            bytesByPath[Site.normalized(path)] ?? 0
        }

        /// Bytes of bodies handed to the kernel in all, forgotten requests included.
        public var bytesSent: Int64 { bytesByPath.values.reduce(0, +) }

        /// Changes the record of a request, unless it was forgotten.
        mutating func update(_ number: Int, _ change: (inout Request) -> Void) {
            let index = number - forgotten - 1
            if requests.indices.contains(index) { change(&requests[index]) }
        }
    }
}
