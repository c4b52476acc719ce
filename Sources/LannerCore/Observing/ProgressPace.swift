/// When progress is told: at most every so often, and what was withheld in the end.
struct ProgressPace: Sendable {
    enum Verdict: Equatable {
        case tell
        /// Not yet; `wake`: somebody has to come back then, if nothing else happens before. Nil when that is settled.
        case withhold(wake: Duration?)
    }

    private var last: Duration?
    /// Whether something was not told.
    private(set) var isWithheld = false
    private var hasWake = false

    /// There is progress; `isLast`: it is told whenever it comes.
    mutating func note(at now: Duration, every interval: Duration, isLast: Bool) -> Verdict {
        if !isLast, interval > .zero, let last, now - last < interval {
            isWithheld = true
            defer { hasWake = true }
            return .withhold(wake: hasWake ? nil : last + interval)
        }
        last = now
        isWithheld = false
        return .tell
    }

    /// Whether something was withheld; it is told now.
    mutating func takeWithheld(at now: Duration) -> Bool {
        guard isWithheld else { return false }
        (last, isWithheld) = (now, false)
        return true
    }

    /// Somebody has come back; nil when everything was told meanwhile.
    mutating func wake(at now: Duration, every interval: Duration) -> Verdict? {
        hasWake = false
        return isWithheld ? note(at: now, every: interval, isLast: false) : nil
    }
}
