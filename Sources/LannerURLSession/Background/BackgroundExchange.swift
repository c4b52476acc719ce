import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One GET that the system carries out, whoever waits for it. It lives from its beginning, in whatever process, to the
/// time when it is discarded.
final class BackgroundExchange: TaskFollower {
    fileprivate struct State {
        var task: URLSessionDownloadTask?
        var outcome: OutcomeShelf.Outcome?
        var head: ResponseHead?
        var received: Int64 = 0
        /// How long its file is.
        var size: Int64?
        /// What the resume data stand for.
        var offset: Int64 = 0
        /// Whether it was given resume data; an earlier process may have done that.
        var isResumed = true
        var isDiscarded = false
        /// Whether resume data were asked for with the cancellation.
        var awaitsResumeData = false
        var awaited = AwaitedResumeData()
        var attendance: Attendance?
        /// Who was told the end last. It is handed over a little later.
        var told: Mailbox?
    }

    let name: String
    private let shelf: OutcomeShelf
    private let state: Locked<State>

    init(_ name: String, _ shelf: OutcomeShelf, _ outcome: OutcomeShelf.Outcome? = nil) {
        self.name = name
        self.shelf = shelf
        state = Locked(State(outcome: outcome))
    }

    /// How far it is.
    var progress: TransportSurvivor.Progress {
        let outcome = state.withLock { $0.outcome }
        guard let outcome else { return .running }
        return outcome.failure?.fault == TransportFault.canceled.rawValue ? .interrupted : .ended
    }

    /// Whether anybody is told how it ends, or was.
    var isAttended: Bool { state.withLock { $0.attendance != nil || $0.told != nil } }

    // MARK: On the control queue

    /// Takes the task that was made for it.
    func adopt(_ task: URLSessionDownloadTask, isResumed: Bool) {
        state.withLock { $0.isResumed = isResumed }
        adopt(task)
    }

    /// Takes the task that brings it; another one with its name is not its own.
    func own(_ task: URLSessionDownloadTask) {
        state.withLock { $0.task = $0.task ?? task }
    }

    /// The same, with what the task has brought to an earlier process.
    func adopt(_ task: URLSessionDownloadTask) {
        own(task)
        let response = (task.response as? HTTPURLResponse).map(ResponseHead.ofDownload)
        let count = task.countOfBytesReceived
        state.withLock { state in
            guard state.task === task || state.task?.taskIdentifier == task.taskIdentifier else { return }
            if let response, !response.isRedirect { state.report(response) }
            // Where the answer goes on with earlier data is told with it, and not before.
            if count > 0, state.head != nil { state.report(count) }
        }
    }

    func isOwner(of task: URLSessionTask) -> Bool {
        state.withLock { $0.task == nil || $0.task?.taskIdentifier == task.taskIdentifier }
    }

    /// Tells somebody what has come, and what comes.
    func take(_ attendance: Attendance) {
        state.withLock { state in
            state.attendance?.mailbox.abandon(.invalidated)
            state.attendance = attendance
            // Only now: the file of one that was still running a moment ago may just have come.
            if let outcome = state.outcome { return state.tell(outcome, shelf.file(name, of: outcome)) }
            if let head = state.head { attendance.mailbox.post(.head(head)) }
            if state.head?.status == 206, state.offset > 0 { attendance.mailbox.post(.progress(state.offset)) }
            if state.received > 0, state.head != nil { attendance.mailbox.post(.progress(state.received)) }
        }
    }

    /// Goes on without whom it told.
    func leave(_ attendance: Attendance) {
        state.withLock { state in
            if state.attendance === attendance { state.attendance = nil }
        }
    }

    /// Ends it, if it is for this one that it runs.
    func cancel(_ attendance: Attendance) {
        let task = state.withLock { $0.attendance === attendance && $0.outcome == nil ? $0.task : nil }
        // One that has completed is about to say how, and leaves no data.
        guard let task, task.state != .completed else { return }
        // Who asks for the data again is told at once that there are none.
        if state.withLock({ $0.asksForResumeData() }) { return }
        task.cancel(byProducingResumeData: { [self] in stopped(with: $0) })
    }

    /// Told of the data where they were asked for, and at the task's end.
    func stopped(with data: Data?) {
        guard state.withLock({ $0.awaited.isSettled(by: data) }) else { return }
        finish(TransportFailure(.canceled, TransportFailure.canceled.message, resumeData: data))
    }

    /// Ends it, and forgets it.
    func discard() {
        let (task, attendance) = state.withLock { state in
            state.isDiscarded = true
            defer { state.attendance = nil }
            return (state.task, state.attendance)
        }
        task?.cancel()
        attendance?.mailbox.abandon(.canceled)
        shelf.remove(name)
    }

    /// Runs work once everything so far has been handed over.
    func fence(_ work: @escaping @Sendable () -> Void) {
        if let mailbox = state.withLock({ $0.attendance?.mailbox ?? $0.told }) { mailbox.fence(work) } else { work() }
    }

    // MARK: URLSession's side

    func took(response: HTTPURLResponse) {
        let head = ResponseHead.ofDownload(response)
        if !head.isRedirect { state.withLock { $0.report(head) } }
    }

    func took(data: Data) {}

    func took(offset: Int64, response: HTTPURLResponse?) {
        state.withLock { $0.offset = offset }
        if let response { took(response: response) }
    }

    func took(written: Int64, response: HTTPURLResponse) {
        let head = ResponseHead.ofDownload(response)
        guard !head.isRedirect else { return }
        state.withLock { state in
            state.report(head)
            state.report(written)
        }
    }

    func took(file: URL, response: HTTPURLResponse?) {
        guard let response, case let head = ResponseHead.ofDownload(response), !head.isRedirect else { return }
        if let told = state.withLock({ $0.head }), head.isOther(than: told) { return finish(.changedMeanwhile) }
        let size = file.fileSize
        // One that was resumed is longer than the answer that completed it.
        if head.status != 206, let length = head.bodyLength.value, let size, size != length {
            return finish(.length(announced: length, received: size))
        }
        do {
            try shelf.keep(file, name)
            state.withLock { state in
                state.report(head)
                state.received = max(state.received, size ?? 0)
                state.size = size ?? state.size
            }
        } catch {
            finish(TransportFailure(keeping: error))
        }
    }

    func answered(by response: HTTPURLResponse?) {
        complete(response)
    }

    func ended(_ error: (any Error)?, response: HTTPURLResponse?) {
        guard let error else { return complete(response) }
        if let response { took(response: response) }
        #if canImport(Darwin)
        // Of one that has ended before it was listed nothing else may tell.
        let task = state.withLock { $0.head == nil ? nil : $0.task }
        if let count = task?.countOfBytesReceived { state.withLock { $0.report(count) } }
        #endif
        let data = (error as NSError).userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        let (resumes, awaitsResumeData) = state.withLock { ($0.isResumed && $0.head == nil, $0.awaitsResumeData) }
        var failure = TransportFailure(error, for: response?.url, resumeData: data, resumes: resumes)
        // By the owner, or by the system for a user who wants no more of it.
        if (error as NSError).code == NSURLErrorCancelled {
            if awaitsResumeData, data == nil { return stopped(with: nil) }
            failure.fault = error.isOfSystem ? .connectionLost : .canceled
        }
        finish(failure)
    }

    private func complete(_ response: HTTPURLResponse?) {
        guard let response else { return finish(.noResponse) }
        let head = ResponseHead.ofDownload(response)
        state.withLock { $0.report(head) }
        finish(nil)
    }

    private func finish(_ failure: TransportFailure?) {
        let outcome = state.withLock { state -> OutcomeShelf.Outcome? in
            guard state.outcome == nil, !state.isDiscarded else { return nil }
            let outcome = OutcomeShelf.Outcome(
                head: state.head, received: state.received, size: state.size,
                failure: failure.map(OutcomeShelf.Outcome.Failure.init))
            state.outcome = outcome
            return outcome
        }
        guard let outcome else { return }
        shelf.keep(outcome, name)
        let file = shelf.file(name, of: outcome)
        state.withLock { $0.tellEnd(outcome, file) }
    }

    func abandon(_ failure: TransportFailure) {
        finish(failure)
    }
}

extension ResponseHead {
    /// Whether this begins another file than an answer that was told before: the system has asked once more.
    fileprivate func isOther(than told: ResponseHead) -> Bool {
        status != 206 && (status != told.status || Self.marks.contains { fields[$0] != told.fields[$0] })
    }

    private static let marks = ["ETag", "Last-Modified", "Content-Length"]
}

extension TransportFailure {
    fileprivate static let changedMeanwhile = TransportFailure(
        .other, "The system had to ask for the file again, and has got another one.")
}

extension Error {
    /// Whether the system has canceled a task in the background for a reason of its own, as that it has no room for it, and
    /// not because the user has closed the app.
    fileprivate var isOfSystem: Bool {
        let reason = (self as NSError).userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int
        return reason.map { $0 != NSURLErrorCancelledReasonUserForceQuitApplication } ?? false
    }
}

extension BackgroundExchange.State {
    /// Says whether somebody has asked before.
    fileprivate mutating func asksForResumeData() -> Bool {
        defer { awaitsResumeData = true }
        return awaitsResumeData
    }

    /// The head, once.
    fileprivate mutating func report(_ head: ResponseHead) {
        guard self.head == nil else { return }
        self.head = head
        attendance?.mailbox.post(.head(head))
        // Any other answer begins anew.
        if head.status == 206 { report(offset) }
    }

    fileprivate mutating func report(_ count: Int64) {
        guard count > received else { return }
        received = count
        if head != nil { attendance?.mailbox.post(.progress(count)) }
    }

    /// Tells a new receiver everything.
    fileprivate mutating func tell(_ outcome: OutcomeShelf.Outcome, _ file: URL?) {
        if let head = outcome.head {
            attendance?.mailbox.post(.head(head))
            if outcome.received > 0 { attendance?.mailbox.post(.progress(outcome.received)) }
        }
        tellEnd(outcome, file)
    }

    fileprivate mutating func tellEnd(_ outcome: OutcomeShelf.Outcome, _ file: URL?) {
        guard let mailbox = attendance?.mailbox else { return }
        attendance = nil
        if let file, outcome.failure == nil { mailbox.post(.file(file)) }
        // One that has left meanwhile is told nothing more.
        if mailbox.finish(outcome.lastEvent(file)) { told = mailbox }
    }
}

extension OutcomeShelf.Outcome {
    fileprivate func lastEvent(_ file: URL?) -> TransportEvent {
        if let failure { return .failure(failure.failure) }
        return file == nil && hasFile ? .failure(.fileGone) : .end
    }
}

/// Somebody who waits for what an exchange brings.
final class Attendance: TransportExchange {
    let mailbox: Mailbox
    private let canceling: @Sendable (Attendance) -> Void

    init(receive: @escaping @Sendable (TransportEvent) -> Void, canceling: @escaping @Sendable (Attendance) -> Void) {
        mailbox = Mailbox(receive: receive)
        self.canceling = canceling
    }

    func cancel() {
        canceling(self)
    }

    // Resume data is what pauses a download task.
    func pause() {}
    func resume() {}
}
