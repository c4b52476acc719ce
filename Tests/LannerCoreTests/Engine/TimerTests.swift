import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct TimerTests {
    /// Whoever is at work has looked at the clock before, and takes the timer to the machine.
    @Test(arguments: 1...8) func aTimerThatComesBehindALookAtTheClockIsDue(look: Int) throws {
        let rehearsal = try Waiting()
        while rehearsal.task.status == .waiting {
            rehearsal.clock.manual.advance(to: try #require(rehearsal.clock.manual.nextDeadline))
            rehearsal.lanes.runAll()
        }
        let retry = rehearsal.clock.manual.now
        rehearsal.manager.invalidate()

        let waiting = try Waiting()
        let (manager, clock) = (waiting.manager, waiting.clock)
        clock.manual.advance(to: retry - .microseconds(1))
        waiting.lanes.runAll()
        #expect(waiting.task.status == .waiting)
        clock.behind(look) { clock.manual.advance(to: retry) }
        // Nothing that the machine has to know of.
        let observations = (0..<4).map { _ in manager.observe(onMainQueue: false) { _ in } }
        waiting.lanes.runAll()
        #expect(clock.manual.now == retry && waiting.task.status == .succeeded)
        observations.forEach { $0.cancel() }
        manager.invalidate()
    }
}

/// A download that waits until it is tried again.
private struct Waiting {
    let clock = LateClock()
    let lanes = ManualLanes()
    let manager: SessionManager
    let task: DownloadTask

    init() throws {
        let transport = ScriptedTransport()
        transport.serve(.init([1, 2, 3]), at: "/file.bin")
        transport.script("/file.bin", .failure(.connectionLost))
        manager = SessionManager(
            "timer", configuration: SessionConfiguration(), transport: transport, store: MemoryStore(lanes: lanes),
            logger: RecordingLog(), cache: Cache("timer", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: clock, fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: 1))
        task = try #require(manager.download("https://example.com/file.bin"))
        lanes.runAll()
        #expect(task.status == .waiting)
    }
}

/// Does something right behind a look at it: what was seen is old by then.
private final class LateClock: SessionManager.Clock {
    let manual = ManualClock()
    private let late = Locked<(looks: Int, work: (@Sendable () -> Void)?)>((0, nil))

    func behind(_ look: Int, _ work: @escaping @Sendable () -> Void) { late.withLock { $0 = (look, work) } }

    var now: Duration {
        let now = manual.now
        let work = late.withLock { late -> (@Sendable () -> Void)? in
            late.looks -= 1
            guard late.looks == 0 else { return nil }
            defer { late.work = nil }
            return late.work
        }
        work?()
        return now
    }

    var date: Date { manual.date }

    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        manual.schedule(at: deadline, work)
    }
}
