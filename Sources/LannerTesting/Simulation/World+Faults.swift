import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

// What goes wrong.

extension World {
    // MARK: Network and disk

    func changeNetwork() {
        if random.chance(1, in: 8) { return setClock() }
        let kind = random.below(3)
        chronicle.note("network", kind)
        transport.outage = kind == 0 ? .notConnected : nil
        guard network.path != nil else { return }
        network.path = NetworkPath(isAvailable: kind != 0, kind: kind == 1 ? .cellular : .wifi)
    }

    /// The time of day jumps, back as well; the time that has passed does not.
    private func setClock() {
        let seconds = random.below(7200) - 3600
        chronicle.note("date", seconds)
        clock.date += TimeInterval(seconds)
    }

    func changeDisk() {
        if random.chance(1, in: 4) { return intrude() }
        switch random.below(4) {
        case 0: disk.capacity = disk.capacity == nil ? disk.used + Int64(random.below(8000)) : nil
        case 1: disk.fail(.sync, with: .inputOutput, skipping: random.below(4))
        default:
            let operations: [MemoryDisk.Operation] = [
                .open, .write, .read, .allocate, .truncate, .rename, .remove, .syncDirectory,
            ]
            let fault: DiskFault = random.chance(1, in: 2) ? .inputOutput : .noSpace
            let operation = operations[random.below(operations.count)]
            disk.fail(operation, with: fault, skipping: random.below(4))
            chronicle.note("fault", text: "\(operation) \(fault)")
        }
        chronicle.note("disk", Int(disk.capacity ?? -1))
    }

    /// Somebody puts a file where a download has yet to have its own.
    private func intrude() {
        guard conflictPolicy != .replace, !isUserQuiet else { return }
        // One that has had its file may believe that it is there.
        let tasks = manager.allTasks.map {
            (path: $0.filePath, isHad: $0.status == .succeeded || auditor.mayHaveLost($0))
        }
        let had = Set(tasks.filter(\.isHad).map(\.path))
        let free = tasks.map(\.path).filter { !had.contains($0) && disk.contents(of: $0) == nil }
        guard !free.isEmpty else { return }
        let path = free[random.below(free.count)]
        chronicle.note("intrude", text: path)
        putForeignFile(at: path)
    }

    // MARK: Death

    /// The process or the machine dies, between two operations of the disk; then there is a new launch.
    func die() {
        var asked: [DownloadTask] = []
        let failures = launch.failedCommits
        let number = random.below(8)
        // What these die at is all that goes wrong, and nothing is tried again.
        let isSudden = number == 5 || number == 6
        if isSudden {
            disk.failNothing()
            disk.capacity = nil
        }
        switch number {
        case 0, 1: end()
        case 7 where random.chance(1, in: 2): dieAtEnd()
        case 2...4: asked = dieAtWork()
        case 5: asked = die(before: .syncDirectory)
        case 6: asked = dieInCommit()
        default: break
        }
        // Of what could not be kept at once, and is tried again, a part may be there.
        let isOneCommit = isSudden || launch.failedCommits == failures
        // A new name that was not synced is lost only after somebody has relied on it.
        let isNameNew = number == 5
        relaunch(reboots: number == 6 || !isNameNew && random.chance(1, in: 2))
        if isOneCommit { auditor.compareTogether(asked, manager) }
        switch random.below(isNameNew ? 2 : 4) {
        // What a manager has read and not touched yet.
        case 0: relaunch(reboots: true)
        // What it has added to.
        case 1, 2:
            _ = beBusy()
            relaunch(reboots: isNameNew || random.chance(1, in: 2))
        default: break
        }
        if transport.traits.outlivesProcess { useEach() }
    }

    private func end() {
        chronicle.note("end")
        manager.invalidate()
        // What was called back before is on its queues.
        while lanes.runNext() {}
        auditor.allHandlersWereCalled("the manager was invalidated")
    }

    /// The process dies while the manager ends.
    private func dieAtEnd() {
        chronicle.note("end")
        disk.state.withLock { $0.operationsLeft = random.below(24) }
        manager.invalidate()
    }

    /// The process dies in the middle of what the next pieces of work do: anywhere, or where most is to lose.
    private func dieAtWork() -> [DownloadTask] {
        let (anywhere, operations) = (random.chance(1, in: 2), random.below(12))
        guard anywhere else { return die(before: random.chance(1, in: 2) ? .sync : .syncDirectory) }
        disk.state.withLock { $0.operationsLeft = operations }
        return beBusy()
    }

    private func die(before last: MemoryDisk.Operation) -> [DownloadTask] {
        disk.state.withLock { $0.lastOperation = last }
        let asked = beBusy()
        for _ in 0..<32 where !lanes.runAny(using: &random) { deliver() }
        return asked
    }

    /// The process dies before the device has what was asked for in one call.
    private func dieInCommit() -> [DownloadTask] {
        disk.state.withLock { $0.lastOperation = .sync }
        let asked = isUserQuiet ? [] : several()
        // With a later commit, which must not come back without it.
        if let task = asked.first, random.chance(1, in: 2) { manager.suspend(task) }
        for _ in 0..<12 { _ = lanes.runAny(using: &random) }
        return asked
    }

    /// The user calls, and some pieces of work are done. Returns what was asked for in one call.
    private func beBusy() -> [DownloadTask] {
        var asked: [DownloadTask] = []
        if random.chance(1, in: 2), !isUserQuiet {
            if random.chance(1, in: 2) { asked = several() } else { use() }
        }
        for _ in 0..<12 { _ = lanes.runAny(using: &random) }
        return asked
    }

    func relaunch(reboots: Bool) {
        chronicle.note("death", reboots ? 1 : 0)
        auditor.compareTotals(of: manager)
        auditor.compareDurableClaims(of: manager, disk)
        auditor.noteKnown(of: manager, disk, reboots: reboots)
        keepCoverage()
        let places = Dictionary(manager.allTasks.map { ($0.filePath, [$0]) }, uniquingKeysWith: +)
        launch.die()
        if reboots { disk.loseUnsynced(&random) }
        spared.formUnion(disk.sharedPaths)
        disk.failNothing()
        if !chronicle.isHealed, !isUserQuiet, random.chance(1, in: 8) { loseFile(places) }
        if transport.traits.outlivesProcess { passWithoutProcess() }
        let parts = launch.parts
        var configuration = Self.configuration(&random, conflictPolicy)
        if !isUserQuiet {
            configuration.contextAtLaunch = Self.contexts[random.below(2)]
            configuration.isShutDownAtLaunch = !chronicle.isHealed && random.chance(1, in: 6)
        }
        let lengths = lengths
        if !chronicle.isHealed, random.chance(1, in: 8) { failAtLaunch() }
        launch = Launch(parts, configuration) { Self.store(disk: parts.disk, $0) }
        if !chronicle.isHealed, let reason = manager.unavailable {
            chronicle.note("in vain", text: "\(reason)")
            if lengths != self.lengths { chronicle.report(.memory, "a manager that cannot be used has changed files") }
            launch.die()
            disk.failNothing()
            launch = Launch(parts, configuration) { Self.store(disk: parts.disk, $0) }
        }
        begin(hasRebooted: reboots)
    }

    /// Something of what a launch does on the disk goes wrong, or of what it does first.
    private func failAtLaunch() {
        let operation = MemoryDisk.Operation.allCases[random.below(MemoryDisk.Operation.allCases.count)]
        let fault: DiskFault = [.inputOutput, .noSpace, .notPermitted, .tooManyFiles][random.below(4)]
        chronicle.note("fault at launch", text: "\(operation) \(fault)")
        disk.fail(operation, with: fault, skipping: random.below(8))
    }

    /// How long all files are.
    private var lengths: [String: Int64?] {
        Dictionary(disk.paths.map { ($0, disk.length(of: $0)) }, uniquingKeysWith: { $1 })
    }

    /// Somebody removes a file while nobody is there, a finished one or a part, or cuts that.
    private func loseFile(_ places: [String: [DownloadTask]]) {
        let paths = disk.paths.filter { path in places[path] != nil || path.hasSuffix(".part") }
        // Nor one that would take along what has its other name.
        let kept = disk.sharedPaths.union([Self.foreignPart])
        let lost = paths.filter { !foreignPaths.contains($0) && !kept.contains($0) }
        guard !lost.isEmpty else { return }
        let path = lost[random.below(lost.count)]
        chronicle.note("lose", text: path)
        places[path]?.forEach { auditor.noteLoss(of: $0) }
        auditor.noteLoss(ofPartAt: path)
        if path.hasSuffix(".part"), let bytes = disk.contents(of: path), !bytes.isEmpty, random.chance(1, in: 2) {
            return disk.put(Array(bytes.prefix(random.below(bytes.count))), at: path)
        }
        try? disk.remove(path)
    }

    /// The user is there before what has survived is settled.
    private func useEach() {
        if isUserQuiet { return }
        if random.chance(1, in: 2) { changeContext() }
        if random.chance(1, in: 2) { changeNetwork() }
        if random.chance(1, in: 4) { changeDisk() }
        // Much that was started fails before what an earlier process has left is known.
        let startsAll = random.chance(1, in: 3)
        if startsAll {
            for claim in manager.inspections { disk.fail(.open, with: .inputOutput, path: claim.partialPath) }
        }
        for _ in 0..<3 {
            if startsAll {
                auditor.noteStart()
                manager.totalStart()
            }
            for task in manager.tasks where random.chance(2, in: 3) { userVerb()(task, manager) }
            for _ in 0..<random.below(4) { work() }
        }
    }

    /// What happens to transfers while nobody is there.
    private func passWithoutProcess() {
        chronicle.note("without a process", transport.keptNames.count)
        let number = random.below(8)
        if number < 6 { for exchange in transport.underwayExchanges { exchange.release(Int64(random.below(4096))) } }
        switch number {
        case 0..<3: transport.forceQuit()
        case 6: transport.release()
        default: break
        }
    }

    func keepCoverage() {
        if let met = manager.coverage { coverage.add(met) }
    }

    /// Looks at a manager that is new.
    func begin(hasRebooted: Bool = false) {
        meanwhile.manager = manager
        auditor.begin(with: manager)
        lookout.begin(with: manager)
        if let reason = manager.unavailable { chronicle.report(.memory, "the manager cannot be used: \(reason)") }
        auditor.compareLengths(of: manager, disk, hasRebooted: hasRebooted)
        auditor.compareClaims(of: manager, servers.sites, disk)
        for task in manager.allTasks where task.status == .succeeded { compareFile(of: task) }
        tellOfLaunch()
    }
}
