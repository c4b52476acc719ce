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
