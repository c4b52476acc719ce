#if os(macOS) || os(Linux)
import Foundation
import Lanner
import LannerLoopback
import Testing

/// Whole downloads from the server programs of the system: manager, URLSession, and files on the disk.
@Suite(.timeLimit(.minutes(10)))
struct DownloadInteropTests {
    /// Takes a slow server four seconds, sixteen when it sends all over one of several connections.
    private static let length: Int64 = 16 << 20
    private static let programs = RealServer.Program.allCases.filter(RealServer.isThere)
    private static let oldDate = Date(timeIntervalSince1970: 1_500_000_000)
    private static let newDate = Date(timeIntervalSince1970: 1_500_086_400)

    /// How a file differs from the one it replaces.
    enum Replacement: CaseIterable, Sendable {
        case longer, shorter, sameLength
    }

    @Test(arguments: programs)
    func filesArriveWithTheirDigests(_ program: RealServer.Program) async throws {
        let server = try await RealServer.started(program)
        defer { server.stop() }
        let place = try Place()
        defer { place.remove() }
        let launch = place.launch()
        defer { launch.manager.invalidate() }
        for (name, length) in [("large.bin", Self.length + 1), ("empty", 0), ("one", 1)] {
            try server.put(name, .init(.generated(seed: 11, length: length)))
            let expected = try server.digest(name)
            let task = try await launch.start(server.url(name), name: name, checksum: expected)
            try #expect(await Checksum.digest(ofFileAt: task.file.path, algorithm: .sha256) == expected)
            #expect(task.validation == .correct)
            #expect(task.completedBytes == length)
        }
    }

    @Test(arguments: programs)
    func aStoppedDownloadGoesOnAfterALaunch(_ program: RealServer.Program) async throws {
        let server = try await RealServer.started(program, isSlow: true)
        defer { server.stop() }
        let place = try Place()
        defer { place.remove() }
        try server.put("file", .init(.generated(seed: 12, length: Self.length), lastModified: Self.oldDate))
        let expected = try server.digest("file")
        let held = try await stop(server, place, atLeast: Self.length / 2)
        let launch = place.launch()
        defer { launch.manager.invalidate() }
        let task = try await launch.start(server.url("file"), name: "file", checksum: expected)
        try #expect(await Checksum.digest(ofFileAt: task.file.path, algorithm: .sha256) == expected)
        guard program == .nginx else { return }
        let entries = try server.finishedRequests("/file")
        // What was on its way at the stop may be sent twice, what was held may not.
        #expect(entries.reduce(0) { $0 + $1.bodyBytes } <= Self.length + held / 2)
        #expect(entries.contains { $0.status == 206 && $0.bodyBytes > 0 })
    }

    @Test(arguments: programs, Replacement.allCases)
    func aReplacedFileIsFetchedAnew(_ program: RealServer.Program, _ replacement: Replacement) async throws {
        let server = try await RealServer.started(program, isSlow: true)
        defer { server.stop() }
        let place = try Place()
        defer { place.remove() }
        try server.put("file", .init(.generated(seed: 13, length: Self.length), lastModified: Self.oldDate))
        _ = try await stop(server, place, atLeast: 1)
        let length = replacement.length(for: Self.length)
        try server.put("file", .init(.generated(seed: 14, length: length), lastModified: Self.newDate))
        let launch = place.launch()
        defer { launch.manager.invalidate() }
        let task = try await launch.start(server.url("file"), name: "file", checksum: nil)
        let digest = try await Checksum.digest(ofFileAt: task.file.path, algorithm: .sha256)
        #expect(try digest == server.digest("file"))
    }

    /// Nobody fails for that, and next to nobody asks in vain more than once.
    @Test(.enabled(if: RealServer.isThere(.nginx), "nginx is not installed"))
    func aListIsFetchedAtTheRateOfItsServer() async throws {
        let server = try await RealServer.started(.nginx, requestsPerSecond: 10)
        defer { server.stop() }
        let place = try Place()
        defer { place.remove() }
        let launch = place.launch()
        defer { launch.manager.invalidate() }
        let names = (0..<20).map { "file-\($0)" }
        for name in names { try server.put(name, .init(.generated(seed: 15, length: 1000))) }
        for task in launch.manager.multiDownload(names.map(server.url)) {
            #expect(try await Data(contentsOf: URL(fileURLWithPath: task.file.path)).count == 1000)
        }
        #expect(try server.accessLog(atLeast: names.count) { $0.status < 300 }.count == names.count)
        #expect(try (1...2 * names.count).contains(server.accessLog { $0.status == 429 }.count))
    }

    /// Downloads from a slow server until so many bytes are held, and ends the manager; how many are held then.
    private func stop(_ server: RealServer, _ place: Place, atLeast count: Int64) async throws -> Int64 {
        let launch = place.launch()
        defer { launch.manager.invalidate() }
        let task = try await launch.stop(server, "file", atLeast: count)
        try #require(task.status == .suspended, "\(task.error.map { "\($0)" } ?? "")")
        try #require((count..<Self.length).contains(task.completedBytes))
        return task.completedBytes
    }
}

extension DownloadInteropTests.Replacement {
    fileprivate func length(for length: Int64) -> Int64 {
        switch self {
        case .longer: length + 4097
        case .shorter: 1000
        case .sameLength: length
        }
    }
}

/// The directories of a manager, which outlive it.
private struct Place {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    func remove() {
        try? FileManager.default.removeItem(at: directory)
    }

    func launch() -> Launch {
        Launch(
            manager: SessionManager(
                "interop", transport: URLSessionTransport(),
                logger: ConsoleLogger(identifier: "interop", option: .none),
                cache: Cache("interop", downloadPath: directory.path)))
    }
}

/// A manager as one run of an application has it.
private struct Launch {
    let manager: SessionManager

    /// Returns when the task has been started.
    func start(_ url: URL, name: String, checksum: Checksum.Digest?) async throws -> DownloadTask {
        #expect(manager.unavailable == nil)
        return await withCheckedContinuation { continuation in
            manager.download(url, fileName: name, checksum: checksum, onMainQueue: false) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// Starts a download and suspends it as soon as it holds so many bytes, by its own callbacks: the threads that
    /// asynchronous tests share may be busy until it has all of them. The server stands still meanwhile, however long that
    /// takes. Returns when it has come to rest.
    func stop(_ server: RealServer, _ name: String, atLeast count: Int64) async throws -> DownloadTask {
        try #require(manager.unavailable == nil)
        let (url, program) = (server.url(name), server.program)
        defer { program.resume() }
        return await withCheckedContinuation { continuation in
            manager.download(url, fileName: name, onMainQueue: false) { [manager] task in
                task.completion(onMainQueue: false) { continuation.resume(returning: $0) }
                task.progress(onMainQueue: false) { task in
                    guard task.completedBytes >= count else { return }
                    program.pause()
                    manager.suspend(task)
                }
            }
        }
    }
}

extension RealServer {
    /// What nginx's access log says of a path after everything that is under way.
    fileprivate func finishedRequests(_ path: String) throws -> [LogEntry] {
        // Lines are written in the order of the requests' ends, by one process that does one thing at a time.
        _ = try LocalConnection(port: port)?.get("/nothing")
        return try accessLog().filter { $0.path == path }
    }
}
#endif
