import Foundation
import LannerCore
import LannerLoopback
import LannerURLSession
import Testing
import TransportSupport

/// What a server's answers become.
@Suite(.timeLimit(.minutes(10)))
struct AnswerTests {
    let server: LoopbackServer
    let transport = URLSessionTransport()
    let resource = LoopbackServer.Resource(.generated(seed: 7, length: 3_000_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", resource)
    }

    private func fetch(_ path: String, _ fields: HeaderFields = [:]) async -> Recorder.Log {
        await transport.fetch(server.url(path), fields)
    }

    private func script(_ step: LoopbackServer.Step) {
        server.script("/file", [step])
    }

    @Test func aFileArrivesWhole() async {
        let log = await fetch("/file")
        #expect(log.breaches == [])
        #expect(log.head?.status == 200)
        #expect(log.head?.fields["content-length"] == "3000000")
        #expect(log.hasBytes(resource.bytes))
        #expect(log.isComplete)
    }

    @Test(arguments: [LoopbackServer.Resource.Framing.contentLength, .chunked, .close])
    func everyFramingHasAnEnd(framing: LoopbackServer.Resource.Framing) async {
        let resource = LoopbackServer.Resource(.generated(seed: 1, length: 100_000), framing: framing)
        server.put("/framed", resource)
        let log = await fetch("/framed")
        #expect(log.breaches == [])
        #expect(log.isComplete)
        #expect(log.hasBytes(resource.bytes))
    }

    @Test func anEmptyFileHasAHeadAndAnEnd() async {
        server.put("/empty", LoopbackServer.Resource([]))
        let log = await fetch("/empty")
        #expect(log.breaches == [])
        #expect(log.head?.status == 200)
        #expect(log.isComplete)
        #expect(log.bytes == [])
    }

    @Test func aRangeIsAPartialContent() async {
        let log = await fetch("/file", ["Range": "bytes=1000-1999"])
        #expect(log.head?.status == 206)
        #expect(log.head?.fields["Content-Range"] == "bytes 1000-1999/3000000")
        #expect(log.hasBytes(resource.bytes(in: 1000..<2000)))
        #expect(log.isComplete)
    }

    @Test func aRangeBeyondTheEndIsReported() async {
        let log = await fetch("/file", ["Range": "bytes=9000000-"])
        #expect(log.head?.status == 416)
        #expect(log.isComplete)
        #expect(log.breaches == [])
    }

    @Test func aMissingFileIsReported() async {
        let log = await fetch("/nothing")
        #expect(log.head?.status == 404)
        #expect(log.isComplete)
        #expect(log.breaches == [])
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsTheResponse(status: Int) async {
        server.put("/other", LoopbackServer.Resource([1]))
        script(.redirect(to: "/other?x=1", status: status))
        let log = await fetch("/file")
        #expect(log.breaches == [])
        #expect(log.head?.status == status)
        #expect(log.head?.fields["Location"] == "/other?x=1")
        #expect(log.isComplete)
        #expect(server.requests("/other").isEmpty)
    }

    @Test(arguments: [["Location": "/other"], [:]] as [LoopbackServer.Fields])
    func theBodyOfARedirectIsDropped(fields: LoopbackServer.Fields) async {
        script(.status(302, fields, body: Array(repeating: 1, count: 100_000)))
        let log = await fetch("/file")
        #expect(log.breaches == [])
        #expect(log.head?.status == 302)
        #expect(log.bytes == [])
        #expect(log.isComplete)
    }

    @Test func notModifiedHasNoBody() async {
        script(.raw(Array("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".utf8)))
        let log = await fetch("/file")
        #expect(log.head?.status == 304)
        #expect(log.isComplete)
    }

    @Test(arguments: ["Basic realm=\"here\"", "Digest realm=\"here\", nonce=\"1\"", "Bearer"], [0, 10])
    func aChallengeIsTheResponse(challenge: String, length: Int) async {
        let body = Array(repeating: UInt8(1), count: length)
        script(.status(401, ["WWW-Authenticate": challenge], body: body))
        let log = await fetch("/file")
        #expect(log.breaches == [])
        #expect(log.head?.status == 401)
        #expect(log.head?.fields["WWW-Authenticate"] == challenge)
        #expect(log.bytes == body)
        #expect(log.isComplete)
        #expect(await fetch("/file").head?.status == 200)
        #expect(server.requests.count == 2)
    }

    @Test func aProxysChallengeIsTheResponse() async {
        script(.status(407, ["Proxy-Authenticate": "Basic realm=\"here\""], body: [1, 2]))
        let log = await fetch("/file")
        #expect(log.head?.status == 407)
        #expect(log.isComplete)
    }

    @Test func interimResponsesAreNotReported() async {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style>\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Which: final\r\n\r\nhello"
        script(.raw(Array((hints + hints + final).utf8)))
        let log = await fetch("/file")
        #expect(log.breaches == [])
        #expect(log.head?.status == 200)
        #expect(log.head?.fields["X-Which"] == "final")
        #expect(log.head?.fields["Link"] == nil)
        #expect(log.bytes == Array("hello".utf8))
        #expect(log.isComplete)
    }

    @Test func whatACookieIsSetToIsNotSentBack() async {
        script(.fields(["Set-Cookie": "a=b; Path=/"]))
        #expect(await fetch("/file").isComplete)
        #expect(await fetch("/file").isComplete)
        #expect(server.requests("/file").map { $0.fields["Cookie"] } == [nil, nil])
    }

    @Test func theHeaderIsSentAsGiven() async {
        _ = await fetch("/file", ["Range": "bytes=0-0", "x-custom": "a", "X-Custom": "b", "If-Range": "\"tag\""])
        let sent = server.requests("/file").first?.fields
        #expect(sent?.values(of: "Range") == ["bytes=0-0"])
        #expect(sent?.values(of: "X-Custom") == ["a, b"])
        #expect(sent?.values(of: "If-Range") == ["\"tag\""])
        #expect(sent?.values(of: "User-Agent") == ["Lanner/0.1"])
        #expect(sent?.values(of: "Accept-Encoding") == ["identity"])
        _ = await fetch("/file", ["user-agent": "mine"])
        #expect(server.requests("/file").last?.fields.values(of: "User-Agent") == ["mine"])
    }

    @Test func anAgentOfOnesOwn() async {
        let transport = URLSessionTransport(configuration: .init(userAgent: "Podcasts/7"))
        #expect(await transport.fetch(server.url("/file")).isComplete)
        #expect(server.requests("/file").last?.fields.values(of: "User-Agent") == ["Podcasts/7"])
    }

    @Test func aCodedBodyIsDecodedAndItsLengthNotCompared() async {
        let text = Array(repeating: UInt8(ascii: "a"), count: 1000)
        let resource = LoopbackServer.Resource(gzip(text), fields: ["Content-Encoding": "gzip"])
        server.put("/coded", resource)
        let log = await fetch("/coded")
        #expect(log.breaches == [])
        #expect(log.head?.fields["Content-Encoding"] == "gzip")
        #expect(log.head?.fields["Content-Length"] == "\(resource.length)")
        #expect(log.bytes == text)
        #expect(log.isComplete)
    }
}

/// A gzip stream that stores the bytes as they are (RFC 1951, 3.2.4; RFC 1952).
private func gzip(_ bytes: [UInt8]) -> [UInt8] {
    let count = UInt16(bytes.count)
    var stream: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1]
    for value in [count, ~count] { stream += [UInt8(value & 0xff), UInt8(value >> 8)] }
    stream += bytes
    var remainder = UInt32.max
    for byte in bytes {
        remainder ^= UInt32(byte)
        for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
    }
    for value in [~remainder, UInt32(bytes.count)] {
        for shift in [0, 8, 16, 24] { stream.append(UInt8(value >> UInt32(shift) & 0xff)) }
    }
    return stream
}
