import Dispatch
import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ConfigurationTests {
    /// One is set while another is on its way to the engine.
    @Test func theConfigurationThatStaysIsTheOneThatCounts() {
        let clock = InterruptingClock()
        let manager = SessionManager(
            "configuration", configuration: SessionConfiguration(), transport: ScriptedTransport(), store: nil,
            logger: RecordingLog(), cache: Cache("configuration", downloadPath: "/downloads"),
            operationQueue: .global(),
            environment: Environment(clock: clock, fileSystem: MemoryDisk()))
        clock.interrupt { manager.configuration.maxConcurrentTasksLimit = 2 }
        manager.configuration.maxConcurrentTasksLimit = 1
        #expect(manager.configuration.maxConcurrentTasksLimit == 2)
        #expect(manager.engine.state.withLock { $0.machine.settings.maximumRunning } == 2)
        manager.invalidate()
    }

    /// Each has a file and a connection; what the process has besides needs some as well.
    @Test func noMoreRunThanMayHaveFilesOpen() {
        let environment = Environment(fileSystem: MemoryDisk())
        var configuration = SessionConfiguration()
        let running = [256, 257, Int.max, 0].map { limit in
            configuration.maxConcurrentTasksLimit = limit
            return configuration.settings(TransportTraits(delivery: .pausable), in: environment).maximumRunning
        }
        #expect(environment.fileSystem.maximumOpenFiles == 1024 && running == [256, 256, 256, 1])
    }

    /// It may have a lock of its own, which somebody holds who looks at the manager.
    @Test func theClockIsAskedOutsideTheLocks() throws {
        let (clock, lanes, transport) = (LookingClock(), ManualLanes(), ScriptedTransport())
        transport.serve(.init([1, 2, 3]), at: place)
        let manager = SessionManager(
            "looking", configuration: SessionConfiguration(), transport: transport,
            store: MemoryStore([:], lanes: lanes), logger: RecordingLog(),
            cache: Cache("looking", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: clock, fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation")))
        let task = try #require(manager.download(DownloadRequest(address, startsImmediately: false)))
        lanes.runAll()
        clock.look { _ = manager.tasks.map(\.status) }
        manager.configuration.maximumBytesPerSecond = 1 << 20
        task.maximumBytesPerSecond = 1 << 10
        manager.download(DownloadRequest(address, maximumBytesPerSecond: 1 << 20))
        lanes.runAll()
        #expect(task.status == .succeeded && clock.blockedCount == 0)
        manager.invalidate()
    }

    /// What runs is held to it from then on, and the next request is made with it.
    @Test(arguments: [30, 90] as [TimeInterval]) func anotherTimeoutAppliesToWhatRuns(timeout: TimeInterval) throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        configuration.timeoutIntervalForRequest = 60
        let bench = TestBench.serving(large, configuration: configuration)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(20))
        bench.manager.configuration.timeoutIntervalForRequest = timeout
        bench.run(for: .seconds(timeout - 21))
        #expect(task.status == .running)
        bench.run(for: .seconds(2))
        #expect(task.reason == .transport(.timedOut))
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.transport.requests.map(\.timeout) == [.seconds(60), .seconds(timeout)])
    }
}

/// Has another thread look at something while it is asked for the time.
private final class LookingClock: SessionManager.Clock {
    private let clock = ManualClock()
    private let state = Locked((work: (@Sendable () -> Void)?.none, blocked: 0))

    /// How often that thread had to wait for who asked.
    var blockedCount: Int { state.withLock { $0.blocked } }

    func look(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.work = work } }

    private func look() {
        guard let work = state.withLock({ $0.work }) else { return }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            work()
            done.signal()
        }
        if done.wait(timeout: .now() + 600) == .timedOut { state.withLock { $0.blocked += 1 } }
    }

    var now: Duration {
        look()
        return clock.now
    }

    var date: Date {
        look()
        return clock.date
    }

    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        clock.schedule(at: deadline, work)
    }
}

/// Does something the next time it is asked for the time.
private final class InterruptingClock: SessionManager.Clock {
    private let clock = ManualClock()
    private let work = Locked<(@Sendable () -> Void)?>(nil)

    func interrupt(_ work: @escaping @Sendable () -> Void) { self.work.withLock { $0 = work } }

    var now: Duration {
        let work = work.withLock { work in
            defer { work = nil }
            return work
        }
        work?()
        return clock.now
    }

    var date: Date { clock.date }

    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        clock.schedule(at: deadline, work)
    }
}
