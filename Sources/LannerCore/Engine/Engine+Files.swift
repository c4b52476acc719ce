import Foundation
import LannerMachine

// What the machine wants of partial and finished files.

extension Engine {
    func run(_ action: FileAction, of job: Job, _ attempt: Attempt, onLane isOnLane: Bool) {
        switch action {
        case .open(let generation, let claimed, let total):
            open(job, attempt, generation, claimed, total, onLane: isOnLane)
        case .startOver(let generation, let total): startOver(job, attempt, generation, total)
        case .setTotal(let total): setTotal(total, of: job)
        case .expect(let digest): expect(digest, of: job)
        case .sync: file(job)?.checkpoint()
        case .verify(let total): verify(job, total)
        case .publish: publish(job, attempt)
        case .close(let sync): close(job, sync: sync)
        case .withdraw: withdraw(job)
        case .discard(let finished): discard(job, attempt, finished: finished)
        }
    }

    private func file(_ job: Job) -> PartialFile? { job.state.withLock { $0.file } }

    /// What a transport hands over as a file takes the room of that, where it need not be copied.
    private func setTotal(_ total: Int64, of job: Job) {
        guard let file = file(job) else { return }
        guard traits.delivery == .file,
            environment.fileSystem.mayTakeIn(into: cache.downloadTmpPath, leavingThem: traits.outlivesProcess)
        else { return file.setTotal(total) }
        let isThere = traits.outlivesProcess || job.state.withLock { $0.sinks.values }.contains(where: \.hasFile)
        file.setTotal(total, reserves: false, needsRoom: !isThere)
    }

    /// Takes in a file that a transport hands over, under a name that a launch removes should nobody else.
    func takeIn(_ path: String, of job: Job, _ number: ExchangeNumber) -> TakenFile? {
        // As of a generation that there never is: it is no copy of a partial file.
        let generation = .max - UInt32(truncatingIfNeeded: number)
        let name = PartialName(token: job.token, id: job.id, generation: generation)
        let (taken, fileSystem) = (cache.path(of: name) + PartialName.copySuffix, environment.fileSystem)
        guard fileSystem.takeIn(path, as: taken, leavesIt: traits.outlivesProcess) else { return nil }
        return TakenFile(taken, fileSystem)
    }

    func partialPath(_ job: Job, _ generation: UInt32) -> String {
        cache.path(of: PartialName(token: job.token, id: job.id, generation: generation))
    }

    private func open(
        _ job: Job, _ attempt: Attempt, _ generation: UInt32, _ claimed: ByteRanges, _ total: Int64?,
        onLane isOnLane: Bool
    ) {
        let file = makeFile(job, attempt, generation, claimed, PartialFile.Lanes(environment.lanes))
        job.state.withLock { state in
            state.file = file
            state.attempted = state.address
            state.destination = nil
            state.mirrorDestinations = [:]
        }
        // A new file holds nothing, and takes what comes before it is there: the server is asked meanwhile. Not on the
        // time of a caller, who would begin the exchange; nor for nothing, or for what the transport would lose, when
        // the disk refuses.
        let (isKept, isTrimmed) = trims.withLock { $0.takeBack(job.id) }
        if isKept { job.state.withLock { $0.reserve = .kept } }
        let isAwaited =
            isTrimmed || !isOnLane || !claimed.isEmpty || total != nil || traits.outlivesProcess
            || job.state.withLock { $0.hasFileFailed }
        if isTrimmed { return fileLane.run { file.open(total: total) } }
        file.open(total: total, isAwaited: isAwaited)
        if !isAwaited { handle(.file(job.id, attempt, .opened(held: claimed))) }
    }

    private func startOver(_ job: Job, _ attempt: Attempt, _ generation: UInt32, _ total: Int64?) {
        let old = job.state.withLock { state in
            state.leadBack()
            return state.file
        }
        old?.close(sync: false, dropping: true)
        // On the same lanes: what the old one is writing is written before its file is removed.
        let file = makeFile(
            job, attempt, generation, ByteRanges(), old?.lanes ?? PartialFile.Lanes(environment.lanes))
        job.state.withLock { $0.file = file }
        file.open(total: total)
    }

    /// A partial file in the place of that of an earlier generation. Its bytes were given up, and go at once, since there
    /// may be no room for both. The record need not say so before: one that still speaks of a removed file finds out when
    /// it opens it, and begins from zero as well.
    private func makeFile(
        _ job: Job, _ attempt: Attempt, _ generation: UInt32, _ claimed: ByteRanges, _ lanes: PartialFile.Lanes
    ) -> PartialFile {
        let (digest, pieces, synced, old) = job.state.withLock { state in
            defer {
                (state.fileGeneration, state.fileAttempt) = (generation, attempt)
                (state.followed, state.followedPieces) = (state.digest, state.pieces)
            }
            let old = state.fileGeneration == generation ? nil : state.fileGeneration
            return (state.digest, state.pieces, state.saved.synced, old)
        }
        openFiles.withLock { $0.count += 1 }
        return PartialFile(
            path: partialPath(job, generation), fileSystem: environment.fileSystem, lanes: lanes,
            hasher: digest.map { environment.makeHasher($0.algorithm) }, pieces: pieces, claimed: claimed,
            durable: synced.intersection(claimed), makeHasher: environment.makeHasher,
            replacing: old.map { partialPath(job, $0) }, load: load, group: syncs
        ) { [weak self] event in
            self?.report(event, of: job, attempt)
            if case .closed(let written, let synced) = event {
                let closed = Ending.Closed(attempt: attempt, generation: generation, written: written, synced: synced)
                self?.fileClosed(job.id, closed)
            }
        }
    }

    private func report(_ event: PartialFileEvent, of job: Job, _ attempt: Attempt) {
        let id = job.id
        switch event {
        case .opened(let held):
            job.state.withLock { $0.noteOpened(in: attempt) }
            handle(.file(id, attempt, .opened(held: held)))
        case .wrote(let range):
            relieve(job)
            handle(.file(id, attempt, .wrote(range)))
        case .synced(let ranges): handle(.file(id, attempt, .synced(ranges)))
        case .damaged(let piece): handle(.file(id, attempt, .damaged(piece)))
        case .finished(let actual):
            handle(.file(id, attempt, .verified(job.state.withLock { $0.compare(actual) })))
        case .failed(let error):
            relieve(job)
            if job.state.withLock({ $0.noteFailure(in: attempt) }) { giveUpFiles(of: job) }
            handle(.file(id, attempt, .failed(DownloadFailure(error))))
        // That of a file that is moved is waited for by nobody.
        case .closed where job.state.withLock { $0.movedIn == attempt }: break
        case .closed(let written, let synced):
            if job.state.withLock({ $0.noteClosed(in: attempt) }) { giveBackSpaceIfOver(of: job) }
            handle(.file(id, attempt, .closed(written: written, synced: synced)))
        }
    }

    private func relieve(_ job: Job) {
        let (sinks, ending) = job.state.withLock { ($0.sinks.values, $0.ending.values) }
        for sink in sinks { sink.relieve() }
        for sink in ending { sink.relieve() }
    }

    /// The server has told a digest: where the caller has given one, the file is hashed for that already, and where he has
    /// given those of the pieces, they decide.
    private func expect(_ digest: ServerDigest, of job: Job) {
        guard let digest = Checksum.Digest(digest) else { return }
        let file = job.state.withLock { state -> PartialFile? in
            guard state.followed == nil, state.pieces == nil else { return nil }
            state.followed = digest
            return state.file
        }
        file?.hash(with: environment.makeHasher(digest.algorithm))
    }

    private func verify(_ job: Job, _ total: Int64) {
        // It takes nothing any more.
        leaveThrottle(job)
        // What turns out to be wrong is fetched again.
        job.state.withLock { $0.leadBack() }
        file(job)?.finish(total: total)
    }

    private func close(_ job: Job, sync: Bool) {
        // Nothing comes any more, though one that is about to fail runs until its file is closed.
        job.task.state.withLock { $0.speed.stop() }
        if !sync { giveUpFiles(of: job) }
        // The machine is told of resume data first: with the file closed, the attempt is over.
        afterEnding(job) { [self] in closeFile(of: job, sync: sync) }
    }

    func closeFile(of job: Job, sync: Bool) {
        leaveThrottle(job)
        let isResting = state.withLock { $0.isComingToRest(job) }
        let file = job.state.withLock { state in
            defer { state.file = nil }
            state.endExchange()
            if state.file != nil { state.leaveReserve(isResting: isResting) }
            return state.file
        }
        // What is not worth a sync is not worth a write.
        file?.close(sync: sync, dropping: !sync, resting: isResting == true)
    }

    // MARK: Removing

    /// Removes files on the file lane; what cannot be removed is logged.
    func remove(_ paths: [String], then done: @escaping @Sendable () -> Void = {}) {
        fileLane.run { [self] in
            paths.forEach(removeNow)
            done()
        }
    }

    func removeNow(_ path: String) {
        do throws(FileError) { try environment.fileSystem.remove(path) } catch { logRemoval(error) }
    }

    func logRemoval(_ error: FileError) {
        log { .error("could not remove a file", error: LannerError.failed(DownloadFailure(error))) }
    }
}

extension EngineState {
    /// Whether a download is stopped for longer than until its next attempt; nil if it is not stopped.
    fileprivate func isComingToRest(_ job: Job) -> Bool? {
        guard case .pausing(let pausing) = machine[job.id]?.state else { return nil }
        return switch pausing.intent {
        case .suspend, .fail, .cancel, .remove, .wait(.shelved): true
        case .restart, .wait: false
        }
    }
}

extension JobState {
    /// The disk has refused something of an attempt's file. Says whether that is the present one, and not one that
    /// another has replaced, whose hash lane may still be reading it.
    mutating func noteFailure(in attempt: Attempt) -> Bool {
        guard attempt == fileAttempt else { return false }
        hasFileFailed = true
        return true
    }

    /// What the digest of the whole file says of it, its pieces being right.
    fileprivate func compare(_ actual: [UInt8]?) -> Verification {
        // Another digest may have been given since the file was opened: then nothing has been compared.
        if let digest, digest != followed { return .sizeOnly }
        guard let followed else { return pieces == nil ? .sizeOnly : .correct }
        guard let actual else { return .sizeOnly }
        if actual == followed.bytes { return .correct }
        let found =
            (try? Checksum.Digest(algorithm: followed.algorithm, bytes: actual).hexadecimal) ?? "of another length"
        let (origin, advice) =
            digest == nil
            ? ("that the server gives", "download again, or do not compare digests of this server")
            : ("expected", "check the checksum, or download again")
        let kind = followed.algorithm.rawValue
        return .mismatch("The file's \(kind) is \(found), not the \(followed.hexadecimal) \(origin); \(advice).")
    }
}

extension Checksum.Digest {
    init?(_ digest: ServerDigest) {
        guard let algorithm = Checksum.Algorithm(rawValue: digest.algorithm.rawValue) else { return nil }
        try? self.init(algorithm: algorithm, bytes: digest.bytes)
    }
}

extension DownloadFailure {
    /// The disk refused: what, where, and what to do.
    init(_ error: FileError) {
        self.init(.disk(error.fault), "\(error)" + error.advice)
    }
}
