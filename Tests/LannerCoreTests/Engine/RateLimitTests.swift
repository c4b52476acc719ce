import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Hosts that answer so many requests in a time, and a user who does not know that.
@Suite struct RateLimitTests {
    private static let hosts = ["slow.example", "slow.example", "slow.example", "fast.example"]

    /// One of the things that may happen meanwhile.
    private func disturb(_ bench: TestBench, _ random: inout SeededGenerator) {
        let tasks = bench.manager.tasks
        guard let task = tasks.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: bench.manager.suspend(task)
        case 2, 3: bench.manager.start(task)
        case 4: bench.manager.cancel(task)
        case 5: bench.manager.download(task.url.absoluteString)
        case 6: task.priority = [.low, .normal, .high].randomElement(using: &random) ?? .normal
        case 7: bench.manager.configuration.maxConcurrentTasksLimit = 1 + Int.random(in: 0..<6, using: &random)
        case 8: bench.transport.outage = bench.transport.outage == nil ? .notConnected : nil
        case 9: bench.transport.fail(with: .connectionLost)
        case 10: bench.relaunch()
        default: bench.manager.totalStart()
        }
    }

    @Test func nobodyIsLeftWaiting() {
        let seeds: Range<UInt64> = 0..<30
        #expect(seeds.count { hasHostRested(seed: $0) } > 20, "else it is not what is tried here")
    }

    /// Says whether the host was left alone at some time.
    private func hasHostRested(seed: UInt64) -> Bool {
        var random = SeededGenerator(seed: seed)
        let bench = TestBench()
        bench.manager.configuration.maxConcurrentTasksLimit = 4
        bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
        let seconds = 1 + Int.random(in: 0..<20, using: &random)
        let fields: LoopbackServer.Fields =
            (Int.random(in: 0..<2, using: &random) == 0) ? [:] : ["Retry-After": "\(seconds)"]
        let refusal = ScriptedTransport.Step.status((Int.random(in: 0..<2, using: &random) == 0) ? 429 : 503, fields)
        bench.transport.limitRate(
            ofHost: "slow.example",
            to: .init(1 + Int.random(in: 0..<2, using: &random), in: .seconds(seconds), refusal: refusal))
        let urls = (0..<24).map { "https://\(Self.hosts[$0 % 4])/\($0)" }
        bench.manager.multiDownload(urls)
        var hasRested = false
        for _ in 0..<80 {
            if (Int.random(in: 0..<3, using: &random) == 0) { disturb(bench, &random) }
            bench.run(for: .milliseconds(Int.random(in: 0..<4000, using: &random)))
            hasRested =
                hasRested || bench.manager.tasks.contains { $0.waitingReason == .hostSlot && $0.waitingUntil != nil }
        }
        bench.transport.outage = nil
        #expect(bench.runToRest(), "what waits for a host goes on by itself: seed \(seed)")
        #expect(bench.manager.tasks.allSatisfy { $0.status.isAtRest }, "seed \(seed)")
        bench.transport.limitRate(ofHost: "slow.example", to: nil)
        bench.manager.totalStart()
        #expect(bench.runToRest())
        #expect(bench.manager.tasks.allSatisfy { $0.status == .succeeded }, "seed \(seed)")
        return hasRested
    }
}
