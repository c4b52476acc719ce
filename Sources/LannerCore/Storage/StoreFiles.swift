import Foundation

/// A commit on its way to the disk.
struct StoreCommit: Sendable {
    var changes: [StoreChange]
    var durability: StoreDurability
    var completion: Outbox.Completion
}

/// The files of a ``FileStore``: how they are written. One caller at a time.
///
/// There are generations: `snapshot-N` is everything there was when it was made, `journal-N` the commits since. A new
/// generation is begun when the journal has grown large, when the old one cannot be trusted any more or, at load, not be
/// gone on with, and for a commit that no frame of it holds. The highest snapshot counts; a file gets its final name only
/// when it is durable, and a journal is written to only when its snapshot's name is durable.
struct StoreFiles {
    /// The life of a store, in this order.
    enum Phase {
        case new, open, closed
    }

    /// The journal that is written to.
    struct Journal {
        var file: any OpenFile
        /// Behind the last commit that was reported as done.
        var end: Int64
        /// Whether the device has all that is before the end.
        var isSynced = true
        /// Where the next try to compact is due, after one that failed.
        var retry: Int64 = 0
        /// Up to where space was set aside, as far as it could be.
        var reserved: Int64 = 0
    }

    /// How much is set aside behind the end of a journal.
    private static let room: Int64 = 256 << 10

    let directory: String
    let disk: any FileSystem
    /// A journal smaller than this is never compacted.
    let smallestCompaction: Int64
    /// A commit with more bytes than this is no frame of the journal.
    let largestFrame: Int

    var phase = Phase.new
    var lock: (any FileLock)?
    /// What is reported as kept; while a commit is on its way as a generation, with that commit.
    var image = StoreImage()
    /// nil: a generation has to be begun before anything is written.
    var journal: Journal?
    /// The highest in use; 0 when there is none.
    var generation: UInt64 = 0
    /// The highest sequence number that was ever given out.
    var sequence: UInt64 = 0
    /// Damaged bytes that are not yet set aside.
    var damage: Damage?
    /// Whether the disk may hold something else than what was reported, until a new generation is begun.
    var owesGeneration = false

    init(directory: String, disk: any FileSystem, smallestCompaction: Int64, largestFrame: Int) {
        self.directory = directory
        self.disk = disk
        self.smallestCompaction = smallestCompaction
        self.largestFrame = largestFrame
    }

    func path(_ name: String) -> String {
        directory + "/" + name
    }
}

extension StoreFiles {
    /// Writes commits together, and syncs if one of them asks for it. The results are in the order of the commits.
    mutating func write(_ commits: [StoreCommit]) -> [Result<Void, StoreError>] {
        if commits.isEmpty { return [] }
        guard phase == .open else { return commits.map { _ in .failure(notOpen) } }
        guard let large = commits.firstIndex(where: { !fits($0) }) else { return recordTogether(commits) }
        return write(Array(commits[..<large])) + [recordLarge(commits[large])] + write(Array(commits[(large + 1)...]))
    }

    /// Of commits for which there is no room together each is kept that there is room for, in the end by itself.
    private mutating func recordTogether(_ commits: [StoreCommit]) -> [Result<Void, StoreError>] {
        let result = record(commits)
        // Without a journal it is not these that there is no room for.
        guard case .failure(let error) = result, error.isForWantOfRoom, commits.count > 1, journal != nil else {
            return commits.map { _ in result }
        }
        let half = commits.count / 2
        return recordTogether(Array(commits[..<half])) + recordTogether(Array(commits[half...]))
    }

    private func fits(_ commit: StoreCommit) -> Bool {
        StoreFormat.frameSize(commit.changes).map { $0 <= largestFrame } ?? false
    }

    /// What is too large for a frame of the journal comes to the disk as a generation: a snapshot has a frame for each
    /// value, and counts as a whole or not at all, too.
    private mutating func recordLarge(_ commit: StoreCommit) -> Result<Void, StoreError> {
        guard commit.changes.allSatisfy({ StoreFormat.frameSize(CollectionOfOne($0)) != nil }) else {
            return .failure(tooLarge("A value", Int64(StoreFormat.largestPayload)))
        }
        let before = image
        for change in commit.changes { image.apply(change) }
        // It could not be read again.
        guard image.snapshotSize < StoreFormat.fileBound else {
            image = before
            return .failure(tooLarge("The snapshot", StoreFormat.fileBound - 1))
        }
        do throws(StoreError) {
            try claimDirectory()
            do throws(FileError) { try beginSnapshot() } catch { throw unwritable(error) }
        } catch {
            image = before
            // Its snapshot may be there all the same.
            if journal == nil { owesGeneration = true }
            return .failure(error)
        }
        // Without a journal the next commit begins another generation.
        try? beginJournal()
        return .success(())
    }

    /// Begins a new generation when the journal holds much more than what is kept.
    mutating func compactIfNeeded() {
        guard let journal, journal.end > max(smallestCompaction, 2 * image.size, journal.retry) else { return }
        do throws(FileError) {
            try beginGeneration()
        } catch {
            // Nothing is lost: the journal goes on, or the next commit begins a generation first.
            self.journal?.retry = 2 * journal.end
        }
    }

    /// Gives everything back.
    mutating func close() {
        // A failure was reported when the debt was made; there is no one left to tell about this one.
        if phase == .open, owesGeneration { try? beginGeneration() }
        phase = .closed
        journal?.file.close()
        journal = nil
        image = StoreImage()
        lock?.release()
        lock = nil
    }

    private mutating func record(_ commits: [StoreCommit]) -> Result<Void, StoreError> {
        do throws(StoreError) {
            try keep(commits)
            // Somebody has removed the journal, alone or with its directory: nobody would find what is in it.
            if journal?.file.isInPlace == false {
                abandonJournal()
                try keep(commits)
            }
        } catch {
            return .failure(error)
        }
        for change in commits.lazy.flatMap(\.changes) { image.apply(change) }
        return .success(())
    }

    private mutating func keep(_ commits: [StoreCommit]) throws(StoreError) {
        try claimDirectory()
        do throws(FileError) {
            if journal == nil { try beginGeneration() }
            try append(commits)
        } catch {
            throw unwritable(error)
        }
    }

    /// Sets space aside for what is to come. Downloads have theirs: they are not to fail, when somebody else has filled the
    /// disk, because it cannot be recorded that they have come.
    private mutating func reserve() {
        // What is refused may cost what there was.
        guard let journal, journal.reserved < journal.end + Self.room / 2, disk.hasRoom(for: Self.room, in: directory)
        else { return }
        // Without it space is taken as it is needed.
        try? journal.file.allocate(journal.end + Self.room)
        self.journal?.reserved = journal.end + Self.room
    }

    private mutating func append(_ commits: [StoreCommit]) throws(FileError) {
        reserve()
        guard let journal else { return }
        var writer = FrameWriter(journal.file, at: journal.end)
        var isSynced = journal.isSynced
        do throws(FileError) {
            for commit in commits where !commit.changes.isEmpty {
                sequence += 1
                try writer.append(commit.changes, sequence: sequence, followsSync: isSynced)
                isSynced = false
            }
            try writer.flush()
        } catch {
            cut(journal)
            throw error
        }
        if commits.contains(where: { $0.durability == .machine }) {
            try sync(journal)
            isSynced = true
        }
        self.journal?.end = writer.end
        self.journal?.isSynced = isSynced
    }

    private mutating func sync(_ journal: Journal) throws(FileError) {
        do throws(FileError) {
            try journal.file.syncShared()
            try journal.file.checkWhole()
        } catch {
            // The kernel may have dropped what it could not write, and say yes the next time: this file is done with.
            cut(journal)
            abandonJournal()
            throw error
        }
    }

    /// Takes back what was written behind the last good commit.
    private mutating func cut(_ journal: Journal) {
        do throws(FileError) {
            try journal.file.truncate(to: journal.end)
            self.journal?.reserved = 0
        } catch {
            abandonJournal()
        }
    }

    private mutating func abandonJournal() {
        journal?.file.close()
        journal = nil
        owesGeneration = true
    }
}

extension StoreFiles {
    var notOpen: StoreError {
        switch phase {
        case .new: StoreError(.closed, "The store in \(directory) has to be loaded before anything is committed to it.")
        case .open, .closed: StoreError(.closed, "The store in \(directory) is closed; make a new one.")
        }
    }

    private func unwritable(_ error: FileError) -> StoreError {
        StoreError(.disk(error.fault), "The store in \(directory) could not be written: \(error)\(error.advice).")
    }

    private func tooLarge(_ what: String, _ largest: Int64) -> StoreError {
        StoreError(
            .disk(.tooLarge), "\(what) for the store in \(directory) is larger than \(largest) bytes; keep less in it.")
    }
}

extension StoreError {
    /// Whether there may be room for less.
    fileprivate var isForWantOfRoom: Bool { reason == .disk(.noSpace) || reason == .disk(.tooLarge) }
}
