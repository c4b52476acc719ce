extension LoopbackServer {
    /// The requests in the order of their arrival. Those that were no HTTP are not among them.
    public var requests: [Request] { activity.requests }

    /// The requests of a path in the order of their arrival.
    public func requests(_ path: String) -> [Request] {
        let path = Site.normalized(path)
        return requests.filter { $0.path == path }
    }

    /// Bytes of bodies handed to the kernel for a path; a client may have received fewer.
    public func bytesSent(_ path: String) -> Int64 { activity.bytesSent(path) }

    /// Bytes of bodies handed to the kernel in all.
    public var bytesSent: Int64 { activity.bytesSent }

    /// What has happened so far.
    public var activity: Activity { host.ledger.activity }

    /// Forgets the requests so far. Their bytes still count, and numbers go on.
    public func forgetRequests() {
        host.ledger.record { activity in
            activity.forgotten += activity.requests.count
            activity.requests = []
        }
    }

    /// Sets who is called for each request, after it was recorded and before its answer is decided, on the thread of
    /// its connection: what the observer puts or scripts is what the request is answered with. nil for no one.
    public func onRequest(_ observer: (@Sendable (Request) -> Void)?) {
        host.state.withLock { $0.onRequest = observer }
    }

    /// Returns as soon as `condition` holds for what has happened.
    ///
    /// The condition is tried now and whenever something happens, under a lock: it must not call the server.
    ///
    /// - Throws: `CancellationError` when the task is canceled, ``Failure/stopped`` when the server is stopped.
    @discardableResult
    public func wait(until condition: @escaping @Sendable (Activity) -> Bool) async throws -> Activity {
        try await host.ledger.wait(until: condition)
    }

    /// Returns as soon as `count` requests have arrived, of one path or in all.
    ///
    /// - Throws: As ``wait(until:)``, and so do the others.
    @discardableResult
    public func waitForRequests(_ count: Int, path: String? = nil) async throws -> [Request] {
        let path = path.map(Site.normalized)
        let isAsked: @Sendable (Request) -> Bool = { path == nil || $0.path == path }
        return try await wait { $0.requests.count(where: isAsked) >= count }.requests.filter(isAsked)
    }

    /// Returns as soon as `count` answers have been held back by a `stall` or `hold` step, over the server's life.
    public func waitForStalls(_ count: Int) async throws {
        try await wait { $0.stalls >= count }
    }

    /// Returns as soon as `count` bytes of bodies have been handed to the kernel for a path, over the server's life.
    public func waitForBytes(_ count: Int64, path: String) async throws {
        try await wait { $0.bytesSent(path) >= count }
    }
}
