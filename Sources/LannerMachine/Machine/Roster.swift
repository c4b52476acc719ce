/// The downloads of a machine, each at a seat that is its own while it is here: a small number, under which the queues
/// know it. A seat that was left is given again.
struct Roster: Sendable {
    private var downloads: [Download?] = []
    private var seats = IDTable<Int>()
    private var vacant: [Int] = []

    var count: Int { seats.count }

    subscript(id: DownloadID) -> Download? {
        seats[id].flatMap { downloads[$0] }
    }

    func state(at seat: Int) -> State? { downloads[seat]?.state }

    func id(at seat: Int) -> DownloadID? { downloads[seat]?.id }

    func standing(at seat: Int) -> SlotStanding? { downloads[seat]?.standing }

    func seat(of id: DownloadID) -> Int? { seats[id] }

    /// Makes room for the seats of so many more.
    mutating func reserve(_ additional: Int) {
        seats.reserveCapacity(seats.count + additional)
        // Of so many no more than that: the array would else take up to twice what it needs.
        if additional > downloads.count { downloads.reserveCapacity(downloads.count + additional) }
    }

    mutating func add(_ download: Download) {
        seats[download.id] = downloads.put(download, in: &vacant)
    }

    /// Lets the download of a seat handle something; says where that has led it, nil when nobody is there. One that is
    /// gone afterwards has left its seat.
    mutating func change(
        _ seat: Int, _ context: inout Context, _ body: (inout Download, inout Context) -> Void
    ) -> Change? {
        guard let change = downloads[seat]?.change(&context, body) else { return nil }
        if change.isGone { leave(seat, change.id) }
        return change
    }

    private mutating func leave(_ seat: Int, _ id: DownloadID) {
        downloads[seat] = nil
        seats[id] = nil
        vacant.append(seat)
    }
}

/// What a machine has to follow when a download has handled something.
struct Change {
    let id: DownloadID
    let before: SlotStanding
    let after: SlotStanding
    let deadline: Duration?
    let isGone: Bool
}

/// Where a download stands among the others.
struct SlotStanding: Equatable {
    var claim: SlotClaim
    var list: String?
    var host: HostID
    var turn: SlotQueue.Turn
    /// Whether it has failed since it last gained bytes, and is sent none now.
    var isRetry: Bool
    var isForNetwork: Bool

    /// Whether a whole slot is held by such a one.
    var isRunningRetry: Bool { isRetry && claim == .holds }
}

extension Download {
    fileprivate mutating func change(
        _ context: inout Context, _ body: (inout Download, inout Context) -> Void
    ) -> Change {
        let before = standing
        body(&self, &context)
        return Change(
            id: id, before: before, after: standing, deadline: isGone ? nil : deadline(now: context.now),
            isGone: isGone)
    }

    var standing: SlotStanding {
        SlotStanding(
            claim: isGone ? .none : slotClaim, list: list, host: host,
            turn: SlotQueue.Turn(rank: rank, id: id, priority: priority, failures: UInt16(clamping: failures)),
            isRetry: !isFresh && !isReceiving, isForNetwork: isForNetwork)
    }

    private var isForNetwork: Bool {
        if case .waiting(.network) = state { true } else { false }
    }
}
