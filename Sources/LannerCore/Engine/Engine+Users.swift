import Foundation
import LannerMachine

// What a user asks for.

extension Engine {
    /// Adds downloads, and starts them if that is wanted; those that are there already are updated. Throws when nothing
    /// happens any more. `done` is called exactly once, when they have been started, or added, with the first of them; not
    /// after a throw.
    func download(
        _ requests: [DownloadRequest], starts: Bool, _ done: (@Sendable (DownloadTask?) -> Void)? = nil
    ) throws(LannerError) -> [DownloadTask] {
        var isTaken = false
        var jobs: [Job] = []
        enter { state in
            isTaken = true
            var events: [Event] = []
            var new: [NewDownload] = []
            for request in requests {
                if let job = state.livingJob(request.url.absoluteString) {
                    job.update(request)
                    if let name = request.fileName, state.mayRename(job.id) { state.rename(job, name) }
                    jobs.append(job)
                    events.append(.expectDigest(job.id, job.state.withLock { $0.digest != nil }))
                } else {
                    let job = makeJob(request, starts ? .waiting : .suspended, &state)
                    jobs.append(job)
                    new.append(NewDownload(id: job.id, rank: state.lastRank, hasDigest: request.checksum != nil))
                }
            }
            return [.add(new)] + events
        }
        guard isTaken else { throw manager?.unavailable ?? .invalidated }
        for (job, request) in zip(jobs, requests) { settleName(job, request.fileName) }
        let first = jobs.first?.task
        if starts {
            user(.start, jobs.map(\.id)) { done?(first) }
        } else {
            record(jobs) { done?(first) }
        }
        return jobs.map(\.task)
    }

    /// A download whose finished file is gone begins again, under the name that was asked for; one that has its file
    /// keeps its name.
    private func settleName(_ job: Job, _ name: String?) {
        if job.task.status == .succeeded, !fileExists(job.task.filePath) {
            return enter { state in
                if state.machine[job.id]?.state == .succeeded { state.rename(job, name ?? job.task.fileName) }
                return [.user(.downloadAgain, [job.id], nil)]
            }
        }
        guard let name, name != job.task.fileName else { return }
        let error = LannerError.fileNameIsFixed(job.task.fileName, asked: name)
        log { .error("could not rename \(Destination.redacted(job.task.url.absoluteString))", error: error) }
    }

    /// Records downloads that nothing else happens to, in order with all that does.
    func record(_ jobs: [Job], _ done: @escaping @Sendable () -> Void = {}) {
        inOrder { [self] in
            let living = state.withLock { state in
                state.isInvalidated ? [] : jobs.filter { state.livingJob($0.id) === $0 }
            }
            if !living.isEmpty { recordAnew(living) }
            done()
        }
    }

    private func makeJob(_ request: DownloadRequest, _ status: Status, _ state: inout EngineState) -> Job {
        let id = state.makeID()
        let name = request.fileName ?? state.fileNaming.firstName(for: request.url)
        var taskState = TaskState(engine: self, status: status, fileName: name)
        taskState.isNameOpen = request.fileName == nil && state.fileNaming == .serverName
        let task = DownloadTask(id: id, url: request.url, cache: cache, state: taskState)
        let job = Job(
            id: id, token: state.identity.token, task: task,
            state: JobState(
                fields: request.fields, digest: request.checksum, rank: state.makeRank(),
                saved: Saved(status: .suspended)))
        state.keep(job)
        return job
    }

    /// Whether a file is there; what cannot be looked at is taken to be.
    private func fileExists(_ path: String) -> Bool {
        do throws(FileError) { return try environment.fileSystem.size(of: path) != nil } catch { return true }
    }

    /// A verb over some downloads, or over all when nil; `done` is called exactly once, when all have come to rest, also
    /// when there was nothing to do.
    func user(_ verb: Verb, _ ids: [DownloadID]?, _ done: (@Sendable () -> Void)?) {
        var isTaken = false
        enter { state in
            isTaken = true
            return [.user(verb, ids ?? state.machine.ids, state.makeTicket(done))]
        }
        if isTaken { return }
        logOver("nothing was done")
        done?()
    }

    private func logOver(_ message: String) {
        log { .error(message, error: manager?.unavailable ?? LannerError.invalidated) }
    }

    // MARK: Queries

    func task(_ url: String) -> DownloadTask? {
        state.withLock { state in state.ids[url].flatMap { state.jobs[$0]?.task } }
    }

    func tasks(where isWanted: (DownloadTask) -> Bool) -> [DownloadTask] {
        state.withLock { Array($0.jobs.values) }.inOrder.map(\.task).filter(isWanted)
    }

    var running: [DownloadTask] {
        state.withLock { state in state.machine.running.compactMap { state.jobs[$0]?.task } }
    }
}

extension EngineState {
    /// The download of a URL, unless it is on its way out.
    func livingJob(_ url: String) -> Job? {
        ids[url].flatMap { livingJob($0) }
    }

    /// A download, unless it is on its way out.
    func livingJob(_ id: DownloadID) -> Job? {
        guard let job = jobs[id] else { return nil }
        switch machine[id]?.phase {
        case .willCancel, .willRemove, .canceled, .removed, nil: return nil
        case .waiting, .running, .willSuspend, .suspended, .failed, .succeeded: return job
        }
    }

    /// Whether the file of a download has yet to be moved to its place, so that it can go to another.
    fileprivate func mayRename(_ id: DownloadID) -> Bool {
        machine[id]?.hasPlace == false
    }
}

extension [Job] {
    /// By rank; the id decides between equals.
    var inOrder: [Job] {
        map { (rank: $0.state.withLock { $0.rank }, job: $0) }
            .sorted { ($0.rank, $0.job.id) < ($1.rank, $1.job.id) }.map(\.job)
    }
}

extension Job {
    /// The user asks for the same URL again, in other words.
    func update(_ request: DownloadRequest) {
        state.withLock { state in
            if !request.fields.fields.isEmpty { state.fields = request.fields }
            if let checksum = request.checksum { state.digest = checksum }
        }
    }
}
