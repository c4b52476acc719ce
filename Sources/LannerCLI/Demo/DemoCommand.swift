import Foundation
import Lanner
import LannerLoopback

/// `lanner demo`: what the library does, shown over a server in this process.
enum DemoCommand {
    static func run() async -> ExitCode {
        let directory: String
        do throws(FileError) {
            directory = try makeDirectory()
        } catch {
            Console.error("the demonstration could not begin: \(error); set TMPDIR to a directory you may write in")
            return .failure
        }
        // No proxy gets to a server in this process.
        setenv("no_proxy", "127.0.0.1", 1)
        let interruption = Interruption()
        interruption.onSignal {
            try? FileManager.default.removeItem(atPath: directory)
            (interruption.received ?? .signal(SIGTERM)).end()
        }
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            let demo = try Demo(site: DemoSite(), directory: directory)
            let problems = await demo.run()
            problems.forEach(Console.error)
            return problems.isEmpty ? .success : .failure
        } catch {
            Console.error("the demonstration could not begin: \(error)")
            return .failure
        }
    }

    /// A new directory, of nobody else.
    private static func makeDirectory() throws(FileError) -> String {
        let place = FileManager.default.temporaryDirectory.path
        var path = Array((place + "/lanner-demo-XXXXXX").utf8CString)
        guard mkdtemp(&path) != nil else {
            throw FileError(operation: "make a directory in", path: place, code: errno)
        }
        return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// One run of the demonstration.
private struct Demo {
    let site: DemoSite
    let directory: String
    private let manager: SessionManager
    private let reporter: DemoReporter

    init(site: DemoSite, directory: String) throws {
        self.site = site
        self.directory = directory
        var configuration = SessionConfiguration()
        configuration.retryPolicy.baseDelay = .milliseconds(300)
        let transport = try TransportChoice.auto.make { Console.message($0) }
        manager = SessionManager(
            "lanner demo", configuration: configuration, transport: transport, network: UnwatchedNetwork(),
            logger: ConsoleLogger(identifier: "lanner", option: .none),
            cache: StateDirectory(in: directory).cache(filesIn: directory))
        if let error = manager.unavailable { throw error }
        reporter = DemoReporter(
            Terminal.current == nil ? PlainLines() : LiveBars(count: site.files.count))
    }

    /// Shows everything; returns what was not as it should be.
    func run() async -> [String] {
        reporter.note("A server on 127.0.0.1 has \(site.files.count) files; they go to \(directory).")
        reporter.note("It will cut a connection of \(DemoSite.large), and serves \(DemoSite.paused) slowly.")
        let outcomes = await download()
        reporter.finish()
        manager.invalidate()
        var problems = outcomes.filter { $0.value != .done }.map { "\($0.key) was not downloaded" }
        if !reporter.hasRetried { problems.append("the cut connection was not noticed") }
        for file in site.files {
            if let problem = verify(file) { problems.append(problem) }
        }
        summarize(problems)
        return problems
    }

    private func download() async -> [String: DownloadOutcome] {
        await withTaskGroup(of: (String, DownloadOutcome).self) { group in
            for (index, file) in site.files.enumerated() {
                group.addTask { (file.name, await download(file, index)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func download(_ file: DemoSite.File, _ index: Int) async -> DownloadOutcome {
        guard let follower = await start(file, index) else { return .suspended(goesOn: true) }
        guard file.name == DemoSite.paused else { return await follower.follow() }
        let task = follower.task
        async let stop: Void = suspend(task, after: file.resource.length / 4)
        guard case .suspended = await follower.follow() else { return .suspended(goesOn: true) }
        await stop
        try? await Task.sleep(for: .seconds(1))
        return await start(file, index)?.follow() ?? .suspended(goesOn: true)
    }

    private func start(_ file: DemoSite.File, _ index: Int) async -> Follower? {
        let url = site.server.url(file.name)
        let held = manager.fetchTask(url)?.completedBytes ?? 0
        let task = await withCheckedContinuation { continuation in
            manager.download(url, fileName: file.name, checksum: file.digest, onMainQueue: false) {
                continuation.resume(returning: $0)
            }
        }
        // The handler of what cannot be downloaded is given a task that no manager has.
        guard task.manager != nil else { return nil }
        let item = GetPlan.Item(
            url: url, shownURL: url.absoluteString, name: file.name, path: directory + "/" + file.name,
            checksum: file.digest)
        return Follower(index: index, item: item, task: task, held: held, reporter: reporter)
    }

    /// Suspends a task as soon as it has so many bytes.
    private func suspend(_ task: DownloadTask, after bytes: Int64) async {
        let events = task.events
        if task.completedBytes < bytes {
            for await case .progress(let completed, _) in events where completed >= bytes { break }
        }
        manager.suspend(task)
    }

    private func verify(_ file: DemoSite.File) -> String? {
        let path = directory + "/" + file.name
        do {
            let actual = try Checksum.digest(ofFileAt: path, algorithm: file.digest.algorithm)
            return actual == file.digest ? nil : "\(file.name) is not what the server has"
        } catch {
            return "\(error)".withoutFullStop
        }
    }

    private func summarize(_ problems: [String]) {
        let (sent, size) = (site.server.bytesSent(DemoSite.paused), site.files.first { $0.name == DemoSite.paused })
        let length = size?.resource.length ?? 0
        reporter.note(
            "\(DemoSite.paused) was suspended and resumed: the server sent \(Figures.bytes(sent)) for "
                + "\(Figures.bytes(length)).")
        if problems.isEmpty {
            reporter.note("The cut connection was made up for. All \(site.files.count) files have the right SHA-256.")
        }
    }
}

/// Passes everything on, and notes whether a download was tried again.
private final class DemoReporter: Reporter {
    private let reporter: any Reporter
    private let state = Locked(false)

    init(_ reporter: any Reporter) {
        self.reporter = reporter
    }

    var hasRetried: Bool { state.withLock { $0 } }
    var interval: Duration { reporter.interval }

    func report(_ report: DownloadReport) {
        if case .retrying = report.event { state.withLock { $0 = true } }
        reporter.report(report)
    }

    func note(_ line: String) { reporter.note(line) }
    func finish() { reporter.finish() }
}
