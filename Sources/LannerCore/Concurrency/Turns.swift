/// What waits in order for its turn, and how many are at it: only so many at a time.
struct Turns<Element> {
    private let limit: Int
    private var waiting = Fifo<Element>()
    private var underWay = 0

    init(atATime limit: Int) {
        self.limit = limit
    }

    mutating func append(_ element: Element) {
        waiting.append(element)
    }

    /// The next one, if there is room for it; its turn lasts until `end`.
    mutating func begin() -> Element? {
        guard underWay < limit, let next = waiting.popFirst() else { return nil }
        underWay += 1
        return next
    }

    mutating func end() {
        underWay -= 1
    }
}

extension Turns: Sendable where Element: Sendable {}
