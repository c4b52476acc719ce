/// What the machine decides by and a user may change.
package struct Settings: Sendable, Hashable {
    /// How many downloads run at once.
    package var maximumRunning = 6
    /// Files that are complete, and only to be synced, moved and recorded, make room for others, but only for so many:
    /// else they would pile up before a disk that is slower than the network. The more there are, the more the device
    /// does at once, but files stay open meanwhile; and who wants one at a time gets one at a time.
    package var maximumFinishing: Int {
        let few = min(maximumRunning, 16)
        // The rest of what may be open is for those that run, their connections, and all else that the program does.
        return max(maximumRunning, min(few * few, maximumOpenFiles / 4))
    }
    /// How many files the program may have open.
    package var maximumOpenFiles = 1024

    package var listLimits = ListLimits()
    /// How many downloads of one host run at once, whatever their lists; nil for no limit.
    package var hostLimit: Int?
    /// How a body arrives, by the transport's traits.
    package var delivery = Delivery.whole
    /// The most bytes a second that all downloads together may take; nil for no bound.
    package var rateLimit: Int64?
    /// How many connections one download may use, when a body arrives as a whole.
    package var connections = 1
    /// With how many of them one begins, before it is known whether they help.
    package var firstConnections = 1
    /// A part of a file of fewer bytes is not worth a connection of its own.
    package var smallestPiece = Pace.piece
    /// Whether digests count that servers give.
    package var takesServerDigests = true
    /// Whether the transport goes on by resume data of its own.
    package var takesResumeData = false
    /// Whether exchanges outlive the process, and are left alone: they go on while nobody can look at them.
    package var outlivesProcess = false
    package var watchdog = Watchdog()
    package var retry = RetryPolicy()
    /// When another link is asked for.
    package var links = Links.never
    /// Whether a download that finds no space waits for it; else it fails.
    package var waitsForDiskSpace = false
    /// Whether a download that is canceled leaves its bytes to the next one of the same.
    package var cancelKeepsBytes = false

    package init() {}

    /// When another link is asked for.
    package enum Links: Sendable, Hashable {
        /// There is nobody to ask.
        case never
        /// When the one in hand has expired or was refused.
        case whenNeeded
        /// Before every attempt, and when it was refused.
        case always
    }

    /// How many bytes one exchange is asked for.
    package enum Delivery: Sendable, Hashable {
        /// All that is missing.
        case whole
        /// A slice, of which at most `inFlight` are under way.
        case sliced(ClosedRange<Int64>, inFlight: Int)
    }
}

/// How many downloads of one list run at once. Those without a list know no such limit.
package struct ListLimits: Sendable, Hashable {
    /// Of lists that have no limit of their own here.
    package var standard = 3
    package var named: [String: Int] = [:]

    package init() {}

    /// How many of a list may run.
    package subscript(list: String?) -> Int {
        guard let list else { return .max }
        return max(1, named[list] ?? standard)
    }
}

/// How slow is too slow. Time is counted by the manager's clock.
package struct Watchdog: Sendable, Hashable {
    /// From the request to the header of the answer, and between two advances of the body.
    package var silence: Duration = .seconds(60)
    /// Fewer bytes a second than this over `speedWindow` end the attempt; 0 for no bound.
    package var minimumSpeed: Int64 = 0
    package var speedWindow: Duration = .seconds(30)
    /// The longest one attempt may take; nil for no bound.
    package var total: Duration?

    package init() {}
}

/// Times and amounts that are fixed.
package enum Pace {
    /// How often a running transfer is looked at: progress, marks, watchdogs.
    package static let tick: Duration = .milliseconds(250)
    /// The written mark is recorded after so many bytes, or after so long.
    package static let markBytes: Int64 = 8 << 20
    package static let markTime: Duration = .seconds(1)
    /// The durable mark follows this often.
    package static let syncTime: Duration = .seconds(5)
    /// Or after so much, so that little is left to sync at the end.
    package static let syncBytes: Int64 = 256 << 20
    /// Bytes that are asked for or received, and not yet written, of one download.
    package static let window: Int64 = 64 << 20
    /// The least that is still to come when the next slice is asked for.
    package static let lookAhead: Int64 = 2 << 20
    /// The least that is asked for at once to keep a limit.
    package static let leastSlice: Int64 = 16 << 10
    /// The least that one of several connections is begun for.
    package static let piece: Int64 = 1 << 20
    /// And in time, at the speed of one of them, besides twice the way to the server and back.
    package static let pieceTime: Duration = .milliseconds(250)
    /// Over how long it is measured what one of several connections brings, how much longer it may take for its rest
    /// before another is asked for that, and for how long it goes on until then.
    package static let recentTime: Duration = .seconds(5)
    package static let endTime: Duration = .seconds(10)
    package static let answerTime: Duration = .seconds(4)
    /// And how much it has to have brought before it broke off for another to be worth the wait, where there are mirrors.
    package static let worthAWait: Int64 = 16 << 20
    /// How long a place that has failed is left alone while others bring the file, where it says nothing of that.
    package static let placeWait: Duration = .seconds(60)
    /// A file of no more bytes makes room for the next when they have come, others when they are written as well: what
    /// waits for the disk is memory.
    package static let smallFile: Int64 = 256 << 10
    /// More bytes than this wait for the disk only when it is the disk that is slow.
    package static let backlog: Int64 = 4 << 20
    /// So many bytes of an exchange may wait in memory until they are written together.
    package static let gathered: Int64 = 1 << 20
    /// How long a download counts as held back after it was.
    package static let holdMemory: Duration = .seconds(1)
    /// How long a full disk is left alone.
    package static let diskWait: Duration = .seconds(30)
    /// How long a download waits that had a file refused because too many are open, and how long fewer run then; at most, when
    /// that happens again and again.
    package static let filesWait: Duration = .seconds(1)
    package static let longestFilesWait: Duration = .seconds(60)
    /// How long a download at most waits that found no network where there should be one.
    package static let networkWait: Duration = .seconds(30)
    /// How often the record of a published file is tried again, and how long apart.
    package static let recordTries = 3
    package static let recordWait: Duration = .seconds(1)
    /// So often a file may change under a download before that waits for it to rest: once for each rung by which to resume.
    package static let changes = 4
    /// So often in a row a part is asked for again where another server of the same name may have answered.
    package static let otherTags = 3
    /// When a host has refused so many in a minute that has others to send, no more are begun there for a minute.
    package static let crowd = 3
    /// How long a host is left alone at first that takes only so many requests in a time; for how long it is remembered that
    /// it has sent something, which is also the longest that it is left alone without its word; how often a download is refused
    /// for that; and when it has answered more than so many at once, it does not do so any more.
    package static let rateWait: Duration = .milliseconds(250)
    package static let rateMemory: Duration = .seconds(60)
    package static let rateRefusals = 12
    package static let mostRated = 8
    /// The least that a download waits that its host has no connection for, or no time.
    package static let crowdWait: Duration = .seconds(5)
    /// After so many failures in a row, where no number of retries is set, what a server does is taken to be its way.
    package static let fruitlessTries = 10
    /// The most redirects of one request (RFC 9110, 15.4 asks for a limit): as many as are common among clients; real
    /// chains are much shorter.
    package static let redirects = 20
}
