import Foundation

/// A small HTTP/1.1 server on 127.0.0.1 that serves what it is given, and does wrong what it is told to.
///
/// It is for tests of code that downloads and for demonstrations: it serves GET and HEAD with ranges and conditions,
/// keeps connections alive, and each request of a path can be answered by a scripted ``Step`` instead. It tells
/// what it was asked and what it sent, and lets a test wait for that without sleeping.
///
/// Paths are compared with the path of the request's target, its percent-encoding undone, without the query; a
/// slash at the beginning may be left out. All methods may be called on any thread.
public final class LoopbackServer: Sendable {
    /// The port, the same after ``stop()`` and ``start()``.
    public let port: UInt16

    let host: Host
    private let limit: Int
    private let listener: Guarded<PortListener?>

    /// Makes a server and starts it.
    ///
    /// - Parameters:
    ///   - port: The port of 127.0.0.1; 0 takes a free one.
    ///   - maximumConnections: How many connections are served at once; more wait to be accepted.
    /// - Throws: ``Failure/system(call:code:)`` when the port cannot be taken.
    public init(port: UInt16 = 0, maximumConnections: Int = 256) throws(Failure) {
        host = try Host()
        limit = maximumConnections
        let started = try PortListener(port: port, limit: limit, host: host)
        self.port = started.port
        listener = Guarded(started)
    }

    deinit {
        stop()
    }

    /// Starts again after ``stop()``, on the same port, with the same content and records. Does nothing while running.
    ///
    /// Not for the observer of ``onRequest(_:)``, which runs on a thread that must have ended by then.
    ///
    /// - Throws: ``Failure/system(call:code:)`` when the port was taken by someone else meanwhile.
    public func start() throws {
        if listener.withLock({ $0 })?.isStopping == true { stop() }
        try listener.withLock { listener in
            if listener != nil { return }
            host.ledger.start()
            listener = try PortListener(port: port, limit: limit, host: host)
        }
    }

    /// Closes all connections and the port, and returns when nothing of it runs any more. Twice does nothing.
    ///
    /// Waits fail with ``Failure/stopped`` until the next start, unless what they wait for has happened. Called on a
    /// thread of the server's (by the observer of ``onRequest(_:)``) it returns at once; the next call from elsewhere
    /// waits.
    public func stop() {
        guard let stopping = listener.withLock({ $0 }) else { return }
        let isDone = stopping.stop()
        listener.withLock { current in
            guard current === stopping else { return }
            host.ledger.stop()
            if isDone { current = nil }
        }
    }

    /// The URL of the root, `http://127.0.0.1:port/`.
    public var baseURL: URL { url("/") }

    /// The URL of a path, with a query where one is given; what has to be percent-encoded in them is.
    public func url(_ path: String, query: String? = nil) -> URL {
        var parts = URLComponents()
        parts.scheme = "http"
        parts.host = "127.0.0.1"
        parts.port = Int(port)
        parts.path = Site.normalized(path)
        parts.query = query
        // Made of parts that are each valid, so that there is always a URL.
        return parts.url ?? URL(fileURLWithPath: "/")
    }
}
