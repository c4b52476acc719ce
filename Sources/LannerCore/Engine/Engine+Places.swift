import Foundation
import LannerMachine

// How finished files are named, where they go, and whose they are. What is looked at and done in a directory is on the
// file lane, or on another where that is on another device, one thing at a time.

extension Engine {
    /// An answer is good: a name that was left to the server is decided now. `place` is where it came from, if the
    /// transport tells.
    func settleName(_ job: Job, _ head: ResponseHead, from source: Source, _ place: URL?) {
        guard job.task.state.withLock({ $0.isNameOpen }) else { return }
        let way = job.state.withLock { source == 0 ? $0.destination : $0.mirrorDestinations[source] }
        let url = place ?? way?.url ?? job.task.url
        let name =
            FileName.served(head) ?? FileName.lastComponent(of: url) ?? FileName.standard(for: job.task.url)
        job.task.state.withLock { state in
            // Or the user has given one meanwhile.
            if state.isNameOpen { (state.place.name, state.isNameOpen) = (name, false) }
        }
    }
}

// Files are moved to their places all that wait for that at once: their directories are synced once for all of them, and
// the machine is told of all together, so that one commit records them. Those that have to be copied, which may take long,
// hold up no others.

/// A finished file on its way to its place.
struct FileMove: Sendable {
    let job: Job
    let attempt: Attempt
    let source: String
}

/// One that is there, its name not with the device yet.
private struct MovedFile {
    let move: FileMove
    let place: FilePlace
    /// Whose file was there.
    let other: DownloadID?
    /// Whether its partial file is there as well, as ``Publisher/Move`` has it.
    var isCopied = false
}

extension Engine {
    func publish(_ job: Job, _ attempt: Attempt) {
        let generation = job.state.withLock { state in
            state.movedIn = attempt
            return state.saved.generation
        }
        closeFile(of: job, sync: false)
        let move = FileMove(job: job, attempt: attempt, source: partialPath(job, generation))
        let isFirst = moves.withLock { moves in
            moves.append(move)
            return moves.count == 1
        }
        if isFirst { fileLane.run { [self] in publishWaiting() } }
    }

    private func publishWaiting() {
        let waiting = moves.withLock { moves in
            defer { moves = [] }
            return moves
        }
        var (near, far, isFar): ([FileMove], [FileMove], [String?: Bool]) = ([], [], [:])
        for move in waiting {
            let place = move.job.task.place
            let isApart = isFar[place.directory] ?? isApart(place)
            isFar[place.directory] = isApart
            if isApart { far.append(move) } else { near.append(move) }
        }
        if !far.isEmpty { copyLane.run { [self, far] in publish(far) } }
        if !near.isEmpty { publish(near) }
    }

    /// Whether a place is on another device than the partial files.
    private func isApart(_ place: FilePlace) -> Bool {
        environment.fileSystem.areApart(cache.downloadTmpPath, cache.directory(of: place))
    }

    /// Does something in the directory of a place behind all that is to be done there.
    private func run(at place: FilePlace, _ work: @escaping @Sendable () -> Void) {
        fileLane.run { [self] in if isApart(place) { copyLane.run(work) } else { work() } }
    }

    /// Calls back when all that is to be done in directories is done.
    func afterFileWork(_ done: @escaping @Sendable () -> Void) {
        fileLane.run { [self] in copyLane.run(done) }
    }

    private func publish(_ waiting: [FileMove]) {
        let policy = state.withLock { $0.conflictPolicy }
        var moved: [MovedFile] = []
        var events: [Event] = []
        for move in waiting {
            do throws(FileError) {
                if isWanted(move.job), let file = try moveToPlace(move, policy) {
                    moved.append(file)
                } else {
                    let isTaken = isWanted(move.job)
                    let failure = DownloadFailure(TransportFailure.canceled)
                    events.append(.file(move.job.id, move.attempt, isTaken ? .placeTaken : .failed(failure)))
                }
            } catch {
                events.append(.file(move.job.id, move.attempt, .failed(failure(error, of: move))))
            }
        }
        events += confirm(moved)
        noteReplaced(moved)
        handle(events)
    }

    /// Whether nobody has canceled or removed the download meanwhile.
    private func isWanted(_ job: Job) -> Bool { state.withLock { $0.machine[job.id]?.isUnwanted != true } }

    /// Whether a copy of its file is to go on: the end does not wait for that, and the next launch makes it anew.
    private func mayCopy(_ job: Job) -> Bool { isWanted(job) && !isOver }

    /// Those whose files were in the place have none any more, whatever the device says to the new names. That is on record
    /// with the successes at the latest: after a launch it would be told by the dates, and the clock may have been set back.
    private func noteReplaced(_ moved: [MovedFile]) {
        let replaced = state.withLock { state in
            moved.compactMap { file -> Job? in
                // Its place may have been its own before the move, or be again that of whom it has replaced.
                guard let id = file.other, id != file.move.job.id, state.places.owner(of: file.place) != id,
                    let other = state.livingJob(id), other.noteReplaced()
                else { return nil }
                file.move.job.state.withLock { $0.hasReplaced.append(other) }
                return other
            }
        }
        if !replaced.isEmpty { record(replaced) }
    }

    /// Has the names of moved files kept by the device, and removes what was only copied.
    private func confirm(_ moved: [MovedFile]) -> [Event] {
        let directories = moved.map { cache.directory(of: $0.place) }
        var (synced, errors) = (Set<PathKey>(), [PathKey: FileError]())
        for directory in directories where synced.insert(PathKey(directory)).inserted {
            errors[PathKey(directory)] = syncError(directory)
        }
        return zip(moved, directories).map { file, directory in
            let (job, attempt) = (file.move.job, file.move.attempt)
            guard let error = errors[PathKey(directory)] else {
                if file.isCopied { removeNow(file.move.source) }
                return .file(job.id, attempt, .published)
            }
            job.state.withLock { ($0.mayBeAt, $0.isInPlace) = (file.place, !file.isCopied) }
            if !file.isCopied { return .file(job.id, attempt, .unconfirmed(DownloadFailure(error))) }
            // It is copied again; a later launch would take this one for somebody's that is in its way.
            removeNow(cache.path(of: file.place))
            state.withLock { $0.places.leave(file.place, job.id) }
            return .file(job.id, attempt, .failed(DownloadFailure(error)))
        }
    }

    private func syncError(_ directory: String) -> FileError? {
        do throws(FileError) {
            try environment.publisher.confirm(directory)
            return nil
        } catch {
            return error
        }
    }

    /// Nil when its place was taken, and it has another now, or when the file is not wanted any more. The policy is that of
    /// who has none of its own.
    private func moveToPlace(_ move: FileMove, _ policy: FileConflictPolicy) throws(FileError) -> MovedFile? {
        let (job, source, place) = (move.job, move.source, move.job.task.place)
        if try isMoved(move, to: place) { return MovedFile(move: move, place: place, other: nil) }
        if place.directory != nil { try makeDirectory(of: place) }
        switch job.state.withLock({ $0.movePolicy ?? $0.conflictPolicy }) ?? policy {
        case .replace:
            return try make(move, to: place) { publisher throws(FileError) in
                try publisher.move(source, to: cache.path(of: place))
            }
        case .keepBoth:
            if let file = try moveIfFree(move, to: place) { return file }
            if mayCopy(job) { try giveFreeName(to: job) }
            return nil
        case .fail:
            if let file = try moveIfFree(move, to: place) { return file }
            if !mayCopy(job) { return nil }
            throw FileError(fault: .inTheWay, operation: "move a file to", path: cache.path(of: place))
        }
    }

    /// Why a file was not moved. A place that another download has is not free, though somebody has taken its file away.
    /// Of a task in another context nothing is told.
    private func failure(_ error: FileError, of move: FileMove) -> DownloadFailure {
        let path = cache.path(of: move.job.task.place)
        let owner = state.withLock { state in
            state.places.owner(of: move.job.task.place).flatMap { state.jobs[$0]?.task }
        }
        guard error.fault == .inTheWay, let owner, owner.id != move.job.id,
            (try? environment.fileSystem.isTaken(path)) == false
        else { return DownloadFailure(error) }
        let isShown = owner.context == move.job.task.context
        let name = isShown ? "the task “\(Destination.redacted(owner.key))”" : "another task"
        return DownloadFailure(
            .disk(.inTheWay),
            "move a file to \(path): it is the place of \(name), though its file is gone; remove that task, or choose "
                + "another name")
    }

    /// Whether the file was moved before, is still there, and is what is asked for now. Reads it when there is a digest
    /// that it was not compared with.
    private func isMoved(_ move: FileMove, to place: FilePlace) throws(FileError) -> Bool {
        guard hasItsFile(move.job) else { return false }
        let (size, digest) = move.job.state.withLock { state in
            let digest = state.digest ?? (state.pieces == nil ? state.saved.serverDigest : nil)
            return (state.saved.total, digest == state.followed ? nil : digest)
        }
        let isMoved = try environment.publisher.isMoved(
            move.source, to: cache.path(of: place), size: size, digest: digest)
        if isMoved, let digest {
            move.job.state.withLock { $0.followed = digest }
            move.job.task.state.withLock { $0.validation = .correct }
        }
        return isMoved
    }

    /// Makes the directory of a place, and sees to it that it is where it seems to be.
    private func makeDirectory(of place: FilePlace) throws(FileError) {
        try environment.fileSystem.makeDirectory(cache.downloadFilePath)
        guard place.directory != nil else { return }
        let directory = cache.directory(of: place)
        guard isReachable(place) else {
            throw FileError(fault: .notPermitted, operation: "put a file into", path: directory)
        }
        try environment.fileSystem.makeDirectory(directory)
    }

    /// Whether a place is in a directory that is allowed, and no symbolic link below that leads elsewhere.
    func isReachable(_ place: FilePlace) -> Bool {
        guard place.directory != nil else { return true }
        let path = cache.path(of: place)
        guard let base = cache.base(ofFile: path) else { return false }
        return !environment.fileSystem.hasLink(in: cache.directory(of: place), below: base)
    }

    private func moveIfFree(_ move: FileMove, to place: FilePlace) throws(FileError) -> MovedFile? {
        guard state.withLock({ $0.places.isFree(place, for: move.job.id) }) else { return nil }
        let path = cache.path(of: place)
        return try make(move, to: place) { publisher throws(FileError) in
            if let way = try publisher.moveIfFree(move.source, to: path) { return way }
            // Or it is this very file that was put there before.
            guard move.job.state.withLock({ $0.mayBeAt }) == place else { return nil }
            return try publisher.isCopied(move.source, to: path) ? .copied : nil
        }
    }

    /// Gives the place to the download for the move, and takes it back when that was not made: then nil.
    private func make(
        _ move: FileMove, to place: FilePlace, _ work: (Publisher) throws(FileError) -> Publisher.Move?
    ) throws(FileError) -> MovedFile? {
        let other = state.withLock { $0.places.take(place, for: move.job.id) }
        var file = MovedFile(move: move, place: place, other: other)
        do throws(FileError) {
            var publisher = environment.publisher
            publisher.isWanted = { [self] in mayCopy(move.job) }
            let way = try makingDirectory { () throws(FileError) in
                try makeDirectory(of: place)
            } for: { () throws(FileError) in
                try work(publisher)
            }
            file.isCopied = way == .copied
            settle(file, isMade: way != nil)
            return way == nil ? nil : file
        } catch {
            distrust(file, after: error)
            throw error
        }
    }

    private func settle(_ file: MovedFile, isMade: Bool) {
        let job = file.move.job
        job.state.withLock { state in
            state.isInPlace = isMade
            if isMade { state.sizeInPlace = state.saved.total }
        }
        if !isMade { state.withLock { $0.giveBack(file.place, from: job.id, to: file.other) } }
    }

    /// The move failed, in part at least: the file may be there all the same, and only the device not know it yet.
    private func distrust(_ file: MovedFile, after error: FileError) {
        file.move.job.state.withLock { $0.mayBeAt = file.place }
        let isMade = error.fault != .notFound && isGone(file.move.source)
        settle(file, isMade: isMade)
        if isMade { noteReplaced([file]) }
    }

    private func isGone(_ path: String) -> Bool {
        do throws(FileError) { return try environment.fileSystem.size(of: path) == nil } catch { return false }
    }

    /// Names the download after the first name of the same kind that nothing has.
    private func giveFreeName(to job: Job) throws(FileError) {
        let taken = job.task.place
        for _ in 0..<10_000 {
            let place = state.withLock { $0.places.next(after: taken) }
            guard state.withLock({ $0.places.isFree(place, for: job.id) }),
                try !environment.fileSystem.isTaken(cache.path(of: place))
            else { continue }
            return state.withLock { state in
                state.move(job, to: place)
                // Before it is moved there: nobody else is to choose it.
                state.places.take(place, for: job.id)
            }
        }
        throw FileError(fault: .inTheWay, operation: "find a free name like", path: cache.path(of: taken))
    }

    // MARK: Removing

    /// Removes the partial file and, if asked, the finished one; not one that is somebody else's.
    func discard(_ job: Job, _ attempt: Attempt, finished: Bool) {
        let (id, files) = (job.id, job.files)
        run(at: files.place) { [self, weak job] in
            // Not held any more when it may be forgotten: with it may go the last to hold the manager, whose end would wait
            // for this lane.
            if let job { remove(files, of: job, finished: finished) }
            handle(.file(id, attempt, .discarded))
        }
    }

    /// The same at the end, when the lane has nothing more to do.
    func discardLast(_ job: Job, finished: Bool) { remove(job.files, of: job, finished: finished) }

    private func remove(_ files: JobFiles, of job: Job, finished: Bool) {
        removePartial(job, files)
        if finished, hasItsFile(job) { removeFinished(job.task.filePath, ofSize: files.sizeOfUntold) }
    }

    /// Removes the file of a download that is to be another one. Its place is free at once, and may be somebody's when the
    /// lane gets there.
    func withdraw(_ job: Job) {
        let place = job.task.place
        let (size, isInPlace) = job.state.withLock { state in
            defer { (state.isInPlace, state.mayBeAt) = (false, nil) }
            return (state.sizeOfUntold, state.isInPlace)
        }
        let isOwner = state.withLock { state in
            defer { state.places.leave(place, job.id) }
            return state.places.owner(of: place) == job.id
        }
        guard isInPlace, isOwner else { return }
        run(at: place) { [self] in
            guard state.withLock({ $0.places.owner(of: place) }) == nil, isReachable(place) else { return }
            removeFinished(cache.path(of: place), ofSize: size)
        }
    }

    private func removePartial(_ job: Job, _ files: JobFiles) {
        guard let path = files.generation.map({ partialPath(job, $0) }) else { return }
        removeNow(path)
        // The process may have died while it copied the file to another device, now or in an earlier launch.
        for place in Set([files.place, files.mayBeAt ?? files.place]) where isReachable(place) {
            removeNow(Publisher.copyPath(of: path, beside: cache.path(of: place)))
        }
    }

    /// Removes a finished file: one of another size than is given is somebody else's.
    private func removeFinished(_ path: String, ofSize size: Int64?) {
        guard size == nil || (try? environment.fileSystem.size(of: path)) == size else { return }
        removeNow(path)
    }

    /// Whether the file in the place of a download is the one that it has put there.
    private func hasItsFile(_ job: Job) -> Bool {
        state.withLock { $0.hasItsFile(job) } && isReachable(job.task.place)
    }
}

/// What a download may have on the disk.
private struct JobFiles {
    /// Of its partial file.
    var generation: UInt32?
    var place: FilePlace
    var mayBeAt: FilePlace?
    /// See ``JobState/sizeOfUntold``.
    var sizeOfUntold: Int64?
}

extension Job {
    fileprivate var files: JobFiles {
        let place = task.place
        return state.withLock { state in
            JobFiles(
                generation: state.fileGeneration, place: place, mayBeAt: state.mayBeAt,
                sizeOfUntold: state.sizeOfUntold)
        }
    }
}

extension JobState {
    /// What tells the finished file from another that has come in its place, while nobody was told of it; nil
    /// afterwards, when it is its user's.
    fileprivate var sizeOfUntold: Int64? { saved.status == .succeeded ? nil : sizeInPlace ?? saved.total }
}

extension Job {
    /// The file in its place is another's now: nothing that was found of its own holds for that. Says whether there was one.
    func noteReplaced() -> Bool {
        let (wasInPlace, isForgotten) = state.withLock { state in
            defer { state.isInPlace = false }
            // Of one that is fetched again the partial file is hashed for what is followed.
            let isForgotten = state.isInPlace && state.saved.mayBeInPlace
            if isForgotten { (state.followed, state.followedPieces) = (nil, nil) }
            return (state.isInPlace, isForgotten)
        }
        if isForgotten { task.state.withLock { $0.validation = .unknown } }
        return wasInPlace
    }
}

extension EngineState {
    /// Whether a download has put a file into its place, and no other has replaced that.
    func hasItsFile(_ job: Job) -> Bool {
        job.state.withLock { $0.isInPlace } && places.owner(of: job.task.place) == job.id
    }

    /// Gives a download whose file is not in its place another one.
    mutating func move(_ job: Job, to place: FilePlace) {
        let old = job.task.state.withLock { state in
            defer { (state.place, state.isNameOpen) = (place, false) }
            return state.place
        }
        places.leave(old, job.id)
        places.giveUpClaim(old, job.id)
        let isClaimed = job.state.withLock { state in
            state.isInPlace = false
            return state.hasDestination
        }
        if isClaimed { places.claim(place, for: job.id) }
    }

    /// Gives a download the place that its caller wants.
    mutating func move(_ job: Job, toDestination place: FilePlace) {
        job.state.withLock { $0.hasDestination = true }
        move(job, to: place)
    }

    /// Whether a request may have its destination: not while another download that has yet to succeed wants it, too, and
    /// one would replace the other; of those that are being added as well.
    mutating func checkDestination(
        of request: CheckedRequest, for job: Job?, besides added: [NewDownload]
    ) throws(LannerError) {
        guard let place = request.destination else { return }
        let own = request.conflictPolicy ?? job?.state.withLock { $0.conflictPolicy }
        guard own ?? conflictPolicy == .replace else { return }
        let machine = machine
        let isTaken = places.isClaimed(place, besides: job?.id) { id in
            // The machine learns of a batch when all of it is here.
            guard let phase = machine[id]?.phase else { return added.contains { $0.id == id } }
            return phase != .succeeded && !phase.isOnItsWayOut
        }
        if isTaken { throw .destinationTaken(place.description) }
    }

    /// Gives a place back to who had it before, if that is still here.
    fileprivate mutating func giveBack(_ place: FilePlace, from id: DownloadID, to other: DownloadID?) {
        places.leave(place, id, to: other.flatMap { jobs[$0]?.id })
    }
}

extension FileNaming {
    /// The name of a download that nobody has answered yet.
    func firstName(for url: URL) -> String {
        switch self {
        case .urlDigest: FileName.standard(for: url)
        case .lastPathComponent, .serverName: FileName.lastComponent(of: url) ?? FileName.standard(for: url)
        }
    }
}
