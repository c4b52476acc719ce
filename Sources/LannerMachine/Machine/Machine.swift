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
    /// Who holds a slot.
    package private(set) var running: Set<DownloadID> = []
    /// Whose slots stay empty when they leave them.
    private var leaving: Set<DownloadID> = []
    private var waitingForNetwork: Set<DownloadID> = []
    /// What was met; nil while nobody wants to know.
    package var coverage: Coverage?

    /// A machine without downloads; the seed decides the jitter of retries.
    package init(settings: Settings = Settings(), seed: UInt64) {
        context = Context(settings: settings, seed: seed)
        slots = SlotQueue(settings.listLimits)
    }

    package var settings: Settings { context.settings }

    /// A download, nil when it is not, or no longer, here.
    package subscript(id: DownloadID) -> Download? { roster[id] }

    /// Every download, in no particular order, but the same one every time.
    package var ids: [DownloadID] { roster.ids }

    /// How many downloads hold a slot.
    package var runningCount: Int { running.count }

    /// How many downloads there are.
    package var count: Int { roster.count }

    /// Whether of a list as many run as may.
    package func isFull(_ list: String?) -> Bool { slots.isFull(list) }
}

extension Machine {
    /// Takes one event and says what has to be done, in order. `wallSeconds` is the time of day since 1970.
    package mutating func handle(_ event: Event, now: Duration, wallSeconds: Int64) -> [Action] {
        context.now = now
        context.wallSeconds = wallSeconds
        take(event)
        admit()
        arm()
        defer { context.actions = [] }
        return context.actions
    }

    private mutating func take(_ event: Event) {
        switch event {
        case .add(let new): add(new)
        case .user(let verb, let ids, let ticket): user(verb, ids, ticket)
        case .withhold(let ids): leaving.formUnion(running.intersection(ids))
        case .relist(let id, let list): change(id, .relist) { download, _ in download.list = list }
        case .readdress(let id): change(id, .readdress) { $0.readdress(&$1) }
        case .reorder(let ranks):
            for (id, rank) in ranks.sorted(by: { $0.key < $1.key }) {
                change(id, .reorder) { download, _ in download.rank = rank }
            }
        case .expectDigest(let id, let hasDigest):
            change(id, .expectDigest) { $0.expectDigest(hasDigest, &$1) }
        case .expectLink(let id, let expires):
            change(id, .expectLink) { $0.expectLink(expires: expires, &$1) }
        case .settings(let new):
            context.settings = new
            slots.setLimits(new.listLimits)
        case .timer: fire()
        case .network(let available):
            context.isNetworkWatched = true
            context.isNetworkAvailable = available
            for id in affectedByNetwork.sorted() { change(id, .network) { $0.network(&$1) } }
        case .file(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .store(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .link(let id, let attempt, let event): change(id, .init(event)) { $0.handle(event, of: attempt, &$1) }
        case .exchange(let id, let number, let event): change(id, .init(event)) { $0.handle(event, of: number, &$1) }
        }
    }

    /// Who does something else without a network than with one. Those in the queue do not: nobody leaves it meanwhile.
    private var affectedByNetwork: [DownloadID] {
        context.isNetworkAvailable ? Array(running) + Array(waitingForNetwork) : Array(running)
    }

    private mutating func add(_ new: [NewDownload]) {
        roster.reserve(new.count)
        for download in new where roster.place(of: download.id) == nil {
            let download = Download(download)
            coverage?.note(.add, from: .none, to: .init(download.state))
            roster.add(download)
        }
    }

    private mutating func user(_ verb: Verb, _ ids: [DownloadID], _ ticket: Ticket?) {
        if verb.startsSomething { fillEmptySlots() }
        let places = ids.compactMap { roster.place(of: $0) }
        if let ticket { context.expect(places.count, for: ticket) }
        for place in places { change(at: place, .init(verb)) { $0.user(verb, ticket, &$1) } }
    }

    private mutating func fillEmptySlots() {
        leaving = []
        slots.giveBackEmpty()
    }

    /// Lets one download handle something and follows with the queue and the deadlines.
    private mutating func change(
        _ id: DownloadID, _ kind: Coverage.Kind, _ body: (inout Download, inout Context) -> Void
    ) {
        guard let place = roster.place(of: id) else {
            coverage?.note(kind, from: .none, to: .none)
            return context.actions.append(.ignored(id, .unknownDownload))
        }
        change(at: place, kind, body)
    }

    private mutating func change(
        at place: Int, _ kind: Coverage.Kind, _ body: (inout Download, inout Context) -> Void
    ) {
        let from = coverage == nil ? .none : roster.state(at: place).map(Coverage.Place.init) ?? .none
        defer { note(kind, from: from, at: place) }
        guard let change = roster.change(place, &context, body) else { return }
        follow(change, at: place)
        time(place, change.deadline)
    }

    private mutating func note(_ kind: Coverage.Kind, from: Coverage.Place, at place: Int) {
        guard coverage != nil else { return }
        let to = roster.state(at: place).map(Coverage.Place.init) ?? .none
        coverage?.note(kind, from: from, to: to)
    }

    /// Keeps the queue, the slots and the network's list as the download is now.
    private mutating func follow(_ change: Change, at place: Int) {
        let (before, after) = (change.before, change.after)
        guard before != after else { return }
        if before.claim == .wants { slots.leave(place) }
        if before.claim == .holds { release(change) }
        if before.isForNetwork { waitingForNetwork.remove(change.id) }
        if after.claim == .wants { slots.join(place, after.list, SlotQueue.Turn(rank: after.rank, id: change.id)) }
        if after.claim == .holds {
            running.insert(change.id)
            slots.hold(after.list)
        }
        if after.isForNetwork { waitingForNetwork.insert(change.id) }
    }

    private mutating func release(_ change: Change) {
        running.remove(change.id)
        let staysEmpty = change.after.claim != .holds && leaving.remove(change.id) != nil
        slots.release(change.before.list, staysEmpty: staysEmpty)
    }

    /// Keeps the deadline.
    private mutating func time(_ place: Int, _ deadline: Duration?) {
        guard let deadline else { return deadlines.remove(place) }
        // An earlier one stays: being looked at too soon does no harm, and a tick is not put off by other events.
        if let earlier = deadlines[place], earlier <= deadline { return }
        deadlines.set(place, to: deadline)
    }

    private mutating func admit() {
        while slots.taken < settings.maximumRunning, context.isNetworkAvailable, let next = slots.next {
            change(at: next, .admit) { $0.admit(&$1) }
        }
    }

    // MARK: Time

    private mutating func fire() {
        while let wake = armed.last, wake <= context.now { armed.removeLast() }
        while let due = deadlines.first, due.priority <= context.now {
            deadlines.remove(due.key)
            change(at: due.key, .tick) { $0.tick(&$1) }
        }
    }

    private mutating func arm() {
        guard let next = deadlines.first?.priority else { return }
        if let wake = armed.last, wake <= next { return }
        armed.append(next)
        context.actions.append(.wake(at: next))
    }
}
