import LannerMachine

// Random walks: what users, servers and fate do on top of the work that is due.

extension World {
    /// Wanders about with everything going wrong now and then; afterwards nothing goes wrong, and all has to end well.
    static func walk(seed: UInt64, steps: Int, isTraced: Bool = false) throws -> World {
        let world = World(seed: seed, isTraced: isTraced)
        do {
            try world.begin(downloads: 1 + world.random.below(4))
            world.faults = Faults(&world.random)
            for _ in 0..<steps { try world.step() }
            try world.calm()
            try world.finish()
        } catch let error as Nonsense {
            throw Nonsense("seed \(seed): \(error)" + world.history)
        }
        return world
    }

    private func step() throws {
        let roll = random.below(100)
        if roll < faults.verbs { return try giveVerb() }
        if roll < faults.verbs + faults.changes { return try change() }
        if random.chance(20) { try advance(to: now + .milliseconds(random.below(2000))) }
        if random.below(1000) < faults.crashes { return try crash() }
        if try work() { return }
        if places.allSatisfy({ !$0.isKnown || $0.phase == .succeeded }), places.count < 12 { return try add() }
        if try !wakeNext() { try giveVerb() }
    }

    private func giveVerb() throws {
        var ids = places.map(\.id).filter { _ in random.chance(50) }
        if random.chance(5) { ids.append(DownloadID(UInt64(places.count))) }
        let ticket: Ticket? = random.chance(70) ? lastTicket + 1 : nil
        if let ticket {
            lastTicket = ticket
            openTickets.insert(ticket)
        }
        let verb = self.verb
        if case .downloadAgain = verb { loseFinished(ids) }
        if random.chance(10) {
            isWithheld = true
            try feed(.withhold(ids))
        }
        if verb == .shelve || verb == .unshelve { ids.forEach { places[index($0)].isShelved = verb == .shelve } }
        switch verb {
        case .start, .startAdded, .downloadAgain, .unshelve: isWithheld = false
        case .suspend, .cancel, .remove, .shelve, .settle: break
        }
        try feed(.user(verb, ids, ticket))
    }

    /// The finished files are gone, which is why somebody wants them again.
    private func loseFinished(_ ids: [DownloadID]) {
        for id in ids where places[index(id)].phase == .succeeded { places[index(id)].finished = nil }
    }

    private var verb: Verb {
        switch random.below(100) {
        case 0..<50: .start
        case 50..<56: .startAdded
        case 56..<80: .suspend
        case 80..<83: .shelve
        case 83..<88: .unshelve
        case 88..<92: .downloadAgain(starts: true)
        case 92..<95: .cancel
        case 95: .settle
        default: .remove(completely: random.chance(50))
        }
    }

    private func change() throws {
        let index = random.below(places.count)
        switch random.below(17) {
        case 0, 1: places[index].remote.change(&random)
        case 2:
            isNetworkAvailable.toggle()
            try feed(.network(available: isNetworkAvailable))
            if !isNetworkAvailable { try checkSilence() }
        case 3: try feed(.reorder([places[index].id: Int64(random.below(5))]))
        case 4: try changeSettings()
        case 5: if places.count < 12 { try add() }
        case 6: if faults.outside > 0 { tamper(index) }
        case 7:
            places[index].hasDigest.toggle()
            let mirrors = random.chance(30) ? MirrorChange(count: self.mirrors, places: [1, nil]) : nil
            try feed(.expectDigest(places[index].id, places[index].hasDigest, mirrors: mirrors))
        case 8: places[index].isLinkDead = true
        case 9:
            places[index].linkExpires = random.chance(50) ? wallSeconds + Int64(random.below(60)) : nil
            try feed(.expectLink(places[index].id, expires: places[index].linkExpires))
        case 10, 11: try relist(index)
        case 12:
            if !places[index].phase.isOnItsWayOut { try readdress(index) }
            try takeOver(index)
        case 13: try feed(.prioritize(places[index].id, priority))
        case 14: try limit(index)
        case 15:
            places[index].isOtherAsked = true
            try feed(.expectPieces(places[index].id, sizes: 0...Int64.max))
        default: try advance(to: now + .seconds(random.below(40)))
        }
    }

    /// Another limit, or word from the engine that one is kept.
    private func limit(_ index: Int) throws {
        let place = places[index]
        if random.chance(50) {
            let limit = random.chance(50) ? Int64(1 + random.below(9)) << 24 : nil
            return try feed(.limit(place.id, limit))
        }
        guard let flow = place.flows.last else { return }
        try feed(.exchange(place.id, flow.number, .heldBack(until: now + .seconds(random.below(90)))))
    }

    /// Another download takes over what one that was canceled has left, while late events of that are on their way.
    private func takeOver(_ index: Int) throws {
        let place = places[index]
        guard !place.isKnown, var saved = place.kept, saved.isLeftover else { return }
        saved.isLeftover = false
        (place.isKnown, place.phase) = (true, .suspended)
        place.progress = saved.written.count
        try feed(
            .add([
                NewDownload(
                    id: place.id, rank: 0, hasDigest: place.hasDigest, list: place.list, host: place.host,
                    isShelved: place.isShelved, linkExpires: place.linkExpires, mirrors: mirrors,
                    lastAttempt: place.attempt, saved: saved)
            ]))
    }

    /// Without a network no request stays out.
    private func checkSilence() throws {
        guard places.allSatisfy({ $0.flows.allSatisfy { $0.stage == .over } }) else {
            throw Nonsense("bytes may come without a network")
        }
    }

    private func relist(_ index: Int) throws {
        let list = self.list
        places[index].list = list
        if let list { mostOfList[list] = (mostOfList[list] ?? 0) + 1 }
        try feed(.relist(places[index].id, list))
    }

    private func readdress(_ index: Int) throws {
        places[index].host = host
        places[index].isOtherAsked = true
        try feed(.readdress(places[index].id, places[index].host))
    }

    private func changeSettings() throws {
        mostRunning = max(machine.heldSlots, 1)
        settings.maximumRunning = 1 + random.below(4)
        settings.delivery = delivery
        setConnections()
        settings.links = links
        settings.hostLimit = hostLimit
        settings.listLimits.standard = 1 + random.below(3)
        settings.listLimits.named = random.chance(50) ? ["a": 1 + random.below(3)] : [:]
        try feed(.settings(settings))
    }

    /// Somebody cuts or removes a partial file that is not open.
    private func tamper(_ index: Int) {
        guard places[index].file == nil, let last = places[index].generations.indices.last else { return }
        let held = places[index].generations[last].content.ranges
        let size = random.chance(30) ? 0 : Int64(random.below(Int(held.end) + 1))
        places[index].generations[last].content.keep(held.clipped(to: size))
        places[index].generations[last].synced = places[index].generations[last].synced.clipped(to: size)
        places[index].isTampered = true
    }

    // MARK: Death and return

    /// The process ends, or the whole machine; what the store and the disk have kept begins anew.
    private func crash() throws {
        let isMachine = random.chance(50)
        note("\(now) crash of \(isMachine ? "the machine" : "the process")")
        for _ in 0..<random.below(store.count + 1) {
            let work = store.removeFirst()
            places[work.place].kept = work.saved
        }
        store = []
        wakes = []
        openTickets = []
        settings.maximumRunning = 1 + random.below(3)
        mostRunning = settings.maximumRunning
        (mostOfList, mostOfHost, holders) = ([:], [:], [])
        isWithheld = false
        isNetworkAvailable = true
        machine = Machine(settings: settings, seed: random.next())
        lastExchange = 0
        try feed(.add(places.indices.compactMap { restore($0, isMachine) }))
    }

    private func restore(_ index: Int, _ isMachine: Bool) -> NewDownload? {
        let place = places[index]
        place.file = nil
        place.flows = []
        place.stray = []
        place.discard = nil
        place.call = nil
        place.isLinkFresh = false
        place.isUnrecording = false
        place.attempt = 0
        place.progress = 0
        if isMachine {
            for number in place.generations.indices {
                place.generations[number].content.keep(place.generations[number].synced)
            }
        }
        place.isKnown = place.isKnown && place.kept != nil && place.kept?.isLeftover == false
        place.isForgettable = false
        place.isTampered = place.wasTampered
        if isMachine, let synced = place.kept?.synced { place.kept?.written = synced }
        // The move was done, only its record was lost.
        let isFound = place.kept.map { $0.status == .publishing || $0.isPublished } == true && place.finished != nil
        place.kept?.isPublished = isFound && random.chance(faults.disk)
        if isFound, place.kept?.isPublished == false { place.kept?.status = .succeeded }
        if place.kept?.isPublished == true { place.kept?.isOfOtherURL = false }
        guard place.isKnown, let kept = place.kept else { return nil }
        // Files that no record knows are swept away.
        place.generations.removeAll { $0.number > kept.generation }
        let new = NewDownload(
            id: place.id, rank: 0, hasDigest: place.hasDigest, list: place.list, host: place.host,
            isShelved: place.isShelved, linkExpires: place.linkExpires, mirrors: mirrors, saved: kept)
        switch kept.status {
        case .active, .suspended, .publishing: place.phase = .suspended
        case .failed(let failure): place.phase = .failed(failure)
        case .succeeded: place.phase = .succeeded
        }
        return new
    }

    // MARK: The end

    /// Nothing goes wrong any more: every download that is still here has to succeed.
    private func calm() throws {
        faults = Faults()
        isCalm = true
        note("\(now) calm")
        for index in places.indices {
            // Where nobody gives another link, the server has to take this one again.
            if settings.links == .never { places[index].isLinkDead = false }
            for flow in places[index].flows.indices where places[index].flows[flow].cut != nil {
                places[index].flows[flow].cut = nil
                places[index].flows[flow].isStalled = false
            }
        }
        if !isNetworkAvailable {
            isNetworkAvailable = true
            try feed(.network(available: true))
        }
        for place in places { place.isShelved = false }
        isWithheld = false
        try feed(.user(.unshelve, places.map(\.id), nil))
        for _ in 0..<30_000 {
            if try work() { continue }
            let resting = places.filter { $0.isKnown && $0.phase.isResting }.map(\.id)
            let lost = places.filter { $0.isKnown && $0.phase == .succeeded && $0.finished == nil }.map(\.id)
            if !resting.isEmpty || !lost.isEmpty {
                try feed(.user(.start, resting, nil))
                try feed(.user(.downloadAgain(starts: true), lost, nil))
            } else if try !wakeNext() {
                return
            }
        }
        throw Nonsense("no end: " + states)
    }

    private var states: String {
        places.filter(\.isKnown).map { "\($0.id) \(machine[$0.id].map { "\($0.state)" } ?? "gone")" }
            .joined(separator: "\n")
    }

    private func finish() throws {
        for place in places where place.isKnown {
            guard place.phase == .succeeded, place.kept?.status == .succeeded, place.finished != nil else {
                throw Nonsense("did not end: " + states)
            }
        }
        guard machine.running.isEmpty else { throw Nonsense("slots are held: " + states) }
        guard openTickets.isEmpty else { throw Nonsense("tickets are open: \(openTickets)") }
        guard try !wakeNext() else { throw Nonsense("a deadline is armed for nobody") }
    }
}

extension World.Faults {
    /// Some worlds are kind, some are not.
    init(_ random: inout SeededGenerator) {
        verbs = random.below(20)
        exchanges = random.chance(70) ? random.below(25) : 0
        lies = random.chance(50) ? random.below(20) : 0
        disk = random.chance(40) ? random.below(6) : 0
        store = random.chance(30) ? random.below(30) : 0
        damage = random.chance(40) ? random.below(6) : 0
        changes = random.below(10)
        crashes = random.chance(30) ? random.below(30) : 0
        outside = random.chance(20) ? 1 : 0
    }
}

extension Phase {
    /// Whether nobody asks anything of the download any more.
    fileprivate var isOnItsWayOut: Bool {
        switch self {
        case .willCancel, .willRemove, .canceled, .removed: true
        case .waiting, .running, .willSuspend, .suspended, .failed, .succeeded: false
        }
    }

    /// Whether only a start gets the download going.
    fileprivate var isResting: Bool {
        switch self {
        case .suspended, .failed: true
        case .waiting, .running, .willSuspend, .willCancel, .willRemove, .canceled, .removed, .succeeded: false
        }
    }
}
