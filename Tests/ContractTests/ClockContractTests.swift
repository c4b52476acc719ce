import LannerCore
import LannerTesting
import Testing

/// The contract over every clock there is.
@Suite(.timeLimit(.minutes(10)))
struct ClockContractTests {
    @Test func system() async {
        let violations = await ClockContract.check { SystemClock() }
        #expect(violations == [])
    }

    @Test func manual() async {
        let violations = await ClockContract.check(make: { ManualClock() }, pass: { $0.advance(by: $1) })
        #expect(violations == [])
    }
}
