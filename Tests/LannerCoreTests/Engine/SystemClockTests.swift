import Foundation
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

/// Clocks that call before the time has come.
@Suite struct EarlyClockTests {
    private let clock = EarlyClock()
    private let calls = Locked(0)

    private func wake() {
        clock.wake(at: .seconds(10)) { [calls] in calls.withLock { $0 += 1 } }
    }

    @Test func theyAreAskedAgain() {
        wake()
        for second in [0, 9] {
            clock.call(at: .seconds(second))
            #expect(calls.withLock { $0 } == 0)
        }
        clock.call(at: .seconds(10))
        #expect(calls.withLock { $0 } == 1 && clock.isIdle)
    }

    @Test func theyAreNotHeldByWhatTheyAreYetToCall() {
        weak var gone: EarlyClock?
        do {
            let clock = EarlyClock()
            gone = clock
            clock.wake(at: .seconds(10)) {}
            #expect(!clock.isIdle)
        }
        #expect(gone == nil)
    }

    /// One that rounds off would be early again.
    @Test func theyAreAskedForALittleMore() {
        wake()
        clock.call(at: .seconds(10) - .microseconds(1))
        #expect(clock.deadlines == [.seconds(10) + .milliseconds(1)])
    }

    /// One that waits for nothing would be asked for ever.
    @Test func theyAreAskedAFewTimes() {
        wake()
        for _ in 0..<7 {
            #expect(!clock.isIdle)
            clock.call(at: .zero)
        }
        #expect(calls.withLock { $0 } == 1 && clock.isIdle)
    }
}

/// Calls when it is told to.
private final class EarlyClock: SessionManager.Clock {
    private let state = Locked<(now: Duration, works: [(Duration, @Sendable () -> Void)])>((.zero, []))

    var now: Duration { state.withLock { $0.now } }
    var date: Date { Date(timeIntervalSince1970: 0) }
    var isIdle: Bool { deadlines.isEmpty }
    var deadlines: [Duration] { state.withLock { $0.works.map(\.0) } }

    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.works.append((deadline, work)) }
    }

    func call(at now: Duration) {
        let works = state.withLock { state in
            defer { state.works = [] }
            state.now = now
            return state.works
        }
        for (_, work) in works { work() }
    }
}
