import LannerCore

/// Carries out exchanges with libcurl, which is loaded when the first transport is made.
///
/// The one to take on Linux: it can be paused, so that a file is one exchange whatever its size and memory stays small;
/// nothing a server answers ends the process; bodies arrive as they were sent; exchanges do not hold each other up; and
/// it costs a fraction of URLSession's time. Nothing is needed to build it. To run it, libcurl 7.68 or later, except
/// 8.16: wherever FoundationNetworking runs, a libcurl is there.
///
/// - Each transport has one thread, which does all that libcurl does, and connections of its own, which are kept for
///   the next exchanges. What is spoken is HTTP/1.1: over HTTP/2 several connections for one file would be one, and no
///   libcurl tells a body that is broken off from a whole one in all cases, or leaves what is paused where it is.
/// - A body with neither a length nor chunks is complete when its connection is closed, over TLS with most versions before
///   8.14 also when that is cut.
/// - Events are delivered on threads of Dispatch. A receiver that blocks holds up its own exchange only: when 2 MiB wait
///   for it, its transfer is paused. `pause()` does the same. A cancellation is reported at once, in the place of what
///   still waits.
/// - A head is reported with the first byte of its body, or at the end. Lines that go on in the next one are joined,
///   those whose name is none are left out, and what is not UTF-8 is read as Latin-1. Trailers are left out.
/// - `TransportRequest.timeout` is for the connection, TLS included, and for the silence after that: it is over when
///   less than a byte a second has come for so long and a second more. Whole seconds, from one to a day. With libcurl
///   before 7.75, which does not leave out pauses, it is for the connection alone, and silence is left to the manager.
/// - Host names are looked up on threads of libcurl's. With libcurl before 7.87, with 8.11.1 and 8.13, or one built
///   without threads, the cancellation of an exchange whose name is being looked up holds the others up until the
///   resolver has answered.
/// - TLS is that of libcurl, with the system's authorities unless the options say otherwise.
/// - `TransportRequest.networkAccess` is ignored. `~/.netrc` is not read; no cookie, answer or credential is stored.
public final class CurlTransport: Transport {
    /// One exchange may carry a whole file.
    public let traits = TransportTraits(delivery: .pausable)

    private let loop: Loop

    /// Makes a transport. Nothing is opened before the first exchange.
    ///
    /// - Throws: ``CurlUnavailable`` when libcurl is not there, too old, or 8.16, which is faulty; with what to install.
    public init(configuration: Options = Options()) throws(CurlUnavailable) {
        try Library.require()
        loop = Loop(configuration)
    }

    deinit {
        loop.close()
    }

    /// Begins one GET; see `Transport.begin(_:receive:)`.
    ///
    /// Requests that cannot be sent safely fail with `TransportFault.unacceptableRequest`: other schemes than http
    /// and https, malformed hosts, credentials in the URL, line breaks in a field, fields that belong to the
    /// connection (`Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `TE` and their like). So do those that
    /// a proxy will not let through later either: it wants another password, or forbids the host.
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let exchange = CurlExchange(request, loop: loop, receive: receive)
        loop.begin([exchange])
        return exchange
    }

    /// Begins several, waking libcurl's thread once; see `Transport.begin(_:)`.
    public func begin(_ beginnings: [TransportBeginning]) -> [any TransportExchange] {
        let exchanges = beginnings.map { CurlExchange($0.request, loop: loop, receive: $0.receive) }
        loop.begin(exchanges)
        return exchanges
    }

    /// Ends every exchange with `TransportFault.unavailable` and closes the connections. Leaving the transport to
    /// be freed does the same.
    public func invalidate() {
        loop.close()
    }
}
