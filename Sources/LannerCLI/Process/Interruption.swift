import Dispatch
import Foundation
import Lanner

/// What asks the program to end: the first is answered in order, a later signal ends it at once.
final class Interruption: Sendable {
    private struct State {
        var sources: [any DispatchSourceSignal] = []
        var received: ExitCode?
        var patience = ContinuousClock.now
        var action: (@Sendable () -> Void)?

        /// Takes the first.
        mutating func begin(_ code: ExitCode, at now: ContinuousClock.Instant) -> Answer {
            (received, patience) = (code, now + .milliseconds(500))
            return action.map(Answer.perform) ?? .exit
        }
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

    /// What the program ends with; nil as long as nothing has asked for it.
    var received: ExitCode? { state.withLock { $0.received } }

    /// Sets what the first does; at once when it has come already. Without it the first ends the program.
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
        let code = ExitCode.signal(number)
        let answer = state.withLock { state -> Answer in
            guard state.received != nil else { return state.begin(code, at: now) }
            return now < state.patience ? .none : .exit
        }
        carryOut(answer, code)
    }

    /// Asks for the end as a first signal does. Behind one it changes nothing: nobody has lost patience.
    func stop(with code: ExitCode, at now: ContinuousClock.Instant = .now) {
        let answer = state.withLock { $0.received == nil ? $0.begin(code, at: now) : .none }
        carryOut(answer, code)
    }

    private func carryOut(_ answer: Answer, _ code: ExitCode) {
        switch answer {
        case .none: break
        case .perform(let action): action()
        case .exit: exit(code.number)
        }
    }

    private enum Answer {
        case none
        case perform(@Sendable () -> Void)
        case exit
    }
}
