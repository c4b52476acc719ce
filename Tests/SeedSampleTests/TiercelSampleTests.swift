import Foundation
import Lanner
import LannerTesting
import Testing

// How apps use Tiercel 3, as its own texts show it, in the language mode they are written in. That this file compiles is
// half of the test; the other half is that the calls do what is said beside them.

/// A screen whose class is of the main actor, as all of UIKit are.
@MainActor final class DownloadsLabel {
    var text = ""

    func watch(_ task: DownloadTask?, _ sessionManager: SessionManager) {
        task?.progress { [weak self] (task) in
            self?.text = task.speedString
        }.success { [weak self] (task) in
            self?.text = task.filePath
        }
        sessionManager.failure { (manager) in self.text = "\(manager.status)" }
        sessionManager.suspend("https://example.com/none") { _ in self.text += "!" }
    }
}

/// A screen that shows downloads.
final class DownloadsViewController {
    final class TableView {
        var reloads = 0
        func reloadData() { reloads += 1 }
    }

    let tableView = TableView()
    let sessionManager: SessionManager
    var events: [String] = []

    init(_ sessionManager: SessionManager) {
        self.sessionManager = sessionManager
    }

    func watchManager() {
        sessionManager.progress { [weak self] (manager) in
            self?.events.append("progress")
        }.completion { [weak self] (manager) in
            if manager.status == .succeeded {
                self?.events.append("succeeded")
            } else {
                self?.events.append("other")
            }
        }
    }

    func watchAll() {
        sessionManager.progress(onMainQueue: true) { (manager) in
            let progress = manager.progress.fractionCompleted
            self.events.append("progress \(progress > 0)")
        }.success { (manager) in
            self.events.append("success")
        }.failure { (manager) in
            if manager.status == .suspended {
                self.events.append("suspended")
            } else if manager.status == .failed {
                self.events.append("failed")
            } else if manager.status == .canceled {
                self.events.append("canceled")
            } else if manager.status == .removed {
                self.events.append("removed")
            }
        }
    }

    func watch(_ task: DownloadTask?) {
        task?.progress(onMainQueue: true) { (task) in
            let progress = task.progress.fractionCompleted
            self.events.append("progress \(progress <= 1)")
        }.success { (task) in
            self.events.append("success")
        }.failure { (task) in
            self.events.append("failure")
        }
    }

    func watchToTheEnd(_ task: DownloadTask?) {
        task?.progress(onMainQueue: true) { (task) in
            self.events.append("progress")
        }.completion { (task) in
            if task.status == .succeeded {
                self.events.append("succeeded")
            } else {
                self.events.append("\(task.status)")
            }
        }
    }
}

@Suite("T3: the samples of Tiercel 3") struct TiercelSampleTests {
    let URLString = "http://dldir1.example/qqfile/QQforMac/QQ_V4.2.4.dmg"
    let URLStrings = ["http://a.example/1.mp4", "http://a.example/2.mp4", "http://a.example/3.mp4"]
    let bench = TestBench()
    var sessionManager: SessionManager { bench.manager }
    let screen: DownloadsViewController

    init() {
        bench.transport.serveElsewhere(.init([UInt8](repeating: 7, count: 100_000)))
        screen = DownloadsViewController(bench.manager)
    }

    @Test func makesAManager() {
        let directory = NSTemporaryDirectory() + "lanner-samples-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let sessionManager: SessionManager = {
            var configuration = SessionConfiguration()
            configuration.allowsCellularAccess = true
            let manager = SessionManager(
                "default", configuration: configuration, cache: Cache("default", downloadPath: directory),
                operationQueue: DispatchQueue(label: "com.Tiercel.SessionManager.operationQueue"))
            return manager
        }()
        #expect(sessionManager.identifier == "default")
        #expect(sessionManager.configuration.allowsCellularAccess)
        #expect(sessionManager.operationQueue.label == "com.Tiercel.SessionManager.operationQueue")
        #expect(sessionManager.cache.downloadPath == directory)
        sessionManager.logger.option = .none
        sessionManager.invalidate()
    }

    @Test func downloadsWithOneLine() {
        let task = sessionManager.download(URLString)
        let tasks = sessionManager.multiDownload(URLStrings)
        bench.settle()
        #expect(task?.status == .succeeded)
        #expect(tasks.map { $0.url.absoluteString } == URLStrings)
        #expect(sessionManager.download("") == nil, "nil for what is no URL")
        #expect(sessionManager.download(URL(string: URLString)!) === task)
        #expect(sessionManager.download(URLComponents(string: URLString)!) === task)
    }

    @Test func callsBackForATask() {
        screen.watch(sessionManager.download(URLString))
        bench.settle()
        #expect(screen.events.first == "progress true")
        #expect(screen.events.last == "success")
    }

    @Test func completionTakesThePlaceOfBoth() {
        bench.transport.script("/qqfile/QQforMac/QQ_V4.2.4.dmg", .stall(afterBytes: 10))
        let task = sessionManager.download(URLString)
        screen.watchToTheEnd(task)
        bench.settle()
        sessionManager.suspend(URLString)
        bench.settle()
        sessionManager.start(URLString)
        bench.settle()
        #expect(screen.events.filter { $0 != "progress" } == ["suspended", "succeeded"])
    }

    @Test func callsBackForTheManager() {
        screen.watchManager()
        sessionManager.multiDownload(URLStrings)
        bench.settle()
        #expect(screen.events.last == "succeeded")
        screen.events = []
        screen.watchAll()
        bench.settle()
        // What takes the place of the others stays until it is set anew.
        #expect(screen.events.isEmpty)
    }

    @Test func tellsHowAllHaveEnded() {
        screen.watchAll()
        bench.transport.script("/1.mp4", .stall(afterBytes: 10))
        sessionManager.multiDownload(URLStrings)
        bench.settle()
        sessionManager.totalSuspend()
        bench.settle()
        #expect(screen.events.last == "suspended")
        sessionManager.totalStart()
        bench.settle()
        #expect(screen.events.last == "success")
        sessionManager.totalRemove(completely: true)
        bench.settle()
        #expect(screen.events.last == "removed")
        #expect(sessionManager.tasks.isEmpty)
    }

    @Test func notifies() {
        let task = sessionManager.download(URLString)
        let token = NotificationCenter.default.addObserver(
            forName: DownloadTask.didCompleteNotification, object: nil, queue: nil
        ) { [weak screen] (notification) in
            guard let posted = notification.downloadTask, posted === task else { return }
            screen?.events.append("\(posted.status)")
        }
        bench.settle()
        NotificationCenter.default.removeObserver(token)
        #expect(screen.events == ["succeeded"])
    }

    @Test func operatesByURLAndByTask() {
        bench.transport.script("/qqfile/QQforMac/QQ_V4.2.4.dmg", .stall(afterBytes: 10), .stall(afterBytes: 10))
        sessionManager.download(URLString)
        let task = sessionManager.fetchTask(URLString)
        bench.settle()
        sessionManager.suspend(URLString)
        bench.settle()
        #expect(task?.status == .suspended)
        sessionManager.start(task)
        bench.settle()
        #expect(task?.status == .running)
        sessionManager.suspend(task)
        sessionManager.cancel(task, onMainQueue: true) { [weak screen] (task) in
            screen?.tableView.reloadData()
        }
        bench.settle()
        #expect(task?.status == .canceled)
        #expect(sessionManager.tasks.isEmpty)
        sessionManager.remove(task, completely: false)
        sessionManager.totalCancel() { [weak screen] _ in
            screen?.tableView.reloadData()
        }
        bench.settle()
        #expect(screen.tableView.reloads == 2, "each handler once, also when there was nothing to do")
    }

    @Test func removalKeepsTheFinishedFileUnlessAskedTo() {
        let task = sessionManager.download(URLString)!
        bench.settle()
        sessionManager.remove(URLString, completely: false)
        bench.settle()
        #expect(bench.contents(of: task)?.count == 100_000)
        sessionManager.download(URLString)
        bench.settle()
        sessionManager.remove(URLString, completely: true)
        bench.settle()
        #expect(bench.contents(of: task) == nil)
    }

    @Test func validatesFiles() {
        let task = sessionManager.download(URLString)
        task?.validateFile(
            code: "9e2a3650530b563da297c9246acaad5c",
            type: .md5,
            onMainQueue: true
        ) { [weak screen] (task) in
            if task.validation == .correct {
                screen?.events.append("correct")
            } else {
                screen?.events.append("incorrect")
            }
        }
        bench.settle()
        #expect(screen.events == ["incorrect"])
    }

    @Test func changesTheConfigurationAndDownloadsInOneBreath() {
        sessionManager.configuration.allowsCellularAccess = true
        let task = sessionManager.download(URLString)
        bench.settle()
        #expect(task?.status == .succeeded)
        var configuration = SessionConfiguration()
        configuration.allowsCellularAccess = true
        configuration.maxConcurrentTasksLimit = 2
        configuration.timeoutIntervalForRequest = 60
        sessionManager.configuration = configuration
        #expect(sessionManager.configuration.maxConcurrentTasksLimit == 2)
    }

    @Test func putsTasksInOrder() {
        sessionManager.multiDownload(URLStrings)
        bench.settle()
        sessionManager.moveTask(at: 0, to: 2)
        #expect(sessionManager.tasks.map(\.url.lastPathComponent) == ["2.mp4", "3.mp4", "1.mp4"])
        sessionManager.tasksSort { $0.url.path < $1.url.path }
        #expect(sessionManager.tasks.map(\.url.lastPathComponent) == ["1.mp4", "2.mp4", "3.mp4"])
    }

    /// Every property the texts list, with the type they give it.
    @Test func hasTheProperties() throws {
        let task = try #require(sessionManager.download(URLString))
        bench.settle()
        let ofTask: (String, URL, Status, Validation, Progress, TimeInterval, String, TimeInterval, String) = (
            task.fileName, task.url, task.status, task.validation, task.progress, task.startDate, task.startDateString,
            task.endDate, task.endDateString
        )
        let more: (Int64, String, Int64, String, String, String?, Error?) = (
            task.speed, task.speedString, task.timeRemaining, task.timeRemainingString, task.filePath,
            task.pathExtension, task.error
        )
        let ofManager: (Logable, Bool, DispatchQueue, Status, Cache, String, Progress, Int64, String, Int64, String) = (
            sessionManager.logger, sessionManager.isControlNetworkActivityIndicator, sessionManager.operationQueue,
            sessionManager.status, sessionManager.cache, sessionManager.identifier, sessionManager.progress,
            sessionManager.speed, sessionManager.speedString, sessionManager.timeRemaining,
            sessionManager.timeRemainingString
        )
        #expect(ofTask.1.absoluteString == URLString)
        #expect(ofTask.0.hasSuffix(".dmg"), "the MD5 of the URL and its extension")
        #expect(more.5 == "dmg")
        #expect(more.6 == nil)
        #expect(ofManager.3 == .succeeded)
        let tasks: [DownloadTask] = sessionManager.tasks
        #expect(tasks == sessionManager.succeededTasks)
    }
}
