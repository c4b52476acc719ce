import Dispatch
import Foundation
import LannerCore

/// What every `SessionManager.Clock` has to do, as tests that an author runs over their own.
///
/// ```swift
/// @Test func keepsTheContract() async {
///     let violations = await ClockContract.check { MyClock() }
///     #expect(violations == [])
/// }
/// ```
public enum ClockContract {
    /// What the contract asks for.
    public enum Clause: String, ContractClause {
        /// The clock never goes back.
        case neverBack = "now never goes back"
        /// Work is called exactly once.
        case once = "called once"
        /// Work is not called before its time.
        case notBefore = "not before the deadline"
        /// Work is not called inside `schedule`.
        case notInside = "never inside schedule"
        /// A far deadline, even the last there is, does not come early.
        case far = "far deadlines"
        /// Work may schedule more.
        case inside = "schedule inside a call"
        /// Any thread may ask and schedule.
        case threads = "any thread"
    }

    /// Checks a kind of clock.
    ///
    /// - Parameters:
    ///   - waived: Clauses that are left out, each with the reason why it cannot be kept.
    ///   - patience: How long anything is waited for that has to come. Nobody waits longer than need be.
    ///   - make: Makes a new clock.
    ///   - pass: Lets so much time of a clock pass; nothing for one whose time passes by itself. The deadlines of the
    ///     contract are some milliseconds away.
    /// - Returns: The clauses that are not kept; none when all is well.
    public static func check<Clock: SessionManager.Clock>(
        waiving waived: [Clause: String] = [:], patience: Duration = .seconds(30),
        make: @escaping @Sendable () -> Clock, pass: @escaping @Sendable (Clock, Duration) -> Void = { _, _ in }
    ) async -> [ContractViolation<Clause>] {
        let findings = ContractFindings<Clause>(waiving: waived)
        await findings.run(patience: patience) { clause in
            let clock = make()
            try await clause.run(ClockTrial(clause: clause, findings: findings, clock: clock) { pass(clock, $0) })
        }
        return findings.all
    }
}

extension ClockContract.Clause {
    /// What the documentation of `SessionManager.Clock` says.
    public var text: String {
        switch self {
        case .neverBack: "Never goes back"
        case .once, .inside: "Calls `work` once, on a queue of the clock's"
        case .notBefore, .far: "as soon as `now` has reached `deadline`; never before"
        case .notInside: "and never inside this call"
        case .threads: "Methods may be called on any thread."
        }
    }

    func run(_ trial: ClockTrial) async throws {
        switch self {
        case .neverBack: try await trial.neverBack()
        case .once: try await trial.once()
        case .notBefore: try await trial.notBefore()
        case .notInside: try await trial.notInside()
        case .far: try await trial.far()
        case .inside: try await trial.inside()
        case .threads: try await trial.threads()
        }
    }
}

/// One clause tried on one clock.
struct ClockTrial: Sendable {
    let clause: ClockContract.Clause
    let findings: ContractFindings<ClockContract.Clause>
    let clock: any SessionManager.Clock
    let pass: @Sendable (Duration) -> Void

    private func expect(_ isKept: Bool, _ detail: @autoclosure () -> String) {
        findings.expect(isKept, clause, detail())
    }

    /// On a thread that may be blocked: a clock that calls at once may do so under its lock.
    private func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) async throws {
        try await Arrival.of("The return of `schedule`") { [clock] in clock.schedule(at: deadline, work) }
    }

    /// Lets time pass, in which a clock may call.
    private func letPass(_ duration: Duration) async throws {
        try await Arrival.of("The end of \(duration)") { [pass] in pass(duration) }
    }

    /// Schedules something more, so that what is to come has had its chance.
    private func fence() async throws {
        let arrival = Arrival<Void>()
        try await schedule(at: clock.now + .milliseconds(2)) { arrival.arrive(()) }
        try await letPass(.milliseconds(2))
        try await arrival.wait(for: "What was scheduled for later")
    }

    func neverBack() async throws {
        let clock = clock
        let last = try await Arrival.of("The time") { () -> Duration in
            let latest = Locked(Duration.zero)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                var last = clock.now
                for _ in 0..<1000 {
                    let now = clock.now
                    expect(now >= last, "The time went from \(last) to \(now).")
                    last = now
                }
                latest.withLock { $0 = max($0, last) }
            }
            return latest.withLock { $0 }
        }
        try await fence()
        expect(clock.now >= last, "The time went from \(last) to \(clock.now).")
    }

    func once() async throws {
        let calls = Locked(Array(repeating: 0, count: 20))
        let gauge = Gauge()
        for index in 0..<20 {
            try await schedule(at: clock.now + .milliseconds(index % 5)) {
                calls.withLock { $0[index] += 1 }
                gauge.raise()
            }
        }
        try await letPass(.milliseconds(5))
        try await NeverCame.unless("A call") { [gauge] in try await gauge.wait(for: 20) }
        try await fence()
        expect(calls.withLock { $0 }.allSatisfy { $0 == 1 }, "Calls came so many times: \(calls.withLock { $0 }).")
    }

    func notBefore() async throws {
        // Who calls at once does so before the last of them on a busy machine, too.
        for milliseconds in [1, 10, 500] {
            let (deadline, arrival) = (clock.now + .milliseconds(milliseconds), Arrival<Duration>())
            try await schedule(at: deadline) { [clock] in arrival.arrive(clock.now) }
            try await letPass(.milliseconds(milliseconds))
            let called = try await arrival.wait(for: "A call")
            expect(called >= deadline, "A call for \(deadline) came at \(called).")
        }
    }

    func notInside() async throws {
        for deadline in [clock.now - .seconds(1), .zero, clock.now] {
            let (arrival, clock) = (Arrival<Bool>(), clock)
            try await Arrival.of("The return of `schedule`") {
                let (thread, hasReturned) = (ObjectIdentifier(Thread.current), Locked(false))
                clock.schedule(at: deadline) {
                    let isHere = ObjectIdentifier(Thread.current) == thread
                    arrival.arrive(isHere && !hasReturned.withLock { $0 })
                }
                hasReturned.withLock { $0 = true }
            }
            try await letPass(.zero)
            let wasInside = try await arrival.wait(for: "A call whose time has passed")
            expect(!wasInside, "What is due already was called inside `schedule`.")
        }
    }

    func far() async throws {
        for deadline in [clock.now + .seconds(3600), .seconds(Int64.max)] {
            try await schedule(at: deadline) { expect(false, "A call for \(deadline) came too early.") }
        }
        try await fence()
    }

    func inside() async throws {
        let arrival = Arrival<Void>()
        let (clock, deadline) = (clock, clock.now + .milliseconds(1))
        try await schedule(at: deadline) { clock.schedule(at: deadline) { arrival.arrive(()) } }
        try await letPass(.milliseconds(1))
        try await arrival.wait(for: "What was scheduled inside a call")
    }

    func threads() async throws {
        let gauge = Gauge()
        try await Arrival.of("The return of `schedule`") { [clock] in
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                for delay in 0..<10 { clock.schedule(at: clock.now + .milliseconds(delay)) { gauge.raise() } }
            }
        }
        try await letPass(.milliseconds(10))
        try await NeverCame.unless("A call") { [gauge] in try await gauge.wait(for: 80) }
    }
}
