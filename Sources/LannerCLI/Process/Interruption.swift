import Dispatch
import Foundation
import Lanner

/// Signals that ask the program to end: the first is answered in order, a later one ends it at once.
final class Interruption: Sendable {
    private struct State {
        var sources: [any DispatchSourceSignal] = []
        var received: Int32?
        var patience = ContinuousClock.now
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Takes signals over from now on, for the rest of the process's life.
    ///
    /// A hang-up that was to be ignored (nohup) stays ignored.
    init(by numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP]) {
        // A reader of ours that goes away is noticed by the write that fails.
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "lanner.signals")
        for number in numbers {
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
    ///
    /// Programs like `timeout` send it to the process and to its group: for half a second another one is the same.
    func receive(_ number: Int32, at now: ContinuousClock.Instant = .now) {
        let answer = state.withLock { state -> Answer in
            guard state.received == nil else { return now < state.patience ? .none : .exit }
            state.received = number
            state.patience = now + .milliseconds(500)
            return state.action.map(Answer.perform) ?? .exit
        }
        switch answer {
        case .none: break
        case .perform(let action): action()
        case .exit: exit(ExitCode.signal(number).number)
        }
    }

    private enum Answer {
        case none
        case perform(@Sendable () -> Void)
        case exit
    }
}
