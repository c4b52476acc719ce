import Foundation
import LannerMachine

extension DownloadTask {
    /// Compares the finished file with a digest; waits for the file while the task has yet to succeed. Of many files a few
    /// are compared at a time, in order.
    ///
    /// A file that is found incorrect stays where it is, and the task stays succeeded.
    ///
    /// - Parameters:
    ///   - code: The expected digest in hexadecimal, in upper or lower case. One of the wrong length, or with other
    ///     characters, is no file's digest: the result is ``Validation/incorrect``.
    ///   - type: The algorithm.
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on the manager's
    ///     ``SessionManager/operationQueue``; on the main queue in any case when the manager is gone.
    ///   - handler: Called exactly once, with this task: when the file has been compared, the result being in
    ///     ``validation``; or when nothing will be compared, ``validation`` then being ``Validation/unknown`` unless an
    ///     earlier result stands. That is when the task fails, is canceled or removed (``status`` and ``error`` say
    ///     which), when a later call of this takes the place of this one, when the manager is invalidated or gone, and
    ///     when the file cannot be read, which is logged. While the task waits, runs or is suspended, the call waits.
    /// - Returns: The task.
    @discardableResult
    public func validateFile(
        code: String, type: FileVerificationType, onMainQueue: Bool,
        handler: @escaping Handler
    ) -> Self {
        let callback = Callback(onMainQueue: onMainQueue, handler: handler)
        let expected = try? Checksum.Digest(algorithm: type, hexadecimal: code)
        let request = ValidationRequest(type: type, expected: expected, callback: callback)
        if let engine {
            // In order with the news of the task, so that an end that is being told is not missed.
            engine.inOrder { [self] in engine.validate(self, request) }
        } else {
            // There is no manager any more, nor its queues.
            DispatchQueue.main.async { handler(self) }
        }
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
    /// Takes a request in, and answers the one it replaces.
    fileprivate func validate(_ task: DownloadTask, _ request: ValidationRequest) {
        let (replaced, status) = task.state.withLock { state in
            defer { state.validationRequest = request }
            return (state.validationRequest, state.status)
        }
        if let replaced { dispatch(replaced.callback, task) }
        if isOver || status.isDecided { settleValidation(of: task) }
    }

    /// Answers what was asked of a task that has ended, or that nothing happens to any more: a file is compared in its
    /// turn, what is asked being with the task until then.
    func settleValidation(of task: DownloadTask) {
        let (isAsked, status) = task.state.withLock { ($0.validationRequest != nil, $0.status) }
        guard isAsked else { return }
        guard status == .succeeded, !isOver else { return answerValidation(of: task) }
        environment.lanes.runLong("validation") { [self] in answerValidation(of: task) }
    }

    private func answerValidation(of task: DownloadTask) {
        let isOver = isOver
        let (request, status, number) = task.state.withLock { state -> (ValidationRequest?, Status, UInt32) in
            // One that goes on meanwhile has another end.
            guard isOver || state.status.isDecided, let request = state.validationRequest else {
                return (nil, state.status, 0)
            }
            state.verdicts &+= 1
            state.validationRequest = nil
            return (request, state.status, state.verdicts)
        }
        guard let request else { return }
        if status == .succeeded, !isOver { compare(task, request, number) }
        dispatch(request.callback, task)
    }

    /// Compares a finished file with the digests that are asked for, unless it was: those that were given late, or that the
    /// last process could not compare any more. A file that does not have them, or is broken, is fetched again, and
    /// stays until that has come; it is only added again unless somebody `starts` it, as a new success does. One that
    /// is gone, or may not be read, is left as it is. One comparison is under way at a time.
    func compareIfNeeded(_ job: Job, starts: Bool? = nil) {
        // Nil of nearly all, which need not wait for the engine's lock.
        let mayStart = job.state.withLock { job -> Bool? in
            defer { job.restsAtSuccess = false }
            return job.uncompared == nil ? nil : starts ?? !job.restsAtSuccess
        }
        guard let mayStart else { return }
        let expectation = state.withLock { state -> Expectation? in
            guard state.isThere(job) else { return nil }
            return job.state.withLock { job in
                guard let expectation = job.uncompared else { return nil }
                let isUnderWay = job.comparison != nil
                job.comparison = Comparison(starts: mayStart || job.comparison?.starts == true)
                return isUnderWay ? nil : expectation
            }
        }
        guard let expectation else { return }
        job.task.state.withLock { $0.validation = .unknown }
        environment.lanes.runLong("validation") { [self] in compare(job, expectation) }
    }

    private func compare(_ job: Job, _ expectation: Expectation) {
        if isOver { return }
        do throws(FileError) {
            settle(job, expectation, isRight: try isFile(of: job.task, expectation))
        } catch {
            guard error.fault == .tooManyFiles else {
                logUnread(error)
                return settle(job, expectation, isRight: error.saysNothing ? nil : false)
            }
            // That may pass.
            environment.clock.wake(at: environment.clock.now + Pace.recordWait) { [weak self, weak job] in
                guard let self, let job else { return }
                let starts = job.state.withLock { state in
                    defer { state.comparison = nil }
                    return state.comparison?.starts ?? false
                }
                compareIfNeeded(job, starts: starts)
            }
        }
    }

    /// Nil once the end has begun.
    private func isFile(of task: DownloadTask, _ expectation: Expectation) throws(FileError) -> Bool? {
        if let digest = expectation.digest {
            guard let actual = try digestOfFile(of: task, digest.algorithm) else { return nil }
            if actual != digest { return false }
        }
        guard let pieces = expectation.pieces else { return true }
        return try environment.fileSystem.hasPieces(
            pieces, task.filePath, by: environment.makeHasher, while: { !isOver })
    }

    private func settle(_ job: Job, _ expectation: Expectation, isRight: Bool?) {
        var (later, isWrong) = (Comparison?.none, false)
        enter { state in
            let (comparison, isCurrent) = job.state.withLock { job in
                defer { job.comparison = nil }
                return (job.comparison, job.uncompared == expectation)
            }
            guard let comparison, state.isThere(job) else { return [] }
            // Something else may be asked for by now.
            guard isCurrent else {
                later = comparison
                return []
            }
            guard let isRight else {
                // What another comparison may have found meanwhile is not about what is asked for.
                job.task.state.withLock { $0.validation = .unknown }
                return []
            }
            if isRight {
                job.state.withLock { $0.noteCompared(expectation) }
                job.task.state.withLock { $0.validation = .correct }
                return [.expectDigest(job.id, true)]
            }
            // Not compared, in every record that still calls it a success.
            isWrong = true
            return [.user(.downloadAgain(starts: comparison.starts), [job.id], nil), .expectDigest(job.id, true)]
        }
        if isWrong { log { .downloadTask("does not have the checksum that is asked for now", task: job.task) } }
        if let later { compareIfNeeded(job, starts: later.starts) }
    }

    /// What is found says nothing any more when something newer is known, or asked for, or another file is to come.
    private func compare(_ task: DownloadTask, _ request: ValidationRequest, _ number: UInt32) {
        // In its place may be another's.
        guard state.withLock({ state in state.livingJob(of: task).map(state.hasItsFile) }) != false else { return }
        guard let actual = fileDigest(of: task, request.type) else { return }
        let isCurrent = task.state.withLock { state in
            guard state.verdicts == number, state.status == .succeeded else { return false }
            state.validation = actual == request.expected ? .correct : .incorrect
            return true
        }
        if isCurrent { record(task) }
    }

    /// Reads the finished file; nil when it cannot be read, which is logged, or once the end has begun.
    private func fileDigest(of task: DownloadTask, _ algorithm: Checksum.Algorithm) -> Checksum.Digest? {
        do throws(FileError) {
            return try digestOfFile(of: task, algorithm)
        } catch {
            logUnread(error)
            return nil
        }
    }

    private func digestOfFile(
        of task: DownloadTask, _ algorithm: Checksum.Algorithm
    ) throws(FileError) -> Checksum.Digest? {
        try environment.fileSystem.digest(of: task.filePath, algorithm, by: environment.makeHasher) { !isOver }
    }

    private func logUnread(_ error: FileError) {
        log { .error("could not validate a file", error: LannerError.failed(DownloadFailure(error))) }
    }
}

extension EngineState {
    /// Whether a download is here, and has succeeded, and its file was not replaced by another's.
    fileprivate func isThere(_ job: Job) -> Bool {
        isLiving(job) && machine[job.id]?.state == .succeeded && hasItsFile(job)
    }
}

extension FileError {
    /// Whether it says nothing of what is in the file, as where the volume is away for a while.
    fileprivate var saysNothing: Bool { [.notFound, .notPermitted, .other].contains(fault) || isGone }

    /// Whether the device or the server is gone.
    private var isGone: Bool { [ESTALE, ENXIO, ENODEV].contains(code) }
}

extension Status {
    /// Whether a finished file is there, or will not come unless the task is started again.
    fileprivate var isDecided: Bool {
        switch self {
        case .succeeded, .failed, .canceled, .removed: true
        case .waiting, .running, .suspended, .willSuspend, .willCancel, .willRemove: false
        }
    }
}
