/// Who wants a slot and how many hold one, by list and by host; says whose turn it is.
///
/// The first of all is admitted whose list and host are not full, by ``Turn``, so that the order is the same every time; who
/// is tried again only where there is still room for such (``RetryShare``).
/// Everything costs O(log n), however many wait for a list or a host that is full; when a host becomes full, or is no
/// longer, that is for each list in which somebody waits for it. Without any limit on hosts the queue knows none.
struct SlotQueue: Sendable {
    private var limits: ListLimits
    private(set) var hostLimit: Int?
    /// Of hosts that have one of their own, besides.
    private var ownLimits: [HostID: Int] = [:]
    /// Hosts of which those come first that were not asked for yet.
    private var untriedFirst: Set<HostID> = []
    /// Whether who waits stands by host: from the first limit on.
    private(set) var knowsHosts: Bool
    private var lists: [WaitingList] = []
    /// Where a list is. Only those of which someone wants or holds a slot are here.
    private var numbers: [String?: Int] = [:]
    private var vacant: [Int] = []
    private var hosts: [HostID: Host] = [:]
    /// By seat: where who waits stands.
    private var spots: [Spot?] = []
    /// The lists that have someone whose turn it may be and are not full, by who is first in them of those who never failed,
    /// or of those who are tried again.
    private var open = IndexedHeap<Turn>()
    private var openForRetries = IndexedHeap<Turn>()
    private var retries = RetryShare()
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
        /// Whether it has not failed since it last gained bytes.
        var isUntried: Bool

        static func < (left: Turn, right: Turn) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            return (left.rank, left.id) < (right.rank, right.id)
        }
    }

    /// A host of which someone holds a slot, or, where hosts are known, wants one.
    private struct Host {
        /// Slots that its downloads hold, and slots that are kept empty after them.
        var taken = 0
        /// The lists in which somebody waits for it.
        var lists: Set<Int> = []

        var isUnused: Bool { taken == 0 && lists.isEmpty }
    }

    private struct Spot {
        var list: Int32
        var place: WaitingList.Place
    }

    // MARK: Looking

    /// The seat of who is to be admitted next, where so many may be over all.
    func next(limit: Int) -> Int? {
        let new = open.first.flatMap { lists[$0.key].firstUntried }
        let retry = openForRetries.first.flatMap { lists[$0.key].firstRetry(limit: limits[lists[$0.key].name]) }
        guard let new, let retry else { return (new ?? retry)?.seat }
        let isRetry = retry.turn < new.turn && retries.mayCome(retry.turn, before: new.turn, limit: limit)
        return isRetry ? retry.seat : new.seat
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

    /// Whether somebody may be asked for of a host who has not been, once the host is not full.
    func hasUntried(of host: HostID) -> Bool {
        hosts[host]?.lists.contains { !isFull($0) && lists[$0].hasUntried(of: host) } ?? false
    }

    private func isFull(_ number: Int) -> Bool {
        lists[number].taken >= limits[lists[number].name]
    }

    // MARK: Coming and going

    /// Somebody wants a slot.
    mutating func join(_ seat: Int, _ list: String?, _ host: HostID, _ turn: Turn) {
        let number = number(of: list)
        let host = knowsHosts ? host : nil
        if seat >= spots.count { spots += repeatElement(nil, count: seat + 1 - spots.count) }
        spots[seat] = Spot(list: Int32(number), place: lists[number].join(seat, turn, host))
        if let host { hosts[host, default: Host()].lists.insert(number) }
        settle(number, host)
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
    }

    /// A slot is given to one of the list, for the host; or it goes on with those of the list and the host only. `isRetry`:
    /// whether that one is tried again.
    mutating func hold(_ list: String?, _ host: HostID, isPart: Bool, isRetry: Bool) {
        if isRetry { noteRetry(1, list) }
        take(1, list, host)
        if !isPart { taken += 1 }
    }

    /// It is given back; or what was held of it stays empty for the time being.
    mutating func release(_ list: String?, _ host: HostID, isPart: Bool, isRetry: Bool, staysEmpty: Bool) {
        if !isPart { taken -= 1 }
        if isRetry { noteRetry(-1, list) }
        take(-1, list, host)
        if staysEmpty {
            emptied.append((list, host, isPart))
            hold(list, host, isPart: isPart, isRetry: false)
        }
    }

    /// Somebody has been given a slot who had none.
    mutating func noteAdmitted(_ list: String?, isRetry: Bool) {
        retries.wasLast = isRetry
        let number = number(of: list)
        lists[number].retries.wasLast = isRetry
        settle(number)
    }

    /// Slots that were kept empty are there for all.
    mutating func giveBackEmpty() {
        for (list, host, isPart) in emptied {
            release(list, host, isPart: isPart, isRetry: false, staysEmpty: false)
        }
        emptied = []
    }

    private mutating func noteRetry(_ count: Int, _ list: String?) {
        retries.taken += count
        lists[number(of: list)].retries.taken += count
    }

    private mutating func take(_ count: Int, _ list: String?, _ host: HostID) {
        let number = number(of: list)
        let wasFull = isFull(host)
        lists[number].taken += count
        hosts[host, default: Host()].taken += count
        settle(host, wasFull: wasFull)
        forgetIfUnused(host)
        settle(number)
    }

    // MARK: Limits

    mutating func setLimits(_ limits: ListLimits) {
        guard limits != self.limits else { return }
        self.limits = limits
        for number in numbers.values.sorted() { settle(number) }
    }

    /// Only while nobody waits.
    mutating func setHostLimit(_ limit: Int?) {
        hostLimit = limit
        knowsHosts = limit != nil || !ownLimits.isEmpty
    }

    /// Only while nobody waits.
    mutating func knowHosts() { knowsHosts = true }

    /// Limits one host, which is known; says whether of its downloads those come first that were not asked for yet.
    mutating func limit(_ host: HostID, to limit: Int?, untriedFirst isUntriedFirst: Bool) {
        let (wasFull, wasUntriedFirst) = (isFull(host), untriedFirst.contains(host))
        ownLimits[host] = limit
        if isUntriedFirst { untriedFirst.insert(host) } else { untriedFirst.remove(host) }
        if isFull(host) != wasFull || isUntriedFirst != wasUntriedFirst { settle(host) }
    }

    // MARK: Keeping order

    private mutating func number(of list: String?) -> Int {
        if let number = numbers[list] { return number }
        let number = lists.put(WaitingList(list), in: &vacant)
        numbers[list] = number
        return number
    }

    /// Who waits for a host may, or may no longer.
    private mutating func settle(_ host: HostID, wasFull: Bool) {
        if isFull(host) != wasFull { settle(host) }
    }

    private mutating func settle(_ host: HostID) {
        for number in hosts[host]?.lists ?? [] { settle(number, host) }
    }

    private mutating func settle(_ number: Int, _ host: HostID?) {
        let isUntriedFirst = host.map(untriedFirst.contains) ?? false
        lists[number].settle(host, isFull: host.map(isFull) ?? false, isUntriedFirst: isUntriedFirst)
        settle(number)
    }

    private mutating func settle(_ number: Int) {
        let isFull = isFull(number)
        open.set(number, to: isFull ? nil : lists[number].firstUntried?.turn)
        let limit = limits[lists[number].name]
        openForRetries.set(number, to: isFull ? nil : lists[number].firstRetry(limit: limit)?.turn)
        if lists[number].isUnused {
            numbers[lists[number].name] = nil
            vacant.append(number)
        }
    }

    private mutating func forgetIfUnused(_ host: HostID) {
        if hosts[host]?.isUnused == true { hosts[host] = nil }
    }
}
