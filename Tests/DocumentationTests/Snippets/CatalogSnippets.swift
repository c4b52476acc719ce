import Foundation
import Lanner
import LannerCurl
import LannerTesting
import Testing

// The Swift code of the articles, word for word and compiled; what is a test is run.

private func gettingStarted() throws {
    // snippet: make a manager
    let manager = SessionManager("podcasts")
    // end

    // snippet: one line
    manager.download("https://example.com/episode.mp3")?
        .progress { task in print(task.progress.fractionCompleted, task.speedString) }
        .success { task in print("saved to \(task.filePath)") }
        .failure { task in print("stopped:", task.error ?? task.status) }
    // end

    // snippet: verbs
    manager.suspend("https://example.com/episode.mp3")
    manager.start("https://example.com/episode.mp3")
    manager.cancel("https://example.com/episode.mp3") { task in print(task.status) }
    manager.totalSuspend { manager in print("nothing runs") }
    // end

    // snippet: batch
    let tasks = manager.multiDownload(["https://example.com/1.mp3", "https://example.com/2.mp3"])
    tasks.success { task in print(task.fileName, "is there") }
    // end
}

private func waitingForAFile(_ manager: SessionManager) async throws {
    // snippet: await a file
    guard let task = manager.download("https://example.com/episode.mp3") else { return }
    let file = try await task.file
    print(try Data(contentsOf: file).count)
    // end
}

private func resuming() {
    // snippet: at launch
    var configuration = SessionConfiguration()
    configuration.resumesAtLaunch = true
    let manager = SessionManager("podcasts", configuration: configuration)
    if let reason = manager.unavailable { print("cannot be used:", reason) }
    // end
}

private func paused(_ isPaused: Bool) {
    var configuration = SessionConfiguration()
    // snippet: paused at launch
    configuration.resumesAtLaunch = true
    configuration.isShutDownAtLaunch = isPaused
    // end
    _ = configuration
}

private func retrying() {
    // snippet: retries
    var configuration = SessionConfiguration()
    configuration.retryPolicy = RetryPolicy(maximumRetries: nil, maximumDelay: .seconds(300))
    configuration.minimumSpeed = 1_000
    configuration.waitsForDiskSpace = true
    // end
    _ = configuration
}

private func queues(_ manager: SessionManager) {
    // snippet: lists
    manager.configuration.maxConcurrentTasksLimit = 8
    manager.configuration.listLimits = ["films": 1]
    manager.configuration.standardListLimit = 3
    manager.download(DownloadRequest("https://example.com/film.mp4", key: "film 17", list: "films"))
    manager.download(DownloadRequest("https://example.com/cover.jpg", list: "pictures"))
    // end

    // snippet: order
    manager.moveTask(at: 3, to: 0)
    manager.tasksSort { $0.startDate < $1.startDate }
    // end

    // snippet: adding
    manager.download(DownloadRequest("https://example.com/2.mp4", list: "films", startsImmediately: false))
    manager.startWaiting(list: "films")
    // end

    // snippet: priorities
    manager.download(DownloadRequest("https://example.com/3.mp4", priority: .high))
    manager.fetchTask("https://example.com/2.mp4")?.priority = .low
    // end

    // snippet: hosts
    manager.configuration.maxConcurrentTasksPerHost = 2
    // end

    // snippet: pausing all
    manager.shutDown()
    manager.context = manager.context  // what ran or waited does so again; what was suspended stays so
    // end

    // snippet: contexts
    manager.context = "user 17"
    manager.download("https://example.com/private.pdf")
    manager.context = "user 18"  // what user 17 had is hidden and stopped
    manager.context = "user 17"  // and goes on
    // end
}

private func waiting(_ task: DownloadTask) {
    // snippet: why it waits
    switch task.waitingReason {
    case .slot, .listSlot, .hostSlot: print("comes after others")
    case .network: print("waits for a network")
    case .disk: print("waits for space")
    case .retry: print("tries again soon:", task.error ?? "")
    case .context: print("belongs to another context")
    case nil: print(task.status)
    }
    // end
}

private func verifying(_ manager: SessionManager, _ lines: [String]) throws {
    // snippet: while it arrives
    let sha256 = try Checksum.Digest(parsing: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
    manager.download("https://example.com/archive.zip", checksum: sha256)
    manager.configuration.retryPolicy.maximumChecksumRetries = 2
    // end

    // snippet: piece by piece
    let pieces = try Checksum.Pieces(
        length: 1 << 20, digests: lines.map { try Checksum.Digest(algorithm: .sha256, hexadecimal: $0) })
    manager.download(DownloadRequest("https://example.com/image.iso", pieces: pieces))
    // end

    // snippet: afterwards
    manager.fetchTask("https://example.com/archive.zip")?
        .validateFile(code: "acbd18db4cc2f85cedef654fccc4a4d8", type: .md5) { task in
            print(task.validation == .correct)
        }
    // end
}

private func hashers() {
    // snippet: a hasher of your own
    let manager = SessionManager("certified", hasherProvider: { algorithm in CertifiedHasher(algorithm) })
    // end
    _ = manager
}

/// Another's implementation of the algorithms.
private struct CertifiedHasher: Checksum.Hasher {
    private var hasher: any Checksum.Hasher

    init(_ algorithm: Checksum.Algorithm) { hasher = algorithm.makeHasher() }
    mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func digest() -> [UInt8] { hasher.digest() }
}

private func anyFile(_ path: String) {
    // snippet: any file
    FileChecksumHelper.validateFile(path, code: "acbd18db4cc2f85cedef654fccc4a4d8", type: .md5) { result in
        print((try? result.get()) != nil)
    }
    // end
}

private func transports() {
    // snippet: curl
    let transport: any Transport = (try? CurlTransport()) ?? URLSessionTransport()
    let manager = SessionManager("podcasts", transport: transport)
    // end
    _ = manager
}

private func following(_ task: DownloadTask) async {
    // snippet: events
    for await event in task.events {
        switch event {
        case .status(let status): print(status)
        case .progress(let completed, let total): print(completed, "of", total ?? 0)
        case .restarted(let reason): print("bytes given up:", reason)
        case .retrying(let error, let delay): print(error, "again in", delay)
        case .response(let head): print("the server answers", head.status)
        }
    }
    // end
}

private func followingAll(_ manager: SessionManager, _ urls: [String]) async {
    // snippet: observers
    let observation = manager.observe { event in
        switch event {
        case .added(let task): print("added", task.url)
        case .task(let task, .status(let status)): print(task.url, status)
        case .task: break
        case .removed(let task): print("removed", task.url)
        case .progress(let all): print(all.completedBytes, "of", all.totalBytes, "in", all.counts.all)
        case .status(let status): print("all together:", status)
        }
    }
    let group = manager.multiDownload(urls).group
    for await progress in group.updates {
        print(progress.fractionCompleted)
        if progress.counts[.waiting] + progress.counts[.running] == 0 { break }
    }
    observation.cancel()
    // end
}

private func network(_ manager: SessionManager) {
    // snippet: network
    manager.configuration.allowsCellularAccess = true
    manager.configuration.allowsExpensiveNetworkAccess = false
    // end
}

private func links(_ signedURL: @escaping @Sendable (URL) async throws -> (url: URL, expires: Date)) {
    // snippet: links
    let manager = SessionManager("podcasts") { request in
        let (url, expires) = try await signedURL(request.task.url)
        return DownloadLink(url: url, expirationDate: expires)
    }
    manager.download(DownloadRequest("https://example.com/episodes/17", key: "episode 17"))
    // end
}

struct CatalogSnippets {
    // snippet: a test
    @Test func goesOnWhereItWas() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.transport.script("/one.mp3", .cut(afterBytes: 400_000))
        let task = try #require(bench.manager.download("https://example.com/one.mp3"))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.transport.requests.last?.fields["Range"] == "bytes=400000-")
    }
    // end
}
