import Foundation
import LannerMachine

/// What the engine keeps of one download: what never changes, and what is under way.
final class Job: Sendable {
    let id: DownloadID
    /// Part of the names of its partial files.
    let token: UInt64
    let task: DownloadTask
    let state: Locked<JobState>

    init(id: DownloadID, token: UInt64, task: DownloadTask, state: JobState) {
        self.id = id
        self.token = token
        self.task = task
        self.state = Locked(state)
    }
}

/// The part of a job that changes.
struct JobState {
    /// What the next attempt begins with, and what the present one began with. They differ while an attempt goes on
    /// with the old one.
    var address: Address
    var attempted: Address
    /// Those that were asked for and are not the next attempt's yet, oldest first: each becomes that in its turn, as the
    /// machine hears of it.
    var coming: [Address] = []
    /// What was last asked for.
    var asked: Address { coming.last ?? address }
    /// What happens when its place is taken; as configured when nil.
    var conflictPolicy: FileConflictPolicy?
    /// The same for the move that is on record.
    var movePolicy: FileConflictPolicy?
    /// Whether its caller chose its place.
    var hasDestination = false
    var digest: Checksum.Digest?
    @Apart var pieces: Checksum.Pieces?
    /// What the open partial file is hashed for, and the finished one was compared with: the caller's digest, as it was
    /// then, or the server's.
    var followed: Checksum.Digest?
    /// The same of pieces.
    @Apart var followedPieces: Checksum.Pieces?
    /// Whether a file that was found at launch, and turns out to be wrong, is not fetched again by itself.
    var restsAtSuccess = false
    /// Whether the finished file is being compared with what came late, and is then fetched again if it is wrong.
    var comparison: Comparison?
    var rank: Int64
    /// What the machine last wanted remembered, and in which attempt.
    var saved: Saved
    var lastAttempt: Attempt = 0

    /// The file in the place of the task, while it is this download's: it was moved there.
    @Apart var fileInPlace: PlacedFile?
    /// Whether there is a record by which the next launch removes that file.
    var hasRemoval = false
    /// The place in which the file may be though its partial file is there as well: a copy to another
    /// file system that was cut off.
    @Apart var mayBeAt: FilePlace?
    /// The link that was given last; nil for the task's own URL.
    @Apart var link: KeptLink?
    /// When the time of the link in hand is over.
    var linkExpirationDate: Date?
    @Apart var linkCall: LinkCall?
    /// Where the next request goes; made anew for each attempt, and gone when the download has ended.
    @Apart var destination: Destination?
    /// Where redirects led to the bytes in hand, in an earlier attempt perhaps.
    @Apart var oldWay: Destination?
    /// The mirrors that the machine knows of, which of them has told the version on record, and where requests to them go.
    var mirrors: [URL] = []
    @Apart var mirrorOfVersion: URL?
    var mirrorDestinations: [Source: Destination] = [:]
    /// Those that were asked for in their place, the last ones at the end.
    var comingMirrors: [[URL]] = []
    var askedMirrors: [URL] { comingMirrors.last ?? mirrors }
    var file: PartialFile?
    /// The attempt that it was made for.
    var fileAttempt: Attempt = 0
    /// Whether the disk has refused something of the last one that was opened.
    var hasFileFailed = false
    /// The attempt whose file was moved, or was to be.
    var movedIn: Attempt?
    /// Whose files this one's has replaced, until its success is told.
    var hasReplaced: [Job] = []
    var sinks = ExchangeList<Sink>()
    /// Requests that are held back to keep a limit.
    var heldBack = ExchangeList<Ask>()
    /// The exchange that the transport keeps for the download, the number of the last one there was, and those that the
    /// next record does not name any more.
    @Apart var exchange: KeptExchange?
    var lastSerial: UInt64 = 0
    var dropped: [ExchangeMark] = []
    /// Exchanges that were stopped and may still leave resume data, or whose file is read to its end, and what is done when
    /// the last of them has ended.
    var ending = ExchangeList<Sink>()
    var afterEnding: (@Sendable () -> Void)?
    /// The partial file that may be there: the one in use, or one that was given up, which is removed once the record no
    /// longer names it, or when another takes its place.
    var fileGeneration: UInt32?
    /// The space behind the end of that.
    var reserve = Reserve.none

    init(address: Address, digest: Checksum.Digest?, rank: Int64, saved: Saved) {
        (self.address, attempted) = (address, address)
        self.digest = digest
        self.rank = rank
        self.saved = saved
        fileGeneration = saved.generation > 0 ? saved.generation : nil
    }
}

extension JobState {
    /// Whether the caller has said what the file has to be.
    var hasDigest: Bool { digest != nil || pieces != nil }

    /// The digest of the whole file: what the caller has said, else the server.
    var fileDigest: Checksum.Digest? { digest ?? (pieces == nil ? saved.serverDigest : nil) }

    /// What the caller has said of the file that it was not compared with; nil when there is nothing of that.
    var uncompared: Expectation? {
        let digest = digest == followed ? nil : digest
        let pieces = pieces == followedPieces ? nil : pieces
        return digest == nil && pieces == nil ? nil : Expectation(digest: digest, pieces: pieces)
    }

    /// The exchanges whose end was waited for.
    mutating func takeEnding() -> ExchangeList<Sink> {
        defer { ending = ExchangeList() }
        return ending
    }

    mutating func noteCompared(_ expectation: Expectation) {
        followed = expectation.digest ?? followed
        followedPieces = expectation.pieces ?? followedPieces
    }
}

/// A finished file that was moved to its place.
struct PlacedFile: Sendable {
    /// Which of the partial files of its download it was.
    var generation: UInt32
    /// What tells it; nil when that is not known.
    var fingerprint: FileFingerprint?
    /// Whether it was found by its size alone, though there is a digest to compare it with.
    var isUnread = false
}

/// A comparison that is under way.
struct Comparison: Sendable {
    /// Whether a file that is wrong is fetched at once, else when somebody starts the download.
    var starts: Bool
}

/// What a file has to be.
struct Expectation: Sendable, Hashable {
    var digest: Checksum.Digest?
    var pieces: Checksum.Pieces?
}

/// Where requests go, and the caller's header fields for there.
struct Address: Sendable, Hashable {
    var url: URL
    var fields: HeaderFields
}
