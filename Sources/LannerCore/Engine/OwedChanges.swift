import LannerMachine

/// Changes that the store could not keep: they are tried again, so that a disk that was full for a while does not bring
/// removed downloads back.
struct OwedChanges {
    /// Of each key the latest.
    private var owed: [String: StoreChange] = [:]
    /// Commits whose outcome is not known yet, the oldest first.
    private var underWay: [(number: Int, changes: [StoreChange])] = []
    private var lastNumber = 0
    /// Exchanges that are given up with the next commit that is kept.
    private var dropped: [String] = []
    /// How often in a row something was owed.
    private var failures = 0
    /// Whether the next try has its time already.
    private var isScheduled = false

    var isEmpty: Bool { owed.isEmpty }

    /// Puts what is owed before new changes, and gives the commit its number; nil when there is nothing to commit.
    mutating func begin(_ changes: inout [StoreChange], _ dropped: inout [String]) -> Int? {
        if !owed.isEmpty {
            for change in changes { owed[change.key] = nil }
            changes.insert(contentsOf: owed.sorted { $0.key < $1.key }.map(\.value), at: 0)
            owed = [:]
        }
        guard !changes.isEmpty || !self.dropped.isEmpty else { return nil }
        dropped += self.dropped
        self.dropped = []
        lastNumber += 1
        underWay.append((lastNumber, changes))
        return lastNumber
    }

    /// A commit was kept, or not: then says after how long to try again, unless that is settled.
    mutating func end(_ number: Int, _ dropped: [String], isKept: Bool) -> Duration? {
        guard let index = underWay.firstIndex(where: { $0.number == number }) else { return nil }
        let changes = underWay.remove(at: index).changes
        if isKept {
            failures = 0
            return nil
        }
        let newer = Set(underWay[index...].flatMap { $0.changes.map(\.key) })
        self.dropped += dropped
        for change in changes where !newer.contains(change.key) { owed[change.key] = change }
        failures += 1
        guard !isScheduled else { return nil }
        isScheduled = true
        return .seconds(1 << min(failures, 6))
    }

    /// The time to try again has come.
    mutating func isDue() {
        isScheduled = false
    }
}

extension StoreChange {
    fileprivate var key: String {
        switch self {
        case .put(let key, _), .remove(let key): key
        }
    }
}
