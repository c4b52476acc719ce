/// Where a file may be asked for: 0 is the download's own URL, the mirrors follow.
package typealias Source = Int

/// The places that are said to have the file, and what has become of them.
package struct Mirrors: Sendable, Hashable {
    /// More are not used.
    package static let most = 62

    /// How many there are besides the download's own URL.
    package let count: Int
    /// Where the next attempt begins, or the present one did.
    package private(set) var main: Source = 0
    /// Where the version in hand was told.
    package private(set) var ofVersion: Source = 0
    /// Places that are of no use, and places that have failed since the last failure that counted, but may do better.
    private var dropped: UInt64 = 0
    private var failed: UInt64 = 0
    /// Places that have refused a part, and may send the whole; and those that were asked for that.
    private var partless: UInt64 = 0
    private var askedForWhole: UInt64 = 0
    /// Places that have another version than the one in hand.
    private var different: UInt64 = 0
    /// Whether some of these have another version than an earlier one, which may be the one in hand.
    private var areOutdated = false
    /// The last failure of those.
    @Apart package private(set) var passing: DownloadFailure?
    /// Which of these may be tried again by and by, and until when places want no further connections.
    private var rests: [Source: Rest] = [:]
    private var crowds: [Source: Duration] = [:]

    /// So many mirrors, of which nothing is known but which of them told the version in hand.
    package init(count: Int = 0, ofVersion: Source = 0) {
        self.count = min(max(0, count), Self.most)
        if ofVersion <= self.count { (main, self.ofVersion) = (ofVersion, ofVersion) }
    }

    /// The places of which nothing bad is known, the own URL first.
    package var usable: [Source] { (0...count).filter { (dropped | failed | different) & $0.bit == 0 } }

    /// The same, and those that have failed some time ago: more may be asked for there, beside what others bring. That no
    /// attempt begins there before a failure counts keeps two that fail in turn from going on for ever.
    package var usableBeside: [Source] {
        (0...count).filter { source in
            (dropped | different) & source.bit == 0 && (failed & source.bit == 0 || rests[source]?.hasPassed == true)
        }
    }

    /// The places that have another version, and are of use otherwise.
    package var others: [Source] { (0...count).filter { different & ~dropped & $0.bit != 0 } }

    /// The places that have failed, and may do better.
    package var failing: [Source] { (0...count).filter { failed & ~dropped & $0.bit != 0 } }

    /// Until when a place wants to be left alone.
    package func rest(of source: Source) -> Duration { rests[source]?.end ?? .zero }

    /// The place does not have the file that is wanted.
    package mutating func drop(_ source: Source) { dropped |= source.bit }

    /// Nothing is asked for there any more, nor the whole.
    package mutating func giveUp(_ source: Source) {
        drop(source)
        partless &= ~source.bit
    }

    /// Those that were asked for the whole may be again.
    package mutating func forgetWholes() { askedForWhole = 0 }

    /// Whether the place was found not to have the file that is wanted.
    package func isDropped(_ source: Source) -> Bool { dropped & source.bit != 0 }

    /// Whether no other place is of any use.
    package func isLast(_ source: Source) -> Bool { (0...count).allSatisfy { $0 == source || isDropped($0) } }

    /// The place has refused a part of the file, and may send all of it.
    package mutating func refusePart(_ source: Source) { partless |= source.bit }

    /// Begins at a place that has refused a part, though it was dropped for that; once at each. False when there is none.
    package mutating func beginAtPartless() -> Bool {
        guard let source = (0...count).first(where: { partless & ~askedForWhole & ~different & $0.bit != 0 }) else {
            return false
        }
        askedForWhole |= source.bit
        dropped &= ~source.bit
        failed &= ~source.bit
        main = source
        return true
    }

    /// The place has another version than the one in hand.
    package mutating func differ(_ source: Source) { different |= source.bit }

    /// The version in hand was given up. Not before a failure counts is a place asked again that had another one than
    /// that: a server that has a new version each time would be left and asked for ever.
    package mutating func giveUpVersion() { areOutdated = different != 0 }

    /// Nothing comes from there now, nor is to be asked for until then; `now` for what may pass.
    package mutating func fail(
        _ source: Source, _ failure: DownloadFailure? = nil, until end: Duration? = nil, at now: Duration? = nil
    ) {
        failed |= source.bit
        let known = rests[source]?.end
        let rest = Rest(end: end.map { max(known ?? .zero, $0) } ?? known, failed: now)
        rests[source] = rest.end == nil && now == nil ? nil : rest
        // What only a user can decide is told, whatever others have come to.
        if passing != .unnamed { passing = failure ?? passing }
    }

    /// A place has answered as it should.
    package mutating func forgetPage() {
        if passing == .unnamed { passing = nil }
    }

    /// No further connections are wanted there until then.
    package mutating func crowd(_ source: Source, until time: Duration) { crowds[source] = time }

    /// Whether a further connection is not wanted there.
    package func isCrowded(_ source: Source, at now: Duration) -> Bool { crowds[source].map { now < $0 } ?? false }

    /// An attempt begins there.
    package mutating func begin(at source: Source) { main = source }

    /// An attempt begins there, with whatever version that has, since where it began before is of no use any more.
    package mutating func beginAnew(at source: Source) {
        drop(main)
        (different, areOutdated) = (0, false)
        main = source
    }

    /// The download's own URL is another one: nothing is known of it yet, and the next attempt begins there. What is held
    /// is of no place's version any more.
    package mutating func renewURL() {
        let others = ~Source(0).bit
        (dropped, failed, different, areOutdated) = (dropped & others, failed & others, 0, false)
        (partless, askedForWhole) = (partless & others, askedForWhole & others)
        if failed == 0 { passing = nil }
        (rests[0], crowds[0]) = (nil, nil)
        (main, ofVersion) = (0, 0)
    }

    /// The version in hand is the one that was told there.
    package mutating func learn(from source: Source) { ofVersion = source }

    /// All that failed may be tried again.
    package mutating func forgetFailures() {
        (failed, passing, rests) = (0, nil, [:])
        forgetOutdated()
    }

    private mutating func forgetOutdated() {
        if areOutdated { (different, areOutdated) = (0, false) }
    }

    /// Places that wanted to be left alone, and have been for a while longer, may be tried again; more may be asked for at
    /// those that have only failed, when that was a while ago.
    package mutating func forgetRests(at now: Duration) {
        guard !rests.isEmpty else { return }
        for (source, rest) in rests where rest.isPassing(at: now) { rests[source]?.hasPassed = true }
        forgetFailures { $0?.isOver(at: now) ?? false }
        if failing.isEmpty { passing = nil }
    }

    /// The same of places that have failed.
    private mutating func forgetFailures(where isOver: (Rest?) -> Bool) {
        for source in failing where isOver(rests[source]) {
            failed &= ~source.bit
            rests[source] = nil
        }
    }

    /// All that failed may be tried again but those that want to be left alone for longer.
    package mutating func forgetFailures(restingUpTo time: Duration) {
        forgetFailures { $0?.end ?? .zero <= time }
        if failing.isEmpty { forgetFailures() } else { forgetOutdated() }
    }
}

/// For how long a place is left alone.
private struct Rest: Sendable, Hashable {
    /// Until when it wants to be.
    var end: Duration?
    /// When it failed, where that may pass.
    var failed: Duration?
    /// Whether that was a while ago.
    var hasPassed = false

    func isOver(at now: Duration) -> Bool { end.map { $0 + Pace.endTime <= now } ?? false }

    func isPassing(at now: Duration) -> Bool { end == nil && failed.map { $0 + Pace.placeWait <= now } ?? false }
}

/// Other mirrors in the place of those there were.
package struct MirrorChange: Sendable, Hashable {
    /// As how many changes it was asked for, one after the other.
    package private(set) var steps = 1
    /// How many they are.
    package var count: Int
    /// What each of the old ones is among them, in the order of the old ones; nil for one that is not.
    package var places: [Source?]

    package init(count: Int, places: [Source?] = []) {
        (self.count, self.places) = (count, places)
    }

    /// What a place is after the change.
    func place(of source: Source) -> Source? {
        if source == 0 { return 0 }
        return places.indices.contains(source - 1) ? places[source - 1] : nil
    }

    /// Both changes, one after the other.
    func then(_ next: MirrorChange) -> MirrorChange {
        var both = MirrorChange(count: next.count, places: places.map { $0.flatMap(next.place) })
        both.steps = steps + next.steps
        return both
    }
}

extension Source {
    fileprivate var bit: UInt64 { (0..<64).contains(self) ? 1 << UInt64(self) : 0 }
}
