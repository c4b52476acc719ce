import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A handler that is given to a method is called exactly once, never inside the method, with what happened.
@Suite struct HandlerTests {
    private let nowhere = "https://example.com/nowhere?key=secret"

    @Test(arguments: ["https://example.com/nowhere", "no URL at all", ""])
    func everyVerbAnswersForAURLWithoutATask(url: String) throws {
        let bench = TestBench()
        let calls = Tally()
        let told = Locked<[DownloadTask]>([])
        let note = { @Sendable (verb: String, task: DownloadTask) in
            calls.add("\(verb) on \(bench.lanes.current ?? "none")")
            told.withLock { $0.append(task) }
        }
        bench.manager.start(url) { note("start", $0) }
        bench.manager.suspend(url, onMainQueue: false) { note("suspend", $0) }
        bench.manager.cancel(url) { note("cancel", $0) }
        bench.manager.remove(url, onMainQueue: false) { note("remove", $0) }
        #expect(calls.all.isEmpty, "never inside the call")
        bench.settle()
        #expect(calls.all == ["start on main", "suspend on operation", "cancel on main", "remove on operation"])
        for task in told.withLock({ $0 }) {
            #expect(task.status == .removed && task.manager == nil)
            guard case .fetchDownloadTaskFailed = task.error as? LannerError else {
                return #expect(Bool(false), "\(String(describing: task.error))")
            }
        }
        #expect(bench.manager.tasks.isEmpty)
    }

    @Test func aRefusedDownloadAnswers() throws {
        let bench = TestBench()
        let told = Locked<[DownloadTask]>([])
        let note: @Sendable (DownloadTask) -> Void = { task in told.withLock { $0.append(task) } }
        #expect(bench.manager.download("ftp://example.com/f", handler: note) == nil)
        #expect(bench.manager.download("", handler: note) == nil)
        #expect(bench.manager.download(address, fileName: "../x", handler: note) == nil)
        #expect(told.withLock { $0.isEmpty }, "never inside the call")
        bench.manager.invalidate()
        #expect(bench.manager.download(address, handler: note) == nil)
        bench.settle()
        let tasks = told.withLock { $0 }
        #expect(tasks.count == 4)
        #expect(tasks.allSatisfy { $0.status == .failed && $0.manager == nil && $0.error is LannerError })
        #expect(tasks.map(\.url.absoluteString) == ["ftp://example.com/f", "file:///dev/null", address, address])
    }

    @Test func aTaskWithoutAManagerStandsStill() async throws {
        let bench = TestBench()
        let task = DownloadTask(nowhere: address, .removed, LannerError.invalidated, bench.manager.cache)
        task.progress { _ in }.success { _ in }.failure { _ in }
        var events = task.events.makeAsyncIterator()
        guard case .status(.removed) = await events.next() else { return #expect(Bool(false)) }
        #expect(await events.next() == nil)
        await #expect(throws: LannerError.self) { _ = try await task.file }
    }

    @Test func theManagerLivesUntilItHasAnswered() {
        let bench = TestBench()
        let calls = Tally()
        weak var manager: SessionManager?
        do {
            let own = bench.other("other")
            manager = own
            own.multiDownload(["https://example.com/a"])
            own.totalSuspend { calls.add($0.status.rawValue) }
        }
        bench.settle()
        #expect(calls.all == ["suspended"])
        #expect(manager == nil)
    }

    @Test func invalidatingAnswersEveryHandlerThatWaits() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        let calls = Tally()
        bench.manager.suspend(task) { _ in calls.add("suspend") }
        bench.manager.totalRemove { _ in calls.add("remove") }
        task.validateFile(code: "", type: .md5) { _ in calls.add("validate") }
        bench.manager.invalidate()
        task.validateFile(code: "", type: .md5) { _ in calls.add("validate later") }
        bench.settle()
        #expect(calls.all.sorted() == ["remove", "suspend", "validate", "validate later"])
    }
}

/// `validateFile` answers once, whatever becomes of the task.
@Suite struct ValidationTests {
    private let bytes: [UInt8] = [1, 2, 3]
    private let md5 = "5289DF737DF57326FCDD22597AFB1FAC"

    /// A task that is held before its answer, and what its validation is told.
    private func held() throws -> (TestBench, DownloadTask, Tally) {
        let bench = TestBench.serving(bytes)
        let calls = Tally()
        let task = try bench.download(.hold)
        bench.settle()
        task.validateFile(code: md5, type: .md5) { calls.add("\($0.status.rawValue) \($0.validation.rawValue)") }
        bench.settle()
        #expect(calls.all.isEmpty)
        return (bench, task, calls)
    }

    @Test func comparesWhenTheFileIsThere() throws {
        let (bench, task, calls) = try held()
        bench.manager.suspend(task)
        bench.settle()
        #expect(calls.all.isEmpty, "it may go on")
        bench.manager.start(task)
        bench.settle()
        #expect(calls.all == ["succeeded correct"])
        task.validateFile(code: "00", type: .md5, onMainQueue: false) {
            calls.add("\($0.validation.rawValue) on \(bench.lanes.current ?? "none")")
        }
        bench.settle()
        #expect(calls.all.last == "incorrect on operation")
        bench.relaunch()
        #expect(bench.manager.fetchTask(address)?.validation == .incorrect)
    }

    @Test func answersWhenTheTaskFails() throws {
        let (bench, task, calls) = try held()
        bench.transport.fail(with: .secureConnectionFailed)
        bench.settle()
        #expect(calls.all == ["failed unknown"])
        task.validateFile(code: md5, type: .md5) { calls.add("again \($0.status.rawValue)") }
        bench.settle()
        #expect(calls.all.last == "again failed")
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && calls.all.count == 2)
    }

    @Test(arguments: [true, false]) func answersWhenTheTaskGoes(isCanceled: Bool) throws {
        let (bench, task, calls) = try held()
        if isCanceled { bench.manager.cancel(task) } else { bench.manager.remove(task) }
        bench.settle()
        #expect(calls.all == [isCanceled ? "canceled unknown" : "removed unknown"])
    }

    @Test func answersWhenAnotherTakesItsPlace() throws {
        let (bench, task, calls) = try held()
        task.validateFile(code: md5, type: .md5) { calls.add("second \($0.validation.rawValue)") }
        bench.settle()
        #expect(calls.all == ["running unknown"])
        bench.transport.release()
        bench.settle()
        #expect(calls.all == ["running unknown", "second correct"])
    }

    /// Many may wait for their turn, and the end waits for none of them.
    @Test func whatWaitsForItsTurnAtTheEndIsNotCompared() throws {
        let (bench, task, calls) = try held()
        bench.transport.release()
        try bench.step { task.status == .succeeded }
        bench.manager.invalidate()
        bench.settle()
        #expect(calls.all == ["succeeded unknown"])
    }

    @Test func whatGoesOnBeforeItsTurnIsComparedAtItsNextEnd() throws {
        let (bench, task, calls) = try held()
        bench.transport.release()
        try bench.step { task.status == .succeeded }
        try bench.disk.remove(task.filePath)
        bench.transport.script(place, .hold)
        bench.manager.download(address)
        while bench.lanes.runNext("validation") {}
        #expect(task.status != .succeeded && calls.all.isEmpty)
        bench.settle()
        bench.transport.release()
        bench.settle()
        #expect(calls.all == ["succeeded correct"])
    }

    /// A manager's file, and what it was asked to compare it with, in turns that the test gives.
    private final class TurnLanes: LaneFactory {
        let lanes = ManualLanes()
        let turns = Locked<[@Sendable () -> Void]>([])

        func makeLane(_ label: String) -> any Lane { lanes.makeLane(label) }
        func wait(for latch: Latch) { lanes.wait(for: latch) }
        func runLong(_ label: String, _ work: @escaping @Sendable () -> Void) { turns.withLock { $0.append(work) } }
    }

    @Test func filesAreComparedInTheTurnsOfLongWork() throws {
        let (lanes, transport, calls) = (TurnLanes(), ScriptedTransport(), Tally())
        transport.serveElsewhere(.init(bytes))
        let manager = SessionManager(
            "turns", configuration: SessionConfiguration(), transport: transport,
            store: MemoryStore([:], lanes: lanes.lanes), logger: RecordingLog(),
            cache: Cache("turns", downloadPath: "/turns"), operationQueue: .global(),
            environment: Environment(
                clock: ManualClock(), fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: 1))
        manager.multiDownload((0..<5).map { "https://a.example/\($0)" })
        lanes.lanes.runAll()
        for task in manager.tasks { task.validateFile(code: md5, type: .md5) { calls.add($0.validation.rawValue) } }
        let checksum = try digest(of: bytes)
        manager.download("https://a.example/0", checksum: checksum)
        lanes.lanes.runAll()
        #expect(calls.all.isEmpty && lanes.turns.withLock { $0.count } == 6)
        while !lanes.turns.withLock({ $0.isEmpty }) { lanes.turns.withLock { $0.removeFirst() }() }
        lanes.lanes.runAll()
        #expect(calls.all == Array(repeating: "correct", count: 5))
        manager.invalidate()
    }

    @Test func aFileThatCannotBeReadIsNotIncorrect() throws {
        let (bench, _, calls) = try held()
        bench.disk.fail(.read, with: .inputOutput)
        bench.transport.release()
        bench.settle()
        #expect(calls.all == ["succeeded unknown"])
        #expect(bench.log.errors.count == 1)
    }

    @Test func answersWhenTheManagerIsGone() async throws {
        let bench = TestBench()
        let task = try #require(bench.other("other").download(address))
        #expect(task.manager == nil)
        let told = await withCheckedContinuation { continuation in
            task.validateFile(code: md5, type: .md5) { continuation.resume(returning: $0) }
        }
        #expect(told === task && task.validation == .unknown)
    }
}

extension TestBench {
    /// Another manager in the same process, on a directory of its own.
    func other(
        _ name: String, over transport: (any Transport)? = nil, _ store: (any Store)? = nil
    ) -> SessionManager {
        SessionManager(
            name, configuration: SessionConfiguration(), transport: transport ?? ScriptedTransport(clock: clock),
            store: store ?? MemoryStore([:], lanes: lanes), logger: log, cache: Cache(name, downloadPath: "/" + name),
            operationQueue: .global(),
            environment: Environment(
                clock: clock, fileSystem: disk, lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: 1))
    }
}
