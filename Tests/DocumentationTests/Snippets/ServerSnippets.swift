import Dispatch
import Foundation
import Lanner
import LannerCurl

// The Swift code of the article about servers, word for word and compiled.

private struct Server {
    // snippet: make a manager for a server
    func manager(at path: String) async throws -> SessionManager {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        configuration.maxConcurrentTasksLimit = 32
        configuration.maxConcurrentTasksPerHost = 4
        configuration.retryPolicy.maximumRetries = nil
        configuration.postsNotifications = false
        let cache = Cache("fetcher", downloadPath: path)
        while true {
            let manager = SessionManager(
                "fetcher", configuration: configuration, transport: try CurlTransport(), cache: cache)
            guard let error = manager.unavailable else { return manager }
            guard case .storeError(let reason) = error, reason.reason == .inUse else { throw error }
            try await Task.sleep(for: .seconds(1))
        }
    }
    // end

    // snippet: take a job
    func take(_ job: String, _ url: String, _ manager: SessionManager) async throws {
        try manager.add(DownloadRequest(url, key: job, list: "tenant 17", metadata: ["for": "tenant 17"]))
        try await manager.synchronize()
    }
    // end

    // snippet: deliver
    func deliver(_ manager: SessionManager, _ hand: (URL, String) async throws -> Void) async throws {
        let events = manager.events
        func take(_ task: DownloadTask) async throws {
            try await hand(URL(fileURLWithPath: task.filePath), task.key)
            manager.remove(task)
        }
        for task in manager.succeededTasks { try await take(task) }
        for await case .task(let task, .status(.succeeded)) in events where task.status == .succeeded {
            try await take(task)
        }
    }
    // end

    func end(_ manager: SessionManager) {
        // snippet: end
        let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        signal(SIGTERM, SIG_IGN)
        termination.setEventHandler {
            manager.invalidate()
            exit(0)
        }
        termination.resume()
        // end
    }
}
