import Foundation
import LannerMachine

// How finished files are named, where they go, and whose they are. What is looked at and done in the directory is on the
// file lane, one thing at a time.

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

// Files are moved to their places on the file lane, all that wait for it at once: their directories are synced once for all
// of them, and the machine is told of all together, so that one commit records them. One that has to go to another device
// leaves the lane to be copied, which may take long, and comes again with its copy.

/// A finished file on its way to its place.
struct FileMove: Sendable {
    let job: Job
    let attempt: Attempt
    let generation: UInt32
    let source: String
    /// Where it was copied to, being on another device than its place.
    var copy: String?
}

/// What came of trying to move a file.
private enum MoveOutcome {
    case moved(MovedFile)
    /// Its place was taken, and it has another now.
    case taken
    /// It has to be copied to its place first, which is on another device.
    case apart(FilePlace)
}

/// One that is there, its name not with the device yet.
private struct MovedFile {
    let move: FileMove
    let place: FilePlace
    /// Whose file was there.
    let other: DownloadID?
    /// Whether it has taken the place of what was there.
    let replaces: Bool
    /// Whether its partial file is there as well, as ``Publisher/Move`` has it.
    var isCopied = false
    /// What the move was refused with, though it was made.
    var doubt: FileError?
}

extension Engine {
    func publish(_ job: Job, _ attempt: Attempt) {
        let generation = job.state.withLock { state in
            state.movedIn = attempt
            return state.saved.generation
        }
        // From now on it has the name that it has.
        job.task.state.withLock { $0.isNameOpen = false }
        closeFile(of: job, sync: false)
        publish(
            FileMove(job: job, attempt: attempt, generation: generation, source: partialPath(job, generation)))
    }

    private func publish(_ move: FileMove) {
        moves.add(move) { [self] in moveAll($0) }
    }

    private func moveAll(_ waiting: [FileMove]) {
        let policy = state.withLock { $0.conflictPolicy }
        var moved: [MovedFile] = []
        var events: [Event] = []
        for move in waiting {
            do throws(FileError) {
                switch isWanted(move.job) ? try moveToPlace(move, policy) : nil {
                case .moved(let file)?: moved.append(file)
                case .taken?: events.append(.file(move.job.id, move.attempt, .placeTaken))
                case .apart(let place)?: copy(move, beside: place)
                case nil: events.append(move.given(up: DownloadFailure(TransportFailure.canceled)))
                }
            } catch {
                if move.copy != nil, error.fault == .notFound, !isOver {
                    // Somebody has removed the directory that it was in.
                    publish(move.withoutCopy)
                } else {
                    events.append(move.given(up: failure(error, of: move)))
                }
            }
            // What has not become the file.
            if let copy = move.copy { removeNow(copy) }
        }
        events += confirm(moved)
        noteReplaced(moved)
        handle(events)
    }

    /// Copies a file to the device of its place, and brings it again. The end does not wait for that: the next launch does
    /// it anew.
    private func copy(_ move: FileMove, beside place: FilePlace) {
        copyLane.run { [self] in
            var move = move
            do throws(FileError) { move.copy = try makeCopy(of: move, beside: place) } catch {
                return handle(move.given(up: failure(error, of: move)))
            }
            if move.copy != nil { return publish(move) }
            handle(move.given(up: DownloadFailure(TransportFailure.canceled)))
        }
    }

    private func makeCopy(of move: FileMove, beside place: FilePlace) throws(FileError) -> String? {
        // It may have waited for others.
        guard mayGoOn(move.job) else { return nil }
        return try makingDirectory { () throws(FileError) in
            try makeDirectory(of: place)
        } for: { () throws(FileError) in
            try environment.publisher.copy(move.source, beside: cache.path(of: place)) { [self] in mayGoOn(move.job) }
        }
    }

    /// Calls back when all that is to be done with files is done.
    func afterFileWork(_ done: @escaping @Sendable () -> Void) {
        // What is copied comes again.
        fileLane.run { [self] in copyLane.run { [self] in fileLane.run(done) } }
    }

    /// Whether nobody has canceled or removed the download meanwhile.
    private func isWanted(_ job: Job) -> Bool { state.withLock { $0.machine[job.id]?.isUnwanted != true } }

    /// Whether what takes long is still to be done: the end of the manager does not wait for it.
    private func mayGoOn(_ job: Job) -> Bool { isWanted(job) && !isOver }

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
        let errors = syncErrors(of: directories)
        let doubts = zip(moved, directories).map { file, directory in file.doubt ?? errors[PathKey(directory)] }
        let remembered = forgetOldNames(of: zip(moved, doubts).filter { $1 == nil }.map(\.0))
        return zip(moved, doubts).map { file, doubt in
            let (job, attempt) = (file.move.job, file.move.attempt)
            guard let error = doubt ?? (file.isCopied ? nil : remembered) else {
                if file.isCopied { removeNow(file.move.source) }
                return .file(job.id, attempt, .published)
            }
            job.state.withLock { state in
                state.mayBeAt = file.place
                if file.isCopied { state.fileInPlace = nil }
            }
            if !file.isCopied { return .file(job.id, attempt, .unconfirmed(DownloadFailure(error))) }
            // It is copied again. A later launch would take this one for somebody's that is in its way; where it replaces
            // whatever is there, the place is never empty instead.
            if !file.replaces { removeNow(cache.path(of: file.place)) }
            state.withLock { $0.places.leave(file.place, job.id) }
            return .file(job.id, attempt, .failed(DownloadFailure(error)))
        }
    }

    /// Has the device forget the old names, too, before anybody trusts the new ones: where names are not written in the
    /// order of their changes the file would come back by both, and be lost with the first that is removed. Says what it
    /// was refused with.
    private func forgetOldNames(of moved: [MovedFile]) -> FileError? {
        guard moved.contains(where: { !$0.isCopied }) else { return nil }
        let error = syncError(cache.downloadTmpPath)
        // With the directory its names are gone.
        return error?.fault == .notFound ? nil : error
    }

    /// Has the names in directories kept by the device, each once; says of which it does not.
    func syncErrors(of directories: [String]) -> [PathKey: FileError] {
        var (synced, errors) = (Set<PathKey>(), [PathKey: FileError]())
        for directory in directories where synced.insert(PathKey(directory)).inserted {
            errors[PathKey(directory)] = syncError(directory)
        }
        return errors
    }

    private func syncError(_ directory: String) -> FileError? {
        do throws(FileError) {
            try environment.publisher.confirm(directory)
            return nil
        } catch {
            return error
        }
    }

    /// The policy is that of who has none of its own. Nil when it is not wanted any more.
    private func moveToPlace(_ move: FileMove, _ policy: FileConflictPolicy) throws(FileError) -> MoveOutcome? {
        let (job, place) = (move.job, move.job.task.place)
        guard let isMoved = try isMoved(move, to: place) else { return nil }
        if isMoved { return .moved(MovedFile(move: move, place: place, other: nil, replaces: false)) }
        if place.directory != nil { try makeDirectory(of: place) }
        let (kept, wanted) = job.state.withLock { ($0.movePolicy, $0.conflictPolicy ?? policy) }
        // It has changed since that was put on record, which says it anew before anything is done by it.
        if let kept, kept != wanted { return .taken }
        let policy = kept ?? wanted
        let outcome = try make(move, to: place, onlyIfFree: policy != .replace)
        guard case .taken = outcome else { return outcome }
        // It may not have been looked at to the end.
        guard mayGoOn(job) else { return nil }
        if policy == .fail {
            throw FileError(fault: .inTheWay, operation: "move a file to", path: cache.path(of: place))
        }
        try giveFreeName(to: job)
        return .taken
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
    /// that it was not compared with; nil when nobody wants to know any more.
    private func isMoved(_ move: FileMove, to place: FilePlace) throws(FileError) -> Bool? {
        // Before it was fetched again, that was another one.
        guard hasItsFile(move.job), move.job.state.withLock({ $0.fileInPlace?.generation }) == move.generation
        else { return false }
        let (size, digest) = move.job.state.withLock { state in
            let digest = state.fileDigest
            return (state.saved.total, digest == state.followed ? nil : digest)
        }
        let isMoved = try environment.publisher.isMoved(
            move.source, to: cache.path(of: place), size: size, digest: digest,
            while: { [self] in mayGoOn(move.job) })
        guard let isMoved else { return nil }
        if isMoved, let digest {
            move.job.state.withLock { $0.followed = digest }
            move.job.task.state.withLock { $0.validation = .correct }
        }
        // It is not here and not there: what is in the place is somebody's by now, and does not go with the task.
        if !isMoved, try environment.fileSystem.size(of: move.source) == nil {
            move.job.state.withLock { $0.fileInPlace = nil }
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

    /// Gives the place to the download for the move, and takes it back when that was not made.
    private func make(
        _ move: FileMove, to place: FilePlace, onlyIfFree: Bool
    ) throws(FileError) -> MoveOutcome {
        if onlyIfFree, !state.withLock({ $0.places.isFree(place, for: move.job.id) }) { return .taken }
        let other = state.withLock { $0.places.take(place, for: move.job.id) }
        var file = MovedFile(move: move, place: place, other: other, replaces: !onlyIfFree)
        do throws(FileError) {
            let way = try makingDirectory { () throws(FileError) in
                try makeDirectory(of: place)
            } for: { () throws(FileError) in
                try rename(move, to: place, onlyIfFree: onlyIfFree)
            }
            file.isCopied = way == .copied
            let isMade = way == .renamed || way == .copied
            settle(file, isMade: isMade)
            if isMade { return .moved(file) }
            return way == .apart ? .apart(place) : .taken
        } catch {
            // It may be there all the same, and only the device not know it yet.
            move.job.state.withLock { $0.mayBeAt = place }
            let isMade = error.fault != .notFound && isGone(move.copy ?? move.source)
            (file.isCopied, file.doubt) = (move.copy != nil, error)
            settle(file, isMade: isMade)
            if isMade { return .moved(file) }
            throw error
        }
    }

    private func rename(
        _ move: FileMove, to place: FilePlace, onlyIfFree: Bool
    ) throws(FileError) -> Publisher.Move? {
        let (publisher, path) = (environment.publisher, cache.path(of: place))
        let mayBeThere = move.job.state.withLock { $0.mayBeAt } == place
        // A move would do nothing: it is copied, and the copy takes the place of its own other name.
        if mayBeThere, environment.fileSystem.isLastCounted(move.source, beside: path) {
            return move.copy == nil ? .apart : try publisher.move(move.source, to: path, copiedTo: move.copy)
        }
        guard onlyIfFree else { return try publisher.move(move.source, to: path, copiedTo: move.copy) }
        if let way = try publisher.moveIfFree(move.source, to: path, copiedTo: move.copy) { return way }
        // Or it is this very file that was put there before.
        guard mayBeThere else { return nil }
        let isCopied = try publisher.isCopied(move.source, to: path) { [self] in mayGoOn(move.job) }
        return isCopied == true ? .copied : nil
    }

    private func settle(_ file: MovedFile, isMade: Bool) {
        let job = file.move.job
        let fingerprint = isMade ? fingerprint(at: file.place) : nil
        job.state.withLock { state in
            if isMade {
                state.fileInPlace = PlacedFile(generation: file.move.generation, fingerprint: fingerprint)
            } else if file.other != job.id {
                // Else what it has put there before, if anything, still is.
                state.fileInPlace = nil
            }
        }
        if !isMade { state.withLock { $0.giveBack(file.place, from: job.id, to: file.other) } }
    }

    /// What tells the file in a place, if that can be looked at.
    func fingerprint(at place: FilePlace) -> FileFingerprint? {
        try? environment.fileSystem.fingerprint(of: cache.path(of: place))
    }

    /// Whether nothing has a name.
    func isGone(_ path: String) -> Bool {
        do throws(FileError) { return try environment.fileSystem.size(of: path) == nil } catch { return false }
    }

    /// Names the download after the next name of the same kind that nothing has. A number that was looked at is not looked
    /// at again: there may be many.
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

    /// Whether the file in the place of a download is the one that it has put there.
    func hasItsFile(_ job: Job) -> Bool {
        state.withLock { $0.hasItsFile(job) } && isReachable(job.task.place)
    }
}

extension FileMove {
    /// The same from the beginning.
    fileprivate var withoutCopy: FileMove {
        var move = self
        move.copy = nil
        return move
    }

    /// What the machine is told when it comes to nothing.
    fileprivate func given(up failure: DownloadFailure) -> Event { .file(job.id, attempt, .failed(failure)) }
}

extension Job {
    /// The file in its place is another's now: nothing that was found of its own holds for that. Says whether there was one.
    func noteReplaced() -> Bool {
        let (wasInPlace, isForgotten) = state.withLock { state in
            defer { state.fileInPlace = nil }
            // Of one that is fetched again the partial file is hashed for what is followed.
            let isForgotten = state.fileInPlace != nil && state.saved.mayBeInPlace
            if isForgotten { (state.followed, state.followedPieces) = (nil, nil) }
            return (state.fileInPlace != nil, isForgotten)
        }
        if isForgotten { task.state.withLock { $0.validation = .unknown } }
        return wasInPlace
    }
}

extension EngineState {
    /// Whether a download has put a file into its place, and no other has replaced that.
    func hasItsFile(_ job: Job) -> Bool {
        job.state.withLock { $0.fileInPlace != nil } && places.owner(of: job.task.place) == job.id
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
            state.fileInPlace = nil
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
