import LannerMachine

extension DownloadTask {
    /// A closure that is told about a task.
    public typealias Handler = @Sendable (DownloadTask) -> Void
}

extension SessionManager {
    /// A closure that is told about a manager.
    public typealias Handler = @Sendable (SessionManager) -> Void
}

/// A closure and whether it runs on the main queue.
struct Callback<Sender>: Sendable {
    var onMainQueue: Bool
    var handler: @Sendable (Sender) -> Void
}

/// What is on its way to a user: until it has run, no other of its kind is sent.
struct PendingCalls: Sendable {
    /// A call of `progress`.
    private(set) var isProgress = false
    /// How often that closure was replaced: a call of an earlier one holds up none of the present one.
    private var closure: UInt32 = 0
    /// The notification that something runs.
    var isRunning = false

    /// Returns what the call ends with.
    mutating func beginProgress() -> UInt32 {
        isProgress = true
        return closure
    }

    mutating func endProgress(_ number: UInt32) {
        if number == closure { isProgress = false }
    }

    mutating func replaceProgress() {
        isProgress = false
        closure &+= 1
    }
}

/// The callbacks of a task or a manager: one of each kind.
struct Callbacks<Sender>: Sendable {
    var progress: Callback<Sender>?
    var success: Callback<Sender>?
    var failure: Callback<Sender>?
    var completion: Callback<Sender>?

    /// Whom the end is told to: `completion` takes the place of the other two.
    func ended(succeeded: Bool) -> Callback<Sender>? {
        completion ?? (succeeded ? success : failure)
    }
}
