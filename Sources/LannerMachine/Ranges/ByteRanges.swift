/// A set of byte positions of a file, kept as sorted half-open ranges that neither touch nor overlap.
package struct ByteRanges: Sendable, Hashable {
    /// The ranges, ascending.
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    /// The union of the given ranges; empty and negative ones add nothing. Whatever their order, it takes little more than
    /// one step for each.
    package init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// How many positions are in the set.
    package var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// The position after the last one, 0 for the empty set.
    package var end: Int64 { ranges.last?.upperBound ?? 0 }

    /// How many positions from 0 on are there without a gap.
    package var prefix: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Adds a range and joins it with its neighbors.
    package mutating func insert(_ range: Range<Int64>) {
        guard range.lowerBound >= 0, !range.isEmpty else { return }
        let first = firstIndex(endingAtOrAfter: range.lowerBound)
        var joined = range
        var next = first
        while next < ranges.count, ranges[next].lowerBound <= joined.upperBound {
            joined = min(joined.lowerBound, ranges[next].lowerBound)..<max(joined.upperBound, ranges[next].upperBound)
            next += 1
        }
        ranges.replaceSubrange(first..<next, with: CollectionOfOne(joined))
    }

    /// Adds every range of another set.
    package mutating func formUnion(_ other: ByteRanges) {
        for range in other.ranges { insert(range) }
    }

    /// Takes every position of a range out.
    package mutating func remove(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = firstIndex(endingAtOrAfter: range.lowerBound)
        let touched = ranges[first...].prefix { $0.lowerBound < range.upperBound }
        let rests = touched.flatMap { mine in
            let before = mine.lowerBound..<max(mine.lowerBound, min(mine.upperBound, range.lowerBound))
            let after = min(mine.upperBound, max(mine.lowerBound, range.upperBound))..<mine.upperBound
            return [before, after].filter { !$0.isEmpty }
        }
        ranges.replaceSubrange(touched.indices, with: rests)
    }

    /// The part of the set below a position: what a file of that size can hold.
    package func clipped(to size: Int64) -> ByteRanges {
        ByteRanges(
            ranges.compactMap { range in
                range.lowerBound < size ? range.lowerBound..<min(range.upperBound, size) : nil
            })
    }

    /// The positions that are in both sets.
    package func intersection(_ other: ByteRanges) -> ByteRanges {
        var both = ByteRanges()
        var mine = ranges[...]
        var theirs = other.ranges[...]
        while let left = mine.first, let right = theirs.first {
            both.insert(left.clamped(to: right))
            if left.upperBound <= right.upperBound { mine.removeFirst() } else { theirs.removeFirst() }
        }
        return both
    }

    /// Whether every position of the range is in the set.
    package func contains(_ range: Range<Int64>) -> Bool {
        if range.isEmpty { return true }
        let index = firstIndex(endingAtOrAfter: range.lowerBound)
        return index < ranges.count
            && ranges[index].lowerBound <= range.lowerBound && ranges[index].upperBound >= range.upperBound
    }

    /// The first range at or after `position` and below `limit` that is missing; nil when none is.
    package func firstGap(from position: Int64 = 0, below limit: Int64) -> Range<Int64>? {
        var start = position
        for range in ranges[firstIndex(endingAtOrAfter: position)...] where range.upperBound > start {
            if range.lowerBound > start { return start < limit ? start..<min(range.lowerBound, limit) : nil }
            start = range.upperBound
        }
        return start < limit ? start..<limit : nil
    }

    private func firstIndex(endingAtOrAfter position: Int64) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
