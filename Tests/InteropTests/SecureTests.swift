#if os(macOS) || os(Linux)
import CLannerCurl
import Foundation
import LannerCore
import LannerLoopback
import LannerURLSession
import ProgramSupport
import Testing
import TransportSupport

@testable import LannerCurl

/// Exchanges over TLS, with nginx.
@Suite(.timeLimit(.minutes(10)), .enabled(if: TestAuthority.isThere, "nginx or openssl is not installed"))
struct SecureTests {
    private let authority: TestAuthority
    private let resource = LoopbackServer.Resource(.generated(seed: 9, length: 3_000_000))

    init() throws {
        authority = try TestAuthority()
    }

    private func server(
        _ identity: TestAuthority.Identity? = nil, askingFor clients: String? = nil, bytesPerSecond: Int? = nil,
        idleSeconds: Int = 3600
    ) throws -> RealServer {
        let identity = try identity ?? authority.identity()
        let server = try RealServer(
            .nginx, bytesPerSecond: bytesPerSecond, idleSeconds: idleSeconds,
            security: .init(certificate: identity.certificate, key: identity.key, clientAuthority: clients))
        try server.put("file", resource)
        return server
    }

    private func transport(_ change: (inout CurlTransport.Options) -> Void = { _ in }) throws -> CurlTransport {
        var options = CurlTransport.Options(certificateAuthorities: authority.certificate)
        change(&options)
        return try CurlTransport(configuration: options)
    }

    private func expectFile(_ log: Recorder.Log) {
        #expect(log.breaches == [] && log.isComplete && log.head?.status == 200)
        #expect(log.bytes == Array(resource.bytes))
    }

    private func expectRefusal(_ log: Recorder.Log) {
        #expect(log.breaches == [] && log.failure?.fault == .secureConnectionFailed && log.head == nil)
    }

    /// The server offers HTTP/2, over which libcurl takes files that are broken off for whole ones, and answers for
    /// each other's.
    @Test func aFileComesOverHTTP1() async throws {
        let server = try server()
        expectFile(await (try transport()).fetch(server.url("file")))
        #expect(try server.accessLog(atLeast: 1).map(\.version) == ["HTTP/1.1"])
    }

    /// Behind a tunnel, or without a proxy, it would tell a stranger the password of the proxy.
    @Test func whatLogsIntoAProxyIsNotSentToTheServer() async throws {
        let server = try server()
        expectFile(await (try transport()).fetch(server.url("file"), ["Proxy-Authorization": "Basic eDp5"]))
        #expect(try server.accessLog(atLeast: 1).map(\.proxyAuthorization) == ["-"])
    }

    /// A pause then holds back what the server sends; over a shared connection libcurl would take it all the same.
    @Test func exchangesAtOnceShareNoConnection() async throws {
        let server = try server(bytesPerSecond: 1_000_000)
        let (transport, recorders) = (try transport(), (0..<4).map { _ in Recorder() })
        expectFile(await transport.fetch(server.url("file")))
        let begin = ContinuousClock.now
        // The loop takes them all before the first can end.
        let exchanges = transport.begin(
            recorders.enumerated().map { index, recorder in
                TransportBeginning(
                    TransportRequest(url: server.url("file"), timeout: .seconds(3600), isLimited: index % 2 == 0),
                    receive: recorder.receive)
            })
        let wait = ContinuousClock.now - begin
        for recorder in recorders { expectFile(await recorder.end()) }
        withExtendedLifetime(exchanges) {}
        let requests = try server.accessLog(atLeast: 5)
        #expect(requests.count == 5 && Set(requests.dropFirst().map(\.connection)).count == 4, "\(requests)")
        // One takes over the connection of the first, which nginx keeps for 75 seconds.
        #expect(Set(requests.map(\.connection)).count == 4 || wait > .seconds(60), "\(requests)")
    }

    /// More are under way than connections are kept: those that become free are used again all the same.
    @Test func ofManyAtOnceConnectionsAreUsedAgain() async throws {
        let server = try server()
        try server.put("small", LoopbackServer.Resource([1]))
        let (transport, url) = (try transport(), server.url("small"))
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    var complete = 0
                    for _ in 0..<6 where await transport.fetch(url).isComplete { complete += 1 }
                    return complete
                }
            }
            for await complete in group { #expect(complete == 6) }
        }
        let requests = try server.accessLog(atLeast: 600)
        #expect(Set(requests.map(\.connection)).count <= 200)
    }

    /// libcurl 7.88 takes for alive what the server has closed, and gives up after six of them.
    @Test func connectionsThatWereClosedMeanwhileFailNobody() async throws {
        let server = try server(bytesPerSecond: 1_000_000, idleSeconds: 1)
        try server.put("small", LoopbackServer.Resource([1]))
        let (transport, url) = (try transport(), server.url("file"))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 { group.addTask { await transport.fetch(url).isComplete } }
            for await isComplete in group { #expect(isComplete) }
        }
        let connections = Set(try server.accessLog(atLeast: 16).map(\.connection))
        #expect(connections.count > 6)
        // nginx closes them after a second, which is nothing that could be asked for.
        try await Task.sleep(for: .seconds(3))
        for _ in 0..<3 {
            let log = await transport.fetch(server.url("small"))
            #expect(log.breaches == [] && log.isComplete, "\(log)")
        }
    }

    /// Twenty connections that do not come about hold up no others.
    @Test func aHostThatDoesNotAnswerHoldsUpNoOther() async throws {
        let silent = try ClosedPort(isSilent: true)
        let server = try server(bytesPerSecond: 100_000)
        try server.put("small", LoopbackServer.Resource([1]))
        let transport = try transport()
        let port = try #require(silent.url.port)
        let nowhere = try #require(URL(string: "https://127.0.0.1:\(port)/file"))
        let waiting = (0..<20).map { _ in transport.start(nowhere, Recorder()) }
        let (long, isBehind) = (Recorder(), Locked(false))
        let short = Recorder { event in
            if case .end = event { isBehind.withLock { $0 = long.log.isOver } }
        }
        let exchanges = [transport.start(server.url("file"), long), transport.start(server.url("small"), short)]
        #expect(await short.end().isComplete)
        #expect(!isBehind.withLock { $0 })
        withExtendedLifetime((waiting, exchanges)) { transport.invalidate() }
    }

    /// Where one connection has died, so have others that are kept: to try them in turn would take all retries.
    @Test func behindASilentConnectionAnotherIsMade() async throws {
        let server = try server(bytesPerSecond: 10_000_000)
        let transport = try transport()
        let kept = (0..<2).map { _ in Recorder() }
        let exchanges = kept.map { transport.start(server.url("file"), $0) }
        for recorder in kept { expectFile(await recorder.end()) }
        server.program.pause()
        let (first, second) = (Recorder(), Recorder())
        let silent = transport.start(server.url("file"), first)
        // By the time of the loop it has been silent for as long as this one, which was begun behind it.
        let elsewhere = try ClosedPort(isSilent: true)
        #expect(await transport.fetch(elsewhere.url, timeout: .seconds(3)).failure?.fault == .timedOut)
        silent.cancel()
        #expect(await first.end().failure?.fault == .canceled)
        let next = transport.start(server.url("file"), second)
        // By then libcurl has found a connection for it.
        #expect(await transport.fetch(elsewhere.url, timeout: .seconds(1)).failure?.fault == .timedOut)
        server.program.resume()
        expectFile(await second.end())
        // Nor are those that were kept taken later, when the server has been heard again.
        let later = (0..<2).map { _ in Recorder() }
        let others = later.map { transport.start(server.url("file"), $0) }
        for recorder in later { expectFile(await recorder.end()) }
        withExtendedLifetime((exchanges, next, others)) {}
        let whole = try server.accessLog(atLeast: 5) { $0.status == 200 && $0.bodyBytes == 3_000_000 }
        let connections = whole.map(\.connection)
        #expect(Set(connections.prefix(2)).isDisjoint(with: connections.dropFirst(2)))
    }

    #if compiler(>=6.3)
    /// What is under way goes on while the process exits, and TLS is not taken from under it.
    @Test func aProgramMayEndWhileFilesCome() async throws {
        let server = try server()
        let (url, authorities) = (server.url("file"), authority.certificate)
        await #expect(processExitsWith: .exitCode(7)) { [url = url as URL, authorities = authorities as String] in
            // Runs behind what libcurl and its like have set up for the exit, since that comes later.
            atexit { Self.atTheVeryEnd.withLock { $0 }?() }
            let transport = try CurlTransport(configuration: .init(certificateAuthorities: authorities))
            Self.atTheVeryEnd.withLock { $0 = { if !transport.fetchBlocking(url).isComplete { _exit(8) } } }
            exit(7)
        }
    }

    private static let atTheVeryEnd = Locked<(@Sendable () -> Void)?>(nil)
    #endif

    @Test func whoIsNotCertifiedIsNotAsked() async throws {
        let server = try server()
        expectRefusal(await (try CurlTransport()).fetch(server.url("file")))
        expectRefusal(await URLSessionTransport().fetch(server.url("file")))
        #expect(try server.accessLog().isEmpty)
    }

    #if !canImport(Darwin)
    /// libcurl tells by itself where it looks: in no directory of the system's.
    @Test func onlyTheAuthoritiesThatAreGivenAreTrusted() throws {
        let server = try server()
        try Library.require()
        let handle = try #require(Handle(.init(certificateAuthorities: authority.certificate)))
        let (multi, words) = (try #require(lanner_curl_multi_make()), try #require(tmpfile()))
        defer {
            lanner_curl_multi_remove(multi, handle.easy)
            lanner_curl_multi_free(multi)
            fclose(words)
        }
        // CURLOPT_VERBOSE, CURLOPT_STDERR
        lanner_curl_set_number(handle.easy, lanner_curl_option(41), 1)
        lanner_curl_set_pointer(handle.easy, lanner_curl_option(10037), words)
        let address = try TransportRules.address(of: TransportRequest(url: server.url("file")))
        handle.aim(at: address, within: 10, isLimited: false)
        lanner_curl_multi_add(multi, handle.easy)
        var code: Int32 = -1
        while lanner_curl_multi_next_done(multi, &code) == nil {
            lanner_curl_multi_perform(multi)
            lanner_curl_multi_wait(multi, 100)
        }
        rewind(words)
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let text = String(decoding: bytes[..<fread(&bytes, 1, bytes.count, words)], as: UTF8.self)
        #expect(text.contains("CAfile: \(authority.certificate)"))
        #expect(text.contains("CApath: \(authority.certificate)"))
    }
    #endif

    @Test(arguments: [("DNS:elsewhere.example", 2), ("IP:127.0.0.2", 2), ("IP:127.0.0.1", -1)])
    func aCertificateForAnotherNameOrTimeIsNone(name: String, days: Int) async throws {
        let server = try server(authority.identity(name, days: days))
        expectRefusal(await (try transport()).fetch(server.url("file")))
        #expect(try server.accessLog().isEmpty)
    }

    @Test func onlyAPinnedKeyIsTrusted() async throws {
        let identity = try authority.identity()
        let server = try server(identity)
        let (pin, other) = try (authority.pin(identity), authority.pin(authority.identity()))
        expectFile(await (try transport { $0.pinnedPublicKey = pin }).fetch(server.url("file")))
        expectRefusal(await (try transport { $0.pinnedPublicKey = other }).fetch(server.url("file")))
    }

    @Test func whoHasNoKeyIsNotAskedWhereOneIsPinned() async throws {
        let server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource([1, 2, 3]))
        let pin = "sha256//" + Data(count: 32).base64EncodedString()
        expectRefusal(await (try transport { $0.pinnedPublicKey = pin }).fetch(server.url("/file")))
        #expect(server.requests.isEmpty)
    }

    @Test func aServerLearnsWhoWeAre() async throws {
        let server = try server(askingFor: authority.certificate)
        let me = try authority.identity("DNS:me.example")
        let own = CurlTransport.ClientCertificate(certificate: me.certificate, key: me.key)
        expectFile(await (try transport { $0.clientCertificate = own }).fetch(server.url("file")))
        #expect(await (try transport()).fetch(server.url("file")).head?.status == 400)
    }

    @Test func aKeyMayHaveAPassword() async throws {
        let server = try server(askingFor: authority.certificate)
        let me = try authority.locked(authority.identity("DNS:me.example"), password: "it's secret")
        for (password, isRight) in [("it's secret", true), ("another", false), (nil, false)] {
            let own = CurlTransport.ClientCertificate(certificate: me.certificate, key: me.key, password: password)
            let log = await (try transport { $0.clientCertificate = own }).fetch(server.url("file"))
            if isRight { expectFile(log) } else { expectRefusal(log) }
        }
    }

    @Test func theProgramTrustsTheAuthorityItIsGiven() async throws {
        let server = try server()
        let place = try Workplace()
        let words = ["get", "-q", "--retries", "0", server.url("file").absoluteString]
        let refused = try await Program.run(words, in: place)
        #expect(refused.code == 1)
        #expect(refused.errors.joined().contains("--ca-certificate"))
        #expect(place.bytes("file") == nil)
        let trusted = try await Program.run(words + ["--ca-certificate", authority.certificate], in: place)
        #expect(trusted.code == 0, "\(trusted.errors)")
        #expect(place.bytes("file") == Array(resource.bytes))
    }

    @Test func aBrokenConnectionIsALostOne() async throws {
        // The file would take the better part of an hour.
        let server = try server(bytesPerSecond: 1_000)
        let recorder = Recorder()
        let transport = try transport()
        _ = transport.start(server.url("file"), recorder)
        _ = await recorder.wait { $0.head != nil }
        server.stop()
        let log = await recorder.end()
        #expect([.connectionLost, .lengthMismatch].contains(log.failure?.fault), "\(String(describing: log.failure))")
        #expect(log.breaches == [])
        #expect(resource.bytes.starts(with: log.bytes))
    }
}
#endif
