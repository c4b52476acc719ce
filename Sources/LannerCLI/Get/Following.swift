import Lanner

/// The downloads of one call on their way: each event goes to the one it is of.
final class Following: Sendable {
    private struct State {
        /// What came of tasks that are not followed yet.
        var early: [(task: DownloadTask, event: DownloadEvent)] = []
        /// Whether no more follow.
        var areAllThere = false
        var followers: [DownloadTask: Follower] = [:]
        var ended: [Int: DownloadOutcome] = [:]
        var waiting: CheckedContinuation<[Int: DownloadOutcome], Never>?

        mutating func take(_ event: DownloadEvent, of task: DownloadTask) {
            guard let follower = followers[task] else {
                if !areAllThere { early.append((task, event)) }
                return
            }
            if let outcome = follower.take(event) { end(follower, outcome) }
        }

        private mutating func end(_ follower: Follower, _ outcome: DownloadOutcome) {
            (ended[follower.index], followers[follower.task]) = (outcome, nil)
        }

        mutating func follow(_ batch: [Follower]) {
            for follower in batch { followers[follower.task] = follower }
            let events = early
            early = []
            for (task, event) in events { take(event, of: task) }
            // What nothing was told of has not moved.
            for follower in batch where ended[follower.index] == nil {
                if let outcome = follower.outcome() { end(follower, outcome) }
            }
        }

        /// Who waits for the end, once there.
        mutating func takeWaiting() -> CheckedContinuation<[Int: DownloadOutcome], Never>? {
            guard areAllThere, followers.isEmpty else { return nil }
            return waiting.take()
        }
    }

    private let state = Locked(State())

    func take(_ event: DownloadEvent, of task: DownloadTask) {
        let (waiting, ended) = state.withLock { state in
            state.take(event, of: task)
            let waiting = state.takeWaiting()
            // Not copied each time.
            return (waiting, waiting == nil ? [:] : state.ended)
        }
        waiting?.resume(returning: ended)
    }

    /// Follows more tasks, which must have been started.
    func follow(_ batch: [Follower]) {
        state.withLock { $0.follow(batch) }
    }

    /// Returns when all that are followed have come to rest; no more may follow.
    func outcomes() async -> [Int: DownloadOutcome] {
        await withCheckedContinuation { continuation in
            let (waiting, ended) = state.withLock { state in
                (state.waiting, state.areAllThere, state.early) = (continuation, true, [])
                return (state.takeWaiting(), state.ended)
            }
            waiting?.resume(returning: ended)
        }
    }
}
