import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FaultTests {
    typealias Step = LoopbackServer.Step

    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 5, length: 600_000), entityTag: .strong("a"))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    private func client(_ steps: Step...) throws -> RawClient {
        server.script("/file", steps)
        return try RawClient(port: server.port)
    }

    @Test func stepsAreUsedUpOneByOneAndThenTheStandingOne() throws {
        let client = try client(.status(503, ["Retry-After": "7"], body: Array("later".utf8)), .pass)
        let first = try client.get("/file")
        #expect(first.status == 503)
        #expect(first["Retry-After"] == "7")
        #expect(first.text == "later")
        #expect(try client.get("/file").status == 200)
        server.always("/file", .status(500))
        #expect(try client.get("/file").status == 500)
        #expect(try client.get("/file").status == 500)
        server.script("/file", [.status(404)])
        #expect(try client.get("/file").status == 404)
        server.always("/file", nil)
        #expect(try client.get("/file").status == 200)
        server.script("/file", [.status(404)])
        server.clearScript("/file")
        #expect(try client.get("/file").status == 200)
    }

    @Test func headUsesUpAStepAndIsNotCut() throws {
        let client = try client(.cut(afterBytes: 0), .truncatedBody(claiming: 3))
        for length in ["600000", "3"] {
            try client.ask("/file", method: "HEAD")
            #expect(try client.readAnswer(toHead: true)["Content-Length"] == length)
        }
        #expect(try client.get("/file").body.count == 600_000)
    }

    @Test(arguments: [0, 1, 300_000, 599_999] as [Int64])
    func cuts(_ count: Int64) throws {
        let client = try client(.cut(afterBytes: count))
        let answer = try client.get("/file")
        #expect(answer["Content-Length"] == "600000")
        #expect(answer.end == .closed)
        #expect(answer.body == file.bytes(in: 0..<count))
        #expect(server.bytesSent("/file") == count)
    }

    @Test func cutsChunksAndRanges() throws {
        server.put("/chunks", .init(file.body, framing: .chunked))
        server.script("/chunks", [.cut(afterBytes: 300_000)])
        let chunks = try RawClient(port: server.port).get("/chunks")
        #expect(chunks.end == .closed)
        #expect(chunks.body == file.bytes(in: 0..<300_000))
        let part = try client(.cut(afterBytes: 5)).get("/file", ["Range: bytes=100-199"])
        #expect(part.status == 206)
        #expect(part.body == file.bytes(in: 100..<105))
    }

    @Test func resets() throws {
        let client = try client(.reset(afterBytes: 10))
        try client.ask("/file")
        let (bytes, end) = try client.readToEnd()
        #expect(end == .reset)
        #expect(bytes.count < 1000, "the header, and no more than ten")
        #expect(server.bytesSent("/file") == 10)
        let second = try self.client(.resetAtOnce)
        try second.ask("/file")
        #expect(try second.readToEnd() == ([], .reset))
    }

    @Test func closesInTheHeader() throws {
        let client = try client(.closeInHeader)
        try client.ask("/file")
        let (bytes, end) = try client.readToEnd()
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(end == .closed)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(!text.contains("\r\n\r\n"))
    }

    @Test func sendsRawBytes() throws {
        let client = try client(.raw(Array("nonsense".utf8)), .raw([]))
        try client.ask("/file")
        #expect(try client.readToEnd() == (Array("nonsense".utf8), .closed))
        let second = try RawClient(port: server.port)
        try second.ask("/file")
        #expect(try second.readToEnd() == ([], .closed))
    }

    @Test func redirects() throws {
        let answer = try client(.redirect(to: "/other?x", status: 308)).get("/file")
        #expect(answer.status == 308)
        #expect(answer["Location"] == "/other?x")
    }

    @Test func changesToAnotherResourceForGood() throws {
        let client = try client(.pass, .changeTo(.init("new".utf8, entityTag: .strong("b"))))
        #expect(try client.get("/file").body == file.bytes)
        #expect(try client.get("/file", ["Range: bytes=1-", "If-Range: \"a\""]).text == "new")
        #expect(try client.get("/file")["ETag"] == "\"b\"")
    }

    @Test func changesFields() throws {
        let answer = try client(.fields(["etag": "\"other\""])).get("/file", ["Range: bytes=1-2"])
        #expect(answer.status == 206)
        #expect(answer.fields.count { $0.name.lowercased() == "etag" } == 1)
        #expect(answer["ETag"] == "\"other\"")
    }

    @Test func claimsAnotherLength() throws {
        let longer = try client(.truncatedBody(claiming: 600_001)).get("/file")
        #expect(longer["Content-Length"] == "600001")
        #expect(longer.end == .closed)
        #expect(longer.body == file.bytes)
    }

    @Test func corruptsOneByte() throws {
        let client = try client(.corrupt(at: 1000), .corrupt(at: 1000), .corrupt(at: 1000))
        var expected = file.bytes
        expected[1000] = ~expected[1000]
        #expect(try client.get("/file").body == expected)
        #expect(try client.get("/file", ["Range: bytes=999-1001"]).body == Array(expected[999...1001]))
        #expect(try client.get("/file", ["Range: bytes=1001-"]).body == file.bytes(in: 1001..<600_000))
    }
}
