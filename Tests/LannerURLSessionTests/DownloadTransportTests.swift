import Foundation
import LannerCore
import LannerLoopback
import LannerURLSession
import Testing
import TransportSupport

/// The download transport as far as it can be tried on every platform: without resume data.
@Suite(.timeLimit(.minutes(10)))
struct DownloadTransportTests {
    let server: LoopbackServer
    let transport = URLSessionDownloadTransport()
    let resource = LoopbackServer.Resource(.generated(seed: 9, length: 200_000))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", resource)
    }

    @Test func theBodyArrivesAsAFile() async {
        let log = await transport.fetch(server.url("/file"))
        #expect(log.breaches == [])
        #expect(log.head?.status == 200)
        #expect(log.hasFile(resource.bytes))
        #expect(log.isComplete)
        #if canImport(Darwin)
        // Linux knows no response before the end, and nothing is reported before its head.
        #expect(log.progress.last == 200_000)
        #endif
        #expect(log.progress == log.progress.sorted())
    }

    /// Larger than what is read before the answer is judged: it becomes the file of the download, and is left nowhere else.
    @Test func aManagerTakesInWhatItHandsOver() async throws {
        let large = LoopbackServer.Resource(.generated(seed: 9, length: 5 << 20))
        server.put("/large", large)
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let manager = SessionManager("large", transport: transport, cache: Cache("large", downloadPath: place.path))
        defer { manager.invalidate() }
        manager.logger.option = .none
        let task = try manager.add(DownloadRequest(server.url("/large")))
        #expect(try await Array(Data(contentsOf: task.file)) == large.bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: manager.cache.downloadTmpPath) == [])
    }

    @Test func aRedirectIsTheResponse() async {
        server.script("/file", [.redirect(to: "/other")])
        let log = await transport.fetch(server.url("/file"))
        #expect(log.head?.status == 302)
        #expect(log.file == nil)
        #expect(log.isComplete)
    }

    @Test func aShortBodyIsAFailure() async {
        server.script("/file", [.cut(afterBytes: 1000)])
        let log = await transport.fetch(server.url("/file"))
        #expect(log.failure?.fault == .connectionLost)
        #expect(log.file == nil)
    }

    @Test func cancelingAndInvalidating() async throws {
        server.always("/file", .stall(afterBytes: 1000))
        let (first, second) = (Recorder(), Recorder())
        let exchange = transport.start(server.url("/file"), first)
        _ = transport.start(server.url("/file"), second)
        try await server.waitForStalls(2)
        exchange.cancel()
        #expect(await first.end().failure?.fault == .canceled)
        transport.invalidate()
        #expect(await second.end().failure?.fault == .unavailable)
        #expect(await transport.fetch(server.url("/file")).failure?.fault == .unavailable)
        try server.release()
    }

    @Test func theTraitsSayWhatEachIs() {
        #expect(transport.traits == TransportTraits(delivery: .file, hasResumeData: true))
        let sliced = TransportTraits(delivery: .sliced((4 << 20)...(32 << 20), inFlight: 2))
        #expect(URLSessionTransport().traits == sliced)
        #if !canImport(Darwin)
        #expect(DefaultTransport.make() is URLSessionTransport)
        #endif
    }
}
