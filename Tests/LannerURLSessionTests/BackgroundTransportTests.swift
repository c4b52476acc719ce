import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerURLSession

/// The background transport, over a session that ends with the process; the contract tries the rest.
@Suite(.timeLimit(.minutes(10))) struct BackgroundTransportTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("lanner-\(UUID().uuidString)", isDirectory: true)

    private func transport(_ identifier: String, trustsRedirects: Bool = false) -> URLSessionBackgroundTransport {
        URLSessionBackgroundTransport(
            foregroundSession: identifier, directory: directory.appendingPathComponent(identifier),
            trustsRedirects: trustsRedirects)
    }

    private func survivors(_ transport: any Transport) async -> [TransportSurvivor] {
        await withCheckedContinuation { continuation in
            transport.recover { recovery in
                if case .survivors(let survivors) = recovery { continuation.resume(returning: survivors) }
            }
        }
    }

    @Test func aRequestWithPrivateFieldsEndsWithTheProcess() async throws {
        let server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 1, length: 10)))
        server.always("/file", .hold)
        defer { try? FileManager.default.removeItem(at: directory) }
        let url = server.baseURL.appendingPathComponent("file")
        for (trusts, names) in [(false, ["plain"]), (true, ["plain", "private"])] {
            let identifier = UUID().uuidString
            let transport = transport(identifier, trustsRedirects: trusts)
            let fields: HeaderFields = ["Authorization": "Basic YTpi", "Accept-Encoding": "identity"]
            let privately = transport.begin(TransportRequest(url: url, fields: fields, name: "private")) { _ in }
            let plainly = transport.begin(TransportRequest(url: url, name: "plain")) { _ in }
            try await server.waitForStalls(trusts ? 4 : 2)
            transport.invalidate()
            let next = self.transport(identifier)
            #expect(await survivors(next).map(\.name) == names)
            names.forEach(next.discard)
            next.invalidate()
            withExtendedLifetime((privately, plainly)) {}
        }
        try server.release()
    }

    /// Redirects may have led it to where the fields do not go.
    @Test(arguments: [false, true]) func aRequestWithPrivateFieldsTakesUpWhatWasLeft(knowsSurvivors: Bool) async throws
    {
        let server = try LoopbackServer()
        defer { try? FileManager.default.removeItem(at: directory) }
        let identifier = UUID().uuidString
        var request = await finished(server, identifier, "a-1-1", status: 200)
        var address = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
        (address.user, address.password) = ("ann", "secret")
        let other = TransportRequest(url: try #require(address.url), name: "a-1-1")
        request.fields = ["Authorization": "Basic YTpi"]
        let next = transport(identifier)
        if knowsSurvivors { _ = await survivors(next) }
        for request in [request, other] {
            let log = await log(of: request, over: next)
            #expect(log.isComplete && log.head?.status == 200 && server.requests.count == 1)
        }
        next.discard("a-1-1")
        // The same with nothing left.
        #expect(await log(of: request, over: next).isComplete && server.requests.count == 2)
        #expect(await log(of: other, over: next).failure?.fault == .unacceptableRequest)
        next.invalidate()
    }

    @Test func aRequestWithPrivateFieldsIsCanceledBeforeAnythingIsKnown() async throws {
        let server = try LoopbackServer()
        server.always("/file", .hold)
        defer { try? FileManager.default.removeItem(at: directory) }
        let transport = transport(UUID().uuidString)
        let recorder = Recorder()
        let url = server.baseURL.appendingPathComponent("file")
        let request = TransportRequest(url: url, fields: ["Authorization": "Basic YTpi"], name: "private")
        let exchange = transport.begin(request, receive: recorder.receive)
        #expect(!exchange.outlivesProcess)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
        transport.invalidate()
    }

    @Test func identifiersDoNotShareWhatSurvives() async throws {
        let server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 1, length: 10)))
        server.always("/file", .hold)
        defer { try? FileManager.default.removeItem(at: directory) }
        let identifiers = [UUID().uuidString, UUID().uuidString]
        for (identifier, name) in zip(identifiers, ["a-1-1", "b-1-1"]) {
            let transport = transport(identifier)
            let url = server.baseURL.appendingPathComponent("file")
            let request = TransportRequest(url: url, timeout: .seconds(3600), name: name)
            let exchange = transport.begin(request) { _ in }
            try await server.waitForStalls(name == "a-1-1" ? 1 : 2)
            transport.invalidate()
            exchange.cancel()
        }
        for (identifier, name) in zip(identifiers, ["a-1-1", "b-1-1"]) {
            let transport = transport(identifier)
            #expect(await survivors(transport) == [TransportSurvivor(name, .running)])
            transport.discard(name)
            transport.invalidate()
        }
        try server.release()
    }

    @Test func outcomesAreRemembered() throws {
        let shelf = OutcomeShelf(directory: directory)
        defer { try? FileManager.default.removeItem(at: directory) }
        let head = ResponseHead(status: 200, fields: ["ETag": "\"a\"", "Set-Cookie": "b"], url: "https://a.example/b")
        let whole = OutcomeShelf.Outcome(head: head, received: 3, size: 3)
        let failure = TransportFailure(.canceled, "By hand.", resumeData: Data([1, 2]))
        let broken = OutcomeShelf.Outcome(head: nil, received: 0, failure: .init(failure))
        shelf.keep(whole, "a-1-1")
        shelf.keep(broken, "a-1-2")
        let body = directory.appendingPathComponent("body")
        try Data([1, 2, 3]).write(to: body)
        try shelf.keep(body, "a-1-1")
        try Data().write(to: directory.appendingPathComponent("a-1-1.body.old"))
        func outcomes() throws -> [String: OutcomeShelf.Outcome] {
            try shelf.names().reduce(into: [:]) { $0[$1] = try shelf.outcome($1) }
        }
        #expect(try outcomes() == ["a-1-1": whole, "a-1-2": broken])
        #expect(try outcomes()["a-1-1"]?.head?.url == "https://a.example/b")
        #expect(try outcomes()["a-1-2"]?.failure?.failure.resumeData == Data([1, 2]))
        #expect(shelf.hasFile("a-1-1") && !shelf.hasFile("a-1-2"))
        try Data("garbage".utf8).write(to: directory.appendingPathComponent("a-1-3.outcome"))
        try Data("{}".utf8).write(to: directory.appendingPathComponent("a-1-4.outcome"))
        #expect(try outcomes().count == 2, "what cannot be read is left out")
        #expect(shelf.names() == ["a-1-1", "a-1-2", "a-1-3", "a-1-4"], "and nothing that has another name")
        shelf.remove("a-1-1")
        #expect(try outcomes() == ["a-1-2": broken] && !shelf.hasFile("a-1-1"))
    }

    /// As one may be after a death between the callback and its end.
    @Test func aBodyThatIsToldOfTwiceIsKept() throws {
        let shelf = OutcomeShelf(directory: directory)
        defer { try? FileManager.default.removeItem(at: directory) }
        let body = directory.appendingPathComponent("body")
        #expect(throws: NSError.self) { try shelf.keep(body, "a-1-1") }
        try Data([1, 2]).write(to: body)
        try shelf.keep(body, "a-1-1")
        try shelf.keep(body, "a-1-1")
        #expect(try Data(contentsOf: shelf.file("a-1-1")) == Data([1, 2]))
        try Data([3]).write(to: body)
        try shelf.keep(body, "a-1-1")
        #expect(try Data(contentsOf: shelf.file("a-1-1")) == Data([3]))
    }

    private func log(of request: TransportRequest, over transport: any Transport) async -> Recorder.Log {
        let recorder = Recorder()
        let exchange = transport.begin(request, receive: recorder.receive)
        defer { withExtendedLifetime(exchange) {} }
        return await recorder.end()
    }

    private func finished(
        _ server: LoopbackServer, _ identifier: String, _ name: String, status: Int
    ) async -> TransportRequest {
        server.put("/file", LoopbackServer.Resource(.generated(seed: 1, length: 1000), framing: .chunked))
        if status != 200 { server.always("/file", .status(status, body: [1, 2, 3])) }
        let request = TransportRequest(url: server.baseURL.appendingPathComponent("file"), name: name)
        let transport = transport(identifier)
        #expect(await log(of: request, over: transport).isComplete)
        transport.invalidate()
        return request
    }

    /// As the system deletes caches while nobody runs, or the death of the machine leaves a file that nobody has synced.
    @Test(arguments: [200, 203], [false, true]) func aFileThatIsGoneIsNoOtherFile(status: Int, isCut: Bool) async throws
    {
        let identifier = UUID().uuidString
        defer { try? FileManager.default.removeItem(at: directory) }
        let request = await finished(try LoopbackServer(), identifier, "a-1-1", status: status)
        let shelf = OutcomeShelf(directory: directory.appendingPathComponent(identifier))
        if isCut {
            try Data([1, 2]).write(to: shelf.file("a-1-1"))
        } else {
            try FileManager.default.removeItem(at: shelf.file("a-1-1"))
        }
        let next = transport(identifier)
        let log = await log(of: request, over: next)
        #expect(log.failure?.fault == .other && log.file == nil && !log.isComplete)
        next.discard("a-1-1")
        next.invalidate()
    }

    /// As a death between the two leaves it, or a disk that is full.
    @Test func aFileWithoutAnOutcomeIsDeleted() async throws {
        let identifier = UUID().uuidString
        defer { try? FileManager.default.removeItem(at: directory) }
        let shelf = OutcomeShelf(directory: directory.appendingPathComponent(identifier))
        func put(_ name: String) throws {
            let body = directory.appendingPathComponent("body")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data([1]).write(to: body)
            try shelf.keep(body, name)
        }
        try put("a-1-1")
        let transport = transport(identifier)
        #expect(await survivors(transport) == [])
        #expect(!shelf.hasFile("a-1-1"))
        try put("a-1-2")
        transport.discard("a-1-2")
        #expect(await survivors(transport) == [])
        #expect(!shelf.hasFile("a-1-2"))
        transport.invalidate()
    }

    @Test(arguments: ["", "../a", "a/b", "a.b", "ä", String(repeating: "a", count: 201)])
    func namesThatAreNoFilesAreRefused(name: String) {
        #expect(!OutcomeShelf.isName(name))
    }

    @Test func aFenceComesBehindWhatWasPosted() async {
        let events = Locked<[String]>([])
        let mailbox = Mailbox { event in
            if case .progress(let count) = event { events.withLock { $0.append("\(count)") } }
        }
        for round in 0..<100 {
            events.withLock { $0 = [] }
            for count in 0..<5 { mailbox.post(.progress(Int64(count))) }
            await withCheckedContinuation { continuation in mailbox.fence { continuation.resume() } }
            #expect(events.withLock { $0 } == ["0", "1", "2", "3", "4"], "round \(round)")
        }
    }
}
