/// Where a task, or a manager as a whole, stands.
public enum Status: String, Sendable, Hashable, CaseIterable {
    /// Wants to run and may not yet.
    case waiting
    /// Runs: connects, receives, verifies or is moved to its place.
    case running
    /// Stopped; the bytes are kept.
    case suspended
    /// Stopped and forgotten, with its bytes unless ``SessionConfiguration/keepsPartialFileOnCancel`` says otherwise.
    case canceled
    /// Ended without a file; ``DownloadTask/error`` says why.
    case failed
    /// Forgotten.
    case removed
    /// The file is verified, in its place, and recorded.
    case succeeded

    /// Was asked to suspend, and is closing its file. Never persisted.
    case willSuspend
    /// Was asked to cancel, and is removing its file. Never persisted.
    case willCancel
    /// Was asked to go, and is removing its file. Never persisted.
    case willRemove

    /// Whether nothing happens until someone asks for it.
    public var isAtRest: Bool {
        switch self {
        case .suspended, .canceled, .failed, .removed, .succeeded: true
        case .waiting, .running, .willSuspend, .willCancel, .willRemove: false
        }
    }
}

/// Whether a finished file is what it should be.
public enum Validation: String, Sendable, Hashable {
    /// No finished file was compared, or the task has another since. What other programs do to it is not seen.
    case unknown
    /// The digest is the expected one.
    case correct
    /// It is not.
    case incorrect
}
