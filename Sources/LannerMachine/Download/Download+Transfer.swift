// While bytes arrive: what is asked for next, what is recorded when, and when it is too slow.

extension Download {
    mutating func received(_ number: ExchangeNumber, _ count: Int64, _ context: inout Context) {
        guard case .transferring(var transfer) = state,
            let index = transfer.exchanges.firstIndex(where: { $0.number == number && $0.isAccepted })
        else { return ignore(.unknownExchange(number), &context) }
        guard transfer.advance(at: index, to: count, now: context.now) else { return }
        // Not only once they are written: an exchange that fails right after them has advanced all the same.
        noteGain(transfer.base.addingClamped(transfer.received))
        state = .transferring(transfer)
        askForMore(&context)
    }

    mutating func wrote(_ range: Range<Int64>, _ context: inout Context) {
        switch state {
        case .transferring(var transfer):
            written.insert(range)
            transfer.lastAdvance = context.now
            noteGain(written.count)
            if written.count - transfer.lastMark.bytes >= Pace.markBytes { mark(&transfer, .marks, &context) }
            state = .transferring(transfer)
            askForMore(&context)
            verifyIfComplete(&context)
        case .pausing:
            written.insert(range)
        case .waiting, .opening, .verifying, .publishing, .suspended, .failed, .succeeded:
            ignore(.late("wrote"), &context)
        }
    }

    /// More bytes than ever: what failed before is forgiven.
    mutating func noteGain(_ held: Int64) {
        guard held > highMark else { return }
        highMark = held
        forgetTries()
        otherTags = 0
        link.isFresh = false
    }

    mutating func synced(_ ranges: ByteRanges, _ context: inout Context) {
        guard case .transferring(var transfer) = state else {
            return ignore(.late("synced"), &context)
        }
        synced = ranges
        transfer.isSyncing = false
        // A claim that the death of the machine takes back would be none.
        mark(&transfer, .status, &context)
        state = .transferring(transfer)
    }

    private mutating func mark(_ transfer: inout Transfer, _ need: RecordNeed, _ context: inout Context) {
        transfer.lastMark = ByteMark(time: context.now, bytes: written.count)
        record(need, &context)
    }

    mutating func ended(_ number: ExchangeNumber, received: Int64, _ context: inout Context) {
        guard let exchange = exchange(number) else { return ignore(.unknownExchange(number), &context) }
        if exchange.isLeaving { return ignore(.late("ended"), &context) }
        guard let body = exchange.body, case .transferring(var transfer) = state,
            let index = transfer.exchanges.firstIndex(where: { $0.number == number })
        else {
            if isBesideOthers(number, context) { return lose(number, &context) }
            let failure = DownloadFailure(.transport(.malformedResponse), "The answer ended without a header.")
            return exchangeOver(failure, at: exchange.ask.source, over: number, &context)
        }
        let received = max(0, received)
        if transfer.advance(at: index, to: received, now: context.now) {
            noteGain(transfer.base.addingClamped(transfer.received))
        }
        transfer.lastAdvance = context.now
        state = .transferring(transfer)
        if body.lowerBound.addingClamped(received) < body.upperBound, isBesideOthers(number, context) {
            return lose(number, &context)
        }
        transfer.remember(transfer.exchanges.remove(at: index), at: context.now)
        state = .transferring(transfer)
        bodyEnded(body, received, exchange, &context)
    }

    private mutating func bodyEnded(
        _ body: Range<Int64>, _ received: Int64, _ exchange: Exchange, _ context: inout Context
    ) {
        if total == nil { learnEnd(body.lowerBound.addingClamped(received), &context) }
        let missing = min(total ?? .max, body.upperBound) - body.lowerBound - received
        if missing > 0 {
            // Where the transport has put two answers together that do not meet, what follows is out of place.
            if exchange.ask.resumeData != nil { return startOver(.cannotResume, plain: true, &context) }
            // What announces more than it brings has told no size that another answer could be measured by.
            if exchange.tellsLength, body.lowerBound == 0 { (version, total) = (version?.withoutSize, nil) }
            return exchangeOver(
                DownloadFailure(.transport(.lengthMismatch), "The answer ended \(missing) bytes early."),
                at: exchange.ask.source, &context)
        }
        unproven = ByteRanges()
        stopNeedless(&context)
        askForMore(&context)
        takeNoMore(&context)
        verifyIfComplete(&context)
    }

    /// All bytes of a small file are here, if not written yet: the next download need not wait for that.
    private mutating func takeNoMore(_ context: inout Context) {
        guard needsNoServer(context.settings), let total, total <= Pace.smallFile,
            case .transferring(var transfer) = state, transfer.hasReceived(all: total)
        else { return }
        transfer.hasPart = true
        state = .transferring(transfer)
        perform(.takesNoMore, &context)
    }

    private mutating func learnEnd(_ end: Int64, _ context: inout Context) {
        total = end
        version = version?.knowing(total: end)
        if case .transferring(var transfer) = state {
            transfer.claimed = transfer.claimed.clipped(to: end)
            state = .transferring(transfer)
        }
        tell(.progress(completed: completed, total: end), &context)
    }

    mutating func exchangeFailed(_ number: ExchangeNumber, _ failure: DownloadFailure, _ context: inout Context) {
        guard let exchange = exchange(number) else { return ignore(.unknownExchange(number), &context) }
        let isBroken = exchange.isAccepted && failure.reason == .transport(.malformedResponse)
        // As where a server dies and says so.
        let failure = isBroken ? DownloadFailure(.transport(.connectionLost), failure.detail) : failure
        if exchange.ask.resumeData != nil, !exchange.isAccepted, failure.reason.maySpeakOfResumeData {
            return startOver(.cannotResume, plain: true, over: number, &context)
        }
        let isOfServer = !failure.reason.isOfDisk && !failure.reason.isWantOfNetwork
        if exchange.takesOldWay, !exchange.isAccepted, isOfServer {
            return leaveOldWay(exchange, isOver: true, &context)
        }
        if isBroken, let body = exchange.body {
            // What was taken for bytes of the file may have been framing.
            unproven.insert(body.lowerBound..<body.lowerBound.addingClamped(exchange.received))
            record(.status, &context)
        } else {
            if isBesideOthers(number, context), !failure.reason.isOfDisk { return lose(number, &context) }
            if isAhead(exchange, context), isOfServer { return dropAhead(exchange, over: true, &context) }
        }
        if seekWhole(after: failure, exchange, over: number, &context) { return }
        exchangeOver(failure, at: exchange.ask.source, over: number, &context)
    }

    /// One exchange ended badly: the attempt is over, unless all bytes are there anyway.
    private mutating func exchangeOver(
        _ failure: DownloadFailure, at source: Source?, over number: ExchangeNumber? = nil, _ context: inout Context
    ) {
        if let total, isComplete, !isUnproven, case .transferring = state {
            stopAll(except: number, keepBytes: true, &context)
            return verify(total, &context)
        }
        if let wait = diskWait(after: failure, &context) {
            return close(for: .wait(wait), over: number, &context)
        }
        retryOrFail(failure, at: source, over: number, &context)
    }

    // MARK: Slices

    /// Begins the next requests while there is reason to.
    mutating func askForMore(_ context: inout Context) {
        askForSlices(&context)
        connect(&context)
    }

    private mutating func askForSlices(_ context: inout Context) {
        let delivery = delivery(context.settings)
        let most = asksOneByOne ? 1 : delivery.inFlight
        guard mayAskForSlice(most), case .transferring(var transfer) = state, let total else { return }
        while transfer.exchanges.count < most, transfer.wantsMore(at: context.now),
            let slice = nextSlice(transfer, delivery, total, at: context.now)
        {
            guard let ask = ask(for: slice, delivery) else {
                // The digest that tied the rest to what is there was taken back.
                if transfer.exchanges.isEmpty { return startOver(.cannotResume, plain: true, &context) }
                break
            }
            begin(ask, beside: &transfer, &context)
        }
        state = .transferring(transfer)
    }

    /// Whether bytes of another slice come while this one was asked for in time to follow.
    func isAhead(_ exchange: Exchange, _ context: Context) -> Bool {
        guard !exchange.isAccepted, context.settings.delivery != .whole, case .transferring(let transfer) = state
        else { return false }
        return transfer.exchanges.contains { $0.number != exchange.number && $0.isAccepted }
    }

    /// Whether the answer to such a request is of no use. Alone it may be another matter, whatever it says of the file, and
    /// of when to come back.
    func isTooMuch(_ verdict: Verdict, _ exchange: Exchange, _ context: Context) -> Bool {
        if case .redirect = verdict { return false }
        return !verdict.isOfUse && isAhead(exchange, context)
    }

    /// A slice that could not be had beside another is asked for again when that has come, as are those that follow.
    mutating func dropAhead(_ exchange: Exchange, over: Bool = false, _ context: inout Context) {
        guard case .transferring(var transfer) = state else { return }
        asksOneByOne = true
        if !over { perform(.stop(exchange.number, keepBytes: false), &context) }
        transfer.give(back: exchange.number)
        state = .transferring(transfer)
    }

    /// Looked at before the transfer is copied, as it is for every few bytes.
    private func mayAskForSlice(_ most: Int) -> Bool {
        guard !isPlain, case .transferring(let transfer) = state else { return false }
        return transfer.exchanges.count < most
    }

    /// Begins one more exchange of a transfer.
    func begin(_ ask: Ask, beside transfer: inout Transfer, _ context: inout Context) {
        var exchange = Exchange(number: context.makeExchangeNumber(), ask: ask, begun: context.now)
        exchange.wasLed = transfer.led.contains(ask.source)
        transfer.exchanges.append(exchange)
        perform(.begin(exchange.number, ask), &context)
    }

    /// The next range to ask for; nil when all is asked for or too much is under way.
    private func nextSlice(
        _ transfer: Transfer, _ delivery: Settings.Delivery, _ total: Int64, at now: Duration
    ) -> Range<Int64>? {
        let claimed = transfer.taken(besides: written)
        guard let gap = claimed.firstGap(below: total) else { return nil }
        guard let length = delivery.length(for: transfer.isFast ? transfer.speed(at: now) : 0) else { return gap }
        guard claimed.count - written.count + length <= Pace.window else { return nil }
        return gap.lowerBound..<min(gap.upperBound, gap.lowerBound.addingClamped(length))
    }

    /// The first request of an attempt: a slice of what is missing, or all of it.
    func firstSlice(of gap: Range<Int64>, _ delivery: Settings.Delivery) -> Range<Int64> {
        guard let length = delivery.length(for: 0) else { return gap }
        return gap.lowerBound..<min(gap.upperBound, gap.lowerBound.addingClamped(length))
    }

    // MARK: Time

    /// The regular look at a running download.
    mutating func tick(_ context: inout Context) {
        switch state {
        case .waiting(let reason): waited(reason, &context)
        case .opening(let opening):
            tick(opening, &context)
        case .transferring(let transfer): tick(transfer, &context)
        case .publishing(let publishing): tick(publishing, &context)
        case .pausing, .verifying, .suspended, .failed, .succeeded: break
        }
    }

    private mutating func tick(_ opening: Opening, _ context: inout Context) {
        let silence = context.settings.watchdog.silence
        switch opening.step {
        case .file: break
        case .link(let asked):
            if context.now - asked >= silence { retryOrFail(.noLink(silence), &context) }
        case .request(let exchange):
            if context.settings.outlivesProcess { return }
            // While there are others that may answer, none is waited for as long as one alone would be.
            let isFirstOfSeveral =
                failures == 0 && context.settings.retry.maximumRetries != 0 && hasOtherPlace(context.settings)
            let patience = isFirstOfSeveral ? min(silence, Pace.endTime) : silence
            guard context.now - exchange.begun >= patience else { return }
            if exchange.takesOldWay { return leaveOldWay(exchange, &context) }
            retryOrFail(.silent(patience), &context)
        }
    }

    private mutating func waited(_ reason: Wait, _ context: inout Context) {
        switch reason {
        case .retry(let time), .disk(let time):
            if context.now >= time { wait(&context) }
        case .network: wait(&context)
        case .slot, .shelved: break
        }
    }

    private mutating func tick(_ transfer: Transfer, _ context: inout Context) {
        if endIfOverdue(transfer, &context) { return }
        var transfer = transfer
        // While much waits to be written the server is not heard, and can be called neither silent nor slow.
        let isHeldUp = isHeldUp(transfer)
        if isHeldUp { transfer.heldUntil = max(transfer.heldUntil, context.now) }
        perform(.flush, &context)
        tell(.progress(completed: completed, total: total), &context)
        if context.now - transfer.lastMark.time >= Pace.markTime, written.count != transfer.lastMark.bytes {
            mark(&transfer, .marks, &context)
        }
        let isSyncDue =
            context.now - transfer.lastSync >= Pace.syncTime || written.count - synced.count >= Pace.syncBytes
        if isSyncDue, !transfer.isSyncing, synced != written {
            transfer.lastSync = context.now
            transfer.isSyncing = true
            perform(.sync, &context)
        }
        if context.now - transfer.speedMark.time >= context.settings.watchdog.speedWindow || isHeldUp {
            // It may lie ahead, where a limit on bandwidth keeps bytes away until then.
            transfer.speedMark = ByteMark(time: max(transfer.speedMark.time, context.now), bytes: transfer.arrived)
        }
        state = .transferring(transfer)
        adapt(&context)
    }

    /// Ends the attempt when it takes too long or brings too little; whether it did.
    private mutating func endIfOverdue(_ transfer: Transfer, _ context: inout Context) -> Bool {
        if context.settings.outlivesProcess { return false }
        if let failure = tooLong(transfer, context) {
            exchangeOver(failure, at: transfer.onlySource, &context)
            return true
        }
        guard let failure = tooSlow(transfer, context) else { return false }
        // Those that are at work bring too little even together: another one is next.
        let sources = transfer.sourcesAtWork
        let counting = sources.first { $0 == mirrors.main } ?? sources.first
        for source in sources where source != counting { mirrors.fail(source) }
        exchangeOver(failure, at: counting, &context)
        return true
    }

    /// Why the attempt has to end for the time it takes, if it has to.
    private func tooLong(_ transfer: Transfer, _ context: Context) -> DownloadFailure? {
        let watchdog = context.settings.watchdog
        if context.now - max(transfer.lastAdvance, transfer.heldUntil) >= watchdog.silence, !transfer.exchanges.isEmpty
        {
            return .silent(watchdog.silence)
        }
        if let total = watchdog.total, context.now - transfer.since >= total {
            return DownloadFailure(.transport(.timedOut), "The attempt took longer than the \(total) allowed.")
        }
        return nil
    }

    /// Why it has to end for how little comes, if it has to.
    private func tooSlow(_ transfer: Transfer, _ context: Context) -> DownloadFailure? {
        let watchdog = context.settings.watchdog
        let window = context.now - transfer.speedMark.time
        // With nothing asked for, it is the disk that is slow.
        guard window >= watchdog.speedWindow, watchdog.minimumSpeed > 0, !transfer.exchanges.isEmpty else { return nil }
        let seconds = max(1, window.components.seconds)
        let speed = (transfer.arrived - transfer.speedMark.bytes) / seconds
        guard speed < watchdog.minimumSpeed else { return nil }
        return DownloadFailure(
            .transport(.timedOut), "Only \(speed) bytes a second arrived; at least \(watchdog.minimumSpeed) are asked.")
    }
}

extension Settings.Delivery {
    /// How many requests of one download may be out; one at least.
    var inFlight: Int {
        switch self {
        case .whole: 1
        case .sliced(_, let inFlight): max(1, inFlight)
        }
    }

    /// How much the next request asks for at a speed in bytes a second: what comes in a quarter of a second, within the
    /// bounds, in whole megabytes, and never more than fits the window; nil for all there is.
    func length(for speed: Int64) -> Int64? {
        switch self {
        case .whole: nil
        case .sliced(let lengths, _):
            min(max(1, lengths.lowerBound, min((speed / 4) & ~0xF_FFFF, lengths.upperBound)), Pace.window)
        }
    }
}

extension Transfer {
    /// Notes how much of an answer has come: not what came behind its end, before that was known. False when it is not
    /// more.
    mutating func advance(at index: Int, to count: Int64, now: Duration) -> Bool {
        let exchange = exchanges[index]
        let most = exchange.body.map { $0.upperBound - $0.lowerBound } ?? 0
        let count = min(count, most)
        guard count > exchange.received else { return false }
        exchanges[index].received = count
        exchanges[index].lastAdvance = now
        received = received.addingClamped(count - exchange.received)
        lastAdvance = now
        return true
    }

    /// The one place that requests are out to; nil when there are several.
    var onlySource: Source? {
        let source = exchanges.first?.ask.source
        return exchanges.allSatisfy { $0.ask.source == source } ? source : nil
    }

    /// The places that have answered, one for each exchange; where none has, all that were asked.
    var sourcesAtWork: [Source] {
        let answered = exchanges.filter(\.isAccepted)
        return (answered.isEmpty ? exchanges : answered).map(\.ask.source)
    }

    /// Positions that are written, or that an exchange brings or was asked for.
    func taken(besides written: ByteRanges) -> ByteRanges {
        var taken = claimed
        taken.formUnion(written)
        for exchange in exchanges {
            if let range = exchange.ask.range, !exchange.isAccepted { taken.insert(range) }
        }
        return taken
    }

    /// Whether the next slice should be asked for now, so that its answer is there when the last one ends.
    func wantsMore(at now: Duration) -> Bool {
        guard exchanges.allSatisfy(\.isAccepted) else { return false }
        let remaining = exchanges.reduce(0) { $0 + min($1.remaining, .max / 8) }
        // Half as much again as comes while the request is on its way.
        let ahead = speed(at: now).multipliedClamped(by: min(latency.milliseconds, 60_000)) / 1000
        return remaining <= max(Pace.lookAhead, ahead.multipliedClamped(by: 3) / 2)
    }

    /// Bytes a second over this attempt.
    func speed(at now: Duration) -> Int64 { received.perSecond(over: now - since) }

    /// Whether the speed is worth going by: enough has come, and quickly.
    var isFast: Bool { received >= lastAdvanceSeconds * (8 << 20) }

    private var lastAdvanceSeconds: Int64 { max(1, (lastAdvance - since).components.seconds) }
}

extension DownloadFailure {
    static func silent(_ time: Duration) -> DownloadFailure {
        DownloadFailure(.transport(.timedOut), "The server sent nothing for \(time.components.seconds) seconds.")
    }

    static func noLink(_ time: Duration) -> DownloadFailure {
        DownloadFailure(.link, "The provider of links has not answered for \(time.components.seconds) seconds.")
    }
}

extension Duration {
    /// In whole milliseconds, at most what fits.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multipliedClamped(by: 1000).addingClamped(attoseconds / 1_000_000_000_000_000)
    }
}

/// For amounts that are not negative, at most what fits: servers choose how long a file claims to be.
extension Int64 {
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    func multipliedClamped(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }

    /// So many in that time, in a second.
    func perSecond(over time: Duration) -> Int64 { multipliedClamped(by: 1000) / Swift.max(1, time.milliseconds) }
}
