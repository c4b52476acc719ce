/// Too few files may be opened for all that are to run: each time that one is refused fewer run than did, and by and by
/// more again, the later the more often that was too many. What else the program has open, nobody knows.
struct Shortage: Sendable, Equatable {
    /// How many may run; for a moment none at all.
    private(set) var most: Int
    /// When one more may.
    private(set) var end: Duration
    /// How long that is after the last change: longer and longer, when one more was always one too many.
    private var pause: Duration
    /// Whether the last change was that one more might run.
    private var hasRisen = false

    /// A file was refused while so many ran.
    init(running: Int, after earlier: Shortage?, at now: Duration) {
        most = max(0, min(earlier?.most ?? .max, running) - 1)
        pause = earlier?.pause ?? Pace.filesWait
        if earlier?.hasRisen == true { pause = min(pause * 2, Pace.longestFilesWait) }
        end = now + pause
    }

    /// Somebody wants to have it tried now.
    mutating func letOneTry() { most = max(1, most) }

    /// What is left of it; nil once as many may run as are wanted.
    func passed(to now: Duration, most wanted: Int) -> Shortage? {
        if now < end { return self }
        var next = self
        next.most += max(1, most / 8)
        // The last one more was not one too many.
        if hasRisen { next.pause = max(pause / 2, Pace.filesWait) }
        (next.hasRisen, next.end) = (true, now + next.pause)
        return next.most < wanted ? next : nil
    }
}
