import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// How slow a server may be, by the configuration.
@Suite struct SlowServerTests {
    /// A bench with one connection, and a task whose first answer is held.
    private func bench(
        retries: Int? = 0, _ change: (inout SessionConfiguration) -> Void
    ) throws -> (TestBench, DownloadTask) {
        var configuration = SessionConfiguration()
        configuration.maxConnectionsPerDownload = 1
        configuration.retryPolicy.maximumRetries = retries
        change(&configuration)
        let bench = TestBench.serving(large, configuration: configuration)
        let task = try bench.download(.hold)
        bench.settle()
        return (bench, task)
    }

    /// Has so many bytes come each second, and says after how many seconds the task was at rest; nil when it was not.
    private func trickle(_ bytes: Int64, to task: DownloadTask, on bench: TestBench) -> Int? {
        for second in 1...200 {
            bench.transport.release(place, bytes: bytes)
            bench.run(for: .seconds(1))
            if task.status.isAtRest { return second }
        }
        return nil
    }

    @Test func anAttemptIsGivenUpBelowTheLeastSpeed() throws {
        let (bench, task) = try bench { $0.minimumSpeed = 1000 }
        let seconds = try #require(trickle(500, to: task, on: bench))
        #expect((30...32).contains(seconds))
        #expect(task.reason == .transport(.timedOut))
    }

    @Test func anAttemptIsGivenUpWhenItTakesTooLong() throws {
        let (bench, task) = try bench { $0.timeoutIntervalForResource = 100 }
        // It begins with the answer.
        bench.run(for: .seconds(30))
        let seconds = try #require(trickle(500, to: task, on: bench))
        #expect((100...102).contains(seconds))
        #expect(task.reason == .transport(.timedOut))
    }

    @Test(arguments: [(1000, 2000), (0, 1)] as [(Int64, Int64)])
    func aServerThatIsQuickEnoughMayTakeItsTime(least: Int64, bytes: Int64) throws {
        let (bench, task) = try bench {
            $0.minimumSpeed = least
            // As of a setting that could not be read: that is no bound.
            $0.timeoutIntervalForResource = .nan
        }
        #expect(trickle(bytes, to: task, on: bench) == nil)
        #expect(task.status == .running && task.completedBytes >= 199 * bytes)
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: [false, true]) func whatIsGivenUpIsTriedAgainFromThere(forItsTime: Bool) throws {
        let (bench, task) = try bench(retries: 1) { configuration in
            if forItsTime {
                configuration.timeoutIntervalForResource = 100
            } else {
                configuration.minimumSpeed = 1000
            }
        }
        let seconds = try #require(trickle(500, to: task, on: bench))
        #expect((forItsTime ? 100...104 : 30...34).contains(seconds))
        #expect(task.status == .succeeded && bench.holds(large, in: task))
        let held = bench.ranges.last?.dropFirst("bytes=".count).dropLast()
        #expect(bench.ranges.count == 2 && held.flatMap { Int($0) } ?? 0 >= 14_000)
    }
}
