import Foundation
import LannerCore
import LannerCurl
import LannerLoopback
import Testing
import TransportSupport

/// What a server's answers become, those that end or hang other clients above all.
@Suite(.timeLimit(.minutes(10)))
struct AnswerTests {
    let server: LoopbackServer
    let transport: CurlTransport
    let resource = LoopbackServer.Resource(.generated(seed: 7, length: 3_000_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", resource)
        transport = try CurlTransport()
    }

    private func fetch(
        _ path: String = "/file", _ fields: HeaderFields = [:], timeout: Duration = .seconds(3600)
    ) async -> Recorder.Log {
        let log = await transport.fetch(server.url(path), fields, timeout: timeout)
        #expect(log.breaches == [])
        return log
    }

    private func answer(_ text: String) async -> Recorder.Log {
        server.script("/file", [.raw(Array(text.utf8))])
        return await fetch()
    }

    @Test func aFileArrivesWhole() async {
        let log = await fetch()
        #expect(log.head?.status == 200)
        #expect(log.head?.fields["content-length"] == "3000000")
        #expect(log.hasBytes(resource.bytes))
        #expect(log.isComplete)
    }

    // MARK: What ends a process that uses URLSession on Linux

    @Test func aCloseInTheHeaderIsALostConnection() async {
        server.script("/file", [.closeInHeader])
        #expect(await fetch().failure?.fault == .connectionLost)
        #expect(await answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-").failure?.fault == .connectionLost)
        #expect(await fetch().isComplete)
    }

    @Test(arguments: ["", "4\r\nbody\r\n"])
    func trailersAreNotTheHeader(chunks: String) async {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Which: head\r\n\r\n"
        let log = await answer(head + chunks + "0\r\nX-Which: trailer\r\nX-Other: trailer\r\n\r\n")
        #expect(log.isComplete)
        #expect(log.bytes == (chunks.isEmpty ? [] : Array("body".utf8)))
        #expect(log.head?.fields.values(of: "X-Which") == ["head"])
        #expect(log.head?.fields["X-Other"] == nil)
    }

    @Test func theLargestLengthIsALength() async {
        let log = await answer("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello")
        #expect(log.head?.fields["Content-Length"] == "9223372036854775807")
        #expect(log.bytes == Array("hello".utf8))
        #expect(log.failure?.fault == .lengthMismatch)
    }

    @Test(arguments: ["//[::1]/x", "//a%20b/", "//a%2fb/", "http://[", "\u{1}", "////", ""])
    func anyLocationIsReported(location: String) async {
        let log = await answer("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
        #expect(log.head?.status == 302)
        #expect(log.head?.fields["Location"] == location)
        #expect(log.isComplete)
    }

    @Test(arguments: ["\u{FEFF}=1", "ı=1; Path=/", "a\u{301}=b", "=; ;;=", "İ=1; domain=\u{0131}"])
    func anyCookieIsReported(cookie: String) async {
        let log = await answer("HTTP/1.1 200 OK\r\nSet-Cookie: \(cookie)\r\nContent-Length: 2\r\n\r\nok")
        #expect(log.isComplete)
        #expect(log.head?.fields["Set-Cookie"] == cookie)
        #expect(await fetch().isComplete)
        #expect(server.requests.last?.fields["Cookie"] == nil)
    }

    // MARK: What hangs one, or slows it down

    @Test(
        arguments: ["Basic realm=\"here\"", "Digest realm=\"here\", nonce=\"1\"", "Bearer", "Negotiate"], [401, 407])
    func aChallengeIsTheResponse(challenge: String, status: Int) async {
        let name = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
        server.script("/file", [.status(status, [name: challenge], body: [1, 2])])
        let log = await fetch()
        #expect(log.head?.status == status)
        #expect(log.head?.fields[name] == challenge)
        #expect(log.bytes == [1, 2])
        #expect(log.isComplete)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectWithALargeBodyIsTheResponse(status: Int) async {
        server.put("/other", LoopbackServer.Resource([1]))
        let body = Array(repeating: UInt8(1), count: 16 << 20)
        server.script("/file", [.status(status, ["Location": "/other?x=1"], body: body)])
        let log = await fetch()
        #expect(log.head?.status == status)
        #expect(log.head?.fields["Location"] == "/other?x=1")
        #expect(log.hasBytes(body))
        #expect(log.isComplete)
        #expect(server.requests("/other").isEmpty)
    }

    @Test(arguments: [1000, 10_000, 300_000])
    func aHeaderWithoutEndEnds(lines: Int) async {
        let header = (0..<lines).map { "X-\($0): \($0)\r\n" }.joined()
        let log = await answer("HTTP/1.1 200 OK\r\n\(header)Content-Length: 2\r\n\r\nok")
        if lines <= 1000 { #expect(log.isComplete) }
        #expect(log.isComplete || log.failure?.fault == .malformedResponse, "\(log.failure?.message ?? "")")
        if log.isComplete { #expect(log.head?.fields.fields.count == lines + 1) }
    }

    @Test func aTrickleIsNoSilence() async {
        // Twice as long as it may be silent.
        let slow = LoopbackServer.Resource(.generated(seed: 9, length: 200))
        server.put("/slow", slow)
        server.always("/slow", .trickle(bytesPerSecond: 20))
        let log = await fetch("/slow", timeout: .seconds(5))
        #expect(log.isComplete)
        #expect(log.hasBytes(slow.bytes))
    }

    // MARK: What it refuses, or reads wrongly

    @Test func whatIsOddIsRead() async {
        let spaceless = await answer("HTTP/1.1 200 OK\r\nContent-Length:2\r\nX-A:b\r\n\r\nok")
        #expect(spaceless.isComplete)
        #expect(spaceless.head?.fields["X-A"] == "b")
        for line in ["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 OK"] {
            let log = await answer("\(line)\r\nContent-Length: 2\r\n\r\nok")
            #expect(log.isComplete && log.head?.status == 200 && log.bytes == Array("ok".utf8), "\(line)")
        }
        let lineFeeds = await answer("HTTP/1.1 200 OK\nContent-Length: 2\nX-A: b\n\nok")
        #expect(lineFeeds.isComplete && lineFeeds.head?.fields["X-A"] == "b")
    }

    @Test func latin1IsRead() async {
        let name = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Disposition: attachment; filename=\"".utf8)
        server.script("/file", [.raw(name + [0xE9, 0x74, 0xE9] + Array("\"\r\n\r\n".utf8))])
        let log = await fetch()
        #expect(log.head?.fields["Content-Disposition"] == "attachment; filename=\"été\"")
        #expect(log.isComplete)
    }

    @Test func aFoldedLineIsOne() async {
        let log = await answer("HTTP/1.1 200 OK\r\nX-Long: a\r\n  b\r\n\tc\r\nContent-Length: 0\r\n\r\n")
        #expect(log.head?.fields["X-Long"] == "a b c")
        #expect(log.isComplete)
    }

    @Test func interimResponsesAreNotReported() async {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style>\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Which: final\r\n\r\nhello"
        let log = await answer(hints + "HTTP/1.1 100 Continue\r\n\r\n" + hints + final)
        #expect(log.head?.status == 200)
        #expect(log.head?.fields["X-Which"] == "final")
        #expect(log.head?.fields["Link"] == nil)
        #expect(log.bytes == Array("hello".utf8))
        #expect(log.isComplete)
    }

    @Test func linesOfOneNameStayApartAndInOrder() async {
        let log = await answer("HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-B: 3\r\nX-a: 4\r\nContent-Length: 0\r\n\r\n")
        #expect(log.head?.fields.values(of: "X-A") == ["1", "2", "4"])
        #expect(log.head?.fields.fields.map(\.name) == ["X-A", "x-a", "X-B", "X-a", "Content-Length"])
    }

    @Test func aCodedBodyStaysAsItIs() async {
        server.put("/coded", LoopbackServer.Resource([0x1F, 0x8B, 9, 9], fields: ["Content-Encoding": "gzip"]))
        for fields in [[:], ["Accept-Encoding": "gzip"]] as [HeaderFields] {
            let log = await fetch("/coded", fields)
            #expect(log.bytes == [0x1F, 0x8B, 9, 9])
            #expect(log.isComplete)
        }
    }

    @Test func notModifiedHasNoBody() async {
        let log = await answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")
        #expect(log.head?.status == 304)
        #expect(log.isComplete)
    }
}
