import Lanner

/// The downloads of one call on their way: each event goes to the one it is of.
final class Following: Sendable {
    private struct State {
        /// What came before it was known whom to follow.
        var early: [(task: DownloadTask, event: DownloadEvent)] = []
        var hasBegun = false
        /// By the keys of the tasks.
        var followers: [String: Follower] = [:]
        var ended: [Int: Outcome] = [:]
        var waiting: CheckedContinuation<[Int: Outcome], Never>?

        mutating func take(_ event: DownloadEvent, of task: DownloadTask) {
            guard let outcome = followers[task.key]?.take(event), let index = followers[task.key]?.index else { return }
            (ended[index], followers[task.key]) = (outcome, nil)
        }

        /// Who waits for the end, once there.
        mutating func takeWaiting() -> CheckedContinuation<[Int: Outcome], Never>? {
            guard hasBegun, followers.isEmpty else { return nil }
            defer { waiting = nil }
            return waiting
        }
    }

    private let state = Locked(State())

    func take(_ event: DownloadEvent, of task: DownloadTask) {
        let (waiting, ended) = state.withLock { state in
            if state.hasBegun { state.take(event, of: task) } else { state.early.append((task, event)) }
            return (state.takeWaiting(), state.ended)
        }
        waiting?.resume(returning: ended)
    }

    /// Returns when all have come to rest. They must have been started.
    func outcomes(of followers: [String: Follower]) async -> [Int: Outcome] {
        await withCheckedContinuation { continuation in
            let (waiting, ended) = state.withLock { state in
                (state.followers, state.waiting, state.hasBegun) = (followers, continuation, true)
                for (task, event) in state.early { state.take(event, of: task) }
                state.early = []
                // What nothing was told of has not moved.
                for (key, follower) in state.followers {
                    if let outcome = follower.outcome() {
                        (state.ended[follower.index], state.followers[key]) = (outcome, nil)
                    }
                }
                return (state.takeWaiting(), state.ended)
            }
            waiting?.resume(returning: ended)
        }
    }
}
