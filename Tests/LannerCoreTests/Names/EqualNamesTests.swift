import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

#if !canImport(Darwin)
/// Names that are equal as text and two on the disk, on a real one.
@Suite("N-10: names that only look the same") struct EqualNamesTests {
    private static let names = ["caf\u{E9}", "cafe\u{301}"]

    private let directory: TemporaryDirectory
    private let disk = NotingDisk()
    private let lanes = ManualLanes()
    private let transport: ScriptedTransport
    private let manager: SessionManager

    init() throws {
        directory = try TemporaryDirectory()
        let clock = ManualClock()
        transport = ScriptedTransport(traits: TransportTraits(delivery: .pausable), clock: clock)
        for (number, place) in ["/0", "/1"].enumerated() { transport.serve(.init([UInt8(number)]), at: place) }
        let environment = Environment(
            clock: clock, fileSystem: disk, lanes: lanes, network: ManualNetwork(), links: nil,
            mainLane: lanes.makeLane("main"), operationLane: lanes.makeLane("operation"), seed: 1)
        manager = SessionManager(
            "names", configuration: SessionConfiguration(), transport: transport, store: MemoryStore(lanes: lanes),
            logger: RecordingLog(), cache: Cache("names", downloadPath: directory.path), operationQueue: .global(),
            environment: environment)
    }

    private func download(_ requests: DownloadRequest...) throws -> [DownloadTask] {
        let tasks = manager.multiDownload(requests: requests)
        lanes.runAll()
        try #require(tasks.count == requests.count)
        return tasks
    }

    private func request(_ number: Int, name: String? = nil, destination: String? = nil) -> DownloadRequest {
        DownloadRequest("https://example.com/\(number)", fileName: name, destination: destination)
    }

    private func bytes(_ task: DownloadTask) -> Data? { FileManager.default.contents(atPath: task.filePath) }

    @Test func bothDirectoriesAreSynced() throws {
        let tasks = try download(
            request(0, destination: Self.names[0] + "/file"), request(1, destination: Self.names[1] + "/file"))
        #expect(tasks.map(\.status) == [.succeeded, .succeeded] && tasks.map(bytes) == [Data([0]), Data([1])])
        for task in tasks {
            #expect(disk.synced.withLock { $0.contains(Array(task.filePath.directory.utf8)) })
        }
    }

    @Test func eachHasItsPlace() throws {
        manager.configuration.fileConflictPolicy = .fail
        let tasks = try download(request(0, name: Self.names[0])) + download(request(1, name: Self.names[1]))
        #expect(tasks.map(\.status) == [.succeeded, .succeeded] && tasks.map(bytes) == [Data([0]), Data([1])])
        manager.remove(tasks[0], completely: true)
        lanes.runAll()
        #expect(tasks.map(bytes) == [nil, Data([1])])
    }

    @Test func bothDestinationsAreTaken() throws {
        let tasks = try download(request(0, destination: Self.names[0]), request(1, destination: Self.names[1]))
        #expect(tasks.map(\.status) == [.succeeded, .succeeded] && tasks.map(bytes) == [Data([0]), Data([1])])
    }

    @Test func theAllowedDirectoryIsTheOne() throws {
        let cache = Cache(
            "a", downloadPath: "/data/app", downloadFilePath: "/data/" + Self.names[0],
            allowedDirectories: ["/data/" + Self.names[1]])
        let asked = "/data/" + Self.names[1] + "/a"
        #expect(try PathKey(cache.path(of: FilePlace(destination: asked, in: cache))) == PathKey(asked))
    }
}

/// A real disk that notes which directories are synced.
private final class NotingDisk: FileSystem {
    let disk = PosixFileSystem()
    let synced = Locked<[[UInt8]]>([])

    func syncDirectory(_ path: String) throws(FileError) {
        synced.withLock { $0.append(Array(path.utf8)) }
        try disk.syncDirectory(path)
    }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile { try disk.open(path, mode) }
    func makeDirectory(_ path: String) throws(FileError) { try disk.makeDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String] { try disk.list(path) }
    func size(of path: String) throws(FileError) -> Int64? { try disk.size(of: path) }
    func remove(_ path: String) throws(FileError) { try disk.remove(path) }
    func rename(_ path: String, to target: String) throws(FileError) { try disk.rename(path, to: target) }
    func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        try disk.renameIfFree(path, to: target)
    }
    func hasRoom(for count: Int64, in directory: String) -> Bool { disk.hasRoom(for: count, in: directory) }
    func lock(_ path: String) throws(FileError) -> any FileLock { try disk.lock(path) }
    func bootIdentifier() -> String? { disk.bootIdentifier() }
}
#endif
