import Foundation
import LannerCore
import LannerCurl
import LannerLoopback
import Testing

/// Several connections for one file, from a server that sends so much a second over each.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    private let server: LoopbackServer
    private let resource = LoopbackServer.Resource(.generated(seed: 8, length: 24 << 20))
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")

    init() throws {
        server = try LoopbackServer()
        server.put("/file", resource)
        server.bytesPerSecond = 4 << 20
    }

    /// Downloads the file with its digest, and says how the task has ended.
    private func download(_ connections: Int, perHost: Int? = nil) async throws -> DownloadTask {
        var configuration = SessionConfiguration()
        configuration.maxConnectionsPerDownload = connections
        // Whether more are faster is not for a busy machine to say.
        configuration.firstConnections = connections
        let manager = SessionManager(
            "connections", configuration: configuration,
            transport: try CurlTransport(configuration: .init(connectionsPerHost: perHost)),
            logger: ConsoleLogger(identifier: "connections", option: .none),
            cache: Cache("connections", downloadPath: directory.path))
        defer { manager.invalidate() }
        var hasher = Checksum.Algorithm.sha256.makeHasher()
        resource.forEachPiece { hasher.update($0) }
        let digest = try Checksum.Digest(algorithm: .sha256, bytes: hasher.digest())
        return await withCheckedContinuation { continuation in
            manager.download(server.url("/file"), checksum: digest, onMainQueue: false) { task in
                task.completion(onMainQueue: false) { continuation.resume(returning: $0) }
            }
        }
    }

    @Test func theFileComesOverSeveral() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let task = try await download(4)
        #expect(task.status == .succeeded)
        #expect(task.validation == .correct)
        let ranges = server.requests("/file").map { $0.fields["Range"] }
        #expect(ranges.first == .some(nil))
        #expect(ranges.count >= 4)
        // Each place of the file is asked for once, but for what was on its way as another took over.
        let starts = ranges.compactMap { $0?.dropFirst("bytes=".count).split(separator: "-").first }
        #expect(Set(starts).count == ranges.count - 1)
    }

    /// The second waits for a connection until the first is done with its own.
    @Test func aLimitOfOneHoldsUpNobody() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let task = try await download(4, perHost: 1)
        #expect(task.status == .succeeded)
        #expect(task.validation == .correct)
    }

    @Test func oneTakesOneRequest() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        server.bytesPerSecond = 16 << 20
        let task = try await download(1)
        #expect(task.status == .succeeded)
        #expect(server.requests("/file").count == 1)
    }
}
