import LannerMachine

// What the world does next, of all that it could do now.

extension World {
    /// Does one thing that is due, chosen at random; false when nothing is.
    func work() throws -> Bool {
        let jobs = self.jobs
        guard !jobs.isEmpty else { return false }
        switch jobs[random.below(jobs.count)] {
        case .file(let index): try workFile(index)
        case .flow(let index, let number): try workFlow(index, number)
        case .link(let index): try workLink(index)
        case .stray(let index): try feedStray(places[index].stray.remove(at: random.below(places[index].stray.count)))
        case .discard(let index): try workDiscard(index)
        case .store: try workStore()
        }
        return true
    }

    private enum Job {
        case file(Int)
        case flow(Int, ExchangeNumber)
        case link(Int)
        case stray(Int)
        case discard(Int)
        case store
    }

    private var jobs: [Job] {
        var jobs: [Job] = store.isEmpty ? [] : [.store, .store]
        for index in places.indices {
            if places[index].file?.work.isEmpty == false { jobs += [.file(index), .file(index)] }
            if !places[index].stray.isEmpty { jobs.append(.stray(index)) }
            if places[index].call != nil, !isSilent(places[index]) { jobs.append(.link(index)) }
            if places[index].discard != nil { jobs.append(.discard(index)) }
            for flow in places[index].flows.indices {
                let stage = places[index].flows[flow].stage
                if stage == .over || places[index].flows[flow].isStalled { continue }
                jobs.append(.flow(index, places[index].flows[flow].number))
            }
        }
        return jobs
    }

    // MARK: Store

    private func workStore() throws {
        let work = store.removeFirst()
        let id = places[work.place].id
        let fails = random.chance(faults.store)
        if !fails { places[work.place].kept = work.saved }
        if work.saved == nil { places[work.place].isUnrecording = false }
        if work.saved == nil || work.saved?.isLeftover == true { places[work.place].isForgettable = true }
        guard work.isAnswered else { return }
        let failure = DownloadFailure(random.chance(50) ? .store : .disk(.noSpace), "")
        try feed(.store(id, work.attempt, fails ? .failed(failure) : .recorded))
    }

    // MARK: Files

    private func workDiscard(_ index: Int) throws {
        guard let discard = places[index].discard else { return }
        places[index].discard = nil
        places[index].generations = []
        if discard.finished { places[index].finished = nil }
        try feed(.file(places[index].id, discard.attempt, .discarded))
    }

    private func workFile(_ index: Int) throws {
        if random.chance(faults.damage), try damaged(index) { return }
        guard let work = places[index].file?.work.removeFirst(), let file = places[index].file else { return }
        if work == .close { return try closed(index, file) }
        guard !file.hasFailed else { return }
        if random.chance(faults.disk) { return try failed(index, work) }
        let id = places[index].id
        switch work {
        case .open(let claimed): try opened(index, claimed)
        case .write(let range, let version): try wrote(index, range, version)
        case .sync:
            synced(index)
            try feed(.file(id, file.attempt, .synced(file.written)))
        case .verify(let total): try verified(index, file, total)
        case .publish: try published(index, file)
        case .find: try looked(index, file)
        case .setTotal, .close: break
        }
    }

    private func failed(_ index: Int, _ work: WorkingFile.Work) throws {
        guard let attempt = places[index].file?.attempt else { return }
        places[index].file?.hasFailed = true
        // What could not be synced is not trusted any more.
        if work == .sync, let synced = places[index].file?.synced { places[index].file?.written = synced }
        if work == .publish || work == .find { places[index].file = nil }
        try feed(.file(places[index].id, attempt, .failed(diskFailure())))
    }

    /// One that is waited for, or another.
    private func diskFailure() -> DownloadFailure { random.chance(50) ? DownloadFailure(.disk(.noSpace), "") : .disk }

    private func opened(_ index: Int, _ claimed: ByteRanges) throws {
        guard let file = places[index].file else { return }
        let generation = places[index].generation(file.generation)
        let content = places[index].generations[generation].content.ranges
        let durable = places[index].generations[generation].synced
        if content.isEmpty, !claimed.isEmpty {
            places[index].file?.hasFailed = true
            places[index].file?.written = claimed
            return try feed(.file(places[index].id, file.attempt, .failed(DownloadFailure(.disk(.notFound), ""))))
        }
        let held = claimed.clipped(to: content.end)
        places[index].isTampered = false
        places[index].file?.isOpen = true
        places[index].file?.written = held
        places[index].file?.synced = held.intersection(durable)
        try feed(.file(places[index].id, file.attempt, .opened(held: held)))
    }

    private func wrote(_ index: Int, _ range: Range<Int64>, _ version: Int) throws {
        guard let file = places[index].file else { return }
        let generation = places[index].generation(file.generation)
        var position = range.lowerBound
        // What is there already stays: the first bytes that came count.
        while let gap = file.written.firstGap(from: position, below: range.upperBound) {
            places[index].generations[generation].content.write(gap, version: version)
            position = gap.upperBound
        }
        places[index].file?.written.insert(range)
        try feed(.file(places[index].id, file.attempt, .wrote(range)))
    }

    private func synced(_ index: Int) {
        guard let file = places[index].file else { return }
        let generation = places[index].generation(file.generation)
        places[index].file?.synced = file.written
        places[index].generations[generation].synced.formUnion(file.written)
    }

    private func verified(_ index: Int, _ file: WorkingFile, _ total: Int64) throws {
        guard file.written.end == total, file.written.prefix == total else {
            throw Nonsense("verifies \(total) bytes, \(file.written) are written")
        }
        synced(index)
        let remote = places[index].remote
        let callers = file.hasDigest ? remote.version : nil
        let expected = places[index].hasDigest ? callers : file.expected
        let verification =
            expected.map { version -> Verification in
                let isRight = content(index, file).isSubset(of: [version]) && total == remote.totals[version]
                return isRight ? .correct : .mismatch("")
            } ?? .sizeOnly
        places[index].file?.verification = verification
        try feed(.file(places[index].id, file.attempt, .verified(verification)))
    }

    /// A piece turns out to be wrong, of a file that takes bytes or was to be verified; false when there is none.
    private func damaged(_ index: Int) throws -> Bool {
        guard places[index].hasDigest, let file = places[index].file, file.isOpen, !file.isClosing, !file.hasFailed,
            file.verification == nil, !file.written.isEmpty
        else { return false }
        let range = file.written.ranges[random.below(file.written.ranges.count)]
        let start = range.lowerBound + Int64(random.below(Int(range.upperBound - range.lowerBound)))
        let piece = start..<min(range.upperBound, start + Int64(1 + random.below(scale)))
        places[index].file?.written.remove(piece)
        places[index].file?.synced.remove(piece)
        places[index].file?.wrong.insert(piece)
        places[index].file?.verified = nil
        places[index].file?.work.removeAll { if case .verify = $0 { true } else { false } }
        let id = places[index].id
        try feed(.file(id, file.attempt, .damaged(piece)))
        return true
    }

    private func content(_ index: Int, _ file: WorkingFile) -> Set<Int> {
        let generation = places[index].generation(file.generation)
        return places[index].generations[generation].content.versions(in: file.written)
    }

    private func published(_ index: Int, _ file: WorkingFile) throws {
        let versions = content(index, file)
        let total = file.verified ?? 0
        let remote = places[index].remote
        let version = versions.first ?? remote.totals.lastIndex(of: 0) ?? 0
        guard versions.count <= 1, remote.totals[version] == total else {
            throw Nonsense("published \(total) bytes of the versions \(versions) of \(remote.totals)")
        }
        places[index].finished = version
        places[index].generations.removeAll { $0.number == file.generation }
        places[index].file = nil
        try told(index, file)
    }

    /// The name of a file in its place is kept, or cannot be.
    private func told(_ index: Int, _ file: WorkingFile) throws {
        let isKept = !random.chance(faults.disk)
        let failure = diskFailure()
        try feed(.file(places[index].id, file.attempt, isKept ? .published : .unconfirmed(failure)))
    }

    /// Another file may have come in the place of one that was moved and not recorded.
    private func looked(_ index: Int, _ file: WorkingFile) throws {
        places[index].file = nil
        guard random.chance(faults.disk) else { return try told(index, file) }
        places[index].finished = nil
        try feed(.file(places[index].id, file.attempt, .failed(DownloadFailure(.disk(.notFound), ""))))
    }

    private func closed(_ index: Int, _ file: WorkingFile) throws {
        if !file.hasFailed { synced(index) }
        guard let file = places[index].file else { return }
        places[index].file = nil
        try feed(.file(places[index].id, file.attempt, .closed(written: file.written, synced: file.synced)))
    }

    // MARK: Links

    /// Whether whoever gives links sits on the answer.
    private func isSilent(_ place: Place) -> Bool {
        !isCalm && faults.exchanges > 0 && place.call.map { $0.attempt % 5 == 4 } == true
    }

    private func workLink(_ index: Int) throws {
        let place = places[index]
        guard let call = place.call else { return }
        place.call = nil
        if random.chance(faults.exchanges) {
            let failure = DownloadFailure.noLink
            return try feed(.link(place.id, call.attempt, random.chance(50) ? .none(failure) : .failed(failure)))
        }
        place.isLinkFresh = true
        // Some providers give what is of no use.
        if isCalm || random.chance(80) { place.isLinkDead = false }
        place.linkExpires = random.chance(50) ? wallSeconds + Int64(random.below(100)) - 20 : nil
        try feed(.link(place.id, call.attempt, .given(isOther: random.chance(50), expires: place.linkExpires)))
    }

    // MARK: Exchanges

    private func workFlow(_ index: Int, _ number: ExchangeNumber) throws {
        guard let at = places[index].flows.firstIndex(where: { $0.number == number }) else { return }
        switch places[index].flows[at].stage {
        case .asked: try sendHead(index, at, number)
        case .redirected:
            if random.chance(faults.exchanges) {
                try fail(index, at, number, DownloadFailure(.redirect, ""))
            } else {
                try feed(.exchange(places[index].id, number, .redirected))
            }
        case .flowing: try flow(index, at, number)
        case .headed, .over: break
        }
    }

    private func sendHead(_ index: Int, _ at: Int, _ number: ExchangeNumber) throws {
        if !isNetworkAvailable { return try fail(index, at, number, DownloadFailure(.transport(.notConnected), "")) }
        if random.chance(faults.exchanges) {
            guard random.chance(70) else {
                places[index].flows[at].isStalled = true
                return
            }
            let fault = TransportFault.allCases[random.below(TransportFault.allCases.count)]
            return try fail(index, at, number, DownloadFailure(.transport(fault), ""))
        }
        let answer = makeAnswer(index, places[index].flows[at].ask)
        places[index].flows[at].answer = answer
        places[index].flows[at].stage = .headed
        if random.chance(faults.exchanges * 2) {
            let length = Int(answer.body.upperBound - answer.body.lowerBound)
            places[index].flows[at].cut = answer.body.lowerBound + Int64(random.below(length + 1))
        }
        try feed(.exchange(places[index].id, number, .head(answer.head)))
    }

    private func makeAnswer(_ index: Int, _ ask: Ask) -> Remote.Answer {
        if places[index].isLinkDead, ask.source == 0 { return places[index].remote.refuseLink(&random) }
        if random.chance(faults.lies), places[index].remote.total > 0 {
            return places[index].remote.lie(ask, &random)
        }
        if random.chance(faults.exchanges / 2) { return places[index].remote.refusal(&random) }
        if random.chance(faults.exchanges) { return places[index].remote.redirect() }
        return places[index].remote.answer(ask, &random)
    }

    private func fail(_ index: Int, _ at: Int, _ number: ExchangeNumber, _ failure: DownloadFailure) throws {
        try hand(index, at)
        places[index].flows[at].stage = .over
        try feed(.exchange(places[index].id, number, .failed(failure)))
    }

    private func flow(_ index: Int, _ at: Int, _ number: ExchangeNumber) throws {
        let flow = places[index].flows[at]
        guard let body = flow.answer?.body else { return }
        if let cut = flow.cut, flow.position >= cut {
            if random.chance(30) {
                places[index].flows[at].isStalled = true
                return
            }
            return try fail(index, at, number, DownloadFailure(.transport(.connectionLost), ""))
        }
        // It has come to where another goes on, or, before that was known, farther.
        if let end = flow.window?.upperBound, end < body.upperBound, flow.position >= end {
            try hand(index, at)
            places[index].flows[at].stage = .over
            return try feed(.exchange(places[index].id, number, .ended(received: flow.position - body.lowerBound)))
        }
        let most = min(flow.cut ?? body.upperBound, body.upperBound) - flow.position
        let length =
            random.chance(isCalm ? 75 : 25) ? most : min(most, Int64(1 + random.below(scale << random.below(4))))
        places[index].flows[at].position += length
        if length > 0 { places[index].isLinkFresh = false }
        if random.chance(50) { try hand(index, at) }
        if flow.position + length == body.upperBound, flow.cut == nil {
            try hand(index, at)
            places[index].flows[at].stage = .over
            let count = body.upperBound - body.lowerBound
            return try feed(.exchange(places[index].id, number, .ended(received: count)))
        }
        // Not all that has come is told at once.
        if settings.connections > 1, random.chance(30) { return }
        try feed(.exchange(places[index].id, number, .received(flow.position + length - body.lowerBound)))
    }
}
