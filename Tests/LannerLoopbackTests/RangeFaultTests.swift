import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RangeFaultTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 5, length: 1000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    private func part(_ step: LoopbackServer.Step) throws -> RawClient.Answer {
        server.script("/file", [step])
        return try RawClient(port: server.port).get("/file", ["Range: bytes=100-199"])
    }

    @Test func ignoresTheRange() throws {
        let answer = try part(.ignoreRange)
        #expect(answer.status == 200)
        #expect(answer.body == file.bytes)
    }

    @Test(
        arguments: [
            (1, 101..<201), (-50, 50..<150), (-500, 0..<100), (850, 950..<1000), (5000, 999..<1000),
            (.max, 999..<1000), (.min, 0..<100),
        ] as [(Int64, Range<Int64>)])
    func sendsAnotherRange(_ offset: Int64, _ range: Range<Int64>) throws {
        let answer = try part(.wrongRange(offset: offset))
        #expect(answer.status == 206)
        #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000")
        #expect(answer.body == file.bytes(in: range))
    }

    @Test func sendsAnotherContentRange() throws {
        let wrong = try part(.contentRange("bytes 100-199/*"))
        #expect(wrong["Content-Range"] == "bytes 100-199/*")
        #expect(wrong.body == file.bytes(in: 100..<200))
        let missing = try part(.contentRange(nil))
        #expect(missing.status == 206)
        #expect(missing["Content-Range"] == nil)
    }

    @Test func contradictsItself() throws {
        let answer = try part(.contradictingContentRange)
        #expect(answer["Content-Range"] == "bytes 100-200/1000")
        #expect(answer["Content-Length"] == "100")
    }

    @Test func sendsPartsOfSeveral() throws {
        let answer = try part(.multipart)
        #expect(answer.status == 206)
        #expect(answer["Content-Type"] == "multipart/byteranges; boundary=lanner-part")
        #expect(answer["Content-Range"] == nil)
        let opening =
            "--lanner-part\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes 100-199/1000\r\n\r\n"
        let closing = "\r\n--lanner-part--\r\n"
        #expect(answer.body == Array(opening.utf8) + file.bytes(in: 100..<200) + Array(closing.utf8))
    }
}
