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

    /// Takes signals over, for the rest of the process's life: once this has returned, none is lost; before, they do what
    /// they did until then.
    ///
    /// A hang-up that was to be ignored (nohup) stays ignored.
    init(by numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP]) {
        if !numbers.isEmpty {
            // A reader of ours that goes away is noticed by the write that fails.
            signal(SIGPIPE, SIG_IGN)
            // Where the runtime takes it for a crash, the program would be looked at, and go on.
            if !Self.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
        }
        let queue = DispatchQueue(label: "lanner.signals")
        let registrations = DispatchGroup()
        for number in numbers where !(number == SIGHUP && Self.isIgnored(number)) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in self?.receive(number) }
            registrations.enter()
            source.setRegistrationHandler {
                // Not sooner: what comes before the source can take it would be ignored.
                Self.disarm(number)
                registrations.leave()
            }
            state.withLock { $0.sources.append(source) }
            source.resume()
        }
        registrations.wait()
    }

    /// Keeps a signal that a source takes from doing what it does by default. On Linux sources have a handler for that.
    private static func disarm(_ number: Int32) {
        #if canImport(Darwin)
        signal(number, SIG_IGN)
        #endif
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        // Handlers cannot be compared; SIG_IGN is the number 1.
        return handler.map { unsafeBitCast($0, to: Int.self) == 1 } ?? false
    }

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
        case .exit: code.end()
        }
    }

    private enum Answer {
        case none
        case perform(@Sendable () -> Void)
        case exit
    }
}
