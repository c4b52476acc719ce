// Several connections for one file. The first request asks for all there is; another one, while that runs, for the second
// half of the largest part that is still to come. Once its answer is found good, the exchange that was on its way there
// ends where it begins. So a request that comes to nothing costs nothing; and where one exchange is lost, the others go
// on.

extension Download {
    /// Whether an exchange may be lost without loss: bytes come over another one, or neither has an answer yet.
    func isBesideOthers(_ number: ExchangeNumber, _ context: Context) -> Bool {
        guard case .transferring(let transfer) = state else { return false }
        let (isWhole, isAccepted) = (context.settings.delivery == .whole, exchange(number)?.isAccepted == true)
        return transfer.exchanges.contains {
            $0.number != number && ($0.isAccepted || !isAccepted)
                && (isWhole || transfer.asks(number, within: $0.rest))
        }
    }

    /// Whether answers to several requests are sure to be of one version.
    private func maySplit(_ transfer: Transfer, _ settings: Settings) -> Bool {
        guard transfer.takesRanges, !isPlain, total != nil, let version else { return false }
        return switch version.rung(from: ladder.top, hasDigest: hasDigest) {
        case .strongTag, .strongDate: true
        case .weak, .digestOnly: isDecidedByDigest(settings)
        case .none: false
        }
    }

    // MARK: More

    /// Begins further exchanges, up to the number that is worth it.
    mutating func connect(_ context: inout Context) {
        stopOvertaken(&context)
        mirrors.forgetRests(at: context.now)
        while let ask = furtherAsk(context), case .transferring(var transfer) = state {
            begin(ask, beside: &transfer, &context)
            state = .transferring(transfer)
        }
    }

    /// What one more exchange is asked for, if one is worth it.
    private func furtherAsk(_ context: Context) -> Ask? {
        guard context.connections > 1, context.settings.delivery == .whole, case .transferring(let transfer) = state,
            transfer.exchanges.count < min(transfer.connections.wanted, context.connections),
            maySplit(transfer, context.settings),
            let total
        else { return nil }
        guard let piece = nextPiece(of: transfer, below: total, context) else { return askForHeldUp(transfer, context) }
        return nextAsk(for: piece, transfer, context)
    }

    private func nextPiece(of transfer: Transfer, below total: Int64, _ context: Context) -> Range<Int64>? {
        let least = transfer.leastPiece(context.settings.smallestPiece, at: context.now)
        return transfer.nextPiece(besides: written, below: total, least: least)
    }

    /// What one exchange holds up of which the rest is too small to be halved, where another would bring ten times as much.
    private func askForHeldUp(_ transfer: Transfer, _ context: Context) -> Ask? {
        for exchange in transfer.exchanges {
            guard let (piece, speed) = transfer.heldUp(by: exchange, besides: written),
                let ask = nextAsk(for: piece, insteadOf: exchange, at: speed, transfer, context)
            else { continue }
            return ask
        }
        return nil
    }

    /// The answer to a request that was made while others run: a part that is still wanted, or nothing to take.
    mutating func answerBeside(
        _ exchange: Exchange, _ head: ResponseHead, _ verdict: Verdict, _ context: inout Context
    ) {
        switch verdict {
        case .part(let version, let body):
            join(exchange, head, version, body, &context)
        case .redirect(let location) where exchange.redirects < Pace.redirects:
            redirect(exchange, location, &context)
        case .refused(let status, let retryAfter):
            if askFromBeginning(exchange, after: status, retryAfter: retryAfter, &context) { return }
            refuse(exchange, after: .refused(status), retryAfter: retryAfter, &context)
        case .whole, .resumed, .restart, .fromZero, .complete, .unusable, .redirect:
            refuse(exchange, isOther: true, &context)
        }
    }

    /// Where a redirect led to may have expired since: then the way is gone once more, by all that had gone there at
    /// once; says whether it is.
    private mutating func askFromBeginning(
        _ exchange: Exchange, after status: Int, retryAfter: Duration?, _ context: inout Context
    ) -> Bool {
        guard Self.mayHaveExpired(status, retryAfter), exchange.redirects == 0, exchange.wasLed,
            case .transferring(var transfer) = state
        else { return false }
        leave(exchange.number, &transfer, &context)
        if transfer.led.contains(exchange.ask.source) {
            perform(.leadBack, &context)
            // Those of other places are gone with it.
            transfer.led = []
        }
        begin(exchange.ask, beside: &transfer, &context)
        state = .transferring(transfer)
        return true
    }

    private mutating func join(
        _ exchange: Exchange, _ head: ResponseHead, _ version: Version, _ body: Range<Int64>,
        _ context: inout Context
    ) {
        guard case .transferring(var transfer) = state else { return }
        // A server's digest is that of its own file, and says nothing of another place's.
        let isDecided = exchange.ask.isElsewhere ? hasDigest : isDecidedByDigest(context.settings)
        guard maySplit(transfer, context.settings), exchange.ask.rung != .digestOnly || isDecided else {
            return refuse(exchange, &context)
        }
        let isLate = transfer.arrived(besides: written).contains(body.lowerBound..<body.lowerBound + 1)
        if isLate {
            leave(exchange.number, &transfer, &context)
            state = .transferring(transfer)
            return askForMore(&context)
        }
        // One that brings all would end for a few bytes, and what is behind them be asked for bit by bit.
        if transfer.isWithin(body.upperBound, besides: exchange) { return refuse(exchange, &context) }
        if let idle = transfer.idle(at: body.lowerBound) {
            leave(idle, &transfer, &context)
        } else if let before = transfer.cut(at: body) {
            perform(.cut(before, at: body.lowerBound), &context)
        }
        state = .transferring(transfer)
        acceptPart(exchange, head, version, body, &context)
    }

    // MARK: Less

    /// A server that does not send it like this may not want to: one connection to it is enough. Of one place nothing
    /// follows for the others.
    private mutating func refuse(
        _ exchange: Exchange, after failure: DownloadFailure? = nil, retryAfter: Duration? = nil, isOther: Bool = false,
        _ context: inout Context
    ) {
        guard case .transferring(var transfer) = state else { return }
        let (source, rest) = (exchange.ask.source, restEnd(after: retryAfter, context))
        leave(exchange.number, &transfer, &context)
        if let rest { mirrors.crowd(source, until: rest) }
        let mayPass = failure?.reason.isWorthRetrying(retryAfter: rest) == true
        let now = mayPass ? context.now : nil
        if !blameMirror(exchange, isOther: isOther, after: failure, until: rest, at: now, &transfer, context) {
            // What it has brought before says nothing of the next: others come first.
            if !transfer.limit(source, at: context.now), rest == nil { transfer.pastSpeeds[source] = 0 }
            let others = transfer.exchanges.count { $0.ask.source != source }
            transfer.connections.wasRefused(at: context.now, left: min(transfer.exchanges.count, others + 1))
            dropUnwanted(of: source, &transfer, &context)
        }
        state = .transferring(transfer)
        askForMore(&context)
    }

    /// A mirror that has brought a piece that is wrong brings no more.
    mutating func leaveBringer(of piece: Range<Int64>, _ transfer: inout Transfer, _ context: inout Context) {
        let running = transfer.exchanges.first { $0.body.map { piece.clamped(to: $0) == piece } ?? false }
        let ended = transfer.brought.last { piece.clamped(to: $0.body) == piece }
        guard let source = running?.ask.source ?? ended?.source, source != mirrors.main else { return }
        mirrors.fail(source)
        for exchange in transfer.exchanges where exchange.ask.source == source {
            leave(exchange.number, &transfer, &context)
        }
    }

    /// An exchange is over before its end, and others are not: they go on, and one of them brings later what it did not.
    mutating func lose(_ number: ExchangeNumber, _ context: inout Context) {
        guard case .transferring(var transfer) = state, let exchange = exchange(number) else { return }
        transfer.remember(exchange, isLost: true, at: context.now)
        transfer.give(back: number)
        let isMirror = blameMirror(exchange, isOther: false, at: context.now, &transfer, context)
        // One that has brought bytes for some time was not one too many.
        let isEarly = exchange.received == 0 || context.now - exchange.begun < Pace.recentTime
        if isEarly, !isMirror { transfer.connections.wasLost(at: context.now, left: transfer.exchanges.count) }
        state = .transferring(transfer)
        askForMore(&context)
        verifyIfComplete(&context)
    }

    /// The same of one that is not waited for any longer.
    private mutating func stopAndLose(_ number: ExchangeNumber, _ context: inout Context) {
        perform(.stop(number, keepBytes: true), &context)
        lose(number, &context)
    }

    /// Whether a request of the transfer has no answer yet. Looked at before the transfer is copied.
    private var awaitsAnswer: Bool {
        if case .transferring(let transfer) = state { !transfer.exchanges.allSatisfy(\.isAccepted) } else { false }
    }

    /// Requests whose first byte has come otherwise, before their answer.
    private mutating func stopOvertaken(_ context: inout Context) {
        guard context.settings.delivery == .whole, awaitsAnswer, case .transferring(var transfer) = state,
            transfer.running > 0
        else { return }
        leaveRequests(of: &transfer, &context) { $0.contains($1.lowerBound..<$1.lowerBound + 1) }
        state = .transferring(transfer)
    }

    /// Requests that are out for what has come meanwhile: with nothing else under way, their answers would count.
    mutating func stopNeedless(_ context: inout Context) {
        guard awaitsAnswer, case .transferring(var transfer) = state, transfer.running == 0 else { return }
        leaveRequests(of: &transfer, &context) { $0.contains($1) }
        state = .transferring(transfer)
    }

    /// Stops the requests without an answer that are out for something of no use, by what has arrived.
    private func leaveRequests(
        of transfer: inout Transfer, _ context: inout Context, where isUseless: (ByteRanges, Range<Int64>) -> Bool
    ) {
        let arrived = transfer.arrived(besides: written)
        for exchange in transfer.exchanges where !exchange.isAccepted {
            if let asked = exchange.ask.range, isUseless(arrived, asked) { leave(exchange.number, &transfer, &context) }
        }
    }

    private func leave(_ number: ExchangeNumber, _ transfer: inout Transfer, _ context: inout Context) {
        if let exchange = transfer.exchanges.first(where: { $0.number == number }) {
            transfer.remember(exchange, at: context.now)
        }
        transfer.give(back: number)
        perform(.stop(number, keepBytes: true), &context)
    }

    /// Those without an answer go first, then those that bring much less than others; else the latest, of one place or of
    /// all.
    private func dropUnwanted(of source: Source? = nil, _ transfer: inout Transfer, _ context: inout Context) {
        while transfer.exchanges.count > transfer.connections.wanted,
            let least = transfer.leastWanted(of: source, at: context.now)
        {
            leave(least, &transfer, &context)
        }
    }

    // MARK: Time

    /// Whether more has come than the disk keeps up with, besides what is gathered of each exchange.
    func isHeldUp(_ transfer: Transfer) -> Bool {
        let most = max(Pace.backlog, Int64(transfer.running) * Pace.gathered)
        return transfer.base.addingClamped(transfer.received) - written.count > most
    }

    /// A request that is without an answer for so long is not waited for: what it was asked for may be all that is
    /// missing. A mirror is left; the URL is asked once more when bytes have come since, and nothing else is on its way.
    private func unanswered(_ context: Context) -> ExchangeNumber? {
        guard context.settings.delivery == .whole, case .transferring(let transfer) = state else { return nil }
        let nothingComes = transfer.running == 0
        let unanswered = transfer.exchanges.first { exchange in
            !exchange.isAccepted
                && (exchange.ask.source != mirrors.main || nothingComes && exchange.begun < transfer.lastAdvance)
                && context.now - max(exchange.begun, transfer.heldUntil) >= Pace.endTime
        }
        return unanswered?.number
    }

    /// Does not wait longer for places that the present try has asked for the first time, and that have not answered.
    private func leaveUnheard(_ transfer: inout Transfer, _ context: inout Context) {
        let unheard = transfer.newcomers.filter { exchange in
            !exchange.isAccepted && context.now - max(exchange.begun, transfer.heldUntil) >= transfer.patience
        }
        for exchange in unheard { leave(exchange.number, &transfer, &context) }
        transfer.connections.isWithout(unheard.count)
    }

    /// Leaves an exchange that is not worth waiting for where another place would bring ten times as much, as far as is
    /// known. At the end it is waited for until that answers.
    private func leaveOutdone(_ transfer: inout Transfer, _ context: inout Context) {
        guard mirrors.count > 0, transfer.running > 1, let total, nextPiece(of: transfer, below: total, context) != nil
        else { return }
        let most = transfer.mostKnown(at: context.now) / 10
        for exchange in transfer.exchanges where exchange.recent.speed ?? .max < most {
            guard let (piece, speed) = transfer.heldUp(by: exchange, besides: written) else { continue }
            let source = exchange.ask.source
            var others = transfer
            others.give(back: exchange.number)
            others.pastSpeeds[source] = speed
            guard let next = nextAsk(for: piece, amongKnown: others, context), next.source != source else { continue }
            leave(exchange.number, &transfer, &context)
            // It may have brought more before.
            transfer.pastSpeeds[source] = speed
            return
        }
    }

    /// How many places might be asked for the first time.
    private func unasked(_ transfer: Transfer, _ context: Context) -> Int {
        guard mirrors.count > 0, let gap = nextGap else { return 0 }
        return furtherAsks(for: gap, transfer, context).count { transfer.isUnknown($0.source) }
    }

    /// The regular look at what the connections bring.
    mutating func adapt(_ context: inout Context) {
        if let number = unanswered(context) { return stopAndLose(number, &context) }
        guard context.settings.delivery == .whole, case .transferring(var transfer) = state, transfer.running > 0,
            maySplit(transfer, context.settings), let total
        else { return }
        // While nobody takes more, a try would seem to bring nothing.
        let most = mayAskMore(transfer, context) ? context.connections : transfer.exchanges.count
        transfer.noteHold(at: context.now)
        let newcomers = transfer.newcomers
        leaveUnheard(&transfer, &context)
        var look = ConnectionRule.Look(
            now: context.now, received: transfer.received, running: transfer.running,
            left: max(0, total - written.count), isHeldUp: isHeldUp(transfer) || transfer.isMostlyHeld,
            most: min(most, context.connections))
        look.toUnknown = transfer.newcomers.count
        look.unasked = unasked(transfer, context)
        look.patience = transfer.patience
        transfer.connections.look(look)
        dropUnwanted(&transfer, &context)
        transfer.remember(of: newcomers, at: context.now)
        transfer.lookBack(at: context.now, isHeldUp: isHeldUp(transfer) || transfer.isHeld(at: context.now))
        leaveOutdone(&transfer, &context)
        let silent = transfer.exchanges.first { exchange in
            context.now - max(exchange.lastAdvance, transfer.heldUntil) >= context.settings.watchdog.silence
        }
        state = .transferring(transfer)
        if let silent, isBesideOthers(silent.number, context), !context.settings.outlivesProcess {
            return stopAndLose(silent.number, &context)
        }
        askForMore(&context)
    }
}

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
    fileprivate var newcomers: [Exchange] {
        guard let begun = connections.triedSince else { return [] }
        return exchanges.filter { new in
            new.begun >= begun && new.ask.isElsewhere && pastSpeeds[new.ask.source] == nil
                && !exchanges.contains { $0.ask.source == new.ask.source && $0.number != new.number }
        }
    }

    /// How long an answer is waited for that is one of several: a first one of a place takes a few ways more than others.
    fileprivate var patience: Duration { max(ConnectionRule.patience, min(latency * 4, Pace.endTime)) }

    /// What those have brought that are not there any more: of one that had no time to answer nothing is known yet.
    fileprivate mutating func remember(of newcomers: [Exchange], at now: Duration) {
        for exchange in newcomers where isUnknown(exchange.ask.source) {
            guard exchange.isAccepted || now - exchange.begun >= ConnectionRule.shortWindow else { continue }
            let time = max(now - exchange.begun, .seconds(1))
            pastSpeeds[exchange.ask.source] = exchange.received.perSecond(over: time)
        }
    }

    /// The most bytes a second that one exchange brings, or that a place has brought over one.
    fileprivate func mostKnown(at now: Duration) -> Int64 {
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
    fileprivate func leastWanted(of source: Source?, at now: Duration) -> ExchangeNumber? {
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

extension DownloadFailure.Reason {
    /// Whether another connection would fare no better.
    var isOfDisk: Bool {
        if case .disk = self { true } else { false }
    }
}

extension ResponseHead {
    /// Whether the server says that it sends parts (RFC 9110, 14.3), or has sent one.
    var offersRanges: Bool { status == 206 || acceptsRanges(in: "bytes") }

    /// Whether the server says that it sends none.
    package var deniesRanges: Bool { acceptsRanges(in: "none") }

    private func acceptsRanges(in unit: StaticString) -> Bool {
        FieldText.members(fields.values(of: "Accept-Ranges")).contains { FieldText.equal($0, unit) }
    }
}
