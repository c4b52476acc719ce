/// Who wants a slot and how many hold one, by list and by host; says whose turn it is.
///
/// The first of all is admitted whose list and host are not full, by ``Turn``, so that the order is the same every time; a
/// retry only where there is still room for such (``RetryShare``).
/// Everything costs O(log n), however many wait for a list or a host that is full; when a host becomes full, or is no
/// longer, that is for each list in which somebody waits for it. Without any limit on hosts the queue knows none.
struct SlotQueue: Sendable {
    private var limits: ListLimits
    private(set) var hostLimit: Int?
    /// Of hosts that have one of their own, besides.
    private var ownLimits: [HostID: Int] = [:]
    /// Hosts of which no retry is next while fresh ones wait, in whatever list.
    private var freshFirst: Set<HostID> = []
    /// Whether who waits stands by host: from the first limit on.
    private(set) var knowsHosts: Bool
    private var lists: [WaitingList] = []
    /// Where a list is. Only those of which someone wants or holds a slot are here.
    private var numbers: [String?: Int] = [:]
    private var vacant: [Int] = []
    private var hosts: [HostID: Host] = [:]
    /// By seat: where who waits stands.
    private var spots: [Spot?] = []
    /// The lists that have a fresh one whose turn it may be and are not full, by who is first in them, be that a retry that
    /// is held back; and those that have a retry whose turn it may be.
    private var open = IndexedHeap<Turn>()
    private var openForRetries = IndexedHeap<Turn>()
    private var share = RetryShare()
    /// Slots that are kept empty, or the parts of them that were left.
    private var emptied: [(list: String?, host: HostID, isPart: Bool)] = []
    /// Slots that are held whole, or kept empty.
    private(set) var taken = 0

    init(_ settings: Settings) {
        limits = settings.listLimits
        hostLimit = settings.hostLimit
        knowsHosts = hostLimit != nil
    }

    /// When a download's turn comes.
    struct Turn: Comparable {
        var rank: Int64
        var id: DownloadID
        var priority: DownloadPriority
        /// Retries that have failed less often come before the others.
        var failures: UInt16

        static func < (left: Turn, right: Turn) -> Bool {
            left.failures == right.failures || left.priority != right.priority
                ? left.precedes(right) : left.failures < right.failures
        }

        /// Whether it comes first, however often either has failed.
        func precedes(_ other: Turn) -> Bool {
            if priority != other.priority { return priority > other.priority }
            return (rank, id) < (other.rank, other.id)
        }

        /// The turn of a fresh one for which another is held back: that other's, where it is of the same priority and earlier.
        func taking(_ other: Turn?) -> Turn {
            guard let other, other.priority == priority, other.precedes(self) else { return self }
            return Turn(rank: other.rank, id: other.id, priority: priority, failures: failures)
        }
    }

    /// A host of which someone holds a slot, or, where hosts are known, wants one.
    private struct Host {
        /// Slots that its downloads hold, and slots that are kept empty after them.
        var taken = 0
        var share = RetryShare()
        /// The lists in which somebody waits for it.
        var lists: Set<Int> = []

        var isUnused: Bool { taken == 0 && lists.isEmpty }
    }

    private struct Room: Equatable {
        var isFull = false
        /// Whether retries have what they may of it.
        var isShareTaken = false
        var isFreshFirst = false
    }

    private struct Spot {
        var list: Int32
        var place: WaitingList.LinePlace
    }

    // MARK: Looking

    /// The seat of who is to be admitted next, where so many may be over all.
    func next(limit: Int) -> Int? {
        guard let retry = openForRetries.first else { return open.first.flatMap { lists[$0.key].firstFresh?.seat } }
        if let fresh = open.first,
            !retry.priority.precedes(fresh.priority)
                || share.holdsBack(retry.priority, for: fresh.priority, limit: limit)
        {
            return lists[fresh.key].firstFresh?.seat
        }
        return lists[retry.key].firstRetry?.seat
    }

    /// The seats of who waits.
    var waiting: [Int] { spots.indices.filter { spots[$0] != nil } }

    func isFull(_ list: String?) -> Bool {
        numbers[list].map(isFull) ?? false
    }

    func isFull(_ host: HostID) -> Bool { knowsHosts && taken(host) >= limit(of: host) }

    /// How many of a host may run.
    func limit(of host: HostID) -> Int { min(hostLimit ?? .max, ownLimits[host] ?? .max) }

    /// Slots that are held for a host, or kept empty.
    func taken(_ host: HostID) -> Int { hosts[host]?.taken ?? 0 }

    /// Whether a fresh one of a host may be next once the host is not full.
    func hasFresh(of host: HostID) -> Bool {
        hosts[host]?.lists.contains { !isFull($0) && lists[$0].hasFresh(of: host) } ?? false
    }

    private func isFull(_ number: Int) -> Bool { lists[number].taken >= limit(of: number) }

    private func limit(of number: Int) -> Int { limits[lists[number].name] }

    // MARK: Coming and going

    /// Somebody wants a slot.
    mutating func join(_ seat: Int, _ list: String?, _ host: HostID, _ turn: Turn, isRetry: Bool) {
        let number = number(of: list)
        let host = knowsHosts ? host : nil
        if seat >= spots.count { spots += repeatElement(nil, count: seat + 1 - spots.count) }
        let place = lists[number].join(seat, turn, host, isRetry: isRetry)
        spots[seat] = Spot(list: Int32(number), place: place)
        if let host { hosts[host, default: Host()].lists.insert(number) }
        settle(number, host)
        if let host, freshFirst.contains(host) { settle(host) }
    }

    /// Who wanted one does not any more.
    mutating func leave(_ seat: Int) {
        guard let spot = spots[seat] else { return }
        spots[seat] = nil
        let number = Int(spot.list)
        let host = lists[number].leave(spot.place)
        if let host, !lists[number].waits(for: host) {
            hosts[host]?.lists.remove(number)
            forgetIfUnused(host)
        }
        settle(number, host)
        if let host, freshFirst.contains(host) { settle(host) }
    }

    /// A slot is given to one of the list, for the host; or it goes on with those of the list and the host only. `isRetry`:
    /// whether that one is tried again.
    mutating func hold(_ list: String?, _ host: HostID, isPart: Bool, isRetry: Bool) {
        take(1, list, host, isRetry: isRetry)
        if !isPart { taken += 1 }
    }

    /// It is given back; or what was held of it stays empty for the time being.
    mutating func release(_ list: String?, _ host: HostID, isPart: Bool, isRetry: Bool, staysEmpty: Bool) {
        if !isPart { taken -= 1 }
        take(-1, list, host, isRetry: isRetry)
        if staysEmpty {
            emptied.append((list, host, isPart))
            hold(list, host, isPart: isPart, isRetry: false)
        }
    }

    /// Somebody who has none is to hold a slot now.
    mutating func admit(_ list: String?, _ host: HostID, isRetry: Bool) {
        share.wasLast = isRetry
        lists[number(of: list)].share.wasLast = isRetry
        hosts[host, default: Host()].share.wasLast = isRetry
    }

    /// So many slots less are there: as far as such are kept empty it is those. Parts are none.
    mutating func giveBackEmpty(_ count: Int) {
        for _ in 0..<max(0, count) {
            guard let index = emptied.firstIndex(where: { !$0.isPart }) else { return }
            let (list, host, isPart) = emptied.remove(at: index)
            release(list, host, isPart: isPart, isRetry: false, staysEmpty: false)
        }
    }

    /// Slots that were kept empty are there for all.
    mutating func giveBackEmpty() {
        for (list, host, isPart) in emptied {
            release(list, host, isPart: isPart, isRetry: false, staysEmpty: false)
        }
        emptied = []
    }

    private mutating func take(_ count: Int, _ list: String?, _ host: HostID, isRetry: Bool) {
        let number = number(of: list)
        let before = room(of: host)
        lists[number].taken += count
        hosts[host, default: Host()].taken += count
        if isRetry {
            share.taken += count
            lists[number].share.taken += count
            hosts[host]?.share.taken += count
        }
        settle(host, after: before)
        forgetIfUnused(host)
        settle(number)
        for host in freshFirst { settle(host) }
    }

    // MARK: Limits

    mutating func setLimits(_ limits: ListLimits) {
        guard limits != self.limits else { return }
        self.limits = limits
        for number in numbers.values.sorted() { settle(number) }
        for host in freshFirst { settle(host) }
    }

    /// Only while nobody waits.
    mutating func setHostLimit(_ limit: Int?) {
        hostLimit = limit
        knowsHosts = limit != nil || !ownLimits.isEmpty
    }

    /// Only while nobody waits.
    mutating func knowHosts() { knowsHosts = true }

    /// Limits one host, which is known; says whether no retry is next there while fresh ones wait.
    mutating func limit(_ host: HostID, to limit: Int?, freshFirst isFreshFirst: Bool) {
        let before = room(of: host)
        ownLimits[host] = limit
        if isFreshFirst { freshFirst.insert(host) } else { freshFirst.remove(host) }
        settle(host, after: before)
    }

    // MARK: Keeping order

    private mutating func number(of list: String?) -> Int {
        if let number = numbers[list] { return number }
        let number = lists.put(WaitingList(list), in: &vacant)
        numbers[list] = number
        return number
    }

    /// What a host has for those who wait for it.
    private func room(of host: HostID) -> Room {
        guard knowsHosts else { return Room() }
        let isShareTaken = hosts[host]?.share.isTaken(limit: limit(of: host)) ?? false
        return Room(isFull: isFull(host), isShareTaken: isShareTaken, isFreshFirst: freshFirst.contains(host))
    }

    /// Who waits for a host may, or may no longer.
    private mutating func settle(_ host: HostID, after before: Room) {
        if room(of: host) != before { settle(host) }
    }

    private mutating func settle(_ host: HostID) {
        for number in hosts[host]?.lists ?? [] { settle(number, host) }
    }

    private mutating func settle(_ number: Int, _ host: HostID?) {
        let isFull = host.map(isFull) ?? false
        let holdsRetriesBack = host.map { self.holdsRetriesBack(of: $0, number) } ?? false
        lists[number].settle(host, isFull: isFull, holdsRetriesBack: holdsRetriesBack)
        settle(number)
    }

    private func holdsRetriesBack(of host: HostID, _ number: Int) -> Bool {
        if freshFirst.contains(host), hasFresh(of: host) { return true }
        guard let share = hosts[host]?.share else { return false }
        return lists[number].holdsRetriesBack(of: host, share, limit: limit(of: host))
    }

    private mutating func settle(_ number: Int) {
        let isFull = isFull(number)
        var (fresh, retry) = isFull ? (nil, nil) : (lists[number].firstFresh?.turn, lists[number].firstRetry?.turn)
        if lists[number].holdsRetriesBack(limit: limit(of: number)) {
            // The list does not lose its turn by that.
            (fresh, retry) = (fresh?.taking(retry), nil)
        }
        open.set(number, to: fresh)
        openForRetries.set(number, to: retry)
        if lists[number].isUnused {
            numbers[lists[number].name] = nil
            vacant.append(number)
        }
    }

    private mutating func forgetIfUnused(_ host: HostID) {
        if hosts[host]?.isUnused == true { hosts[host] = nil }
    }
}
