import Testing

@testable import LannerCore

@Suite struct SystemClockTests {
    @Test(arguments: [
        (Duration.seconds(-1), 0), (.zero, 0), (.microseconds(5), 5), (.milliseconds(2), 2000),
        (.seconds(30), 30_000_000),
        // Rather a little late than early.
        (.nanoseconds(1), 1), (.microseconds(5) + .nanoseconds(1), 6),
        // What the queue counts does not go on while the machine sleeps.
        (.seconds(31), 30_000_000), (.seconds(Int64.max), 30_000_000),
    ])
    func looksAgainInTime(delay: Duration, microseconds: Int) {
        #expect(Int(SystemClock.nextLook(in: delay)) == microseconds)
    }
}
