import Foundation
import LannerMachine

extension SessionManager {
    /// Starts a download, or finds the task that the URL already has, updates it, and starts it. With
    /// ``SessionConfiguration/startsImmediately`` off nothing is started.
    ///
    /// An update takes effect as far as it still can: header fields with the next attempt, a checksum at the end, a name
    /// as long as the finished file has yet to be moved to its place. From then on the name stays; asking for another is
    /// logged as ``LannerError/fileNameIsFixed(_:asked:)`` and changes nothing. A task that has succeeded keeps its file:
    /// with another checksum or other pieces, unless it is not to be started, it is compared on a queue of the
    /// manager's own, and fetched again where it does not have them or is broken (by ``FileConflictPolicy/fail`` it is
    /// in the way then); ``DownloadTask/validation`` is unknown meanwhile. What the process did not live to compare the
    /// next one does (``SessionConfiguration/resumesAtLaunch``). Only if it is gone, or another task has replaced it, does
    /// the task begin again, under the new name. Its URL, header fields, list, priority, limit and metadata are updated
    /// all the same.
    ///
    /// - Parameters:
    ///   - url: What to download, http or https. It is what the task is known by. A user name and password in it are
    ///     sent as Basic authentication, to its origin only.
    ///   - headers: Header fields for the server the URL names. Those but `Accept`, `Accept-Language` and `User-Agent`
    ///     are not sent to any other. A task that is there keeps its own when nil; none, as an empty dictionary, are taken
    ///     over as well. Refused, with ``TransportFault/unacceptableRequest``: names that are no tokens, values that
    ///     are not visible ASCII, spaces and tabs, and `Host`, `Content-Length`, `Transfer-Encoding`, `Expect`,
    ///     `Connection`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`, `TE`, `Trailer`, `Range`, `If-Range`,
    ///     `Accept-Encoding`, `If-Match`, `If-None-Match`, `If-Modified-Since` and `If-Unmodified-Since`.
    ///   - fileName: The name of the finished file; when nil, one by ``SessionConfiguration/fileNaming``, or that which a
    ///     task that is there has.
    ///   - checksum: What the file has to be; a file with another digest is a failure. A task that is there keeps its own
    ///     when nil.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, never inside this call: with the task when it has been started, which may be
    ///     before it runs; or, when this returns nil, with a task that belongs to no manager, whose ``DownloadTask/status``
    ///     is ``Status/failed`` and whose ``DownloadTask/error`` says why.
    /// - Returns: The task; nil when the URL, a header field or the name cannot be used, or the manager cannot, which is
    ///   logged.
    @discardableResult
    public func download(
        _ url: any URLConvertible, headers: [String: String]? = nil, fileName: String? = nil,
        checksum: Checksum.Digest? = nil, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) -> DownloadTask? {
        let request = DownloadRequest(url, headers: headers, fileName: fileName, checksum: checksum)
        return download(request, onMainQueue: onMainQueue, handler: handler)
    }

    /// Starts a download that is described by a request, or finds the task that its key already has, updates it, and
    /// starts it.
    ///
    /// The same as ``download(_:headers:fileName:checksum:onMainQueue:handler:)``, which says what an update does, with
    /// all that a ``DownloadRequest`` may ask for.
    ///
    /// - Returns: The task; nil when something in the request cannot be used, or the manager cannot, which is logged.
    @discardableResult
    public func download(
        _ request: DownloadRequest, onMainQueue: Bool, handler: DownloadTask.Handler? = nil
    ) -> DownloadTask? {
        let callback = handler.map { Callback(onMainQueue: onMainQueue, handler: $0) }
        do {
            return try add(request) { [engine] task in
                if let callback, let task { engine.dispatch(callback, task) }
            }
        } catch {
            if let callback { engine.dispatch(callback, DownloadTask(nowhere: request.url, .failed, error, cache)) }
            return nil
        }
    }

    /// The same as ``download(_:onMainQueue:handler:)``, for who wants to know at once why there is no task.
    ///
    /// - Throws: ``LannerError``: what in the request cannot be used, or why the manager cannot
    ///   (``SessionManager/unavailable``). It is logged as well.
    @discardableResult
    public func add(_ request: DownloadRequest) throws -> DownloadTask {
        try add(request) { _ in }
    }

    /// Calls `started`, unless this throws, when the task has been.
    private func add(
        _ request: DownloadRequest, _ started: @escaping @Sendable (DownloadTask?) -> Void
    ) throws -> DownloadTask {
        do {
            return try take([request], started).outcomes(1)[0].get()
        } catch {
            engine.log { .error("could not add a download", error: error) }
            throw error
        }
    }

    /// Starts several downloads at the cost of one: one commit to the store, one look at the queue. More than 10,000
    /// are added in batches of 10,000: the first batch may be running before later ones are looked at, whatever their
    /// priorities, and a crash in between may leave only the earlier batches.
    ///
    /// - Parameters:
    ///   - urls: What to download. Those that cannot be used and those that come twice are skipped, and logged.
    ///   - headersArray: Header fields for each URL; nil, or none at all, for none.
    ///   - fileNames: A name for each URL, an empty one for that by ``SessionConfiguration/fileNaming``; nil, or none at
    ///     all, where all are named by that.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, with the manager and never inside this call, when all have been started, also
    ///     when there were none.
    /// - Returns: The tasks, in the order of the URLs; none, with an error logged, when an array has the wrong length or
    ///   the manager cannot be used.
    @discardableResult
    public func multiDownload(
        _ urls: [any URLConvertible], headersArray: [[String: String]]? = nil, fileNames: [String]? = nil,
        onMainQueue: Bool, handler: Handler? = nil
    ) -> [DownloadTask] {
        let (headersArray, fileNames) = (headersArray?.given, fileNames?.given)
        do {
            if let headersArray, headersArray.count != urls.count { throw LannerError.headersMatchFailed }
            if let fileNames, fileNames.count != urls.count { throw LannerError.fileNamesMatchFailed }
        } catch {
            engine.log { .error("could not add a batch", error: error) }
            if let handler { engine.dispatch(Callback(onMainQueue: onMainQueue, handler: handler), self) }
            return []
        }
        let requests = urls.indices.map { index in
            DownloadRequest(
                urls[index], headers: headersArray?[index], fileName: fileNames.flatMap { $0[index].given })
        }
        return multiDownload(requests: requests, onMainQueue: onMainQueue, handler: handler)
    }

    /// Starts several downloads that are described by requests, at the cost of one; more than 10,000 are added in
    /// batches, as with URLs.
    ///
    /// - Parameters:
    ///   - requests: What to download. Those that cannot be used and those whose key comes twice are skipped, and logged.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on ``operationQueue``.
    ///   - handler: Called exactly once, with the manager and never inside this call, when all have been started, or
    ///     added, also when there were none.
    /// - Returns: The tasks, in the order of the requests; none, with an error logged, when the manager cannot be used.
    @discardableResult
    public func multiDownload(
        requests: [DownloadRequest], onMainQueue: Bool, handler: Handler? = nil
    ) -> [DownloadTask] {
        let callback = handler.map { Callback(onMainQueue: onMainQueue, handler: $0) }
        // Holds the manager until then, so that there is one to call with.
        let started: @Sendable () -> Void = { [self] in
            if let callback { engine.dispatch(callback, self) }
        }
        do {
            return try intake(of: requests, started).tasks
        } catch {
            started()
            return []
        }
    }

    /// The same as ``multiDownload(requests:onMainQueue:handler:)``, for who wants to know at once what became of each.
    ///
    /// - Returns: For each request, in their order, its task; or why there is none, mostly a ``LannerError``: what in it
    ///   cannot be used, that its key comes twice, or why the manager cannot be used (``SessionManager/unavailable``). That
    ///   is logged as well.
    @discardableResult
    public func add(contentsOf requests: [DownloadRequest]) -> [Result<DownloadTask, any Error>] {
        add(contentsOf: requests) {}
    }

    /// Calls `started` when the tasks have been, also when there are none.
    package func add(
        contentsOf requests: [DownloadRequest], _ started: @escaping @Sendable () -> Void
    ) -> [Result<DownloadTask, any Error>] {
        do {
            return try intake(of: requests, started).outcomes(requests.count)
        } catch {
            started()
            return requests.map { _ in .failure(error) }
        }
    }

    /// Calls `started`, unless this throws, when the tasks have been. What is refused is logged.
    private func intake(
        of requests: [DownloadRequest], _ started: @escaping @Sendable () -> Void
    ) throws -> Intake {
        do {
            let intake = try take(requests) { _ in started() }
            for refusal in intake.refusals.map(\.error) + (intake.end.map { [$0] } ?? []) {
                engine.log { .error("skipped a download of a batch", error: refusal) }
            }
            return intake
        } catch {
            engine.log { .error("could not add a batch", error: error) }
            throw error
        }
    }

    /// Where all that is asked for is there nothing ends, and yet who waits for the end of all is told.
    private func take(
        _ requests: [DownloadRequest], _ started: @escaping @Sendable (DownloadTask?) -> Void
    ) throws(LannerError) -> Intake {
        let (ends, context) = (state.withLock { $0.ends }, context)
        let isShown = requests.allSatisfy { $0.context == nil || $0.context == context }
        return try engine.download(check(requests), count: requests.count) { [weak self] task in
            started(task)
            guard let self, isShown, task != nil, !engine.isOver, self.context == context, status == .succeeded,
                state.withLock({ $0.ends }) == ends
            else { return }
            tellEnd(.succeeded)
        }
    }

    private func check(_ requests: [DownloadRequest]) -> some Sequence<Result<CheckedRequest, any Error>> {
        let starts = configuration.startsImmediately
        return requests.lazy.map { [cache] request in
            Result { try CheckedRequest(request, cache, starts: starts) }
        }
    }

    /// The task of a URL that was given no other key; nil when the present context has none. O(1).
    public func fetchTask(_ url: any URLConvertible) -> DownloadTask? {
        guard let url = try? url.asURL() else { return nil }
        return fetchTask(key: url.absoluteString)
    }

    /// The task of a key; nil when the present context has none. O(1).
    public func fetchTask(key: String) -> DownloadTask? {
        engine.task(key)
    }
}

extension Collection {
    /// Nil where there is nothing in it.
    fileprivate var given: Self? { isEmpty ? nil : self }
}
