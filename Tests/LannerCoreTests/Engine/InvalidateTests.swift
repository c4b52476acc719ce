import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct InvalidateTests {
    @Test func endsEverything() async throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(2))
        let calls = Tally()
        bench.manager.suspend(task) { _ in calls.add("suspend") }
        let file = Task { try await task.file }
        bench.manager.invalidate()
        await #expect(throws: LannerError.self) { _ = try await file.value }
        await #expect(throws: LannerError.self) { _ = try await task.file }
        bench.settle()
        #expect(calls.all == ["suspend"])
        #expect(bench.transport.underway == 0)
        bench.manager.start(task) { _ in calls.add("start") }
        bench.manager.totalStart { _ in calls.add("totalStart") }
        #expect(bench.manager.download("https://example.com/other") == nil)
        bench.run(for: .seconds(100))
        #expect(calls.all == ["suspend", "start", "totalStart"])
        #expect(bench.transport.requests.count == 1)
        bench.manager.invalidate()
    }

    @Test func freesTheDirectoryAtOnce() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download(.stall(afterBytes: 1_500_000))
        bench.settle()
        bench.manager.invalidate()
        let next = bench.manager(on: MemoryStore(bench.contents, lanes: bench.lanes))
        #expect(next.unavailable == nil)
        let task = try #require(next.fetchTask(address))
        next.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
        #expect(first.status == .running, "the old one stands still")
        next.invalidate()
    }

    @Test func keepsASecondManagerOut() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        let second = bench.manager(on: MemoryStore([:], lanes: bench.lanes))
        guard case .storeError(let error) = second.unavailable else {
            return #expect(Bool(false), "\(String(describing: second.unavailable))")
        }
        #expect(error.reason == .inUse)
        #expect(second.download(address) == nil)
        #expect(second.tasks.isEmpty)
        let calls = Tally()
        second.totalStart { _ in calls.add("start") }
        second.invalidate()
        bench.transport.release()
        bench.settle()
        #expect(calls.all == ["start"])
        #expect(bench.holds(large, in: task) == true, "the first is not disturbed")
    }

    /// Whatever the store: the directory has one manager.
    @Test func takesItsLockBeforeItMakesAnything() throws {
        let bench = TestBench()
        let cache = Cache("a", downloadPath: "/downloads", downloadTmpPath: "/other/Tmp")
        let second = bench.manager(on: MemoryStore([:], lanes: bench.lanes), cache)
        #expect(second.unavailable != nil)
        #expect(throws: FileError.self) { try bench.disk.list("/other") }
    }

    @Test func allDirectoriesMayBeOne() throws {
        let bench = TestBench()
        let cache = Cache("a", downloadPath: "/all", downloadTmpPath: "/all", downloadFilePath: "/all")
        let store = FileStore(directory: "/all", disk: bench.disk, lanes: bench.lanes)
        let manager = bench.manager(on: store, cache)
        #expect(manager.unavailable == nil)
        let task = try #require(manager.download(address))
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        manager.invalidate()
    }

    /// What is wrong with a store of the caller's own is said in that one's words.
    @Test func tellsWhatAStoreSays() {
        struct Locked: LocalizedError { var errorDescription: String? { "the database is locked" } }
        let old = NSError(domain: "db", code: 5, userInfo: [NSLocalizedDescriptionKey: "no database"])
        for (error, words) in [(Locked() as any Error, "the database is locked"), (old, "no database")] {
            let bench = TestBench(store: { _ in FailingStore(error) })
            #expect(bench.manager.unavailable?.localizedDescription == "The store could not be read: \(words)")
        }
    }

    @Test func tellsWhyItCannotBeUsed() {
        let disk = MemoryDisk()
        disk.fail(.makeDirectory, with: .notPermitted)
        let bench = TestBench(disk: disk)
        guard case .cacheError(let path, let message) = bench.manager.unavailable else {
            return #expect(Bool(false), "\(String(describing: bench.manager.unavailable))")
        }
        #expect(path.hasPrefix("/downloads"))
        #expect(message.contains("permi"))
        #expect(bench.manager.unavailable?.localizedDescription == message, "which has the path")
        #expect(bench.log.errors.count == 1)
        bench.relaunch()
        #expect(bench.manager.unavailable == nil)
    }

    /// Records that a crash has torn are mended by the next manager that can be used.
    @Test func changesNothingWhereItCannotBeUsed() throws {
        let (disk, lanes) = (MemoryDisk(), ManualLanes())
        @Sendable func makeStore() -> FileStore { FileStore(directory: "/downloads", disk: disk, lanes: lanes) }
        let store = makeStore()
        _ = try store.load()
        store.commit([.put(key: "key", value: Data([1]))], durability: .machine) { _ in }
        lanes.runAll()
        store.close()
        let journal = try #require(disk.paths.last { $0.contains("journal") })
        let whole = try #require(disk.contents(of: journal))
        disk.put(whole + [1, 2, 3], at: journal)
        disk.fail(.list, with: .inputOutput, path: "/downloads/Tmp")
        let bench = TestBench(disk: disk, store: { _ in makeStore() })
        #expect(bench.manager.unavailable != nil)
        #expect(disk.contents(of: journal) == whole + [1, 2, 3])
        #expect(bench.relaunch(store: makeStore()).unavailable == nil)
        #expect(disk.contents(of: journal) == whole)
    }

    @Test func recordsWhatWasReceived() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 0))
        bench.settle()
        // Nothing of it is written while the lanes stand still.
        bench.transport.release(bytes: 2_500_000)
        #expect(task.completedBytes == 0)
        bench.manager.invalidate()
        #expect(bench.records.first?.saved.written.count == 2_500_000)
        #expect(bench.files.first.flatMap { bench.disk.contents(of: $0) } == Array(large[..<2_500_000]))
        #expect(bench.disk.openFiles == 0)
    }

    @Test func doesWhatWasAskedBefore() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let bench = TestBench.serving(large, configuration: configuration)
        let canceled = try bench.download(.stall(afterBytes: 1 << 20))
        bench.transport.serve(.init(large), at: "/other")
        bench.transport.script("/other", .stall(afterBytes: 1 << 20))
        let other = "https://example.com/other"
        let suspended = try #require(bench.manager.download(other))
        bench.settle()
        let calls = Tally()
        bench.manager.cancel(canceled) { _ in calls.add("cancel") }
        bench.manager.suspend(suspended) { _ in calls.add("suspend") }
        bench.manager.invalidate()
        bench.settle()
        #expect(calls.all == ["cancel", "suspend"])
        #expect(bench.files.count == 1)
        bench.relaunch()
        bench.settle()
        #expect(bench.manager.fetchTask(address) == nil)
        #expect(bench.manager.fetchTask(other)?.status == .suspended)
        #expect(bench.manager.fetchTask(other)?.completedBytes == 1 << 20)
    }

    /// Wherever it was: all is closed at once, and the next manager ends with the right file.
    /// Nobody would let go of them.
    @Test func closuresThatAreSetAfterTheEndAreNotKept() throws {
        final class Held: Sendable {}
        weak var held: Held?
        let bench = TestBench.serving(large)
        let task = try bench.download()
        bench.settle()
        bench.manager.invalidate()
        do {
            let object = Held()
            held = object
            let (ofTask, ofAll): (DownloadTask.Handler, SessionManager.Handler) = (
                { _ in withExtendedLifetime(object) {} }, { _ in withExtendedLifetime(object) {} }
            )
            task.progress(onMainQueue: false, handler: ofTask).success(onMainQueue: false, handler: ofTask)
                .failure(onMainQueue: false, handler: ofTask).completion(onMainQueue: false, handler: ofTask)
            bench.manager.progress(onMainQueue: false, handler: ofAll).success(onMainQueue: false, handler: ofAll)
                .failure(onMainQueue: false, handler: ofAll).completion(onMainQueue: false, handler: ofAll)
        }
        bench.settle()
        #expect(held == nil)
    }

    @Test(arguments: [false, true]) func mayEndAtEveryStep(cancels: Bool) throws {
        let bytes = Sample.bytes(1000)
        for steps in 0... {
            let bench = TestBench.serving(bytes)
            let first = try bench.download(.cut(afterBytes: 300))
            let isOver = bench.run(steps: steps, of: first)
            if cancels { bench.manager.cancel(first) }
            bench.manager.invalidate()
            #expect(bench.disk.openFiles == 0, "after \(steps) steps")
            #expect(bench.transport.underway == 0)
            let files = bench.files
            bench.settle()
            #expect(bench.files == files, "nothing goes on")
            bench.relaunch()
            let task = try #require(bench.manager.download(address))
            #expect(bench.runToRest())
            #expect(bench.contents(of: task) == bytes, "after \(steps) steps")
            #expect(bench.files == [task.filePath])
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    /// Wherever it was: who is not wanted any more does not come back, and leaves nothing that he was to take with him.
    @Test(arguments: ["cancel", "remove", "remove completely"]) func nobodyComesBack(verb: String) throws {
        let bytes = Sample.bytes(1000)
        for steps in 0... {
            let bench = TestBench.serving(bytes)
            let task = try bench.download()
            let isOver = bench.run(steps: steps, of: task)
            switch verb {
            case "cancel": bench.manager.cancel(task)
            case "remove": bench.manager.remove(task)
            case _: bench.manager.remove(task, completely: true)
            }
            // What has succeeded is not canceled any more.
            if bench.machineState(of: task) == "succeeded" { return #expect(verb == "cancel" && steps > 10) }
            bench.manager.invalidate()
            let files = bench.files
            // The move may have been under way.
            #expect(files == [] || verb == "remove" && files == [task.filePath], "after \(steps) steps")
            bench.relaunch()
            #expect(bench.manager.tasks.isEmpty, "after \(steps) steps")
            bench.settle()
            #expect(bench.files == files)
            if isOver { return #expect(steps > 10) }
        }
    }

    /// The other way round: the manager ends at every step of what was asked before.
    @Test(arguments: [false, true]) func whatWasAskedIsDoneToItsEnd(hasSucceeded: Bool) throws {
        for steps in 0... {
            let bench = TestBench.serving(large)
            let task = try bench.download(hasSucceeded ? .pass : .stall(afterBytes: 1 << 20))
            bench.settle()
            let calls = Tally()
            if !hasSucceeded { bench.manager.suspend(task) }
            bench.settle()
            bench.manager.remove(task, completely: true) { _ in calls.add("removed") }
            let isOver = bench.run(steps: steps)
            bench.manager.invalidate()
            bench.settle()
            #expect(calls.all == ["removed"])
            #expect(bench.files.isEmpty, "after \(steps) steps")
            bench.relaunch()
            #expect(bench.manager.tasks.isEmpty)
            if isOver { return #expect(steps > 2) }
        }
    }

    /// What was asked for last asks for more, and the first is done in part.
    @Test(arguments: [false, true]) func theStrongerOfTwoWishesCounts(hasSucceeded: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        for steps in 0... {
            let bench = TestBench.serving(large, configuration: configuration)
            let task = try bench.download(hasSucceeded ? .pass : .stall(afterBytes: 1 << 20))
            bench.settle()
            if hasSucceeded { bench.manager.remove(task) } else { bench.manager.cancel(task) }
            _ = bench.run(steps: steps)
            bench.manager.remove(task, completely: true)
            // The first was done by then.
            if bench.machineState(of: task) == "gone" { return #expect(steps > 0) }
            bench.manager.invalidate()
            #expect(bench.files.isEmpty && bench.records.isEmpty, "after \(steps) steps")
        }
    }

    @Test func saysThatItIsOver() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download()
        bench.settle()
        bench.manager.invalidate()
        bench.log.clear()
        bench.manager.start(task)
        bench.manager.remove(task, completely: true)
        bench.manager.download(address)
        bench.manager.moveTask(at: 0, to: 0)
        bench.manager.tasksSort { _, _ in false }
        bench.manager.context = "other"
        bench.manager.shutDown()
        #expect(bench.log.errors.count == 7)
        for error in bench.log.errors {
            guard case .invalidated = error as? LannerError else { return #expect(Bool(false), "\(error)") }
        }
        #expect(bench.holds(large, in: task) == true)
    }

    @Test func mayBeCalledInACallback() throws {
        let bench = TestBench.serving(large)
        let calls = Tally()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.manager.progress { manager in
            manager.invalidate()
            let next = bench.manager(on: MemoryStore([:], lanes: bench.lanes))
            calls.add(next.unavailable == nil ? "free" : "in use")
            next.invalidate()
        }
        bench.run(for: .seconds(2))
        #expect(calls.all == ["free"])
        #expect(task.status == .running)
    }

    @Test(arguments: [false, true]) func tellsThatNothingIsActiveAnyMore(isLetGoOf: Bool) throws {
        let (bench, calls) = (TestBench(), Tally())
        var manager = Optional(bench.other("other"))
        manager?.networkActivityHandler = { calls.add("\($0)") }
        manager?.multiDownload(["https://example.com/a"])
        #expect(manager?.tasks.map(\.status) == [.running])
        if !isLetGoOf { manager?.invalidate() }
        manager = nil
        bench.settle()
        #expect(calls.all == ["true", "false"])
    }

    /// They would keep what they hold for ever: the manager, for example.
    @Test func keepsNoClosureThatComesTooLate() {
        let bench = TestBench()
        weak var left: SessionManager?
        do {
            let manager = bench.other("other")
            manager.invalidate()
            manager.taskCompletion(onMainQueue: false) { [manager] _ in _ = manager }
            manager.networkActivityHandler = { [manager] _ in _ = manager }
            left = manager
        }
        bench.settle()
        #expect(left == nil)
    }

    /// Closures and observers that come late.
    @Test func tellsHowThingsStandThoughItIsOver() throws {
        let bench = TestBench.serving(large)
        let (task, calls) = (try bench.download(), Tally())
        bench.settle()
        bench.manager.invalidate()
        task.success { calls.add("success \($0.status.rawValue)") }
        let token = task.observe { calls.add("event \($0.text)") }
        bench.settle()
        #expect(calls.all == ["success succeeded", "event succeeded"])
        withExtendedLifetime(token) {}
    }

    /// The end is on its way then, and is told by the closure that was set or by the news of it.
    @Test func tellsAnEndOnceToWhoAsksFromTheLogger() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.logger = LogThatCalls(at: "is suspended") { [weak manager = bench.manager] in
            manager?.invalidate()
            task.completion(onMainQueue: false) { calls.add($0.status.rawValue) }
        }
        bench.manager.suspend(task)
        bench.settle()
        #expect(calls.all == ["suspended"])
    }

    /// Here it cannot wait for what has called the logger.
    @Test func endsSoonWhenItsLoggerAsksForIt() throws {
        let bench = TestBench.serving(large)
        let logger = EndingLog()
        bench.manager.logger = logger
        logger.manager.withLock { $0 = bench.manager }
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        #expect(logger.manager.withLock { $0 } == nil, "it has been called")
        #expect(bench.disk.openFiles == 0)
        #expect(bench.transport.underway == 0)
        let next = bench.manager(on: MemoryStore([:], lanes: bench.lanes))
        #expect(next.unavailable == nil)
        next.invalidate()
    }
}

/// The end with threads.
@Suite(.timeLimit(.minutes(10))) struct InvalidateThreadTests {
    let disk = MemoryDisk()
    let transport = EndTellingTransport()
    let queue = DispatchQueue(label: "callbacks")

    private func manager(
        _ transport: any Transport, logger: any Logable = RecordingLog(), lanes: any LaneFactory = PooledLanes()
    ) -> SessionManager {
        SessionManager(
            "threads", configuration: SessionConfiguration(), transport: transport, store: nil, logger: logger,
            cache: Cache("threads", downloadPath: "/downloads"), operationQueue: queue,
            environment: Environment(fileSystem: disk, lanes: lanes, mainLane: DispatchLane(queue)))
    }

    /// Nothing else tells: its tasks stay as they are.
    @Test(arguments: [false, true]) func aManagerThatIsLetGoOfWhileItRunsSaysSo(runs: Bool) {
        let (log, transport) = (RecordingLog(), ScriptedTransport())
        transport.always(place, .hold)
        var manager = Optional(manager(transport, logger: log, lanes: ManualLanes()))
        let request = DownloadRequest(address, startsImmediately: false)
        _ = runs ? manager?.download(address) : manager?.download(request)
        manager = nil
        let isTold = log.errors.contains { if case LannerError.invalidated = $0 { true } else { false } }
        #expect(isTold == runs)
    }

    /// With the task may go the last to hold the manager, whose end waits for this lane.
    @Test func theLaneOfFilesDoesNotHoldATaskThatIsForgotten() {
        let lanes = KeepingLanes()
        let manager = manager(transport, lanes: lanes)
        weak let task = manager.download(address)
        transport.delivered.wait()
        let (kept, released) = (Latch(), Latch())
        lanes.keep(kept, until: released)
        manager.remove(address)
        kept.wait()
        let end = ContinuousClock.now + .seconds(600)
        while task != nil, ContinuousClock.now < end { usleep(1000) }
        #expect(task == nil)
        released.open()
    }

    /// Work of ours may hold the last task whose closure holds the manager, though not for long.
    @Test func aManagerThatIsLetGoOfOnItsOwnLaneDoesNotWaitForItself() {
        let held = Latch()
        do {
            let manager = manager(transport)
            manager.engine.fileLane.run {
                held.wait()
                withExtendedLifetime(manager) {}
            }
        }
        held.open()
        let end = ContinuousClock.now + .seconds(600)
        while self.manager(ScriptedTransport()).unavailable != nil, ContinuousClock.now < end { usleep(1000) }
        #expect(self.manager(ScriptedTransport()).unavailable == nil)
    }

    @Test func everyCallReturnsWhenAllIsDone() throws {
        let manager = manager(transport)
        let slow = disk.hold(.write)
        defer { slow.release() }
        let task = try #require(manager.download(address))
        transport.delivered.wait()
        let calls = (0..<2).map { _ in Latch() }
        for call in calls {
            Thread.detachNewThread {
                manager.invalidate()
                call.open()
            }
        }
        transport.invalidated.wait()
        // A file still writes.
        #expect(self.manager(ScriptedTransport()).unavailable != nil)
        #expect(calls.allSatisfy { !$0.isOpen })
        slow.release()
        calls.forEach { $0.wait() }
        #expect(disk.openFiles == 0)
        let next = self.manager(ScriptedTransport())
        #expect(next.unavailable == nil)
        #expect(next.fetchTask(address)?.completedBytes == 1 << 20)
        #expect(task.status == .running)
        next.invalidate()
    }

    @Test func mayBeCalledOnTheQueueOfCallbacks() throws {
        let manager = manager(transport)
        let done = Latch()
        manager.download(address, onMainQueue: false) { _ in
            manager.invalidate()
            let next = self.manager(ScriptedTransport())
            #expect(next.unavailable == nil)
            next.invalidate()
            done.open()
        }
        done.wait()
    }

    @Test func mayBeCalledInTheLogger() throws {
        let logger = EndingLog()
        let manager = manager(transport, logger: logger)
        logger.manager.withLock { $0 = manager }
        manager.download(address)
        // Waits for what the logger has begun.
        manager.invalidate()
        #expect(disk.openFiles == 0)
        #expect(self.manager(ScriptedTransport()).unavailable == nil)
    }

    /// It is in a call on a lane that the end has to wait for.
    @Test func aLoggerMayBeTheLastToHoldTheManager() {
        let (reached, released) = (Latch(), Latch())
        let ended = DispatchSemaphore(value: 0)
        do {
            let manager = manager(transport)
            manager.download(address)
            transport.delivered.wait()
            disk.fail(.remove, with: .notPermitted)
            manager.logger = HoldingLog(manager, reached, released)
            manager.remove(address, onMainQueue: false) { _ in ended.signal() }
            reached.wait()
            manager.logger = RecordingLog()
        }
        released.open()
        #expect(ended.wait(timeout: .now() + 600) == .success)
        #expect(self.manager(ScriptedTransport()).unavailable == nil)
    }
}

/// The lane of files keeps the next work that has run on it until it may let go.
private struct KeepingLanes: LaneFactory {
    private typealias Gates = (kept: Latch, released: Latch)

    private struct KeepingLane: Lane {
        let lane: any Lane
        let next: Locked<Gates?>

        func run(_ work: @escaping @Sendable () -> Void) {
            lane.run {
                work()
                let gates = next.withLock { next in
                    defer { next = nil }
                    return next
                }
                gates?.kept.open()
                gates?.released.wait()
                withExtendedLifetime(work) {}
            }
        }
    }

    private let lanes = PooledLanes()
    private let next = Locked<Gates?>(nil)

    func keep(_ kept: Latch, until released: Latch) {
        next.withLock { $0 = (kept, released) }
    }

    func makeLane(_ label: String) -> any Lane { lanes.makeLane(label) }

    func makeGatheringLane(_ label: String) -> any Lane {
        let lane = lanes.makeGatheringLane(label)
        return label == "files" ? KeepingLane(lane: lane, next: next) : lane
    }

    func wait(for latch: Latch) {
        lanes.wait(for: latch)
    }
}

/// A logger that holds the manager, and its first caller with an error until it is let go.
private final class HoldingLog: Logable {
    let identifier = "holding"
    private let manager: SessionManager
    private let reached: Latch
    private let released: Latch
    var option: LogOption {
        get { .default }
        set {}
    }

    init(_ manager: SessionManager, _ reached: Latch, _ released: Latch) {
        (self.manager, self.reached, self.released) = (manager, reached, released)
    }

    func log(_ type: LogType) {
        guard case .error = type else { return }
        reached.open()
        released.wait()
    }
}

/// A logger that ends the manager when it hears of a task for the first time.
private final class EndingLog: Logable {
    let identifier = "ending"
    let manager = Locked<SessionManager?>(nil)
    var option: LogOption {
        get { .default }
        set {}
    }

    func log(_ type: LogType) {
        guard case .downloadTask = type else { return }
        let manager = manager.withLock { manager in
            defer { manager = nil }
            return manager
        }
        manager?.invalidate()
    }
}

/// A transport that delivers a megabyte, stalls, and tells when it is invalidated.
final class EndTellingTransport: Transport {
    let delivered = Latch()
    let invalidated = Latch()
    private let transport = ScriptedTransport()

    init() {
        transport.serve(.init(large), at: place)
        transport.always(place, .stall(afterBytes: 1 << 20))
    }

    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        defer { delivered.open() }
        return transport.begin(request, receive: receive)
    }

    func invalidate() {
        transport.invalidate()
        invalidated.open()
    }
}

extension TestBench {
    /// Another manager in the same process, on the same directory unless said otherwise, with a transport of its own.
    func manager(
        on store: any Store, _ cache: Cache = Cache("second", downloadPath: "/downloads"), seed: UInt64 = 1
    ) -> SessionManager {
        let transport = ScriptedTransport(clock: clock)
        transport.serve(.init(large), at: place)
        return SessionManager(
            "second", configuration: SessionConfiguration(), transport: transport, store: store, logger: log,
            cache: cache, operationQueue: .global(),
            environment: Environment(
                clock: clock, fileSystem: disk, lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: seed))
    }
}

private final class FailingStore: Store {
    let error: any Error

    init(_ error: any Error) { self.error = error }

    func load() throws -> StoreContents { throw error }
    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {}
    func close() {}
}
