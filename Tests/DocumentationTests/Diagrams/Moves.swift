@testable import LannerCore

/// From one status to another, at once.
struct Move: Hashable {
    var from: Status
    var to: Status
}

/// Where tasks and managers go, as the library itself says.
enum Moves {
    /// How a task that was added begins; one that is restored may have failed or succeeded, too.
    static let starts: [Status] = [.waiting, .suspended]

    static let ofTask = Set(Status.allCases.flatMap { from in from.next.map { Move(from: from, to: $0) } })

    /// A manager goes where the totals of its tasks do: tried for each move of a task, and for one that is added, beside
    /// each other one and beside none. More could not matter, since of many statuses one decides.
    static var ofManager: Set<Move> {
        var moves: Set<Move> = []
        let others = Status.allCases.filter { !$0.next.isEmpty }.map { Totals(with: $0) }
        let emptied = [Status.canceled, .removed].map { end in
            var totals = Totals(with: .willRemove)
            totals.replace(TaskFigures(.willRemove), by: TaskFigures(end))
            return totals
        }
        for before in others + emptied + [Totals()] {
            for start in starts { moves.insert(from: before, to: before.adding(start)) }
            for move in ofTask {
                moves.insert(from: before.adding(move.from), to: before.adding(move.from).moving(move))
            }
        }
        return moves
    }
}

extension Set<Move> {
    fileprivate mutating func insert(from before: Totals, to after: Totals) {
        if before.status != after.status { insert(Move(from: before.status, to: after.status)) }
    }

    /// Everything that is come to from somewhere.
    func reachable(from starts: [Status]) -> Set<Status> {
        var (reached, open) = (Set<Status>(starts), starts)
        while let from = open.popLast() {
            for move in self where move.from == from && reached.insert(move.to).inserted { open.append(move.to) }
        }
        return reached
    }
}

extension TaskFigures {
    fileprivate init(_ status: Status) {
        self.init(status: status, completed: 0, total: 0)
    }
}

extension Totals {
    fileprivate init(with status: Status) {
        self.init()
        add(TaskFigures(status))
    }

    fileprivate func adding(_ status: Status) -> Totals {
        var totals = self
        totals.add(TaskFigures(status))
        return totals
    }

    fileprivate func moving(_ move: Move) -> Totals {
        var totals = self
        totals.replace(TaskFigures(move.from), by: TaskFigures(move.to))
        return totals
    }
}
