import Foundation
import LannerCore

extension ScriptedTransport {
    /// How many requests a host answers in a time; it refuses those above.
    public struct RateLimit: Sendable {
        /// So many may be answered within any ``interval``. One that is refused does not count.
        public var requests: Int
        /// By the transport's clock. Without one no time passes.
        public var interval: Duration
        /// What those above get.
        public var refusal: Step

        /// So many requests in a time; by default the others get a 429, which says nothing else.
        public init(_ requests: Int, in interval: Duration, refusal: Step = .status(429)) {
            (self.requests, self.interval, self.refusal) = (requests, interval, refusal)
        }
    }

    /// Lets a host, on all of its ports, answer so many requests in a time, from now on. Scripts wait while it refuses.
    ///
    /// - Parameters:
    ///   - host: As in a URL: `"example.com"`.
    ///   - limit: How many; nil for any number.
    public func limitRate(ofHost host: String, to limit: RateLimit?) {
        state.withLock { $0.gates[host.lowercased()] = limit.map { Gate(limit: $0) } }
    }

    /// A host's limit, and what it has answered.
    struct Gate {
        let limit: RateLimit
        private var answered: [Duration] = []

        init(limit: RateLimit) { self.limit = limit }

        /// What a request gets instead of its answer, if anything.
        mutating func refusal(at now: Duration) -> Step? {
            answered.removeAll { now - $0 >= limit.interval }
            if answered.count >= limit.requests { return limit.refusal }
            answered.append(now)
            return nil
        }
    }
}
