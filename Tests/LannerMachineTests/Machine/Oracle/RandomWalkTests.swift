import LannerMachine
import Testing

@Suite struct RandomWalkTests {
    @Test(arguments: 0..<8)
    func whateverHappensAllEndsWell(shard: UInt64) throws {
        var cuts = 0
        for seed in 0..<UInt64(250) {
            let seed = shard * 250 + seed
            do {
                cuts += try World.walk(seed: seed, steps: 300).cuts
            } catch {
                // Once more, for the trace.
                _ = try World.walk(seed: seed, steps: 300, isTraced: true)
                throw error
            }
        }
        // Else it tells nothing of several connections for one file.
        #expect(cuts > 0)
    }
}
