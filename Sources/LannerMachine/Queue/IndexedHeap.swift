/// A priority queue whose entries are found by key: insert, change, remove and take the least in O(log n).
package struct IndexedHeap<Key: Hashable & Sendable, Priority: Comparable & Sendable>: Sendable {
    private var entries: [(key: Key, priority: Priority)] = []
    private var places: [Key: Int] = [:]

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The keys, in no particular order.
    package var keys: [Key] { entries.map(\.key) }

    /// The entry of least priority.
    package var first: (key: Key, priority: Priority)? { entries.first }

    /// The priority of a key, nil when it is not in the queue.
    package subscript(key: Key) -> Priority? {
        places[key].map { entries[$0].priority }
    }

    /// Adds a key, or changes its priority.
    package mutating func set(_ key: Key, to priority: Priority) {
        if let place = places[key] {
            entries[place].priority = priority
            settle(place)
        } else {
            entries.append((key, priority))
            places[key] = entries.count - 1
            siftUp(entries.count - 1)
        }
    }

    /// Takes a key out; does nothing when it is not there.
    package mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.key] = place
        settle(place)
    }

    private mutating func settle(_ place: Int) {
        siftUp(place)
        siftDown(place)
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[place].priority < entries[parent].priority else { return }
            exchange(place, parent)
            place = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
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

    private mutating func exchange(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        places[entries[one].key] = one
        places[entries[other].key] = other
    }
}
