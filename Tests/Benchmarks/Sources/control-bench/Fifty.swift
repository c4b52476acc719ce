import Foundation
import LannerCore
import LannerCurl

/// Fifty large downloads that run at once, from a server of another process to a directory of the disk.
final class Fifty {
    static let count = 50
    /// So large that none ends meanwhile, and so small that fifty may be set aside on most disks.
    private static let length: Int64 = 1 << 30

    let manager: SessionManager
    private let server: ServerProcess
    private let directory: URL
    private var last = 0

    /// Starts them; `rate` is what the server gives over each connection in a second.
    init(in base: URL, rate: Int?) throws {
        server = try ServerProcess(length: Self.length, rate: rate)
        directory = base.appendingPathComponent("control-bench-\(UUID().uuidString)")
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = Self.count
        manager = SessionManager(
            "bench", configuration: configuration, transport: try CurlTransport(),
            cache: Cache("bench", downloadPath: directory.path))
        manager.logger.option = .none
        for _ in 0..<Self.count { add() }
    }

    var tasks: [DownloadTask] { manager.tasks }

    /// Starts one more.
    func add() {
        last += 1
        manager.download(server.url(last))
    }

    /// Waits until all run and have bytes, and longer than it takes until files are synced for the first time.
    func settle() throws {
        Thread.sleep(forTimeInterval: 6)
        while !tasks.allSatisfy({ $0.status == .running && $0.progress.completedUnitCount > 0 }) {
            if let error = tasks.lazy.compactMap(\.error).first { throw Unmeasured("\(error)") }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }

    /// Bytes that are there of all of them.
    var bytes: Int64 { tasks.reduce(0) { $0 + $1.progress.completedUnitCount } }

    func end() {
        manager.invalidate()
        server.stop()
        try? FileManager.default.removeItem(at: directory)
    }
}
