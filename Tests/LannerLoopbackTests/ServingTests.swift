import Foundation
import LannerLoopback
import Testing

@Suite struct ServingTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 7, length: 100_000), entityTag: .strong("a"))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    @Test func servesAWholeResource() throws {
        let answer = try RawClient(port: server.port).get("/file")
        #expect(answer.status == 200)
        #expect(answer["Content-Length"] == "100000")
        #expect(answer["ETag"] == "\"a\"")
        #expect(answer["Accept-Ranges"] == "bytes")
        #expect(answer["Date"] != nil)
        #expect(answer["Last-Modified"] == nil)
        #expect(answer.body == file.bytes)
    }

    @Test func answersAnUnknownPathWith404() throws {
        server.remove("file")
        #expect(try RawClient(port: server.port).get("/file").status == 404)
    }

    @Test func headHasNoBody() throws {
        let client = try RawClient(port: server.port)
        try client.ask("/file", method: "HEAD")
        let head = try client.readAnswer(toHead: true)
        #expect(head.status == 200)
        #expect(head["Content-Length"] == "100000")
        // The next answer starts where the body would have been.
        #expect(try client.get("/file").status == 200)
    }

    @Test(
        arguments: [
            ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=99990-", 99_990..<100_000),
            ("bytes=-5", 99_995..<100_000),
            ("bytes=-100001", 0..<100_000), ("bytes=5-9223372036854775807", 5..<100_000),
            ("bytes=5-99999999999999999999999", 5..<100_000), ("BYTES=1-2", 1..<3),
        ] as [(String, Range<Int64>)])
    func servesRanges(_ field: String, _ range: Range<Int64>) throws {
        let answer = try RawClient(port: server.port).get("/file", ["Range: \(field)"])
        #expect(answer.status == 206)
        #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/100000")
        #expect(answer["Content-Length"] == String(range.count))
        #expect(answer.body == file.bytes(in: range))
    }

    @Test(arguments: ["bytes=100000-", "bytes=100000-100001", "bytes=-0", "bytes=9223372036854775807-"])
    func refusesRangesItDoesNotHave(_ field: String) throws {
        let answer = try RawClient(port: server.port).get("/file", ["Range: \(field)"])
        #expect(answer.status == 416)
        #expect(answer["Content-Range"] == "bytes */100000")
    }
}
