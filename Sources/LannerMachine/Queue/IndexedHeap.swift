/// A priority queue whose entries are found by key: insert, change, remove and take the least in O(log n).
///
/// Keys are small numbers that are not negative: it takes memory up to the largest that was ever used, and no hashing.
/// Inlinable, since the other targets would otherwise compare priorities through their metadata.
@usableFromInline package struct IndexedHeap<Priority: Comparable & Sendable>: Sendable {
    @usableFromInline var entries: [(key: Int, priority: Priority)] = []
    /// Where the entry of a key is; negative when there is none.
    @usableFromInline var places: [Int] = []

    @inlinable package init() {}

    @inlinable package var count: Int { entries.count }
    @inlinable package var isEmpty: Bool { entries.isEmpty }

    /// The keys, in no particular order.
    @inlinable package var keys: [Int] { entries.map(\.key) }

    /// The entry of least priority.
    @inlinable package var first: (key: Int, priority: Priority)? { entries.isEmpty ? nil : entries[0] }

    /// The priority of a key, nil when it is not in the queue.
    @inlinable package subscript(key: Int) -> Priority? {
        place(of: key).map { entries[$0].priority }
    }

    @inlinable func place(of key: Int) -> Int? {
        guard key < places.count, places[key] >= 0 else { return nil }
        return places[key]
    }

    /// Adds a key, or changes its priority.
    @inlinable package mutating func set(_ key: Int, to priority: Priority) {
        if let place = place(of: key) {
            entries[place].priority = priority
            settle(place)
        } else {
            if key >= places.count { places += repeatElement(-1, count: key + 1 - places.count) }
            entries.append((key, priority))
            places[key] = entries.count - 1
            siftUp(entries.count - 1)
        }
    }

    /// The same; nil takes the key out.
    @inlinable package mutating func set(_ key: Int, to priority: Priority?) {
        if let priority { set(key, to: priority) } else { remove(key) }
    }

    /// Takes a key out; does nothing when it is not there.
    @inlinable package mutating func remove(_ key: Int) {
        guard let place = place(of: key) else { return }
        places[key] = -1
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.key] = place
        settle(place)
    }

    @inlinable mutating func settle(_ place: Int) {
        siftUp(place)
        siftDown(place)
    }

    @inlinable mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[place].priority < entries[parent].priority else { return }
            exchange(place, parent)
            place = parent
        }
    }

    @inlinable mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            let left = 2 * place + 1
            guard left < entries.count else { return }
            let right = left + 1
            let least =
                right < entries.count && entries[right].priority < entries[left].priority ? right : left
            guard entries[least].priority < entries[place].priority else { return }
            exchange(place, least)
            place = least
        }
    }

    @inlinable mutating func exchange(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        places[entries[one].key] = one
        places[entries[other].key] = other
    }
}
