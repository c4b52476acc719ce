import LannerCore
import LannerCurl
import LannerLoopback
import Testing
import TransportSupport

/// What a pause does to libcurl's own sense of time, and what comes in spite of it.
@Suite(.timeLimit(.minutes(15)))
struct PauseTests {
    let server: LoopbackServer
    let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        // More than can be on its way.
        server.put("/file", LoopbackServer.Resource(.generated(seed: 7, length: 64 << 20)))
        server.put("/silent", LoopbackServer.Resource([1]))
        server.always("/silent", .hold)
        transport = try CurlTransport()
    }

    /// With the header libcurl has measured no speed yet, with the first bytes it has.
    @Test(arguments: [false, true])
    func isNoSilence(afterBytes: Bool) async {
        let paused = Locked<(any TransportExchange)?>(nil)
        let gate = Turnstile()
        let recorder = Recorder { event in
            gate.pass()
            switch event {
            case .head: if !afterBytes { paused.withLock { $0 }?.pause() }
            case .bytes: if afterBytes { paused.withLock { $0 }?.pause() }
            case .progress, .file, .end, .failure: break
            }
        }
        let exchange = transport.start(server.url("/file"), recorder, timeout: .seconds(1))
        paused.withLock { $0 = exchange }
        gate.open()
        // Another that is silent for three times as long tells when time has passed.
        let silent = await transport.fetch(server.url("/silent"), timeout: .seconds(3))
        #expect(silent.failure?.fault == .timedOut)
        #expect(!recorder.log.isOver)
        paused.withLock { $0 = nil }
        exchange.resume()
        let log = await recorder.end()
        #expect(log.isComplete && log.bytes.count == 64 << 20, "\(String(describing: log.failure))")
    }
    /// Who keeps a limit pauses when the first bytes have come: what is on its way by then is not much, however long that takes.
    @Test func comesBeforeMuchHasCome() async {
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
        #expect(recorder.log.bytes.count <= 256 << 10)
        exchange.cancel()
        #expect(await recorder.end().failure?.fault == .canceled)
    }
}
