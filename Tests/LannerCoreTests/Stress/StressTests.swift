import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Every method from eight threads at once, from inside callbacks, loggers, link providers and Swift tasks, on real
/// threads. Run for long, and under the thread sanitizer, by `LANNER_STRESS_SECONDS`.
@Suite(.timeLimit(.minutes(10))) struct StressTests {
    @Test func everyCallFromEverywhere() async throws {
        let coverage = StressCoverage()
        var places = try (0..<3).map { try StressPlace.make($0) }
        let duration = ProcessInfo.processInfo.environment["LANNER_STRESS_SECONDS"].flatMap(Double.init)
        let end = duration.map { Date() + $0 }
        var number = 0
        // Every end twice, however long that takes.
        while number < 2 * StressEnd.allCases.count || end.map({ $0 > Date() }) == true {
            let kind = StressEnd.allCases[number % StressEnd.allCases.count]
            // Each end with each of the places.
            let index = (number + number / StressEnd.allCases.count) % places.count
            try await live(StressRound(number, places[index], coverage), kind)
            // Nobody knows when the end of a manager is over that was let go of.
            if kind == .release { places[index] = try StressPlace.make(index) }
            number += 1
        }
        for name in StressCalls.all.map(\.name) + Self.origins { #expect(coverage[name] > 0, "\(name)") }
        if duration != nil {
            print("stress: \(number) rounds, \(coverage.total) calls", Self.origins.map { "\($0) \(coverage[$0])" })
        }
    }

    /// Where calls are made besides threads.
    private static let origins = [
        "callback", "callback that stays", "logger", "task", "link provider", "events", "observer", "notification",
    ]

    private func live(_ round: StressRound, _ end: StressEnd) async throws {
        do {
            try await round.run(end)
            try await round.finish(end)
        } catch is CancellationError {
            Issue.record("The time is over: \(round.account)")
            throw CancellationError()
        }
    }
}
