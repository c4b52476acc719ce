import Foundation
import LannerMachine

// The beginning of an engine.

extension Engine {
    func begin(_ manager: SessionManager, _ configuration: SessionConfiguration, _ startup: Startup) {
        state.withLock { state in
            state.manager = manager
            state.lock = startup.lock
            state.isInvalidated = startup.error != nil
            (state.context, state.isShutDown) = (configuration.contextAtLaunch, configuration.isShutDownAtLaunch)
            state.resumesAtLaunch = configuration.resumesAtLaunch
            state.gate.onlyWakes = traits.outlivesProcess
            state.unread = startup.unread
        }
        if let error = startup.error {
            transport.invalidate()
            return log { .error("the manager cannot be used", error: error) }
        }
        for problem in startup.problems {
            log { .error("restored with a loss", error: LannerError.storeError(StoreError(.disk(.other), problem))) }
        }
        apply { configuration }
        watchNetwork()
        removeCopies(of: startup.records)
        removeCopies(of: startup.replaced)
        forget(startup.replaced.map(\.storeKey))
        finishRemovals(startup.removals)
        restore(startup.records, configuration)
        recover()
    }

    /// Works by a configuration from now on, which is asked for under the lock.
    func apply(_ configuration: () -> SessionConfiguration) {
        let now = environment.clock.now
        enter { state in
            let configuration = configuration()
            var settings = configuration.settings(traits, in: environment)
            // Else zeros would be written for most of the file first.
            if fillsGaps { settings.connections = 1 }
            state.gate.access = configuration.networkAccess
            state.timeout = settings.watchdog.silence
            state.fileNaming = configuration.fileNaming
            state.conflictPolicy = configuration.fileConflictPolicy
            state.progressInterval = max(.zero, configuration.progressInterval)
            postsNotifications.withLock { $0 = configuration.postsNotifications }
            limit(settings.rateLimit, at: now)
            let news = state.gate.news()
            // Nobody is admitted in between by what does not hold any more.
            return state.gate.isOpen ? [.settings(settings)] + news : news + [.settings(settings)]
        }
        releaseHeld()
    }

    private func restore(_ records: [DownloadRecord], _ configuration: SessionConfiguration) {
        let (jobs, new, lost) = restored(records, configuration)
        var replaced = lost
        enter { state in
            state.reserve(jobs.count)
            replaced += jobs.compactMap { state.keep($0) }
            for record in records where record.saved.isLeftover { state.keepLeftover(record, boot: boot) }
            state.toldStatus = state.totals.status
            // What was found is told once it is on record: another death might take it back.
            return [.add(new)] + new.lazy.filter(\.isMoving).map { .file($0.id, $0.lastAttempt, .published) }
        }
        if !replaced.isEmpty { record(replaced) }
        for job in jobs where job.task.status == .succeeded {
            compareIfNeeded(job, starts: configuration.resumesAtLaunch)
        }
        if configuration.resumesAtLaunch { startInterrupted(jobs, new) }
        // The end of the process has given nothing back.
        for (job, download) in zip(jobs, new) where download.isShelved || !configuration.resumesAtLaunch {
            if job.state.withLock({ $0.exchange == nil }) { giveBackSpace(of: job) }
        }
    }

    /// The downloads that are remembered, what the machine is told of each, and whose files are gone, which is not on record.
    private func restored(
        _ records: [DownloadRecord], _ configuration: SessionConfiguration
    ) -> (jobs: [Job], new: [NewDownload], replaced: [Job]) {
        var (jobs, new, replaced): ([Job], [NewDownload], [Job]) = ([], [], [])
        jobs.reserveCapacity(records.count)
        new.reserveCapacity(records.count)
        let lastMoves = lastMoves(records)
        let had = hadPlaces(records)
        let replacedIDs = replacedByCopies(records, configuration.fileConflictPolicy)
        for var record in records where !record.saved.isLeftover {
            let isReplaced = replacedIDs.contains(record.id)
            if isReplaced { record.loseFile() }
            let mayReplace = record.policy(or: configuration.fileConflictPolicy) == .replace
            guard let (job, isFound) = restoredJob(record, lastMoves, besides: mayReplace ? HadPlaces() : had) else {
                continue
            }
            if isFound { job.state.withLock { $0.restsAtSuccess = !configuration.resumesAtLaunch } }
            if isReplaced { replaced.append(job) }
            jobs.append(job)
            var download = job.new(isShelved: state.withLock { $0.isShelved(record.context) })
            download.isMoving = isFound
            new.append(download)
        }
        return (jobs, new, replaced)
    }

    /// The process may have died while it copied a file to its place on another device. A copy begins anew, and that may be
    /// elsewhere: afterwards nothing would tell of it.
    private func removeCopies(of records: [DownloadRecord]) {
        for record in records where record.saved.status == .publishing {
            let place = FilePlace(record.place, in: cache)
            guard isReachable(place), isCopied(to: place) else { continue }
            let source = cache.path(of: record.partialName)
            removeNow(Publisher.copyPath(of: source, beside: cache.path(of: place)))
        }
    }

    /// Whether files are copied to a place: it is on another file system than partial files.
    private func isCopied(to place: FilePlace) -> Bool {
        environment.fileSystem.areApart(cache.downloadTmpPath, cache.directory(of: place))
    }

    /// Those whose exchange may have survived go on when that is known, and the others after them.
    private func startInterrupted(_ jobs: [Job], _ new: [NewDownload]) {
        let free = zip(jobs, new).filter { job, _ in job.state.withLock { $0.exchange == nil } }.map(\.1)
        let interrupted = free.filter(\.isInterrupted).map(\.id)
        if traits.outlivesProcess {
            state.withLock { $0.interrupted = Set(interrupted) }
        } else if !interrupted.isEmpty {
            enter { _ in [.user(.start, interrupted, nil)] }
        }
    }

    /// Forgets records that no download has, or that none needs; `done` is told whether that was kept.
    func forget(_ keys: [String], _ done: (@Sendable (Bool) -> Void)? = nil) {
        var pending = PendingChanges()
        pending.completions = done.map { [$0] } ?? []
        pending.changes = keys.map { .remove(key: $0) }
        pending.durability = .machine
        pending.forgets = true
        commit(pending)
    }

    /// When a file was last moved to each place, as far as is known, if that matters to any record.
    private func lastMoves(_ records: [DownloadRecord]) -> [FilePlace: Double] {
        guard records.contains(where: \.saved.isPublished) else { return [:] }
        let moves = records.compactMap { record in record.moved.map { (FilePlace(record.place, in: cache), $0) } }
        return Dictionary(moves, uniquingKeysWith: max)
    }

    /// The places of files that are known to be there, if that matters to any record; and those to which several may have
    /// been moved, of which only one was.
    private func hadPlaces(_ records: [DownloadRecord]) -> HadPlaces {
        let moving = records.filter { $0.saved.status == .publishing }
        if moving.isEmpty { return HadPlaces() }
        let there = Dictionary(grouping: records.filter { $0.saved.status == .succeeded && !$0.isReplaced }) { record in
            FilePlace(record.place, in: cache)
        }
        let places = Dictionary(grouping: moving) { FilePlace($0.place, in: cache) }
        let disputed = places.filter {
            $0.value.count > 1 && $0.value.count { isGone(cache.path(of: $0.partialName)) } > 1
        }
        let owned = places.keys.filter { place in
            there[place]?.contains { $0.file != nil && $0.file == fingerprint(at: place) } == true
        }
        return HadPlaces(likely: Set(there.keys).union(disputed.keys), certain: Set(owned))
    }

    /// Whose files are gone, though that is not on record: that of a download which was to replace them was copied to
    /// their place from another file system, and is known by its partial file, which was yet to be removed.
    private func replacedByCopies(_ records: [DownloadRecord], _ policy: FileConflictPolicy) -> Set<DownloadID> {
        let moving = records.filter { $0.saved.status == .publishing && $0.policy(or: policy) == .replace }
        if moving.isEmpty { return [] }
        let there = Dictionary(grouping: records.filter { $0.saved.mayBeInPlace && !$0.isReplaced }) { record in
            FilePlace(record.place, in: cache)
        }
        var replaced = Set<DownloadID>()
        for record in moving {
            let place = FilePlace(record.place, in: cache)
            let others = there[place, default: []].map(\.id).filter { $0 != record.id }
            if others.isEmpty || !isReachable(place) || !isCopied(to: place) { continue }
            let source = cache.path(of: record.partialName)
            // What cannot be read is left as it was.
            let isCopied = environment.publisher.isFoundCopied(source, to: cache.path(of: place))
            if isCopied == true { replaced.formUnion(others) }
        }
        return replaced
    }

    /// A download as it is remembered, and whether its file was found in its place, of which there is no record. What
    /// lies in a place that another download is known to have, and that is not replaced, is none of this one's, unless
    /// a digest says so, and it is not the very file that the other one had.
    private func restoredJob(
        _ record: DownloadRecord, _ lastMoves: [FilePlace: Double], besides had: HadPlaces
    ) -> (Job, isFound: Bool)? {
        guard let url = URL(string: record.url) else { return nil }
        var record = record
        record.place = FilePlace(record.place, in: cache)
        let digest = record.digest.flatMap { try? Checksum.Digest(parsing: $0) }
        let expected = digest ?? (record.pieces == nil ? record.saved.serverDigest : nil)
        let mayBeOthers = had.certain.contains(record.place) || expected == nil && had.likely.contains(record.place)
        let mayBePublished = record.saved.isPublished || (record.saved.status == .publishing && !mayBeOthers)
        let found = mayBePublished ? find(record, expected, lastMoves) : .nothing
        let (exchange, isFound) = (leftExchange(record), found == .confirmed)
        record.saved = record.saved(in: boot)
        record.note(found, at: environment.clock.date.timeIntervalSince1970)
        if found != .nothing { record.file = fingerprint(at: record.place) }
        let task = DownloadTask(
            id: record.id, identity: record.identity, cache: cache,
            state: TaskState(record, url: url, isFound: isFound, engine: self))
        var state = JobState(record, url: url, digest: digest, isFound: isFound)
        if state.fileInPlace == nil { state.fileInPlace = earlierFile(of: record) }
        state.exchange = exchange
        state.reserve = record.saved.status == .active ? .kept : .none
        state.mayBeAt = mayBePublished && !isFound ? record.place : nil
        return (Job(id: record.id, token: record.token, task: task, state: state), isFound)
    }

    /// What a download had before it was fetched again, if that is still in its place.
    private func earlierFile(of record: DownloadRecord) -> PlacedFile? {
        guard record.saved.status != .succeeded, let file = record.file, isReachable(record.place),
            fingerprint(at: record.place) == file
        else { return nil }
        return PlacedFile(generation: record.saved.generation &- 1, fingerprint: file)
    }

    /// The exchange that a record names, if it may be taken up.
    private func leftExchange(_ record: DownloadRecord) -> KeptExchange? {
        guard traits.outlivesProcess, let mark = record.exchange,
            mark.generation == record.saved.firstGeneration,
            !record.saved.isOfOtherURL, record.mirrorOfVersion == nil
        else { return nil }
        let isWanted = record.saved.status == .active
        return KeptExchange(mark: mark, phase: .left, isWanted: isWanted, isInherited: true)
    }

    /// Looks for the finished file of a download that may have been moved without a record of its success.
    private func find(
        _ record: DownloadRecord, _ digest: Checksum.Digest?, _ lastMoves: [FilePlace: Double]
    ) -> Publisher.Found {
        // Else another file has come in its place since.
        let isLast = record.saved.status == .publishing || lastMoves[record.place] == record.moved
        guard isLast, isReachable(record.place) else { return .nothing }
        return environment.publisher.find(
            cache.path(of: record.partialName), at: cache.path(of: record.place), size: record.saved.total,
            digest: digest)
    }
}

/// Places in which files of downloads should be, and those in which they are.
private struct HadPlaces {
    var likely: Set<FilePlace> = []
    var certain: Set<FilePlace> = []
}

extension TaskState {
    /// A task as it is remembered.
    fileprivate init(_ record: DownloadRecord, url: URL, isFound: Bool, engine: Engine) {
        let saved = record.saved
        self.init(
            engine: engine, status: isFound ? .running : saved.status.restored, url: url, place: record.place)
        (list, metadata, priority) = (record.list, record.metadata, record.priority)
        maximumBytesPerSecond = record.maximumBytesPerSecond
        if case .failed(let failure) = saved.status { error = LannerError(failure) }
        lastFailure = error
        isNameOpen = record.isNameOpen
        validation = record.validation
        (startDate, endDate) = (record.startDate, record.endDate)
        let isThere = isFound || saved.status == .succeeded
        setProgress(completed: isThere ? saved.total ?? 0 : saved.held, total: saved.total)
    }
}

extension JobState {
    /// A job as it is remembered, but for its exchange and where a file of it may be besides.
    fileprivate init(_ record: DownloadRecord, url: URL, digest: Checksum.Digest?, isFound: Bool) {
        self.init(
            address: Address(url: url, fields: record.fields), digest: digest, rank: record.rank, saved: record.saved)
        (mirrors, mirrorOfVersion) = (record.mirrors, record.mirrorOfVersion)
        (link, linkExpirationDate) = (record.link, record.linkExpirationDate)
        pieces = record.pieces
        let isThere = isFound || saved.status == .succeeded
        if isFound { followed = digest }
        let isInPlace = (isThere && !record.isReplaced) || saved.isPublished
        if isInPlace {
            fileInPlace = PlacedFile(
                generation: saved.generation, fingerprint: record.file,
                isUnread: !isThere && fileDigest != nil)
        }
        if isThere, isInPlace, !record.isUncompared {
            // Without a digest what was found has only the right size.
            (followed, followedPieces) = (digest, isFound && digest == nil ? nil : record.pieces)
        }
        (conflictPolicy, hasDestination) = (record.conflictPolicy, record.hasDestination)
        lastSerial = record.lastSerial
    }
}

extension EngineState {
    /// Makes room for so many more.
    fileprivate mutating func reserve(_ count: Int) {
        jobs.reserveCapacity(jobs.count + count)
        ids.reserveCapacity(ids.count + count)
    }

    /// Takes a job in; of two with one identity the later one is found by it. Returns one whose file the other has
    /// replaced, if there is one.
    @discardableResult
    mutating func keep(_ job: Job) -> Job? {
        jobs[job.id] = job
        ids[job.task.identity] = job.id
        identity.lastID = max(identity.lastID, job.id.number)
        lastRank = max(lastRank, job.state.withLock { $0.rank })
        let (figures, list) = job.task.state.withLock { ($0.figures, $0.list) }
        scopes[job.task.context, default: Scope()].add(job.id, list, figures)
        if figures.status == .running { active += 1 }
        if job.state.withLock({ $0.hasDestination }) { places.claim(job.task.place, for: job.id) }
        return keepPlace(job)
    }

    /// Of two that had one place the later file is there.
    private mutating func keepPlace(_ job: Job) -> Job? {
        guard job.state.withLock({ $0.fileInPlace != nil }) else { return nil }
        let place = job.task.place
        let other = places.owner(of: place).flatMap { jobs[$0] }
        let isLater = other.map { $0.isEarlier(than: job) } ?? true
        if isLater { places.take(place, for: job.id) }
        guard let loser = isLater ? other : job, loser.state.withLock({ $0.saved.status == .succeeded }),
            loser.noteReplaced()
        else { return nil }
        // With the success of the other, as where it was moved: after another death they would be told by their dates.
        (isLater ? job : other)?.state.withLock { if $0.saved.status == .publishing { $0.hasReplaced.append(loser) } }
        return loser
    }
}

extension Job {
    /// Whether its file was moved to their place before that of another: one that was found there without a record of it
    /// was the last.
    fileprivate func isEarlier(than other: Job) -> Bool {
        let found = [self, other].map { $0.state.withLock { $0.saved.status == .publishing } }
        return found[0] == found[1] ? task.endDate <= other.task.endDate : found[1]
    }

    /// What the machine is told of a download, a new one or one that was remembered.
    func new(isShelved: Bool, host: HostID? = nil) -> NewDownload {
        let (list, priority, limit, url) = task.state.withLock { ($0.list, $0.priority, $0.rateLimit, $0.url) }
        return state.withLock { state in
            NewDownload(
                id: id, rank: state.rank, hasDigest: state.hasDigest, sizes: state.pieces?.fileSizes, list: list,
                host: host ?? HostID(of: url),
                priority: priority, rateLimit: limit, isShelved: isShelved,
                linkExpires: state.linkExpirationDate?.wholeSeconds, mirrors: state.mirrors.count,
                lastAttempt: state.lastAttempt, saved: state.saved)
        }
    }
}

extension NewDownload {
    /// Whether the process ended before the download had.
    fileprivate var isInterrupted: Bool {
        switch saved.status {
        case .active: true
        case .publishing: !isMoving
        case .suspended, .failed, .succeeded: false
        }
    }
}

extension Saved {
    /// How many bytes there are.
    var held: Int64 { max(written.count, resumeData?.held ?? 0) }

    /// What the server has told the file's digest to be.
    var serverDigest: Checksum.Digest? { version?.digest.flatMap { Checksum.Digest($0) } }
}

extension DownloadRecord {
    /// When its file was moved to its place, if it may have been; of one that went on afterwards only when it began is
    /// known.
    var moved: Double? {
        switch saved.status {
        case .publishing: .infinity
        case .succeeded: isReplaced ? nil : endDate
        case .active, .suspended, .failed: saved.isPublished ? (endDate > 0 ? endDate : startDate) : nil
        }
    }

    /// What happens when its place is taken.
    fileprivate func policy(or configured: FileConflictPolicy) -> FileConflictPolicy {
        movePolicy ?? conflictPolicy ?? configured
    }

    /// What is in its place is another's.
    fileprivate mutating func loseFile() {
        (isReplaced, validation) = (saved.status == .succeeded, .unknown)
        saved.isPublished = false
        if saved.status == .publishing { saved.status = .active }
    }

    /// Takes over what was found of its file.
    fileprivate mutating func note(_ found: Publisher.Found, at now: Double) {
        saved.isPublished = found == .unconfirmed
        // It is what is asked for, wherever it came from.
        if saved.isPublished { saved.isOfOtherURL = false }
        if found == .confirmed { saved.status = .publishing }
        // One that was found has ended by now, and later than any other file of its place.
        if found != .nothing, endDate == 0 { endDate = now }
    }

    /// What is still so in this boot of the machine: after another one only what was synced is sure to be there.
    func saved(in boot: String?) -> Saved {
        var saved = saved
        if self.boot == nil || self.boot != boot { saved.written = saved.synced }
        return saved
    }
}

extension Saved.Status {
    /// How a download comes back: what was under way is suspended until it is started.
    fileprivate var restored: Status {
        switch self {
        case .active, .suspended, .publishing: .suspended
        case .failed: .failed
        case .succeeded: .succeeded
        }
    }
}
