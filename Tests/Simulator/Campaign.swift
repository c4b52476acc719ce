import Dispatch
import Foundation
import LannerMachine
import LannerTesting

/// Runs every seed of a plan, and sums up.
struct Campaign {
    private let plan: Plan

    init(_ plan: Plan) {
        self.plan = plan
    }

    /// Whether no rule was broken, and all that can be met was, where that is asked for.
    func run() -> Bool {
        let simulation = Simulation(steps: plan.steps)
        let (start, startOfWork) = (DispatchTime.now(), Self.processorTime())
        var (failures, steps, inner, coverage, hash) = (0, 0, 0, Coverage(), UInt64(0))
        for seed in plan.seeds {
            let outcome = simulation.run(seed: seed)
            steps += outcome.steps
            inner += outcome.innerSteps
            coverage.add(outcome.coverage)
            hash = hash &* 31 &+ outcome.traceHash
            guard let violation = outcome.violation else { continue }
            failures += 1
            print("seed \(seed), step \(outcome.steps): \(violation)")
            if plan.stopsAtFailure { break }
        }
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        let work = Self.processorTime() - startOfWork
        let rates = [work, seconds].map { Int(Double(steps + inner) / $0) }
        let seeds = "\(plan.seeds.lowerBound)..<\(plan.seeds.upperBound)"
        let count = "\(steps) steps and \(inner) inner ones"
        let rate = "\(rates[0]) a second of processor time (\(rates[1]) by the clock)"
        print("seeds \(seeds): \(count), \(failures) failed, \(rate), trace \(hash)")
        let isCovered = plan.printsCoverage ? Table(coverage).check() : true
        return failures == 0 && isCovered
    }

    /// Seconds that this process has worked; what others do on the machine does not count.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Runs one seed, and shows what happened in as few steps as do.
struct Replay {
    let seed: UInt64
    private let plan: Plan

    init(seed: UInt64, _ plan: Plan) {
        self.seed = seed
        self.plan = plan
    }

    /// Whether no rule was broken.
    func run() -> Bool {
        let simulation = Simulation(steps: plan.steps)
        let outcome = simulation.run(seed: seed, keepsTrace: true)
        if plan.printsTrace { outcome.trace.forEach { print($0) } }
        guard let violation = outcome.violation else {
            print("seed \(seed): no rule was broken in \(outcome.steps) steps, trace \(outcome.traceHash)")
            return true
        }
        let shortest = simulation.shrink(outcome)
        shortest.trace.forEach { print($0) }
        print("seed \(seed), step \(outcome.steps): \(violation)")
        print("above: the same with \(outcome.steps - shortest.skipped.count) steps")
        return false
    }
}
