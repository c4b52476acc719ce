// What a transfer over several connections knows of them: who brings what, what is left to ask for, which is missed the
// least.

extension Transfer {
    /// Whether a limit on bandwidth keeps bytes away, or has a moment ago.
    func isHeld(at now: Duration) -> Bool { heldUntil > .zero && heldUntil + Pace.holdMemory > now }

    /// Notes at each look whether a limit keeps bytes away.
    mutating func noteHold(at now: Duration) {
        heldShare = heldShare.map { $0 + ((heldUntil > now ? 256 : 0) - $0) / 4 }
    }

    /// Whether it keeps away what more connections would bring, by how it was at the last looks: of a server that sends in
    /// bursts each may be held back for a moment, though much less comes than might.
    var isMostlyHeld: Bool { heldShare ?? 0 >= 128 }

    /// Whether nothing tells what a place would bring.
    func isUnknown(_ source: Source) -> Bool {
        pastSpeeds[source] == nil && !exchanges.contains { $0.ask.source == source }
    }

    /// Exchanges of the present try, each with a place of which nothing was known.
    var newcomers: [Exchange] {
        guard let begun = connections.triedSince else { return [] }
        return exchanges.filter { new in
            new.begun >= begun && new.ask.isElsewhere && pastSpeeds[new.ask.source] == nil
                && !exchanges.contains { $0.ask.source == new.ask.source && $0.number != new.number }
        }
    }

    /// How long an answer is waited for that is one of several: a first one of a place takes a few ways more than others.
    var patience: Duration { max(ConnectionRule.patience, min(latency * 4, Pace.endTime)) }

    /// What those have brought that are not there any more: of one that had no time to answer nothing is known yet.
    mutating func remember(of newcomers: [Exchange], at now: Duration) {
        for exchange in newcomers where isUnknown(exchange.ask.source) {
            guard exchange.isAccepted || now - exchange.begun >= ConnectionRule.shortWindow else { continue }
            let time = max(now - exchange.begun, .seconds(1))
            pastSpeeds[exchange.ask.source] = exchange.received.perSecond(over: time)
        }
    }

    /// The most bytes a second that one exchange brings, or that a place has brought over one.
    func mostKnown(at now: Duration) -> Int64 {
        max(exchanges.map { $0.speed(at: now) }.max() ?? 0, pastSpeeds.values.max() ?? 0)
    }

    /// Over how many exchanges bytes come.
    var running: Int { exchanges.count { $0.isAccepted } }

    /// A place has refused an exchange: for a while it takes no more than those that are running, if there are any; says
    /// whether there are.
    @discardableResult
    mutating func limit(_ source: Source, at now: Duration) -> Bool {
        let count = exchanges.count { $0.isAccepted && $0.ask.source == source }
        limits[source] = count > 0 ? Limit(count: count, time: now) : nil
        return count > 0
    }

    /// Whether a place has as many exchanges as it takes.
    func isFull(_ source: Source, at now: Duration) -> Bool {
        guard let limit = limits[source] else { return false }
        return limit.time + Pace.placeWait > now && !hasRoom(source)
    }

    /// Whether a place that has refused an exchange has fewer than it had then.
    func hasRoom(_ source: Source) -> Bool {
        limits[source].map { limit in exchanges.count { $0.ask.source == source } < limit.count } ?? false
    }

    /// The exchange that is missed the least, of one place or of all.
    func leastWanted(of source: Source?, at now: Duration) -> ExchangeNumber? {
        let candidates = exchanges.filter { source ?? $0.ask.source == $0.ask.source }
        if let unanswered = candidates.last(where: { !$0.isAccepted }) { return unanswered.number }
        guard running > 1, let last = candidates.last,
            let slowest = candidates.min(by: { $0.speed(at: now) < $1.speed(at: now) })
        else { return nil }
        return slowest.speed(at: now) < last.speed(at: now) / 2 ? slowest.number : last.number
    }

    /// Whether an exchange is asked for a part of what another one is still to bring.
    func asks(_ number: ExchangeNumber, within rest: Range<Int64>?) -> Bool {
        guard let rest, let asked = exchanges.first(where: { $0.number == number })?.ask.range else { return false }
        return rest.overlaps(asked)
    }

    /// Positions that are written, or on their way from here to the disk.
    func arrived(besides written: ByteRanges) -> ByteRanges {
        var arrived = claimed
        arrived.formUnion(written)
        for exchange in exchanges { exchange.rest.map { arrived.remove($0) } }
        return arrived
    }

    /// What an exchange does not bring any more can be asked for again.
    mutating func give(back number: ExchangeNumber) {
        for exchange in exchanges where exchange.number == number { exchange.rest.map { claimed.remove($0) } }
        exchanges.removeAll { $0.number == number }
    }

    /// Whether the end of a body that is shorter than was asked for is within what another exchange is still to bring.
    func isWithin(_ end: Int64, besides exchange: Exchange) -> Bool {
        guard let asked = exchange.ask.range, end < asked.upperBound else { return false }
        return exchanges.contains { $0.rest?.contains(end) == true }
    }

    /// The exchange that was to bring what begins there, and has brought nothing.
    func idle(at position: Int64) -> ExchangeNumber? {
        exchanges.first { $0.received == 0 && $0.rest?.lowerBound == position }?.number
    }

    /// Lets the exchange that is on its way to a body end where that begins; says which one that is.
    mutating func cut(at body: Range<Int64>) -> ExchangeNumber? {
        for index in exchanges.indices {
            guard let whole = exchanges[index].body, exchanges[index].rest?.contains(body.lowerBound) == true else {
                continue
            }
            exchanges[index].body = whole.lowerBound..<body.lowerBound
            claimed.remove(body.lowerBound..<whole.upperBound)
            return exchanges[index].number
        }
        return nil
    }

    /// Notes what each exchange brings lately: not while it is held back.
    mutating func lookBack(at now: Duration, isHeldUp: Bool) {
        for index in exchanges.indices where exchanges[index].isAccepted {
            exchanges[index].recent.look(at: exchanges[index].received, now: now, isHeldUp: isHeldUp)
        }
    }

    /// What an exchange is not worth waiting for: all but what it brings until another one's answer comes.
    func heldUp(by exchange: Exchange, besides written: ByteRanges) -> (piece: Range<Int64>, speed: Int64)? {
        guard let rest = exchange.rest, let speed = exchange.recent.speed,
            (rest.upperBound - rest.lowerBound) / max(1, speed) >= Pace.endTime.components.seconds,
            !exchanges.contains(where: { !$0.isAccepted && $0.ask.range?.overlaps(rest) == true })
        else { return nil }
        let kept = speed.multipliedClamped(by: Pace.answerTime.components.seconds)
        return written.firstGap(from: rest.lowerBound.addingClamped(kept), below: rest.upperBound).map { ($0, speed) }
    }

    /// Fewer bytes are not worth a request.
    func leastPiece(_ smallest: Int64, at now: Duration) -> Int64 {
        let time = Pace.pieceTime.milliseconds.addingClamped(min(latency.milliseconds, 60_000) * 2)
        let speed = speed(at: now) / Int64(max(1, running))
        return max(1, smallest, speed.multipliedClamped(by: time) / 1000)
    }

    /// What the next exchange is asked for: what nobody brings, else the second half of the largest part that one does.
    func nextPiece(besides written: ByteRanges, below total: Int64, least: Int64) -> Range<Int64>? {
        if let gap = taken(besides: written).firstGap(below: total) { return gap }
        let asked = exchanges.compactMap { $0.isAccepted ? nil : $0.ask.range?.lowerBound }
        // What is written may be farther than what was told of.
        let parts = exchanges.compactMap(\.rest).compactMap { rest in
            written.firstGap(
                from: rest.lowerBound, below: asked.filter(rest.contains).min() ?? rest.upperBound)
        }
        guard let largest = parts.max(by: { $0.upperBound - $0.lowerBound < $1.upperBound - $1.lowerBound }) else {
            return nil
        }
        let half = (largest.upperBound - largest.lowerBound) / 2
        guard half >= least else { return nil }
        let middle = largest.lowerBound + half
        // Writes that begin at whole megabytes are the cheapest.
        let aligned = middle & ~0xF_FFFF
        return (aligned - largest.lowerBound >= least ? aligned : middle)..<largest.upperBound
    }
}

extension Transfer {
    /// The most bytes a second that a place brings over an exchange, but for one, or has brought over the last one: one
    /// that stands still says nothing of the next. A place that was not asked at might bring any number.
    func worth(of source: Source, besides held: Exchange?, at now: Duration) -> Int64 {
        let mine = exchanges.filter { $0.ask.source == source && $0.number != held?.number }
        return mine.map { $0.speed(at: now) }.max() ?? pastSpeeds[source] ?? (source == held?.ask.source ? 0 : .max)
    }

    /// An exchange is over, or lost: what it has brought says what the next one of its place is worth, and is its
    /// place's fault if it is wrong. Not in next to no time; a lost one might have burst. One without an answer has
    /// brought nothing: else a place that never gives one would be asked again and again, instead of others.
    mutating func remember(_ exchange: Exchange, isLost: Bool = false, at now: Duration) {
        if exchange.ask.isElsewhere, let body = exchange.body, let rest = exchange.rest {
            brought.append(Share(body: body.lowerBound..<rest.lowerBound, source: exchange.ask.source))
        }
        let time = max(now - exchange.begun, isLost ? .seconds(1) : .zero)
        guard time >= .seconds(1) else { return }
        if !exchange.isAccepted, !isLost, pastSpeeds[exchange.ask.source] != nil { return }
        pastSpeeds[exchange.ask.source] = exchange.received.perSecond(over: time)
    }
}
