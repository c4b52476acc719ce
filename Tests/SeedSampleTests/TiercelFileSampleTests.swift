import Foundation
import Lanner
import LannerTesting
import Testing

// The rest of what the texts of Tiercel show: logs, caches, files, and the calls of its walk-through.

/// A logger as apps have it: a class with variables. Here only the thread of the test touches them.
final class SilentLogger: Logable, @unchecked Sendable {
    let identifier: String
    var option: LogOption = .default
    private(set) var lines: [String] = []

    init(identifier: String) {
        self.identifier = identifier
    }

    func log(_ type: LogType) {
        switch type {
        case .sessionManager(let message, let manager): lines.append("\(message) \(manager.identifier)")
        case .downloadTask(let message, let task): lines.append("\(message) \(task.fileName)")
        case .error(let message, let error): lines.append("\(message) \(error)")
        }
    }
}

/// A page of an app's own that knows where it is.
struct Film: URLConvertible {
    let number: Int

    func asURL() throws -> URL {
        guard let url = URL(string: "http://a.example/\(number).mp4") else {
            throw LannerError.invalidURL(url: "\(number)")
        }
        return url
    }
}

@Suite("T3: the other samples of Tiercel 3") struct TiercelFileSampleTests {
    let URLString = "http://dldir1.example/qqfile/QQforMac/QQ_V4.2.4.dmg"
    let bench = TestBench()
    var sessionManager: SessionManager { bench.manager }
    let screen: DownloadsViewController

    init() {
        bench.transport.serveElsewhere(.init([UInt8](repeating: 7, count: 100_000)))
        screen = DownloadsViewController(bench.manager)
    }

    /// A directory on the disk, for what looks there.
    private func inDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "lanner-samples-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    @Test func chainsEverything() {
        sessionManager.download(URLString)?.progress { (task) in
            screen.events.append("progress")
        }.completion { (task) in
            if task.status == .succeeded {
                screen.events.append("succeeded")
            } else {
                screen.events.append("other")
            }
        }.validateFile(code: "9e2a3650530b563da297c9246acaad5c", type: .md5) { (task) in
            if task.validation == .correct {
                screen.events.append("correct")
            } else {
                screen.events.append("incorrect")
            }
        }
        bench.settle()
        #expect(screen.events.first == "progress")
        #expect(screen.events.contains("succeeded") && screen.events.contains("incorrect"))
    }

    @Test func takesWhateverIsAURL() {
        let task = sessionManager.download(Film(number: 7))
        #expect(task?.url.absoluteString == "http://a.example/7.mp4")
        #expect(sessionManager.fetchTask(Film(number: 7)) === task)
    }

    @Test func updatesTheTaskOfAURL() {
        bench.transport.script("/qqfile/QQforMac/QQ_V4.2.4.dmg", .stall(afterBytes: 10))
        let task = sessionManager.download(URLString, fileName: "old.dmg")
        bench.settle()
        #expect(sessionManager.download(URLString, headers: ["X-Part": "2"], fileName: "new.dmg") === task)
        bench.transport.release()
        bench.settle()
        #expect(task?.fileName == "new.dmg")
    }

    @Test func logsToALoggerOfItsOwn() async throws {
        try await inDirectory { directory in
            let logger = SilentLogger(identifier: "default")
            let manager = SessionManager(
                "default", configuration: SessionConfiguration(), transport: bench.transport, logger: logger,
                cache: Cache("default", downloadPath: directory))
            #expect(manager.download("no URL") == nil)
            #expect(logger.lines.contains { $0.contains("no URL") })
            manager.logger.option = .none
            let count = logger.lines.count
            #expect(manager.download("no URL") == nil)
            #expect(logger.lines.count == count)
            manager.invalidate()
        }
    }

    @Test func knowsItsDirectoriesAndFiles() async throws {
        try await inDirectory { directory in
            let cache = Cache(
                "default", downloadPath: directory, downloadTmpPath: directory + "/Tmp",
                downloadFilePath: directory + "/File")
            #expect(cache.downloadPath == directory)
            #expect(cache.downloadTmpPath == directory + "/Tmp")
            #expect(cache.filePath(fileName: "a.dmg") == nil && cache.fileURL(url: URLString) == nil)
            try FileManager.default.createDirectory(atPath: cache.downloadFilePath, withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: cache.downloadFilePath + "/a.dmg"))
            let name = try #require(sessionManager.download(URLString)).fileName
            try Data([1]).write(to: URL(fileURLWithPath: cache.downloadFilePath + "/" + name))
            #expect(cache.filePath(fileName: "a.dmg") == directory + "/File/a.dmg")
            #expect(cache.fileURL(fileName: "a.dmg")?.lastPathComponent == "a.dmg")
            #expect(cache.fileExists(fileName: "a.dmg"))
            #expect(cache.filePath(url: URLString) == directory + "/File/" + name)
            #expect(cache.fileExists(url: URLString))
            await withCheckedContinuation { continuation in
                cache.clearDiskCache(onMainQueue: false) { _ in continuation.resume() }
            }
            #expect(!cache.fileExists(fileName: "a.dmg") && !cache.fileExists(url: URLString))
        }
    }

    @Test func checksAnyFile() async throws {
        try await inDirectory { directory in
            let filePath = directory + "/file"
            try Data("abc".utf8).write(to: URL(fileURLWithPath: filePath))
            let right: Result<Bool, FileVerificationError> = await withCheckedContinuation { continuation in
                FileChecksumHelper.validateFile(filePath, code: "900150983CD24FB0D6963F7D28E17F72", type: .md5) {
                    continuation.resume(returning: $0)
                }
            }
            #expect(right == .success(true))
            let wrong = await withCheckedContinuation { continuation in
                FileChecksumHelper.validateFile(filePath, code: "9e2a3650530b563da297c9246acaad5c", type: .md5) {
                    continuation.resume(returning: $0)
                }
            }
            #expect(wrong == .failure(.codeMismatch(code: "9e2a3650530b563da297c9246acaad5c")))
        }
    }

    @Test func notifiesOfTheManager() {
        let token = NotificationCenter.default.addObserver(
            forName: SessionManager.didCompleteNotification, object: sessionManager, queue: nil
        ) { [weak screen] (notification) in
            guard let manager = notification.sessionManager else { return }
            screen?.events.append("\(manager.status)")
        }
        sessionManager.download(URLString)
        bench.settle()
        NotificationCenter.default.removeObserver(token)
        #expect(screen.events == ["succeeded"])
    }
}
