import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite struct InterruptionTests {
    /// Else the tests would end here.
    @Test func whatIsNoSignalIsNoImpatience() {
        let interruption = Interruption(by: [])
        let stops = Locked(0)
        interruption.onSignal { stops.withLock { $0 += 1 } }
        let start = ContinuousClock.now
        interruption.receive(SIGINT, at: start)
        interruption.stop(with: .signal(SIGPIPE), at: start + .seconds(1))
        #expect(interruption.received == .signal(SIGINT))
        #expect(stops.withLock { $0 } == 1)
    }

    @Test func stopsInOrderWithoutASignal() {
        let interruption = Interruption(by: [])
        let stops = Locked(0)
        interruption.onSignal { stops.withLock { $0 += 1 } }
        let start = ContinuousClock.now
        interruption.stop(with: .signal(SIGPIPE), at: start)
        // The same Ctrl-C that ended the reader.
        interruption.receive(SIGINT, at: start)
        #expect(interruption.received == .signal(SIGPIPE))
        #expect(stops.withLock { $0 } == 1)
    }
}
