import Foundation

/// What the program tells whoever started it.
enum ExitCode: Sendable, Hashable {
    /// All was done.
    case success
    /// A download failed; `hash`: a file could not be read; output that could not be written.
    case failure
    /// The command was not understood, or cannot be carried out as it was written.
    case usage
    /// A file is not what its checksum says.
    case mismatch
    /// The disk refused, or a file cannot be used.
    case disk
    /// A signal stopped it.
    case signal(Int32)

    var number: Int32 {
        switch self {
        case .success: 0
        case .failure: 1
        case .usage: 2
        case .mismatch: 3
        case .disk: 4
        case .signal(let number): 128 + number
        }
    }

    /// Ends the process: where a signal has asked for it by that, so that whoever waits for it, a loop of the shell for
    /// example, ends as well.
    func end() -> Never {
        guard case .signal(let number) = self else { exit(self.number) }
        fflush(nil)
        // What is done by default.
        var action = sigaction()
        sigaction(number, &action, nil)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        #if canImport(Darwin)
        // `raise` is for the calling thread there, and those of Dispatch take no signals: another one takes it, soon.
        kill(getpid(), number)
        for _ in 0..<200 { usleep(10_000) }
        #else
        raise(number)
        #endif
        exit(self.number)
    }

    /// Which of several failures is told: the disk first, for it will fail whatever comes next; then a wrong file, for
    /// trying again does not help.
    static func worst(_ codes: some Sequence<ExitCode>) -> ExitCode {
        let codes = Set(codes)
        if let signal = codes.first(where: \.isSignal) { return signal }
        return [.usage, .disk, .mismatch, .failure].first(where: codes.contains) ?? .success
    }

    private var isSignal: Bool {
        switch self {
        case .signal: true
        case .success, .failure, .usage, .mismatch, .disk: false
        }
    }
}
