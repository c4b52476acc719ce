// From the slot to the first usable answer.

extension Download {
    /// The queue gives a slot.
    mutating func admit(_ context: inout Context) {
        guard case .waiting(.slot) = state else { return }
        attempt += 1
        link.isFresh = false
        asksOneByOne = false
        if goesOnWithOldURL {
            goesOnWithOldURL = false
            renewURL()
        }
        if isPublished {
            let publishing = Publishing(step: isPublishedAsAsked ? .moving : .disowning)
            return isPublishedAsAsked ? publishAgain(publishing, &context) : leavePublished(publishing, &context)
        }
        renewMirrors(&context)
        if isOfOtherURL { tieToURL(&context) }
        if !context.settings.takesServerDigests { version = version?.withoutDigest }
        chooseSource(context.settings)
        // What a plain request has brought would be given up: to ask for the rest once more can cost no more.
        if partUse == .useless, completed > ladder.mark { partUse = .possible }
        if seeksWhole == nil { forgetBytesThatCannotBeResumed(&context) }
        wasResumed = !written.isEmpty
        if generation == 0 { generation = 1 }
        hasFile = true
        go(to: .opening(Opening(step: .file)), &context)
        // Of a file of which nothing is held the size may be another by now: no space is set aside for it.
        perform(.open(generation: generation, claimed: written, total: written.isEmpty ? nil : total), &context)
        if let digest = version?.digest { perform(.expect(digest), &context) }
    }

    /// The URL is another one: what the old one came to does not count.
    mutating func renewURL() {
        forgetFailures()
        ladder = RungLadder()
        // Only a digest keeps what is held.
        highMark = hasDigest ? written.count : 0
        (seeksWhole, sendsWholes) = (nil, false)
        oldWay = .none
        mirrors.renewURL()
    }

    /// Validators say nothing of what another URL leads to: only a digest can tell whether it is the same file.
    private mutating func tieToURL(_ context: inout Context) {
        partUse = .possible
        if hasDigest, carried.data == nil, !written.isEmpty {
            isTiedByDigest = true
            version = version?.sizeOnly
        } else {
            giveUpBytes(.otherURL, &context)
            ladder = RungLadder()
        }
    }

    /// Bytes of a version that no request can be tied to are of no use, unless they are the whole file and of one piece.
    private mutating func forgetBytesThatCannotBeResumed(_ context: inout Context) {
        if carried.data == nil, written.isEmpty { return forgetDigestOfNothing() }
        if canResume(context.settings) { return }
        let isOfNoUse = carried.data != nil && !context.settings.takesResumeData
        giveUpBytes(isOfNoUse ? .cannotResume : lack, &context)
    }

    /// Whether the next attempt goes on with what is held, as far as can be told before it: false when nothing is. The
    /// server may still refuse, and a source that is chosen anew may not do.
    func canResume(_ settings: Settings) -> Bool {
        if carried.data != nil, !settings.takesResumeData { return false }
        if written.isEmpty { return carried.data != nil }
        if isComplete, isDecidedByDigest(settings) || !isTiedByDigest { return true }
        guard let gap = nextGap, !isPlain, version != nil else { return false }
        return ask(for: gap, settings.delivery) != nil
    }

    /// The same of the first attempt of a later process, which does not know what URL bytes are from that are neither of
    /// its own nor of a mirror: only a digest keeps them. A server that does not send parts will hardly do so then.
    package func canResumeLater(_ settings: Settings) -> Bool {
        (hasDigest || !saved.isOfOtherURL) && (isComplete || !sendsWholes) && canResume(settings)
    }

    /// Whether only a plain request for the whole file is left.
    var isPlain: Bool { partUse != .possible }

    /// Why no request can be made for the rest of what is held.
    var lack: RestartReason { isPlain ? .rangesNotServed : .cannotResume }

    /// A version of which nothing is held, and that only a digest could tell from another.
    private mutating func forgetDigestOfNothing() {
        guard carried.data == nil, let version,
            version.rung(from: .strongTag, hasDigest: hasDigest) == .digestOnly
        else { return }
        self.version = nil
    }

    /// Leaves the partial file for another, in name only; the engine makes it when it is opened. Other bytes never come to
    /// where a record claims some, for nobody knows whether a newer one is kept.
    mutating func leaveFile() {
        generation = generation == .max ? 1 : generation + 1
        isOlderThanPieces = false
        hasOtherPieces = false
    }

    /// Begins from zero, in another partial file.
    mutating func giveUpBytes(_ reason: RestartReason, _ context: inout Context) {
        let isLoss = completed > 0
        if isLoss { tell(.restarted(reason), &context) }
        // What comes in their place is a gain: else failures would add up all through it. But not again and again.
        if completed > ladder.mark { highMark = 0 }
        // A plain request is tied to nothing.
        let rung = isPlain ? nil : version?.rung(from: ladder.top, hasDigest: hasDigest)
        ladder.startedOver(losing: completed, askedOn: rung ?? .none)
        leaveFile()
        written = ByteRanges()
        synced = ByteRanges()
        carried.drop()
        version = nil
        otherTags = 0
        oldWay = .none
        mirrors.giveUpVersion()
        total = nil
        wasResumed = false
        unproven = ByteRanges()
        isTiedByDigest = false
        isOfOtherURL = goesOnWithOldURL
        seeksWhole = nil
        if isLoss { tell(.progress(completed: 0, total: nil), &context) }
        record(.status, &context)
    }

    /// Whether every byte is written.
    var isComplete: Bool {
        guard let total else { return false }
        return written.contains(0..<total)
    }

    /// The first bytes that are missing; without a known end when the size is not known.
    var nextGap: Range<Int64>? {
        written.firstGap(below: total ?? .max)
    }

    /// The request for a range, tied to the version in hand; nil when it cannot be tied. Goes to where the attempt began
    /// unless said otherwise.
    func ask(for range: Range<Int64>, _ delivery: Settings.Delivery, at source: Source? = nil) -> Ask? {
        let isOpenEnded = delivery == .whole && range.upperBound == total ?? .max
        let source = source ?? mirrors.main
        if let version, source != mirrors.ofVersion {
            return Ask.elsewhere(
                range: range, isOpenEnded: isOpenEnded, held: version, from: ladder.top, hasDigest: hasDigest,
                source: source)
        }
        return Ask.next(
            range: range, isOpenEnded: isOpenEnded, held: version, from: ladder.top, hasDigest: hasDigest)?.at(source)
    }

    mutating func opened(held: ByteRanges, _ context: inout Context) {
        switch state {
        case .opening(let opening):
            guard case .file = opening.step else { return ignore(.late("opened"), &context) }
            if held != written, held.isEmpty || isOlderThanPieces { return startOver(.bytesLost, &context) }
            loseWhatIsNotThere(held, &context)
            beginFirst(opening, &context)
        case .transferring, .pausing:
            // A file begun anew under a running exchange, or one that is closed again at once.
            break
        case .waiting, .verifying, .publishing, .suspended, .failed, .succeeded:
            ignore(.late("opened"), &context)
        }
    }

    /// The disk holds less than was recorded: an earlier crash took it, or someone's hand.
    private mutating func loseWhatIsNotThere(_ held: ByteRanges, _ context: inout Context) {
        guard held != written else { return }
        written = held
        synced = held.intersection(synced)
        // What comes in their place is a gain, as that of wrong pieces is.
        highMark = min(highMark, written.count)
        tell(.restarted(.bytesLost), &context)
        tell(.progress(completed: completed, total: total), &context)
        // Before other bytes come to where the record still claims some.
        record(.status, &context)
    }

    /// The file takes bytes: what is missing is asked for.
    mutating func beginFirst(_ opening: Opening, _ context: inout Context) {
        if let total, isComplete { return verify(total, &context) }
        guard context.isNetworkAvailable else { return close(for: .restart, &context) }
        if askForLink(opening, &context) { return }
        guard let ask = firstAsk(context.settings) else {
            return startOver(lack, &context)
        }
        begin(ask, &context)
    }

    /// The first request of an attempt.
    private func firstAsk(_ settings: Settings) -> Ask? {
        guard let gap = nextGap else { return nil }
        let delivery = delivery(settings)
        if seeksWhole != nil { return .whole.at(mirrors.main) }
        if let data = carried.data, written.isEmpty { return .resumed(data, held: version).at(mirrors.main) }
        if written.isEmpty, isPlain || delivery == .whole { return .whole.at(mirrors.main) }
        if isPlain { return nil }
        let slice = firstSlice(of: gap, delivery)
        // Where nothing is held, nothing has to be continued.
        if written.isEmpty {
            return Ask.next(range: slice, isOpenEnded: false, held: nil, hasDigest: hasDigest)?.at(mirrors.main)
        }
        return ask(for: slice, delivery)
    }

    private mutating func begin(_ ask: Ask, _ context: inout Context) {
        let exchange = Exchange(number: context.makeExchangeNumber(), ask: ask, begun: context.now)
        carried.exchange = nil
        go(to: .opening(Opening(step: .request(exchange))), &context)
        perform(.begin(exchange.number, ask), &context)
    }

    /// Begins the file anew with a new request; the attempt goes on. `over` is no longer under way.
    mutating func startOver(
        _ reason: RestartReason, plain: Bool = false, over: ExchangeNumber? = nil, _ context: inout Context
    ) {
        stopAll(except: over, keepBytes: false, &context)
        // What it leaves now comes too late.
        carried.exchange = nil
        giveUpBytes(reason, &context)
        if plain { partUse = reason == .wrongDigest ? .wrong : .useless }
        attempt += 1
        perform(.startOver(generation: generation, total: nil), &context)
        go(to: .opening(Opening(step: .file)), &context)
    }
}

/// Whether parts of the file may be asked for.
enum PartUse: Sendable, Hashable {
    case possible
    /// The server refuses them, or its answers make no sense.
    case useless
    /// What they brought was wrong.
    case wrong
}
