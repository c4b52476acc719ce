import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RangeTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 7, length: 100_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    @Test(
        arguments: [
            ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=99990-", 99_990..<100_000),
            ("bytes=-5", 99_995..<100_000), ("bytes=-100001", 0..<100_000), ("BYTES= 1-2 ", 1..<3),
            ("bytes=5-9223372036854775807", 5..<100_000), ("bytes=5-99999999999999999999999", 5..<100_000),
        ] as [(String, Range<Int64>)])
    func servesOneRange(_ field: String, _ range: Range<Int64>) throws {
        let answer = try RawClient(port: server.port).get("/file", ["Range: \(field)"])
        #expect(answer.status == 206)
        #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/100000")
        #expect(answer["Content-Length"] == String(range.count))
        #expect(answer.body == file.bytes(in: range))
    }

    @Test(
        arguments: [
            "bytes=100000-", "bytes=100000-100001", "bytes=-0", "bytes=9223372036854775807-",
            "bytes=99999999999999999999-",
        ])
    func refusesARangeItDoesNotHave(_ field: String) throws {
        let answer = try RawClient(port: server.port).get("/file", ["Range: \(field)"])
        #expect(answer.status == 416)
        #expect(answer["Content-Range"] == "bytes */100000")
    }

    @Test(
        arguments: [
            "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=+1-2", "bytes=0-1,3-4", "items=0-1",
            "bytes=1-x", "bytes=x-1", "bytes=1", "bytes=--1",
        ])
    func ignoresWhatIsNotOneRange(_ field: String) throws {
        let answer = try RawClient(port: server.port).get("/file", ["Range: \(field)"])
        #expect(answer.status == 200)
        #expect(answer.body.count == 100_000)
    }

    @Test func ignoresRangesWhereTheResourceHasNone() throws {
        server.put("/file", .init(file.body, acceptsRanges: false))
        let answer = try RawClient(port: server.port).get("/file", ["Range: bytes=0-1"])
        #expect(answer.status == 200)
        #expect(answer["Accept-Ranges"] == "none")
    }

    @Test func servesFarIntoAHugeResource() throws {
        let huge = LoopbackServer.Resource(.generated(seed: 1, length: 1 << 50))
        server.put("/huge", huge)
        let start: Int64 = 1 << 49 | 3
        let answer = try RawClient(port: server.port).get("/huge", ["Range: bytes=\(start)-\(start + 99)"])
        #expect(answer.body == huge.bytes(in: start..<start + 100))
        #expect(answer["Content-Range"] == "bytes \(start)-\(start + 99)/\(Int64(1) << 50)")
    }
}
