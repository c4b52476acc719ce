import LannerMachine
import Testing

/// A transport that finds no network where the monitor says that there is one: it noticed first, or knows better.
@Suite struct WantOfNetworkTests {
    private let failure = DownloadFailure(.transport(.notConnected), "")

    /// A transfer that has failed so, its file being closed.
    private func failed(_ fault: TransportFault = .notConnected, policy: RetryPolicy = .never) -> Bench {
        var bench = Bench.transferring(Settings().with { $0.retry = policy })
        bench.feed(.network(available: true))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(fault), ""))))
        return bench
    }

    @Test(arguments: [TransportFault.notConnected, .networkNotAllowed])
    func itWaitsAndCountsNothing(fault: TransportFault) {
        var bench = failed(fault)
        bench.closed()
        #expect(bench.phase == .waiting(.network))
        #expect(bench.machine.running.isEmpty)
        #expect(bench.feed(.network(available: false)).isEmpty)
        #expect(bench.feed(.network(available: true)).phases == [.waiting(.slot), .running])
    }

    @Test func itLooksAgainAfterAWhile() {
        var bench = failed()
        bench.closed()
        #expect(bench.pass(Pace.networkWait - .seconds(1)).phases.isEmpty)
        #expect(bench.pass(.seconds(1)).phases == [.waiting(.slot), .running])
    }

    @Test func aNetworkThatComesWhileTheFileIsClosedIsEnough() {
        var bench = failed()
        bench.feed(.network(available: false))
        #expect(bench.feed(.network(available: true)).phases == [.waiting(.slot)])
        #expect(bench.closed().phases == [.running])
    }

    /// It is only being written.
    @Test func whatHasAllComeNeedsNone() {
        var bench = Bench.transferring(hasDigest: true)
        bench.feed(.network(available: true))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        #expect(bench.feed(.network(available: false)).isEmpty)
        #expect(bench.feed(.file(bench.id, 1, .wrote(0..<1000))).contains(.file(bench.id, 1, .verify(total: 1000))))
    }

    @Test func aStartLooksAtOnce() {
        var bench = failed()
        bench.closed()
        #expect(bench.verb(.start).phases == [.waiting(.slot), .running])
    }

    @Test func withoutAMonitorThePolicyDecides() {
        var bench = Bench.transferring(Settings().with { $0.retry = .never })
        bench.feed(.exchange(bench.id, 1, .failed(failure)))
        #expect(bench.closed().phases == [.failed(failure)])
    }

    @Test func otherFaultsAreThePolicys() {
        var bench = failed(.connectionLost)
        #expect(bench.closed().phases == [.failed(DownloadFailure(.transport(.connectionLost), ""))])
    }
}
