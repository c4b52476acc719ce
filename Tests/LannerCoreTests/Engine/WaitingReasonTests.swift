import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Why a task waits, told apart.
@Suite struct WaitingReasonTests {
    @Test func eachReasonHasItsName() throws {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        configuration.waitsForDiskSpace = true
        let bench = TestBench.serving(large, configuration: configuration)
        let task = try bench.download(.failure(.timedOut))
        bench.settle()
        guard case .retry(let retry) = task.waitingReason else {
            return #expect(Bool(false), "it waits for its retry, not for \(String(describing: task.waitingReason))")
        }
        let wait = try #require(task.waitingUntil).timeIntervalSince(bench.clock.date)
        #expect(abs(wait - (retry - bench.clock.now) / .seconds(1)) < 0.001)
        bench.disk.capacity = bench.disk.used
        bench.run(for: retry - bench.clock.now)
        guard case .disk(let time) = task.waitingReason else {
            return #expect(Bool(false), "it waits for the disk, not for \(String(describing: task.waitingReason))")
        }
        #expect(time > bench.clock.now)
        bench.disk.capacity = nil
        bench.network.path = .unavailable
        bench.run(for: Pace.diskWait)
        #expect(task.waitingReason == .network)
        bench.transport.serve(.init([1]), at: "/other")
        bench.transport.script("/other", .hold)
        bench.manager.download("https://example.com/other")
        bench.manager.moveTask(at: 1, to: 0)
        bench.network.path = NetworkPath()
        bench.settle()
        #expect(task.waitingReason == .slot)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.waitingReason == nil && task.waitingUntil == nil)
    }
}
