import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerCurl

/// What a pause does to libcurl's own sense of time, and what comes in spite of it.
@Suite(.timeLimit(.minutes(10)))
struct PauseTests {
    let server: LoopbackServer
    let transport: CurlTransport

    /// What may be on its way: what the kernel holds on both sides at most, as it is set up, and what waits for a receiver.
    private static let most: Int64 = {
        let limits = ["tcp_rmem", "tcp_wmem"].map { name in
            let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/" + name, encoding: .utf8)
            return text?.split(whereSeparator: \.isWhitespace).last.flatMap { Int64($0) } ?? 6 << 20
        }
        return limits.reduce(4 << 20, +)
    }()

    init() throws {
        server = try LoopbackServer()
        // More than can be on its way.
        server.put("/file", LoopbackServer.Resource(.generated(seed: 7, length: 64 << 20)))
        server.put("/silent", LoopbackServer.Resource([1]))
        server.always("/silent", .hold)
        transport = try CurlTransport()
    }

    /// With the header libcurl has measured no speed yet, with the first bytes it has.
    @Test(.enabled(if: Library.mayTimeSilence), arguments: [false, true])
    func isNoSilence(afterBytes: Bool) async {
        let paused = Locked<(any TransportExchange)?>(nil)
        let pausesAtBytes = Locked(afterBytes)
        let gate = Turnstile()
        let recorder = Recorder { event in
            gate.pass()
            switch event {
            case .head: if !afterBytes { paused.withLock { $0 }?.pause() }
            case .bytes: if pausesAtBytes.withLock({ $0 }) { paused.withLock { $0 }?.pause() }
            case .progress, .file, .end, .failure: break
            }
        }
        let exchange = transport.start(server.url("/file"), recorder, timeout: .seconds(5))
        paused.withLock { $0 = exchange }
        gate.open()
        await recorder.wait { $0.head != nil }
        // Another that is silent for twice as long tells when time has passed.
        let silent = await transport.fetch(server.url("/silent"), timeout: .seconds(10))
        #expect(silent.failure?.fault == .timedOut)
        #expect(!recorder.log.isOver, "\(String(describing: recorder.log.failure))")
        // Else all could have come before this thread goes on.
        pausesAtBytes.withLock { $0 = true }
        let count = recorder.log.bytes.count
        exchange.resume()
        await recorder.wait { $0.bytes.count > count }
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
    }
    /// Who keeps a limit pauses when the first bytes have come: what is on its way by then is not much, however long
    /// that takes.
    @Test(.enabled(if: Library.mayTimeSilence)) func comesBeforeMuchHasCome() async {
        let paused = Locked<(any TransportExchange)?>(nil)
        let gate = Turnstile()
        let recorder = Recorder { event in
            guard case .bytes = event else { return }
            gate.pass()
            paused.withLock { $0 }?.pause()
        }
        let exchange = transport.start(server.url("/file"), recorder, isLimited: true)
        paused.withLock { $0 = exchange }
        await recorder.wait { !$0.bytes.isEmpty }
        for _ in 0..<2 {
            // Time in which more may come: first until the pause, then in spite of it.
            _ = await transport.fetch(server.url("/silent"), timeout: .seconds(1))
            gate.open()
        }
        // libcurl hands over 16 KiB at once, of which one may be here and one on its way.
        #expect(recorder.log.bytes.count <= 32 << 10)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
    }

    /// From a limit that came later on the owner pauses and resumes again and again.
    @Test func readsNoMoreThanItHandsOver() async {
        server.put("/endless", LoopbackServer.Resource(.generated(seed: 8, length: 1 << 40)))
        let (pieces, piece) = AsyncStream<Int>.makeStream()
        let paused = Locked<(any TransportExchange)?>(nil)
        let gate = Turnstile()
        let request = TransportRequest(url: server.url("/endless"), timeout: .seconds(3600))
        let exchange = transport.begin(request) { event in
            guard case .bytes(let data) = event else { return }
            gate.pass()
            paused.withLock { $0 }?.pause()
            piece.yield(data.count)
        }
        paused.withLock { $0 = exchange }
        gate.open()
        var (count, received) = (0, Int64(0))
        for await size in pieces {
            (count, received) = (count + 1, received + Int64(size))
            if count == 2000 || received > 64 << 20 { break }
            exchange.resume()
        }
        #expect(server.bytesSent("/endless") - received < Self.most)
        exchange.cancel()
    }

    /// The loop has much to do for others meanwhile.
    @Test(arguments: [true, false]) func holdsBesideOthers(isLimited: Bool) async {
        server.put("/endless", LoopbackServer.Resource(.generated(seed: 8, length: 1 << 40)))
        let paused = Locked<(any TransportExchange)?>(nil)
        let (gate, received) = (Turnstile(), Locked(0))
        let recorder = Recorder { event in
            guard case .bytes(let data) = event else { return }
            gate.pass()
            received.withLock { $0 += data.count }
            paused.withLock { $0 }?.pause()
        }
        let exchange = transport.start(server.url("/endless"), recorder, isLimited: isLimited)
        paused.withLock { $0 = exchange }
        gate.open()
        await recorder.wait { !$0.bytes.isEmpty }
        for _ in 0..<3 {
            let other = await transport.fetch(server.url("/file"))
            #expect(other.isComplete)
        }
        let inBetween = server.bytesSent("/endless") - Int64(received.withLock { $0 })
        #expect(inBetween < Self.most)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
    }

    #if os(Linux)
    /// Less comes than the loop could take, which looks for more again and again since it has to do for another one.
    @Test func whatIsHeldDoesNotComeIntoMemory() async {
        await #expect(processExitsWith: .success) {
            let (server, transport) = (try LoopbackServer(), try CurlTransport())
            server.put("/slow", LoopbackServer.Resource(.generated(seed: 8, length: 1 << 40)))
            server.always("/slow", .trickle(bytesPerSecond: 4_000_000))
            server.put("/other", LoopbackServer.Resource(.generated(seed: 9, length: 20_000_000)))
            server.always("/other", .trickle(bytesPerSecond: 5_000_000))
            let (gate, exchanges) = (Turnstile(), Locked<[any TransportExchange]>([]))
            let recorders = (0..<16).map { number in
                Recorder { event in
                    guard case .bytes = event else { return }
                    gate.pass()
                    exchanges.withLock { $0[number] }.pause()
                }
            }
            exchanges.withLock { $0 = recorders.map { transport.start(server.url("/slow"), $0) } }
            gate.open()
            for recorder in recorders { await recorder.wait { !$0.bytes.isEmpty } }
            let before = try PauseTests.residentBytes()
            // 256 MB would come meanwhile.
            try #require(await transport.fetch(server.url("/other")).isComplete)
            let held = try PauseTests.residentBytes() - before
            // Two of them wait for each receiver, at most.
            try #require(held < 16 * 4 << 20, "\(held)")
        }
    }

    private static func residentBytes() throws -> Int {
        let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(words.dropFirst().first.flatMap { Int($0) }) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
    #endif

    /// Nothing is done for a transfer that is held, though there is something for it.
    @Test func waitsWhileItHolds() async throws {
        server.put("/endless", LoopbackServer.Resource(.generated(seed: 8, length: 1 << 40)))
        server.put("/other", LoopbackServer.Resource(.generated(seed: 9, length: 20_000)))
        server.script("/other", [.trickle(bytesPerSecond: 10_000)])
        let (paused, rounds) = (Locked<(any TransportExchange)?>(nil), Locked(0))
        let gate = Turnstile()
        let recorder = Recorder { event in
            guard case .bytes = event else { return }
            gate.pass()
            paused.withLock { $0 }?.pause()
        }
        try Library.require()
        let loop = Loop(
            CurlTransport.Options(),
            perform: { multi in
                rounds.withLock { $0 += 1 }
                return Loop.performNow(multi)
            })
        let request = TransportRequest(url: server.url("/endless"))
        let exchange = CurlExchange(request, loop: loop, receive: recorder.receive)
        paused.withLock { $0 = exchange }
        gate.open()
        loop.begin([exchange])
        await recorder.wait { !$0.bytes.isEmpty }
        let before = rounds.withLock { $0 }
        // Two seconds.
        #expect(await transport.fetch(server.url("/other")).isComplete)
        #expect(rounds.withLock { $0 } - before < 2000)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
        loop.close()
    }

    /// As some versions of libcurl have ended transfers whose bytes they held back.
    @Test func anEndBeforeWhatIsHeldBackIsNone() async throws {
        try Library.require()
        let (options, recorder) = (CurlTransport.Options(), Recorder())
        let loop = Loop(options)
        let exchange = CurlExchange(
            TransportRequest(url: server.url("/file")), loop: loop, receive: recorder.receive)
        let made: LannerCurl.Handle? = .init(options)
        let handle = try #require(made)
        let transfer = try CurlTransfer(exchange, handle, CurlTransport.Options(), loop: loop, pool: SlabPool())
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] {
            #expect(Array(line.utf8).withUnsafeBytes { transfer.take(line: $0) } == line.utf8.count)
        }
        let piece = [UInt8](repeating: 7, count: 16 << 10)
        while piece.withUnsafeBytes({ transfer.take($0) }) == piece.count {}
        transfer.finish(0)
        exchange.startDraining()
        let log = await recorder.end()
        #expect(log.failure?.fault == .connectionLost && !log.isComplete)
        #expect(!log.bytes.isEmpty && log.bytes.count % piece.count == 0)
    }
}
