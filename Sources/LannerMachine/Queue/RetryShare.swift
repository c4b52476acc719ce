/// How many of the slots of a list, of a host, or of all, retries have: those that have failed since they last gained bytes,
/// and are sent none now.
///
/// By their ranks they are the first again each time. So that a few that fail late and often, as those of dead hosts do,
/// hold up nobody they are given no more than half of the slots while fresh ones of the same priority wait; of a single slot
/// every other turn.
struct RetryShare: Sendable {
    var taken = 0
    /// Whether who was last given a slot is one.
    var wasLast = false

    /// Whether the first retry has to wait for the first of the fresh ones, where there are both.
    func holdsBack(_ retry: SlotQueue.Turn?, for fresh: SlotQueue.Turn?, limit: Int) -> Bool {
        guard let retry, let fresh else { return false }
        return retry.priority == fresh.priority ? isTaken(limit: limit) : retry.priority < fresh.priority
    }

    func isTaken(limit: Int) -> Bool { limit > 1 ? taken >= limit / 2 : wasLast }
}
