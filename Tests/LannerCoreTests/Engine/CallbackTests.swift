import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct CallbackTests {
    /// What a closure holds may call back while it goes.
    private final class Caller: Sendable {
        private let manager: SessionManager
        private let tally: Tally

        init(_ manager: SessionManager, _ tally: Tally) {
            self.manager = manager
            self.tally = tally
        }

        deinit {
            tally.add("gone with \(manager.tasks.count) tasks left")
        }
    }

    @Test func aClosureOfARemovedTaskIsLetGoOutsideTheLock() throws {
        let (bench, tally) = (TestBench.serving(large), Tally())
        bench.transport.script(place, .stall(afterBytes: 10))
        bench.manager.download(address)?.success { [caller = Caller(bench.manager, tally)] _ in _ = caller }
        bench.settle()
        bench.manager.remove(address)
        bench.settle()
        #expect(tally.all == ["gone with 0 tasks left"])
    }

    @Test func aReplacedClosureIsLetGoOutsideTheLock() throws {
        let (bench, tally) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 10))
        let (manager, caller) = (bench.manager, { [manager = bench.manager] in Caller(manager, tally) })
        for _ in 0..<2 {
            manager.success { [caller = caller()] _ in _ = caller }
            manager.progress { [caller = caller()] _ in _ = caller }
            task.success { [caller = caller()] _ in _ = caller }
            task.progress { [caller = caller()] _ in _ = caller }
            bench.settle()
        }
        #expect(tally.all.count == 4)
    }

    /// Closures are set before what an earlier process has left is started again: that it rested before is no end.
    @Test func aClosureThatIsSetOnATaskThatGoesOnIsNotToldOfItsRest() throws {
        let bench = TestBench.serving(large)
        _ = try bench.download(.stall(afterBytes: 10))
        bench.settle()
        let calls = Tally()
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.status == .suspended)
        task.completion { calls.add($0.status.rawValue) }
        bench.manager.totalStart()
        #expect(bench.runToRest())
        #expect(calls.all == ["succeeded"])
        task.completion { calls.add("again \($0.status)") }
        bench.settle()
        #expect(calls.all == ["succeeded", "again succeeded"])
    }

    /// Whoever is to be called may be busy until it has ended again.
    @Test func aClosureThatComesLateIsNotToldOfARestBeforeTheLast() throws {
        let bench = TestBench.serving(large)
        _ = try bench.download(.stall(afterBytes: 10))
        bench.settle()
        bench.relaunch()
        let (task, calls) = (try #require(bench.manager.fetchTask(address)), Tally())
        task.failure { calls.add("failure \($0.status.rawValue)") }.success { calls.add($0.status.rawValue) }
        bench.manager.totalStart()
        // Everything but the main queue.
        let labels = ["drain", "files", "file.write", "file.sync", "file.hash", "store", "operation"]
        while task.status != .succeeded { try #require(labels.contains { bench.lanes.runNext($0) }) }
        #expect(calls.all.isEmpty)
        bench.settle()
        #expect(calls.all == ["succeeded"])
    }

    /// So that a closure may ask whether it was the last.
    @Test func whatIsToldOfATaskIsTrueOfTheManager() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download()
        bench.manager.logger = LogThatCalls(at: "is succeeded") { [weak manager = bench.manager] in
            calls.add("\(manager?.status.rawValue ?? "") \(manager?.taskCounts[.succeeded] ?? 0)")
        }
        bench.settle()
        bench.manager.logger = LogThatCalls(at: "is removed") { [weak manager = bench.manager] in
            calls.add("\(manager?.status.rawValue ?? "") \(manager?.tasks.count ?? 1)")
            if manager?.fetchTask(address) == nil { calls.add("nowhere") }
        }
        bench.manager.remove(task)
        bench.settle()
        #expect(calls.all == ["succeeded 1", "removed 0", "nowhere"])
    }

    @Test func aClosureOfASuccessIsCalledThoughTheTaskIsRemovedAtOnce() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download()
        bench.settle()
        task.success { _ in calls.add("success") }
        bench.manager.remove(task)
        bench.settle()
        #expect(calls.all == ["success"])
    }

    @Test func callsOnTheLaneThatWasAskedFor() throws {
        let bench = TestBench.serving(large)
        let calls = Tally()
        let lane = { @Sendable (name: String) in calls.add("\(name) on \(bench.lanes.current ?? "none")") }
        let task = try bench.download()
        task.progress { _ in lane("progress") }
        task.success(onMainQueue: false) { _ in lane("success") }
        bench.manager.success { _ in lane("manager") }
        bench.manager.progress(onMainQueue: false) { _ in lane("manager progress") }
        bench.settle()
        #expect(
            Set(calls.all) == [
                "progress on main", "success on operation", "manager on main", "manager progress on operation",
            ])
        #expect(calls.all.filter { $0.hasPrefix("success") }.count == 1)
        #expect(calls.all.filter { $0.hasPrefix("manager on") }.count == 1)
    }

    @Test func tellsAnEndThatCameBefore() throws {
        let bench = TestBench.serving([1])
        let calls = Tally()
        let good = try bench.download()
        let bad = try #require(bench.manager.download("https://example.com/missing"))
        bench.settle()
        good.success { _ in calls.add("success") }.failure { _ in calls.add("wrong") }
        bad.success { _ in calls.add("wrong") }.failure { _ in calls.add("failure") }
        #expect(calls.all.isEmpty)
        bench.settle()
        #expect(calls.all.sorted() == ["failure", "success"])
        good.completion { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all.last == "succeeded" && calls.all.count == 3)
    }

    @Test func tellsNoEndBeforeTheStart() throws {
        let bench = TestBench.serving([1])
        let calls = Tally()
        let task = try bench.download(.hold)
        task.failure { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all.isEmpty)
    }

    @Test func tellsEachEnd() throws {
        let bench = TestBench.serving(large)
        let calls = Tally()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        task.failure { calls.add("failure \($0.status.rawValue)") }.success { _ in calls.add("success") }
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        bench.settle()
        #expect(calls.all == ["failure suspended", "success"])
    }

    @Test func completionTakesThePlaceOfTheOthers() throws {
        let bench = TestBench.serving([1])
        let calls = Tally()
        let task = try bench.download()
        task.success { _ in calls.add("success") }.completion { _ in calls.add("completion") }
        bench.settle()
        #expect(calls.all == ["completion"])
    }

    @Test func mayCallAnythingInside() throws {
        let bench = TestBench.serving(large)
        let calls = Tally()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let manager = bench.manager
        task.progress { task in
            if !calls.all.isEmpty { return }
            manager.suspend(task) { task in
                calls.add("suspended")
                manager.start(task) { _ in calls.add("started") }
            }
        }
        task.success { task in
            calls.add("success")
            manager.remove(task) { _ in
                calls.add("removed")
                manager.download(address)?.progress { _ in }.success { _ in
                    calls.add("again")
                    manager.invalidate()
                }
            }
        }
        bench.run(for: .seconds(10))
        bench.transport.release()
        bench.run(for: .seconds(10))
        #expect(calls.all.contains("suspended") && calls.all.contains("started"))
        #expect(calls.all.suffix(3) == ["success", "removed", "again"])
    }

    @Test func callsTheAPIFromItsLogger() throws {
        let bench = TestBench.serving(large)
        let logger = MeddlingLog()
        bench.manager.logger = logger
        logger.manager = bench.manager
        let task = try bench.download()
        bench.settle()
        #expect(logger.hasMeddled)
        #expect(task.status == .succeeded)
    }

    @Test func countsOneManagerEndForMany() {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        let calls = Tally()
        bench.manager.completion { calls.add($0.status.rawValue) }
        bench.manager.multiDownload((0..<20).map { "https://example.com/\($0)" })
        bench.settle()
        #expect(calls.all == ["succeeded"])
    }

    /// An app that waits for all of its files would do so for good when all are there.
    @Test(arguments: [1, 3]) func tellsTheEndWhereAllIsThere(count: Int) {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        let urls = (0..<count).map { "https://example.com/\($0)" }
        bench.manager.multiDownload(urls)
        bench.settle()
        bench.relaunch()
        let calls = Tally()
        bench.manager.success { calls.add("all \($0.status.rawValue)") }
        bench.settle()
        #expect(calls.all == [], "nothing has been asked for")
        let requests = bench.transport.requests.count
        if count == 1 { bench.manager.download(urls[0]) { _ in calls.add("batch") } }
        if count > 1 { bench.manager.multiDownload(urls) { _ in calls.add("batch") } }
        #expect(calls.all == [], "not inside the call")
        bench.settle()
        #expect(calls.all == ["batch", "all succeeded"] && bench.transport.requests.count == requests)
        // An end of its own is told once, and nothing is there of what cannot be used.
        bench.manager.multiDownload(urls + ["https://example.com/new"])
        bench.settle()
        bench.manager.multiDownload(["no URL"])
        bench.manager.multiDownload([])
        bench.manager.download(DownloadRequest(urls[0], context: "other"))
        bench.settle()
        #expect(calls.all == ["batch", "all succeeded", "all succeeded"])
    }

    @Test func waitsForTheFile() async throws {
        let bench = TestBench.serving([1, 2])
        let task = try bench.download(.hold)
        let file = Task { try await task.file }
        bench.settle()
        await waits(1, for: task)
        bench.transport.release()
        bench.settle()
        #expect(try await file.value.path == task.filePath)
        let missing = try #require(bench.manager.download("https://example.com/missing"))
        bench.settle()
        await #expect(throws: LannerError.self) { _ = try await missing.file }
        bench.manager.remove(task)
        bench.settle()
        let removed = await #expect(throws: LannerError.self) { _ = try await task.file }
        guard case .notFinished(.removed) = removed else { return #expect(Bool(false), "\(removed as Any)") }
    }

    @Test func thereIsNoFileThatSomebodyHasTakenAway() async throws {
        let bench = TestBench.serving([1, 2])
        let task = try bench.download()
        bench.settle()
        #expect(try await task.file.path == task.filePath)
        #expect(bench.disk.remove(at: task.filePath))
        let error = await #expect(throws: LannerError.self) { _ = try await task.file }
        guard case .failed(let failure) = error else { return #expect(Bool(false), "\(error as Any)") }
        #expect(failure.reason == .disk(.notFound) && failure.detail.contains(task.filePath))
    }

    /// In a chain on a task that has ended, in whatever order.
    @Test func aCompletionIsCalledInThePlaceOfASuccess() throws {
        let bench = TestBench.serving([1, 2])
        let (task, calls) = (try bench.download(), Tally())
        bench.settle()
        task.success { _ in calls.add("success") }.completion { _ in calls.add("completion") }
        bench.settle()
        #expect(calls.all == ["completion"])
    }

    /// A download whose server has yet to answer.
    private func heldBench() throws -> (TestBench, DownloadTask) {
        let bench = TestBench.serving([1, 2])
        let task = try bench.download(.hold)
        bench.settle()
        return (bench, task)
    }

    @Test func whoWaitsIsToldThatSomebodyHasSuspendedIt() async throws {
        let (bench, task) = try heldBench()
        let file = Task { try await task.file }
        await waits(1, for: task)
        bench.manager.suspend(task)
        bench.settle()
        let error = await #expect(throws: LannerError.self) { _ = try await file.value }
        guard case .notFinished(.suspended) = error else { return #expect(Bool(false), "\(error as Any)") }
    }

    /// One that gives up is no reason to end what others wait for.
    @Test func suspendsWhenTheLastWaitIsCanceled() async throws {
        let (bench, task) = try heldBench()
        let files = (0..<3).map { _ in Task { try await task.file } }
        await waits(3, for: task)
        for file in files {
            #expect(task.status == .running)
            file.cancel()
            await #expect(throws: CancellationError.self) { _ = try await file.value }
            bench.settle()
        }
        #expect(task.status == .suspended)
        #expect(task.state.withLock { $0.fileWaiters.isEmpty })
    }

    @Test func whoStillWaitsWhenOthersHaveGivenUpHasTheFile() async throws {
        let (bench, task) = try heldBench()
        let files = (0..<3).map { _ in Task { try await task.file } }
        await waits(3, for: task)
        for file in files[..<2] {
            file.cancel()
            await #expect(throws: CancellationError.self) { _ = try await file.value }
        }
        bench.settle()
        #expect(task.status == .running)
        bench.transport.release()
        bench.settle()
        #expect(try await files[2].value.path == task.filePath)
        #expect(task.state.withLock { $0.fileWaiters.isEmpty })
    }

    /// Until so many wait for a file.
    private func waits(_ count: Int, for task: DownloadTask) async {
        while task.state.withLock({ $0.fileWaiters.count }) < count { await Task.yield() }
    }

    /// Waits for a file, and is canceled: while it does, or before it begins to.
    private func waitInVain(for task: DownloadTask, isWaiting: Bool = true) async {
        let file = Task {
            if !isWaiting { while !Task.isCancelled { await Task.yield() } }
            return try await task.file
        }
        if isWaiting { await waits(1, for: task) }
        file.cancel()
        await #expect(throws: CancellationError.self) { _ = try await file.value }
    }

    @Test(arguments: [true, false])
    func suspendsWhenTheWaitIsCanceled(isWaiting: Bool) async throws {
        let (bench, task) = try heldBench()
        await waitInVain(for: task, isWaiting: isWaiting)
        #expect(task.status == .running, "not inside the cancellation, which may come under a lock")
        bench.settle()
        #expect(task.status == .suspended)
    }

    @Test func whoStartsItBeforeItIsSuspendedHasItGoOn() async throws {
        let (bench, task) = try heldBench()
        await waitInVain(for: task)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .running)
    }

    @Test func whoWaitsAgainBeforeItIsSuspendedHasItGoOn() async throws {
        let (bench, task) = try heldBench()
        await waitInVain(for: task)
        let again = Task { try await task.file }
        await waits(1, for: task)
        bench.settle()
        #expect(task.status == .running)
        bench.transport.release()
        bench.settle()
        #expect(try await again.value.path == task.filePath)
    }
}

/// A logger that calls the manager back.
private final class MeddlingLog: Logable {
    let identifier = "meddling"
    private let state = Locked((option: LogOption.default, manager: SessionManager?.none, hasMeddled: false))

    var option: LogOption {
        get { state.withLock { $0.option } }
        set { state.withLock { $0.option = newValue } }
    }

    var manager: SessionManager? {
        get { state.withLock { $0.manager } }
        set { state.withLock { $0.manager = newValue } }
    }

    /// Whether it was given a line of a task, and has called the manager.
    var hasMeddled: Bool { state.withLock { $0.hasMeddled } }

    func log(_ type: LogType) {
        guard case .downloadTask(_, let task) = type else { return }
        let mayMeddle = state.withLock { state in
            defer { state.hasMeddled = true }
            return !state.hasMeddled
        }
        if mayMeddle {
            _ = manager?.tasks.count
            manager?.suspend(task)
            manager?.download(task.url)?.failure { _ in }
        }
    }
}
