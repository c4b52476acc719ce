import Foundation
import LannerMachine

/// What a manager claims of one download, for those who check it.
package struct Inspection: Sendable {
    package var task: DownloadTask
    /// Whether a digest decides in the end: one of the caller's, or of the server's.
    package var hasChecksum: Bool
    package var hasServerDigest: Bool
    /// The caller's digest of the whole.
    package var digest: Checksum.Digest?
    /// Its pieces, which are compared again after a death.
    package var pieces: Checksum.Pieces?
    /// Whether its file is in its place, and was compared with these.
    package var isCompared: Bool
    /// Where the partial file of the present generation is.
    package var partialPath: String { cache.path(of: partialName) }
    let cache: Cache
    let partialName: PartialName
    /// The positions that the partial file is said to hold; none once it is moved to its place.
    package var claimed: [Range<Int64>]
    /// Those of them that are said to survive the machine.
    package var durable: [Range<Int64>]
    /// Whether those may be of several versions, which only a digest of the whole can tell.
    package var isMixed: Bool
    /// Whether they may be from another URL: without a digest they are given up when the download is admitted.
    package var isOfOtherURL: Bool
    /// Whether it is open, and bytes come.
    package var isTransferring: Bool
    /// Whether it is to be canceled or removed, which may not have been told.
    package var isLeaving: Bool
}

extension SessionManager {
    /// The tasks of all contexts, in order.
    package var allTasks: [DownloadTask] {
        engine.tasks { state in state.scopes.values.flatMap(\.ids) }
    }

    /// What is claimed of every download, in order.
    package var inspections: [Inspection] {
        allTasks.compactMap { engine.inspection(of: $0) }
    }

    /// The partial files that canceled downloads leave to the next ones of the same.
    package var leftoverPaths: [String] { engine.leftoverPaths }

    /// The highest number that a download was given.
    package var lastID: DownloadID { engine.state.withLock { DownloadID($0.identity.lastID) } }

    /// Where the machine has a download; nil when it has none.
    package func place(of task: DownloadTask) -> Coverage.Place? {
        engine.state.withLock { $0.machine[task.id] }.map { Coverage.Place($0.state) }
    }

    /// Has the machine take what was reported before, which may wait for whoever runs the actions.
    package func takeReports() { engine.enter { _ in [] } }

    /// How many downloads hold a slot.
    package var heldSlots: Int { engine.state.withLock { $0.machine.heldSlots } }

    /// Who holds a slot, or what is left of one until it is finished.
    package var running: Set<DownloadID> { engine.state.withLock { Set($0.machine.running) } }

    /// The downloads whose file is open, by the host of the URL they have begun with.
    package var openFilesByHost: [String: [DownloadID]] {
        let jobs = engine.state.withLock { state in state.machine.running.compactMap { state.jobs[$0] } }
        let open = jobs.compactMap { job in
            job.state.withLock { $0.file == nil ? nil : $0.attempted.url.host }.map { (host: $0, id: job.id) }
        }
        return Dictionary(grouping: open, by: \.host).mapValues { $0.map(\.id) }
    }

    /// The pairs of state and event that the machine has met; nil while nobody wants to know.
    package var coverage: Coverage? { engine.state.withLock { $0.machine.coverage } }
}

extension SessionManager {
    /// As ``synchronize()``, for who cannot wait.
    package func synchronize(_ done: @escaping @Sendable (LannerError?) -> Void) { engine.synchronize(done) }

    /// Forgets everything, as the death of the process does: nothing is told, written or closed any more. But sequences end
    /// that somebody waits for, which the process would have taken along.
    package func abandon() {
        let (jobs, tickets, observers) = engine.state.withLock { state in
            let observers = state.observers.end()
            let (jobs, tickets) = state.abandon()
            return (jobs, tickets, observers)
        }
        engine.endNetworkWatch()
        for job in jobs { job.abandon() }
        for observer in observers { observer.end() }
        for job in jobs { job.task.endObservers() }
        // Released outside the lock: users' closures go with them.
        _ = tickets
    }
}

extension Job {
    /// Lets go of what would hold this job for ever, the end that never comes.
    fileprivate func abandon() {
        let (file, sinks, afterEnding, cancel) = state.withLock { state in
            defer {
                (state.file, state.afterEnding, state.linkCall) = (nil, nil, nil)
                (state.sinks, state.ending) = (ExchangeList(), ExchangeList())
            }
            return (state.file, state.sinks.values + state.ending.values, state.afterEnding, state.linkCall?.cancel)
        }
        cancel?()
        for sink in sinks { sink.abandon() }
        // Released outside the lock.
        _ = (file, afterEnding)
    }
}

extension EngineState {
    fileprivate mutating func abandon() -> ([Job], [Ticket: @Sendable () -> Void]) {
        defer {
            (isInvalidated, ending) = (true, nil)
            scopes = [:]
            (jobs, tickets, actions) = (IDTable(), [:], [])
            delivery = BackgroundDelivery()
        }
        return (jobs.values, tickets)
    }
}

extension DownloadTask {
    /// Whether the task goes on with what it holds when it is next started, as far as can be told before; false when it
    /// holds nothing.
    package var canResume: Bool {
        engine?.state.withLock { state in
            state.job(of: self) != nil && state.machine[id]?.canResumeLater(state.machine.settings) == true
        } ?? false
    }

    /// Calls `witness` with every event, on the thread that tells of it: it has to be quick, and to call nothing.
    package func witness(_ witness: @escaping @Sendable (DownloadEvent) -> Void) {
        add { _ in Observer(keep: witness) }
    }
}

extension Engine {
    fileprivate func inspection(of task: DownloadTask) -> Inspection? {
        guard let job = job(task.id), let download = state.withLock({ $0.machine[task.id] }) else { return nil }
        let name = PartialName(token: job.token, id: job.id, generation: download.saved.generation)
        let saved = download.hasPlace ? nil : download.saved
        let isTransferring = if case .transferring = download.state { true } else { false }
        let (hasDigest, digest, pieces, isCompared) = job.state.withLock {
            ($0.hasDigest, $0.digest, $0.pieces, download.state == .succeeded && $0.uncompared == nil)
        }
        return Inspection(
            task: task, hasChecksum: hasDigest, hasServerDigest: download.saved.version?.digest != nil,
            digest: digest, pieces: pieces, isCompared: isCompared, cache: cache, partialName: name,
            claimed: saved?.written.ranges ?? [], durable: saved?.synced.ranges ?? [],
            isMixed: download.isTiedByDigest, isOfOtherURL: download.isOfOtherURL, isTransferring: isTransferring,
            isLeaving: download.parting != nil)
    }
}
