/// All downloads of one manager, and who of them runs: told what happened, it says what to do.
///
/// Every event costs O(log n) in the number of downloads, and as much again for each download it changes.
package struct Machine: Sendable {
    package private(set) var settings: Settings
    private var downloads: [DownloadID: Download] = [:]
    /// Who wants a slot, by rank; the id decides between equals, so that the order is the same every time.
    private var queue = IndexedHeap<DownloadID, Turn>()
    private var deadlines = IndexedHeap<DownloadID, Duration>()
    /// The wakes that were asked for and have not come, the soonest last; each is sooner than those before it.
    private var armed: [Duration] = []
    /// Who holds a slot.
    package private(set) var running: Set<DownloadID> = []
    private var waitingForNetwork: Set<DownloadID> = []
    /// How many downloads have yet to come to rest for a ticket.
    private var tickets: [Ticket: Int] = [:]
    private var isNetworkAvailable = true
    private var random: SeededGenerator
    private var lastExchange: ExchangeNumber = 0

    /// A machine without downloads; the seed decides the jitter of retries.
    package init(settings: Settings = Settings(), seed: UInt64) {
        self.settings = settings
        random = SeededGenerator(seed: seed)
    }

    /// A download, nil when it is not, or no longer, here.
    package subscript(id: DownloadID) -> Download? { downloads[id] }

    /// How many downloads hold a slot.
    package var runningCount: Int { running.count }

    /// How many downloads there are.
    package var count: Int { downloads.count }

    /// When a download's turn comes.
    private struct Turn: Comparable {
        var rank: Int64
        var id: DownloadID

        static func < (left: Turn, right: Turn) -> Bool { (left.rank, left.id) < (right.rank, right.id) }
    }

    /// Where a download stands in the queue.
    private struct Place: Equatable {
        var claim: SlotClaim
        var rank: Int64
        var isForNetwork: Bool

        init(_ download: Download) {
            claim = download.isGone ? .none : download.slotClaim
            rank = download.rank
            if case .waiting(.network) = download.state { isForNetwork = true } else { isForNetwork = false }
        }
    }
}

extension Machine {
    /// Takes one event and says what has to be done, in order. `wallSeconds` is the time of day since 1970.
    package mutating func handle(_ event: Event, now: Duration, wallSeconds: Int64) -> [Action] {
        if case .network(let available) = event { isNetworkAvailable = available }
        if case .settings(let new) = event { settings = new }
        var context = Context(
            now: now, wallSeconds: wallSeconds, settings: settings, isNetworkAvailable: isNetworkAvailable,
            random: random, nextExchange: lastExchange)
        take(event, &context)
        admit(&context)
        arm(&context)
        random = context.random
        lastExchange = context.nextExchange
        return settled(context.actions)
    }

    private mutating func take(_ event: Event, _ context: inout Context) {
        switch event {
        case .add(let new): add(new)
        case .user(let verb, let ids, let ticket): user(verb, ids, ticket, &context)
        case .reorder(let ranks):
            for (id, rank) in ranks.sorted(by: { $0.key < $1.key }) {
                change(id, &context) { download, _ in download.rank = rank }
            }
        case .expectDigest(let id, let hasDigest):
            change(id, &context) { $0.expectDigest(hasDigest, &$1) }
        case .settings: break  // Taken over already, for the admissions of this event, too.
        case .timer: fire(&context)
        case .network:
            for id in affectedByNetwork.sorted() { change(id, &context) { $0.network(&$1) } }
        case .opened, .wrote, .synced, .verified, .published, .fileFailed, .closed, .discarded: file(event, &context)
        case .recorded(let id, let attempt): change(id, &context) { $0.recorded(attempt, &$1) }
        case .recordFailed(let id, let attempt, let failure):
            change(id, &context) { $0.recordFailed(attempt, failure, &$1) }
        case .head, .redirected, .received, .ended, .exchangeFailed: exchange(event, &context)
        }
    }

    /// Who does something else without a network than with one.
    private var affectedByNetwork: [DownloadID] {
        isNetworkAvailable ? Array(waitingForNetwork) : queue.keys + Array(running)
    }

    private mutating func file(_ event: Event, _ context: inout Context) {
        switch event {
        case .opened(let id, let attempt, let held): change(id, &context) { $0.opened(attempt, held: held, &$1) }
        case .wrote(let id, let attempt, let range): change(id, &context) { $0.wrote(attempt, range, &$1) }
        case .synced(let id, let attempt, let ranges): change(id, &context) { $0.synced(attempt, ranges, &$1) }
        case .verified(let id, let attempt, let result): change(id, &context) { $0.verified(attempt, result, &$1) }
        case .published(let id, let attempt): change(id, &context) { $0.published(attempt, &$1) }
        case .fileFailed(let id, let attempt, let failure):
            change(id, &context) { $0.fileFailed(attempt, failure, &$1) }
        case .closed(let id, let attempt, let written, let synced):
            change(id, &context) { $0.closed(attempt, written: written, synced: synced, &$1) }
        case .discarded(let id): change(id, &context) { $0.discarded(&$1) }
        case .add, .user, .reorder, .expectDigest, .settings, .recorded, .recordFailed, .head, .redirected, .received,
            .ended, .exchangeFailed, .timer, .network:
            break
        }
    }

    private mutating func exchange(_ event: Event, _ context: inout Context) {
        switch event {
        case .head(let id, let number, let head): change(id, &context) { $0.head(number, head, &$1) }
        case .redirected(let id, let number): change(id, &context) { $0.redirected(number, &$1) }
        case .received(let id, let number, let count): change(id, &context) { $0.received(number, count, &$1) }
        case .ended(let id, let number, let received):
            change(id, &context) { $0.ended(number, received: received, &$1) }
        case .exchangeFailed(let id, let number, let failure):
            change(id, &context) { $0.exchangeFailed(number, failure, &$1) }
        case .add, .user, .reorder, .expectDigest, .settings, .opened, .wrote, .synced, .verified, .published,
            .fileFailed, .closed, .discarded, .recorded, .recordFailed, .timer, .network:
            break
        }
    }

    private mutating func add(_ new: [NewDownload]) {
        for download in new where downloads[download.id] == nil {
            downloads[download.id] = Download(download)
        }
    }

    private mutating func user(_ verb: Verb, _ ids: [DownloadID], _ ticket: Ticket?, _ context: inout Context) {
        let known = ids.filter { downloads[$0] != nil }
        if let ticket {
            guard !known.isEmpty else { return context.actions.append(.answer(ticket)) }
            tickets[ticket] = known.count
        }
        for id in known { change(id, &context) { $0.user(verb, ticket, &$1) } }
    }

    /// Lets one download handle something and follows with the queue and the deadlines.
    private mutating func change(
        _ id: DownloadID, _ context: inout Context, _ body: (inout Download, inout Context) -> Void
    ) {
        guard let index = downloads.index(forKey: id) else {
            return context.actions.append(.ignored(id, .unknownDownload))
        }
        let before = Place(downloads.values[index])
        body(&downloads.values[index], &context)
        follow(id, from: before, to: Place(downloads.values[index]))
        let (deadline, wasTimed) = (downloads.values[index].deadline(now: context.now), downloads.values[index].isTimed)
        downloads.values[index].isTimed = time(id, downloads.values[index].isGone ? nil : deadline, wasTimed)
        if downloads.values[index].isGone { downloads.remove(at: index) }
    }

    /// Keeps the queue, the slots and the network's list as the download is now.
    private mutating func follow(_ id: DownloadID, from before: Place, to after: Place) {
        guard before != after else { return }
        if before.claim == .wants { queue.remove(id) }
        if before.claim == .holds { running.remove(id) }
        if before.isForNetwork { waitingForNetwork.remove(id) }
        if after.claim == .wants { queue.set(id, to: Turn(rank: after.rank, id: id)) }
        if after.claim == .holds { running.insert(id) }
        if after.isForNetwork { waitingForNetwork.insert(id) }
    }

    /// Keeps the deadline; says whether there is one.
    private mutating func time(_ id: DownloadID, _ deadline: Duration?, _ wasTimed: Bool) -> Bool {
        guard let deadline else {
            if wasTimed { deadlines.remove(id) }
            return false
        }
        // An earlier one stays: being looked at too soon does no harm, and a tick is not put off by other events.
        if wasTimed, let earlier = deadlines[id], earlier <= deadline { return true }
        deadlines.set(id, to: deadline)
        return true
    }

    private mutating func admit(_ context: inout Context) {
        while running.count < settings.maximumRunning, isNetworkAvailable, let next = queue.first {
            change(next.key, &context) { $0.admit(&$1) }
        }
    }

    // MARK: Time

    private mutating func fire(_ context: inout Context) {
        while let wake = armed.last, wake <= context.now { armed.removeLast() }
        while let due = deadlines.first, due.priority <= context.now {
            deadlines.remove(due.key)
            change(due.key, &context) { $0.tick(&$1) }
        }
    }

    private mutating func arm(_ context: inout Context) {
        guard let next = deadlines.first?.priority else { return }
        if let wake = armed.last, wake <= next { return }
        armed.append(next)
        context.actions.append(.wake(at: next))
    }

    // MARK: Tickets

    /// The downloads answer one by one; the ticket is answered when all have.
    private mutating func settled(_ actions: [Action]) -> [Action] {
        guard !tickets.isEmpty else { return actions }
        return actions.filter { action in
            guard case .answer(let ticket) = action, let open = tickets[ticket] else { return true }
            tickets[ticket] = open > 1 ? open - 1 : nil
            return open == 1
        }
    }
}
