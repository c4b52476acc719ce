import Foundation

/// Whether a logger writes.
public enum LogOption: Sendable, Hashable {
    /// Everything it is told.
    case `default`
    /// Nothing.
    case none
}

/// What is logged.
public enum LogType: Sendable {
    /// About a manager.
    case sessionManager(_ message: String, manager: SessionManager)
    /// About a task.
    case downloadTask(_ message: String, task: DownloadTask)
    /// Something went wrong.
    case error(_ message: String, error: any Error)
}

/// Takes what a ``SessionManager`` has to say.
public protocol Logable: Sendable {
    /// The manager's identifier.
    var identifier: String { get }

    /// Whether anything is written. May be set at any time, on any thread.
    var option: LogOption { get nonmutating set }

    /// Takes one line. Called on any thread, also on several at once, never under a lock of the library;
    /// not called while ``option`` is ``LogOption/none``. Not to block: what the manager does waits for it, as it does for
    /// a standard error that nobody reads.
    func log(_ type: LogType)
}

/// The logger a manager has when none is given: a line on standard error.
public final class ConsoleLogger: Logable {
    /// The manager's identifier.
    public let identifier: String
    private let state: Locked<LogOption>

    /// Makes a logger.
    public init(identifier: String, option: LogOption = .default) {
        self.identifier = identifier
        state = Locked(option)
    }

    /// Whether the manager writes anything; who calls ``log(_:)`` does so in any case.
    public var option: LogOption {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Writes one line.
    public func log(_ type: LogType) {
        // A standard error that is closed or full is no reason to end.
        let bytes = Data(line(type).utf8)
        withoutBrokenPipes { try? FileHandle.standardError.write(contentsOf: bytes) }
    }

    #if canImport(Darwin)
    private static let turn = Locked(())

    /// The signal of a pipe is the whole process's there, so that only the stream can be kept from it, for one at a time.
    private func withoutBrokenPipes(_ write: () -> Void) {
        Self.turn.withLock { _ in
            let isRaised = fcntl(STDERR_FILENO, F_GETNOSIGPIPE) == 0
            if isRaised { _ = fcntl(STDERR_FILENO, F_SETNOSIGPIPE, 1) }
            write()
            if isRaised { _ = fcntl(STDERR_FILENO, F_SETNOSIGPIPE, 0) }
        }
    }
    #endif

    private func line(_ type: LogType) -> String {
        switch type {
        case .sessionManager(let message, let manager): "[\(identifier)] \(message) (\(manager.status.rawValue))\n"
        case .downloadTask(let message, let task):
            "[\(identifier)] \(message): \(Destination.redacted(task.url.absoluteString)) (\(task.status.rawValue))\n"
        case .error(let message, let error): "[\(identifier)] \(message): \(error)\n"
        }
    }
}
