import LannerMachine

/// Changes that the store could not keep: they are tried again, so that a disk that was full for a while does not bring
/// removed downloads back. Each commit by itself, as it was: what there is no room for takes nothing else along.
struct OwedChanges {
    /// What goes to the store at once.
    struct Commit: Sendable {
        fileprivate var number: Int
        fileprivate(set) var changes: [StoreChange]
        /// Exchanges that no record names any more once this is kept.
        fileprivate var dropped: [String] = []
        /// Whether it was tried before.
        fileprivate(set) var isOwed = false
    }

    /// What comes of a commit's end.
    struct Outcome {
        /// After how long to try again; nil when that is settled.
        var delay: Duration?
        /// Exchanges that no record names any more.
        var dropped: [String] = []
    }

    /// In the order in which they were made. Of their changes those count that no later commit makes.
    private var owed: [Commit] = []
    /// How many bytes they have, those included that do not count.
    private var size = 0
    /// For each key the last commit that changes it, of those that are owed or on their way.
    private var latest: [String: Int] = [:]
    private var lastNumber = 0
    /// Exchanges that are given up when nothing is owed or on its way: until then a record may name them.
    private var dropped: [String] = []
    /// How often in a row something was owed, and why it was the last time.
    private var failures = 0
    private var lastError: StoreError?
    /// Whether the next try has its time already.
    private var isScheduled = false
    /// How many bytes of changes were new since the last try.
    private var sinceTry = 0

    /// So many bytes that are owed are tried with every commit; more when as many are new. Else a store that keeps nothing
    /// would be given the more with each commit the longer that lasts.
    private static let few = 64 << 10
}

extension OwedChanges {
    /// What to commit for new changes, in this order: what is owed, and these; without changes all that is owed. Empty when
    /// there is nothing to commit.
    mutating func begin(_ changes: [StoreChange], dropped: [String]) -> [Commit] {
        let number = lastNumber + owed.count + 1
        for change in changes {
            latest[change.key] = number
            sinceTry += change.size
        }
        var commits = changes.isEmpty || size <= max(Self.few, sinceTry) ? takeOwed() : []
        lastNumber = number
        let isAsked = commits.isEmpty && !self.dropped.isEmpty
        if !changes.isEmpty || isAsked { commits.append(Commit(number: number, changes: changes, dropped: dropped)) }
        return commits
    }

    /// What is owed and still counts, under new numbers.
    private mutating func takeOwed() -> [Commit] {
        defer { (owed, size, sinceTry) = ([], 0, 0) }
        return owed.enumerated().compactMap { index, commit in
            var commit = commit
            commit.changes.removeAll { latest[$0.key] != commit.number }
            commit.number = lastNumber + index + 1
            for change in commit.changes { latest[change.key] = commit.number }
            return commit.changes.isEmpty ? nil : commit
        }
    }

    /// Why something is owed; nil when nothing is.
    var error: StoreError? { owed.isEmpty ? nil : lastError }

    /// A commit was kept, or not.
    mutating func end(_ commit: Commit, _ result: Result<Void, StoreError>) -> Outcome {
        switch result {
        case .success: return keep(commit)
        case .failure(let error):
            lastError = error
            return owe(commit)
        }
    }

    private mutating func keep(_ commit: Commit) -> Outcome {
        for change in commit.changes where latest[change.key] == commit.number { latest[change.key] = nil }
        guard latest.isEmpty else { return Outcome(dropped: commit.dropped) }
        failures = 0
        defer { dropped = [] }
        return Outcome(dropped: dropped + commit.dropped)
    }

    private mutating func owe(_ commit: Commit) -> Outcome {
        dropped += commit.dropped
        let changes = commit.changes.filter { latest[$0.key] == commit.number }
        if !changes.isEmpty {
            owed.append(Commit(number: commit.number, changes: changes, isOwed: true))
            size += changes.reduce(0) { $0 + $1.size }
        }
        guard !isScheduled else { return Outcome() }
        isScheduled = true
        failures += 1
        return Outcome(delay: .seconds(1 << min(failures, 6)))
    }

    /// The time to try again has come.
    mutating func tryTimeCame() {
        isScheduled = false
    }
}

extension StoreChange {
    fileprivate var key: String {
        switch self {
        case .put(let key, _), .remove(let key): key
        }
    }

    fileprivate var size: Int {
        switch self {
        case .put(let key, let value): key.utf8.count + value.count
        case .remove(let key): key.utf8.count
        }
    }
}
