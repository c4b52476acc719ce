import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StallTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 9, length: 50_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    @Test(arguments: [0, 10, 49_999] as [Int64])
    func stallsUntilTheRelease(_ count: Int64) async throws {
        server.script("/file", [.stall(afterBytes: count)])
        let client = try RawClient(port: server.port)
        try client.ask("/file")
        let head = try client.readHead()
        #expect(head.status == 200)
        #expect(try client.read(Int(count)) == file.bytes(in: 0..<count))
        try await server.waitForStalls(1)
        #expect(server.bytesSent("/file") == count)
        #expect(server.requests[0].isFinished == false)
        try server.release()
        #expect(try client.read(50_000 - Int(count)) == file.bytes(in: count..<50_000))
    }

    @Test func holdsTheWholeAnswer() async throws {
        server.script("/file", [.hold, .hold])
        let client = try RawClient(port: server.port)
        try client.ask("/file")
        try client.ask("/file")
        try await server.waitForStalls(1)
        #expect(server.requests[0].status == nil)
        try server.release()
        #expect(try client.readAnswer().body == file.bytes)
        // The second was not held when the first was released.
        try await server.waitForStalls(2)
        try server.release()
        #expect(try client.readAnswer().body == file.bytes)
    }

    @Test func aStallEndsWhenTheClientCloses() async throws {
        server.always("/file", .stall(afterBytes: 10))
        var client: RawClient? = try RawClient(port: server.port)
        try client?.ask("/file")
        try await server.waitForStalls(1)
        client = nil
        let activity = try await server.wait { $0.openConnections == 0 }
        #expect(activity.requests[0].bodyBytesSent == 10)
        #expect(activity.requests[0].isFinished)
    }

    @Test func aStallEndsWithTheServer() async throws {
        server.always("/file", .stall(afterBytes: 10))
        let client = try RawClient(port: server.port)
        try client.ask("/file")
        try await server.waitForStalls(1)
        server.stop()
        #expect(try client.readAnswer().end != nil)
    }

    @Test func aTrickleSendsItAll() throws {
        server.script("/file", [.trickle(bytesPerSecond: 500_000)])
        let client = try RawClient(port: server.port)
        #expect(try client.get("/file").body == file.bytes)
    }

    @Test func aTrickleEndsWithTheServer() async throws {
        server.always("/file", .trickle(bytesPerSecond: 1))
        let client = try RawClient(port: server.port)
        try client.ask("/file")
        try await server.waitForBytes(1, path: "/file")
        server.stop()
        #expect(server.bytesSent("/file") < 50_000)
    }

    @Test func theRateOfTheServerIsLiftedInTheMiddle() async throws {
        server.bytesPerSecond = 20
        let client = try RawClient(port: server.port)
        try client.ask("/file")
        try await server.waitForBytes(2, path: "/file")
        server.bytesPerSecond = nil
        #expect(try client.readAnswer().body == file.bytes)
    }
}
