import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LifeTests {
    @Test func stopsAndStartsOnTheSamePort() throws {
        let server = try LoopbackServer.onQuietPort()
        server.put("/a", .init("a".utf8))
        let port = server.port
        let client = try RawClient(port: port)
        #expect(try client.get("/a").text == "a")
        server.stop()
        server.stop()
        #expect(try client.readToEnd() == ([], .closed))
        #expect(throws: RawClient.Failed.self) { try RawClient(port: port) }
        try server.start()
        try server.start()
        #expect(try RawClient(port: port).get("/a").text == "a")
        #expect(server.requests.count == 2)
    }

    @Test func stopsWhenItGoes() throws {
        var server: LoopbackServer? = try LoopbackServer.onQuietPort()
        let port = try #require(server?.port)
        let client = try RawClient(port: port)
        #expect(try client.get("/").status == 404)
        server = nil
        #expect(try client.readToEnd() == ([], .closed))
        #expect(throws: RawClient.Failed.self) { try RawClient(port: port) }
    }

    @Test func anObserverMayStopIt() throws {
        let server = try LoopbackServer()
        server.onRequest { [weak server] _ in server?.stop() }
        let client = try RawClient(port: server.port)
        try client.ask("/")
        _ = try client.readToEnd()
        server.stop()
        #expect(server.activity.openConnections == 0)
    }

    @Test func saysWhenThePortIsTaken() throws {
        let server = try LoopbackServer()
        #expect { try LoopbackServer(port: server.port) } throws: { error in
            error as? LoopbackServer.Failure == .system(call: "bind", code: EADDRINUSE)
        }
    }

    @Test func leavesNoDescriptors() async throws {
        func serveOnce() throws {
            let server = try LoopbackServer()
            server.put("/a", .init("a".utf8))
            _ = try RawClient(port: server.port).get("/a")
            try server.release()
            server.stop()
        }
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count }
        let before = try count()
        let rounds = 3000
        for _ in 0..<rounds { try serveOnce() }
        // Other tests have theirs at the same time, now and then as many; but they give them back.
        var left = try count()
        for _ in 0..<600 where left >= before + rounds / 2 {
            try await Task.sleep(for: .milliseconds(100))
            left = try count()
        }
        #expect(left < before + rounds / 2)
    }
}

extension LoopbackServer {
    /// A server on a port outside the range that the system takes ports from: given back, it stays free.
    fileprivate static func onQuietPort() throws -> LoopbackServer {
        for _ in 0..<100 {
            if let server = try? LoopbackServer(port: .random(in: 25_000..<32_000)) { return server }
        }
        return try LoopbackServer()
    }
}
