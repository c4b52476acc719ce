import Dispatch
import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Callbacks that are set while another thread is telling of an end: told once, by exactly one of the two.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    /// A bench whose drainer waits in the logger, on a thread of its own, at the line that ends so.
    private func bench(heldAt line: String) throws -> (TestBench, DownloadTask, HoldingLog) {
        let bench = TestBench.serving(large)
        let log = HoldingLog(at: line)
        bench.manager.logger = log
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        return (bench, task, log)
    }

    @Test func anEndThatIsBeingToldIsToldOnce() async throws {
        let (bench, task, log) = try bench(heldAt: "is succeeded")
        let calls = Tally()
        let thread = await log.hold(bench) { $0.transport.release() }
        #expect(task.status == .succeeded, "it shows already, and is not told yet")
        task.success { _ in calls.add("success") }
        task.completion { _ in calls.add("completion") }
        log.letGo()
        await thread.end()
        bench.settle()
        #expect(calls.all == ["completion"], "which takes the place of the success, and once")
    }

    /// Whoever listens first and then looks misses none, though others are being told at that moment.
    @Test func whoListensAndThenLooksMissesNoSuccess() async throws {
        let bench = TestBench()
        let names = ["one", "two", "three"]
        for name in names {
            bench.transport.serve(.init([1]), at: "/" + name)
            bench.transport.script("/" + name, .hold)
        }
        let manager = bench.manager
        manager.multiDownload(names.map { "https://example.com/" + $0 })
        bench.settle()
        let (seen, events) = (Tally(), Locked<EventSequence<SessionEvent>?>(nil))
        manager.logger = LogThatCalls(at: "is succeeded") {
            events.withLock { $0 = manager.events }
            for task in manager.succeededTasks { seen.add(task.url.lastPathComponent) }
        }
        bench.transport.release()
        bench.settle()
        manager.invalidate()
        bench.settle()
        let sequence = try #require(events.withLock { $0 })
        var isFirst = true
        for await event in sequence {
            if isFirst, case .status = event {} else { #expect(!isFirst, "it begins with how things stand") }
            isFirst = false
            if case .task(let task, .status(.succeeded)) = event { seen.add(task.url.lastPathComponent) }
        }
        #expect(Set(seen.all) == Set(names))
    }

    @Test func anEndThatIsOverIsNotTold() async throws {
        let (bench, task, log) = try bench(heldAt: "is suspended")
        let calls = Tally()
        let thread = await log.hold(bench) { $0.manager.suspend(task) }
        #expect(task.status == .suspended)
        bench.manager.start(task)
        task.failure { calls.add("failure \($0.status.rawValue)") }
        log.letGo()
        await thread.end()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(calls.all == [], "it was started again before the callback was set")
    }

    @Test func aValidationAskedForAtTheEndIsAnsweredOnce() async throws {
        let (bench, task, log) = try bench(heldAt: "is succeeded")
        let calls = Tally()
        let thread = await log.hold(bench) { $0.transport.release() }
        task.validateFile(code: "", type: .md5) { calls.add($0.validation.rawValue) }
        log.letGo()
        await thread.end()
        bench.settle()
        #expect(calls.all == ["incorrect"])
    }
}

/// Work on a thread of its own, which may wait.
private final class HeldThread: Sendable {
    private let done = DispatchGroup()

    init(_ work: @escaping @Sendable () -> Void) {
        done.enter()
        let thread = Thread { [done] in
            work()
            done.leave()
        }
        thread.start()
    }

    func end() async {
        await withCheckedContinuation { continuation in done.notify(queue: .global()) { continuation.resume() } }
    }
}

/// A logger that holds its caller at one line until it is let go.
private final class HoldingLog: Logable {
    let identifier = "holding"
    private let line: String
    private let reached = DispatchGroup()
    private let released = DispatchSemaphore(value: 0)
    private let state = Locked((option: LogOption.default, hasHeld: false))

    init(at line: String) {
        self.line = line
        reached.enter()
    }

    var option: LogOption {
        get { state.withLock { $0.option } }
        set { state.withLock { $0.option = newValue } }
    }

    func log(_ type: LogType) {
        guard case .downloadTask(let message, _) = type, message == line else { return }
        let isFirst = state.withLock { state in
            defer { state.hasHeld = true }
            return !state.hasHeld
        }
        guard isFirst else { return }
        reached.leave()
        released.wait()
    }

    /// Has a thread of its own do something with the bench and what follows from it; returns once it is held.
    func hold(_ bench: TestBench, at work: @escaping @Sendable (TestBench) -> Void) async -> HeldThread {
        let thread = HeldThread {
            work(bench)
            bench.settle()
        }
        await withCheckedContinuation { continuation in reached.notify(queue: .global()) { continuation.resume() } }
        return thread
    }

    func letGo() { released.signal() }
}
