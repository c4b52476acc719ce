import Foundation

/// Syncs that several callers share: one that begins after a call does what was wanted by it, so that whoever comes while
/// one is under way waits for the next, together with all others who do. What is synced is told by a key.
final class SharedSyncs<Key: Hashable & Sendable>: Sendable {
    /// One sync, for how many it is, and what has become of it.
    private final class Round {
        var wanted = 0
        var outcome: Result<Void, FileError>?
    }

    private struct Rounds {
        var running: Round?
        var next: Round?
    }

    // Both under the lock of `condition`.
    private nonisolated(unsafe) var rounds: [Key: Rounds] = [:]
    private let condition = NSCondition()

    /// Returns when a sync that has begun after this call is over, which is made by `sync` of one of the callers; it is
    /// told for how many, each caller standing for `count`. Throws when that has failed, for each of them: a device may
    /// tell of lost bytes only once.
    func perform(
        _ key: Key, for count: Int = 1, _ sync: (_ wanted: Int) throws(FileError) -> Void
    ) throws(FileError) {
        let (round, isLeader) = join(key, count)
        if isLeader { try lead(round, key, sync) } else { try follow(round, key, sync) }
    }

    /// The same for something that has a sync of its own as well, which tells of it alone: whoever makes the sync of `all`
    /// makes its own behind that. Where anything is amiss each makes its own, since the rest may be what is amiss. Returns
    /// whether it was made for this caller.
    func share(
        _ key: Key, own: () throws(FileError) -> Void, all: () throws(FileError) -> Void
    ) throws(FileError) -> Bool {
        var made: Result<Void, FileError>?
        do throws(FileError) {
            try perform(key) { (wanted) throws(FileError) in
                let shared = Result { () throws(FileError) in if wanted > 1 { try all() } }
                made = Result { () throws(FileError) in try own() }
                try made?.get()
                try shared.get()
            }
        } catch {
            if let made { try made.get() } else { try own() }
            return true
        }
        return made != nil
    }

    /// For how many the next sync is.
    func waiting(_ key: Key) -> Int {
        condition.lock()
        defer { condition.unlock() }
        return rounds[key]?.next?.wanted ?? 0
    }

    /// The round to wait for, and whether the caller makes it at once, since none is under way.
    private func join(_ key: Key, _ count: Int) -> (Round, isLeader: Bool) {
        condition.lock()
        defer { condition.unlock() }
        // Where none is under way but some wait, who was to make theirs has not woken yet: it is theirs, too.
        let isLeader = rounds[key] == nil
        var known = rounds[key] ?? Rounds()
        let round = isLeader ? Round() : known.next ?? Round()
        round.wanted += count
        if isLeader { known.running = round } else { known.next = round }
        rounds[key] = known
        return (round, isLeader)
    }

    private func follow(
        _ round: Round, _ key: Key, _ sync: (_ wanted: Int) throws(FileError) -> Void
    ) throws(FileError) {
        condition.lock()
        while round.outcome == nil, rounds[key]?.running != nil || rounds[key]?.next !== round { condition.wait() }
        let outcome = round.outcome
        if outcome == nil { rounds[key] = Rounds(running: round) }
        condition.unlock()
        guard let outcome else { return try lead(round, key, sync) }
        try outcome.get()
    }

    /// Makes the round that is under way, which nobody joins any more.
    private func lead(
        _ round: Round, _ key: Key, _ sync: (_ wanted: Int) throws(FileError) -> Void
    ) throws(FileError) {
        let outcome = Result { () throws(FileError) in try sync(round.wanted) }
        condition.lock()
        round.outcome = outcome
        rounds[key] = rounds[key]?.next.map { Rounds(next: $0) }
        condition.broadcast()
        condition.unlock()
        try outcome.get()
    }
}
