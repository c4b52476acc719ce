import Foundation
import LannerCore
import LannerCurl
import LannerLoopback
import Testing
import TransportSupport

/// What is sent, to whom, and what is not.
@Suite(.timeLimit(.minutes(10)))
struct RequestTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 7, length: 1000)))
    }

    private func lines(of request: LoopbackServer.Request?) -> [String] {
        request?.fields.lines.map { "\($0.name): \($0.value)" } ?? []
    }

    @Test func nothingIsAddedButTheAgent() async throws {
        #expect(await (try CurlTransport()).fetch(server.url("/file")).isComplete)
        let host = "Host: 127.0.0.1:\(server.port)"
        #expect(lines(of: server.requests.last) == [host, "User-Agent: Lanner/0.1"])
    }

    @Test func theHeaderIsSentAsGiven() async throws {
        let fields = HeaderFields([
            .init(name: "x-custom", value: " a "), .init(name: "X-Custom", value: "b"),
            .init(name: "X-Empty", value: ""),
            .init(name: "Accept", value: "a/b"), .init(name: "user-agent", value: "mine"),
        ])
        #expect(await (try CurlTransport()).fetch(server.url("/file"), fields).isComplete)
        let sent = ["x-custom: a", "X-Custom: b", "X-Empty: ", "Accept: a/b", "user-agent: mine"]
        #expect(Array(lines(of: server.requests.last).dropFirst()) == sent)
    }

    @Test func dotsInAPathStay() async throws {
        server.put("/a/../file", LoopbackServer.Resource([1]))
        let url = try #require(URL(string: server.baseURL.absoluteString + "a/../b/./c%2F?d=../e"))
        _ = try await CurlTransport().fetch(url)
        #expect(server.requests.last?.target == "/a/../b/./c%2F?d=../e")
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/hosts", "http:///file", "http://a%20b/", "http://a%2fb/", "data:,x",
        "http://user:secret@127.0.0.1/",
    ])
    func aURLThatCannotBeFetchedIsRefused(text: String) async throws {
        let log = try await CurlTransport().fetch(try #require(URL(string: text)))
        #expect(log.failure?.fault == .unacceptableRequest)
        #expect(log.failure?.message.contains("secret") == false)
        #expect(log.breaches == [])
    }

    @Test(arguments: [
        ("Host", "elsewhere"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Connection", "close"),
        ("TE", "trailers"), ("X-Bad", "a\r\nX-Worse: b"), ("X-Bad", "a\nb"), ("X-Bad", "a\0b"), ("X Bad", "a"),
        ("X-Bad:", "a"), ("X-Bad;", ""), ("", "a"),
    ])
    func aFieldThatCannotBeSentIsRefused(name: String, value: String) async throws {
        let fields = HeaderFields([.init(name: name, value: value)])
        let log = try await CurlTransport().fetch(server.url("/file"), fields)
        #expect(log.failure?.fault == .unacceptableRequest)
        #expect(server.requests.isEmpty)
    }

    @Test(.enabled(if: OneAnswerServer("") != nil, "The machine has no IPv6."))
    func anAddressOfIPv6IsAHost() async throws {
        let server = try #require(OneAnswerServer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        let log = try await CurlTransport().fetch(try #require(URL(string: "http://[::1]:\(server.port)/")))
        withExtendedLifetime(server) {}
        #expect(log.bytes == Array("ok".utf8))
        #expect(log.isComplete)
    }

    @Test func aConnectionIsUsedAgain() throws {
        let transport = try CurlTransport()
        for _ in 0..<5 { #expect(transport.fetchBlocking(server.url("/file")).isComplete) }
        #expect(server.activity.connections == 1)
    }

    // MARK: Options

    @Test func anAgentOfOnesOwn() async throws {
        let transport = try CurlTransport(configuration: .init(userAgent: "Podcasts/7"))
        #expect(await transport.fetch(server.url("/file")).isComplete)
        #expect(server.requests.last?.fields["User-Agent"] == "Podcasts/7")
    }

    /// Whatever their hosts; the others wait in one line.
    @Test func noMoreConnectionsThanAllowedInAll() async throws {
        let servers = [server, try LoopbackServer()]
        servers[1].put("/file", LoopbackServer.Resource([1]))
        for server in servers { server.always("/file", .hold) }
        let transport = try CurlTransport(configuration: .init(connections: 3))
        let recorders = (0..<8).map { _ in Recorder() }
        let exchanges = recorders.enumerated().map { transport.start(servers[$0 % 2].url("/file"), $1) }
        try await servers[0].waitForStalls(2)
        try await servers[1].waitForStalls(1)
        // One that waits for its turn gives it up.
        exchanges[7].cancel()
        #expect(await recorders[7].end().failure?.fault == .canceled)
        #expect(servers.map { $0.activity.connections } == [2, 1])
        for server in servers {
            server.clearScript("/file")
            try server.release()
        }
        for recorder in recorders.dropLast() { #expect(await recorder.end().isComplete) }
        #expect(servers.map { $0.requests.count } == [4, 3])
    }

    @Test func aProxyIsAskedAndLoggedInto() async throws {
        server.always("/elsewhere", .status(200, [:], body: [7]))
        let url = "http://127.0.0.1:\(server.port)"
        let transport = try CurlTransport(configuration: .init(proxy: .url(url, user: "me", password: "it's")))
        let log = await transport.fetch(try #require(URL(string: "http://example.invalid/elsewhere")))
        #expect(log.bytes == [7])
        #expect(server.requests.last?.fields["Host"] == "example.invalid")
        let login = Data("me:it's".utf8).base64EncodedString()
        #expect(server.requests.last?.fields["Proxy-Authorization"] == "Basic \(login)")
    }

    /// Over http, too: libcurl alone knows whether a request goes through a proxy.
    @Test(arguments: [true, false]) func whatLogsIntoAProxyIsForAProxyOnly(isThere: Bool) async throws {
        server.always("/elsewhere", .status(200, [:], body: [7]))
        let proxy: CurlTransport.Proxy = isThere ? .url("http://127.0.0.1:\(server.port)") : .none
        let transport = try CurlTransport(configuration: .init(proxy: proxy))
        let log = await transport.fetch(server.url("/elsewhere"), ["Proxy-Authorization": "Basic eDp5", "X-Own": "1"])
        #expect(log.bytes == [7])
        let fields = try #require(server.requests.last?.fields)
        #expect(fields["Proxy-Authorization"] == (isThere ? "Basic eDp5" : nil) && fields["X-Own"] == "1")
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own: others read the environment meanwhile.
    @Test func theEnvironmentDoesNotLeadAroundAProxy() async {
        await #expect(processExitsWith: .success) {
            setenv("no_proxy", "*", 1)
            let server = try LoopbackServer()
            server.always("/elsewhere", .status(200, [:], body: [7]))
            let transport = try CurlTransport(configuration: .init(proxy: .url("http://127.0.0.1:\(server.port)")))
            let log = await transport.fetch(try #require(URL(string: "http://example.invalid/elsewhere")))
            try #require(log.bytes == [7])
        }
    }
    #endif

    @Test func aProxyWithoutAURLIsRefused() async throws {
        let log = await (try CurlTransport(configuration: .init(proxy: .url("")))).fetch(server.url("/file"))
        #expect(log.failure?.fault == .unavailable)
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        "htps://me:secret@127.0.0.1:1", "htps://me:sec@ret@127.0.0.1:1", "htps://me: sec ret@127.0.0.1:1",
        "me:secret@127.0.0.1:99999",
    ])
    func thePasswordOfAProxyIsNotRepeated(url: String) async throws {
        let log = await (try CurlTransport(configuration: .init(proxy: .url(url)))).fetch(server.url("/file"))
        let message = try #require(log.failure).message
        #expect(["secret", "ret@", "sec "].allSatisfy { !message.contains($0) }, "\(message)")
    }

    @Test(
        .enabled(if: OneAnswerServer("") != nil, "The machine has no IPv6."),
        arguments: [(407, TransportFault.unacceptableRequest), (403, .unacceptableRequest), (502, .cannotConnect)])
    func aProxysRefusalToConnectIsNoAnswer(status: Int, fault: TransportFault) async throws {
        let server = try #require(OneAnswerServer("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"))
        let transport = try CurlTransport(configuration: .init(proxy: .url("http://[::1]:\(server.port)")))
        let log = await transport.fetch(try #require(URL(string: "https://example.invalid/")))
        withExtendedLifetime(server) {}
        #expect(log.failure?.fault == fault)
        #expect(log.head == nil)
    }

    @Test(.enabled(if: OneAnswerServer("") != nil, "The machine has no IPv6."))
    func whatLogsIntoAProxyIsSentToIt() async throws {
        let server = try #require(OneAnswerServer("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"))
        let transport = try CurlTransport(configuration: .init(proxy: .url("http://[::1]:\(server.port)")))
        let fields: HeaderFields = ["proxy-authorization": "Basic eDp5", "X-Own": "1"]
        _ = await transport.fetch(try #require(URL(string: "https://example.invalid/")), fields)
        let lines = server.request.components(separatedBy: "\r\n")
        #expect(lines.first?.hasPrefix("CONNECT example.invalid:443") == true)
        #expect(lines.contains("proxy-authorization: Basic eDp5") && !lines.contains("X-Own: 1"), "\(lines)")
    }

    @Test func anOptionThatIsNotTakenIsNotForgotten() async throws {
        let transport = try CurlTransport(configuration: .init(proxy: .url("nonsense://127.0.0.1:1")))
        let log = await transport.fetch(server.url("/file"))
        #expect(log.failure != nil)
        #expect(server.requests.isEmpty)
    }
}
