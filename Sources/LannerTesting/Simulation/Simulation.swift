import LannerMachine

/// Runs worlds, and cuts those that break a rule to what matters.
public struct Simulation: Sendable {
    /// How many steps a run takes before its faults stop.
    public var steps: Int

    /// Runs of so many steps.
    public init(steps: Int = 1000) {
        self.steps = steps
    }

    /// What became of one run.
    public struct Outcome: Sendable {
        /// Which run it was.
        public var seed: UInt64
        /// How many steps it took, those to its rest at the end included; with a rule that was broken, up to there.
        public var steps: Int
        /// How many more there were in the middle of those.
        public var innerSteps: Int
        /// The steps that were left out.
        public var skipped: Set<Int>
        /// A number over everything that happened.
        public var traceHash: UInt64
        /// Everything that happened, when it was asked for.
        public var trace: [String]
        /// The rule that was broken, if one was.
        public var violation: Violation?
        /// What the machine has met.
        package var coverage: Coverage
    }

    /// Runs the world of a seed.
    ///
    /// - Parameters:
    ///   - seed: Which world.
    ///   - keepsTrace: Whether the outcome has its trace.
    /// - Returns: What became of it.
    public func run(seed: UInt64, keepsTrace: Bool = false) -> Outcome {
        run(seed, steps, [], keepsTrace)
    }

    private func run(_ seed: UInt64, _ steps: Int, _ skipped: Set<Int>, _ keepsTrace: Bool) -> Outcome {
        let world = World(seed: seed, keepsTrace: keepsTrace, skipping: skipped)
        var violation: Violation?
        do throws(Violation) {
            try world.run(steps: steps)
        } catch {
            violation = error
        }
        world.keepCoverage()
        world.launch.die()
        return Outcome(
            seed: seed, steps: world.steps, innerSteps: world.innerSteps, skipped: skipped, traceHash: world.traceHash,
            trace: world.trace,
            violation: violation, coverage: world.coverage)
    }

    /// Leaves steps out of a run as long as it breaks the same rule, with ever smaller blocks of steps.
    ///
    /// - Returns: A run with as few steps as were found to do, with its trace; the outcome as it is when nothing was
    ///   broken.
    public func shrink(_ outcome: Outcome) -> Outcome {
        guard let rule = outcome.violation?.rule else { return outcome }
        let skipped = shrink(outcome) { run(outcome.seed, steps, $0, false).violation?.rule == rule }
        return run(outcome.seed, steps, skipped, true)
    }

    /// The steps that can be left out. Those behind the last that was asked for cannot: in them all comes to its end.
    func shrink(_ outcome: Outcome, _ isBroken: (Set<Int>) -> Bool) -> Set<Int> {
        let last = min(outcome.steps, steps)
        var best = outcome.skipped
        var block = max(1, last / 2)
        while true {
            for start in stride(from: 1, through: last, by: block) {
                let skipped = best.union(start..<min(start + block, last + 1))
                if skipped.count > best.count, isBroken(skipped) { best = skipped }
            }
            if block == 1 { return best }
            block /= 2
        }
    }
}
