import LannerMachine

/// What a ``PartialFile``'s lanes share: which bytes are where, what the owner asked for, and the events to report.
/// A plain value; nothing is performed here.
struct PartialFileState {
    /// What the owner asked for last.
    enum Phase {
        /// Bytes are taken. → finishing, closing
        case taking
        /// `finish` was called: no more bytes, the rest is cut, hashed and synced. → closing
        case finishing
        /// `close` was called: what was accepted is still written, hashing ends. → closed
        case closing
        /// `.closed` is reported. No exits.
        case closed
    }

    var phase = Phase.taking
    /// Set by a successful open, taken away by close.
    var file: (any OpenFile)?
    /// The bytes the kernel has. Until the file is open, the bytes the record claims.
    private(set) var written: ByteRanges
    /// The bytes that survive the machine. A subset of `written`.
    private(set) var synced: ByteRanges
    /// How many bytes from 0 on space was set aside for.
    var reserved: Int64 = 0
    /// Bytes accepted and not yet written or dropped.
    var outstanding = 0
    private(set) var backlog: HashBacklog
    private let hasHasher: Bool
    /// Whether the hash lane has work queued or running.
    private var isHashing = false
    /// Whether a checkpoint waits for the sync lane.
    private var isSyncQueued = false
    private var hasFailed = false
    /// Whether the file's name is on the device, as it is when any of its bytes are.
    var isNameSynced: Bool
    /// Where reading back failed; nothing from there on is claimed.
    private var unreadable = Int64.max
    private var distrustsSync = false
    private var finishing = (parts: 0, digest: [UInt8]?.none)
    private var events: [PartialFileEvent] = []
    private var isReporting = false

    init(claimed: ByteRanges, durable: ByteRanges, hasher: Bool, backlogLimit: Int) {
        written = claimed
        written.formUnion(durable)
        synced = durable
        isNameSynced = !durable.isEmpty
        backlog = HashBacklog(limit: backlogLimit)
        hasHasher = hasher
    }

    /// The file, while work on it makes sense: it is open, nothing has failed, and its end is not waited for.
    var workingFile: (any OpenFile)? {
        hasFailed ? nil : file
    }

    /// The same for work that nobody wants any more once `close` was called: hashing, checkpoints, the finish.
    var wantedFile: (any OpenFile)? {
        switch phase {
        case .taking, .finishing: workingFile
        case .closing, .closed: nil
        }
    }

    /// Whether there was no attempt to open the file yet.
    var isUnopened: Bool { file == nil && !hasFailed }
}

// MARK: Bytes

extension PartialFileState {
    /// The file turned out to be `size` bytes long: a record that claims more is wrong about the rest, and one of which
    /// nothing is left may be about another file, which had the name before.
    mutating func clip(to size: Int64) {
        written = written.clipped(to: size)
        synced = synced.clipped(to: size)
        if synced.isEmpty { isNameSynced = false }
    }

    /// The parts of a range that are not written yet.
    func missing(in range: Range<Int64>) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position = range.lowerBound
        while let gap = written.firstGap(from: position, below: range.upperBound) {
            gaps.append(gap)
            position = gap.upperBound
        }
        return gaps
    }

    /// The kernel has a range. After a failure it does not count: which bytes can be trusted was decided then.
    mutating func wrote(_ range: Range<Int64>) {
        guard !hasFailed else { return }
        written.insert(range)
        emit(.wrote(range))
    }

    /// Keeps a chunk in memory for the hasher, if there is one and the chunk was written as a whole.
    mutating func keep(_ chunk: Chunk, at offset: Int64) {
        if hasHasher, wantedFile != nil { backlog.offer(chunk, at: offset) }
    }

    /// Whether the hash lane is idle and has something to do; it counts as started then.
    mutating func startHashing() -> Bool {
        guard hasHasher, !isHashing, wantedFile != nil, backlog.hasNext(below: written.prefix) else { return false }
        isHashing = true
        return true
    }

    /// Whether a checkpoint has to be queued: not when one is, and not when nobody waits for it any more.
    mutating func queueSync() -> Bool {
        guard phase == .taking, !isSyncQueued else { return false }
        isSyncQueued = true
        return true
    }

    /// What a sync that begins now covers; nil when nobody waits for it any more.
    mutating func beginSync() -> (any OpenFile, ByteRanges)? {
        isSyncQueued = false
        return wantedFile.map { ($0, written) }
    }

    /// What is left for the sync before closing, which is worth it after failures, too; but not after a failed sync,
    /// since the kernel may tell of lost pages once and then forget them.
    func beginLastSync() -> (any OpenFile, ByteRanges)? {
        distrustsSync || synced == written ? nil : file.map { ($0, written) }
    }

    /// What was written when a sync began is on the device.
    mutating func didSync(_ ranges: ByteRanges) {
        guard !distrustsSync else { return }
        synced.formUnion(ranges.clipped(to: unreadable))
    }

    /// The next piece to hash; nil when there is none for now, and then the hash lane is idle.
    mutating func nextPiece() -> (piece: HashBacklog.Piece, position: Int64, file: any OpenFile)? {
        let position = backlog.position
        if let file = wantedFile, let piece = backlog.next(below: written.prefix) { return (piece, position, file) }
        isHashing = false
        return nil
    }

    /// Whether the bytes written are those of a file of this size, no less and no more.
    func isComplete(_ total: Int64) -> Bool {
        total >= 0 && written.end == total && written.prefix == total
    }
}

// MARK: Ends

extension PartialFileState {
    mutating func fail(_ error: FileError) {
        guard !hasFailed else { return }
        emit(.failed(error))
        hasFailed = true
        backlog.clear()
    }

    /// A sync failed: only what earlier syncs have confirmed is known to be there, since the kernel may have dropped
    /// any page it could not write.
    mutating func failSync(_ error: FileError) {
        distrustsSync = true
        written = synced
        fail(error)
    }

    /// Written bytes could not be read back: none from there on counts, so that they are fetched again.
    mutating func failRead(_ error: FileError, at position: Int64) {
        unreadable = position
        clip(to: position)
        fail(error)
    }

    /// The file is cut and complete; `parts` more have to be done.
    mutating func beginFinish(parts: Int) {
        finishing.parts = parts
    }

    /// One part of the finish is done.
    mutating func finishPart(digest: [UInt8]? = nil) {
        finishing.parts -= 1
        finishing.digest = digest ?? finishing.digest
        if finishing.parts == 0, wantedFile != nil { emit(.finished(digest: finishing.digest)) }
    }

    /// `close` has reached the hash lane: nothing waits for the hasher any more.
    mutating func stopHashing() {
        backlog.clear()
    }

    mutating func didClose() {
        phase = .closed
        file = nil
        events.append(.closed(written: written, synced: synced))
    }
}

// MARK: Events

extension PartialFileState {
    /// An event to report, unless something has failed: then only the end is.
    mutating func emit(_ event: PartialFileEvent) {
        if !hasFailed { events.append(event) }
    }

    /// Whether the caller is the one to report what waits.
    mutating func beginReporting() -> Bool {
        guard !isReporting, !events.isEmpty else { return false }
        isReporting = true
        return true
    }

    /// What waits, in order; nil, and the reporting is over, when nothing does.
    mutating func takeEvents() -> [PartialFileEvent]? {
        guard !events.isEmpty else {
            isReporting = false
            return nil
        }
        defer { events = [] }
        return events
    }
}
