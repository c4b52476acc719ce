/// One list of downloads: who of them waits for a slot, and how many slots it takes.
struct WaitingList: Sendable {
    let name: String?
    /// Slots that its downloads hold, and slots that are kept empty after them.
    var taken = 0
    var retries = RetryShare()
    private var untried = Lines()
    private var tried = Lines()

    init(_ name: String?) {
        self.name = name
    }

    var isUnused: Bool { taken == 0 && untried.isEmpty && tried.isEmpty }

    /// Who comes first of those who never failed, and whose host is not full.
    var firstUntried: (seat: Int, turn: SlotQueue.Turn)? { untried.first }

    /// And of those who are tried again, where that one may come before it.
    func firstRetry(limit: Int) -> (seat: Int, turn: SlotQueue.Turn)? {
        tried.first.flatMap { retries.mayCome($0.turn, before: untried.first?.turn, limit: limit) ? $0 : nil }
    }

    func waits(for host: HostID?) -> Bool { untried.waits(for: host) || tried.waits(for: host) }

    /// Whether somebody waits for the host who has not failed.
    func hasUntried(of host: HostID) -> Bool { untried.waits(for: host) }

    /// Somebody comes; says where that one stands. To be settled.
    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn, _ host: HostID?) -> Place {
        turn.isUntried ? untried.join(seat, turn, host) : tried.join(seat, turn, host)
    }

    /// Somebody goes; says from which host's line. To be settled.
    mutating func leave(_ place: Place) -> HostID? {
        place.isUntried ? untried.leave(place) : tried.leave(place)
    }

    /// Follows with those who wait for a host what has changed there, or with the host.
    mutating func settle(_ host: HostID?, isFull: Bool, isUntriedFirst: Bool) {
        untried.settle(host, isFull: isFull)
        tried.settle(host, isFull: isFull || isUntriedFirst && untried.waits(for: host))
    }

    /// Where somebody stands.
    struct Place: Sendable {
        var line: Int32
        var key: Int32
        var isUntried: Bool
    }
}

/// Those of one list who are tried again, or who never failed.
///
/// They stand in lines, one for each host, so that a host that is full is passed over as a whole; in a single line where
/// hosts have no limit.
private struct Lines: Sendable {
    private var lines: [Line] = []
    /// Where the line of a host is. Only lines in which someone stands are here.
    private var numbers: [HostID?: Int] = [:]
    private var vacant: [Int] = []
    /// The lines whose host is not full, by who is first in them.
    private var open = IndexedHeap<SlotQueue.Turn>()

    var isEmpty: Bool { numbers.isEmpty }

    /// Who comes first of those whose host is not full.
    var first: (seat: Int, turn: SlotQueue.Turn)? { open.first.flatMap { lines[$0.key].first } }

    func waits(for host: HostID?) -> Bool { numbers[host] != nil }

    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn, _ host: HostID?) -> WaitingList.Place {
        let number = number(of: host)
        let key = lines[number].join(seat, turn)
        return WaitingList.Place(line: Int32(number), key: Int32(key), isUntried: turn.isUntried)
    }

    mutating func leave(_ place: WaitingList.Place) -> HostID? {
        let number = Int(place.line)
        lines[number].leave(Int(place.key))
        let host = lines[number].host
        if lines[number].isEmpty {
            open.remove(number)
            numbers[host] = nil
            vacant.append(number)
        }
        return host
    }

    mutating func settle(_ host: HostID?, isFull: Bool) {
        guard let number = numbers[host] else { return }
        open.set(number, to: isFull ? nil : lines[number].first?.turn)
    }

    private mutating func number(of host: HostID?) -> Int {
        if let number = numbers[host] { return number }
        let number = lines.put(Line(host), in: &vacant)
        numbers[host] = number
        return number
    }
}

/// Those of one list who wait for one host, or for any.
private struct Line: Sendable {
    let host: HostID?
    private var queue = IndexedHeap<SlotQueue.Turn>()
    /// By key. Keys are given out anew, since the queue takes memory up to the largest.
    private var seats: [Int] = []
    private var vacant: [Int] = []

    init(_ host: HostID?) {
        self.host = host
    }

    var isEmpty: Bool { queue.isEmpty }
    var first: (seat: Int, turn: SlotQueue.Turn)? { queue.first.map { (seats[$0.key], $0.priority) } }

    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn) -> Int {
        let key = seats.put(seat, in: &vacant)
        queue.set(key, to: turn)
        return key
    }

    mutating func leave(_ key: Int) {
        queue.remove(key)
        vacant.append(key)
    }
}

/// How many of the slots of a list, or of all, those have who failed and are tried again.
///
/// By their ranks they are the first again each time. So that a few that fail late and often, as those of dead hosts do,
/// hold up nobody they have no more than half of the slots while others of the same priority wait who never failed; of a
/// single slot each other turn.
struct RetryShare: Sendable {
    var taken = 0
    /// Whether who was last given a slot is one of them.
    var wasLast = false

    /// Whether one of them may have a slot, where another is the first of those who never failed.
    func mayCome(_ turn: SlotQueue.Turn, before other: SlotQueue.Turn?, limit: Int) -> Bool {
        guard let other, other.priority == turn.priority else { return true }
        return taken < max(limit / 2, wasLast ? 0 : 1)
    }
}
