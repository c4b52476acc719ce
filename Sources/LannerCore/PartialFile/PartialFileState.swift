import LannerMachine

/// What a ``PartialFile``'s lanes share: which bytes are where, what the owner asked for, and the events to report.
/// A plain value; nothing is performed here.
struct PartialFileState {
    /// What the owner asked for last.
    enum Phase {
        /// Bytes are taken. → finishing, closing
        case taking
        /// `finish` was called: no more bytes, the rest is cut, hashed and synced. → closing; taking when a piece is wrong
        case finishing
        /// `close` was called: what was accepted is still written unless it was dropped, hashing ends. → closed
        case closing
        /// `.closed` is reported. No exits.
        case closed
    }

    var phase = Phase.taking
    /// How often `finish` was called.
    var finishes = 0
    /// Set by a successful open, taken away by close, or by a finish that is done.
    var file: (any OpenFile)?
    /// The bytes the kernel has. Until the file is open, the bytes the record claims.
    private(set) var written: ByteRanges
    /// The bytes that survive the machine. A subset of `written`.
    private(set) var synced: ByteRanges
    /// How many bytes from 0 on space was set aside for.
    var reserved: Int64 = 0
    /// For how many bytes space is yet to be set aside, when not all of them are written at once.
    var unreserved: Int64?
    /// Bytes accepted and not yet written or dropped.
    var outstanding = 0
    /// Those that wait.
    private var queue: [(chunk: Chunk, offset: Int64)] = []
    /// For how many bytes the file counts as behind, even when no chunk waits.
    private var hurry = 0
    private(set) var backlog: HashBacklog
    var hasHasher: Bool
    private var check: PieceCheck?
    /// Pieces that were wrong and are not written again.
    private(set) var damaged = ByteRanges()
    /// The same of all that were wrong since the last sync was begun, which does not vouch for them.
    private var damagedSinceSync = ByteRanges()
    /// Whether the hash lane has work queued or running.
    private var isHashing = false
    /// Whether a checkpoint waits for the sync lane, and how much work waits there or is under way.
    private var isSyncQueued = false
    private var syncLaneWork = 0
    /// Whether it is being synced together with others, on their lane.
    var isInGroup = false
    /// Whether it held nothing when it was opened.
    private let isNew: Bool
    private(set) var hasFailed = false
    /// Whether the file's name is on the device, as it is when any of its bytes are.
    var isNameSynced: Bool
    /// Where reading back failed; nothing from there on is claimed.
    private var unreadable = Int64.max
    private var distrustsSync = false
    private var finishing = (parts: 0, digest: [UInt8]?.none)
    /// Whether the file was closed when all but the telling of the finish was done.
    private var isClosedByFinish = false
    private var events = Fifo<PartialFileEvent>()
    private var isReporting = false

    init(claimed: ByteRanges, durable: ByteRanges, hasher: Bool, pieces: Checksum.Pieces?, backlogLimit: Int) {
        written = claimed
        written.formUnion(durable)
        synced = durable
        isNameSynced = !durable.isEmpty
        isNew = written.isEmpty
        backlog = HashBacklog(limit: backlogLimit)
        hasHasher = hasher
        check = pieces.map { PieceCheck(pieces: $0) }
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
    var isUnopened: Bool { file == nil && !hasFailed && !isClosedByFinish }
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

    /// These are not there, whatever a record claims.
    mutating func lose(_ holes: ByteRanges) {
        for hole in holes.ranges {
            written.remove(hole)
            synced.remove(hole)
        }
        if synced.isEmpty { isNameSynced = false }
    }

    /// Somebody has cut the file: what was behind the cut does not count, also when a sync that has begun before says so.
    mutating func wasCut(to size: Int64) {
        unreadable = min(unreadable, size)
        clip(to: size)
    }

    /// Another file is this one now, and nothing need be set aside for it.
    mutating func adopt(_ other: any OpenFile) {
        (file, isNameSynced, reserved, unreserved) = (other, false, 0, nil)
    }

    /// A chunk to be written.
    mutating func accept(_ chunk: Chunk, at offset: Int64) {
        outstanding += chunk.count
        queue.append((chunk, offset))
    }

    /// Lets go of what waits to be written; returns how many bytes that was.
    mutating func drop() -> Int {
        let count = queue.reduce(0) { $0 + $1.chunk.count }
        outstanding -= count
        queue = []
        return count
    }

    /// What is written next, one behind the other in the file; nil when it was written already, together with what came
    /// before it, or dropped. Directly when chunks come faster than they are written: much waits, here or in other
    /// files, or did a short while ago. Not what has to be read back for its digest.
    mutating func nextWrite(isMuchWaiting: Bool) -> (chunks: [Chunk], offset: Int64, isDirect: Bool)? {
        guard let (first, offset) = queue.first else { return nil }
        queue.removeFirst()
        var (chunks, count) = ([first], first.count)
        if isMuchWaiting || outstanding - count >= Chunk.largestWrite { hurry = Chunk.hurry }
        defer { hurry = max(0, hurry - count) }
        guard hurry > 0, file?.takesDirectWrites == true, first.isLarge, isHashedFromMemory(count, at: offset) else {
            return (chunks, offset, false)
        }
        while let (next, position) = queue.first, next.isLarge, count + next.count <= Chunk.largestWrite,
            position == offset &+ Int64(count), isHashedFromMemory(count + next.count, at: offset)
        {
            queue.removeFirst()
            chunks.append(next)
            count += next.count
        }
        return (chunks, offset, true)
    }

    private func isHashedFromMemory(_ count: Int, at offset: Int64) -> Bool {
        check == nil && (!hasHasher || backlog.takes(count, at: offset))
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

    /// The kernel has a range, of which some was missing before. After a failure it does not count: which bytes can be
    /// trusted was decided then. Nor does what was there and has turned out to be wrong.
    mutating func wrote(_ range: Range<Int64>, missing: [Range<Int64>]) {
        guard !hasFailed else { return }
        if damaged.isEmpty || damaged.intersection(ByteRanges([range])).isEmpty { return note(range) }
        for part in missing {
            damaged.remove(part)
            note(part)
        }
    }

    private mutating func note(_ range: Range<Int64>) {
        written.insert(range)
        emit(.wrote(range))
    }

    /// Keeps chunks in memory for the hasher, if there is one and they were written as a whole. Not where they may turn
    /// out to be wrong.
    mutating func keep(_ chunks: [Chunk], at offset: Int64) {
        guard hasHasher, check == nil, wantedFile != nil else { return }
        var position = offset
        for chunk in chunks {
            backlog.offer(chunk, at: position)
            position += Int64(chunk.count)
        }
    }

    /// Whether a checkpoint has to be queued: not when one is, and not when nobody waits for it any more.
    mutating func queueSync() -> Bool {
        guard phase == .taking, !isSyncQueued else { return false }
        isSyncQueued = true
        syncLaneWork += 1
        return true
    }

    /// Whether the sync lane has nothing to do, nor will have.
    private var isSyncLaneFree: Bool { syncLaneWork == 0 && !isInGroup && phase != .taking }

    /// Whether what belongs on the sync lane may be done where one is; otherwise it counts as work there.
    mutating func passSyncLane() -> Bool {
        if isSyncLaneFree { return true }
        syncLaneWork += 1
        return false
    }

    /// Some work on the sync lane is over, whatever came of it.
    mutating func endSyncLaneWork() { syncLaneWork -= 1 }

    /// Whether it may be synced together with others, all of it being new to the device, and nothing else to be done
    /// there; it counts as being then.
    mutating func joinGroup() -> Bool {
        isInGroup = isSyncLaneFree && isNew && check == nil
        return isInGroup
    }

    /// What a sync that begins now covers; nil when nobody waits for it any more.
    mutating func beginSync() -> (any OpenFile, ByteRanges)? {
        isSyncQueued = false
        damagedSinceSync = ByteRanges()
        return wantedFile.map { ($0, written) }
    }

    /// What is left for the sync before closing, which is worth it after failures, too; but not after a failed sync,
    /// since the kernel may tell of lost pages once and then forget them.
    mutating func beginLastSync() -> (any OpenFile, ByteRanges)? {
        damagedSinceSync = ByteRanges()
        return distrustsSync || synced == written ? nil : file.map { ($0, written) }
    }

    /// What was written when a sync began is on the device.
    mutating func didSync(_ ranges: ByteRanges) {
        guard !distrustsSync else { return }
        var ranges = ranges.clipped(to: unreadable)
        for piece in damagedSinceSync.ranges { ranges.remove(piece) }
        synced.formUnion(ranges)
    }

    /// Whether the bytes written are those of a file of this size, no less and no more.
    func isComplete(_ total: Int64) -> Bool {
        total >= 0 && written.end == total && written.prefix == total
    }
}

// MARK: Hashing

extension PartialFileState {
    /// What the hash lane does next.
    enum Hashing {
        /// Compare a piece.
        case check(Range<Int64>, Checksum.Algorithm)
        /// Take the next bytes of the whole file, which are there.
        case take(HashBacklog.Piece, position: Int64)

        var position: Int64 {
            switch self {
            case .check(let piece, _): piece.lowerBound
            case .take(_, let position): position
            }
        }
    }

    /// Whether there are pieces to be compared.
    var hasPieces: Bool { check != nil }

    /// The size is known now.
    mutating func setTotal(_ total: Int64) {
        check?.total = total
    }

    /// Whether the hash lane is idle and has something to do; it counts as started then.
    mutating func startHashing() -> Bool {
        guard !isHashing, wantedFile != nil else { return false }
        isHashing = check?.next(in: written) != nil || (hasHasher && backlog.hasNext(below: hashable))
        return isHashing
    }

    /// What to hash next; nil when there is nothing for now, and then the hash lane is idle.
    mutating func nextHashing() -> (work: Hashing, file: any OpenFile)? {
        if let file = wantedFile {
            if let check, let piece = check.next(in: written) { return (.check(piece, check.pieces.algorithm), file) }
            let position = backlog.position
            if hasHasher, let piece = backlog.next(below: hashable) { return (.take(piece, position: position), file) }
        }
        isHashing = false
        return nil
    }

    /// Up to where the hasher of the whole file may go: what it has taken it cannot give back.
    private var hashable: Int64 { check?.right.prefix ?? written.prefix }

    /// A piece has this digest. If it is wrong its bytes count no more, and a finish has to wait for others.
    mutating func compare(_ digest: [UInt8], of piece: Range<Int64>) {
        guard wantedFile != nil, check?.compare(digest, of: piece) == false else { return }
        written.remove(piece)
        synced.remove(piece)
        damaged.insert(piece)
        damagedSinceSync.insert(piece)
        if phase == .finishing { phase = .taking }
        emit(.damaged(piece))
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

    /// The file, and where it is to end, when it could not be synced; what is on the device behind that is given up, too.
    mutating func giveUpDistrusted() -> (file: any OpenFile, size: Int64)? {
        guard distrustsSync, let file else { return nil }
        clip(to: synced.prefix)
        return (file, synced.prefix)
    }

    /// Written bytes could not be read back: none from there on counts, so that they are fetched again.
    mutating func failRead(_ error: FileError, at position: Int64) {
        unreadable = min(unreadable, position)
        clip(to: position)
        fail(error)
    }

    /// Whether this finish was not given up.
    func isFinishing(_ number: Int) -> Bool { phase == .finishing && finishes == number }

    /// The file is cut and complete; it has to be synced and, if this says so, hashed.
    mutating func beginFinish() -> Bool {
        finishing.parts = hasHasher ? 2 : 1
        return hasHasher
    }

    /// One part of the finish is done.
    mutating func finishPart(digest: [UInt8]? = nil) {
        finishing.parts -= 1
        finishing.digest = digest ?? finishing.digest
        let isWanted = wantedFile != nil || (isClosedByFinish && phase == .finishing)
        if finishing.parts == 0, isWanted { emit(.finished(digest: finishing.digest)) }
    }

    /// The file, for the caller to close, when the finish waits for nothing but a part that is done, and is yet to be
    /// counted.
    mutating func takeFinished() -> (any OpenFile)? {
        guard phase == .finishing, finishing.parts == 1, let file = workingFile else { return nil }
        self.file = nil
        isClosedByFinish = true
        return file
    }

    /// Whether nothing is left of a close but to tell of it.
    mutating func beginClosingFinished() -> Bool {
        guard isClosedByFinish, phase == .finishing, finishing.parts == 0 else { return false }
        phase = .closing
        return true
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
        guard !isReporting, events.count > 0 else { return false }
        isReporting = true
        return true
    }

    /// What waits next; nil, and the reporting is over, when nothing does.
    mutating func takeEvent() -> PartialFileEvent? {
        isReporting = events.count > 0
        return events.popFirst()
    }
}
