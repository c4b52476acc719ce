/// Hosts that refuse downloads while they send others: they take so many connections at once and no more.
struct Crowds: Sendable {
    private var hosts: [HostID: Crowd] = [:]

    private struct Crowd {
        /// Until when each of its downloads uses one connection.
        var narrowUntil: Duration = .zero
        /// Until when no more of them run than it takes.
        var fullUntil: Duration?
        /// How many of them may run until then.
        var most: Int?
        /// Since when its refusals are counted, and which of them it has refused since.
        var since: Duration
        var refused: Set<DownloadID> = []

        func isOver(at now: Duration) -> Bool {
            fullUntil == nil && narrowUntil <= now && since + Pace.placeWait <= now
        }
    }

    var isEmpty: Bool { hosts.isEmpty }

    /// A host has refused a download that had nothing else from it; says whether it has refused so many in a short while
    /// that no more are to ask than it takes now. Some may be refused for another reason, and for good: that is lowered
    /// only for who is refused for the first time, or as one of many; and only the first time do its others use one
    /// connection each for a while. `time` is for how long no more ask while they do.
    mutating func note(
        _ id: DownloadID, of host: HostID, isFirst: Bool, at now: Duration, for time: Duration
    ) -> Bool {
        var crowd = hosts[host] ?? Crowd(since: now)
        if crowd.since + Pace.placeWait <= now { (crowd.since, crowd.refused) = (now, []) }
        crowd.refused.insert(id)
        if isFirst { crowd.narrowUntil = now + Pace.placeWait }
        let (count, isNew) = (crowd.refused.count, isFirst || crowd.fullUntil == nil)
        let isFull = count >= (isNew ? Pace.crowd : 2 * Pace.crowd)
        if isFull { crowd.fullUntil = now + (now < crowd.narrowUntil ? time : Pace.placeWait) }
        hosts[host] = crowd
        return isFull
    }

    /// Lets so many of a host run that has refused more.
    mutating func limit(_ host: HostID, to most: Int) { hosts[host]?.most = most }

    /// How many of a host may run; nil for any number.
    func limit(of host: HostID) -> Int? { hosts[host]?.most }

    /// When a host may be asked for more again.
    var end: Duration? { hosts.isEmpty ? nil : hosts.values.lazy.compactMap(\.fullUntil).min() }

    /// Whether each download of the host uses one connection.
    func isNarrow(_ host: HostID, at now: Duration) -> Bool {
        hosts[host].map { now < $0.narrowUntil } ?? false
    }

    /// Forgets what is over; says which hosts may be asked for more again.
    mutating func pass(to now: Duration) -> [HostID] {
        if hosts.isEmpty { return [] }
        var free: [HostID] = []
        for (host, crowd) in hosts {
            if let end = crowd.fullUntil, end <= now {
                free.append(host)
                hosts[host]?.fullUntil = nil
                hosts[host]?.most = nil
            }
            if hosts[host]?.isOver(at: now) == true { hosts[host] = nil }
        }
        return free.sorted { $0.number < $1.number }
    }
}
