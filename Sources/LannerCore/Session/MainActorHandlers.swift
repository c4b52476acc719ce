// Each function that takes a closure, for closures of the main actor: those of views, which use what is the main actor's.
// With `onMainQueue:` a closure is anybody's, and has to be `Sendable`.

/// The same closure without its actor, to be called on the main queue, which is the actor's: the compiler cannot know.
func forMainQueue<Value>(_ handler: @escaping @MainActor @Sendable (Value) -> Void) -> @Sendable (Value) -> Void {
    unsafeBitCast(handler, to: (@Sendable (Value) -> Void).self)
}

extension DownloadTask {
    /// A closure of the main actor that is told about a task.
    public typealias MainActorHandler = @MainActor @Sendable (DownloadTask) -> Void

    /// `progress(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func progress(handler: @escaping MainActorHandler) -> Self {
        progress(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `success(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func success(handler: @escaping MainActorHandler) -> Self {
        success(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `failure(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func failure(handler: @escaping MainActorHandler) -> Self {
        failure(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `completion(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func completion(handler: @escaping MainActorHandler) -> Self {
        completion(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `validateFile(code:type:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func validateFile(code: String, type: FileVerificationType, handler: @escaping MainActorHandler) -> Self {
        validateFile(code: code, type: type, onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `observe(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func observe(handler: @escaping @MainActor @Sendable (DownloadEvent) -> Void) -> EventObservation {
        observe(onMainQueue: true, handler: forMainQueue(handler))
    }
}

extension [DownloadTask] {
    /// `progress(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func progress(handler: @escaping DownloadTask.MainActorHandler) -> Self {
        progress(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `success(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func success(handler: @escaping DownloadTask.MainActorHandler) -> Self {
        success(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `failure(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func failure(handler: @escaping DownloadTask.MainActorHandler) -> Self {
        failure(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `completion(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func completion(handler: @escaping DownloadTask.MainActorHandler) -> Self {
        completion(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `validateFile(codes:type:onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func validateFile(
        codes: [String], type: FileVerificationType, handler: @escaping DownloadTask.MainActorHandler
    ) -> Self {
        validateFile(codes: codes, type: type, onMainQueue: true, handler: forMainQueue(handler))
    }
}

extension DownloadGroup {
    /// `observe(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func observe(handler: @escaping @MainActor @Sendable (AggregateProgress) -> Void) -> EventObservation {
        observe(onMainQueue: true, handler: forMainQueue(handler))
    }
}

extension Cache {
    /// `clearDiskCache(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func clearDiskCache(handler: (@MainActor @Sendable (Cache) -> Void)? = nil) {
        clearDiskCache(onMainQueue: true, handler: handler.map(forMainQueue))
    }
}

extension SessionManager {
    /// A closure of the main actor that is told about a manager.
    public typealias MainActorHandler = @MainActor @Sendable (SessionManager) -> Void

    /// `progress(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func progress(handler: @escaping MainActorHandler) -> Self {
        progress(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `success(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func success(handler: @escaping MainActorHandler) -> Self {
        success(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `failure(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func failure(handler: @escaping MainActorHandler) -> Self {
        failure(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `completion(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func completion(handler: @escaping MainActorHandler) -> Self {
        completion(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `taskCompletion(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    @discardableResult
    public func taskCompletion(handler: @escaping DownloadTask.MainActorHandler) -> Self {
        taskCompletion(onMainQueue: true, handler: forMainQueue(handler))
    }

    /// `observe(onMainQueue:handler:)` with a closure of the main actor, called on the main queue.
    public func observe(handler: @escaping @MainActor @Sendable (SessionEvent) -> Void) -> EventObservation {
        observe(onMainQueue: true, handler: forMainQueue(handler))
    }
}
