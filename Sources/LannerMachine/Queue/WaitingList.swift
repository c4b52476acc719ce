/// One list of downloads: who of them waits for a slot, and how many slots it takes.
///
/// Those who wait stand in lines, one for each host, so that a host that is full is passed over as a whole; in a single
/// line where hosts have no limit.
struct WaitingList: Sendable {
    let name: String?
    /// Slots that its downloads hold, and slots that are kept empty after them.
    var taken = 0
    private var lines: [Line] = []
    /// Where the line of a host is. Only lines in which someone stands are here.
    private var numbers: [HostID?: Int] = [:]
    private var vacant: [Int] = []
    /// The lines whose host is not full, by who is first in them.
    private var open = IndexedHeap<SlotQueue.Turn>()

    init(_ name: String?) {
        self.name = name
    }

    var isUnused: Bool { taken == 0 && numbers.isEmpty }

    /// Who comes first of those whose host is not full.
    var first: (seat: Int, turn: SlotQueue.Turn)? { open.first.flatMap { lines[$0.key].first } }

    func waits(for host: HostID?) -> Bool { numbers[host] != nil }

    /// Whether somebody waits for the host who was not asked for yet.
    func hasUntried(of host: HostID) -> Bool { numbers[host].map { lines[$0].hasUntried } ?? false }

    /// Somebody comes; says in which line, and by which key there. To be settled.
    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn, _ host: HostID?) -> (line: Int, key: Int) {
        let number = number(of: host)
        return (number, lines[number].join(seat, turn))
    }

    /// Somebody goes; says from which host's line. To be settled.
    mutating func leave(_ number: Int, _ key: Int) -> HostID? {
        lines[number].leave(key)
        let host = lines[number].host
        if lines[number].isEmpty {
            open.remove(number)
            numbers[host] = nil
            vacant.append(number)
        }
        return host
    }

    /// Follows with the line of a host what has changed there, or with the host.
    mutating func settle(_ host: HostID?, isFull: Bool, isUntriedFirst: Bool) {
        guard let number = numbers[host] else { return }
        lines[number].isUntriedFirst = isUntriedFirst
        if let first = lines[number].first, !isFull {
            open.set(number, to: first.turn)
        } else {
            open.remove(number)
        }
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
    /// Whether those come first who were not asked for yet, whatever their turn.
    var isUntriedFirst = false
    private var untried = Row()
    private var tried = Row()

    init(_ host: HostID?) {
        self.host = host
    }

    var isEmpty: Bool { untried.isEmpty && tried.isEmpty }
    var hasUntried: Bool { !untried.isEmpty }

    var first: (seat: Int, turn: SlotQueue.Turn)? {
        guard let new = untried.first, let old = tried.first else { return untried.first ?? tried.first }
        return isUntriedFirst || new.turn < old.turn ? new : old
    }

    /// Says by which key: an even one of who was not asked for yet.
    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn) -> Int {
        turn.isUntried ? 2 * untried.join(seat, turn) : 2 * tried.join(seat, turn) + 1
    }

    mutating func leave(_ key: Int) {
        if key.isMultiple(of: 2) { untried.leave(key / 2) } else { tried.leave(key / 2) }
    }
}

/// Some of a line, by whose turn it is.
private struct Row: Sendable {
    private var queue = IndexedHeap<SlotQueue.Turn>()
    /// By key. Keys are given out anew, since the queue takes memory up to the largest.
    private var seats: [Int] = []
    private var vacant: [Int] = []

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
