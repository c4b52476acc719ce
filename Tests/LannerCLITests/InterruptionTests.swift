import Dispatch
import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite struct InterruptionTests {
    private let interruption = Interruption(by: [])
    private let stops = Locked(0)
    private let start = ContinuousClock.now

    init() {
        interruption.onSignal { [stops] in stops.withLock { $0 += 1 } }
    }

    /// Else the tests would end here.
    @Test func whatIsNoSignalIsNoImpatience() {
        interruption.receive(SIGINT, at: start)
        interruption.stop(with: .signal(SIGPIPE), at: start + .seconds(1))
        #expect(interruption.received == .signal(SIGINT))
        #expect(stops.withLock { $0 } == 1)
    }

    @Test func stopsInOrderWithoutASignal() {
        interruption.stop(with: .signal(SIGPIPE), at: start)
        // The same Ctrl-C that ended the reader.
        interruption.receive(SIGINT, at: start)
        #expect(interruption.received == .signal(SIGPIPE))
        #expect(stops.withLock { $0 } == 1)
    }

    /// As `timeout` sends it: to the process, and to its group.
    @Test func anotherSignalWithinHalfASecondIsTheSame() {
        interruption.receive(SIGTERM, at: start)
        interruption.receive(SIGTERM, at: start)
        interruption.receive(SIGINT, at: start + .milliseconds(499))
        #expect(interruption.received == .signal(SIGTERM))
        #expect(stops.withLock { $0 } == 1)
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// By one that nothing happens at when nobody takes it.
    @Test func oneThatComesAtOnceIsNotLost() async {
        await #expect(processExitsWith: .success) {
            let interruption = Interruption(by: [SIGWINCH])
            let hasCome = DispatchSemaphore(value: 0)
            interruption.onSignal { hasCome.signal() }
            let wait = { hasCome.wait(timeout: .now() + 600) }
            kill(getpid(), SIGWINCH)
            exit(wait() == .success ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func aLaterSignalEndsItAtOnce() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let interruption = Interruption(by: [])
            interruption.onSignal {}
            let start = ContinuousClock.now
            interruption.receive(SIGINT, at: start)
            interruption.receive(SIGTERM, at: start + .milliseconds(500))
        }
    }
    #endif
}
