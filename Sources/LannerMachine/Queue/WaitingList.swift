/// One list of downloads: who of them waits for a slot, and how many slots it takes. Those that have failed since they last
/// gained bytes, its retries, stand apart from the others, the fresh ones.
struct WaitingList: Sendable {
    let name: String?
    /// Slots that its downloads hold, and slots that are kept empty after them.
    var taken = 0
    var share = RetryShare()
    private var fresh = HostLines()
    private var retries = HostLines()

    init(_ name: String?) {
        self.name = name
    }

    var isUnused: Bool { taken == 0 && fresh.isEmpty && retries.isEmpty }

    /// Who comes first of the fresh ones, or of the retries, of those whose turn it may be as far as their host goes.
    var firstFresh: (seat: Int, turn: SlotQueue.Turn)? { fresh.first }
    var firstRetry: (seat: Int, turn: SlotQueue.Turn)? { retries.first }

    /// Whether a fresh one has to be next, the first retry being held back.
    func holdsRetriesBack(limit: Int) -> Bool {
        share.holdsBack(retries.first?.turn, for: fresh.first?.turn, limit: limit)
    }

    /// The same of those who wait for a host, by its share.
    func holdsRetriesBack(of host: HostID, _ share: RetryShare, limit: Int) -> Bool {
        share.holdsBack(retries.turn(of: host), for: fresh.turn(of: host), limit: limit)
    }

    func waits(for host: HostID?) -> Bool { fresh.waits(for: host) || retries.waits(for: host) }

    func hasFresh(of host: HostID) -> Bool { fresh.waits(for: host) }

    /// Somebody comes; says where that one stands. To be settled.
    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn, _ host: HostID?, isRetry: Bool) -> LinePlace {
        let (line, key) = isRetry ? retries.join(seat, turn, host) : fresh.join(seat, turn, host)
        return LinePlace(line: Int32(line), key: Int32(key), isRetry: isRetry)
    }

    /// Somebody goes; says from which host's line. To be settled.
    mutating func leave(_ place: LinePlace) -> HostID? {
        let (line, key) = (Int(place.line), Int(place.key))
        return place.isRetry ? retries.leave(line, key) : fresh.leave(line, key)
    }

    /// Follows with those who wait for a host what has changed there, or with the host, whose retries may be held back. The
    /// host does not lose its turn by that.
    mutating func settle(_ host: HostID?, isFull: Bool, holdsRetriesBack: Bool) {
        let (first, retry) = isFull ? (nil, nil) : (fresh.turn(of: host), retries.turn(of: host))
        fresh.settle(host, to: holdsRetriesBack ? first?.taking(retry) : first)
        retries.settle(host, to: holdsRetriesBack ? nil : retry)
    }

    /// Where somebody stands.
    struct LinePlace: Sendable {
        var line: Int32
        var key: Int32
        var isRetry: Bool
    }
}

/// The fresh ones of a list, or its retries.
///
/// They stand in lines, one for each host, so that a host that is full is passed over as a whole; in a single line where
/// hosts have no limit.
private struct HostLines: Sendable {
    private var lines: [Line] = []
    /// Where the line of a host is. Only lines in which someone stands are here.
    private var numbers: [HostID?: Int] = [:]
    private var vacant: [Int] = []
    /// The lines whose turn it may be, by when.
    private var open = IndexedHeap<SlotQueue.Turn>()

    var isEmpty: Bool { numbers.isEmpty }

    /// Who comes first of those whose turn it may be.
    var first: (seat: Int, turn: SlotQueue.Turn)? {
        open.first.flatMap { (number, turn) in lines[number].first.map { ($0.seat, turn) } }
    }

    func waits(for host: HostID?) -> Bool { numbers[host] != nil }

    /// When it is the turn of the first of a host.
    func turn(of host: HostID?) -> SlotQueue.Turn? { numbers[host].flatMap { lines[$0].first?.turn } }

    /// Says in which line, and by which key there.
    mutating func join(_ seat: Int, _ turn: SlotQueue.Turn, _ host: HostID?) -> (line: Int, key: Int) {
        let number = number(of: host)
        return (number, lines[number].join(seat, turn))
    }

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

    /// Gives the line of a host its turn, or none.
    mutating func settle(_ host: HostID?, to turn: SlotQueue.Turn?) {
        if let number = numbers[host] { open.set(number, to: turn) }
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
