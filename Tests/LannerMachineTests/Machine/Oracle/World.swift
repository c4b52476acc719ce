import LannerMachine

/// Something the machine did that makes no sense in the world, or a promise that it broke.
struct Nonsense: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A small second model of everything outside the machine: servers, files, the store, time.
///
/// It takes every action, throws when one makes no sense, and makes the events that a real world could answer with, in
/// any order that could happen. What is independent happens in random order; a seed replays it.
final class World {
    /// How much goes wrong, in percent of the occasions.
    struct Faults {
        var verbs = 0
        var exchanges = 0
        var lies = 0
        var disk = 0
        var store = 0
        var changes = 0
        var crashes = 0
        var outside = 0
        var damage = 0
    }

    var machine: Machine
    /// A megabyte of this world.
    let scale: Int
    var settings = Settings()
    var random: SeededGenerator
    var faults = Faults()
    /// Whether the walk is over and all has to end.
    var isCalm = false
    var now: Duration = .zero
    var places: [Place] = []
    var store: [StoreWork] = []
    var wakes: [Duration] = []
    var openTickets: Set<Ticket> = []
    var lastTicket: Ticket = 0
    var lastExchange: ExchangeNumber = 0
    var isNetworkAvailable = true
    /// How many connections a download may have at most, over all settings there were; and how often one of several has
    /// taken a part over from another.
    var mostConnections = 1
    var cuts = 0
    /// How many may run: the limit, or as many as ran when it was lowered.
    var mostRunning = 0
    /// How many files may be moved at once, more than that only after a change of settings.
    private var mostFinishing = 0
    /// The same of each list.
    var mostOfList: [String: Int] = [:]
    var mostOfHost: [HostID: Int] = [:]
    /// Who held a slot after the last event.
    var holders: Set<DownloadID> = []
    /// Whether slots may be kept empty.
    var isWithheld = false
    /// What happened, when somebody wants to know.
    var trace: [String]?

    struct StoreWork {
        let place: Int
        let attempt: Attempt
        /// nil removes the record.
        let saved: Saved?
        let isAnswered: Bool
    }

    init(seed: UInt64, isTraced: Bool = false) {
        random = SeededGenerator(seed: seed)
        if isTraced { trace = [] }
        scale = random.chance(25) ? 1000 : 1 << 20
        settings.maximumRunning = 1 + random.below(3)
        settings.waitsForDiskSpace = random.chance(50)
        settings.cancelKeepsBytes = random.chance(50)
        settings.retry = RetryPolicy(maximumRetries: random.below(4), baseDelay: .seconds(1))
        settings.watchdog.minimumSpeed = random.chance(20) ? 1000 : 0
        settings.watchdog.total = random.chance(10) ? .seconds(300) : nil
        machine = Machine(settings: settings, seed: random.next())
        settings.delivery = delivery
        setConnections()
        settings.links = links
        settings.hostLimit = hostLimit
        mostRunning = settings.maximumRunning
    }

    /// Any delivery, with slices that suit the sizes of the files.
    var delivery: Settings.Delivery {
        let length = Int64(scale * 4)
        return random.chance(40) ? .whole : .sliced(length...length * 2, inFlight: 1 + random.below(3))
    }

    /// Any number of connections, and pieces that suit the sizes of the files.
    func setConnections() {
        settings.connections = 1 + random.below(4)
        settings.firstConnections = random.chance(50) ? 1 : 1 + random.below(4)
        settings.smallestPiece = Int64(1 + random.below(scale))
        mostConnections = max(mostConnections, settings.connections)
    }

    /// Any way to have links given.
    var links: Settings.Links { [.never, .whenNeeded, .whenNeeded, .always][random.below(4)] }

    /// The time of day.
    var wallSeconds: Int64 { 1_704_067_200 + now.components.seconds }

    func begin(downloads: Int) throws {
        try feed(.settings(settings))
        for _ in 0..<downloads { try add() }
    }

    func add() throws {
        let id = DownloadID(UInt64(places.count + 1))
        let remote = Remote(scale: scale, &random)
        let place = Place(id: id, remote: remote, hasDigest: random.chance(40))
        let saved = Saved(status: .suspended, isUnstarted: random.chance(50))
        (place.kept, place.list, place.host, place.isShelved) = (saved, list, host, random.chance(10))
        places.append(place)
        try feed(
            .add([
                NewDownload(
                    id: id, rank: Int64(random.below(5)), hasDigest: place.hasDigest, list: place.list,
                    host: place.host, priority: priority, isShelved: place.isShelved, mirrors: mirrors, saved: saved)
            ]))
    }

    /// They have what the download's own URL leads to.
    var mirrors: Int { random.chance(30) ? 1 + random.below(2) : 0 }

    static let hosts = (1...3).map { HostID(UInt64($0)) }

    var host: HostID { Self.hosts[random.below(3)] }

    /// Any limit, or none.
    var hostLimit: Int? { random.chance(50) ? 1 + random.below(2) : nil }

    var priority: DownloadPriority { DownloadPriority.allCases[random.below(5)] }

    /// Any list, or none.
    var list: String? { [nil, nil, "a", "b"][random.below(4)] }

    // MARK: Feeding

    /// Tells the machine something and lets its actions act.
    func feed(_ event: Event) throws {
        note("\(now) → \(event)")
        let actions = machine.handle(event, now: now, wallSeconds: wallSeconds)
        for action in actions {
            note("    \(action)")
            try apply(action)
        }
        let running = machine.running
        try checkSlots(running)
        try checkLists(running)
        try checkHosts(running)
        if case .exchange(let id, let number, .head(_)) = event { try checkHead(id, number) }
    }

    /// The same for an event that comes too late: nothing may come of it but a note.
    func feedStray(_ event: Event) throws {
        note("\(now) → late \(event)")
        let actions = machine.handle(event, now: now, wallSeconds: 0)
        for action in actions {
            guard case .ignored = action else { throw Nonsense("a late \(event) had an effect: \(action)") }
        }
        if actions.isEmpty { throw Nonsense("a late \(event) was dropped without a reason") }
    }

    private func checkHead(_ id: DownloadID, _ number: ExchangeNumber) throws {
        let flow = places[index(id)].flows.first { $0.number == number }
        if flow?.stage == .headed { throw Nonsense("the header of exchange \(number) was left without an answer") }
    }

    private func checkSlots(_ running: [DownloadID]) throws {
        var open = 0
        for index in places.indices {
            if places[index].hasAll { places[index].file?.isSettled = true }
            // What is complete needs no slot, but for its digest.
            if let file = places[index].file, !file.isFinishing, !file.isSettled { open += 1 }
        }
        mostRunning = max(settings.maximumRunning, min(mostRunning, machine.heldSlots))
        if open > mostRunning || machine.heldSlots > mostRunning {
            throw Nonsense("\(open) files are open and \(machine.heldSlots) run, \(mostRunning) may")
        }
        let finishing = running.count - machine.heldSlots
        mostFinishing = max(
            settings.maximumFinishing + settings.maximumRunning - 1, min(mostFinishing, finishing + machine.heldSlots))
        if finishing > mostFinishing { throw Nonsense("\(finishing) files are finished, \(mostFinishing) may be") }
        guard isNetworkAvailable, finishing < settings.maximumFinishing,
            machine.heldSlots < settings.maximumRunning, !isWithheld
        else { return }
        for index in places.indices where places[index].isKnown && places[index].phase == .waiting(.slot) {
            // A file that is still being closed holds its slot.
            guard case .waiting = machine[places[index].id]?.state else { continue }
            if machine.isFull(places[index].list) || machine.isFull(places[index].host) { continue }
            throw Nonsense("\(places[index].id) waits for a slot while one is free")
        }
    }

    /// No list runs more than it may; what is shelved does not run, and waits for no slot.
    private func checkLists(_ running: [DownloadID]) throws {
        for list in ["a", "b"] {
            let count = running.count { places[index($0)].list == list }
            let limit = settings.listLimits[list]
            let most = max(limit, min(mostOfList[list] ?? limit, count))
            mostOfList[list] = most
            if count > most { throw Nonsense("\(count) of list \(list) run, \(most) may") }
            let isFull = machine.isFull(list)
            if isFull != (count >= limit), !isWithheld { throw Nonsense("\(list) with \(count) is full: \(isFull)") }
        }
        for place in places where place.isKnown && place.isShelved {
            switch machine[place.id]?.state {
            case .waiting(.slot), .waiting(.network), .opening, .transferring, .verifying:
                throw Nonsense("\(place.id) is shelved and goes on")
            case .waiting, .pausing, .publishing, .suspended, .failed, .succeeded, nil: break
            }
        }
    }

    /// Of no host more run than may.
    private func checkHosts(_ running: [DownloadID]) throws {
        // Whoever has only to record what is in its place begins without opening a file.
        for id in running where !holders.contains(id) { places[index(id)].begunHost = places[index(id)].host }
        holders = Set(running)
        let limit = settings.hostLimit ?? .max
        for host in Self.hosts + [.unknown] {
            let count = running.count { places[index($0)].begunHost == host }
            let most = max(limit, min(mostOfHost[host] ?? limit, count))
            mostOfHost[host] = most
            if count > most { throw Nonsense("\(count) of \(host) run, \(most) may") }
            let isFull = machine.isFull(host)
            // One that refuses downloads has a limit of its own.
            let own = machine.limit(of: host)
            if isFull != (count >= own) || own > limit, !isWithheld {
                throw Nonsense("\(host) with \(count), of which \(own) may run, is full: \(isFull)")
            }
        }
    }

    // MARK: Trace

    /// Keeps a line for whoever looks for the cause of a failure.
    func note(_ line: @autoclosure () -> String) {
        guard trace != nil else { return }
        trace?.append(line().withoutNoise)
    }

    /// The last lines, when they were kept.
    var history: String {
        trace.map { "\n" + $0.suffix(200).joined(separator: "\n") } ?? ""
    }

    func index(_ id: DownloadID) -> Int { Int(id.number) - 1 }

    // MARK: Time

    /// Moves the clock to the next wake that was asked for; false when there is none.
    func wakeNext() throws -> Bool {
        guard let next = wakes.min() else { return false }
        try advance(to: max(now, next))
        return true
    }

    func advance(to time: Duration) throws {
        now = time
        guard wakes.contains(where: { $0 <= time }) else { return }
        wakes.removeAll { $0 <= time }
        try feed(.timer)
    }
}

extension DownloadFailure {
    static let noLink = DownloadFailure(.link, "")
}

extension String {
    /// Descriptions name the module with every type: a trace is read more easily without.
    fileprivate var withoutNoise: String {
        var kept: [Substring] = []
        for part in split(separator: "LannerMachine.", omittingEmptySubsequences: false) { kept.append(part) }
        return kept.joined()
    }
}
