/// Hosts that take so many requests in a time and refuse whoever asks for more, though they have sent others what they asked
/// for: none of their downloads begins for a while, then one does, and one more at once for each that is answered.
///
/// One that is refused may be refused for a reason of its own: a host is taken for such, and left alone again, only when it
/// refuses two in a row, or, once it is, one with 429 that says when. Who was refused before comes first by its rank, and
/// says nothing new: from then on the second of the two is a fresh one, that has not failed since it last gained bytes, as
/// long as such wait; and so is the first where only one was asked.
///
/// It is one that takes so many as long as it has answered another lately; where it says when to come back, as long as it has
/// within the longest time that is waited for at its word. Of a long pause that it asks for nobody knows at first whether it
/// is for all: one asks after a minute, and when that one is told the same moment it is left alone until then. Who is sent
/// one part of a file after the other says nothing of others.
struct RateLimits: Sendable {
    private var hosts: [HostID: Limit] = [:]
    private var answers: [HostID: Answers] = [:]
    /// Of so many hosts at most it is known when they have answered, besides those that have lately.
    private var room = leastRoom

    private static let leastRoom = 64

    private struct Limit {
        /// Until when none begins.
        var until: Duration
        /// For how long that is, unless it has asked for more.
        var wait: Duration
        /// How many may run afterwards; none before.
        var most = 0
        /// When it may be asked again at its word.
        var told: Duration?
        /// From when on nothing is known of its rate, unless it sends another what it has asked for.
        var end: Duration
    }

    private struct Answers {
        /// To whom something was sent last, and when; and when before that to another download.
        var last: (id: DownloadID, time: Duration)
        var other: Duration?
        /// Whether anybody was refused since, for which the host is not left alone; and who may be the first of two.
        var isDoubtful = false
        var refused: DownloadID?

        mutating func note(_ id: DownloadID, at now: Duration) {
            if id != last.id { other = last.time }
            last = (id, now)
            settle()
        }

        mutating func settle() { (isDoubtful, refused) = (false, nil) }

        func last(besides id: DownloadID) -> Duration? { id == last.id ? other : last.time }
    }

    /// A host sends a download what it has asked for; says whether by that it may be asked for more at once, or by others.
    mutating func noteAnswer(_ id: DownloadID, of host: HostID, at now: Duration) -> Bool {
        let isOther = answers[host]?.last.id != id
        let wasDoubtful = isDoubtful(host)
        if answers[host]?.note(id, at: now) == nil { answers[host] = Answers(last: (id, now)) }
        if answers.count > room {
            answers = answers.filter { now - $0.value.last.time < Pace.rateMemory || hosts[$0.key] != nil }
            room = max(Self.leastRoom, 2 * answers.count)
        }
        guard isOther, let limit = hosts[host] else { return wasDoubtful }
        hosts[host]?.end = max(limit.end, now + Pace.rateMemory)
        if now < limit.until { return wasDoubtful }
        hosts[host]?.most += 1
        return true
    }

    /// A host has refused a download; `wait` is for how long it wants to be left alone, by all, at most the `longest`. `tells`
    /// is false of one that is not fresh, while such wait. Says whether that may be for the rate.
    mutating func noteRefusal(
        _ id: DownloadID, of host: HostID, tells: Bool, wait: Duration?, longest: Duration, at now: Duration
    ) -> Bool {
        let memory = wait == nil ? Pace.rateMemory : max(longest, Pace.rateMemory)
        guard let time = answers[host]?.last(besides: id), now - time < memory else { return false }
        let limit = hosts[host]
        // Whether it means all: the first that asks after it was left alone is told the same moment. One that is for a URL
        // alone begins with each.
        let told = wait.map { now + $0 }
        let isConfirmed = limit.map { $0.until <= now && $0.most == 1 && Self.isSame($0.told, told) } ?? false
        let asked = min(wait ?? .zero, isConfirmed ? memory : Pace.rateMemory)
        if let limit, now < limit.until {
            // The same refusal as that which it is left alone for, of what was asked for before.
            let until = max(limit.until, now + asked)
            hosts[host]?.until = until
            if wait != nil { hosts[host]?.end = max(limit.end, until + Pace.rateMemory) }
            return true
        }
        let isSecond = answers[host]?.refused.map { $0 != id } ?? false
        answers[host]?.isDoubtful = true
        if tells || limit?.most != 1 { answers[host]?.refused = id }
        guard tells || limit == nil, isSecond || limit != nil && wait != nil else { return limit != nil }
        // As long as before after one answer, shorter after more: it takes so many in that time.
        let share = limit.map { $0.wait / max(1, $0.most) } ?? .zero
        let own = wait == nil ? min(max(share * 2, Pace.rateWait), Pace.rateMemory) : share
        let until = now + max(own, asked)
        hosts[host] = Limit(
            until: until, wait: own, told: told, end: (wait == nil ? lastAnswer(of: host) : until) + Pace.rateMemory)
        answers[host]?.settle()
        return true
    }

    /// Whether two moments are one, of which servers tell whole seconds.
    private static func isSame(_ one: Duration?, _ other: Duration?) -> Bool {
        guard let one, let other else { return false }
        return max(one, other) - min(one, other) <= .seconds(5)
    }

    /// Whether somebody was refused who may be for a reason of its own: who is asked for next is to be a fresh one.
    func isDoubtful(_ host: HostID) -> Bool { hosts[host] != nil && answers[host]?.isDoubtful == true }

    /// Whether a host is left alone now.
    var isAnyAtRest: Bool { hosts.values.contains { $0.most == 0 } }

    /// Somebody of a host is to try at once, as far as that goes.
    mutating func letOneTry(of host: HostID, at now: Duration) {
        guard let limit = hosts[host], limit.most == 0 else { return }
        hosts[host]?.until = min(limit.until, now)
    }

    /// How many of a host may run; nil for any number.
    func limit(of host: HostID) -> Int? { hosts[host]?.most }

    /// Until when a host is left alone, where it is now.
    func restEnd(of host: HostID) -> Duration? { hosts[host].flatMap { $0.most == 0 ? $0.until : nil } }

    /// When a host may be asked for more again.
    var end: Duration? { hosts.isEmpty ? nil : hosts.values.lazy.map { $0.most == 0 ? $0.until : $0.end }.min() }

    private func lastAnswer(of host: HostID) -> Duration { answers[host]?.last.time ?? .zero }

    /// Says which hosts may be asked for more again: for one, or, when it has sent nobody else anything for long or enough at
    /// once, for any number.
    mutating func pass(to now: Duration) -> [HostID] {
        if hosts.isEmpty { return [] }
        var free: [HostID] = []
        for (host, limit) in hosts where limit.until <= now {
            if limit.end <= now || limit.most > Pace.mostRated {
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
