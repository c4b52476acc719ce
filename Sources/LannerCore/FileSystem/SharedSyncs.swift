import Foundation

/// Syncs that several callers share: one that begins after a call does what was wanted by it, so that whoever comes while
/// one is under way waits for the next, together with all others who do.
final class SharedSyncs: Sendable {
    /// One sync, and what has become of it.
    private final class Round {
        var outcome: Result<Void, FileError>?
    }

    private struct Rounds {
        var running: Round?
        var next: Round?
    }

    // Both under the lock of `condition`.
    private nonisolated(unsafe) var rounds: [PathKey: Rounds] = [:]
    private let condition = NSCondition()

    /// Returns when a sync of `path` that has begun after this call is over, which is made by `sync` of one of the callers.
    /// Throws when that has failed, for each of them: a device may tell of lost bytes only once.
    func perform(_ path: String, _ sync: () throws(FileError) -> Void) throws(FileError) {
        let path = PathKey(path)
        guard let round = join(path) else { return try lead(path, sync) }
        try follow(round, path, sync)
    }

    /// The round to wait for; nil when none is under way, and the caller makes one.
    private func join(_ path: PathKey) -> Round? {
        condition.lock()
        defer { condition.unlock() }
        guard rounds[path]?.running != nil else {
            rounds[path] = Rounds(running: Round(), next: rounds[path]?.next)
            return nil
        }
        let round = rounds[path]?.next ?? Round()
        rounds[path]?.next = round
        return round
    }

    private func follow(_ round: Round, _ path: PathKey, _ sync: () throws(FileError) -> Void) throws(FileError) {
        condition.lock()
        while round.outcome == nil, rounds[path]?.running != nil || rounds[path]?.next !== round { condition.wait() }
        let outcome = round.outcome
        if outcome == nil { rounds[path] = Rounds(running: round) }
        condition.unlock()
        guard let outcome else { return try lead(path, sync) }
        try outcome.get()
    }

    /// Makes the round that is under way.
    private func lead(_ path: PathKey, _ sync: () throws(FileError) -> Void) throws(FileError) {
        let outcome = Result { () throws(FileError) in try sync() }
        condition.lock()
        rounds[path]?.running?.outcome = outcome
        rounds[path]?.running = nil
        if rounds[path]?.next == nil { rounds[path] = nil }
        condition.broadcast()
        condition.unlock()
        try outcome.get()
    }
}
