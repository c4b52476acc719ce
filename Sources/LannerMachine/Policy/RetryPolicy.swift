/// When a download that failed is tried again.
///
/// Tried again are answers with status 408, 421, 425, 429, 500, 502, 503, 504, 509 or 511 to 599, and with 403 or 413 where
/// they say when (`Retry-After`);
/// ``TransportFault/timedOut``, ``TransportFault/connectionLost``, ``TransportFault/cannotConnect``,
/// ``TransportFault/cannotFindHost``, ``TransportFault/notConnected``, ``TransportFault/lengthMismatch`` and
/// ``TransportFault/other``; and errors of whoever gives links. Any other failure is final, once no mirror is left;
/// wrong checksums have counts of their own. Some servers fail at every request for a part of a file, with status 500 or 502:
/// before that is final, they are asked for the whole file. When that comes the part is asked for once more, and when that
/// fails again what is held is given up for the whole. Where ``maximumRetries`` is nil, after ten failures and each further
/// one.
///
/// Many servers take only so many connections from one address: what is refused with 429, 503 or 509, while the same
/// host sends another download of the manager's, does not count, unless ``maximumRetries`` is 0, and is tried again,
/// with delays of 5 seconds at least, until that is over; and each download of that host uses one connection for a
/// minute. Others take only so many requests in a time, which is taken of a host that sends nothing just now, has sent
/// another download something within the last minute, and refuses two in a row. Then none of its downloads begins for
/// as long as it says with 429 (`Retry-After`, up to a minute), a quarter of a second at first where it says nothing,
/// and longer while it sends nobody anything, unless one of them is started again; then one does, and one more at once for
/// each that is answered. When that one is told to wait up to the same moment, it is left alone until then; all that until
/// it has answered nobody for ``maximumRetryAfter``. Some are refused for a reason of their own: after one that had failed before the next is one that
/// has not since it last gained bytes, and only when such are refused as well is the host left alone again. The first
/// twelve of such refusals of a download do not count.
///
/// Who waits to be tried again leaves its slot to others, and then comes first again by its place in the order, unless
/// others have failed less often. But those that have failed since they last gained bytes, and are sent none now, are
/// given no more than half of the slots, of all, of those of a list and of those of a host, while others of the same
/// priority wait there that have not; of a single slot every other turn.
///
/// When the program may open no more files (``DiskFault/tooManyFiles``), that does not count as long as other downloads run,
/// which close theirs by and by; of one that runs alone it is a failure that is tried again. Fewer run until that is over,
/// each over one connection.
///
/// Failures count in a row: the count starts again at 0 as soon as more bytes are held than ever before. Those of a
/// piece that was wrong never were, nor those that were given up to begin anew; but who begins anew again and again and
/// comes no farther gains nothing by that, and a file that has changed more than four times while it was downloaded counts
/// each further time. The n-th retry waits `baseDelay` × 2ⁿ⁻¹, at most `maximumDelay`; the later half of that is random, so
/// that many clients which failed at once do not come back at once. Values that make no sense (negative, or the base above
/// the maximum) are moved to the nearest that do.
public struct RetryPolicy: Sendable, Hashable {
    /// How many retries may follow each other without more bytes than ever before; nil for any number, 0 for none.
    /// 5 by default. Where it is nil, a server that has sent more than ten times what is not said to be a version of the
    /// file, in the place of its rest, is a failure all the same: only a user can tell what that is.
    public var maximumRetries: Int?
    /// The delay before the first retry; 1 second by default.
    public var baseDelay: Duration
    /// The longest delay, unless the server asks for more; 60 seconds by default.
    public var maximumDelay: Duration
    /// The longest a server's `Retry-After` is waited for, never more than a day; zero waits for none. One hour by default. A
    /// server that asks for less than the policy's own delay changes nothing.
    public var maximumRetryAfter: Duration
    /// How often a file that does not have the checksum it should is downloaded again, at once and from its first byte,
    /// before that is a failure. One that consists of the bytes of several attempts has one more try, for it may be of two
    /// versions. 0 by default: a file that came in one piece is what the server has.
    public var maximumChecksumRetries: Int
    /// How often one piece of a file that does not have its checksum (see `DownloadRequest.pieces`) is fetched again before
    /// that is a failure; 3 times by default. Where the server sends the file only as a whole, that is what is fetched.
    public var maximumPieceRetries: Int

    /// Makes a policy.
    public init(
        maximumRetries: Int? = 5, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60),
        maximumRetryAfter: Duration = .seconds(3600), maximumChecksumRetries: Int = 0,
        maximumPieceRetries: Int = 3
    ) {
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
        self.maximumChecksumRetries = maximumChecksumRetries
        self.maximumPieceRetries = maximumPieceRetries
    }

    /// A policy under which the first of the failures that would be tried again is final. What a server answers to one part
    /// of a file, and what is found wrong of bytes that have come, is still asked for anew.
    public static let never = RetryPolicy(maximumRetries: 0)
}

/// What a policy says about a failure.
package enum RetryDecision: Sendable, Hashable {
    case retry(after: Duration)
    case fail
}

extension RetryPolicy {
    /// Decides about a failure, the `failures`-th in a row (1 is the first); `random` is any 64 random bits.
    package func decide(
        _ failure: DownloadFailure, failures: Int, retryAfter: Duration? = nil, random: UInt64
    ) -> RetryDecision {
        let mayPass = failure.reason.isWorthRetrying(retryAfter: retryAfter)
        guard mayPass, failures <= maximumRetries ?? .max else { return .fail }
        return .retry(after: delay(failures: failures, retryAfter: retryAfter, random: random))
    }

    /// The delay after the `failures`-th failure in a row.
    package func delay(failures: Int, retryAfter: Duration? = nil, random: UInt64) -> Duration {
        let whole = backoff(failures: failures)
        let half = whole / 2
        // The high word of the product is `half` × (random / 2⁶⁴).
        let jitter = Int64(UInt64(half).multipliedFullWidth(by: random).high)
        let own = Duration.nanoseconds(whole - half + jitter)
        return max(own, patience(with: retryAfter) ?? .zero)
    }

    /// How long a server's `Retry-After` is heeded.
    package func patience(with retryAfter: Duration?) -> Duration? {
        retryAfter.map { min($0, longestPatience) }
    }

    /// The longest that one is heeded.
    package var longestPatience: Duration { .nanoseconds(Self.nanoseconds(maximumRetryAfter)) }

    /// Base × 2ⁿ⁻¹, without jitter.
    private func backoff(failures: Int) -> Int64 {
        let most = Self.nanoseconds(maximumDelay)
        var delay = min(Self.nanoseconds(baseDelay), most)
        var doublings = max(failures, 1) - 1
        // Ends after 55 rounds at most: what is not zero has reached a year by then.
        while doublings > 0, delay > 0, delay < most {
            delay = min(delay * 2, most)
            doublings -= 1
        }
        return delay
    }

    /// From nothing to a year, so that it can be doubled without a check.
    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let duration = min(max(duration, .zero), .seconds(365 * 86_400))
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
