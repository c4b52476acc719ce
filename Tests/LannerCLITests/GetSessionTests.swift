import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite(.timeLimit(.minutes(15))) struct GetSessionTests {
    /// Keeps what is reported.
    private final class Record: Reporter {
        let interval = Duration.zero
        let reports = Locked<[Report]>([])

        func report(_ report: Report) { reports.withLock { $0.append(report) } }
        func note(_ line: String) {}
        func finish() {}
    }

    @Test func failsWithAMessageWhenTheLibraryRefuses() async throws {
        let place = try Workplace()
        var plan = try GetPlan(GetOptions(urls: ["http://127.0.0.1/x"], directory: place.url.path))
        plan.items[0].url = try #require(URL(string: "ftp://127.0.0.1/x"))
        let state = StateDirectory(in: place.url.path)
        let manager = SessionManager(
            "lanner", logger: ConsoleLogger(identifier: "lanner", option: .none),
            cache: state.cache(filesIn: place.url.path))
        let record = Record()
        let session = GetSession(
            plan: plan, headers: [:], manager: manager, reporter: record, interruption: Interruption(by: []))
        let outcomes = await session.run()
        #expect(outcomes.map(\.exitCode) == [.failure])
        let lines = record.reports.withLock { $0 }.compactMap(Wording.line)
        #expect(
            lines == ["lanner: http://127.0.0.1/x: this cannot be asked for; check the URL and the header fields"])
        #expect(await session.tidy(outcomes))
    }
}
