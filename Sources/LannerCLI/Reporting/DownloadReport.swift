import Lanner

/// Something that happened to one download of a call, to be told to the user.
struct DownloadReport: Sendable, Equatable {
    enum Event: Sendable, Equatable {
        /// It runs for the first time.
        case start
        case progress
        /// The file is there; whether it was compared with a checksum.
        case done(isVerified: Bool)
        /// The file was there before.
        case skipped(isVerified: Bool)
        case restarted(RestartReason)
        case retrying(Trouble, after: Duration)
        /// It was stopped; the bytes are kept.
        case suspended
        case failed(Trouble)
    }

    /// The place of the download in the call.
    var index: Int
    var item: GetPlan.Item
    var event: Event
    var standing: Standing
}

/// The figures of a download.
struct Standing: Sendable, Equatable {
    var bytes: Int64 = 0
    /// nil while it is not known.
    var total: Int64?
    /// Bytes a second.
    var speed: Int64 = 0
    /// Seconds; 0 when it cannot be told.
    var timeLeft: Int64 = 0
    /// Whether the same command goes on from there, where the download has come to rest; else it begins anew.
    var goesOn = true

    var fraction: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, max(0, Double(bytes) / Double(total)))
    }
}

extension Standing {
    init(_ task: DownloadTask) {
        self.init(
            bytes: task.completedBytes, total: task.totalBytes, speed: task.speed, timeLeft: task.timeRemaining)
    }

    /// That of a task that has come to rest before its end.
    init(atRest task: DownloadTask) {
        self.init(task)
        goesOn = bytes == 0 || (task.canResume && (bytes == total || task.response?.deniesRanges != true))
    }
}

/// Tells the user what happens. Methods are called on any thread.
protocol Reporter: Sendable {
    /// How often progress of one download is worth a report.
    var interval: Duration { get }
    /// Whether nothing but how downloads end is worth one.
    var wantsEndsOnly: Bool { get }

    func report(_ report: DownloadReport)

    /// Tells something that is no download's.
    func note(_ line: String)

    /// Nothing follows.
    func finish()
}

extension Reporter {
    var wantsEndsOnly: Bool { false }
}
