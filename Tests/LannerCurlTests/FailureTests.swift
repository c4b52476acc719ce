import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerCurl

/// What becomes of exchanges that cannot be completed.
@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
    let server: LoopbackServer
    let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 3, length: 1_000_000)))
        transport = try CurlTransport()
    }

    private func fault(after step: LoopbackServer.Step, timeout: Duration = .seconds(3600)) async -> TransportFault? {
        server.always("/file", step)
        let log = await transport.fetch(server.url("/file"), timeout: timeout)
        #expect(log.breaches == [])
        #expect(!log.isComplete)
        #expect(log.failure?.message.hasPrefix("127.0.0.1: ") == true || log.failure?.fault == .malformedResponse)
        return log.failure?.fault
    }

    @Test(arguments: [0, 1, 100_000] as [Int64])
    func aShortBodyHasAnotherLength(bytes: Int64) async {
        #expect(await fault(after: .cut(afterBytes: bytes)) == .lengthMismatch)
    }

    /// It may say where to go on, or that there is nothing: the body that never came would not have told more.
    @Test func theHeadOfAnAnswerWithoutItsBodyIsTold() async {
        let answer = "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 154\r\n\r\n"
        server.script("/file", [.raw(Array(answer.utf8))])
        let log = await transport.fetch(server.url("/file"))
        #expect(log.head?.status == 302 && log.head?.fields["Location"] == "/other")
        #expect(log.failure?.fault == .lengthMismatch && log.breaches == [])
    }

    /// As when memory or descriptors have run out, for the moment.
    @Test(arguments: [(false, .cannotConnect), (true, .other)] as [(Bool, TransportFault)])
    func aLoopThatCouldNotGoOnDoesSoLater(isSetUp: Bool, _ fault: TransportFault) async throws {
        let tries = Locked(0)
        let isFirst: @Sendable () -> Bool = {
            tries.withLock { tries in
                tries += 1
                return tries == 1
            }
        }
        let loop =
            isSetUp
            ? Loop(CurlTransport.Options(), perform: { isFirst() ? 3 : Loop.performNow($0) })
            : Loop(CurlTransport.Options(), make: { isFirst() ? nil : Loop.makeWakeable() })
        defer { loop.close() }
        var logs: [Recorder.Log] = []
        for _ in 0..<2 {
            let recorder = Recorder()
            let request = TransportRequest(url: server.url("/file"))
            loop.begin([CurlExchange(request, loop: loop, receive: recorder.receive)])
            logs.append(await recorder.end())
        }
        #expect(logs[0].failure?.fault == fault && logs[0].breaches == [])
        #expect(logs[1].isComplete && logs[1].bytes.count == 1_000_000)
    }

    /// libcurl goes on to the next address of a host only when it is asked to do something. Here nothing else would be
    /// done for a minute.
    @Test func libcurlIsAskedEverySecondWhileSomethingIsUnderWay() async throws {
        server.always("/file", .hold)
        let (rounds, counts) = AsyncStream<Void>.makeStream()
        let loop = Loop(
            CurlTransport.Options(),
            perform: { multi in
                counts.yield()
                return Loop.performNow(multi)
            })
        defer { loop.close() }
        let (recorder, begun) = (Recorder(), ContinuousClock.now)
        let exchange = CurlExchange(TransportRequest(url: server.url("/file")), loop: loop, receive: recorder.receive)
        loop.begin([exchange])
        try await server.waitForStalls(1)
        // Connecting takes some of them.
        var seconds: Set<Int64> = []
        for await _ in rounds where seconds.count < 5 {
            seconds.insert((ContinuousClock.now - begun).components.seconds)
            if seconds.count == 5 { counts.finish() }
        }
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
        #expect(ContinuousClock.now - begun < .seconds(50))
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
        #expect(log.failure?.fault == .lengthMismatch)
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
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno hex\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nTransfer-Encoding: binary\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello",
    ])
    func whatIsNotHTTPIsRefused(answer: String) async {
        #expect(await fault(after: .raw(Array(answer.utf8))) == .malformedResponse)
    }

    /// libcurl does not count then.
    @Test(arguments: ["Content-Length : 10", "Content-Length: 10\r\nTransfer-Encoding: identity"])
    func aBodyThatIsTooShortIsToldToBe(fields: String) async {
        let answer = "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhello"
        #expect(await fault(after: .raw(Array(answer.utf8))) == .lengthMismatch)
    }

    /// Elsewhere it is the manager that ends it.
    @Test(.enabled(if: Library.mayTimeSilence), arguments: [LoopbackServer.Step.hold, .stall(afterBytes: 1000)])
    func silenceTimesOut(step: LoopbackServer.Step) async {
        #expect(await fault(after: step, timeout: .milliseconds(1)) == .timedOut)
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
        let log = await recorder.end()
        #expect(log.breaches == [])
        #expect(log.failure != nil)
        #expect(await transport.fetch(server.url("/file")).isComplete)
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own, which may have fewer files open than it has by then: it cannot wait for so many.
    @Test func whatCannotBeWaitedForIsNotTheEnd() async {
        await #expect(processExitsWith: .success) {
            let (silent, closed) = (try ClosedPort(isSilent: true), try ClosedPort())
            let transport = try CurlTransport()
            let exchanges = (0..<40).map { _ in transport.start(silent.url, Recorder()) }
            try #require(await transport.fetch(closed.url).failure?.fault == .cannotConnect)
            try allowFiles(20)
            for _ in 0..<3 {
                // The next one comes behind a wait.
                try #require(await transport.fetch(closed.url).failure?.fault == .cannotConnect)
            }
            withExtendedLifetime((exchanges, silent)) {}
        }
    }

    /// In a process of its own, which may open one file more: the connection has that, and the authorities cannot be read.
    @Test func authoritiesThatCannotBeReadForWantOfFilesMayBeLater() async {
        await #expect(processExitsWith: .success) {
            let (server, closed) = (try LoopbackServer(), try ClosedPort())
            let transport = try CurlTransport()
            let url = try #require(URL(string: "https://" + server.url("/file").absoluteString.dropFirst(7)))
            try #require(await transport.fetch(closed.url).failure?.fault == .cannotConnect)
            let next = dup(0)
            close(next)
            try allowFiles(rlim_t(next) + 1)
            let failure = await transport.fetch(url).failure
            try #require(failure?.fault == .other && failure?.message.contains("too many files open") == true)
        }
    }

    /// In a process of its own, where no other transport is. Programs that a thread starts would not end either where they
    /// write to a pipe that nobody reads.
    @Test func theThreadIsGivenBackAsItWas() async {
        await #expect(processExitsWith: .success) {
            let transport = try CurlTransport()
            let server = try LoopbackServer()
            server.always("/file", .hold)
            _ = transport.start(server.url("/file"), Recorder())
            try await server.waitForStalls(1)
            transport.invalidate()
            for _ in 0..<20 {
                // On as many threads as there are.
                let arrived = DispatchGroup()
                let blocked = Locked(0)
                for index in 0..<16 {
                    arrived.enter()
                    DispatchQueue(label: "\(index)").async {
                        var signals = sigset_t()
                        pthread_sigmask(SIG_BLOCK, nil, &signals)
                        blocked.withLock { $0 += Int(sigismember(&signals, SIGPIPE)) }
                        arrived.leave()
                        arrived.wait()
                    }
                }
                await withCheckedContinuation { arrived.notify(queue: .global(), execute: $0.resume) }
                try #require(blocked.withLock { $0 } == 0)
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
    #endif
}

/// How many files the process may have open, from the next one on.
private func allowFiles(_ count: rlim_t) throws {
    #if canImport(Glibc)
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let files = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    try #require(getrlimit(files, &limit) == 0)
    limit.rlim_cur = count
    try #require(setrlimit(files, &limit) == 0)
}
