import Foundation

/// The store that keeps its records in the files of a directory.
///
/// A journal to which commits are appended, and a snapshot of what was there when the journal was begun. Every record
/// has a checksum: what was cut off in the middle of a write is dropped, what is damaged is set aside in a file
/// `corrupt-N.bin` and reported, and all else is kept; but where something is missing of what was never synced, all that
/// came after it is set aside as well, for no commit counts without those before it. All values are held in memory, too.
/// A commit may be of any size, its values of up to 1 GiB each; but one too large for the journal, of more than 1 GiB, is
/// refused when a snapshot of all values would have 16 GiB or more: ``load()`` reads no file of that size.
///
/// The files are made for their owner alone: the records may hold header fields with credentials.
///
/// A commit that failed is not there afterwards. It may come back only when the process dies before the store could write
/// again, and the disk had refused even to shorten the journal or, of a commit too large for the journal, to sync the name
/// of the snapshot that took it. When somebody removes the directory or the journal, the next commit writes all
/// values anew; it fails as long as another store has put records there. A snapshot that is removed alone is missed by
/// the next load only.
///
/// One store at a time may have a directory open, of all processes of the machine.
public final class FileStore: Store {
    private struct Queue {
        var commits: [StoreCommit] = []
        var isScheduled = false
    }

    private let queue = Locked(Queue())
    private let files: Exclusive<StoreFiles>
    private let lane: any Lane
    private let outbox: Outbox

    /// Makes a store over a directory, which is made when it is missing. Nothing is touched before ``load()``.
    public convenience init(directory: URL) {
        self.init(directory: directory.path, disk: PosixFileSystem(), lanes: PooledLanes())
    }

    /// Makes a store over a directory of any file system; a journal below `smallestCompaction` bytes is not compacted, and
    /// no commit of more than `largestFrame` bytes is put into one, or of more than any frame can have when nil.
    package init(
        directory: String, disk: any FileSystem, lanes: any LaneFactory, smallestCompaction: Int64 = 1 << 20,
        largestFrame: Int? = nil
    ) {
        files = Exclusive(
            StoreFiles(
                directory: directory, disk: disk, smallestCompaction: smallestCompaction,
                largestFrame: largestFrame ?? StoreFormat.largestFrame))
        lane = lanes.makeGatheringLane("store")
        outbox = Outbox(lane)
    }

    /// Makes the directory when it is missing, takes its lock, and reads the files; see ``Store/load()``.
    public func load() throws -> StoreContents {
        try files.use { files in try files.load() }
    }

    /// Queues changes for the journal; see ``Store/commit(_:durability:completion:)``.
    public func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let commit = StoreCommit(changes: changes, durability: durability, completion: completion)
        let isFirst = queue.withLock { queue in
            queue.commits.append(commit)
            defer { queue.isScheduled = true }
            return !queue.isScheduled
        }
        if isFirst { lane.run { self.work() } }
    }

    /// Finishes what was committed and gives the directory back; see ``Store/close()``.
    public func close() {
        files.use { files in
            writeWaiting(&files)
            files.close()
        }
        outbox.send()
    }

    /// Writes what waits. What is committed meanwhile waits for the next time, and is then written together.
    private func work() {
        files.use { writeWaiting(&$0) }
        outbox.deliver()
        files.use { $0.compactIfNeeded() }
    }

    private func writeWaiting(_ files: inout StoreFiles) {
        let commits = queue.withLock { queue in
            defer { queue = Queue() }
            return queue.commits
        }
        if commits.isEmpty { return }
        for (commit, result) in zip(commits, files.write(commits)) { outbox.add(commit.completion, result) }
    }
}
