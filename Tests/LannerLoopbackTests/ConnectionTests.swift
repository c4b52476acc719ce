import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 3, length: 700_001))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
        server.put("/chunks", .init(file.body, framing: .chunked))
        server.put("/close", .init(file.body, framing: .close))
    }

    @Test func keepsAConnectionAlive() throws {
        let client = try RawClient(port: server.port)
        for _ in 0..<3 {
            let answer = try client.get("/file")
            #expect(answer["Connection"] == "keep-alive")
            #expect(answer.body == file.bytes)
        }
        #expect(server.requests.map(\.connection) == [1, 1, 1])
    }

    @Test func answersPipelinedRequestsInOrder() throws {
        let client = try RawClient(port: server.port)
        let starts: [Int64] = (0..<50).map { $0 * 10 }
        let ranges = starts.map { $0..<$0 + 7 }
        // An empty line before a request is skipped; lines may end with LF alone.
        let requests = ranges.map { range in
            "\r\nGET /file HTTP/1.1\nHost: h\nRange: bytes=\(range.lowerBound)-\(range.upperBound - 1)\n\n"
        }
        try client.send(requests.joined())
        for range in ranges { #expect(try client.readAnswer().body == file.bytes(in: range)) }
    }

    @Test func readsARequestThatArrivesByteByByte() throws {
        let client = try RawClient(port: server.port)
        for character in "GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-0\r\n\r\n" {
            // "\r\n" is one character.
            for byte in String(character).unicodeScalars { try client.send(String(byte)) }
        }
        #expect(try client.readAnswer().status == 206)
    }

    @Test(arguments: ["close", "Close", "x, close"])
    func closesWhenAsked(_ option: String) throws {
        let client = try RawClient(port: server.port)
        try client.ask("/file", ["Connection: \(option)", "Range: bytes=0-1"])
        let answer = try client.readAnswer()
        #expect(answer["Connection"] == "close")
        #expect(answer.body.count == 2)
        #expect(try client.readToEnd() == ([], .closed))
    }

    @Test func closesAfterARequestOfHTTP10() throws {
        let client = try RawClient(port: server.port)
        try client.send("GET /chunks HTTP/1.0\r\n\r\n")
        let answer = try client.readAnswer()
        // No chunks for those who do not know them.
        #expect(answer["Transfer-Encoding"] == nil)
        #expect(answer["Content-Length"] == nil)
        #expect(answer.body == file.bytes)
    }

    @Test func sendsChunks() throws {
        let client = try RawClient(port: server.port)
        let answer = try client.get("/chunks")
        #expect(answer["Content-Length"] == nil)
        #expect(answer.end == nil)
        #expect(answer.body == file.bytes)
        #expect(try client.get("/chunks", ["Range: bytes=10-19"]).body == file.bytes(in: 10..<20))
    }

    @Test func marksTheEndByClosing() throws {
        let client = try RawClient(port: server.port)
        try client.ask("/close", method: "HEAD")
        #expect(try client.readAnswer(toHead: true)["Connection"] == "keep-alive")
        let answer = try client.get("/close")
        #expect(answer["Content-Length"] == nil)
        #expect(answer["Connection"] == "close")
        #expect(answer.body == file.bytes)
    }

    @Test func servesManyConnectionsAtOnce() async throws {
        let port = server.port
        let (path, expected) = ("/file", file.bytes)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask { try RawClient(port: port).get(path).body == expected }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(server.activity.connections == 40)
        try await server.wait { $0.openConnections == 0 }
    }

    @Test func takesNoMoreConnectionsThanItsLimit() async throws {
        let small = try LoopbackServer(maximumConnections: 2)
        small.put("/file", file)
        let (first, second) = try (RawClient(port: small.port), RawClient(port: small.port))
        #expect(try first.get("/file").status == 200)
        #expect(try second.get("/file").status == 200)
        let third = try RawClient(port: small.port)
        try third.ask("/file")
        #expect(small.activity.connections == 2)
        first.finishSending()
        #expect(try third.readAnswer().body == file.bytes)
        #expect(small.activity.connections == 3)
    }
}
