import Foundation
import Lanner

// The Swift code of the guides for those who come from Tiercel and from Reed, word for word and compiled.

// MARK: Tiercel

private func tiercel3() {
    // snippet: tiercel 3
    var configuration = SessionConfiguration()
    configuration.allowsCellularAccess = true
    let sessionManager = SessionManager("default", configuration: configuration)

    sessionManager.download("https://example.com/film.mp4")?
        .progress { task in print(task.progress.fractionCompleted, task.speedString) }
        .completion { task in print(task.status == .succeeded ? "there" : "not there") }
        .validateFile(code: "9e2a3650530b563da297c9246acaad5c", type: .md5) { task in
            if task.validation == .incorrect { print("another file") }
        }
    // end
}

private func tiercelTotals(_ sessionManager: SessionManager) {
    // snippet: tiercel totals
    sessionManager.progress(onMainQueue: true) { manager in
        print(manager.progress.fractionCompleted)
    }.success { manager in
        print("all have succeeded")
    }.failure { manager in
        print("nothing runs any more:", manager.status)
    }
    // end
}

private func tiercelConfiguration(_ sessionManager: SessionManager) {
    // snippet: in one breath
    sessionManager.configuration.allowsCellularAccess = true
    let task = sessionManager.download("https://example.com/film.mp4")
    // end
    _ = task
}

private func tiercelNotifications() {
    // snippet: notifications
    let observer = NotificationCenter.default.addObserver(
        forName: DownloadTask.didCompleteNotification, object: nil, queue: nil
    ) { notification in
        guard let task = notification.downloadTask else { return }
        print(task.url, task.status)
    }
    // end
    _ = observer
}

// snippet: logger
struct AppLogger: Logable {
    let identifier: String

    var option: LogOption {
        get { UserDefaults.standard.bool(forKey: "isSilent") ? .none : .default }
        nonmutating set { UserDefaults.standard.set(newValue == .none, forKey: "isSilent") }
    }

    func log(_ type: LogType) {
        if case .error(let message, let error) = type { print(identifier, message, error) }
    }
}
// end

private func tiercel1() {
    // snippet: tiercel 1
    var configuration = SessionConfiguration()
    configuration.maxConcurrentTasksLimit = 3  // MaximumRunning
    configuration.startsImmediately = false  // isStartDownloadImmediately
    configuration.fileNaming = .lastPathComponent  // how Tiercel 1 names files
    let downloadManager = SessionManager("videos", configuration: configuration)

    downloadManager.download("https://example.com/minion_01.mp4", fileName: "Minion 1.mp4")?
        .progress { task in print("progress", task.progress.fractionCompleted) }
        .success { task in print("complete") }
        .failure { task in print("suspended, canceled, removed or failed:", task.status) }
    downloadManager.start("https://example.com/minion_01.mp4")
    // end
}

private func tiercel1WithoutPersistence() {
    // snippet: tiercel 1 without records
    let downloadManager = SessionManager("videos", transport: DefaultTransport.make(), store: MemoryStore())
    // end
    _ = downloadManager
}

// MARK: Reed

private func reed() throws {
    // snippet: reed
    let documents = NSHomeDirectory() + "/Documents"
    var configuration = SessionConfiguration()
    configuration.standardListLimit = 3  // maxCount
    configuration.retryPolicy.maximumChecksumRetries = 3  // maxRetryCount
    configuration.contextAtLaunch = "user 17"  // context
    let cache = Cache("reed", allowedDirectories: [documents])
    let manager = SessionManager("reed", configuration: configuration, cache: cache)
    // end

    // snippet: reed start
    let md5 = try Checksum.Digest(algorithm: .md5, hexadecimal: "9e2a3650530b563da297c9246acaad5c")
    manager.download(
        DownloadRequest(
            "https://example.com/file.pdf", checksum: md5, key: "key", list: "PDF_DOWNLOAD_LIST",
            destination: documents + "/filename.pdf", conflictPolicy: .replace))
    // end

    // snippet: reed add
    manager.download(
        DownloadRequest(
            "https://example.com/other.pdf", key: "other", list: "PDF_DOWNLOAD_LIST",
            destination: documents + "/other.pdf", startsImmediately: false))
    manager.start(key: "other")  // this one
    manager.startWaiting()  // or all that were only added; those beyond the limits wait
    manager.startWaiting(list: "PDF_DOWNLOAD_LIST")  // or those of a list
    // end
}

private func reedVerbs(_ manager: SessionManager) {
    // snippet: reed verbs
    manager.suspend(key: "key")
    manager.suspend(key: "key", startsNext: false)
    manager.start(keys: ["key", "other"])
    manager.remove(keys: ["key", "other"], completely: true)
    // end
}

private func reedContext(_ manager: SessionManager) {
    // snippet: reed context
    manager.shutDown()  // logout: nothing runs
    manager.context = "user 18"  // login: the downloads of this user are there, and go on
    // end
}

private func reedQueries(_ manager: SessionManager) {
    // snippet: reed queries
    let isDownloading = manager.status(key: "key") == .running
    let isUnknown = manager.status(key: "key") == nil
    let waiting = manager.taskCounts(list: "PDF_DOWNLOAD_LIST")[.waiting]
    let complete = manager.succeededTasks(list: "PDF_DOWNLOAD_LIST")
    // end
    print(isDownloading, isUnknown, waiting, complete)
}

private func reedReasons(_ task: DownloadTask) {
    // snippet: reed reasons
    switch task.error as? LannerError {
    case .failed(let failure) where failure.reason == .disk(.noSpace): print("fullSpace")
    case .failed(let failure) where failure.reason == .checksumMismatch: print("md5Verification")
    case .failed(let failure) where failure.reason == .transport(.timedOut): print("timeout")
    case .failed(let failure) where failure.reason == .transport(.notConnected): print("noNetwork")
    case .some(let error): print(error)
    case nil: break
    }
    // end
}

private func reedLinks(_ freshURL: @escaping @Sendable (String) async throws -> URL) {
    // snippet: reed links
    var configuration = SessionConfiguration()
    configuration.refreshesLinksBeforeStart = true
    let manager = SessionManager("reed", configuration: configuration) { request in
        DownloadLink(url: try await freshURL(request.task.key))
    }
    // end
    _ = manager
}
