/// Hosts that take so many requests in a time and refuse whoever asks for more, though they have sent others what they asked
/// for: none of their downloads begins for a while, then one does, and one more at once with each that is answered.
struct RateLimits: Sendable {
    private var hosts: [HostID: Limit] = [:]
    private var answers: [HostID: Answers] = [:]
    /// Of so many hosts at most it is known when they have answered, besides those of the last minute.
    private var room = leastRoom

    private static let leastRoom = 64

    private struct Limit {
        /// Until when none begins.
        var until: Duration
        /// For how long that is by what it has answered so far.
        var wait: Duration
        /// How many may run afterwards.
        var most = 0
    }

    /// When a host has sent something last, and when before that to another download.
    private struct Answers {
        var last: (id: DownloadID, time: Duration)
        var other: Duration?

        mutating func note(_ id: DownloadID, at now: Duration) {
            if id != last.id { other = last.time }
            last = (id, now)
        }

        func last(besides id: DownloadID) -> Duration? { id == last.id ? other : last.time }
    }

    /// A host sends a download what it has asked for; says whether it may be asked for more at once by that.
    mutating func noteAnswer(_ id: DownloadID, of host: HostID, at now: Duration) -> Bool {
        if answers[host]?.note(id, at: now) == nil { answers[host] = Answers(last: (id, now)) }
        if answers.count > room {
            answers = answers.filter { now - $0.value.last.time < Pace.placeWait }
            room = max(Self.leastRoom, 2 * answers.count)
        }
        guard let limit = hosts[host], limit.until <= now else { return false }
        // The next refusal, which is sure to come where nothing has changed, brings it back to what was enough.
        if limit.most == 1 { hosts[host]?.wait = limit.wait / 2 }
        hosts[host]?.most += 1
        return true
    }

    /// Whether a host has sent another download something lately.
    func hasAnsweredOthers(than id: DownloadID, _ host: HostID, at now: Duration) -> Bool {
        answers[host]?.last(besides: id).map { now - $0 < Pace.placeWait } ?? false
    }

    /// A host has refused one; `wait` is for how long it wants to be left alone. Refusals of what was asked for before it was
    /// are the same one.
    mutating func noteRefusal(of host: HostID, wait: Duration?, at now: Duration) {
        if let limit = hosts[host], now < limit.until {
            hosts[host]?.until = max(limit.until, now + (wait ?? .zero))
            return
        }
        let own = min(max((hosts[host]?.wait ?? .zero) * 2, Pace.rateWait), Pace.longestRateWait)
        hosts[host] = Limit(until: now + max(own, wait ?? .zero), wait: own)
    }

    /// How many of a host may run; nil for any number.
    func limit(of host: HostID) -> Int? { hosts[host]?.most }

    /// When a host may be asked again.
    var end: Duration? { hosts.isEmpty ? nil : hosts.values.lazy.filter { $0.most == 0 }.map(\.until).min() }

    /// Says which hosts may be asked for more again: for one, or, when it has sent nothing for long or enough at once, for any
    /// number.
    mutating func pass(to now: Duration) -> [HostID] {
        if hosts.isEmpty { return [] }
        var free: [HostID] = []
        for (host, limit) in hosts where limit.until <= now {
            let isSilent = answers[host].map { now - $0.last.time >= Pace.placeWait } ?? true
            if isSilent || limit.most > Pace.mostRated {
                hosts[host] = nil
            } else if limit.most == 0 {
                hosts[host]?.most = 1
            } else {
                continue
            }
            free.append(host)
        }
        return free.sorted { $0.number < $1.number }
    }
}
