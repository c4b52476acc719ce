import Foundation

// The same for several tasks at once.

extension [DownloadTask] {
    /// Sets ``DownloadTask/progress(onMainQueue:handler:)`` of each task. - Returns: The tasks.
    @discardableResult
    public func progress(onMainQueue: Bool, handler: @escaping DownloadTask.Handler) -> Self {
        forEach { $0.progress(onMainQueue: onMainQueue, handler: handler) }
        return self
    }

    /// Sets ``DownloadTask/success(onMainQueue:handler:)`` of each task. - Returns: The tasks.
    @discardableResult
    public func success(onMainQueue: Bool, handler: @escaping DownloadTask.Handler) -> Self {
        forEach { $0.success(onMainQueue: onMainQueue, handler: handler) }
        return self
    }

    /// Sets ``DownloadTask/failure(onMainQueue:handler:)`` of each task. - Returns: The tasks.
    @discardableResult
    public func failure(onMainQueue: Bool, handler: @escaping DownloadTask.Handler) -> Self {
        forEach { $0.failure(onMainQueue: onMainQueue, handler: handler) }
        return self
    }

    /// Sets ``DownloadTask/completion(onMainQueue:handler:)`` of each task. - Returns: The tasks.
    @discardableResult
    public func completion(onMainQueue: Bool, handler: @escaping DownloadTask.Handler) -> Self {
        forEach { $0.completion(onMainQueue: onMainQueue, handler: handler) }
        return self
    }

    /// Compares the finished file of each task with a digest; see
    /// ``DownloadTask/validateFile(code:type:onMainQueue:handler:)``.
    ///
    /// - Parameters:
    ///   - codes: The expected digests, one for each task. Another number of them is a mistake that is logged: nothing
    ///     is compared, and no handler is called.
    ///   - type: The algorithm of all of them.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on the manager's operation queue.
    ///   - handler: Called exactly once for each task.
    /// - Returns: The tasks.
    @discardableResult
    public func validateFile(
        codes: [String], type: FileVerificationType, onMainQueue: Bool, handler: @escaping DownloadTask.Handler
    ) -> Self {
        guard codes.count == count else {
            first?.engine?.log { .error("could not compare files", error: LannerError.codesMatchFailed) }
            return self
        }
        for (task, code) in zip(self, codes) {
            task.validateFile(code: code, type: type, onMainQueue: onMainQueue, handler: handler)
        }
        return self
    }
}
