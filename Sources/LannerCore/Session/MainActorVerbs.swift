// What a manager is asked for by closures of the main actor; see MainActorHandlers.swift.

extension SessionManager {
    /// `download(_:headers:fileName:checksum:onMainQueue:handler:)` with a closure of the main actor.
    @discardableResult
    public func download(
        _ url: any URLConvertible, headers: [String: String]? = nil, fileName: String? = nil,
        checksum: Checksum.Digest? = nil, handler: DownloadTask.MainActorHandler? = nil
    ) -> DownloadTask? {
        download(
            url, headers: headers, fileName: fileName, checksum: checksum, onMainQueue: true,
            handler: handler.map(forMainQueue))
    }

    /// `download(_:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func download(_ request: DownloadRequest, handler: DownloadTask.MainActorHandler? = nil) -> DownloadTask? {
        download(request, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `multiDownload(_:headersArray:fileNames:onMainQueue:handler:)` with a closure of the main actor.
    @discardableResult
    public func multiDownload(
        _ urls: [any URLConvertible], headersArray: [[String: String]]? = nil, fileNames: [String]? = nil,
        handler: MainActorHandler? = nil
    ) -> [DownloadTask] {
        multiDownload(
            urls, headersArray: headersArray, fileNames: fileNames, onMainQueue: true,
            handler: handler.map(forMainQueue))
    }

    /// `multiDownload(requests:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func multiDownload(requests: [DownloadRequest], handler: MainActorHandler? = nil) -> [DownloadTask] {
        multiDownload(requests: requests, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `start(_:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func start(_ url: any URLConvertible, handler: DownloadTask.MainActorHandler? = nil) {
        start(url, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `start(_:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func start(_ task: DownloadTask?, handler: DownloadTask.MainActorHandler? = nil) {
        start(task, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `start(key:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func start(key: String, handler: DownloadTask.MainActorHandler? = nil) {
        start(key: key, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `start(_:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func start(_ tasks: [DownloadTask], handler: MainActorHandler? = nil) {
        start(tasks, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `start(keys:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func start(keys: [String], handler: MainActorHandler? = nil) {
        start(keys: keys, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `suspend(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func suspend(
        _ url: any URLConvertible, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil
    ) {
        suspend(url, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `suspend(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func suspend(_ task: DownloadTask?, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil) {
        suspend(task, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `suspend(key:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func suspend(key: String, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil) {
        suspend(key: key, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `suspend(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func suspend(_ tasks: [DownloadTask], startsNext: Bool = true, handler: MainActorHandler? = nil) {
        suspend(tasks, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `suspend(keys:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func suspend(keys: [String], startsNext: Bool = true, handler: MainActorHandler? = nil) {
        suspend(keys: keys, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `cancel(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func cancel(
        _ url: any URLConvertible, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil
    ) {
        cancel(url, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `cancel(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func cancel(_ task: DownloadTask?, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil) {
        cancel(task, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `cancel(key:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func cancel(key: String, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil) {
        cancel(key: key, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `cancel(_:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func cancel(_ tasks: [DownloadTask], startsNext: Bool = true, handler: MainActorHandler? = nil) {
        cancel(tasks, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `cancel(keys:startsNext:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func cancel(keys: [String], startsNext: Bool = true, handler: MainActorHandler? = nil) {
        cancel(keys: keys, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `remove(_:completely:startsNext:onMainQueue:handler:)` with a closure of the main actor.
    public func remove(
        _ url: any URLConvertible, completely: Bool = false, startsNext: Bool = true,
        handler: DownloadTask.MainActorHandler? = nil
    ) {
        remove(
            url, completely: completely, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `remove(_:completely:startsNext:onMainQueue:handler:)` with a closure of the main actor.
    public func remove(
        _ task: DownloadTask?, completely: Bool = false, startsNext: Bool = true,
        handler: DownloadTask.MainActorHandler? = nil
    ) {
        remove(
            task, completely: completely, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `remove(key:completely:startsNext:onMainQueue:handler:)` with a closure of the main actor.
    public func remove(
        key: String, completely: Bool = false, startsNext: Bool = true, handler: DownloadTask.MainActorHandler? = nil
    ) {
        remove(
            key: key, completely: completely, startsNext: startsNext, onMainQueue: true,
            handler: handler.map(forMainQueue))
    }

    /// `remove(_:completely:startsNext:onMainQueue:handler:)` with a closure of the main actor.
    public func remove(
        _ tasks: [DownloadTask], completely: Bool = false, startsNext: Bool = true, handler: MainActorHandler? = nil
    ) {
        remove(
            tasks, completely: completely, startsNext: startsNext, onMainQueue: true, handler: handler.map(forMainQueue)
        )
    }

    /// `remove(keys:completely:startsNext:onMainQueue:handler:)` with a closure of the main actor.
    public func remove(
        keys: [String], completely: Bool = false, startsNext: Bool = true, handler: MainActorHandler? = nil
    ) {
        remove(
            keys: keys, completely: completely, startsNext: startsNext, onMainQueue: true,
            handler: handler.map(forMainQueue))
    }

    /// `totalStart(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func totalStart(handler: MainActorHandler? = nil) {
        totalStart(onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `totalSuspend(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func totalSuspend(handler: MainActorHandler? = nil) {
        totalSuspend(onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `totalCancel(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func totalCancel(handler: MainActorHandler? = nil) {
        totalCancel(onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `totalRemove(completely:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func totalRemove(completely: Bool = false, handler: MainActorHandler? = nil) {
        totalRemove(completely: completely, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `startWaiting(list:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func startWaiting(list: String? = nil, handler: MainActorHandler? = nil) {
        startWaiting(list: list, onMainQueue: true, handler: handler.map(forMainQueue))
    }

    /// `shutDown(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func shutDown(handler: MainActorHandler? = nil) {
        shutDown(onMainQueue: true, handler: handler.map(forMainQueue))
    }
}
