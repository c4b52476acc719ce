/// What the machine is told.
package enum Event: Sendable, Equatable {
    // From the user.
    /// A download to keep: new ones, and those restored from the store.
    case add([NewDownload])
    /// Verbs over any number of downloads; the ticket is answered once, when all have come to rest.
    case user(Verb, [DownloadID], Ticket?)
    /// What these hold of slots stays empty when they are stopped, until something is started.
    case withhold([DownloadID])
    /// Another list, or none.
    case relist(DownloadID, String?)
    /// Another URL, and the host it leads to; both count from the next attempt on.
    case readdress(DownloadID, HostID)
    /// Another priority.
    case prioritize(DownloadID, DownloadPriority)
    /// Another limit in bytes a second, or none.
    case limit(DownloadID, Int64?)
    /// Another place in the order.
    case reorder([DownloadID: Int64])
    /// Other digests of pieces, and the sizes of files that consist of so many: an attempt that is under way begins anew.
    case expectPieces(DownloadID, sizes: ClosedRange<Int64>)
    /// Another expected digest, or none; other mirrors, so many, from the next attempt on; and whatever else the user
    /// changed is to be recorded.
    case expectDigest(DownloadID, Bool, mirrors: MirrorChange? = nil)
    /// When the link's time is over, in seconds since 1970; nil when that is not known.
    case expectLink(DownloadID, expires: Int64?)
    /// Other settings; they hold from the next decision on. Apart, since they are large and every event is copied.
    indirect case settings(Settings)

    // From the parts of the engine.
    /// From the files of an attempt.
    case file(DownloadID, Attempt, FileEvent)
    /// From the store, about a record that was asked to be confirmed.
    case store(DownloadID, Attempt, StoreEvent)
    /// From whoever gives links, in answer to an attempt.
    case link(DownloadID, Attempt, LinkEvent)
    /// From the transport.
    case exchange(DownloadID, ExchangeNumber, ExchangeEvent)
    /// From the transport, about an exchange of an earlier process: it was stopped, and has left this.
    case inherit(DownloadID, Legacy)

    // From elsewhere.
    /// The time asked for by ``Action/wake(at:)`` has come.
    case timer
    /// Whether there is a network that may be used; until this is told there is one. Without one nobody runs.
    case network(available: Bool)
}

/// What became of the files of an attempt.
package enum FileEvent: Sendable, Equatable {
    /// The partial file takes bytes, and holds this much of what was claimed: it is open, or a new one that may yet
    /// fail to be.
    case opened(held: ByteRanges)
    /// Bytes are with the kernel.
    case wrote(Range<Int64>)
    /// Bytes are with the device.
    case synced(ByteRanges)
    /// These bytes, a piece, do not have their digest: they are not there any more.
    case damaged(Range<Int64>)
    /// The file is complete and its digest compared.
    case verified(Verification)
    /// The file is in its final place, and its name is with the device.
    case published
    /// The file was not moved: its place was taken, and it has been given another name.
    case placeTaken
    /// The file is in its final place, but its name may not outlive the machine.
    case unconfirmed(DownloadFailure)
    /// A file operation of the attempt failed; the file takes no more bytes.
    case failed(DownloadFailure)
    /// The file is closed and nothing more comes from it.
    case closed(written: ByteRanges, synced: ByteRanges)
    /// The files of a download that ends are gone (or could not be removed, which was logged).
    case discarded
}

/// What became of a record.
package enum StoreEvent: Sendable, Equatable {
    /// It is kept.
    case recorded
    /// It is not.
    case failed(DownloadFailure)
}

/// What became of the wish for another link.
package enum LinkEvent: Sendable, Equatable {
    /// There is one; whether it or its header fields differ from those before, and when its time is over.
    case given(isOther: Bool, expires: Int64?)
    /// There is no other.
    case none(DownloadFailure)
    /// It could not be found out.
    case failed(DownloadFailure)
}

/// What became of an exchange.
package enum ExchangeEvent: Sendable, Equatable {
    /// The header of a response.
    case head(ResponseHead)
    /// A redirect was looked at and can be followed.
    case redirected
    /// How many bytes of the body have come in all.
    case received(Int64)
    /// How many bytes the transport holds of a file that it will hand over in the end.
    case holds(Int64)
    /// The transport has left resume data for what it holds. Comes before `failed`, or before the file is closed when the
    /// exchange was stopped.
    case resumeData([UInt8])
    /// It is held back up to a time, to keep a limit: it may be silent and slow.
    case heldBack(until: Duration)
    /// The body is complete, and so many bytes of it have come in all.
    case ended(received: Int64)
    /// More came than the answer had announced; the exchange is over.
    case overflowed
    /// It is over without a complete body.
    case failed(DownloadFailure)
}

/// What a user asks of a download.
package enum Verb: Sendable, Hashable {
    /// Run, as soon as there is a slot.
    case start
    /// The same, if the download was added without being started and nothing was asked of it since. Else nothing.
    case startAdded
    /// Run from the beginning though it has succeeded: its file is gone. Else nothing. Unless it `starts`, it is as if it
    /// had been added without being started.
    case downloadAgain(starts: Bool)
    /// Stop and keep the bytes.
    case suspend
    /// Stop, forget the download and its bytes, or keep these where that is set; a finished download is left alone.
    case cancel
    /// Forget the download and its bytes; `completely`: the finished file too.
    case remove(completely: Bool)
    /// Do not run until taken off the shelf: what runs stops, keeps its bytes, and waits.
    case shelve
    /// Run again, if it did.
    case unshelve
    /// Nothing; done when what was asked before is, or is on its way to the record.
    case settle
}

/// A download as it enters the machine.
package struct NewDownload: Sendable, Equatable {
    package var id: DownloadID
    /// Its place in the order: less is sooner.
    package var rank: Int64
    /// Whether a digest of the whole file is known and compared at the end.
    package var hasDigest: Bool
    /// The sizes that its file may have, as far as its pieces tell.
    package var sizes: ClosedRange<Int64>?
    /// The list whose limit it keeps, besides the machine's.
    package var list: String?
    /// The host whose limit it keeps.
    package var host: HostID
    package var priority: DownloadPriority
    /// The most bytes a second that it may take; nil for no bound of its own.
    package var rateLimit: Int64?
    /// Whether it is not wanted for the time being.
    package var isShelved: Bool
    /// When the link's time is over, in seconds since 1970.
    package var linkExpires: Int64?
    /// How many mirrors have the file, besides its URL.
    package var mirrors: Int
    /// The last attempt of one that had the number before: what comes late from that is not mistaken for this one's.
    package var lastAttempt: Attempt
    /// What the store remembered, or a blank for a new one.
    package var saved: Saved
    /// Whether its file was being moved to its place when the last process ended, and what came of that is told next.
    package var isMoving: Bool

    package init(
        id: DownloadID, rank: Int64, hasDigest: Bool = false, sizes: ClosedRange<Int64>? = nil, list: String? = nil,
        host: HostID = .unknown, priority: DownloadPriority = .normal, rateLimit: Int64? = nil, isShelved: Bool = false,
        linkExpires: Int64? = nil, mirrors: Int = 0, lastAttempt: Attempt = 0,
        saved: Saved = Saved(status: .suspended), isMoving: Bool = false
    ) {
        self.id = id
        self.rank = rank
        self.hasDigest = hasDigest
        self.sizes = sizes
        self.list = list
        self.host = host
        self.priority = priority
        self.rateLimit = rateLimit
        self.isShelved = isShelved
        self.linkExpires = linkExpires
        self.mirrors = mirrors
        self.lastAttempt = lastAttempt
        self.saved = saved
        self.isMoving = isMoving
    }
}

/// The part of a download's record that the machine answers for.
package struct Saved: Sendable, Hashable {
    /// Where a download stands, as it is remembered. There is no running: who finds one was interrupted.
    package enum Status: Sendable, Hashable {
        /// Was to run: waiting or under way.
        case active
        case suspended
        case failed(DownloadFailure)
        /// Verified; being moved to its place.
        case publishing
        case succeeded
    }

    package var status: Status
    /// The version of the remote file that the bytes belong to.
    @Apart package var version: Version?
    /// Which partial file holds the bytes; a new one begins with each start from zero.
    package var generation: UInt32
    /// Bytes with the kernel: they survive the death of the process.
    package var written: ByteRanges
    /// Bytes with the device: they survive the death of the machine.
    package var synced: ByteRanges
    /// The size of the whole file, where it is known.
    package var total: Int64?
    /// What the transport goes on with, when it holds the bytes and not the partial file.
    package var resumeData: ResumeData?
    /// Whether the download was added without being started, and nothing was asked of it since.
    package var isUnstarted: Bool
    /// Whether bytes may come from another URL than the one it has now, and from none of its mirrors.
    package var isOfOtherURL = false
    /// Where the version was told, when that is a mirror.
    package var source: Source = 0
    /// Whether the download was canceled, and only its bytes are kept, for the next one of the same.
    package var isLeftover = false
    /// Whether the file was moved to its place and that has yet to be told: who finds this looks for it there.
    package var isPublished = false
    /// Whether the bytes are all there are, and of one version, though no validator tells.
    package var isOfOneVersion = false

    package init(
        status: Status, version: Version? = nil, generation: UInt32 = 0, written: ByteRanges = ByteRanges(),
        synced: ByteRanges = ByteRanges(), total: Int64? = nil, resumeData: ResumeData? = nil,
        isUnstarted: Bool = false
    ) {
        self.status = status
        self.version = version
        self.generation = generation
        self.written = written
        self.synced = synced
        self.total = total
        self.resumeData = resumeData
        self.isUnstarted = isUnstarted
    }
}

/// The outcome of looking at a complete file.
package enum Verification: Sendable, Hashable {
    /// The size is right and no digest was expected.
    case sizeOnly
    /// The digest is the expected one.
    case correct
    /// It is not; a sentence with both.
    case mismatch(String)
}
