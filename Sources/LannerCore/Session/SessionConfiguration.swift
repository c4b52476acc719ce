import Foundation
import LannerMachine

/// What a ``SessionManager`` works by. A change applies at once to tasks that wait and run. Lower limits of tasks,
/// lists and hosts hold for those that start from then on; what runs goes on.
public struct SessionConfiguration: Sendable, Hashable {
    /// How long a server may stay silent, before its answer and within it, in seconds. From 1 to 86,400 (a day); 60 by
    /// default. One that sends a byte now and then is not silent: see ``minimumSpeed`` and ``timeoutIntervalForResource``.
    /// The first attempt at a download with other places (``DownloadRequest/mirrors``) leaves a server after 10 seconds
    /// without an answer. With a transport that outlives the process this is left to it. A request that is under way when
    /// this changes keeps the transport's own limit, which is what this was when it began: less holds for it, more does not.
    public var timeoutIntervalForRequest: TimeInterval = 60
    /// How many tasks run at once. At least 1; 6 by default. No more run than a quarter of the files that the process may
    /// have open: each has a file and a connection, or several.
    ///
    /// A task whose bytes have all arrived (and, above 256 KiB, are written; and whose digest, if there is one, is right)
    /// lets the next one start while its file is synced, moved and recorded. It keeps its place in its list and, where
    /// hosts have a limit, for its host. With a limit of 1 the next task waits until it has finished. With a limit
    /// of n it waits while n · n files are on that way: at most 256, and at most a quarter of the files the process may
    /// have open, but at least n.
    public var maxConcurrentTasksLimit = 6
    /// How many tasks of one list run at once, by the name of the list; at least 1. Empty by default. Lists that are
    /// not here have ``standardListLimit``, tasks without a list know no other limit than ``maxConcurrentTasksLimit``.
    public var listLimits: [String: Int] = [:]
    /// How many tasks run at once of each list that is not in ``listLimits``. At least 1; 3 by default.
    public var standardListLimit = 3
    /// How many tasks of one host run at once, whatever their lists and contexts, at least 1; nil, the default, for no
    /// limit. Most programs load from one host, and for that ``maxConcurrentTasksLimit`` is the limit.
    ///
    /// The host is that of ``DownloadTask/url``, in whatever case and at whatever port, wherever redirects or the links of
    /// a ``DownloadLink/Provider`` lead from there, and whichever of its ``DownloadRequest/mirrors`` it is asked for
    /// at. A task that is given another URL while it runs counts for the host it began with until it stops. Tasks of
    /// other hosts do not wait for those of one that is full.
    public var maxConcurrentTasksPerHost: Int?
    /// How many bytes a second all tasks together may take, at least 1; nil, the default, for no limit. Tasks that want
    /// more than there is have about equal shares; what one does not use is the others'. See
    /// ``DownloadTask/maximumBytesPerSecond`` for the limit of one task, and for how limits are kept. With
    /// `URLSessionTransport` none holds where the server serves no ranges.
    public var maximumBytesPerSecond: Int64?
    /// How many connections may be used for one file at once, from 1 to 16; what is less or more counts as the nearest of
    /// them. 4 by default. With transports that can be paused, as `CurlTransport`; others use as many as suits them.
    ///
    /// Each file begins with one, and is asked for as a whole. Others follow while they make it come faster by more than a
    /// tenth; for large files only, and only where the server sends parts (`Accept-Ranges`, RFC 9110, 14.3) and a strong
    /// validator, or a checksum, shows that all are of one version. They are given up where they bring nothing, and when
    /// their server refuses one. Losing one of several is no failure. 1 uses one in any case.
    ///
    /// There are fewer where so many tasks run that half of the files that the process may have open are theirs, one while
    /// it may open no more, and one where unfinished files are on FAT or exFAT, which would write zeros for all that has
    /// not come yet.
    ///
    /// Where there is a ``maxConcurrentTasksPerHost``, all connections count for it: the tasks of a host that run share
    /// what is left, and when another begins, within half a second. With transports that ask for slices, as
    /// `URLSessionTransport` on Linux, they do where it is 1; else each task may have a second one at times. Those to
    /// mirrors count for the host of the task as well, and not for their own. Where the transport limits the connections
    /// to a host, leave room: those of one task may hold up another.
    public var maxConnectionsPerDownload = 4
    /// With how many of them a file begins, and the least that one is begun for: a test need not wait for either.
    package var firstConnections = 1
    package var smallestPiece = Pace.piece

    /// Whether mobile data may be used; false by default. Where a ``NetworkMonitor`` tells of the kinds of networks, tasks
    /// that run stop and keep their bytes when there is only one that may not be used, and all wait until there is
    /// another or this changes; elsewhere, and with a transport that outlives the process, it is up to the transport, and
    /// holds for requests from then on.
    public var allowsCellularAccess = false
    /// Whether networks the system calls expensive may be used; true by default. Otherwise as ``allowsCellularAccess``.
    public var allowsExpensiveNetworkAccess = true
    /// Whether networks in low-data mode may be used; true by default. Otherwise as ``allowsCellularAccess``.
    public var allowsConstrainedNetworkAccess = true

    /// Whether the manager's ``DownloadLink/Provider`` is asked for a link before every attempt at the task's own URL
    /// (not at mirrors), and not only when the link in hand has expired or is refused. False by default.
    public var refreshesLinksBeforeStart = false

    /// Whether a file is compared with the digest that its server gives, where the caller gives no checksum: in
    /// `Repr-Digest` (RFC 9530), by SHA-256, SHA-512, SHA-1 or MD5, the first of these that is there; else in `Content-MD5`
    /// (RFC 2616, 14.15) of an answer with the whole file. It is computed while bytes arrive, decides what resumed bytes
    /// are worth like a checksum of the caller's, and is remembered. A file with another digest is a failure
    /// (``DownloadFailure/Reason/checksumMismatch``). What is malformed, or by another algorithm, is ignored, and so is that
    /// of an answer with a content coding, or that somebody has changed on its way (203).
    ///
    /// True by default: it finds what was damaged on the way, by a proxy or on a server's disk. Not what a server means to
    /// send: whoever changes the file changes the digest. Set it to false where a server is known to tell wrong ones:
    /// what one has told already does not count then, either. Set to true it holds for answers from then on.
    public var checksServerDigests = true

    /// When a failure is tried again; see ``RetryPolicy`` for the defaults.
    public var retryPolicy = RetryPolicy()
    /// Bytes a second, over 30 seconds, below which an attempt is given up (and tried again).
    ///
    /// 0, the default, sets no bound: a slow link is no fault, and a download over it ends when it ends. Set one where a
    /// server that trickles must not hold a task's turn. Not kept with a transport that outlives the process.
    public var minimumSpeed: Int64 = 0
    /// The longest one attempt may take from its first answer that is used on, in seconds, from 1 to 86,400 (a day); nil,
    /// the default, for no bound. Not kept with a transport that outlives the process.
    public var timeoutIntervalForResource: TimeInterval?
    /// Whether a task that finds no space on the disk, for its file or for the record of its end, waits for it, and tries
    /// again every 30 seconds; else it fails. False by default.
    public var waitsForDiskSpace = false
    /// Whether a new download starts at once; else it is suspended until it is started. True by default.
    public var startsImmediately = true
    /// Whether tasks that were waiting or running when the process ended start by themselves; else they come back
    /// suspended. False by default. The same goes for a task that had succeeded, if its file turns out not to have a
    /// checksum that was given too late for the last process to compare. Those whose transfer has outlived the process
    /// go on with it in any case, but for those that may not run (``contextAtLaunch``, ``isShutDownAtLaunch``); with a
    /// transport that may have such, all are suspended until it has told which.
    public var resumesAtLaunch = false
    /// Whether a task that is canceled leaves what is there of its file. False by default.
    ///
    /// It is gone all the same; but its bytes wait, also from one launch to the next, for the next download of the same
    /// key in the same context, which goes on from them like one that was suspended. They are checked, and
    /// discarded if they do not match, as with any resumed download. A file that was put into its place already, the
    /// success of which could not be recorded, is deleted all the same. Removing a task deletes its file in any case;
    /// removing by its URL or key deletes what a canceled one has left, too, and
    /// ``SessionManager/totalRemove(completely:onMainQueue:handler:)`` what all of the present context have. A download
    /// that is asked for while the cancel is under way has nothing of it.
    public var keepsPartialFileOnCancel = false
    /// The context that a manager begins with, nil by default; see ``SessionManager/context``. Looked at only then.
    public var contextAtLaunch: String?
    /// Whether a manager begins as after ``SessionManager/shutDown(onMainQueue:handler:)``: nothing runs until
    /// ``SessionManager/context`` is set, also to what it is. With ``resumesAtLaunch`` what was waiting or running when the
    /// process ended goes on then, else it is suspended, and so is what was transferred meanwhile by those that outlive the
    /// process. False by default, and looked at only then: whether a user has paused all is the app's to remember.
    public var isShutDownAtLaunch = false

    /// The least time between two tellings of a task's progress, and of that of all tasks: to closures, observers and in
    /// notifications. What comes in between is told together with what follows, at the latest before anything else that
    /// happens to the task, so that the last byte is always told before the success. Figures that are asked for, and
    /// objects of `Progress`, are not held back.
    ///
    /// Zero, the default, holds nothing back: a task tells at most four times a second anyway, when it is looked at, and at
    /// the beginning and the end of each attempt. Set more where there are many tasks, or telling costs much.
    public var progressInterval: Duration = .zero
    /// Whether tasks and their manager post notifications, such as ``DownloadTask/didCompleteNotification``. True by
    /// default. What nobody observes costs time all the same: set it to false where there are many small files and no
    /// observers.
    public var postsNotifications = true

    /// How a file is named for which the caller gives no name; ``FileNaming/urlDigest`` by default. Holds for downloads
    /// that are asked for from then on.
    public var fileNaming = FileNaming.urlDigest
    /// What happens when a finished file is to go where another one is; ``FileConflictPolicy/replace`` by default.
    public var fileConflictPolicy = FileConflictPolicy.replace

    /// The defaults.
    public init() {}
}

extension SessionConfiguration {
    func settings(_ traits: TransportTraits, in environment: Environment) -> Settings {
        var settings = Settings()
        settings.maximumOpenFiles = environment.fileSystem.maximumOpenFiles
        settings.maximumRunning = max(1, min(maxConcurrentTasksLimit, settings.maximumOpenFiles / 4))
        settings.listLimits.standard = max(1, standardListLimit)
        settings.listLimits.named = listLimits
        settings.hostLimit = maxConcurrentTasksPerHost.map { max(1, $0) }
        let isOneAtATime = maxConnectionsPerDownload <= 1 || settings.hostLimit == 1
        settings.delivery =
            switch traits.delivery {
            case .pausable, .file: .whole
            case .sliced(let lengths, let inFlight): .sliced(lengths, inFlight: isOneAtATime ? 1 : max(1, inFlight))
            }
        settings.rateLimit = maximumBytesPerSecond.map { max(1, $0) }
        settings.connections = traits.delivery == .pausable ? min(max(1, maxConnectionsPerDownload), 16) : 1
        settings.firstConnections = firstConnections
        settings.smallestPiece = smallestPiece
        settings.takesServerDigests = checksServerDigests
        settings.takesResumeData = traits.hasResumeData && traits.delivery == .file
        settings.watchdog.silence = Self.duration(timeoutIntervalForRequest)
        settings.watchdog.minimumSpeed = max(0, minimumSpeed)
        settings.outlivesProcess = traits.outlivesProcess
        settings.watchdog.total = timeoutIntervalForResource.flatMap { $0.isNaN ? nil : Self.duration($0) }
        settings.retry = retryPolicy
        settings.links =
            environment.links == nil ? .never : refreshesLinksBeforeStart ? .always : .whenNeeded
        settings.waitsForDiskSpace = waitsForDiskSpace
        settings.cancelKeepsBytes = keepsPartialFileOnCancel
        return settings
    }

    var networkAccess: NetworkAccess {
        NetworkAccess(
            cellular: allowsCellularAccess, expensive: allowsExpensiveNetworkAccess,
            constrained: allowsConstrainedNetworkAccess)
    }

    /// From a second to a day, whatever was given.
    static func duration(_ seconds: TimeInterval) -> Duration {
        seconds.isNaN ? .seconds(60) : .milliseconds(Int64(min(max(seconds, 1), 86_400) * 1000))
    }
}
