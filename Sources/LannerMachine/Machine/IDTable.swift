/// Values by download. Every event looks several up, and a number that only grows needs no hash that is safe from attack:
/// this one takes a tenth of a dictionary's time.
///
/// Open addressing with linear probing: a value is in the first vacant place from its own on. Inlinable, since the engine
/// would otherwise copy values through it by their metadata.
@usableFromInline package struct IDTable<Value> {
    /// As many as there are places, a power of two, or none; `vacant` where there is nobody.
    @usableFromInline var numbers: [UInt64] = []
    @usableFromInline var entries: [Value?] = []
    @usableFromInline package private(set) var count = 0

    /// No download has it: numbers count up from one.
    @inlinable static var vacant: UInt64 { .max }

    @inlinable package var isEmpty: Bool { count == 0 }

    @inlinable package var keys: [DownloadID] { numbers.filter { $0 != Self.vacant }.map { DownloadID($0) } }

    @inlinable package var values: [Value] { entries.compactMap { $0 } }

    @inlinable package subscript(id: DownloadID) -> Value? {
        get { place(of: id.number).flatMap { entries[$0] } }
        set {
            if let newValue { put(newValue, at: id.number) } else { removeValue(forKey: id) }
        }
    }

    @inlinable package init() {}

    /// Makes room for so many in all.
    @inlinable package mutating func reserveCapacity(_ count: Int) {
        guard count > Self.capacity(numbers.count) else { return }
        var size = max(numbers.count, 8)
        while Self.capacity(size) < count { size *= 2 }
        resize(to: size)
    }

    @discardableResult @inlinable
    package mutating func removeValue(forKey id: DownloadID) -> Value? {
        guard let place = place(of: id.number) else { return nil }
        defer { vacate(place) }
        return entries[place]
    }

    // MARK: Places

    /// How many values a number of places holds, a quarter of them staying vacant.
    @inlinable static func capacity(_ places: Int) -> Int { places - places / 4 }

    /// The first place for a number. Eight that follow each other are together, since what is done with one is soon done
    /// with the next, and the processor then fetches less memory. Eights are far apart.
    @inlinable func home(_ number: UInt64) -> Int {
        // Not by the leading zeros of an `Int`, which has 32 bits on some watches.
        let spread = (number &>> 3 &* 0x9E37_79B9_7F4A_7C15) &>> UInt64(64 &- numbers.count.trailingZeroBitCount)
        return Int(truncatingIfNeeded: spread & ~7 | number & 7)
    }

    @inlinable func next(_ place: Int) -> Int { (place &+ 1) & (numbers.count &- 1) }

    @inlinable func place(of number: UInt64) -> Int? {
        if count == 0 { return nil }
        let place = search(number)
        return numbers[place] == number ? place : nil
    }

    /// Where a number is, or would be put.
    @inlinable func search(_ number: UInt64) -> Int {
        var place = home(number)
        while numbers[place] != number, numbers[place] != Self.vacant { place = next(place) }
        return place
    }

    @inlinable mutating func put(_ value: Value, at number: UInt64) {
        if count == Self.capacity(numbers.count) { reserveCapacity(count + 1) }
        let place = search(number)
        if numbers[place] == Self.vacant { count += 1 }
        (numbers[place], entries[place]) = (number, value)
    }

    /// Closes the gap with those behind that would not be found beyond it.
    @inlinable mutating func vacate(_ place: Int) {
        var (gap, other) = (place, next(place))
        while numbers[other] != Self.vacant {
            let (way, shorter) = (other &- home(numbers[other]), other &- gap)
            if way & (numbers.count &- 1) >= shorter & (numbers.count &- 1) {
                (numbers[gap], entries[gap], gap) = (numbers[other], entries[other], other)
            }
            other = next(other)
        }
        (numbers[gap], entries[gap]) = (Self.vacant, nil)
        count -= 1
        // To go through few costs little, though there were many.
        if numbers.count > 64, count < numbers.count / 8 { resize(to: numbers.count / 2) }
    }

    @inlinable mutating func resize(to size: Int) {
        let (oldNumbers, oldEntries) = (numbers, entries)
        numbers = Array(repeating: Self.vacant, count: size)
        entries = Array(repeating: nil, count: size)
        for (number, entry) in zip(oldNumbers, oldEntries) where number != Self.vacant {
            let place = search(number)
            (numbers[place], entries[place]) = (number, entry)
        }
    }
}

extension IDTable: Sendable where Value: Sendable {}
