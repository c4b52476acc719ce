import Foundation

extension DownloadTask {
    /// Compares the finished file with a digest; waits for the file while the task has not succeeded.
    ///
    /// The result is in ``validation`` when `handler` is called, once, on the queue that was asked for. An incorrect
    /// file stays where it is, and the task stays succeeded. A later call of this takes the place of one that waits.
    ///
    /// - Parameters:
    ///   - code: The expected digest in hexadecimal, in upper or lower case. One of the wrong length, or with other
    ///     characters, is no file's digest: the result is ``Validation/incorrect``.
    ///   - type: The algorithm.
    ///   - onMainQueue: Whether `handler` runs on the main queue, else on the manager's operation queue.
    ///   - handler: Called when the file has been compared.
    /// - Returns: The task.
    @discardableResult
    public func validateFile(
        code: String, type: FileVerificationType, onMainQueue: Bool = true,
        handler: @escaping Handler<DownloadTask>
    ) -> Self {
        let expected = try? Checksum.Digest(algorithm: type, hexadecimal: code)
        let request = ValidationRequest(
            type: type, expected: expected, callback: Callback(onMainQueue: onMainQueue, handler: handler))
        let engine = state.withLock { state in
            state.validationRequest = request
            return state.engine
        }
        if status == .succeeded { engine?.validateIfAsked(self) }
        return self
    }
}

/// A digest that a finished file is to be compared with.
struct ValidationRequest: Sendable {
    var type: FileVerificationType
    var expected: Checksum.Digest?
    var callback: Callback<DownloadTask>
}

extension Engine {
    /// Compares the file of a task that has succeeded, if that was asked for.
    func validateIfAsked(_ task: DownloadTask) {
        let request = task.state.withLock { state in
            defer { state.validationRequest = nil }
            return state.validationRequest
        }
        guard let request else { return }
        environment.lanes.makeLane("validation").run { [self] in
            let actual = try? Checksum.digest(ofFileAt: task.filePath, algorithm: request.type)
            let isCorrect = actual != nil && actual == request.expected
            task.state.withLock { $0.validation = isCorrect ? .correct : .incorrect }
            inOrder { [self] in recordAnew(task) }
            dispatch(request.callback, task)
        }
    }
}
