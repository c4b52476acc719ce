import Dispatch
import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct BackgroundExchangeTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("lanner-\(UUID().uuidString)", isDirectory: true)

    private func exchange(_ name: String) -> BackgroundExchange {
        BackgroundExchange(name, OutcomeShelf(directory: directory))
    }

    private func attend(_ exchange: BackgroundExchange, _ recorder: Recorder) {
        exchange.take(Attendance(receive: recorder.receive) { _ in })
    }

    /// Comes again and again as long as it runs, though not for ever.
    private func keepAttending(_ exchange: BackgroundExchange) -> [Recorder] {
        var recorders: [Recorder] = []
        while recorders.count < 64, exchange.progress == .running {
            let recorder = Recorder()
            attend(exchange, recorder)
            recorders.append(recorder)
        }
        return recorders
    }

    /// Ends an exchange while somebody comes; returns who came before the end.
    private func race(_ exchange: BackgroundExchange, _ finished: FinishedTask) -> [Recorder] {
        let recorders = Locked<[Recorder]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { turn in
            if turn == 1 { return finished.end(exchange) }
            let came = keepAttending(exchange)
            recorders.withLock { $0 = came }
        }
        return recorders.withLock { $0 }
    }

    @Test func whoComesJustAtTheEndFindsTheFile() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        for round in 0..<300 {
            let exchange = exchange("a-1-\(round)")
            let earlier = try race(exchange, FinishedTask(in: directory))
            let last = Recorder()
            attend(exchange, last)
            #expect(await last.end().hasFile(FinishedTask.bytes), "round \(round)")
            for recorder in earlier {
                let log = await recorder.end()
                // All but one had to make way for the next.
                let isRight = log.isComplete ? log.hasFile(FinishedTask.bytes) : log.failure?.fault == .unavailable
                #expect(isRight, "round \(round): \(String(describing: log.failure))")
            }
        }
    }

    /// The system tells where it goes on before the answer has come.
    @Test(arguments: [(206, [5, 8]), (200, [8])])
    func whatResumeDataStandForIsToldBehindTheHead(status: Int, progress: [Int64]) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        let url = try #require(URL(string: "http://b.example/led"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: [:]))
        exchange.took(offset: 5, response: nil)
        exchange.took(written: 8, response: response)
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorNetworkConnectionLost), response: response)
        let log = await recorder.end()
        #expect(log.head?.status == status && log.progress == progress && log.breaches.isEmpty)
        #expect(log.head?.url == url.absoluteString, "the system may have been led there")
    }

    /// A task that has come to its end, of which the session is yet to tell.
    private func completedTask() async throws -> URLSessionDownloadTask {
        let server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 1, length: 3)))
        let session = URLSession(configuration: .quiet(connectionsPerHost: 1))
        defer { session.finishTasksAndInvalidate() }
        let (ends, teller) = AsyncStream<Void>.makeStream()
        let task = session.downloadTask(with: server.url("/file")) { _, _, _ in teller.finish() }
        task.resume()
        for await _ in ends {}
        try #require(task.state == .completed)
        return task
    }

    @Test func whatIsCanceledAsItCompletesBringsItsFile() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        exchange.own(try await completedTask())
        let recorder = Recorder()
        let attendance = Attendance(receive: recorder.receive) { _ in }
        exchange.take(attendance)
        exchange.cancel(attendance)
        #expect(exchange.progress == .running)
        try FinishedTask(in: directory).end(exchange)
        #expect(await recorder.end().hasFile(FinishedTask.bytes))
    }

    /// The system asks again where a connection breaks, and a server may have another file by then; a part is one of the same.
    @Test(arguments: [
        (200, ["ETag": "\"a\""], true), (200, ["ETag": "\"b\""], false), (200, [:], false),
        (206, ["Content-Range": "bytes 1-2/3"], true),
    ])
    func aFileOfAnotherAnswerThanWasToldIsNoSuccess(status: Int, fields: [String: String], isTaken: Bool) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        let url = try #require(URL(string: "http://a.example/file"))
        let first = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["ETag": "\"a\""])
        exchange.took(written: 1, response: try #require(first))
        try FinishedTask(in: directory, status: status, fields).end(exchange)
        let log = await recorder.end()
        #expect(log.isComplete == isTaken && log.hasFile(FinishedTask.bytes) == isTaken)
        #expect(log.failure?.fault == (isTaken ? nil : .other))
    }

    /// An earlier process may have begun it with resume data.
    @Test func aFileThatCannotBeGoneOnWithIsNoFullDisk() async {
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCannotOpenFile), response: nil)
        #expect(await recorder.end().failure?.fault == .other)
    }

    /// It has all its bytes, and so there are no data to go on with.
    @Test func whatIsStoppedAsItCompletesBringsItsFile() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        exchange.stopped(with: nil)
        try FinishedTask(in: directory).end(exchange)
        #expect(await recorder.end().hasFile(FinishedTask.bytes))
    }

    /// The end and where the data were asked for tell the same, in whatever order.
    @Test func whatIsCanceledBeforeItHasBroughtAnythingHasNoData() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let url = try #require(URL(string: "http://a.example/file"))
        exchange.own(URLSession(configuration: .quiet(connectionsPerHost: 1)).downloadTask(with: url))
        let recorder = Recorder()
        let attendance = Attendance(receive: recorder.receive) { _ in }
        exchange.take(attendance)
        exchange.cancel(attendance)
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), response: nil)
        let failure = await recorder.end().failure
        #expect(failure?.fault == .canceled && failure?.resumeData == nil)
    }

    @Test func whatHasNoDataAtItsEndEitherIsCanceledWithoutAny() async {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        exchange.stopped(with: nil)
        #expect(exchange.progress == .running)
        exchange.stopped(with: nil)
        let failure = await recorder.end().failure
        #expect(failure?.fault == .canceled && failure?.resumeData == nil && exchange.progress == .interrupted)
    }

    /// A user who closes the app wants no more of it; that the system lacks something is no such thing.
    @Test(arguments: [
        (nil, TransportFault.canceled), (NSURLErrorCancelledReasonUserForceQuitApplication, .canceled),
        (NSURLErrorCancelledReasonBackgroundUpdatesDisabled, .connectionLost),
        (NSURLErrorCancelledReasonInsufficientSystemResources, .connectionLost),
    ])
    func whatTheSystemCancelsForLackOfSomethingIsTriedAgain(reason: Int?, fault: TransportFault) async {
        defer { try? FileManager.default.removeItem(at: directory) }
        let exchange = exchange("a-1-1")
        let recorder = Recorder()
        attend(exchange, recorder)
        var info: [String: Any] = [NSURLSessionDownloadTaskResumeData: Data([1])]
        info[NSURLErrorBackgroundTaskCancelledReasonKey] = reason
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled, userInfo: info), response: nil)
        let failure = await recorder.end().failure
        #expect(failure?.fault == fault && failure?.resumeData == Data([1]))
        #expect(exchange.progress == (fault == .canceled ? .interrupted : .ended))
    }

    @Test func aFenceComesBehindTheFileThatWasToldLast() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let gate = Turnstile()
        defer { gate.open() }
        let hasReturned = Locked(false)
        let recorder = Recorder { event in
            guard case .file = event else { return }
            gate.pass()
            hasReturned.withLock { $0 = true }
        }
        let exchange = exchange("a-1-1")
        attend(exchange, recorder)
        try FinishedTask(in: directory).end(exchange)
        let isBehind: Bool = await withCheckedContinuation { continuation in
            exchange.fence { continuation.resume(returning: hasReturned.withLock { $0 }) }
            // A fence that does not wait has run by now.
            gate.open()
        }
        #expect(isBehind)
        #expect(await recorder.end().hasFile(FinishedTask.bytes))
    }
}

/// What URLSession has of a download task that is done.
struct FinishedTask {
    static let bytes: [UInt8] = [1, 2, 3]

    private let file: URL
    private let response: HTTPURLResponse

    init(in directory: URL, status: Int = 200, _ fields: [String: String] = [:]) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        file = directory.appendingPathComponent("task-\(UUID().uuidString)")
        try Data(Self.bytes).write(to: file)
        let url = try #require(URL(string: "http://a.example/file"))
        response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    }

    /// Hands it over, and says that this is the end.
    func end(_ exchange: BackgroundExchange) {
        exchange.took(file: file, response: response)
        exchange.ended(nil, response: response)
    }
}
