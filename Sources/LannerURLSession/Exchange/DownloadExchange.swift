import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One GET carried out by a download task.
final class DownloadExchange: TransportExchange, SessionExchange {
    private struct State {
        /// Why the owner or the transport gave the exchange up; its report waits for the resume data.
        var givenUp: TransportFailure?
        var isHeadReported = false
        /// Whether the finished file was told: its end follows, or nothing more.
        var isFileReported = false
        /// What the resume data stand for.
        var offset: Int64 = 0
        /// What it may go on with after it was stopped.
        var awaited = AwaitedResumeData()
    }

    let host: String
    private let request: URLRequest
    private let resumeData: Data?
    private let mailbox: Mailbox
    private let control: SessionControl
    private let keeper: FileKeeper
    private let state = Locked(State())

    init(
        _ request: URLRequest, resumeData: Data?, control: SessionControl,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        let keeper = FileKeeper()
        host = request.hostAndPort
        self.request = request
        self.resumeData = resumeData
        self.control = control
        self.keeper = keeper
        mailbox = Mailbox { event in
            receive(event)
            if case .file = event { keeper.delete() }
        }
    }

    // MARK: The owner's side

    func cancel() {
        abandon(.canceled)
    }

    // Resume data is what pauses a download task.
    func pause() {}
    func resume() {}

    /// Also for a transport that has others in the background.
    var outlivesProcess: Bool { false }

    // MARK: The control queue's side

    var isOver: Bool {
        mailbox.isClosed || state.withLock { $0.givenUp != nil }
    }

    /// A task may end by itself while it is being stopped, and nothing else would tell that: of the two the first counts.
    var isToldToTheEnd: Bool { true }

    func makeTask(in session: URLSession) -> URLSessionTask {
        if let resumeData {
            session.downloadTask(withResumeData: resumeData)
        } else {
            session.downloadTask(with: request)
        }
    }

    func stop(_ task: URLSessionTask?) {
        guard let failure = state.withLock({ $0.givenUp }) else {
            task?.cancel()
            return
        }
        if state.withLock({ $0.isFileReported }) {
            mailbox.finish(.end)
            return
        }
        guard let task = task as? URLSessionDownloadTask else { return abandon(failure, with: resumeData) }
        // One that has completed is about to say how, and leaves no data.
        if task.state == .completed { return stopped(with: nil) }
        task.cancel(byProducingResumeData: { self.stopped(with: $0) })
    }

    /// Told of the data where they were asked for, and at the task's end.
    func stopped(with data: Data?) {
        let (failure, isSettled) = state.withLock { ($0.givenUp, $0.awaited.isSettled(by: data)) }
        if let failure, isSettled { abandon(failure, with: data) }
    }

    /// Whether it was given resume data, and has not been answered.
    private var isResuming: Bool { resumeData != nil && !state.withLock { $0.isHeadReported } }

    private func abandon(_ failure: TransportFailure, with resumeData: Data?) {
        mailbox.abandon(TransportFailure(failure.fault, failure.message, resumeData: resumeData))
    }

    func abandon(_ failure: TransportFailure) {
        let isFirst = state.withLock { state in
            defer { state.givenUp = state.givenUp ?? failure }
            return state.givenUp == nil
        }
        if isFirst { control.stop(self) }
    }

    // MARK: URLSession's side

    func took(response: HTTPURLResponse) {
        report(response)
    }

    func took(data: Data) {}

    func took(offset: Int64, response: HTTPURLResponse?) {
        state.withLock { $0.offset = offset }
        if let response, !ResponseHead(response).isRedirect { report(response) }
    }

    func took(written: Int64, response: HTTPURLResponse) {
        guard !ResponseHead(response).isRedirect else { return }
        report(response)
        mailbox.post(.progress(written))
    }

    func took(file: URL, response: HTTPURLResponse?) {
        guard let response, case let head = ResponseHead(response), !head.isRedirect else { return }
        if let failure = lengthFault(of: file, under: head) { return end(with: failure) }
        do {
            let kept = try keeper.keep(file)
            report(response)
            mailbox.post(.file(kept))
            state.withLock { $0.isFileReported = true }
        } catch {
            end(with: TransportFailure(keeping: error))
        }
    }

    /// At once: URLSession is about to say that all is well.
    private func end(with failure: TransportFailure) {
        mailbox.finish(.failure(failure))
    }

    func answered(by response: HTTPURLResponse?) {
        finish(with: response)
        control.stop(self)
    }

    func ended(_ error: (any Error)?, response: HTTPURLResponse?) {
        if let error {
            let data = (error as NSError).userInfo[NSURLSessionDownloadTaskResumeData] as? Data
            if isStopped(by: error) {
                stopped(with: data)
                return control.ended(self)
            }
            var failure = TransportFailure(error, for: request.url, resumeData: data, resumes: isResuming)
            #if canImport(Darwin)
            // The data hold the request that they were made for, with all that this allowed.
            if isResuming, failure.fault == .networkNotAllowed, request.allows(error) { failure.fault = .other }
            #endif
            mailbox.finish(.failure(failure))
        } else {
            finish(with: response)
        }
        control.ended(self)
    }

    /// Whether it is the cancellation that was asked for.
    private func isStopped(by error: any Error) -> Bool {
        (error as NSError).code == NSURLErrorCancelled && state.withLock { $0.givenUp != nil }
    }

    private func finish(with response: HTTPURLResponse?) {
        guard let response else {
            mailbox.finish(.failure(.noResponse))
            return
        }
        report(response)
        mailbox.finish(.end)
    }

    private func report(_ response: HTTPURLResponse) {
        let (isFirst, offset) = state.withLock { state in
            defer { state.isHeadReported = true }
            return (!state.isHeadReported, state.offset)
        }
        guard isFirst else { return }
        mailbox.post(.head(ResponseHead.ofDownload(response)))
        // Any other answer begins anew.
        if response.statusCode == 206, offset > 0 { mailbox.post(.progress(offset)) }
    }

    /// A resumed file is longer than the response that completed it.
    private func lengthFault(of file: URL, under head: ResponseHead) -> TransportFailure? {
        guard resumeData == nil, let length = head.bodyLength.value else { return nil }
        guard let size = file.fileSize, size != length else { return nil }
        return .length(announced: length, received: size)
    }
}

/// Holds the file of a finished download, which URLSession deletes when its callback returns, until the receiver is
/// through with it or nobody will take it any more.
private final class FileKeeper: Sendable {
    private let file = Locked<URL?>(nil)

    deinit {
        delete()
    }

    /// Moves the file to another name beside the old one.
    func keep(_ given: URL) throws -> URL {
        let kept = given.deletingLastPathComponent().appendingPathComponent("lanner-\(UUID().uuidString)")
        try FileManager.default.moveItem(at: given, to: kept)
        file.withLock { $0 = kept }
        return kept
    }

    /// Deletes the file, unless the receiver has moved it away.
    func delete() {
        let kept = file.withLock { $0.take() }
        if let kept { try? FileManager.default.removeItem(at: kept) }
    }
}

extension URL {
    /// How long the file there is, as far as that can be told.
    var fileSize: Int64? { (try? resourceValues(forKeys: [.fileSizeKey]))?.fileSize.map(Int64.init) }
}

#if canImport(Darwin)
extension URLRequest {
    /// Whether it allows the network that an error says was not allowed.
    fileprivate func allows(_ error: any Error) -> Bool {
        switch (error as? URLError)?.networkUnavailableReason {
        case .cellular: allowsCellularAccess
        case .expensive: allowsExpensiveNetworkAccess
        case .constrained: allowsConstrainedNetworkAccess
        default: false
        }
    }
}
#else
/// Linux spells the key otherwise and never uses it.
let NSURLSessionDownloadTaskResumeData = URLSessionDownloadTaskResumeData
#endif
