import Lanner

/// An episode of a podcast, as its feed tells.
struct Episode: Sendable {
    var title: String
    var url: String
    var digest: Checksum.Digest?
}

/// The part of a podcast app that fetches episodes: what its screens show and what its buttons do.
struct EpisodeLibrary {
    /// What the list shows beside an episode.
    enum State: Equatable {
        case absent
        case queued
        case waitingForNetwork
        case loading(percent: Int)
        case paused(percent: Int)
        case ready
        case failed(Problem)
    }

    /// What a listener can do something about.
    enum Problem: Equatable {
        case diskFull
        case damaged
        case unavailable
    }

    private let manager: SessionManager

    /// The app makes it with `SessionManager("episodes")`.
    init(manager: SessionManager) {
        self.manager = manager
    }

    /// The button “download”, also for an episode that was paused or has failed.
    func fetch(_ episode: Episode) {
        manager.download(episode.url, fileName: episode.title + ".mp3", checksum: episode.digest)
    }

    /// The button “pause”.
    func pause(_ episode: Episode) {
        manager.suspend(episode.url)
    }

    func state(of episode: Episode) -> State {
        guard let task = manager.fetchTask(episode.url) else { return .absent }
        switch task.status {
        case .waiting: return task.waitingReason == .network ? .waitingForNetwork : .queued
        case .running: return .loading(percent: task.percent)
        case .suspended, .willSuspend: return .paused(percent: task.percent)
        case .succeeded: return .ready
        case .failed: return .failed(Problem(task.error))
        case .canceled, .removed, .willCancel, .willRemove: return .absent
        }
    }
}

extension EpisodeLibrary.Problem {
    fileprivate init(_ error: (any Error)?) {
        guard case .failed(let failure) = error as? LannerError else {
            self = .unavailable
            return
        }
        switch failure.reason {
        case .disk(.noSpace): self = .diskFull
        case .checksumMismatch: self = .damaged
        default: self = .unavailable
        }
    }
}

extension DownloadTask {
    fileprivate var percent: Int {
        Int(progress.fractionCompleted * 100)
    }
}
