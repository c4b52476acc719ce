import LannerTesting
import Testing

/// Waiting for a clock to be asked. What it makes of time is in the contract tests.
@Suite(.timeLimit(.minutes(10))) struct ManualClockTests {
    @Test func whatIsScheduledAlreadyIsToldAtOnce() async throws {
        let clock = ManualClock()
        clock.schedule(at: .seconds(5)) {}
        clock.schedule(at: .seconds(3)) {}
        #expect(try await clock.waitUntilScheduled() == .seconds(3))
        #expect(try await clock.waitUntilScheduled() == .seconds(3))
        clock.advance(by: .seconds(4))
        #expect(try await clock.waitUntilScheduled() == .seconds(5))
    }

    /// From before it waits to well within its wait: so many turns for others.
    @Test(arguments: 0..<20) func whoWaitsIsToldOfWhatIsScheduledThen(_ turns: Int) async throws {
        let clock = ManualClock()
        // What is done is none that is scheduled.
        clock.schedule(at: .seconds(1)) {}
        clock.advance(by: .seconds(1))
        let waiting = Task { try await clock.waitUntilScheduled() }
        for _ in 0..<(5 * turns) { await Task.yield() }
        clock.schedule(at: .seconds(3)) {}
        #expect(try await waiting.value == .seconds(3))
    }

    @Test(arguments: 0..<20) func whoWaitsMayBeCanceled(_ turns: Int) async throws {
        let clock = ManualClock()
        let waiting = Task { try await clock.waitUntilScheduled() }
        let other = Task { try await clock.waitUntilScheduled() }
        for _ in 0..<(5 * turns) { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        clock.schedule(at: .seconds(3)) {}
        #expect(try await other.value == .seconds(3))
    }
}
