import LannerMachine

// The order of tasks decides who starts next, and is remembered.

extension SessionManager {
    /// Moves a task to another place in ``tasks``. Those that run already go on.
    ///
    /// O(n log n) in the number of tasks, with one commit, mostly of one record. A position that is not in the list changes
    /// nothing and logs ``LannerError/indexOutOfRange``.
    ///
    /// - Parameters:
    ///   - sourceIndex: Where the task is.
    ///   - destinationIndex: Where it is afterwards.
    public func moveTask(at sourceIndex: Int, to destinationIndex: Int) {
        if engine.isOver { return engine.logOver("no task was moved") }
        if !engine.moveTask(at: sourceIndex, to: destinationIndex) {
            engine.log { .error("could not move a task", error: LannerError.indexOutOfRange) }
        }
    }

    /// Sorts ``tasks``. Those that run already go on; those that are added meanwhile come last.
    ///
    /// O(n log n) in the number of tasks, with one commit to the store.
    ///
    /// - Parameter areInIncreasingOrder: Whether the first comes before the second. Called inside this call, on its
    ///   thread; the order of tasks it does not tell apart stays as it is.
    /// - Throws: What the closure throws; the order is then as it was.
    public func tasksSort(by areInIncreasingOrder: (DownloadTask, DownloadTask) throws -> Bool) rethrows {
        let ids = try tasks.sorted(by: areInIncreasingOrder).map(\.id)
        if engine.isOver { engine.logOver("no task was moved") } else { engine.setOrder(ids) }
    }
}

extension Engine {
    /// Moves a download between two others; false when there is no such place.
    fileprivate func moveTask(at source: Int, to destination: Int) -> Bool {
        var ids = tasks { $0.scope.ids }.map(\.id)
        guard ids.indices.contains(source), ids.indices.contains(destination) else { return false }
        let id = ids.remove(at: source)
        ids.insert(id, at: destination)
        if source != destination, !place(id, between: destination - 1, and: destination + 1, of: ids) { setOrder(ids) }
        return true
    }

    /// Gives a download a rank between those of its neighbors, so that one record changes; false when there is no room.
    private func place(_ id: DownloadID, between left: Int, and right: Int, of ids: [DownloadID]) -> Bool {
        var isDone = false
        reorder { state in
            let before = left < 0 ? nil : state.rank(ids[left])
            let after = right < ids.count ? state.rank(ids[right]) : nil
            // At an end there is one neighbor; where there are two, one of them may be gone by now.
            let low = before ?? (left < 0 ? after.map { $0 - 2 * EngineState.rankGap } : nil)
            let high = after ?? (right < ids.count ? nil : before.map { $0 + 2 * EngineState.rankGap })
            guard let low, let high else { return [:] }
            // Ranks of a record may be as far apart as numbers go.
            let (gap, isTooLarge) = high.subtractingReportingOverflow(low)
            guard !isTooLarge, gap > 1 else { return [:] }
            isDone = true
            return [id: low + gap / 2]
        }
        return isDone
    }

    /// Hands the ranks that downloads have out to them in another order.
    fileprivate func setOrder(_ ids: [DownloadID]) {
        reorder { state in
            let living = ids.compactMap { id in state.rank(id).map { (id: id, rank: $0) } }
            var ranks = living.map(\.rank).sorted()
            // Equal ones would leave the order to the numbers.
            for index in ranks.indices.dropFirst() where ranks[index] <= ranks[index - 1] {
                ranks[index] = ranks[index - 1] + 1
            }
            let news = zip(living, ranks).filter { $0.rank != $1 }
            return Dictionary(uniqueKeysWithValues: news.map { ($0.id, $1) })
        }
    }

    /// Gives downloads other ranks, and records them.
    private func reorder(_ makeRanks: (EngineState) -> [DownloadID: Int64]) {
        var changed: [Job] = []
        enter { state in
            let ranks = makeRanks(state)
            for (id, rank) in ranks {
                guard let job = state.jobs[id] else { continue }
                job.state.withLock { $0.rank = rank }
                state.lastRank = max(state.lastRank, rank)
                changed.append(job)
            }
            return ranks.isEmpty ? [] : [.reorder(ranks)]
        }
        if !changed.isEmpty { record(changed) }
    }
}

extension EngineState {
    fileprivate func rank(_ id: DownloadID) -> Int64? {
        machine[id] == nil ? nil : jobs[id].map { $0.state.withLock { $0.rank } }
    }
}
