import LannerMachine

/// What a download is found by.
package struct Identity: Hashable, Sendable, CustomStringConvertible {
    package var context: String?
    package var key: String

    package init(context: String? = nil, key: String) {
        (self.context, self.key) = (context, key)
    }

    package var description: String { context.map { "\(key) of \($0)" } ?? key }
}

/// The downloads of one context: sums, and who is in which list and has which status. Kept as they change, so that no
/// question costs more than its answer.
struct Scope {
    private(set) var totals = Totals()
    /// As what all have come to rest last, and whether one was begun since.
    private var (lastRest, hasBegun) = (Status.waiting, false)
    private var whereabouts = IDTable<Whereabouts>()
    private var all = Roll()
    private var unlisted = Roll()
    private var lists: [String: Roll] = [:]

    private struct Whereabouts {
        var list: String?
        var status: Status
    }

    /// Every download.
    var ids: [DownloadID] { whereabouts.keys }

    /// Those of all lists.
    var roll: Roll { all }

    /// Those of one list, or of none.
    func roll(of list: String?) -> Roll { list.map { lists[$0] ?? Roll() } ?? unlisted }

    mutating func add(_ id: DownloadID, _ list: String?, _ figures: TaskFigures) {
        noteRest()
        totals.add(figures)
        note(figures.status)
        put(id, Whereabouts(list: list, status: figures.status))
    }

    /// A download stands elsewhere now; gives how all have come to rest, if they have by that. One that is only
    /// removed from among finished ones does not end them again.
    mutating func replace(_ id: DownloadID, _ before: TaskFigures, by after: TaskFigures) -> Status? {
        noteRest()
        totals.replace(before, by: after)
        note(after.status)
        if after.status.isGone { _ = take(id) } else if before.status != after.status { move(id, after.status) }
        guard totals.isAtRest, before.status != after.status, hasBegun || totals.status != lastRest else { return nil }
        return totals.status
    }

    private mutating func noteRest() {
        if totals.isAtRest { (lastRest, hasBegun) = (totals.status, false) }
    }

    private mutating func note(_ status: Status) {
        if status == .waiting || status == .running { hasBegun = true }
    }

    private mutating func move(_ id: DownloadID, _ status: Status) {
        guard var place = whereabouts[id] else { return }
        all.move(id, from: place.status, to: status)
        changeRoll(of: place.list) { $0.move(id, from: place.status, to: status) }
        place.status = status
        whereabouts[id] = place
    }

    mutating func relist(_ id: DownloadID, _ list: String?) {
        guard var place = take(id) else { return }
        place.list = list
        put(id, place)
    }

    private mutating func take(_ id: DownloadID) -> Whereabouts? {
        guard let place = whereabouts.removeValue(forKey: id) else { return nil }
        all.remove(id, place.status)
        changeRoll(of: place.list) { $0.remove(id, place.status) }
        return place
    }

    private mutating func put(_ id: DownloadID, _ place: Whereabouts) {
        whereabouts[id] = place
        all.add(id, place.status)
        changeRoll(of: place.list) { $0.add(id, place.status) }
    }

    private mutating func changeRoll(of list: String?, _ change: (inout Roll) -> Void) {
        guard let list else { return change(&unlisted) }
        change(&lists[list, default: Roll()])
        if lists[list]?.isEmpty == true { lists[list] = nil }
    }
}

/// Downloads by status.
struct Roll {
    /// In the order of the statuses.
    private var ids = [IDTable<Void>](repeating: IDTable(), count: Status.allCases.count)

    var isEmpty: Bool { ids.allSatisfy(\.isEmpty) }

    func ids(_ statuses: some Sequence<Status>) -> [DownloadID] {
        statuses.flatMap { ids[$0.position].keys }
    }

    func count(_ status: Status) -> Int { ids[status.position].count }

    fileprivate mutating func add(_ id: DownloadID, _ status: Status) {
        ids[status.position][id] = ()
    }

    fileprivate mutating func remove(_ id: DownloadID, _ status: Status) {
        ids[status.position][id] = nil
    }

    fileprivate mutating func move(_ id: DownloadID, from old: Status, to new: Status) {
        remove(id, old)
        add(id, new)
    }
}
