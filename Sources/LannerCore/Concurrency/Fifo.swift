/// What waits in line. Adding and, over time, taking cost the same however many wait. Inlinable, since the other targets
/// would otherwise copy elements through it by their metadata.
@usableFromInline package struct Fifo<Element> {
    @inlinable static var many: Int { 64 }
    /// What lies before `head` was taken.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0
    /// How many were taken out of `elements` for good: the number of the first one there.
    @usableFromInline var base = 0

    @inlinable package init() {}

    @inlinable package var count: Int { elements.count - head }

    /// The number of the next one to be taken.
    @inlinable package var firstNumber: Int { base + head }

    /// Adds one at the end; returns its number, by which it can be replaced as long as it waits.
    @discardableResult @inlinable
    package mutating func append(_ element: Element) -> Int {
        elements.append(element)
        return base + elements.count - 1
    }

    @inlinable package mutating func replace(_ number: Int, by element: Element) {
        elements[number - base] = element
    }

    @inlinable package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let first = elements[head]
        elements[head] = nil
        head += 1
        cut()
        return first
    }

    /// Now and then, so that taking stays cheap; and what a rush has taken is not kept for ever.
    @inlinable mutating func cut() {
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= 2 * Self.many)
        } else if head >= Self.many, head * 2 >= elements.count {
            elements = Array(elements[head...])
        } else {
            return
        }
        (base, head) = (base + head, 0)
    }
}

extension Fifo: Sendable where Element: Sendable {}
