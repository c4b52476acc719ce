/// Who wants a slot and how many hold one, list by list; says whose turn it is.
///
/// The first of a list may be admitted unless the list is full; of several lists the first by rank, then by id, so that
/// the order is the same every time. Everything costs O(log n), however many wait for a list that is full.
struct SlotQueue: Sendable {
    private var limits: ListLimits
    private var lines: [Line] = []
    /// Where the line of a list is. Only lists of which someone wants or holds a slot have one.
    private var numbers: [String?: Int] = [:]
    private var vacant: [Int] = []
    /// By place: the line and the key there of who waits.
    private var spots: [Spot?] = []
    /// The lines that have someone waiting and are not full, by who is first in them.
    private var open = IndexedHeap<Turn>()
    /// The lines of which slots are kept empty.
    private var emptied: Set<Int> = []
    /// Slots that are held, or kept empty.
    private(set) var taken = 0

    init(_ limits: ListLimits) {
        self.limits = limits
    }

    /// When a download's turn comes.
    struct Turn: Comparable {
        var rank: Int64
        var id: DownloadID

        static func < (left: Turn, right: Turn) -> Bool { (left.rank, left.id) < (right.rank, right.id) }
    }

    private struct Spot {
        var line: Int
        var key: Int
    }

    // MARK: Looking

    /// The place of who is to be admitted next, whatever the limit over all lists.
    var next: Int? { open.first.flatMap { lines[$0.key].first?.place } }

    /// Who waits, in no particular order.
    var waiting: [DownloadID] { lines.flatMap(\.ids) }

    func isFull(_ list: String?) -> Bool {
        numbers[list].map(isFull) ?? false
    }

    private func isFull(_ number: Int) -> Bool {
        lines[number].taken >= limits[lines[number].list]
    }

    // MARK: Coming and going

    /// Somebody wants a slot.
    mutating func join(_ place: Int, _ list: String?, _ turn: Turn) {
        let number = line(of: list)
        if place >= spots.count { spots += repeatElement(nil, count: place + 1 - spots.count) }
        spots[place] = Spot(line: number, key: lines[number].join(place, turn))
        settle(number)
    }

    /// Who wanted one does not any more.
    mutating func leave(_ place: Int) {
        guard let spot = spots[place] else { return }
        spots[place] = nil
        lines[spot.line].leave(spot.key)
        settle(spot.line)
    }

    /// A slot is given to one of the list.
    mutating func hold(_ list: String?) {
        let number = line(of: list)
        lines[number].held += 1
        taken += 1
        settle(number)
    }

    /// It is given back; or stays empty for the time being.
    mutating func release(_ list: String?, staysEmpty: Bool) {
        let number = line(of: list)
        lines[number].held -= 1
        if staysEmpty {
            lines[number].empty += 1
            emptied.insert(number)
        } else {
            taken -= 1
        }
        settle(number)
    }

    /// Slots that were kept empty are there for all.
    mutating func giveBackEmpty() {
        for number in emptied {
            taken -= lines[number].empty
            lines[number].empty = 0
            settle(number)
        }
        emptied = []
    }

    mutating func setLimits(_ limits: ListLimits) {
        guard limits != self.limits else { return }
        self.limits = limits
        for number in numbers.values.sorted() { settle(number) }
    }

    private mutating func line(of list: String?) -> Int {
        if let number = numbers[list] { return number }
        let number = vacant.popLast() ?? lines.count
        if number == lines.count { lines.append(Line(list: list)) } else { lines[number] = Line(list: list) }
        numbers[list] = number
        return number
    }

    private mutating func settle(_ number: Int) {
        if let first = lines[number].first, !isFull(number) {
            open.set(number, to: first.turn)
        } else {
            open.remove(number)
        }
        if lines[number].isUnused {
            numbers[lines[number].list] = nil
            vacant.append(number)
        }
    }
}

/// One list: who waits, and how many slots it takes.
private struct Line: Sendable {
    let list: String?
    /// Slots that its downloads hold, and slots that are kept empty after them.
    var held = 0
    var empty = 0
    private var queue = IndexedHeap<SlotQueue.Turn>()
    /// By key. Keys are given out anew, since the queue takes memory up to the largest.
    private var places: [Int] = []
    private var vacant: [Int] = []

    init(list: String?) {
        self.list = list
    }

    var taken: Int { held + empty }
    var isUnused: Bool { taken == 0 && queue.isEmpty }
    var first: (place: Int, turn: SlotQueue.Turn)? { queue.first.map { (places[$0.key], $0.priority) } }
    var ids: [DownloadID] { queue.priorities.map(\.id) }

    mutating func join(_ place: Int, _ turn: SlotQueue.Turn) -> Int {
        let key = vacant.popLast() ?? places.count
        if key == places.count { places.append(place) } else { places[key] = place }
        queue.set(key, to: turn)
        return key
    }

    mutating func leave(_ key: Int) {
        queue.remove(key)
        vacant.append(key)
    }
}
