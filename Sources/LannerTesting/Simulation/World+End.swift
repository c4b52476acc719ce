import Foundation
import LannerCore
import LannerMachine

// How a run ends.

extension World {
    /// How much may happen until all has come to rest.
    private static let patience = 300_000

    /// L1: lets all faults stop and sees to it that every download ends, and is remembered.
    func finish() throws(Violation) {
        heal()
        // Nobody has to help what may run.
        try runToRest()
        auditor.isSettled.withLock { $0 = true }
        // Those that had failed once for what the faults left behind get another chance.
        for _ in 0..<2 { try startAll() }
        // Records that could not be kept are tried again.
        for _ in 0..<3 {
            clock.advance(by: .seconds(60))
            try runToRest()
        }
        for claim in manager.inspections { compareEnd(of: claim) }
        comparePlaces()
        auditor.allHandlersWereCalled("everything had come to rest")
        auditor.compareTotals(of: manager)
        try check()
        try remember()
    }

    /// Starts what there is in every context, the present one last.
    private func startAll() throws(Violation) {
        for context in isUserQuiet ? [nil] : Self.contexts {
            manager.context = context
            auditor.noteStart()
            manager.totalStart()
            try runToRest()
        }
    }

    /// What an earlier run has stopped.
    func beginFaults() {
        chronicle.isHealed = false
        auditor.isSettled.withLock { $0 = false }
    }

    private func heal() {
        chronicle.note("healed")
        chronicle.isHealed = true
        // Whoever has shut the manager down comes back, and gives to others what was kept empty.
        manager.context = manager.context
        manager.startWaiting()
        transport.outage = nil
        if network.path != nil { network.path = NetworkPath(kind: .wifi) }
        servers.heal()
        disk.capacity = nil
        disk.failNothing()
        // What is in the way is no fault, but stays there.
        if conflictPolicy == .fail { manager.configuration.fileConflictPolicy = .keepBoth }
    }

    private func runToRest() throws(Violation) {
        for _ in 0..<Self.patience {
            steps += 1
            if lanes.runNext() {
                try check()
            } else if let links, links.waitingCount > 0 {
                giveGoodLink(from: links)
            } else if let exchange = transport.underwayExchanges.first(where: { !$0.isPaused }) {
                exchange.release(nil)
            } else if manager.status == .running, let next = clock.nextDeadline {
                clock.advance(to: next)
            } else {
                break
            }
        }
        if let stuck = manager.tasks.first(where: { !$0.status.isAtRest }) {
            throw Violation(rule: .liveness, text: "\(stuck.url) is \(stuck.status.rawValue) for ever")
        }
        try check()
    }

    /// S1 and L1 of one download: it has succeeded, unless its digest was of something else.
    private func compareEnd(of claim: Inspection) {
        guard servers.sites.contains(where: { $0.leads(from: claim.task.url) }) else { return }
        switch claim.task.status {
        case .succeeded:
            compareFile(of: claim.task)
            if !isPlaceShared(by: claim.task) { auditor.compareDigests(of: claim, disk) }
        case .failed where isAskedInVain(claim): break
        // What is in the way stays there.
        case .failed where isInTheWay(claim.task): break
        case let status:
            let reason = claim.task.error.map { "\($0)" } ?? ""
            chronicle.report(.liveness, "\(claim.task.url) is \(status.rawValue) in a good world: \(reason)")
        }
    }

    /// S1 of one that has succeeded. Its file may have been replaced by that of another with another URL, which may be about
    /// to be copied anew; then it says that it has none.
    func compareFile(of task: DownloadTask) {
        if !task.hasFile, isPlaceShared(by: task) { return }
        auditor.compareFile(of: task, servers.sites, disk)
    }

    /// Whether the server of a download does not have what its digest or its pieces are of: then it fails, with what
    /// the last place says that it was looked for at.
    private func isAskedInVain(_ claim: Inspection) -> Bool {
        guard let site = servers.sites.first(where: { $0.leads(from: claim.task.url) }) else { return false }
        if let digest = claim.digest, site.bytes.digest(digest.algorithm) != digest { return true }
        return claim.pieces.map { !$0.fits(site.bytes) } ?? false
    }

    /// Whether a download has failed since its own policy lets it take no other place.
    private func isInTheWay(_ task: DownloadTask) -> Bool {
        guard case .failed(let failure) = task.error as? LannerError else { return false }
        return failure.reason == .disk(.inTheWay)
            && (disk.contents(of: task.filePath) != nil || isPlaceShared(by: task))
    }

    /// No file was replaced by one that must not do so.
    private func comparePlaces() {
        guard conflictPolicy != .replace else { return }
        compareForeignFiles()
        var names: Set<String> = []
        for task in manager.allTasks
        where task.status == .succeeded && !auditor.mayHaveLost(task) && !names.insert(task.filePath).inserted {
            chronicle.report(.place, "two downloads have their files at \(task.filePath)")
        }
    }

    func compareForeignFiles() {
        if disk.contents(of: Self.foreignPart) != Self.foreign {
            chronicle.report(.place, "the unfinished file of another manager was changed or removed")
        }
        guard conflictPolicy != .replace else { return }
        for path in foreignPaths where disk.contents(of: path) != Self.foreign {
            chronicle.report(.place, "somebody else's file at \(path) was replaced or removed")
        }
    }

    /// What the next launch knows is what this one knew.
    private func remember() throws(Violation) {
        let before = memories
        relaunch(reboots: true)
        let after = memories
        for (one, memory) in before.sorted(by: { "\($0.key)" < "\($1.key)" }) where after[one] != memory {
            chronicle.report(.memory, "\(one) was \(memory), and is now \(after[one].map { "\($0)" } ?? "unknown")")
        }
        if after.count > before.count { chronicle.report(.memory, "a download came back") }
        for claim in manager.inspections { compareEnd(of: claim) }
        try runToRest()
        compareLeftovers()
        auditor.compareRemovals(of: manager, disk)
        try check()
    }

    /// What nobody needs any more is gone from the disk. Copies are looked for at launch where files are by themselves:
    /// in another directory one may come back whose removal the machine's death has lost. A name with which a finished
    /// file would be lost is left until that has gone.
    private func compareLeftovers() {
        // What another store could not read may be wanted when it can again.
        if !manager.restorationProblems.isEmpty { return }
        let unfinished = manager.inspections.filter { $0.task.status != .succeeded }
        let needed = Set(unfinished.map(\.partialPath) + manager.leftoverPaths + [Self.foreignPart])
        let directories = [manager.cache.downloadTmpPath, manager.cache.downloadFilePath]
        for path in disk.paths where directories.contains(path.directory) && !needed.contains(path) {
            guard path.hasSuffix(".part") || path.hasSuffix(".copy") else { continue }
            if spared.contains(path) { continue }
            chronicle.report(.memory, "\(path) was left over")
        }
    }

    private var memories: [Identity: Memory] {
        let memories = manager.allTasks.enumerated().map { ($1.identity, Memory($1, number: $0)) }
        return Dictionary(memories, uniquingKeysWith: { $1 })
    }

    private struct Memory: Equatable {
        var url: URL
        var status: Status
        var completed: Int64
        var fileName: String
        var list: String?
        var priority: DownloadPriority
        var limit: Int64?
        var metadata: [String: String]
        var validation: Validation
        /// Which in the order.
        var number: Int

        init(_ task: DownloadTask, number: Int) {
            (url, status, completed, fileName) = (task.url, task.status, task.completedBytes, task.fileName)
            (list, priority, limit) = (task.list, task.priority, task.maximumBytesPerSecond)
            (metadata, validation, self.number) = (task.metadata, task.validation, number)
        }
    }
}
