import LannerMachine

/// What a ``PartialFile`` reports.
package enum PartialFileEvent: Sendable, Hashable {
    /// The file is open and holds these bytes of what was claimed.
    case opened(held: ByteRanges)
    /// The kernel has the bytes of one `write`, or of several that waited one behind the other.
    case wrote(Range<Int64>)
    /// These bytes, all that were ever synced, survive the death of the machine.
    case synced(ByteRanges)
    /// These bytes, a piece, do not have their digest: they count as not written any more. A `finish` is given up.
    case damaged(Range<Int64>)
    /// The file is complete, has its size and is on the device. The digest is nil when no hasher was given.
    case finished(digest: [UInt8]?)
    /// The disk refused, or the calls contradict each other. Only `closed` follows.
    case failed(FileError)
    /// The file is closed; nothing follows. The ranges are what a record may claim: written and durable.
    case closed(written: ByteRanges, synced: ByteRanges)
}

/// The file a download is written into.
///
/// Every method returns at once and may be called on any thread. The work is done on three lanes, so that none of
/// writing, hashing and syncing waits for another:
/// - *write* opens, preallocates, writes and cuts, in the order of the calls;
/// - *hash* compares pieces that are written, and follows the written prefix, taking chunks from memory or reading back
///   what it has missed;
/// - *sync* waits for the device. On the write lane a sync of seconds would hold up the transfer, on the hash lane
///   the digest, which is often the slowest part of the three.
///
/// A small file that is finished is synced on the lane of its group, together with others, and closed when that was all.
///
/// Events come one at a time, in order, on one of these lanes, `closed` also inside ``close(sync:dropping:)``, and
/// never under a lock of this; any method may be called from `report`. The order: `opened`, if that is awaited;
/// `wrote`, `synced` and `damaged` as they happen; `finished`. `failed` comes at most once, at any point, and then only
/// `closed`. `closed` comes exactly once, after a close, and is the last.
package final class PartialFile: Sendable {
    let path: String
    let fileSystem: any FileSystem
    let lanes: Lanes
    let load: WriteLoad
    /// The others that it is synced with when it is small and finished.
    let group: SyncGroup?
    let digester: Digester
    /// A file that is removed before this one is opened, because it takes its place and needs its space.
    let replaced: String?
    let report: @Sendable (PartialFileEvent) -> Void
    let state: Locked<PartialFileState>

    /// A file at `path`, in a directory that is there. Nothing is touched before ``open(total:isAwaited:)``.
    ///
    /// The hasher is a fresh one and gets every byte of the file from 0 on, in order, where there are pieces only those of
    /// pieces that are right; `makeHasher` makes those of pieces. `claimed` is what the record says was written and may
    /// be kept, empty for a new file; `durable` the part of it that is on the device. At most `backlogLimit` bytes of
    /// memory wait for the hasher; what does not fit is read back. How the file is written depends on what waits in all
    /// that share its `load`. The file `replacing` is removed before this one takes any space; another partial file
    /// that still writes to it has to have the same lanes.
    package init(
        path: String, fileSystem: any FileSystem, lanes: Lanes, hasher: (any Checksum.Hasher)?,
        pieces: Checksum.Pieces? = nil, claimed: ByteRanges = ByteRanges(), durable: ByteRanges = ByteRanges(),
        makeHasher: @escaping Checksum.HasherProvider = { $0.makeHasher() },
        replacing replaced: String? = nil, load: WriteLoad = WriteLoad(), group: SyncGroup? = nil,
        backlogLimit: Int = 8 << 20,
        report: @escaping @Sendable (PartialFileEvent) -> Void
    ) {
        self.path = path
        self.fileSystem = fileSystem
        self.lanes = lanes
        self.load = load
        self.group = group
        digester = Digester(makeHasher)
        if let hasher { digester.begin(with: hasher) }
        self.replaced = replaced
        self.report = report
        self.state = Locked(
            PartialFileState(
                claimed: claimed, durable: durable, hasher: hasher != nil, pieces: pieces, backlogLimit: backlogLimit))
    }

    deinit {
        // For owners that forget `close`; closing twice does nothing.
        state.withLock { $0.file }?.close()
    }

    /// The lanes of one file. What is small and has no digest needs but one: the others are made when they are first used.
    package final class Lanes: Sendable {
        package let write: any Lane
        private let factory: any LaneFactory
        private let others = Locked<(hash: (any Lane)?, sync: (any Lane)?)>((nil, nil))

        /// New lanes.
        package init(_ factory: any LaneFactory) {
            self.factory = factory
            write = factory.makeLane("file.write")
        }

        package var hash: any Lane { others.withLock { lane("file.hash", in: &$0.hash) } }
        package var sync: any Lane { others.withLock { lane("file.sync", in: &$0.sync) } }

        private func lane(_ label: String, in place: inout (any Lane)?) -> any Lane {
            let lane = place ?? factory.makeLane(label)
            place = lane
            return lane
        }
    }

    // MARK: Calls

    /// Bytes accepted by ``write(_:at:)`` and not yet written or dropped: what back-pressure goes by. It falls before
    /// the `wrote` or `failed` that tells of it; nothing tells of what is dropped.
    package var outstanding: Int { state.withLock { $0.outstanding } }

    /// Opens the file: a new one when nothing is claimed, otherwise what is there, holding no more than its size.
    /// Sets aside space for `total` bytes when it is known. → `opened`, unless nobody waits for that, or `failed`
    package func open(total: Int64?, isAwaited: Bool = true) {
        accept {
            $0.phase == .taking
        } work: {
            $0.openNow(total, isAwaited: isAwaited)
        }
    }

    /// Sets space aside once the size is known, if it was not at `open`. → nothing or `failed`
    ///
    /// For a file of no more than a chunk, or unless it `reserves`, not before it is written, and not at all when it is
    /// written as a whole, or adopted. A large one fails at once where there is no room, if it `needsRoom`.
    package func setTotal(_ total: Int64, reserves: Bool = true, needsRoom: Bool = true) {
        accept { state in
            guard state.phase == .taking else { return false }
            let isSmall = total <= Int64(Chunk.standardSize)
            state.unreserved = isSmall && !state.hasPieces || !reserves ? total : nil
            return !isSmall || state.hasPieces
        } work: {
            $0.take(total, needsRoom: needsRoom)
        }
    }

    /// Has a file that lies beside this one, of so many bytes, take its place, all of it being written then: where nothing is
    /// yet. → `wrote`, or `failed`; then `done`, whether it has: else nothing has changed
    package func adopt(_ other: String, of count: Int64, then done: @escaping @Sendable (Bool) -> Void) {
        let isAccepted = state.withLock { state in
            if state.phase == .taking { lanes.write.run { done(self.adoptNow(other, of: count)) } }
            return state.phase == .taking
        }
        if !isAccepted { done(false) }
    }

    /// Gives the file a fresh hasher, which gets every byte of the file; does nothing when it has one, or is finished.
    package func hash(with hasher: any Checksum.Hasher) {
        accept { state in
            guard state.phase == .taking, !state.hasHasher else { return false }
            digester.begin(with: hasher)
            state.hasHasher = true
            return true
        } work: {
            $0.startHashing()
        }
    }

    /// Writes a chunk, which is given away by this. → `wrote` or, unless something has failed before, `failed`; one for
    /// several where they are written together
    ///
    /// Ranges may come in any order, and several at once. Bytes that are already written are not written again: the
    /// first that came count, so that the digest is always that of the file. After `finish` or `close` does nothing.
    package func write(_ chunk: Chunk, at offset: Int64) {
        accept { state in
            guard state.phase == .taking else { return false }
            state.accept(chunk, at: offset)
            load.add(chunk.count)
            return true
        } work: {
            $0.writeNow()
        }
    }

    /// Syncs at least all that was handed to `write` before. → `synced` or `failed`
    ///
    /// Calls made while a sync waits its turn are answered together, by one event. After a failure, `finish` or
    /// `close`, nothing is reported.
    package func checkpoint() {
        accept {
            $0.phase == .taking
        } work: {
            $0.queueSync()
        }
    }

    /// Completes a file of `total` bytes, all of them written: compares its pieces, cuts what lies beyond, hashes to the
    /// end, syncs. → `finished`, `damaged` or `failed`
    ///
    /// After a piece that is not right the file takes bytes again; and does not finish before they have come.
    package func finish(total: Int64) {
        accept { state in
            guard state.phase == .taking, state.damaged.clipped(to: total).isEmpty else { return false }
            state.phase = .finishing
            state.finishes += 1
            return true
        } work: {
            $0.finishNow(total)
        }
    }

    /// Writes what was accepted, gives up hashing and a finish under way, syncs if asked to, and closes. → `closed`,
    /// after `failed` where this fails
    ///
    /// Only the first call counts. With `dropping` what waits to be written is not: for a file that nobody wants any
    /// more. With `resting` the space that was set aside behind its end is given back: nothing comes for a while. Where
    /// nothing is left to be done `closed` is reported before this returns: the caller holds no lock that `report` takes.
    package func close(sync: Bool, dropping: Bool = false, resting: Bool = false) {
        if state.withLock({ $0.beginClosingFinished() }) { return update { $0.didClose() } }
        accept { state in
            guard state.phase == .taking || state.phase == .finishing else { return false }
            state.phase = .closing
            if dropping { load.remove(state.drop()) }
            return true
        } work: {
            $0.closeBehindLanes(sync: sync, resting: resting)
        }
    }

    /// Queues work on the write lane under the lock, so that the lane's order is the one in which calls were accepted.
    private func accept(
        _ condition: (inout PartialFileState) -> Bool, work: @escaping @Sendable (PartialFile) -> Void
    ) {
        state.withLock { state in
            if condition(&state) { lanes.write.run { work(self) } }
        }
    }
}
