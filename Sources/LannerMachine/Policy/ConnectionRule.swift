/// How many connections one download is worth: more are tried, and stay when they bring more.
///
/// It is told at regular times how much has come, and says how many there should be. First it tries as many again as
/// there are, and four times as many where these bring as much as the others, for each of them costs time while it is
/// missing; after a try of which not all were worth it one at a time, with longer and longer pauses. What a place brings
/// that is asked for the first time says nothing of the others: such places are tried at once, and without such pauses.
package struct ConnectionRule: Sendable, Equatable {
    /// What it goes by.
    package struct Look: Sendable, Equatable {
        package var now: Duration
        /// Bytes that have come over all connections.
        package var received: Int64
        /// Connections over which bytes come.
        package var running: Int
        /// Bytes that are still to come.
        package var left: Int64
        /// Whether it is the disk that is slow.
        package var isHeldUp: Bool
        /// How many connections there may be.
        package var most: Int
        /// Places that might be asked for the first time, and connections of the present try to such places.
        package var (unasked, toUnknown) = (0, 0)
        /// How long a try at most waits for its connections.
        package var patience = ConnectionRule.patience

        package init(
            now: Duration, received: Int64, running: Int, left: Int64, isHeldUp: Bool = false, most: Int
        ) {
            (self.now, self.received, self.running) = (now, received, running)
            (self.left, self.isHeldUp, self.most) = (left, isHeldUp, most)
        }
    }

    /// How many there should be.
    package private(set) var wanted: Int
    /// Where the window begins that is measured; nil until it does.
    private var mark: ByteMark?
    private var trial: Trial?
    /// What had come at the last look.
    private var last: Int64 = 0
    /// Whether a try has brought nothing: from then on one is tried at a time.
    private var isCautious = false
    /// Before this nothing is tried, and how long after the next try that brings nothing.
    private var rest = Duration.zero
    private var pause = firstPause
    /// How many were too many for a server that refused one.
    private var refusal: Refusal?

    private struct Refusal: Equatable {
        /// So many, which are not tried again before then.
        var count: Int
        var until: Duration
        /// How long that was.
        var pause: Duration
    }

    private struct Trial: Equatable {
        /// How many there were, and what they brought in a second.
        var before: Int
        var speed: Int64
        var begun: Duration
    }

    /// For how long at least the present speed is measured.
    static let window: Duration = .milliseconds(500)
    /// And that of a try: it shows soon whether each of more brings as much.
    static let shortWindow: Duration = .milliseconds(250)
    /// A gain of a tenth shows later, since servers that keep to a speed send in bursts.
    static let longWindow: Duration = .milliseconds(1500)
    /// How long a try waits for its connections where answers come soon.
    package static let patience: Duration = .seconds(2)
    static let firstPause: Duration = .seconds(4)
    static let longestPause: Duration = .seconds(256)

    /// One connection, or so many.
    package init(wanted: Int = 1) {
        self.wanted = max(1, wanted)
    }

    /// Looks at what has come.
    package mutating func look(_ look: Look) {
        let isSilent = look.received <= last
        last = look.received
        if wanted > max(1, look.most) { settle(at: max(1, look.most)) }
        guard let mark else {
            if isReady(look) { self.mark = ByteMark(time: look.now, bytes: look.received) }
            return
        }
        let time = look.now - mark.time
        guard time >= (trial == nil ? Self.window : Self.shortWindow) else { return }
        // A silence may have other reasons than the connections, and some servers send in bursts: the next one ends the
        // window.
        if trial == nil, isSilent { return }
        let speed = max(0, look.received - mark.bytes).perSecond(over: time)
        if let trial { judge(trial, speed, over: time, look) } else { consider(speed, look) }
    }

    /// A connection was refused, or what came over it was of no use: so many are enough, for a while. As many as there
    /// were to be are tried after longer and longer pauses, fewer sooner.
    package mutating func wasRefused(at now: Duration, left: Int) {
        if !isNoted(at: now) {
            let pause = refusal.map { min($0.pause * 2, Self.longestPause) } ?? Self.firstPause
            refusal = Refusal(count: max(2, wanted), until: now + pause, pause: pause)
        }
        settle(at: max(1, left))
        isCautious = true
        rest = max(rest, now + Self.firstPause)
    }

    /// Whether a refusal belongs to one before: several of those that are tried at once may be.
    private func isNoted(at now: Duration) -> Bool {
        guard let refusal, trial == nil else { return false }
        return now < refusal.until && wanted < refusal.count
    }

    /// A connection was lost, and so many are left.
    package mutating func wasLost(at now: Duration, left: Int) {
        settle(at: max(1, min(wanted, left)))
        // Those that are lost together are one reason to wait.
        if now >= rest { waitLonger(at: now) }
    }

    /// When the present try began; nil while there is none.
    package var triedSince: Duration? { trial?.begun }

    /// So many connections of the present try have come to nothing, which says nothing of others: the try goes on with
    /// the rest of them, if there are any.
    package mutating func isWithout(_ count: Int) {
        guard let trial else { return }
        wanted = max(trial.before, wanted - count)
        if wanted == trial.before { settle(at: wanted) }
    }

    // MARK: Trying

    /// Whether what comes from now on tells something of all connections.
    private func isReady(_ look: Look) -> Bool {
        // The first bytes may have waited for a while.
        guard let trial else { return look.received > 0 }
        return look.running >= wanted || look.now - trial.begun >= look.patience
    }

    private mutating func consider(_ speed: Int64, _ look: Look, times factor: Int = 2) {
        mark = ByteMark(time: look.now, bytes: look.received)
        let most = most(look)
        guard look.now >= rest, wanted < most, isWorthATry(look, speed) else { return }
        trial = Trial(before: wanted, speed: speed, begun: look.now)
        wanted = min(most, isCautious ? wanted + 1 : max(wanted * factor, wanted + look.unasked))
        mark = nil
    }

    private func most(_ look: Look) -> Int {
        guard let refusal, look.now < refusal.until else { return look.most }
        return min(look.most, refusal.count - 1)
    }

    /// Not for what is there in a second.
    private func isWorthATry(_ look: Look, _ speed: Int64) -> Bool {
        look.running >= wanted && !look.isHeldUp && look.left > speed
    }

    private mutating func judge(_ trial: Trial, _ speed: Int64, over time: Duration, _ look: Look) {
        // As if each brought what each of them brought before.
        let each = trial.speed / Int64(trial.before)
        let most = each.multipliedClamped(by: Int64(wanted))
        let isMost = speed >= most - most / 8
        guard isMost || time >= Self.longWindow else { return }
        // Where all are to places that were asked for the first time, it is these that are slow.
        let tellsOfPlaces = look.toUnknown >= wanted - trial.before
        guard isMost || speed > trial.speed.addingClamped(trial.speed / 10) else {
            settle(at: trial.before)
            return tellsOfPlaces ? () : waitLonger(at: look.now)
        }
        self.trial = nil
        pause = Self.firstPause
        if let refusal, wanted >= refusal.count { self.refusal = nil }
        // A burst may have shown more than they bring.
        if isMost { return consider(min(speed, most), look, times: 4) }
        // So many would have brought the same, each as much as before.
        let (whole, left) = speed.quotientAndRemainder(dividingBy: max(1, each))
        let enough = Int(min(left > 0 ? whole + 1 : whole, Int64(wanted)))
        if enough == wanted { return consider(speed, look) }
        (wanted, mark) = (enough, ByteMark(time: look.now, bytes: look.received))
        if !tellsOfPlaces { waitLonger(at: look.now) }
    }

    private mutating func settle(at count: Int) {
        (wanted, trial, mark) = (count, nil, nil)
    }

    private mutating func waitLonger(at now: Duration) {
        isCautious = true
        rest = now + pause
        pause = min(pause * 2, Self.longestPause)
    }
}
