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

    @Test func whenAHostThatIsLeftAloneIsAskedAgainIsTold() throws {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        bench.transport.limitRate(ofHost: "example.com", to: .init(1, in: .seconds(9)))
        let tasks = bench.manager.multiDownload((1...12).map { "https://example.com/\($0)" })
        bench.settle()
        let waiting = try #require(tasks.first { $0.waitingReason == .hostSlot })
        let end = try #require(waiting.waitingUntil)
        #expect(end > bench.clock.date)
        let asked = bench.transport.requests.count
        bench.run(for: .seconds(end.timeIntervalSince(bench.clock.date)) - .milliseconds(1))
        #expect(bench.transport.requests.count == asked)
        bench.run(for: .milliseconds(2))
        // Too early still: two are refused, by which it is not for a reason of their own.
        #expect(bench.transport.requests.count == asked + 2)
        bench.transport.limitRate(ofHost: "EXAMPLE.com", to: nil)
        #expect(bench.runToRest())
        #expect(tasks.allSatisfy { $0.status == .succeeded && $0.waitingUntil == nil })
    }
}
