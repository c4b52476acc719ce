import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RecordTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.put("/a", .init([UInt8](repeating: 1, count: 1000)))
        server.put("/b", .init([UInt8](repeating: 2, count: 500)))
    }

    @Test func recordsWhatWasAskedAndSent() async throws {
        let client = try RawClient(port: server.port)
        _ = try client.get("/a?q=1", ["X-Test:  one ", "x-test: two", "Range: bytes=0-9"])
        _ = try RawClient(port: server.port).get("/b")
        let activity = try await server.wait { $0.requests.count == 2 && $0.requests.allSatisfy(\.isFinished) }
        let request = activity.requests[0]
        #expect(request.number == 1)
        #expect(request.connection == 1)
        #expect(request.method == "GET")
        #expect(request.target == "/a?q=1")
        #expect(request.path == "/a")
        #expect(request.fields["RANGE"] == "bytes=0-9")
        #expect(request.fields.values(of: "X-Test") == ["one", "two"])
        #expect(request.status == 206)
        #expect(request.bodyBytesSent == 10)
        #expect(activity.requests[1].connection == 2)
        #expect(server.bytesSent("a") == 10)
        #expect(server.bytesSent == 510)
        #expect(server.requests("b").map(\.number) == [2])
    }

    @Test func forgetsRequestsButNotBytes() throws {
        let client = try RawClient(port: server.port)
        _ = try client.get("/a")
        server.forgetRequests()
        #expect(server.requests.isEmpty)
        #expect(server.bytesSent("/a") == 1000)
        _ = try client.get("/b")
        #expect(server.requests.map(\.number) == [2])
        #expect(server.requests[0].bodyBytesSent == 500)
    }

    @Test func countsOnlyWhatTheKernelTook() async throws {
        server.put("/huge", .init(.generated(seed: 1, length: 1 << 40)))
        var client: RawClient? = try RawClient(port: server.port)
        try client?.ask("/huge")
        _ = try client?.readHead()
        client = nil
        let activity = try await server.wait { $0.openConnections == 0 }
        #expect(activity.requests[0].isFinished)
        #expect(activity.bytesSent("/huge") == activity.requests[0].bodyBytesSent)
        #expect(activity.bytesSent("/huge") < 1 << 30)
    }

    @Test func waitsForRequests() async throws {
        async let waited = server.waitForRequests(2, path: "/b")
        let client = try RawClient(port: server.port)
        for path in ["/a", "/b", "/a", "/b"] { _ = try client.get(path) }
        #expect(try await waited.map(\.path) == ["/b", "/b"])
        #expect(try await server.waitForRequests(4).count == 4)
    }

    @Test func aCanceledWaitEnds() async throws {
        let server = server
        let waiting = Task { try await server.waitForRequests(1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func aWaitEndsWithTheServer() async throws {
        let server = server
        let waiting = Task { try await server.waitForRequests(1) }
        server.stop()
        await #expect(throws: LoopbackServer.Failure.stopped) { try await waiting.value }
        // What has happened is still found.
        #expect(try await server.waitForRequests(0).isEmpty)
    }

    @Test func theObserverDecidesBeforeTheAnswer() throws {
        server.onRequest { [weak server] request in
            guard request.number == 2 else { return }
            server?.put("/a", .init("changed".utf8))
            server?.script("/a", [.fields(["X-Observer": "yes"])])
        }
        let client = try RawClient(port: server.port)
        #expect(try client.get("/a").body.count == 1000)
        let second = try client.get("/a")
        #expect(second.text == "changed")
        #expect(second["X-Observer"] == "yes")
        server.onRequest(nil)
        #expect(try client.get("/a")["X-Observer"] == nil)
    }
}
