import LannerMachine

/// What belongs to exchanges of one download, in the order of their numbers: mostly one, and as many as it may have
/// connections at most.
struct ExchangeList<Value> {
    private var entries: [(number: ExchangeNumber, value: Value)] = []

    var isEmpty: Bool { entries.isEmpty }

    var numbers: [ExchangeNumber] { entries.map(\.number) }

    var values: [Value] { entries.map(\.value) }

    subscript(number: ExchangeNumber) -> Value? {
        entries.first { $0.number == number }?.value
    }

    /// In the place of what the number had before.
    mutating func put(_ value: Value, at number: ExchangeNumber) {
        let index = entries.firstIndex { $0.number >= number } ?? entries.endIndex
        if index < entries.endIndex, entries[index].number == number {
            entries[index].value = value
        } else {
            entries.insert((number, value), at: index)
        }
    }

    @discardableResult
    mutating func remove(_ number: ExchangeNumber) -> Value? {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return nil }
        let entry = entries.remove(at: index)
        // Most downloads are through then, and their managers keep them for long.
        if entries.isEmpty { entries = [] }
        return entry.value
    }
}

extension ExchangeList: Sendable where Value: Sendable {}
