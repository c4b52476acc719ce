import Foundation
import LannerMachine

// How finished files are named, where they go, and whose they are. What is looked at and done in the directory is on the
// file lane, one thing at a time.

extension Engine {
    /// An answer is good: a name that was left to the server is decided now.
    func settleName(_ job: Job, _ head: ResponseHead) {
        guard job.task.state.withLock({ $0.isNameOpen }) else { return }
        let url = job.state.withLock { $0.destination?.url } ?? job.task.url
        let name =
            FileName.served(head) ?? FileName.lastComponent(of: url) ?? FileName.standard(for: job.task.url)
        job.task.state.withLock { state in
            // Or the user has given one meanwhile.
            if state.isNameOpen { (state.fileName, state.isNameOpen) = (name, false) }
        }
    }

    // MARK: Publishing

    func publish(_ job: Job, _ attempt: Attempt) {
        let generation = job.state.withLock { $0.saved.generation }
        closeFile(of: job, sync: false)
        let source = partialPath(job, generation)
        fileLane.run { [self] in handle(.file(job.id, attempt, moveToPlace(job, source))) }
    }

    private func moveToPlace(_ job: Job, _ source: String) -> FileEvent {
        let name = job.task.fileName
        do throws(FileError) {
            try environment.fileSystem.makeDirectory(cache.downloadFilePath)
            switch state.withLock({ $0.conflictPolicy }) {
            case .replace:
                _ = try move(job, source, to: name) { publisher throws(FileError) in
                    try publisher.move(source, to: path(name))
                    return true
                }
            case .keepBoth:
                guard try moveIfFree(job, source, to: name) else {
                    try giveFreeName(to: job)
                    return .placeTaken
                }
            case .fail:
                guard try moveIfFree(job, source, to: name) else {
                    throw FileError(fault: .inTheWay, operation: "move a file to", path: path(name))
                }
            }
            return .published
        } catch {
            return .failed(DownloadFailure(error))
        }
    }

    private func path(_ name: String) -> String { cache.downloadFilePath + "/" + name }

    private func moveIfFree(_ job: Job, _ source: String, to name: String) throws(FileError) -> Bool {
        guard state.withLock({ $0.places.isFree(name, for: job.id) }) else { return false }
        return try move(job, source, to: name) { publisher throws(FileError) in
            if try publisher.moveIfFree(source, to: path(name)) { return true }
            // Or it is this very file that was put there before.
            guard job.state.withLock({ $0.mayBeAt }) == name else { return false }
            return try publisher.finishMove(source, to: path(name))
        }
    }

    /// Gives the name to the download for the move, and takes it back when that was not made.
    private func move(
        _ job: Job, _ source: String, to name: String, _ move: (Publisher) throws(FileError) -> Bool
    ) throws(FileError) -> Bool {
        let other = state.withLock { $0.places.take(name, for: job.id) }
        var isMade = false
        defer {
            job.state.withLock { $0.isInPlace = isMade }
            if !isMade { state.withLock { $0.giveBack(name, from: job.id, to: other) } }
        }
        do throws(FileError) {
            isMade = try move(Publisher(fileSystem: environment.fileSystem))
        } catch {
            job.state.withLock { $0.mayBeAt = name }
            // The file may be there all the same, and only the device not know it yet.
            isMade = error.fault != .notFound && isGone(source)
            throw error
        }
        return isMade
    }

    private func isGone(_ path: String) -> Bool {
        do throws(FileError) { return try environment.fileSystem.size(of: path) == nil } catch { return false }
    }

    /// Names the download after the first name of the same kind that nothing has.
    private func giveFreeName(to job: Job) throws(FileError) {
        let taken = job.task.fileName
        for _ in 0..<10_000 {
            let name = state.withLock { $0.places.nextName(after: taken) }
            guard state.withLock({ $0.places.isFree(name, for: job.id) }),
                try !environment.fileSystem.isTaken(path(name))
            else { continue }
            return state.withLock { state in
                state.rename(job, name)
                // Before it is moved there: nobody else is to choose it.
                state.places.take(name, for: job.id)
            }
        }
        throw FileError(fault: .inTheWay, operation: "find a free name like", path: path(taken))
    }

    // MARK: Removing

    /// Removes the partial files and, if asked, the finished one; not one that is somebody else's.
    func discard(_ job: Job, _ attempt: Attempt, finished: Bool) {
        let generations = job.state.withLock { $0.generations }
        fileLane.run { [self] in
            for generation in generations.sorted() { removeNow(partialPath(job, generation)) }
            if finished, hasItsFile(job) { removeNow(job.task.filePath) }
            handle(.file(job.id, attempt, .discarded))
        }
    }

    /// Whether the file in the place of a download is the one that it has put there.
    private func hasItsFile(_ job: Job) -> Bool {
        let isInPlace = job.state.withLock { $0.isInPlace }
        return isInPlace && state.withLock { $0.places.owner(of: job.task.fileName) } == job.id
    }
}

extension EngineState {
    /// Gives a download whose file is not in its place another name.
    mutating func rename(_ job: Job, _ name: String) {
        let old = job.task.state.withLock { state in
            defer { (state.fileName, state.isNameOpen) = (name, false) }
            return state.fileName
        }
        places.leave(old, job.id)
        job.state.withLock { $0.isInPlace = false }
    }
}

extension EngineState {
    /// Gives a name back to who had it before, if that is still here.
    fileprivate mutating func giveBack(_ name: String, from id: DownloadID, to other: DownloadID?) {
        places.leave(name, id, to: other.flatMap { jobs[$0]?.id })
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
