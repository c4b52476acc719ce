import LannerMachine

// Removing the files of downloads. A finished one goes after the record of its download: until it is gone a record of its
// own tells it, by which the next launch removes it where the process dies in between.

/// A finished file that is gone, if not for the device yet.
struct FinishedRemoval: Sendable {
    var id: DownloadID
    var directory: String
}

extension Engine {
    // MARK: Records

    /// Has a record of the finished file of a download that goes with it, if that is there: in each commit that takes back
    /// the record of the download, for another may not have been kept.
    func putRemoval(of job: Job, _ pending: inout PendingChanges) {
        guard state.withLock({ $0.hasItsFile(job) }), let file = fileToRemove(job) else { return }
        let removal = Removal(place: job.task.place, file: file)
        job.state.withLock { $0.hasRemoval = true }
        pending.changes.append(.put(key: Removal.key(job.id), value: removal.encoded))
    }

    /// What a record of its removal tells the file of a download by; nil for one that has to be read first, and one that
    /// nothing tells. Of one that its user was told of its times and rights may be others since.
    private func fileToRemove(_ job: Job) -> FileFingerprint? {
        let (file, untold) = job.state.withLock { ($0.fileInPlace?.fingerprint, $0.untold) }
        guard let untold else { return fingerprint(at: job.task.place) ?? file }
        return untold.digest == nil ? file : nil
    }

    /// Removes what an earlier process had yet to remove.
    func finishRemovals(_ removals: [DownloadID: Removal]) {
        if removals.isEmpty { return }
        fileLane.run { [self] in
            for (id, removal) in removals.sorted(by: { $0.key < $1.key }) where finish(removal) {
                noteGone(id, FilePlace(removal.place, in: cache))
            }
        }
    }

    /// Says whether the file is gone, or has never been found again.
    private func finish(_ removal: Removal) -> Bool {
        let place = FilePlace(removal.place, in: cache)
        let path = cache.path(of: place)
        do throws(FileError) {
            guard isReachable(place), try environment.fileSystem.fingerprint(of: path) == removal.file
            else { return true }
            try environment.fileSystem.remove(path)
            return true
        } catch {
            logRemoval(error)
            return error.fault == .inTheWay
        }
    }

    /// A finished file is gone: with the name, the device forgets what tells it.
    private func noteGone(_ id: DownloadID, _ place: FilePlace) {
        let removal = FinishedRemoval(id: id, directory: cache.directory(of: place))
        removals.add(removal) { [self] in forgetGone($0) }
    }

    private func forgetGone(_ gone: [FinishedRemoval]) {
        // Where it cannot be told to the device, the next launch looks again; a directory that is gone has no names.
        let errors = syncErrors(of: gone.map(\.directory)).filter { $0.value.fault != .notFound }
        let told = gone.filter { errors[PathKey($0.directory)] == nil }
        // Where that is lost, the next launch looks once more.
        var pending = PendingChanges()
        pending.changes = told.map { .remove(key: Removal.key($0.id)) }
        inOrder { [self, pending] in if !isOverHere { commit(pending) } }
    }

    // MARK: Files

    /// Removes the partial file and, if asked, the finished one; not one that is somebody else's. That it goes may have been
    /// asked for after the record was gone: then it is on record first.
    func discard(_ job: Job, _ attempt: Attempt, finished: Bool) {
        var pending = PendingChanges()
        if finished, !job.state.withLock({ $0.hasRemoval }) { putRemoval(of: job, &pending) }
        guard !pending.changes.isEmpty else { return discardNow(job, attempt, finished: finished) }
        pending.durability = .machine
        // After the end the next launch does it.
        pending.completions = [{ [self] _ in if !isOver { discardNow(job, attempt, finished: finished) } }]
        commit(pending)
    }

    private func discardNow(_ job: Job, _ attempt: Attempt, finished: Bool) {
        let (id, files) = (job.id, job.files)
        fileLane.run { [self, weak job] in
            // Not held any more when it may be forgotten: with it may go the last to hold the manager, whose end would wait
            // for this lane.
            if let job, remove(files, of: job, finished: finished), job.state.withLock({ $0.hasRemoval }) {
                noteGone(id, files.place)
            }
            handle(.file(id, attempt, .discarded))
        }
    }

    /// The same at the end, when the lane has nothing more to do. What was on record for that is left to the next launch.
    func discardLast(_ job: Job, finished: Bool) { _ = remove(job.files, of: job, finished: finished) }

    /// Says whether nothing is left that was to go.
    private func remove(_ files: JobFiles, of job: Job, finished: Bool) -> Bool {
        removePartial(job, files)
        guard finished, hasItsFile(job) else { return true }
        do throws(FileError) {
            try removeFinished(job.task.filePath, files.untold)
            return true
        } catch {
            logRemoval(error)
            job.task.state.withLock { $0.error = LannerError(DownloadFailure(error)) }
            return false
        }
    }

    /// Removes the file of a download that is to be another one. Its place is free at once, and may be somebody's when the
    /// lane gets there.
    func withdraw(_ job: Job) {
        let place = job.task.place
        let (untold, isInPlace) = job.state.withLock { state in
            defer { (state.fileInPlace, state.mayBeAt) = (nil, nil) }
            return (state.untold, state.fileInPlace != nil)
        }
        let isOwner = state.withLock { state in
            defer { state.places.leave(place, job.id) }
            return state.places.owner(of: place) == job.id
        }
        guard isInPlace, isOwner else { return }
        fileLane.run { [self] in
            guard state.withLock({ $0.places.owner(of: place) }) == nil, isReachable(place) else { return }
            do throws(FileError) { try removeFinished(cache.path(of: place), untold) } catch { logRemoval(error) }
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

    /// Removes a finished file. While nobody was told of it, one that is not as given is somebody else's, and so is one of
    /// which that cannot be told.
    private func removeFinished(_ path: String, _ untold: UntoldFile?) throws(FileError) {
        let fileSystem = environment.fileSystem
        if let size = untold?.size, (try? fileSystem.size(of: path)) != size { return }
        if let digest = untold?.digest {
            let found = try? fileSystem.digest(of: path, digest.algorithm, by: environment.publisher.makeHasher) {
                [self] in !isOver
            }
            if found != digest { return }
        }
        try fileSystem.remove(path)
    }
}

/// What a download may have on the disk.
private struct JobFiles {
    /// Of its partial file.
    var generation: UInt32?
    var place: FilePlace
    var mayBeAt: FilePlace?
    var untold: UntoldFile?
}

/// What tells a finished file from another that has come in its place, while nobody was told of it; afterwards it is its
/// user's.
private struct UntoldFile {
    /// In bytes, if known.
    var size: Int64?
    /// That of one that was found by its size alone.
    var digest: Checksum.Digest?
}

extension Job {
    fileprivate var files: JobFiles {
        let place = task.place
        return state.withLock { state in
            JobFiles(
                generation: state.fileGeneration, place: place, mayBeAt: state.mayBeAt,
                untold: state.untold)
        }
    }
}

extension JobState {
    fileprivate var untold: UntoldFile? {
        guard saved.status != .succeeded else { return nil }
        let isUnread = fileInPlace?.isUnread == true
        return UntoldFile(size: fileInPlace?.fingerprint?.size ?? saved.total, digest: isUnread ? fileDigest : nil)
    }
}
