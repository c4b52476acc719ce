// The header of an answer: what it means is judged by the ladder, what follows is here.

extension Download {
    mutating func head(_ number: ExchangeNumber, _ head: ResponseHead, _ context: inout Context) {
        guard var exchange = exchange(number), !exchange.isAccepted, !exchange.isLeaving else {
            return ignore(.unknownExchange(number), &context)
        }
        exchange.offersRanges = head.offersRanges
        exchange.tellsLength = ContentLength(fields: head.fields).value != nil
        let verdict = judge(
            head, for: exchange.ask, prefix: written.prefix, wallSeconds: context.wallSeconds,
            isGoneOnWith: context.settings.outlivesProcess)
        if isOtherThanURLs(verdict, exchange, context.settings) { return leaveMirror(exchange, &context) }
        if isBesideOthers(number, context) { return answerBeside(exchange, head, verdict, &context) }
        if exchange.takesOldWay, !verdict.isOfUse { return leaveOldWay(exchange, &context) }
        if isTooMuch(verdict, exchange, context) { return dropAhead(exchange, &context) }
        if isLeftToDigest(verdict, head, exchange), ladder.leaveToDigest() {
            return close(for: .restart, &context)
        }
        if isLedAstray(verdict, exchange) { return takeOldWay(insteadOf: exchange, &context) }
        if mayBeOfAnotherServer(verdict, head, exchange), otherTags < Pace.otherTags {
            otherTags += 1
            return close(for: .restart, &context)
        }
        switch verdict {
        case .part(let version, let body):
            if exchange.ask.held == nil, let reason = forgetOtherVersion(than: version, exchange) {
                beginNewFile(reason, keeping: exchange, total: version.total, &context)
            }
            acceptPart(exchange, head, version, body, &context)
        case .whole, .resumed, .restart, .fromZero, .complete, .unusable:
            if exchange.ask.isElsewhere { return leaveMirror(exchange, &context) }
            if doubt(verdict, exchange, &context) { return }
            answerAlone(exchange, head, verdict, &context)
        case .redirect(let location):
            redirect(exchange, location, &context)
        case .refused(let status, let retryAfter):
            refused(exchange, status, retryAfter, &context)
        }
    }

    /// An answer that is not the part of the file that it was asked for.
    private mutating func answerAlone(
        _ exchange: Exchange, _ head: ResponseHead, _ verdict: Verdict, _ context: inout Context
    ) {
        if let misfit = misfit(of: verdict.wholeSize) {
            return refuseSize(misfit, at: exchange.ask.source, &context)
        }
        switch verdict {
        case .whole(let version):
            // What follows is not to be asked for in parts again.
            if seeksWholeForParts { partUse = .useless }
            let reason = seeksWhole ?? forgetOtherVersion(than: version, exchange)
            acceptWhole(exchange, head, version, restarted: reason, &context)
        case .resumed(let version, let joint):
            carried.join(at: joint)
            wasResumed = true
            unproven = ByteRanges([0..<Int64.max])
            acceptWhole(exchange, head, version, restarted: nil, &context)
        case .restart(let version, let reason):
            acceptWhole(exchange, head, version, restarted: reason, &context)
        case .fromZero(let reason):
            fromZero(exchange, reason, &context)
        case .complete(let total):
            complete(exchange, head, total, &context)
        case .unusable(let why):
            unusable(exchange, why, &context)
        case .part, .redirect, .refused: break
        }
    }

    /// The place that told the version may have another one now, or it is another place: nothing is held of the first, and
    /// its digest is not that of what comes. What the URL has told stays that of what a mirror sends.
    private mutating func forgetOtherVersion(than new: Version, _ exchange: Exchange) -> RestartReason? {
        guard let digest = version?.digest, digest != new.digest, !isToldByURL(for: exchange) else { return nil }
        version = nil
        return .contentChanged
    }

    /// Whether what is held may be of the file that comes, though its validators are others, as those of the servers are
    /// that one URL leads to in turn: it is of the same size, and the caller's digest decides at the end. Then it is asked
    /// for once more, without them, before anything is given up.
    private func isLeftToDigest(_ verdict: Verdict, _ head: ResponseHead, _ exchange: Exchange) -> Bool {
        guard hasDigest, exchange.ask.rung < .digestOnly else { return false }
        return mayBeSameBytes(verdict, head, exchange)
    }

    /// Whether another server of the same name may have answered, which has the same file under another tag: size and date
    /// are the same. One that knows the tag may answer the next time; until then nothing is given up.
    private func mayBeOfAnotherServer(_ verdict: Verdict, _ head: ResponseHead, _ exchange: Exchange) -> Bool {
        guard exchange.ask.rung == .strongTag, mayBeSameBytes(verdict, head, exchange),
            let date = exchange.ask.held?.lastModifiedSeconds
        else { return false }
        return Version(head).lastModifiedSeconds == date
    }

    /// Whether nothing but validators speaks against an answer of the same place: size and digest do not.
    private func mayBeSameBytes(_ verdict: Verdict, _ head: ResponseHead, _ exchange: Exchange) -> Bool {
        guard verdict.isOfChange, head.status < 300, !exchange.ask.isElsewhere, let held = exchange.ask.held else {
            return false
        }
        let version = Version(head)
        return version.total != nil && version.total == held.total && held.isSame(as: version, on: .digestOnly)
    }

    /// Whether a mirror says itself that its file is not the one whose digest the URL has told.
    private func isOtherThanURLs(_ verdict: Verdict, _ exchange: Exchange, _ settings: Settings) -> Bool {
        guard isToldByURL(for: exchange), !hasDigest, seeksWhole == nil, settings.takesServerDigests,
            let digest = version?.digest, let theirs = verdict.version?.digest
        else { return false }
        return digest.isContradicted(by: theirs)
    }

    /// Whether the version in hand is the URL's, and a mirror sends its file for that.
    private func isToldByURL(for exchange: Exchange) -> Bool {
        mirrors.ofVersion == 0 && exchange.ask.source != 0 && !exchange.ask.isElsewhere
    }

    /// The exchange of that number, if it is under way.
    func exchange(_ number: ExchangeNumber) -> Exchange? {
        switch state {
        case .opening(let opening):
            if case .request(let exchange) = opening.step, exchange.number == number { return exchange }
            return nil
        case .transferring(let transfer):
            return transfer.exchanges.first { $0.number == number }
        case .waiting, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded:
            return nil
        }
    }

    mutating func acceptPart(
        _ exchange: Exchange, _ head: ResponseHead, _ version: Version, _ body: Range<Int64>,
        _ context: inout Context
    ) {
        // What is held behind the end is of another version: without a size nobody could tell.
        if let total = version.total, written.end > total { return startOver(.contentChanged, &context) }
        trust()
        sendsWholes = false
        learn(version, of: exchange, &context)
        if let misfit = misfit(of: total) { return refuseSize(misfit, at: exchange.ask.source, &context) }
        guard mayGoOn(after: body, context.settings.delivery) else {
            return startOver(.cannotResume, plain: true, &context)
        }
        if exchange.ask.rung == .digestOnly { isTiedByDigest = true }
        // On record, too: with validators, also those of a later answer, nobody would know after a relaunch.
        if isTiedByDigest { self.version = self.version?.withoutValidators }
        // Of the parts of one attempt the first describes the file.
        if case .opening = state { tell(.head(head, from: exchange.ask.source), &context) }
        accept(exchange, body, &context)
    }

    /// Whether the rest of the file can be asked for when this part is not all that is missing. Without a size nobody
    /// could tell where the rest ends.
    private func mayGoOn(after body: Range<Int64>, _ delivery: Settings.Delivery) -> Bool {
        guard let total else { return false }
        var claimed = written
        claimed.insert(body)
        guard let gap = claimed.firstGap(below: total) else { return true }
        return ask(for: gap, delivery) != nil
    }

    private mutating func acceptWhole(
        _ exchange: Exchange, _ head: ResponseHead, _ version: Version, restarted reason: RestartReason?,
        _ context: inout Context
    ) {
        trust()
        tell(.head(head, from: exchange.ask.source), &context)
        stopAll(except: exchange.number, keepBytes: false, &context)
        if let reason {
            sendsWholes = reason == .rangesNotServed
            beginNewFile(reason, keeping: exchange, total: version.total, &context)
        }
        carried.exchange = exchange.ask.range == nil ? exchange.number : nil
        learn(version, of: exchange, &context)
        accept(exchange, 0..<(version.total ?? .max), &context)
    }

    /// The stream of an answer that begins at zero goes into a new file.
    private mutating func beginNewFile(
        _ reason: RestartReason, keeping exchange: Exchange, total: Int64?, _ context: inout Context
    ) {
        if let range = exchange.ask.range, pieceFailures.keys.contains(where: range.overlaps) { wholeRepairs += 1 }
        giveUpBytes(reason, &context)
        attempt += 1
        perform(.startOver(generation: generation, total: total), &context)
        if case .transferring = state {
            go(to: .opening(Opening(step: .request(exchange))), &context)
        }
    }

    /// The version that is coming; a size that was known of another one is forgotten.
    private mutating func learn(_ version: Version, of exchange: Exchange, _ context: inout Context) {
        let known = self.version?.digest
        // What the URL has told of its file counts for what a mirror sends; not what a mirror has told for the URL's own.
        let told = isToldByURL(for: exchange) ? version.knowing(digest: known) : version
        self.version = context.settings.takesServerDigests ? told : version.withoutDigest
        if let digest = self.version?.digest, digest != known { perform(.expect(digest), &context) }
        if !exchange.ask.isElsewhere { mirrors.learn(from: exchange.ask.source) }
        let isNews = total != version.total
        total = version.total
        // The file was not told of one that was known before anything was held.
        if let total, isNews || written.isEmpty { perform(.setTotal(total), &context) }
        if isNews { tell(.progress(completed: completed, total: total), &context) }
    }

    private mutating func accept(_ exchange: Exchange, _ body: Range<Int64>, _ context: inout Context) {
        var transfer = currentTransfer(&context)
        var accepted = exchange
        accepted.body = body
        accepted.lastAdvance = context.now
        accepted.recent = RecentSpeed(since: context.now)
        // Several answers may be of several versions, whatever their validators say: the digest decides.
        if !transfer.exchanges.isEmpty || transfer.received > 0 { wasResumed = true }
        transfer.exchanges.removeAll { $0.number == exchange.number }
        transfer.exchanges.append(accepted)
        transfer.claimed.insert(body)
        transfer.lastAdvance = context.now
        let latency = context.now - exchange.begun
        transfer.latency = transfer.latency == .zero ? latency : (transfer.latency * 3 + latency) / 4
        if exchange.offersRanges { transfer.takesRanges = true }
        if exchange.redirects > 0 || exchange.takesOldWay { transfer.led.insert(exchange.ask.source) }
        keepWay(of: exchange, &context)
        perform(.accept(exchange.number, body), &context)
        go(to: .transferring(transfer), &context)
        askForMore(&context)
    }

    func currentTransfer(_ context: inout Context) -> Transfer {
        if case .transferring(let transfer) = state { return transfer }
        let connections = min(context.settings.firstConnections, context.connections)
        return Transfer(
            exchanges: [], claimed: written, base: written.count, since: context.now, lastAdvance: context.now,
            speedMark: ByteMark(time: context.now, bytes: 0),
            lastMark: ByteMark(time: context.now, bytes: written.count),
            lastSync: context.now,
            latency: .zero, connections: ConnectionRule(wanted: connections))
    }

    private mutating func fromZero(_ exchange: Exchange, _ reason: RestartReason, _ context: inout Context) {
        if exchange.ask.isPlain {
            return unusable(exchange, "The server refused a plain request for the file (\(reason)).", &context)
        }
        startOver(reason, plain: reason != .contentChanged, &context)
        if reason == .contentChanged { leaveChangingFileAlone(at: exchange.ask.source, &context) }
    }

    /// What changes again and again would be asked for without a pause, and for ever: what was held of it in between is no
    /// gain.
    private mutating func leaveChangingFileAlone(at source: Source, _ context: inout Context) {
        changes += 1
        guard changes > Pace.changes else { return }
        failures = max(failures, changes - Pace.changes - 1)
        let failure = DownloadFailure(
            .transport(.other), "The file changes again and again while it is downloaded; try again when it does not.")
        retryOrFail(failure, at: source, &context)
    }

    private mutating func complete(
        _ exchange: Exchange, _ head: ResponseHead, _ total: Int64, _ context: inout Context
    ) {
        // What is held behind the end is of another version, as in a part.
        guard written.contains(0..<total), written.end == total else {
            return fromZero(exchange, .contentChanged, &context)
        }
        // Of an empty file there is no other.
        if case .opening = state { tell(.head(head, from: exchange.ask.source), &context) }
        self.total = total
        stopAll(keepBytes: true, &context)
        verify(total, &context)
    }

    private mutating func unusable(_ exchange: Exchange, _ why: String, _ context: inout Context) {
        if exchange.ask.isPlain {
            let failure = DownloadFailure(.unusableResponse, why)
            retryOrFail(failure, &context)
        } else {
            startOver(.unusableAnswer, plain: true, &context)
        }
    }

    /// An answer that contradicts itself says nothing about the bytes it brought, either, nor about the file's size:
    /// what it announced may be all there, and would be the whole file.
    mutating func overflowed(_ number: ExchangeNumber, _ context: inout Context) {
        guard let exchange = exchange(number) else { return ignore(.unknownExchange(number), &context) }
        // Of a mirror nothing follows for the others.
        let isBeside = exchange.ask.source != mirrors.main
        if isBeside { mirrors.drop(exchange.ask.source) }
        startOver(.unusableAnswer, plain: !isBeside, over: number, &context)
        guard exchange.ask.isPlain else { return }
        let failure = DownloadFailure(.unusableResponse, "The server sent more bytes than it had announced.")
        retryOrFail(failure, &context)
    }

    mutating func redirect(_ exchange: Exchange, _ location: String, _ context: inout Context) {
        guard exchange.redirects < Pace.redirects else {
            // Where to last is not told: a location may hold credentials.
            let failure = DownloadFailure(
                .redirect, "The server redirected more than \(Pace.redirects) times in a row.")
            return retryOrFail(failure, at: exchange.ask.source, &context)
        }
        // Resume data go where they lead: elsewhere only another request gets.
        if exchange.ask.resumeData != nil { return startOver(.cannotResume, plain: true, &context) }
        var exchange = exchange
        exchange.isLeaving = true
        replace(exchange.number, with: exchange)
        perform(.follow(exchange.number, location: location), &context)
    }

    /// A redirect can be followed: the same request again, to where the engine has been led.
    mutating func redirected(_ number: ExchangeNumber, _ context: inout Context) {
        guard let old = exchange(number), old.isLeaving else { return ignore(.unknownExchange(number), &context) }
        var next = Exchange(number: context.makeExchangeNumber(), ask: old.ask, begun: context.now)
        next.redirects = old.redirects + 1
        replace(number, with: next)
        perform(.begin(next.number, next.ask), &context)
    }

    mutating func replace(_ number: ExchangeNumber, with exchange: Exchange) {
        switch state {
        case .opening(var opening):
            opening.step = .request(exchange)
            state = .opening(opening)
        case .transferring(var transfer):
            transfer.exchanges = transfer.exchanges.map { $0.number == number ? exchange : $0 }
            // Where it goes the next ones do, too.
            if exchange.redirects > 0 { transfer.led.insert(exchange.ask.source) }
            state = .transferring(transfer)
        case .waiting, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded: break
        }
    }

    private mutating func refused(
        _ exchange: Exchange, _ status: Int, _ retryAfter: Duration?, _ context: inout Context
    ) {
        // The place that a redirect led to may have expired: a new attempt begins at the first URL. Not without a gain.
        var mayHaveExpired = false
        if case .transferring(let transfer) = state {
            mayHaveExpired = transfer.received > 0 && RefusalTables.mayMeanThatAPlaceExpired(status, retryAfter)
        }
        // Who was led there at once has not asked where the link leads: nothing is known against that.
        let isOfLink = exchange.ask.source == 0 && !goesOnWithOldURL && !(mayHaveExpired && exchange.wasLed)
        if isOfLink, wantsLink(after: status, context.settings) {
            link.refusal = status
            return close(for: .restart, &context)
        }
        if mayHaveExpired { return close(for: .restart, &context) }
        let failure = DownloadFailure.refused(status)
        if exchange.ask.resumeData != nil, failure.reason.maySpeakOfResumeData {
            return startOver(.cannotResume, plain: true, &context)
        }
        if seekWhole(after: failure, exchange, retryAfter: retryAfter, &context) { return }
        retryOrFail(failure, retryAfter: retryAfter, at: exchange.ask.source, &context)
    }
}

extension DownloadFailure {
    static func refused(_ status: Int) -> DownloadFailure {
        DownloadFailure(.status(status), "The server answered with status \(status).")
    }
}
