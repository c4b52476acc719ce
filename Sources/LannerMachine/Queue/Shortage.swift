/// Too few files may be opened for all that are to run: each time that one is refused fewer run than did, and by and by
/// more again. What else the program has open, nobody knows.
struct Shortage: Sendable, Equatable {
    /// How many may run; for a moment none at all.
    private(set) var most: Int
    /// When one more may.
    let end: Duration

    private init(most: Int, end: Duration) {
        (self.most, self.end) = (most, end)
    }

    /// A file was refused while so many ran.
    init(running: Int, after earlier: Shortage?, at now: Duration) {
        self.init(most: max(0, min(earlier?.most ?? .max, running) - 1), end: now + Pace.filesWait)
    }

    /// Somebody wants to have it tried now.
    mutating func letOneTry() { most = max(1, most) }

    /// What is left of it; nil once as many may run as are wanted.
    func passed(to now: Duration, most wanted: Int) -> Shortage? {
        if now < end { return self }
        let more = most + max(1, most / 8)
        return more < wanted ? Shortage(most: more, end: now + Pace.filesWait) : nil
    }
}
