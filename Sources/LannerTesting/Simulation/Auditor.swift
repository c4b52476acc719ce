import Foundation
import LannerCore
import LannerMachine

/// Watches a manager and says when it breaks a rule.
struct Auditor {
    private let chronicle: Chronicle
    /// Held, so that no new task is taken for one that is gone.
    private var observed: Set<DownloadTask> = []
    /// Calls whose handlers have yet to be called.
    private var expected: [ExpectedCall] = []
    /// What was ever asked for.
    private var asked: [Identity: Asked] = [:]
    /// What the present manager was given by the last one.
    private var known: [Identity] = []
    /// The partial files that were there when the last manager died, and what it claimed of them.
    private var partials: [String: ByteRanges] = [:]
    /// The partial files of which somebody has taken bytes.
    private var cut: Set<String> = []
    /// What had succeeded when the last manager died.
    private var succeeded: [Identity] = []
    /// The URLs of sites that are ranged.
    var ranged: Set<URL> = []
    /// Whether faults have stopped, and with them everything that they had begun.
    let isSettled = Locked(false)
    /// How often the user may have started something; a start forgives what failed before.
    let starts = Locked(0)

    /// Downloads that have succeeded and lost their files since: to the user, or to a removal that the store could not
    /// keep, and which may therefore come back without them.
    private let doomed = Locked(Doomed())
    /// Finished files that are to go with their tasks, by their paths.
    let leaving = Leaving()

    init(_ chronicle: Chronicle) {
        self.chronicle = chronicle
    }

    // MARK: Each launch

    /// A new manager: what the last one owed is gone with it.
    mutating func begin(with manager: SessionManager) {
        (observed, expected) = ([], [])
        let tasks = manager.allTasks
        tasks.forEach { observe($0) }
        leaving.forget(tasks)
        let found = Dictionary(tasks.map { ($0.identity, $0.status) }, uniquingKeysWith: { $1 })
        if found.count < tasks.count { chronicle.report(.oneTask, "two downloads have one key") }
        for one in known where found[one] == nil { chronicle.report(.memory, "\(one) is forgotten") }
        for one in succeeded where found[one] != .succeeded {
            chronicle.report(.memory, "\(one) had succeeded, which is forgotten")
        }
        known = tasks.map(\.identity)
    }

    /// A death follows: the next manager has to know what this one was given by the last, and what it has told to have
    /// succeeded.
    mutating func noteKnown(of manager: SessionManager, _ disk: MemoryDisk, reboots: Bool) {
        partials = [:]
        let inspections = manager.inspections
        for claim in inspections {
            let length = disk.length(of: claim.partialPath)
            partials[claim.partialPath] = length.map { ByteRanges(claim.claimed).clipped(to: $0) }
        }
        let lost = doomed.withLock { $0.identities }
            .union(inspections.filter(\.isLeaving).map(\.task.identity))
        known.removeAll { lost.contains($0) }
        // What a dead process had left to the kernel was read, but the device took neither that nor all of it anew.
        let files = disk.paths.filter { StoreFileName.hasRecords($0.lastComponent) }
        if reboots, files.contains(where: disk.hasLostInheritance) { known = [] }
        // One that does not have what is asked for now is fetched again.
        succeeded = inspections.filter { $0.task.status == .succeeded && $0.isCompared }.map(\.task.identity)
        succeeded.removeAll { lost.contains($0) }
    }

    /// S2: no death takes bytes that are claimed. Those of a record which could not be kept up to date may have been gone
    /// before; or, where there are pieces, which are compared when the file is opened, been fetched again and not synced.
    func compareLengths(of manager: SessionManager, _ disk: MemoryDisk, hasRebooted: Bool) {
        for claim in manager.inspections where claim.pieces == nil || !hasRebooted {
            guard let end = claim.claimed.last?.upperBound, let held = partials[claim.partialPath],
                claim.claimed.allSatisfy(held.contains)
            else { continue }
            let length = disk.length(of: claim.partialPath) ?? 0
            if length < end {
                chronicle.report(.rightBytes, "\(claim.task.url) claims \(end) bytes, of which a death left \(length)")
            }
        }
    }

    /// S2: what a manager claims to hold of a file is there, and of one version.
    func compareClaims(of manager: SessionManager, _ sites: [SimulatedSite], _ disk: MemoryDisk) {
        for claim in manager.inspections where !claim.claimed.isEmpty {
            // With a digest the bytes of two versions may stand side by side; it decides in the end.
            if claim.hasChecksum || claim.hasServerDigest || claim.isMixed { continue }
            // A partial file that is gone, or was emptied to be removed, is noticed when it is opened.
            guard let file = disk.contents(of: claim.partialPath) else { continue }
            if claim.isTransferring, let end = claim.claimed.last?.upperBound, end > file.count {
                chronicle.report(.rightBytes, "\(claim.task.url) claims \(end) bytes of \(file.count)")
            }
            let sites = self.sites(of: claim.task, sites)
            // What a canceled download leaves to one with another URL loses its digest: a lie in it goes unnoticed until
            // the bytes are given up.
            if claim.isOfOtherURL, sites.contains(where: \.needsChecksum) { continue }
            let claimed = claim.claimed.map { $0.clamped(to: 0..<Int64(file.count)) }
            if !sites.contains(where: { $0.holds(file, in: claimed) }) {
                chronicle.report(.rightBytes, "\(claim.task.url) claims \(claimed) of no version")
            }
        }
    }

    /// S2: what a manager claims to be safe from the death of the machine is on the device. A wrong piece, or what somebody
    /// has taken, may have been written again since the record that a dead process has left.
    func compareDurableClaims(of manager: SessionManager, _ disk: MemoryDisk) {
        for claim in manager.inspections where claim.pieces == nil && !claim.durable.isEmpty {
            if cut.contains(claim.partialPath) || disk.hasDurably(claim.durable, of: claim.partialPath) { continue }
            chronicle.report(.rightBytes, "\(claim.task.url) claims \(claim.durable) to be synced, which is not")
        }
    }

    /// What was asked for in one call is one commit: a death leaves all of it or nothing.
    func compareTogether(_ asked: [DownloadTask], _ manager: SessionManager) {
        let ids = Dictionary(manager.allTasks.map { ($0.identity, $0.id) }, uniquingKeysWith: { $1 })
        let found = asked.count { ids[$0.identity] == $0.id }
        if found > 0, found < asked.count {
            chronicle.report(.memory, "of \(asked.count) downloads of one call \(found) came back")
        }
    }

    // MARK: Tasks

    /// The user takes the file of a task away.
    mutating func noteLoss(of task: DownloadTask) {
        doomed.withLock { $0.insert(task) }
        succeeded.removeAll { $0 == task.identity }
    }

    /// Somebody takes a partial file away.
    mutating func noteLoss(ofPartAt path: String) {
        partials[path] = nil
        cut.insert(path)
    }

    /// The user asks for a file, by whatever key.
    mutating func noteAsked(
        _ identity: Identity, _ url: URL, _ digest: Checksum.Digest? = nil, _ pieces: Checksum.Pieces? = nil
    ) {
        asked[identity, default: Asked()].urls.insert(url)
        if let digest { asked[identity]?.digests.insert(digest) }
        if let pieces { asked[identity]?.pieces.insert(pieces) }
    }

    /// The sites whose file may be that of a task: one that was given another URL may still have that of the one before.
    private func sites(of task: DownloadTask, _ sites: [SimulatedSite]) -> [SimulatedSite] {
        let urls = asked[task.identity]?.urls ?? [task.url]
        return sites.filter { site in urls.contains(where: site.leads) }
    }

    /// Whether another file may be in the place of a task that has succeeded, or none.
    func mayHaveLost(_ task: DownloadTask) -> Bool { doomed.withLock { $0.contains(task) } }

    /// A file that was to go with its task is not there without it.
    func compareRemovals(of manager: SessionManager, _ disk: MemoryDisk) {
        let places = Set(manager.allTasks.map(\.filePath))
        for path in leaving.left(on: disk) where !places.contains(path) {
            chronicle.report(.memory, "\(path) was left over, though it was to go with its task")
        }
    }

    func noteStart() {
        starts.withLock { $0 += 1 }
    }

    mutating func observe(_ task: DownloadTask) {
        guard observed.insert(task).inserted else { return }
        let state = Locked(TaskWatch(task))
        let (chronicle, isSettled, starts, doomed) = (chronicle, isSettled, starts, doomed)
        let (name, ranged) = (task.identity, ranged)
        task.witness { [unowned task] event in
            switch event {
            case .status(let status):
                chronicle.note("status", Int(status.number), text: "\(name) \(status.rawValue)")
                doomed.withLock { $0.note(status, of: task) }
                state.withLock { state in
                    if !state.status.leads(to: status) {
                        chronicle.report(.status, "\(name) went from \(state.status.rawValue) to \(status.rawValue)")
                    }
                    state.note(status, isSettled: isSettled.withLock { $0 })
                }
            case .progress(let completed, let total):
                chronicle.note("progress", Int(completed), Int(total ?? -1), text: "\(name)")
                state.withLock { state in
                    if completed < state.completed {
                        chronicle.report(.progress, "\(name) went from \(state.completed) back to \(completed)")
                    }
                    state.note(completed)
                }
            case .restarted(let reason):
                chronicle.note("restarted", text: "\(name) \(reason.rawValue)")
                // What it had put into its place is removed, for others as well that have the same.
                if reason == .bytesLost { doomed.withLock { $0.insertPlace(of: task) } }
                let mayBeRight = state.withLock { $0.restart(for: reason) }
                if !mayBeRight, ranged.contains(task.url) {
                    chronicle.report(.progress, "\(name) began again for want of ranges, which there are")
                }
            case .retrying:
                chronicle.note("retrying", text: "\(name)")
                // What was gained, and forgave what had failed before, may be lost before it is told.
                if state.withLock({ $0.retry(after: starts.withLock { $0 }) }) > 2 * World.mostRetries + 1 {
                    chronicle.report(.liveness, "\(name) tries again and again")
                }
            case .response(let head): chronicle.note("response", head.status, text: "\(name)")
            }
        }
    }

    /// What the manager says of all tasks is the sum of what those say that know their sizes.
    func compareTotals(of manager: SessionManager) {
        let tasks = manager.tasks.filter { $0.totalBytes != nil }
        let completed = tasks.reduce(0) { $0 + $1.completedBytes }
        let total = tasks.reduce(0) { $0 + ($1.totalBytes ?? 0) }
        let progress = manager.progress
        if (progress.completedUnitCount, progress.totalUnitCount) != (completed, total) {
            chronicle.report(
                .progress,
                "all have \(completed) of \(total) bytes, the manager says \(progress.completedUnitCount) of "
                    + "\(progress.totalUnitCount)")
        }
    }

    // MARK: Handlers

    /// A call that may be made, and whose handler is then called once.
    @discardableResult
    mutating func expectCall(_ name: String) -> ExpectedCall {
        if expected.count > 64 { expected.removeAll(where: \.isCalled) }
        let call = ExpectedCall(name, chronicle)
        expected.append(call)
        return call
    }

    func allHandlersWereCalled(_ occasion: String) {
        for call in expected where call.isOwed {
            chronicle.report(.handler, "the handler of \(call.name) was not called though \(occasion)")
        }
    }

    // MARK: Files

    /// S1: what is in the place of a task that has succeeded. Which digest counted is the task's affair: one that is asked
    /// for once the file was verified comes too late.
    func compareFile(of task: DownloadTask, _ sites: [SimulatedSite], _ disk: MemoryDisk) {
        // The record of a success may outlive its file, whose place may be another's by then.
        let mayBeAnothers = mayHaveLost(task)
        guard let file = disk.contents(of: task.filePath) else {
            if mayBeAnothers { return }
            return chronicle.report(.oneVersion, "\(task.url) has succeeded without a file")
        }
        let sites = mayBeAnothers ? sites : self.sites(of: task, sites)
        if sites.contains(where: { $0.versions.contains(file) }) { return }
        let asked = asked[task.identity] ?? Asked()
        if asked.digests.contains(where: { file.digest($0.algorithm) == $0 }) { return }
        if asked.pieces.contains(where: { $0.fits(file) }) { return }
        chronicle.report(.oneVersion, "\(task.url) has \(file.count) bytes that are of no version")
    }

    /// S1: once all has come to rest, what has succeeded has the digests that were asked for last, whenever that was.
    func compareDigests(of claim: Inspection, _ disk: MemoryDisk) {
        guard let file = disk.contents(of: claim.task.filePath), !mayHaveLost(claim.task) else { return }
        if let digest = claim.digest, file.digest(digest.algorithm) != digest {
            chronicle.report(.oneVersion, "\(claim.task.url) has succeeded without the digest that was asked for")
        }
        if let pieces = claim.pieces, !pieces.fits(file) {
            chronicle.report(.oneVersion, "\(claim.task.url) has succeeded without the pieces that were asked for")
        }
    }
}

/// Downloads that may have no file any more; also those whose file was replaced by that of another one, which is gone.
private struct Doomed {
    private(set) var identities: Set<Identity> = []
    private var paths: Set<String> = []

    func contains(_ task: DownloadTask) -> Bool { identities.contains(task.identity) || paths.contains(task.filePath) }

    mutating func insert(_ task: DownloadTask) {
        identities.insert(task.identity)
        insertPlace(of: task)
    }

    mutating func insertPlace(of task: DownloadTask) { paths.insert(task.filePath) }

    mutating func note(_ status: Status, of task: DownloadTask) {
        switch status {
        case .willCancel, .willRemove: insert(task)
        case .succeeded:
            identities.remove(task.identity)
            paths.remove(task.filePath)
        case .waiting, .running, .suspended, .failed, .willSuspend, .canceled, .removed: break
        }
    }
}

/// Finished files that are to go with their tasks.
final class Leaving: Sendable {
    private let files = Locked<[String: FileFingerprint]>([:])

    /// The user wants a task to go with its finished file, or to leave that there.
    func note(_ task: DownloadTask, completely: Bool, _ disk: MemoryDisk) {
        // More may be asked for while it goes, but not less.
        if task.status == .willRemove, !completely { return }
        let isThere = completely && (task.status == .succeeded || task.status == .willRemove) && task.hasFile
        let file = isThere ? disk.identity(of: task.filePath) : nil
        files.withLock { $0[task.filePath] = file }
    }

    /// What has come back was not removed: another removal may leave its file.
    func forget(_ tasks: [DownloadTask]) {
        files.withLock { files in tasks.forEach { files[$0.filePath] = nil } }
    }

    /// The paths of those that are still there.
    func left(on disk: MemoryDisk) -> [String] {
        files.withLock { $0 }.filter { disk.identity(of: $0.key) == $0.value }.keys.sorted()
    }
}

/// What was ever asked for by one key.
private struct Asked {
    var urls: Set<URL> = []
    var digests: Set<Checksum.Digest> = []
    var pieces: Set<Checksum.Pieces> = []
}

extension Checksum.Pieces {
    /// Whether a file consists of these pieces.
    func fits(_ file: [UInt8]) -> Bool {
        fileSizes.contains(Int64(file.count)) && file.pieces(length: Int(length), algorithm) == self
    }
}

/// What is known of a task from its events.
private struct TaskWatch {
    private(set) var status: Status
    private(set) var completed: Int64
    /// Retries since bytes were gained, or a start.
    private var retries = 0
    private var starts = 0
    private var most: Int64
    /// Whether a server may have shown before that it cannot be trusted with ranges: those that serve them do so while
    /// there are faults only, and a start forgives it.
    private var mayMistrust = true

    init(_ task: DownloadTask) {
        (status, completed, most) = (task.status, task.completedBytes, task.completedBytes)
    }

    mutating func note(_ status: Status, isSettled: Bool) {
        // What is downloaded again gains from its first byte on.
        if self.status == .succeeded { most = 0 }
        if self.status.isAtRest, status == .waiting { mayMistrust = !isSettled }
        self.status = status
    }

    mutating func note(_ completed: Int64) {
        if completed > most { (most, retries) = (completed, 0) }
        self.completed = completed
    }

    /// Whether the reason may be the right one, where there are ranges.
    mutating func restart(for reason: RestartReason) -> Bool {
        completed = 0
        if reason == .rangesNotServed { return mayMistrust }
        mayMistrust = true
        return true
    }

    mutating func retry(after starts: Int) -> Int {
        retries = self.starts == starts ? retries + 1 : 1
        self.starts = starts
        return retries
    }
}

/// A call and its handler.
final class ExpectedCall: Sendable {
    private enum State {
        case notMade, inside, returned, called
    }

    let name: String
    private let chronicle: Chronicle
    private let state = Locked(State.notMade)

    init(_ name: String, _ chronicle: Chronicle) {
        self.name = name
        self.chronicle = chronicle
    }

    var isCalled: Bool { state.withLock { $0 == .called } }
    /// Whether the call was made and the handler not called.
    var isOwed: Bool { state.withLock { $0 == .inside || $0 == .returned } }

    /// Makes the call, unless it was made before: then it is made without a handler.
    func make(_ call: ((@Sendable () -> Void)?) -> Void) {
        let isFirst = state.withLock { state in
            defer { if state == .notMade { state = .inside } }
            return state == .notMade
        }
        let handler: @Sendable () -> Void = { self.called() }
        call(isFirst ? handler : nil)
        if isFirst { returned() }
    }

    private func returned() {
        state.withLock { state in
            if state == .inside { state = .returned }
        }
    }

    private func called() {
        chronicle.note("handler", text: name)
        let isElsewhere = chronicle.isElsewhere
        state.withLock { state in
            if state == .called { chronicle.report(.handler, "the handler of \(name) was called twice") }
            if state == .inside, !isElsewhere {
                chronicle.report(.handler, "the handler of \(name) was called inside the call")
            }
            state = .called
        }
    }
}

extension SimulatedSite {
    /// Whether a download of this URL ends here.
    func leads(from url: URL) -> Bool { url == self.url || url == alias }
}

extension Status {
    var number: Int {
        let all: [Status] = Status.allCases
        return all.firstIndex(of: self) ?? -1
    }
}
