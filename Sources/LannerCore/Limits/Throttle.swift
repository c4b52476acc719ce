import LannerMachine

/// Says which downloads have to be held back so that limits on bandwidth are kept: one for each that has its own, and one
/// for all together. A value; it does nothing itself.
///
/// What has come is charged. A download that has had its due is held until that is paid off. Those that are held share
/// what comes in under the limit of all equally, so that what a slow one does not use is the others'.
struct Throttle: Sendable {
    /// What one download may still take.
    private struct Account {
        /// Under its own limit.
        var bucket: TokenBucket?
        /// Under the limit of all: its share so far, less what it has taken.
        var credit: Int64 = 0
    }

    /// Shorter holds cost more than they are worth.
    static let shortest = Duration.milliseconds(125)

    private var overall: TokenBucket?
    private var accounts: [DownloadID: Account] = [:]
    /// What downloads that do not run have taken under their own limit: it is not forgotten between two attempts.
    private var resting: [DownloadID: TokenBucket] = [:]
    /// Who is held back.
    private(set) var held: Set<DownloadID> = []
    /// The soonest time at which somebody will look.
    private var armed: Duration?

    func isHeld(_ id: DownloadID) -> Bool { held.contains(id) }

    // MARK: Limits

    /// Another limit of all, or none.
    mutating func setLimit(_ limit: Int64?, at now: Duration) {
        guard let limit else {
            overall = nil
            for id in accounts.keys { accounts[id]?.credit = 0 }
            return
        }
        let (old, new) = (overall?.rate, max(1, limit))
        if overall == nil { overall = TokenBucket(rate: new, at: now) } else { overall?.setRate(new, at: now) }
        guard let old, new < old else { return }
        for (id, account) in accounts {
            accounts[id]?.credit = TokenBucket.converted(min(account.credit, 0), from: old, to: new)
        }
    }

    /// Another limit of one download, or none.
    mutating func setLimit(_ limit: Int64?, of id: DownloadID, at now: Duration) {
        if resting[id] != nil { resting[id].setRate(limit, at: now) }
        accounts[id]?.bucket.setRate(limit, at: now)
    }

    // MARK: Downloads

    /// A download begins to run, if it does not yet.
    mutating func open(_ id: DownloadID, limit: Int64?, at now: Duration) {
        guard accounts[id] == nil else { return }
        var account = Account(bucket: resting.removeValue(forKey: id))
        account.bucket.setRate(limit, at: now)
        accounts[id] = account
    }

    /// It has stopped: what it had and did not take, or took and did not have, is everybody's.
    mutating func close(_ id: DownloadID, at now: Duration) {
        held.remove(id)
        guard var account = accounts.removeValue(forKey: id) else { return }
        overall?.fill(at: now)
        overall?.settle(account.credit)
        account.bucket?.fill(at: now)
        if let bucket = account.bucket, bucket.level < bucket.capacity { resting[id] = bucket }
    }

    /// It is gone.
    mutating func forget(_ id: DownloadID) {
        resting[id] = nil
    }

    /// Whether nothing that a download takes is limited.
    func isFree(_ id: DownloadID) -> Bool {
        guard let account = accounts[id] else { return true }
        return overall == nil && account.bucket == nil
    }

    /// Charges what has come; whether the download has to be held back from now on.
    mutating func charge(_ count: Int64, to id: DownloadID, at now: Duration) -> Bool {
        guard !isFree(id), var account = accounts[id] else { return false }
        account.bucket?.fill(at: now)
        account.bucket?.take(count)
        if let overall { account.credit = max(account.credit - min(count, .max / 2), overall.deepest) }
        accounts[id] = account
        return holds(id, at: now)
    }

    /// The same for nothing: whether a request has to wait.
    mutating func mayBegin(_ id: DownloadID, at now: Duration) -> Bool {
        if isFree(id) { return true }
        accounts[id]?.bucket?.fill(at: now)
        return !isHeld(id) && !holds(id, at: now)
    }

    /// Whether it is held from now on, and was not before.
    private mutating func holds(_ id: DownloadID, at now: Duration) -> Bool {
        guard !isHeld(id) else { return false }
        draw(id, at: now)
        if mayTake(id) { return false }
        held.insert(id)
        return true
    }

    private func mayTake(_ id: DownloadID) -> Bool {
        guard let account = accounts[id] else { return true }
        return account.bucket.map { $0.level > 0 } ?? true && (overall == nil || account.credit > 0)
    }

    /// Takes its share of what is there just now, and no more than comes in while nobody looks: others may be about to
    /// begin.
    private mutating func draw(_ id: DownloadID, at now: Duration) {
        overall?.fill(at: now)
        guard let overall, overall.level > 0, let credit = accounts[id]?.credit, credit <= 0 else { return }
        give(max(1, min(overall.level / Int64(accounts.count), overall.rate / 8)), to: id)
    }

    private mutating func give(_ share: Int64, to id: DownloadID) {
        overall?.take(share)
        accounts[id]?.credit += share
    }

    // MARK: Letting go

    /// Shares out what has come in; returns who need not be held any more, in order.
    mutating func release(at now: Duration) -> [DownloadID] {
        guard !held.isEmpty else { return [] }
        overall?.fill(at: now)
        for id in held { accounts[id]?.bucket?.fill(at: now) }
        shareOut()
        let free = held.filter(mayTake).sorted()
        held.subtract(free)
        return free
    }

    private mutating func shareOut() {
        guard let level = overall?.level else { return }
        let waiting = held.filter(wantsShare).sorted()
        guard !waiting.isEmpty, level >= waiting.count else { return }
        for id in waiting { give(level / Int64(waiting.count), to: id) }
    }

    /// Whether it is the limit of all that holds it back, and nothing else.
    private func wantsShare(_ id: DownloadID) -> Bool {
        guard let account = accounts[id] else { return false }
        return account.credit <= 0 && account.bucket.map { $0.level > 0 } ?? true
    }

    /// When somebody has to look again who may be let go; nil when nobody is held. It is not soon enough when one more is.
    private func nextRelease(at now: Duration) -> Duration? {
        let waits = held.compactMap(wait)
        return waits.min().map { now + max($0, Self.shortest) }
    }

    private func wait(_ id: DownloadID) -> Duration? {
        guard let account = accounts[id] else { return nil }
        let own = account.bucket?.wait(for: 1) ?? .zero
        guard let overall, account.credit <= 0 else { return own }
        // Nobody has less than this, and all have the same.
        let (share, isTooMuch) = (1 - account.credit).multipliedReportingOverflow(by: Int64(max(1, held.count)))
        return max(own, overall.wait(for: isTooMuch ? overall.capacity : min(share, overall.capacity)))
    }

    /// The time at which somebody has to come and look, nil when nobody is held; and whether nobody comes as soon already.
    mutating func arm(at now: Duration) -> (time: Duration?, isToArm: Bool) {
        guard let next = nextRelease(at: now) else { return (nil, false) }
        if let armed, armed > now, armed <= next { return (armed, false) }
        armed = next
        return (next, true)
    }

    /// Somebody has come.
    mutating func disarm(at now: Duration) {
        if let armed, armed <= now { self.armed = nil }
    }
}

extension TokenBucket? {
    /// Another rate, or none; a new one is full.
    fileprivate mutating func setRate(_ rate: Int64?, at now: Duration) {
        guard let rate else { return self = nil }
        if self == nil { self = TokenBucket(rate: rate, at: now) } else { self?.setRate(rate, at: now) }
    }
}
