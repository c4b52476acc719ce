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
        guard RefusalTables.mayMeanThatAPlaceExpired(status, retryAfter), exchange.redirects == 0, exchange.wasLed,
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
