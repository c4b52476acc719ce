import Foundation
import LannerCore

/// Carries out exchanges with URLSession's data tasks. The default on Linux; works on Apple platforms as well.
///
/// URLSession cannot be paused without harm and buffers what its delegate does not take, so the manager is asked to
/// fetch files in slices. A receiver that falls behind is given up to 2 MiB more, then the connections of the whole
/// process are slowed down until it follows.
///
/// ### On Linux
/// What the system library does cannot be changed from outside it. Known of swift-corelibs-foundation 6.3 with
/// libcurl 7.88:
/// - **Four answers end the process**, whatever the settings: a connection closed in an orderly way inside the
///   response header; a chunked body with trailers (never asked for, as `TE` is refused); a `Content-Length` of
///   9223372036854775296 or more (2⁶³ − 512, where a Double becomes 2⁶³); a redirect to a scheme-relative location
///   whose host is an IPv6 address or contains `%`.
///   Do not fetch from servers that may want to harm you.
/// - All URLSession traffic of a process, this transport's and others', shares one queue. While a host name is being
///   looked up, canceling or timing out that request stops all of it until the resolver answers. A cancellation is
///   reported at once nonetheless.
/// - While a request waits for the server, for its answer or for more of the body, one processor is busy.
/// - A content coding is always undone, even one that was not asked for; the head keeps its `Content-Encoding`, and
///   the length of such a body is not checked. A short gzip stream is not noticed.
/// - Of response header lines whose names differ only in case, one is kept at random; lines of one name are joined by
///   commas. Responses without a reason phrase, without a space after a colon, or not in UTF-8 are refused.
/// - Hosts that are IPv6 addresses are refused. `Accept-Language` is sent as the locale says, unless given.
/// - TLS: the system's certificate bundle decides; there is no hook. HTTP/2 is used where the server offers it; the
///   exchanges with a host then share a connection.
/// - Proxies come from the environment: `http_proxy`, `https_proxy`, `ALL_PROXY`, `no_proxy`.
/// - A redirect is reported when its body has arrived, which the library reads in quadratic time; thousands of header
///   lines are slow as well. The manager gives such an exchange up when no head was reported within its
///   ``SessionConfiguration/timeoutIntervalForRequest``. A body that trickles it bears, unless
///   ``SessionConfiguration/minimumSpeed`` or ``SessionConfiguration/timeoutIntervalForResource`` is set.
/// - A small gzip body may become a large one: it ends when the disk is full.
/// - ``TransportRequest/networkAccess`` is ignored.
/// - No cookie, answer or credential is stored, but making a session leaves empty directories in `~/.cache` and
///   `~/.local/share`. The library leaks some 160 bytes per request.
///
/// Everywhere: bodies of redirects (301–303, 305–308) are dropped, the head and the end are reported. A head is
/// reported with the first byte of its body, or at the end. A 401 or 407 is a response like any other. The header field
/// `Proxy-Authorization` is left out, which URLSession would give to the server: what a proxy asks for is to be where that is
/// set up, in its URL in the environment or in the system's settings.
public final class URLSessionTransport: Transport {
    /// What may be chosen.
    public struct Options: Sendable, Hashable {
        /// How many exchanges may run at once with one host and port; more wait for their turn. At least 1. The manager
        /// takes those that wait for silent: they may fail by ``SessionConfiguration/timeoutIntervalForRequest`` though
        /// their server was never asked. To have fewer at once, set ``SessionConfiguration/maxConcurrentTasksPerHost``
        /// instead.
        public var connectionsPerHost: Int
        /// Sent as `User-Agent` by requests that have none.
        public var userAgent: String

        /// Makes options.
        public init(connectionsPerHost: Int = 1024, userAgent: String = "Lanner/0.1") {
            self.connectionsPerHost = connectionsPerHost
            self.userAgent = userAgent
        }
    }

    /// Slices of 4 to 32 MiB, two at a time: enough for the library's full speed, since each slice costs some
    /// milliseconds; little enough that a canceled or failed slice costs nothing worth mentioning.
    public let traits = TransportTraits(delivery: .sliced((4 << 20)...(32 << 20), inFlight: 2))

    private let rules: RequestRules
    private let control: SessionControl

    /// Makes a transport. Nothing is opened before the first exchange.
    public init(configuration: Options = Options()) {
        rules = RequestRules(userAgent: configuration.userAgent)
        control = SessionControl(relay: DataRelay(), connectionsPerHost: configuration.connectionsPerHost)
    }

    deinit {
        control.invalidate()
    }

    /// Begins one GET; see ``Transport/begin(_:receive:)``.
    ///
    /// Requests that cannot be sent safely fail with ``TransportFault/unacceptableRequest``: other schemes than http
    /// and https, malformed hosts, credentials in the URL, line breaks in a field, fields that belong to the
    /// connection (`Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `TE` and their like).
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        do {
            let exchange = DataExchange(try rules.request(for: request), control: control, receive: receive)
            control.begin(exchange)
            return exchange
        } catch {
            return RefusedExchange(error, receive: receive)
        }
    }

    /// Ends every exchange with ``TransportFault/unavailable`` and closes the connections. Leaving the transport to
    /// be freed does the same.
    public func invalidate() {
        control.invalidate()
    }
}
