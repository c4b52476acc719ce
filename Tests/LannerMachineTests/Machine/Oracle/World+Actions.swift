import LannerMachine

// Every action is checked here against what the world knows.

extension World {
    func apply(_ action: Action) throws {
        switch action {
        case .file(let id, let attempt, let action): try apply(action, index(id), attempt)
        case .transport(let id, let action): try apply(action, index(id))
        case .link(let id, let attempt, let action): try apply(action, index(id), attempt)
        case .store(let id, let attempt, .record(let saved, let need)): try record(index(id), attempt, saved, need)
        case .store(let id, let attempt, .unrecord): try unrecord(index(id), attempt)
        case .tell(let id, let notice): try hear(index(id), notice)
        case .ignored: break
        case .answer(let ticket):
            guard openTickets.remove(ticket) != nil else { throw Nonsense("ticket \(ticket) was answered twice") }
        case .wake(let time):
            guard time >= now else { throw Nonsense("a wake at \(time), which is past") }
            wakes.append(time)
        }
    }

    private func apply(_ action: FileAction, _ index: Int, _ attempt: Attempt) throws {
        switch action {
        case .open(let generation, let claimed, _): try open(index, attempt, generation, claimed)
        case .startOver(let generation, _): try startOver(index, attempt, generation)
        case .setTotal: try queue(.setTotal, index, attempt)
        case .expect(let digest):
            guard places[index].file?.attempt == attempt else { throw Nonsense("a digest without a file") }
            let known = places[index].file?.expected
            guard known == nil || known == Remote.version(of: digest) else { throw Nonsense("two digests of one file") }
            places[index].file?.expected = Remote.version(of: digest)
        case .sync: try queue(.sync, index, attempt)
        case .verify(let total): try verify(index, attempt, total)
        case .publish: try publish(index, attempt)
        case .close: try close(index, attempt)
        case .withdraw: try withdraw(index)
        case .discard(let finished): try discard(index, attempt, finished)
        }
    }

    private func apply(_ action: TransportAction, _ index: Int) throws {
        switch action {
        case .begin(let number, let ask): try begin(index, number, ask)
        case .accept(let number, let range): try accept(index, number, range)
        case .cut(let number, let end): try cut(index, number, at: end)
        case .follow(let number, _): try follow(index, number)
        case .stop(let number, let keepBytes): try stop(index, number, keepBytes)
        case .flush: try flush(index)
        case .takesNoMore:
            if !places[index].hasAll { throw Nonsense("a file is left to the disk that is still to come") }
        case .remirror, .leadBack, .keepWay, .takeOldWay: break
        case .readdress: break
        }
    }
}

// MARK: Files

extension World {
    private func open(_ index: Int, _ attempt: Attempt, _ generation: UInt32, _ claimed: ByteRanges) throws {
        guard places[index].file == nil else { throw Nonsense("opened twice without a close between") }
        places[index].begunHost = places[index].host
        guard attempt > places[index].attempt else { throw Nonsense("attempt \(attempt) is not a new one") }
        guard generation > 0 else { throw Nonsense("generation 0 is none") }
        let held = places[index].generations.first { $0.number == generation }?.content.ranges ?? ByteRanges()
        if let last = places[index].generations.last, generation < last.number {
            throw Nonsense("went back to generation \(generation)")
        }
        if !places[index].isTampered, held.intersection(claimed) != claimed {
            throw Nonsense("claims \(claimed), the disk has \(held)")
        }
        places[index].attempt = attempt
        places[index].isOtherAsked = false
        places[index].isLinkFresh = false
        _ = places[index].generation(generation)
        places[index].file = WorkingFile(
            attempt: attempt, generation: generation, work: [.open(claimed)], hasDigest: places[index].hasDigest)
    }

    private func startOver(_ index: Int, _ attempt: Attempt, _ generation: UInt32) throws {
        guard let old = places[index].file, !old.isClosing else { throw Nonsense("no file to start over") }
        guard attempt > old.attempt else { throw Nonsense("attempt \(attempt) is not a new one") }
        guard generation > old.generation else { throw Nonsense("generation \(generation) is not a new one") }
        let id = places[index].id
        if random.chance(50) { places[index].stray.append(.file(id, old.attempt, .wrote(0..<1))) }
        if random.chance(20) { places[index].stray.append(.file(id, old.attempt, .synced(ByteRanges()))) }
        if random.chance(10) { places[index].stray.append(.file(id, old.attempt, .failed(.disk))) }
        places[index].attempt = attempt
        _ = places[index].generation(generation)
        places[index].file = WorkingFile(
            attempt: attempt, generation: generation, work: [.open(ByteRanges())], hasDigest: places[index].hasDigest)
    }

    /// Adds work to the open file of an attempt.
    func queue(_ work: WorkingFile.Work, _ index: Int, _ attempt: Attempt? = nil) throws {
        guard let file = places[index].file else { throw Nonsense("\(work): no file is open") }
        guard file.attempt == attempt ?? file.attempt else {
            throw Nonsense("\(work): the file is not of \(attempt ?? 0)")
        }
        guard !file.isClosing else { throw Nonsense("\(work): the file is being closed") }
        guard file.verified == nil || work == .close || work == .publish else {
            throw Nonsense("\(work): the file was complete")
        }
        places[index].file?.work.append(work)
    }

    private func verify(_ index: Int, _ attempt: Attempt, _ total: Int64) throws {
        guard places[index].flows.allSatisfy({ $0.stage == .over }) else {
            throw Nonsense("verifies while bytes may still come")
        }
        try queue(.verify(total), index, attempt)
        places[index].file?.verified = total
    }

    private func publish(_ index: Int, _ attempt: Attempt) throws {
        if places[index].file == nil, places[index].finished != nil {
            let generation = places[index].generations.last?.number ?? 0
            places[index].file = WorkingFile(attempt: attempt, generation: generation, work: [.find])
            return
        }
        switch places[index].file?.verification {
        case .sizeOnly, .correct: break
        case .mismatch, nil: throw Nonsense("publishes what was not verified")
        }
        guard places[index].kept?.status == .publishing else { throw Nonsense("publishes before that is recorded") }
        try queue(.publish, index, attempt)
    }

    private func close(_ index: Int, _ attempt: Attempt) throws {
        guard places[index].flows.allSatisfy({ $0.stage == .over }) else { throw Nonsense("closed under an exchange") }
        guard places[index].call == nil else { throw Nonsense("closed with a call for a link out") }
        try queue(.close, index, attempt)
        places[index].file?.isClosing = true
    }

    private func withdraw(_ index: Int) throws {
        guard places[index].file == nil, places[index].phase != .succeeded, places[index].isOtherAsked else {
            throw Nonsense("takes away what was told, is being made, or is what is asked for")
        }
        places[index].finished = nil
    }

    private func discard(_ index: Int, _ attempt: Attempt, _ finished: Bool) throws {
        guard places[index].file == nil else { throw Nonsense("discards an open file") }
        guard !places[index].isUnrecording else { throw Nonsense("discards before the record is gone") }
        places[index].discard = (attempt, finished)
    }
}

// MARK: Exchanges

extension World {
    private func begin(_ index: Int, _ number: ExchangeNumber, _ ask: Ask) throws {
        guard number > lastExchange else { throw Nonsense("exchange \(number) is not a new one") }
        lastExchange = number
        guard isNetworkAvailable else { throw Nonsense("asks for bytes without a network") }
        guard places[index].call == nil else { throw Nonsense("asks for bytes while a link is on its way") }
        // What was begun anew under an exchange may be opened while more is asked for.
        let isOnItsWay = places[index].file?.isOpen == true || places[index].flows.contains { $0.stage == .flowing }
        guard let file = places[index].file, isOnItsWay, !file.isClosing, file.verified == nil else {
            throw Nonsense("asks for bytes without an open file")
        }
        let others = places[index].flows.filter { $0.stage != .over && $0.stage != .redirected }
        guard others.count < inFlight else { throw Nonsense("more than \(inFlight) exchanges") }
        // A piece that was wrong is asked for once more, while the answer goes on that brought it.
        let isPast = { (flow: Flow, range: Range<Int64>) in
            file.wrong.contains(range) && flow.rest.map { !$0.overlaps(range) } ?? false
        }
        if let range = ask.range, !others.allSatisfy({ $0.leaves(range, at: now) || isPast($0, range) }) {
            throw Nonsense("asks for \(range) twice at once")
        }
        // What a redirect leads away from may come otherwise meanwhile.
        let isLed = mostConnections > 1 && places[index].flows.contains { $0.stage == .redirected && $0.ask == ask }
        if let range = ask.range, !isLed, isWritten(range, file) {
            throw Nonsense("asks for \(range), which is written")
        }
        var flow = Flow(number: number, ask: ask)
        if let old = places[index].flows.firstIndex(where: { $0.stage == .redirected && $0.ask == ask }) {
            flow.redirects = places[index].flows[old].redirects + 1
            places[index].flows[old].stage = .over
        }
        places[index].flows.removeAll { $0.stage == .over }
        places[index].flows.append(flow)
    }

    /// Whether any of it is written; or all of it, where what a connection brought that was dropped may come later.
    private func isWritten(_ range: Range<Int64>, _ file: WorkingFile) -> Bool {
        mostConnections > 1 ? file.written.contains(range) : !file.written.intersection(ByteRanges([range])).isEmpty
    }

    private var inFlight: Int {
        switch settings.delivery {
        case .whole: max(3, mostConnections)  // What was begun before the settings changed goes on.
        case .sliced(_, let inFlight): max(inFlight, 3)
        }
    }

    private func flow(_ index: Int, _ number: ExchangeNumber, _ stage: Flow.Stage...) throws -> Int {
        guard let flow = places[index].flows.firstIndex(where: { $0.number == number }) else {
            throw Nonsense("exchange \(number) is unknown")
        }
        guard stage.contains(places[index].flows[flow].stage) else {
            throw Nonsense("exchange \(number) is \(places[index].flows[flow].stage)")
        }
        return flow
    }

    private func accept(_ index: Int, _ number: ExchangeNumber, _ range: Range<Int64>) throws {
        let at = try flow(index, number, .headed)
        guard let file = places[index].file, !file.isClosing, file.verified == nil else {
            throw Nonsense("accepts bytes without a file")
        }
        guard let answer = places[index].flows[at].answer, answer.head.status / 100 == 2 else {
            throw Nonsense("accepts an answer that is none")
        }
        let end = answer.tellsEnd ? answer.body.upperBound : .max
        guard range == answer.body.lowerBound..<end else { throw Nonsense("accepts \(range) for \(answer.body)") }
        // A piece that was wrong comes once more, while the answer goes on that brought it.
        let isOverlapped = places[index].flows.contains {
            $0.stage == .flowing && !range.isEmpty && $0.rest?.overlaps(range) == true
        }
        guard !isOverlapped else { throw Nonsense("accepts \(range) twice at once") }
        places[index].flows[at].stage = .flowing
        places[index].flows[at].window = range
        places[index].flows[at].accepted = now
        places[index].flows[at].position = answer.body.lowerBound
        places[index].flows[at].handed = answer.body.lowerBound
    }

    private func cut(_ index: Int, _ number: ExchangeNumber, at end: Int64) throws {
        let at = try flow(index, number, .flowing)
        guard let window = places[index].flows[at].window, window.lowerBound < end, end < window.upperBound else {
            throw Nonsense("cuts exchange \(number) at \(end), which is not in its body")
        }
        places[index].flows[at].window = window.lowerBound..<end
        cuts += 1
    }

    private func follow(_ index: Int, _ number: ExchangeNumber) throws {
        let at = try flow(index, number, .headed)
        guard places[index].flows[at].answer?.head.status == 302 else { throw Nonsense("follows what leads nowhere") }
        guard places[index].flows[at].redirects < 20 else { throw Nonsense("follows forever") }
        places[index].flows[at].stage = .redirected
    }

    private func stop(_ index: Int, _ number: ExchangeNumber, _ keepBytes: Bool) throws {
        let at = try flow(index, number, .asked, .headed, .redirected, .flowing)
        if keepBytes { try hand(index, at) }
        let id = places[index].id
        let received = places[index].flows[at].position
        places[index].flows[at].stage = .over
        if random.chance(30) { places[index].stray.append(.exchange(id, number, .received(received + 1))) }
        switch random.below(10) {
        case 0: places[index].stray.append(.exchange(id, number, .ended(received: received)))
        case 1: places[index].stray.append(.exchange(id, number, .head(ResponseHead(status: 200))))
        case 2: places[index].stray.append(.exchange(id, number, .redirected))
        default: places[index].stray.append(.exchange(id, number, .failed(DownloadFailure(.transport(.canceled), ""))))
        }
    }

    private func flush(_ index: Int) throws {
        for flow in places[index].flows.indices { try hand(index, flow) }
    }

    /// Hands what an exchange has received to the file.
    func hand(_ index: Int, _ at: Int) throws {
        let flow = places[index].flows[at]
        guard flow.stage == .flowing, flow.handed < flow.position, let answer = flow.answer else { return }
        places[index].flows[at].handed = flow.position
        try queue(.write(flow.handed..<flow.position, version: answer.version), index)
    }
}

// MARK: Links

extension World {
    private func apply(_ action: LinkAction, _ index: Int, _ attempt: Attempt) throws {
        switch action {
        case .ask(let reason): try askForLink(index, attempt, reason)
        case .cancel: cancelAsking(index, attempt)
        }
    }

    private func askForLink(_ index: Int, _ attempt: Attempt, _ reason: LinkReason) throws {
        let place = places[index]
        guard settings.links != .never else { throw Nonsense("asks for a link where nobody has one") }
        guard place.call == nil else { throw Nonsense("asks for a link twice at once") }
        guard !place.isLinkFresh else { throw Nonsense("asks for a link again that has brought nothing") }
        guard place.file?.attempt == attempt, place.file?.isOpen == true else {
            throw Nonsense("asks for a link without an open file")
        }
        if reason == .expired, place.linkExpires ?? .max > wallSeconds { throw Nonsense("the link has not expired") }
        if reason == .start, settings.links != .always { throw Nonsense("asks for a link at every start") }
        place.call = (attempt, reason)
    }

    /// The answer may be on its way already.
    private func cancelAsking(_ index: Int, _ attempt: Attempt) {
        guard places[index].call != nil else { return }
        places[index].call = nil
        let answers: [LinkEvent] = [.given(isOther: true, expires: nil), .none(.noLink), .failed(.noLink)]
        if random.chance(80) {
            places[index].stray.append(.link(places[index].id, attempt, answers[random.below(answers.count)]))
        }
    }
}

// MARK: The store and whoever listens

extension World {
    private func record(_ index: Int, _ attempt: Attempt, _ saved: Saved, _ need: RecordNeed) throws {
        try checkClaims(index, saved)
        // One that was told is recorded again with what the user changes, wherever its file has gone since.
        if saved.status == .succeeded, places[index].finished == nil, places[index].phase != .succeeded {
            throw Nonsense("records a success that is none")
        }
        store.append(StoreWork(place: index, attempt: attempt, saved: saved, isAnswered: need == .confirmed))
    }

    /// A record claims what is there, and all of one version where the validators can tell.
    func checkClaims(_ index: Int, _ saved: Saved) throws {
        guard !saved.written.isEmpty, saved.status != .succeeded, places[index].finished == nil else { return }
        guard let generation = places[index].generations.first(where: { $0.number == saved.generation }) else {
            throw Nonsense("records bytes of generation \(saved.generation), which is not there")
        }
        let there = generation.content.ranges
        if !places[index].isTampered, there.intersection(saved.written) != saved.written {
            throw Nonsense("records \(saved.written), the disk has \(there)")
        }
        if !places[index].isTampered, generation.synced.intersection(saved.synced) != saved.synced {
            throw Nonsense("records \(saved.synced) as synced, but only \(generation.synced) are")
        }
        let versions = generation.content.versions(in: saved.written)
        if versions.count > 1, !places[index].hadDigest, !places[index].remote.tellsDigest {
            throw Nonsense("mixes the versions \(versions)")
        }
    }

    private func unrecord(_ index: Int, _ attempt: Attempt) throws {
        guard !places[index].isUnrecording else { throw Nonsense("removes the record twice") }
        guard places[index].file == nil else { throw Nonsense("forgets a download whose file is open") }
        places[index].isUnrecording = true
        places[index].isForgettable = false
        store.append(StoreWork(place: index, attempt: attempt, saved: nil, isAnswered: true))
    }

    private func hear(_ index: Int, _ notice: Notice) throws {
        switch notice {
        case .status(let phase):
            guard phase != places[index].phase else { throw Nonsense("tells \(phase) twice") }
            if phase == .succeeded, places[index].kept?.status != .succeeded {
                throw Nonsense("tells a success before it is recorded")
            }
            places[index].phase = phase
            // With that the machine is done with it.
            if phase == .canceled || phase == .removed { try forget(index) }
        case .progress(let completed, let total):
            if completed < places[index].progress, !places[index].mayGoBack {
                throw Nonsense("progress goes back from \(places[index].progress) to \(completed)")
            }
            if let total, completed > total { throw Nonsense("\(completed) of \(total) bytes") }
            places[index].progress = completed
            places[index].mayGoBack = false
        case .restarted: places[index].mayGoBack = true
        case .head, .retrying, .verified: break
        }
    }

    private func forget(_ index: Int) throws {
        guard places[index].isKnown else { throw Nonsense("forgotten twice") }
        guard places[index].isForgettable else { throw Nonsense("forgotten with its record kept") }
        guard places[index].file == nil, places[index].flows.allSatisfy({ $0.stage == .over }) else {
            throw Nonsense("forgotten with its file open")
        }
        places[index].isKnown = false
        places[index].isForgettable = false
    }
}
