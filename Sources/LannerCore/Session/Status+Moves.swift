extension Status {
    /// Where a task goes from here, at once; elsewhere it comes by way of these.
    ///
    /// Simulated worlds hold every task to it, and the diagrams in `Docs/Images` are drawn from it.
    package var next: [Status] {
        switch self {
        case .waiting: [.running, .suspended, .willSuspend, .willCancel, .willRemove]
        case .running: [.waiting, .succeeded, .failed, .willSuspend, .willCancel, .willRemove]
        // A start takes a suspension back, as long as the file is being closed.
        case .willSuspend: [.suspended, .waiting, .willCancel, .willRemove]
        case .suspended, .failed: [.waiting, .willCancel, .willRemove]
        // To be downloaded again, when the file is gone.
        case .succeeded: [.waiting, .willRemove]
        // Of two ends the one that leaves less.
        case .willCancel: [.canceled, .willRemove]
        case .willRemove: [.removed]
        case .canceled, .removed: []
        }
    }

    /// Whether a task goes from here to there at once.
    package func leads(to status: Status) -> Bool { next.contains(status) }
}
