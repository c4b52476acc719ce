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

    /// As `timeout` sends it: to the process, and to its group.
    @Test func anotherSignalWithinHalfASecondIsTheSame() {
        let interruption = Interruption(by: [])
        let stops = Locked(0)
        interruption.onSignal { stops.withLock { $0 += 1 } }
        let start = ContinuousClock.now
        interruption.receive(SIGTERM, at: start)
        interruption.receive(SIGTERM, at: start)
        interruption.receive(SIGINT, at: start + .milliseconds(499))
        #expect(interruption.received == .signal(SIGTERM))
        #expect(stops.withLock { $0 } == 1)
    }

    #if compiler(>=6.2)
    @Test func aLaterSignalEndsItAtOnce() async {
        await #expect(processExitsWith: .exitCode(143)) {
            let interruption = Interruption(by: [])
            interruption.onSignal {}
            let start = ContinuousClock.now
            interruption.receive(SIGINT, at: start)
            interruption.receive(SIGTERM, at: start + .milliseconds(500))
        }
    }
    #endif
}
