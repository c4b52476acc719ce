import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct BadRequestTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.put("/file", .init("x".utf8))
    }

    @Test(
        arguments: [
            "\u{0}\u{1}\r\n\r\n", "GET\r\n\r\n", "GET /file\r\n\r\n", "GET  /file HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /file HTTP/1.1\r\n\r\n", "GET /file HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", "GET /file HTTP/1.1\r\nHost : h\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "GET /file HTTP/1.1\r\nHost: a\u{0}b\r\n\r\n",
            "GET file HTTP/1.1\r\nHost: h\r\n\r\n", "G(T /file HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ])
    func answers400AndCloses(_ request: String) throws {
        let client = try RawClient(port: server.port)
        try client.send(request)
        #expect(try client.readAnswer().status == 400)
        #expect(try client.readToEnd() == ([], .closed))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [("HTTP/2.0", "X: y", 505), ("HTTP/1.1", "Transfer-Encoding: chunked", 501)])
    func namesWhatItDoesNotKnow(_ version: String, _ line: String, _ status: Int) throws {
        let client = try RawClient(port: server.port)
        try client.send("GET /file \(version)\r\nHost: h\r\n\(line)\r\n\r\n")
        #expect(try client.readAnswer().status == status)
    }

    @Test func refusesAHeaderWithoutEnd() throws {
        let client = try RawClient(port: server.port)
        try client.send("GET /file HTTP/1.1\r\nX: " + String(repeating: "x", count: 70_000))
        #expect(try client.readAnswer().status == 431)
        #expect(try client.readToEnd() == ([], .closed))
    }

    @Test func outlivesAnything() throws {
        var random = SeededGenerator(seed: 2024)
        let pieces = [
            "GET ", "/file", " HTTP/1.1", "\r\n", "\n", ":", "Host: h", "Range: bytes=", "-", "9", "\u{0}", "%", "ü",
        ]
        for _ in 0..<300 {
            let client = try RawClient(port: server.port)
            let count = Int.random(in: 0..<30, using: &random)
            let text = (0..<count).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            try? client.send(text)
            client.finishSending()
            _ = try client.readToEnd()
        }
        #expect(try RawClient(port: server.port).get("/file").status == 200)
    }
}

/// SplitMix64, so that a failure repeats.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
