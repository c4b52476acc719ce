import Foundation
import Testing

@testable import LannerTesting

/// Whole worlds. Many more of them are run by `lanner-sim`.
@Suite(.timeLimit(.minutes(10))) struct SimulationTests {
    @Test(arguments: 0..<16 as Range<UInt64>) func noRuleIsBroken(seed: UInt64) {
        let outcome = Simulation(steps: 300).run(seed: seed)
        #expect(outcome.violation == nil, "lanner-sim --steps 300 --replay \(seed) shows how")
        #expect(outcome.steps > 300)
    }

    @Test func equalSeedsGiveEqualRuns() {
        let (one, other) = (Simulation(steps: 400).run(seed: 5, keepsTrace: true), Simulation(steps: 400).run(seed: 5))
        #expect(one.traceHash == other.traceHash)
        #expect(one.trace.count > 400 && other.trace.isEmpty)
        let again = Simulation(steps: 400).run(seed: 5, keepsTrace: true)
        #expect(one.trace == again.trace)
        #expect(Simulation(steps: 400).run(seed: 6).traceHash != one.traceHash)
    }

    @Test func aWorldCanBeStepped() throws {
        let world = World(seed: 1, keepsTrace: true)
        for _ in 0..<50 { try world.step() }
        #expect(world.steps == 50)
        #expect(world.manager.unavailable == nil)
        try world.run(steps: 10)
        #expect(world.manager.tasks.filter { !$0.status.isAtRest }.isEmpty)
    }

    /// The second time, too, faults are none of the manager's.
    @Test(arguments: [1, 2, 10, 30]) func aWorldCanBeRunAgain(seed: UInt64) throws {
        let world = World(seed: seed)
        for _ in 0..<3 { try world.run(steps: 400) }
        #expect(world.manager.tasks.filter { !$0.status.isAtRest }.isEmpty)
    }

    /// What follows them lets all come to its end, and happens in every run.
    @Test(arguments: [20, 8]) func onlyStepsAreCutThatWereAskedFor(last: Int) {
        var outcome = Simulation(steps: 20).run(seed: 2)
        #expect(outcome.steps > 20)
        if last < 20 { outcome.steps = last }
        let all = Set(1...last)
        var tried: Set<Int> = []
        let skipped = Simulation(steps: 20).shrink(outcome) { skipped in
            tried.formUnion(skipped)
            return !skipped.contains(5)
        }
        #expect(tried == all && skipped == all.subtracting([5]))
    }

    @Test func nothingIsCutFromARunThatIsFine() {
        let outcome = Simulation(steps: 20).run(seed: 2)
        #expect(Simulation(steps: 20).shrink(outcome).skipped.isEmpty)
    }
}
