import Dispatch
import Foundation
import LannerCore
import Testing
import TransportSupport

@testable import LannerURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct DownloadExchangeTests {
    private let url = URL(string: "http://a.example/file") ?? URL(fileURLWithPath: "/")

    private func response(_ fields: [String: String] = [:], status: Int = 200) throws -> HTTPURLResponse {
        try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    }

    /// An exchange, and what holds its control queue up.
    private func blocked() -> (DownloadExchange, Recorder, Blocker) {
        let control = SessionControl(relay: SessionRelay(), connectionsPerHost: 1)
        let blocker = Blocker()
        control.begin(blocker)
        let recorder = Recorder()
        let exchange = DownloadExchange(
            URLRequest(url: url), resumeData: nil, control: control, receive: recorder.receive)
        return (exchange, recorder, blocker)
    }

    /// URLSession reports a finished file, and success behind it, before anybody else has a turn.
    private func end(withFileAt file: URL, _ response: HTTPURLResponse) async -> Recorder.Log {
        let (exchange, recorder, blocker) = blocked()
        exchange.took(file: file, response: response)
        exchange.ended(nil, response: response)
        let log = await recorder.end()
        blocker.turnstile.open()
        return log
    }

    @Test func aFileThatCannotBeKeptIsNoSuccess() async throws {
        let nowhere = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        let log = await end(withFileAt: nowhere, try response())
        #expect(log.failure?.fault == .other && !log.isComplete && log.file == nil)
    }

    @Test func aFileOfAnotherLengthIsNoSuccess() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let log = await end(withFileAt: file, try response(["Content-Length": "4"]))
        #expect(log.failure?.fault == .lengthMismatch && !log.isComplete && log.file == nil)
    }

    /// What resume data lead to may be gone, and URLSession says no more than that a file could not be opened.
    @Test(arguments: [
        (true, false, TransportFault.other), (true, true, .diskFull), (false, false, .diskFull),
        (false, true, .diskFull),
    ])
    func aFileThatCannotBeGoneOnWithIsNoFullDisk(isResumed: Bool, isAnswered: Bool, fault: TransportFault) async throws
    {
        let control = SessionControl(relay: SessionRelay(), connectionsPerHost: 1)
        let recorder = Recorder()
        let exchange = DownloadExchange(
            URLRequest(url: url), resumeData: isResumed ? Data([1]) : nil, control: control, receive: recorder.receive)
        if isAnswered { exchange.took(response: try response()) }
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCannotWriteToFile), response: nil)
        #expect(await recorder.end().failure?.fault == fault)
    }

    /// The system tells where it goes on before the answer has come.
    @Test(arguments: [(206, [5, 8]), (200, [8])])
    func whatResumeDataStandForIsToldBehindTheHead(status: Int, progress: [Int64]) async throws {
        let control = SessionControl(relay: SessionRelay(), connectionsPerHost: 1)
        let recorder = Recorder()
        let exchange = DownloadExchange(
            URLRequest(url: url), resumeData: Data([1]), control: control, receive: recorder.receive)
        exchange.took(offset: 5, response: nil)
        exchange.took(written: 8, response: try response(status: status))
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorNetworkConnectionLost), response: nil)
        let log = await recorder.end()
        #expect(log.head?.status == status && log.progress == progress && log.breaches.isEmpty)
        #expect(log.head?.url == url.absoluteString)
    }

    /// It may end by itself while it is being stopped, and then nothing else says so.
    @Test(arguments: [false, true]) func whoIsToldToTheEndHearsOfItThoughItHasStopped(isTold: Bool) async throws {
        let relay = DownloadRelay()
        let control = SessionControl(relay: relay, connectionsPerHost: 1)
        let (steps, teller) = AsyncStream<String>.makeStream()
        let exchange = Stopped(url, isToldToTheEnd: isTold) { teller.yield($0) }
        control.begin(exchange)
        control.stop(exchange)
        var iterator = steps.makeAsyncIterator()
        #expect(await iterator.next() == "stopped")
        let task = try #require(exchange.task.withLock { $0 })
        #expect((relay.exchange(of: task) === exchange) == isTold)
        relay.urlSession(.shared, task: task, didCompleteWithError: nil)
        #expect(relay.exchange(of: task) == nil)
        teller.finish()
        #expect(await iterator.next() == (isTold ? "ended" : nil))
        task.cancel()
        control.invalidate()
    }

    /// Its success is on its way.
    @Test func whatIsStoppedBehindItsFileIsComplete() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        let (exchange, recorder, blocker) = blocked()
        exchange.took(file: file, response: try response(["Content-Length": "3"]))
        exchange.cancel()
        blocker.turnstile.open()
        #expect(await recorder.end().hasFile([1, 2, 3]))
    }

    /// It has all its bytes, and so there are no data to go on with.
    @Test func whatIsStoppedAsItCompletesBringsItsFile() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        let (exchange, recorder, blocker) = blocked()
        defer { blocker.turnstile.open() }
        exchange.cancel()
        exchange.stopped(with: nil)
        let response = try response(["Content-Length": "3"])
        exchange.took(file: file, response: response)
        exchange.ended(nil, response: response)
        #expect(await recorder.end().hasFile([1, 2, 3]))
    }

    /// And so does one whose task has completed, and is about to say so.
    @Test func whatIsStoppedBehindItsCompletionBringsItsFile() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        let (exchange, recorder, blocker) = blocked()
        defer { blocker.turnstile.open() }
        let completed: URLSessionDownloadTask = await withCheckedContinuation { continuation in
            let made = Locked<URLSessionDownloadTask?>(nil)
            let task = URLSession.shared.downloadTask(with: url) { _, _, _ in
                if let task = made.withLock({ $0 }) { continuation.resume(returning: task) }
            }
            made.withLock { $0 = task }
            task.cancel()
        }
        // Linux calls first, and says so then.
        while completed.state != .completed { await Task.yield() }
        exchange.cancel()
        exchange.stop(completed)
        let response = try response(["Content-Length": "3"])
        exchange.took(file: file, response: response)
        exchange.ended(nil, response: response)
        #expect(await recorder.end().hasFile([1, 2, 3]))
    }

    /// As one that has brought nothing.
    @Test func whatHasNoDataAtItsEndEitherIsCanceledWithoutAny() async {
        let (exchange, recorder, blocker) = blocked()
        defer { blocker.turnstile.open() }
        exchange.cancel()
        exchange.stopped(with: nil)
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), response: nil)
        let failure = await recorder.end().failure
        #expect(failure?.fault == .canceled && failure?.resumeData == nil)
    }

    /// The data come with the error, or where they were asked for, or both.
    @Test func whatItsOwnerHasStoppedIsCanceledWithItsData() async throws {
        let (exchange, recorder, blocker) = blocked()
        exchange.cancel()
        let canceled = NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled)
        exchange.ended(canceled, response: nil)
        let data = [NSURLSessionDownloadTaskResumeData: Data([1])]
        exchange.ended(
            NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled, userInfo: data), response: nil)
        let failure = await recorder.end().failure
        #expect(failure?.fault == .canceled && failure?.resumeData == Data([1]))
        blocker.turnstile.open()
    }
}

/// Leaves its task as it is.
private final class Stopped: SessionExchange {
    let host = "a.example:80"
    let isOver = false
    let isToldToTheEnd: Bool
    let task = Locked<URLSessionTask?>(nil)
    private let url: URL
    private let tell: @Sendable (String) -> Void

    init(_ url: URL, isToldToTheEnd: Bool, tell: @escaping @Sendable (String) -> Void) {
        (self.url, self.isToldToTheEnd, self.tell) = (url, isToldToTheEnd, tell)
    }

    func makeTask(in session: URLSession) -> URLSessionTask {
        let new = session.downloadTask(with: url)
        // It is resumed once, and so never runs: nothing but the test ends it.
        new.suspend()
        task.withLock { $0 = new }
        return new
    }

    func stop(_ task: URLSessionTask?) { tell("stopped") }
    func ended(_ error: (any Error)?, response: HTTPURLResponse?) { tell("ended") }
    func took(response: HTTPURLResponse) {}
    func took(data: Data) {}
    func took(offset: Int64, response: HTTPURLResponse?) {}
    func took(written: Int64, response: HTTPURLResponse) {}
    func took(file: URL, response: HTTPURLResponse?) {}
    func answered(by response: HTTPURLResponse?) {}
    func abandon(_ failure: TransportFailure) {}
}

/// Holds the control queue up.
private final class Blocker: SessionExchange {
    let turnstile = Turnstile()
    let host = "a.example:80"

    var isOver: Bool {
        turnstile.pass()
        return true
    }

    let isToldToTheEnd = false

    func makeTask(in session: URLSession) -> URLSessionTask { fatalError("It is over.") }
    func stop(_ task: URLSessionTask?) {}
    func took(response: HTTPURLResponse) {}
    func took(data: Data) {}
    func took(offset: Int64, response: HTTPURLResponse?) {}
    func took(written: Int64, response: HTTPURLResponse) {}
    func took(file: URL, response: HTTPURLResponse?) {}
    func answered(by response: HTTPURLResponse?) {}
    func ended(_ error: (any Error)?, response: HTTPURLResponse?) {}
    func abandon(_ failure: TransportFailure) {}
}
