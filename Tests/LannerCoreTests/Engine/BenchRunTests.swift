import Foundation
import Testing

@testable import LannerCore
@testable import LannerTesting

/// Asynchronous code over a bench.
@Suite(.timeLimit(.minutes(5))) struct BenchRunTests {
    @MainActor private final class App {
        let manager: SessionManager
        private(set) var files: [URL] = []

        init(_ manager: SessionManager) { self.manager = manager }

        func get(_ url: String) async throws {
            guard let task = manager.download(url) else { throw LannerError.invalidURL(url: url) }
            files.append(try await task.file)
        }
    }

    @Test @MainActor func timePassesUntilItsFileIsThere() async throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.transport.script(place, .status(503, ["Retry-After": "20"]))
        let app = App(bench.manager)
        try await bench.run { try await app.get(address) }
        #expect(app.files.map(\.lastPathComponent) == [try #require(bench.manager.tasks.first).fileName])
        #expect(bench.clock.now >= .seconds(20))
    }

    @Test func timePassesUpToTheLimitWhereSomethingStillRuns() throws {
        let bench = TestBench.serving([1, 2, 3])
        let task = try bench.download(.hold)
        bench.settle()
        let begin = bench.clock.now
        #expect(!bench.runToRest(within: .milliseconds(20_300)) && task.status == .running)
        #expect(bench.clock.now - begin == .milliseconds(20_300))
    }

    /// The clock may be moved by hand as well.
    @Test func whatIsDueByTheClockHappensAtOnce() throws {
        let bench = TestBench.serving([1, 2, 3])
        let task = try bench.download(.status(503, ["Retry-After": "20"]))
        bench.settle()
        bench.clock.advance(by: .seconds(19))
        bench.settle()
        #expect(task.status == .waiting)
        bench.clock.advance(by: .seconds(1))
        bench.settle()
        #expect(task.status == .succeeded)
    }

    /// The closures that are called while a file comes; each ends the process where it does not run on the main actor.
    private func calls(in bench: TestBench) async throws -> Set<String> {
        let (task, calls) = (try bench.download(), Tally())
        task.progress { _ in MainActor.assumeIsolated { calls.add("progress") } }
        task.success { _ in MainActor.assumeIsolated { calls.add("success") } }
        bench.manager.completion { _ in MainActor.assumeIsolated { calls.add("completion") } }
        _ = try await bench.run { try await task.file }
        return Set(calls.all)
    }

    private static let all: Set = ["progress", "success", "completion"]

    @Test func closuresOfTheMainActorRunThere() async throws {
        #expect(try await calls(in: .serving(large)) == Self.all)
    }

    @Test @MainActor func closuresOfTheMainActorRunThereToo() async throws {
        #expect(try await calls(in: .serving(large)) == Self.all)
    }

    /// Also when it ends before the bench has looked.
    @Test @MainActor func whatItHasAskedForLastHappens() async throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.manager.download(address)
        #expect(await bench.letThingsHappen(until: Locked(true), within: .seconds(60)))
        bench.relaunch()
        #expect(bench.manager.fetchTask(address) != nil)
    }

    @Test func itsErrorIsThrown() async throws {
        let bench = TestBench()
        let app = await App(bench.manager)
        let error = await #expect(throws: LannerError.self) { try await bench.run { try await app.get(address) } }
        guard case .unacceptableStatusCode(404) = error else { return #expect(Bool(false), "\(error as Any)") }
    }

    /// Here without any time: what the code waits for never comes.
    @Test func itIsGivenUpWhenItHasNoEnd() async throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.manager.download("https://example.com/other")
        _ = try bench.download(.hold)
        bench.settle()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let error = try await #require(throws: TestBench.Overdue.self) {
            try await bench.run(within: .zero) {
                defer { end.finish() }
                try await Task.sleep(for: .seconds(3600))
            }
        }
        #expect(error.tasks == [.failed: 1, .running: 1] && error.status == .running)
        #expect(error.exchanges == 1 && error.commits == 0 && error.limit == .zero)
        #expect("\(error)".contains("1 running, 1 failed"))
        // It was canceled.
        for await _ in ends {}
    }

    @Test func linksThatItWaitsForAreTold() async throws {
        let links = ManualLinks()
        var configuration = SessionConfiguration()
        configuration.refreshesLinksBeforeStart = true
        let bench = TestBench(configuration: configuration, links: links)
        _ = try bench.download()
        bench.settle()
        #expect(links.waitingCount == 1)
        let error = try await #require(throws: TestBench.Overdue.self) {
            try await bench.run(within: .zero) { try await Task.sleep(for: .seconds(3600)) }
        }
        #expect(error.links == 1 && error.exchanges == 0)
        #expect("\(error)".hasSuffix("; links awaited: 1."))
    }

    @Test func itIsCanceledWithItsCaller() async throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = RetryPolicy(maximumRetries: nil)
        let bench = TestBench.serving([1, 2, 3], configuration: configuration)
        bench.transport.always(place, .hold)
        let app = await App(bench.manager)
        let running = Task { try await bench.run { try await app.get(address) } }
        try await bench.transport.waitForRequests(1)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        bench.settle()
        #expect(bench.manager.tasks.map(\.status) == [.suspended])
    }
}
