// Several places that are said to have one file. Its version is the one of which the first bytes are; another place may
// bring parts of that where it tells the same strong tag and size, or where a digest decides at the end. A place with
// another version is left, and begun with only when no other goes on.

extension Download {
    /// Whether a place may be asked for what is missing, or for its whole file.
    private func mayAsk(_ source: Source, _ settings: Settings) -> Bool {
        if seeksWhole != nil || source == mirrors.ofVersion { return true }
        if carried.data != nil { return false }
        guard !written.isEmpty, let gap = nextGap else { return true }
        // Where nobody goes on with what is held, nothing is lost.
        return isPlain || mayGoOn(at: source, settings)
            || ask(for: gap, settings.delivery, at: mirrors.ofVersion) == nil
    }

    /// Whether a place can be asked for the rest of what is held, and that may become the file.
    private func mayGoOn(at source: Source, _ settings: Settings) -> Bool {
        guard carried.data == nil, misfit(of: total) == nil, let gap = nextGap else { return false }
        return ask(for: gap, settings.delivery, at: source) != nil
    }

    /// Settles where an attempt begins: where the last one did, as long as that can be asked.
    mutating func chooseSource(_ settings: Settings) {
        if !mayAsk(mirrors.main, settings) { mirrors.begin(at: mirrors.ofVersion) }
    }

    /// Others were given in the place of the mirrors there were. Bytes that one began which is not among them come from
    /// another URL.
    mutating func renewMirrors(_ context: inout Context) {
        guard let change = renewedMirrors else { return }
        if losesMirror { (isOfOtherURL, oldWay) = (true, .none) }
        (seeksWhole, doubts.wholeTry) = (nil, .none)
        mirrors = Mirrors(count: change.count, ofVersion: isOfMirror ? change.place(of: mirrors.ofVersion) ?? 0 : 0)
        renewedMirrors = nil
        perform(.remirror(steps: change.steps), &context)
    }

    /// Whether the version in hand is that of a mirror.
    var isOfMirror: Bool { mirrors.ofVersion != 0 && completed > 0 }

    /// Whether that will be none of its mirrors in the next attempt.
    var losesMirror: Bool {
        guard let renewedMirrors, isOfMirror else { return false }
        return renewedMirrors.place(of: mirrors.ofVersion) == nil
    }

    /// Goes to another place after a failure, one that has not failed since the last failure that counted: that is no
    /// retry. A place beside the one where the attempt began is only left. Else returns what counts: where one of the
    /// places may do better, its failure; and how long to leave the next one alone.
    mutating func goElsewhere(
        after failure: DownloadFailure, retryAfter: Duration?, at source: Source, over: ExchangeNumber? = nil,
        _ context: inout Context
    ) -> (failure: DownloadFailure, retryAfter: Duration?)? {
        guard mayGoElsewhere(context.settings), failure.reason.isOfPlace else { return (failure, retryAfter) }
        if isOnlyLost(after: failure, at: source, context) { return (failure, nil) }
        if failure.reason.isWorthRetrying(retryAfter: retryAfter) {
            mirrors.fail(source, failure, until: restEnd(after: retryAfter, context), at: context.now)
        } else {
            mirrors.drop(source)
        }
        if source != mirrors.main || beginElsewhere(after: failure, context.settings) {
            restart(after: failure, over: over, &context)
            return nil
        }
        let counting = mirrors.passing ?? failure
        // Who wants to be left alone for the shortest time is next; but the last try waits for all.
        let isLast = failures + 1 >= context.settings.retry.maximumRetries ?? .max
        let rests = mirrors.failing.filter { mayAsk($0, context.settings) }.map { mirrors.rest(of: $0) }
        let rest = (isLast ? rests.max() : rests.min()).map { max($0, context.now) }
        if let rest { mirrors.forgetFailures(restingUpTo: rest) } else { mirrors.forgetFailures() }
        _ = beginElsewhere(context.settings)
        return (counting, rest.map { $0 - context.now })
    }

    /// Whether a connection has just broken off that was worth its while, for the first time since the last gain: its
    /// place is asked once more, as it would be without mirrors, which may all be slower.
    private func isOnlyLost(after failure: DownloadFailure, at source: Source, _ context: Context) -> Bool {
        guard case .transferring(let transfer) = state, source == mirrors.main, failures == 0,
            context.settings.retry.maximumRetries != 0
        else { return false }
        // Each time there is a wait.
        let isWorthIt = context.now - transfer.since >= Pace.recentTime || transfer.received >= Pace.worthAWait
        return isWorthIt && transfer.received > 0 && failure.reason == .transport(.connectionLost)
    }

    /// Until when a place that has answered `Retry-After` is left alone.
    func restEnd(after retryAfter: Duration?, _ context: Context) -> Duration? {
        context.settings.retry.patience(with: retryAfter).map { context.now + $0 }
    }

    /// Asks each other place for its file, whatever version that is, when the present one is of no use any more and the
    /// download would fail: what is held is given up when that comes, and not before. Not often: each time a place is
    /// dropped. False when there is none.
    mutating func beginAnew(
        after failure: DownloadFailure, mayPass: Bool, over: ExchangeNumber? = nil, _ context: inout Context
    ) -> Bool {
        guard failure.reason.isOfPlace else { return false }
        mirrors.forgetFailures()
        let main = mirrors.main
        guard completed > 0 || !mayPass || !mirrors.others.isEmpty, seekAnother(context.settings) else { return false }
        // What counts where the others come to nothing.
        mirrors.fail(main, mayPass ? failure : nil)
        // After what may pass each is asked once.
        if !mayPass { failures = 0 }
        restart(after: failure, over: over, &context)
        return true
    }

    /// Goes to another place for its file, of which nothing bad is known, else asks one that has refused a part for the
    /// whole, else goes to one that only has another version, and drops the present one. False when there is none.
    private mutating func seekAnother(_ settings: Settings) -> Bool {
        guard mayGoElsewhere(settings) else { return false }
        let (others, main) = (mirrors.others, mirrors.main)
        let usable = mirrors.usable.first { $0 != main }
        if usable == nil, beginAtPartless() {
            partUse = .possible
            return true
        }
        guard let next = usable ?? others.first(where: { $0 != main }) else { return false }
        mirrors.beginAnew(at: next)
        seeksWhole = others.contains(next) || !mayGoOn(at: next, settings) ? .contentChanged : nil
        // What was tried was tried at another server.
        partUse = .possible
        ladder = RungLadder()
        return true
    }

    /// Leaves the download's own URL when nobody has a link to it any more: at once, and with what is held where a
    /// mirror can go on with that. Not often, since the URL is dropped. False when there is no mirror of use.
    mutating func leaveURL(after failure: DownloadFailure, _ context: inout Context) -> Bool {
        guard mayGoElsewhere(context.settings) else { return false }
        mirrors.giveUp(0)
        if !beginElsewhere(context.settings) {
            // What the mirrors failed at may have passed, and they are all there is.
            mirrors.forgetFailures()
            guard beginElsewhere(context.settings) else {
                return beginAnew(after: failure, mayPass: false, &context)
            }
        }
        restart(after: failure, &context)
        return true
    }

    /// Goes to another place after the whole file of the present one was wrong: one of which nothing bad is known, else
    /// one that only had another version than the wrong one, else one that has failed and may do better by now. Not
    /// often: each time a place is dropped. False when there is none.
    mutating func leaveWrongFile(_ settings: Settings) -> Bool {
        guard mayGoElsewhere(settings) else { return false }
        mirrors.drop(mirrors.main)
        if mirrors.usable.isEmpty, mirrors.others.isEmpty { mirrors.forgetFailures() }
        guard let other = mirrors.usable.first ?? mirrors.others.first else { return false }
        mirrors.beginAnew(at: other)
        // Whether ranges work was found out at another server.
        partUse = .possible
        return true
    }

    /// What outlives the process is taken up as what was asked of the URL, so that nothing else is asked there.
    private func mayGoElsewhere(_ settings: Settings) -> Bool {
        mirrors.count > 0 && !settings.outlivesProcess
    }

    /// What failed beside others only may do alone, once no place is left.
    private mutating func beginElsewhere(after failure: DownloadFailure, _ settings: Settings) -> Bool {
        if beginElsewhere(settings) { return true }
        guard !failure.reason.isWorthRetrying, mirrors.passing == nil else { return false }
        mirrors.forgetFailures()
        return beginElsewhere(settings)
    }

    /// Whether another place than the one that is asked now may be, and has not failed.
    func hasOtherPlace(_ settings: Settings) -> Bool {
        mayGoElsewhere(settings) && mirrors.usable.contains { $0 != mirrors.main && mayAsk($0, settings) }
    }

    private mutating func beginElsewhere(_ settings: Settings) -> Bool {
        guard let next = mirrors.usable.first(where: { mayAsk($0, settings) }) else { return false }
        if next != mirrors.main {
            if doubts.wholeTry == .possible { doubts.wholeTry = .none }
            // A server without ranges would have sent all of it again: this one may as well, if it answers.
            if isPlain, completed > 0, !mayGoOn(at: next, settings) { seeksWhole = .contentChanged }
            // As after a wrong file.
            partUse = .possible
            // What it did with parts says nothing of the next.
            if seeksWholeForParts, mayGoOn(at: next, settings) { (seeksWhole, doubts.wholeTry) = (nil, .none) }
        }
        mirrors.begin(at: next)
        return true
    }

    /// An answer from elsewhere that does not continue what is there: the place has another file, and what is there stays.
    mutating func leaveMirror(_ exchange: Exchange, _ context: inout Context) {
        mirrors.differ(exchange.ask.source)
        if mirrors.isDropped(mirrors.ofVersion) { return leaveVersion(&context) }
        // It may have failed, or want to be left alone for a while.
        let hasFailed = mirrors.failing.contains(mirrors.ofVersion)
        if hasFailed, beginElsewhere(context.settings) { return close(for: .restart, &context) }
        let rest = mirrors.rest(of: mirrors.ofVersion)
        let isToRest = rest > context.now
        mirrors.begin(at: mirrors.ofVersion)
        close(for: isToRest ? .wait(.retry(at: rest)) : .restart, &context)
    }

    /// The place that has told the version in hand is of no use any more, and the one that was asked last has another.
    /// Places that have failed may do better, and go on with what is held: then they are waited for.
    private mutating func leaveVersion(_ context: inout Context) {
        mirrors.begin(at: mirrors.ofVersion)
        if mirrors.failing.contains(where: { mayAsk($0, context.settings) }) {
            if let passing = mirrors.passing {
                return retryOrFail(passing, at: mirrors.ofVersion, &context)
            }
            mirrors.forgetFailures()
        }
        if !beginElsewhere(context.settings) {
            // Each is asked as often as may be.
            failures = 0
            _ = seekAnother(context.settings)
        }
        close(for: .restart, &context)
    }

    /// Where the next of several exchanges goes: to a place that nobody was asked at, else to the one that brings most
    /// over one.
    func nextAsk(for piece: Range<Int64>, _ transfer: Transfer, _ context: Context) -> Ask? {
        worths(for: piece, transfer, context).max { $0.worth < $1.worth }?.ask
    }

    /// The same, but at no place of which nothing is known.
    func nextAsk(for piece: Range<Int64>, amongKnown transfer: Transfer, _ context: Context) -> Ask? {
        worths(for: piece, transfer, context).filter { !transfer.isUnknown($0.ask.source) }
            .max { $0.worth < $1.worth }?.ask
    }

    /// Where a piece may be asked for that one exchange holds up: where another would bring ten times as much, rather
    /// elsewhere.
    func nextAsk(
        for piece: Range<Int64>, insteadOf held: Exchange, at speed: Int64, _ transfer: Transfer, _ context: Context
    ) -> Ask? {
        let worths = worths(for: piece, besides: held, transfer, context).filter { $0.worth / 10 >= max(1, speed) }
        let others = worths.filter { $0.ask.source != held.ask.source }
        return (others.isEmpty ? worths : others).max { $0.worth < $1.worth }?.ask
    }

    /// Whether there is a place that takes another exchange.
    func mayAskMore(_ transfer: Transfer, _ context: Context) -> Bool {
        nextGap.map { !furtherAsks(for: $0, transfer, context).isEmpty } ?? false
    }

    /// What another exchange is asked for at each place that may take it, and what it would bring in a second.
    private func worths(
        for piece: Range<Int64>, besides held: Exchange? = nil, _ transfer: Transfer, _ context: Context
    ) -> [(ask: Ask, worth: Int64)] {
        furtherAsks(for: piece, transfer, context)
            .map { ($0, transfer.worth(of: $0.source, besides: held, at: context.now)) }
    }

    /// A piece that was wrong is asked for where the attempt began: that is what is left when it stays so. As is what
    /// no place takes, now and then.
    func furtherAsks(for piece: Range<Int64>, _ transfer: Transfer, _ context: Context) -> [Ask] {
        let isOfOne = mirrors.count == 0 || pieceFailures.keys.contains { $0.overlaps(piece) }
        // Where bytes come from now counts whatever it has failed at before.
        let places = [mirrors.main] + (isOfOne ? [] : mirrors.usableBeside.filter { $0 != mirrors.main })
        // A place that wants no further ones may have as many as it had.
        let asks = places.filter { !mirrors.isCrowded($0, at: context.now) || transfer.hasRoom($0) }
            .compactMap { ask(for: piece, context.settings.delivery, at: $0) }
        let free = asks.filter { !transfer.isFull($0.source, at: context.now) }
        return free.isEmpty ? asks.filter { $0.source == mirrors.main } : free
    }

    /// Whether an exchange that came to nothing is the fault of a mirror. Then that is left, unless it only has enough
    /// with what it brings over others. One that wants to be left alone until then is, though it be all there is; `now` for
    /// what may pass.
    mutating func blameMirror(
        _ exchange: Exchange, isOther: Bool, after failure: DownloadFailure? = nil, until rest: Duration? = nil,
        at now: Duration?, _ transfer: inout Transfer, _ context: Context
    ) -> Bool {
        let source = exchange.ask.source
        guard source != mirrors.main, exchange.received == 0 else { return false }
        if isOther {
            mirrors.differ(source)
        } else if !transfer.limit(source, at: context.now) {
            mirrors.fail(source, rest != nil && now != nil ? failure : nil, until: rest, at: now)
        }
        return true
    }
}
