import Dispatch
import Foundation
import Lanner

/// Signals that ask the program to end: the first is answered in order, the second ends it at once.
final class Interruption: Sendable {
    private struct State {
        var sources: [any DispatchSourceSignal] = []
        var received: Int32?
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Takes the signals over from now on, for the rest of the process's life.
    ///
    /// A hang-up that was to be ignored (nohup) stays ignored.
    init() {
        // A reader of ours that goes away is noticed by the write that fails.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "lanner.signals")
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let isIgnored = signal(number, SIG_IGN).map { unsafeBitCast($0, to: Int.self) == Self.ignored } ?? false
            if number == SIGHUP, isIgnored { continue }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in self?.receive(number) }
            state.withLock { $0.sources.append(source) }
            source.resume()
        }
    }

    /// SIG_IGN as a number: handlers cannot be compared.
    private static let ignored = 1

    /// The signal that came; nil as long as none has.
    var received: Int32? { state.withLock { $0.received } }

    /// Sets what the first signal does; at once when it has come already. Without it the first signal ends the program.
    func onSignal(_ action: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            state.action = action
            return state.received != nil
        }
        if isDue { action() }
    }

    /// The same as if the signal had come.
    func receive(_ number: Int32) {
        let (isFirst, action) = state.withLock { state in
            defer { state.received = state.received ?? number }
            return (state.received == nil, state.action)
        }
        guard isFirst, let action else { exit(ExitCode.signal(number).number) }
        action()
    }
}
