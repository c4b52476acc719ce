import LannerCore
import LannerTesting
import Testing

/// A scripted transport whose network goes and comes.
@Suite struct OfflineTests {
    @Test func endsWhatIsUnderWayAndKeepsTheScript() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20), .cut(afterBytes: 1 << 19))
        bench.settle()
        #expect(bench.transport.underway == 1)
        bench.transport.outage = .notConnected
        bench.run(for: .seconds(3))
        #expect(bench.transport.underway == 0)
        #expect(task.status == .waiting)
        #expect(task.reason == .transport(.notConnected))
        bench.transport.outage = nil
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.ranges.contains("bytes=1572864-"), "the cut was not used up while there was no network")
    }
}
