// Runs simulated worlds and says which of them broke a rule.
//
//     lanner-sim [--seeds 'A..<B'] [--steps N] [--coverage] [--until-failure]
//     lanner-sim --replay SEED [--steps N] [--trace]

import Foundation
import LannerTesting

let plan: Plan
do {
    plan = try Plan(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(2)
}
if let seed = plan.replayed {
    exit(Replay(seed: seed, plan).run() ? 0 : 1)
}
exit(Campaign(plan).run() ? 0 : 1)
