import LannerCore

/// A logger that keeps what it is told, for tests that look at it.
public final class RecordingLog: Logable {
    private struct State {
        var option = LogOption.default
        var lines: [String] = []
        var errors: [any Error] = []
    }

    /// The manager's identifier.
    public let identifier: String
    private let state = Locked(State())

    /// An empty log.
    public init(identifier: String = "test") {
        self.identifier = identifier
    }

    /// Whether a manager logs anything; what is handed to ``log(_:)`` is kept all the same.
    public var option: LogOption {
        get { state.withLock { $0.option } }
        set { state.withLock { $0.option = newValue } }
    }

    /// Everything that was logged, one line each, the oldest first.
    public var lines: [String] { state.withLock { $0.lines } }

    /// The errors that were logged, the oldest first.
    public var errors: [any Error] { state.withLock { $0.errors } }

    /// Forgets everything.
    public func clear() {
        state.withLock { ($0.lines, $0.errors) = ([], []) }
    }

    /// Keeps a line.
    public func log(_ type: LogType) {
        let line = type.line
        state.withLock { state in
            state.lines.append(line)
            if case .error(_, let error) = type { state.errors.append(error) }
        }
    }
}

extension LogType {
    /// What is logged, in one line.
    var line: String {
        switch self {
        case .sessionManager(let message, let manager): "\(manager.identifier): \(message)"
        case .downloadTask(let message, let task): "\(Destination.redacted(task.url.absoluteString)): \(message)"
        case .error(let message, let error): "\(message): \(error)"
        }
    }
}
