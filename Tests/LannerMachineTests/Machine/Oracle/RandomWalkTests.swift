import LannerMachine
import Testing

@Suite struct RandomWalkTests {
    @Test(arguments: 0..<8)
    func whateverHappensAllEndsWell(shard: UInt64) throws {
        for seed in 0..<UInt64(250) {
            let seed = shard * 250 + seed
            do {
                _ = try World.walk(seed: seed, steps: 300)
            } catch {
                // Once more, for the trace.
                _ = try World.walk(seed: seed, steps: 300, isTraced: true)
                throw error
            }
        }
    }
}
