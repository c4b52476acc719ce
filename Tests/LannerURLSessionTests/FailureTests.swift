import Foundation
import LannerCore
import LannerLoopback
import LannerURLSession
import Testing
import TransportSupport

/// What becomes of exchanges that cannot be completed. Of the four answers that end the process, none is here.
@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
    let server: LoopbackServer
    let transport = URLSessionTransport()

    init() throws {
        server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 3, length: 1_000_000)))
    }

    private func fault(after step: LoopbackServer.Step, timeout: Duration = .seconds(3600)) async -> TransportFault? {
        server.always("/file", step)
        let log = await transport.fetch(server.url("/file"), timeout: timeout)
        #expect(log.breaches == [])
        #expect(!log.isComplete)
        #expect(log.failure?.message.isEmpty == false)
        return log.failure?.fault
    }

    @Test(arguments: [0, 1, 100_000] as [Int64])
    func aShortBodyIsALostConnection(bytes: Int64) async {
        #expect(await fault(after: .cut(afterBytes: bytes)) == .connectionLost)
    }

    @Test func aShortChunkedBodyIsALostConnection() async {
        server.put("/file", LoopbackServer.Resource(.generated(seed: 3, length: 1_000_000), framing: .chunked))
        #expect(await fault(after: .cut(afterBytes: 1000)) == .connectionLost)
    }

    @Test func bytesBeforeTheCutArrive() async {
        server.script("/file", [.cut(afterBytes: 100_000)])
        let log = await transport.fetch(server.url("/file"))
        #expect(log.head?.status == 200)
        #expect(log.bytes.count == 100_000)
        #expect(log.failure?.fault == .connectionLost)
    }

    @Test(arguments: [LoopbackServer.Step.reset(afterBytes: 10_000), .resetAtOnce, .raw([])])
    func aBrokenConnectionIsALostConnection(step: LoopbackServer.Step) async {
        #expect(await fault(after: step) == .connectionLost)
    }

    @Test(arguments: [
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno hex\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\nhello",
    ])
    func whatIsNotHTTPIsRefused(answer: String) async {
        #expect(await fault(after: .raw(Array(answer.utf8))) == .malformedResponse)
    }

    @Test func silenceTimesOut() async {
        #expect(await fault(after: .hold, timeout: .milliseconds(1)) == .timedOut)
    }

    @Test func aClosedPortRefuses() async throws {
        let closed = try ClosedPort()
        let log = await transport.fetch(closed.url)
        #expect(log.failure?.fault == .cannotConnect)
        #expect(log.head == nil)
    }

    @Test func anUnknownHostIsAFailure() async throws {
        let recorder = Recorder()
        let exchange = transport.start(try #require(URL(string: "http://no-such-host.invalid/")), recorder)
        exchange.cancel()
        // Canceled, unless the resolver was faster; in either case at once, though the resolver may take its time.
        let log = await recorder.end()
        #expect(log.breaches == [])
        #expect(log.failure != nil)
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/hosts", "http:///file", "http://a%20b/", "http://a%2fb/", "data:,x",
    ])
    func aURLThatCannotBeFetchedIsRefused(text: String) async throws {
        let log = await transport.fetch(try #require(URL(string: text)))
        #expect(log.failure?.fault == .unacceptableRequest)
        #expect(log.breaches == [])
    }

    @Test(arguments: [
        ("Host", "elsewhere"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Connection", "close"),
        ("TE", "trailers"), ("X-Bad", "a\r\nX-Worse: b"), ("X-Bad", "a\nb"), ("X-Bad", "a\0b"), ("X Bad", "a"),
        ("X-Bad:", "a"), ("", "a"),
    ])
    func aFieldThatCannotBeSentIsRefused(name: String, value: String) async {
        let log = await transport.fetch(server.url("/file"), HeaderFields([.init(name: name, value: value)]))
        #expect(log.failure?.fault == .unacceptableRequest)
        #expect(log.head == nil)
        #expect(server.requests.isEmpty)
    }
}
