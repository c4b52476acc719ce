/// All downloads of one manager, and who of them runs: told what happened, it says what to do.
///
/// Every event costs O(log n) in the number of downloads, and as much again for each download it changes.
package struct Machine: Sendable {
    private var roster = Roster()
    private var context: Context
    private var slots: SlotQueue
    private var deadlines = IndexedHeap<Duration>()
    /// The wakes that were asked for and have not come, the soonest last; each is sooner than those before it.
    private var armed: [Duration] = []
    /// Who holds a slot, and of which host: that of the URL it began with.
    private var holders = IDTable<HostID>()
    /// The same of who holds the part of a slot that is its list's and its host's.
    private var finishing = IDTable<HostID>()
    /// Whose slots stay empty when they leave them stopped: what of them they still held then.
    private var leaving = IDTable<Void>()
    private var waitingForNetwork: Set<DownloadID> = []
    private var crowds = Crowds()
    private var rates = RateLimits()
    private var shortage: Shortage?
    /// What was met; nil while nobody wants to know.
    package var coverage: Coverage?

    /// A machine without downloads; the seed decides the jitter of retries.
    package init(settings: Settings = Settings(), seed: UInt64) {
        context = Context(settings: settings, seed: seed)
        slots = SlotQueue(settings)
    }

    package var settings: Settings { context.settings }

    /// A download, nil when it is not, or no longer, here.
    package subscript(id: DownloadID) -> Download? { roster[id] }

    /// How many downloads hold a whole slot.
    package var heldSlots: Int { holders.count }

    /// Who runs, with a whole slot or with a part, in no particular order.
    package var running: [DownloadID] { holders.keys + finishing.keys }

    /// How many downloads there are.
    package var count: Int { roster.count }

    /// Whether of those that run one has more to do before it waits for the network or comes to rest.
    package var isAtWork: Bool { running.contains { roster[$0]?.isAtWork == true } }

    /// Whether of a list as many run as may.
    package func isFull(_ list: String?) -> Bool { slots.isFull(list) }

    /// Whether of a host as many run as may.
    package func isFull(_ host: HostID) -> Bool { slots.isFull(host) }

    /// How many of a host may run now.
    package func limit(of host: HostID) -> Int { slots.limit(of: host) }

    /// What a download that waits for a slot lacks: the one of its list, of its host, or any; of several the first.
    package func missingSlot(of id: DownloadID) -> WaitingReason {
        guard let download = roster[id] else { return .slot }
        return slots.isFull(download.list) ? .listSlot : slots.isFull(download.host) ? .hostSlot : .slot
    }

    /// Until when the host of a download is left alone by all, where it is now.
    package func restEnd(ofHostOf id: DownloadID) -> Duration? {
        roster[id].flatMap { rates.restEnd(of: $0.host) }
    }
}

extension Machine {
    /// Takes one event and says what has to be done, in order. `wallSeconds` is the time of day since 1970.
    package mutating func handle(_ event: Event, now: Duration, wallSeconds: Int64) -> [Action] {
        var actions: [Action] = []
        handle(event, now: now, wallSeconds: wallSeconds, into: &actions)
        return actions
    }

    /// The same; what has to be done is added behind what waits.
    package mutating func handle(
        _ event: consuming Event, now: Duration, wallSeconds: Int64, into actions: inout [Action]
    ) {
        // Who tells has looked at the clock before, and others have come first.
        context.now = max(context.now, now)
        context.wallSeconds = wallSeconds
        // One array for all, which is not made anew for each event.
        swap(&context.actions, &actions)
        passLimits()
        shortage = shortage?.passed(to: context.now, most: settings.maximumRunning + settings.maximumFinishing)
        take(event)
        admit()
        arm()
        swap(&context.actions, &actions)
    }

    private mutating func take(_ event: consuming Event) {
        switch consume event {
        case .add(let new): add(new)
        case .user(let verb, let ids, let ticket): user(verb, ids, ticket)
        case .withhold(let ids): withhold(ids)
        case .relist(let id, let list): change(id, .relist) { download, _ in download.list = list }
        case .readdress(let id, let host): change(id, .readdress) { $0.readdress(to: host, &$1) }
        case .prioritize(let id, let priority):
            change(id, .prioritize) { download, _ in download.priority = priority }
        case .limit(let id, let limit): change(id, .limit) { download, _ in download.rateLimit = limit }
        case .reorder(let ranks):
            for (id, rank) in ranks.sorted(by: { $0.key < $1.key }) {
                change(id, .reorder) { download, _ in download.rank = rank }
            }
        case .expectPieces(let id, let sizes):
            change(id, .expectPieces) { $0.expectPieces(ofFilesOf: sizes, &$1) }
        case .expectDigest(let id, let hasDigest, let mirrors):
            change(id, .expectDigest) { $0.expectDigest(hasDigest, mirrors: mirrors, &$1) }
        case .expectLink(let id, let expires):
            change(id, .expectLink) { $0.expectLink(expires: expires, &$1) }
        case .settings(let new):
            slots.giveBackEmpty(settings.maximumRunning - new.maximumRunning)
            context.settings = new
            slots.setLimits(new.listLimits)
            setHostLimit(new.hostLimit)
        case .timer: fire()
        case .network(let available):
            context.isNetworkWatched = true
            context.isNetworkAvailable = available
            for id in affectedByNetwork.sorted() { change(id, .network) { $0.network(&$1) } }
        case .file(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .store(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .link(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .exchange(let id, let number, let event):
            noteAnswer(id, number, event)
            context.isCrowd = noteCrowd(id, number, event)
            change(id, .init(event)) { $0.handle(event, of: number, &$1) }
            context.isCrowd = false
        case .inherit(let id, let legacy): change(id, .inherit) { $0.inherit(legacy, &$1) }
        }
    }

    /// Says whether a host refuses a download by what servers answer to one connection too many, while it sends others.
    /// When it has refused several no more of them run than it takes, for a while.
    private mutating func noteCrowd(_ id: DownloadID, _ number: ExchangeNumber, _ event: ExchangeEvent) -> Bool {
        guard case .head(let head) = event, RefusalTables.ofCrowds.contains(head.status), let host = holders[id],
            let download = roster[id], download.exchange(number)?.ask.source == 0
        else { return false }
        let others = holders.keys.filter { $0 != id && holders[$0] == host }
        guard others.contains(where: { roster[$0]?.isReceiving == true }) else {
            return !download.isReceiving && noteRate(download, host, head)
        }
        // One connection more of a download is not to hold up others.
        if download.isReceiving { return true }
        // Until those that have several connections are down to one nobody knows how many it takes.
        let isKnown = others.allSatisfy { roster[$0]?.usesSeveralExchanges != true }
        if crowds.note(
            id, of: host, isFirst: download.crowdRefusals == 0, at: context.now,
            for: isKnown ? Pace.placeWait : Pace.crowdWait)
        {
            // Those that have yet to be answered may be sent as well; each that is refused lowers it, also while its file
            // is being closed.
            let leaving = others.count { roster[$0]?.isPausing == true }
            crowds.limit(host, to: slots.taken(host) - 1 - leaving)
            settleLimit(of: host)
        }
        return true
    }

    /// The same of a host that sends nobody anything now, but has lately. Who is refused again and again may be so for a
    /// reason of its own; and of statuses only one speaks of who asks, whatever is asked for.
    private mutating func noteRate(_ download: Download, _ host: HostID, _ head: ResponseHead) -> Bool {
        guard download.crowdRefusals < Pace.rateRefusals, settings.retry.maximumRetries != 0 else { return false }
        let isOfAll = head.status == 429
        let delay = isOfAll ? RetryAfter.delay(fields: head.fields, wallSeconds: context.wallSeconds) : nil
        // A moment that is over says nothing.
        let wait = settings.retry.patience(with: delay).flatMap { $0 > .zero ? $0 : nil }
        let tells = download.isFresh || !slots.hasFresh(of: host)
        guard
            rates.noteRefusal(
                download.id, of: host, tells: tells, wait: wait, longest: settings.retry.longestPatience,
                at: context.now)
        else { return false }
        settleLimit(of: host)
        return true
    }

    /// A host sends a download of its own what it has asked for.
    private mutating func noteAnswer(_ id: DownloadID, _ number: ExchangeNumber, _ event: ExchangeEvent) {
        guard case .head(let head) = event, [200, 206].contains(head.status), let host = holders[id],
            roster[id]?.exchange(number)?.ask.source == 0
        else { return }
        if rates.noteAnswer(id, of: host, at: context.now) { settleLimit(of: host) }
    }

    /// Lets no more of a host run than it takes.
    private mutating func settleLimit(of host: HostID) {
        let limit = [crowds.limit(of: host), rates.limit(of: host)].compactMap { $0 }.min()
        if limit != nil, !slots.knowsHosts { stand { $0.knowHosts() } }
        slots.limit(host, to: limit, freshFirst: rates.isDoubtful(host))
    }

    /// Lets more of those hosts run whose time is over.
    private mutating func passLimits() {
        for host in crowds.pass(to: context.now) + rates.pass(to: context.now) { settleLimit(of: host) }
    }

    /// Who does something else without a network than with one. Those in the queue do not: nobody leaves it meanwhile.
    private var affectedByNetwork: [DownloadID] {
        holders.keys + (context.isNetworkAvailable ? Array(waitingForNetwork) : [])
    }

    private mutating func add(_ new: [NewDownload]) {
        roster.reserve(new.count)
        for download in new where roster.seat(of: download.id) == nil {
            let download = Download(download)
            coverage?.note(.add, from: .none, to: .init(download.state))
            roster.add(download)
            if download.slotClaim.isHeld { hold(download.id, download.standing, download.host) }
        }
    }

    private mutating func user(_ verb: Verb, _ ids: [DownloadID], _ ticket: Ticket?) {
        if verb.startsSomething {
            fillEmptySlots()
            shortage?.letOneTry()
            if rates.isAnyAtRest { letOneTry(ofHostsOf: ids) }
        }
        let seats = ids.compactMap { roster.seat(of: $0) }
        if let ticket { context.expect(seats.count, for: ticket) }
        let tickets = ticket.map { [$0] } ?? []
        for seat in seats { change(at: seat, .init(verb)) { $0.user(verb, tickets, &$1) } }
    }

    /// Who asks for what is there already wants to have it tried now. One more of a host that is left alone is one more that
    /// waits.
    private mutating func letOneTry(ofHostsOf ids: [DownloadID]) {
        for id in ids {
            guard let download = roster[id], download.isKnown else { continue }
            rates.letOneTry(of: download.host, at: context.now)
        }
        passLimits()
    }

    private mutating func withhold(_ ids: [DownloadID]) {
        for id in ids where holders[id] != nil || finishing[id] != nil { leaving[id] = () }
    }

    private mutating func fillEmptySlots() {
        leaving = IDTable()
        slots.giveBackEmpty()
    }

    /// Lets one download handle something and follows with the queue and the deadlines.
    private mutating func change(
        _ id: DownloadID, _ kind: Coverage.Kind, _ body: (inout Download, inout Context) -> Void
    ) {
        guard let seat = roster.seat(of: id) else {
            coverage?.note(.late, from: .none, to: .none)
            return context.actions.append(.ignored(id, .unknownDownload))
        }
        change(at: seat, kind, body)
    }

    private mutating func change(
        at seat: Int, _ kind: Coverage.Kind, _ body: (inout Download, inout Context) -> Void
    ) {
        let from = coverage == nil ? .none : roster.state(at: seat).map(Coverage.Place.init) ?? .none
        let earlier = context.actions.count
        defer { note(kind, from: from, at: seat, after: earlier) }
        context.connections = connections(at: seat)
        (context.isAlone, context.lacksFiles) = (runningCount <= 1, false)
        let change = roster.change(seat, &context, body)
        if context.lacksFiles { shortage = Shortage(running: runningCount, after: shortage, at: context.now) }
        guard let change else { return }
        follow(change, at: seat)
        time(seat, change.deadline)
    }

    /// How many connections a download may use: those that run share half of the files that may be open, of which each has
    /// one, too, and where its host has a limit, those that run there share that. One where that is crowded.
    private func connections(at seat: Int) -> Int {
        guard settings.connections > 1 else { return settings.connections }
        if let shortage, runningCount >= shortage.most { return 1 }
        let files = settings.maximumOpenFiles / 2 / max(1, slots.taken) - 1
        let most = max(1, min(settings.connections, files))
        if slots.hostLimit == nil, crowds.isEmpty { return most }
        guard let host = roster.id(at: seat).flatMap({ holders[$0] }) else { return most }
        if crowds.isNarrow(host, at: context.now) { return 1 }
        guard let limit = slots.hostLimit else { return most }
        return max(1, min(most, limit / max(1, slots.taken(host))))
    }

    private mutating func note(_ kind: Coverage.Kind, from: Coverage.Place, at seat: Int, after earlier: Int) {
        guard coverage != nil else { return }
        let to = roster.state(at: seat).map(Coverage.Place.init) ?? .none
        coverage?.note(context.hasIgnored(since: earlier) ? .late : kind, from: from, to: to)
    }

    /// Keeps the queue, the slots and the network's list as the download is now.
    private mutating func follow(_ change: Change, at seat: Int) {
        let (before, after) = (change.before, change.after)
        guard before != after else { return }
        if before.claim == .wants { slots.leave(seat) }
        // What runs goes on with the URL it began with.
        let host = before.claim.isHeld ? release(change) : after.host
        if before.isForNetwork { waitingForNetwork.remove(change.id) }
        if after.claim == .wants { join(seat, after) }
        if after.claim == .holds, !before.claim.isHeld { slots.admit(after.list, host, isRetry: after.isRetry) }
        if after.claim.isHeld { hold(change.id, after, host) }
        if after.isForNetwork { waitingForNetwork.insert(change.id) }
    }

    private mutating func join(_ seat: Int, _ standing: SlotStanding) {
        slots.join(seat, standing.list, standing.host, standing.turn, isRetry: standing.isRetry)
    }

    private mutating func hold(_ id: DownloadID, _ standing: SlotStanding, _ host: HostID) {
        let isPart = standing.claim == .holdsPart
        if isPart { finishing[id] = host } else { holders[id] = host }
        slots.hold(standing.list, host, isPart: isPart, isRetry: standing.isRunningRetry)
    }

    /// Says of which host the slot was.
    private mutating func release(_ change: Change) -> HostID {
        let isPart = change.before.claim == .holdsPart
        let held = isPart ? finishing.removeValue(forKey: change.id) : holders.removeValue(forKey: change.id)
        let host = held ?? change.before.host
        let staysEmpty = !change.after.claim.isHeld && staysEmpty(after: change.id)
        let isRetry = change.before.isRunningRetry
        slots.release(change.before.list, host, isPart: isPart, isRetry: isRetry, staysEmpty: staysEmpty)
        return host
    }

    /// Not after one that came to its end before it could be stopped.
    private mutating func staysEmpty(after id: DownloadID) -> Bool {
        leaving.removeValue(forKey: id) != nil && roster[id]?.phase.isStopped == true
    }

    private mutating func setHostLimit(_ limit: Int?) {
        if limit != slots.hostLimit { stand { $0.setHostLimit(limit) } }
    }

    /// Everybody in the queue stands anew: they stand by host only where that may have a limit.
    private mutating func stand(_ change: (inout SlotQueue) -> Void) {
        let seats = slots.waiting
        for seat in seats { slots.leave(seat) }
        change(&slots)
        for seat in seats {
            if let standing = roster.standing(at: seat) { join(seat, standing) }
        }
    }

    /// Keeps the deadline.
    private mutating func time(_ seat: Int, _ deadline: Duration?) {
        guard let deadline else { return deadlines.remove(seat) }
        // An earlier one stays: being looked at too soon does no harm, and a tick is not put off by other events.
        if let earlier = deadlines[seat], earlier <= deadline { return }
        deadlines.set(seat, to: deadline)
    }

    private mutating func admit() {
        while mayAdmit, let next = slots.next(limit: min(settings.maximumRunning, shortage?.most ?? .max)) {
            change(at: next, .admit) { $0.admit(&$1) }
        }
    }

    private var mayAdmit: Bool {
        slots.taken < settings.maximumRunning && finishing.count < settings.maximumFinishing
            && runningCount < shortage?.most ?? .max && context.isNetworkAvailable
    }

    /// How many downloads hold a slot, or a part of one, and so have files open.
    private var runningCount: Int { holders.count + finishing.count }

    // MARK: Time

    private mutating func fire() {
        while let wake = armed.last, wake <= context.now { armed.removeLast() }
        while let due = deadlines.first, due.priority <= context.now {
            deadlines.remove(due.key)
            change(at: due.key, .tick) { $0.tick(&$1) }
        }
    }

    private mutating func arm() {
        guard let next = [deadlines.first?.priority, crowds.end, rates.end, shortage?.end].compactMap({ $0 }).min()
        else { return }
        if let wake = armed.last, wake <= next { return }
        armed.append(next)
        context.actions.append(.wake(at: next))
    }
}

extension Phase {
    /// Whether somebody has stopped the download, to go on later or never.
    fileprivate var isStopped: Bool {
        switch self {
        case .suspended, .willCancel, .willRemove, .canceled, .removed: true
        case .waiting, .running, .willSuspend, .failed, .succeeded: false
        }
    }
}
