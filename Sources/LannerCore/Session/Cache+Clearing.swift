import Foundation
import LannerMachine

extension Cache {
    /// A closure that is told about a cache.
    public typealias Handler = @Sendable (Cache) -> Void

    /// Deletes what ``clearDiskCache()`` deletes, on a global queue.
    ///
    /// - Parameters:
    ///   - onMainQueue: Whether `handler` is called on the main queue, else on a global queue.
    ///   - handler: Called exactly once, when all is done, also when something could not be deleted and is still there.
    public func clearDiskCache(onMainQueue: Bool, handler: Handler? = nil) {
        lane.run { [self] in
            try? clear()
            guard let handler else { return }
            if onMainQueue { mainLane.run { handler(self) } } else { handler(self) }
        }
    }

    /// Deletes finished files, and, unless a manager uses the cache just now, unfinished ones and records: of the three
    /// directories those that lie in ``downloadPath``, as they do by default. A directory elsewhere is left alone, and so
    /// are those that a ``DownloadRequest/destination`` has led to; others may have files there. Unfinished files are
    /// known by what is on record in ``downloadPath``: what that does not tell of may be another manager's, and stays;
    /// where it cannot be read, all that are in the default directory go.
    ///
    /// A manager that lives keeps its tasks; one that has succeeded has lost its file then, and downloads it again when it
    /// is asked for again. To be rid of tasks, too, call ``SessionManager/totalRemove(completely:onMainQueue:handler:)``
    /// first.
    ///
    /// - Throws: ``LannerError/cacheError(path:message:)`` for the first file that cannot be deleted, or directory that
    ///   cannot be looked at; the others are. Where ``downloadPath`` cannot be locked, unfinished files and records stay.
    public func clearDiskCache() async throws {
        try await withCheckedThrowingContinuation { continuation in
            lane.run { [self] in continuation.resume(with: Result { try clear() }) }
        }
    }

    /// The same, here and now.
    package func clear() throws(LannerError) {
        let clearing = Clearings.begin(at: lockPath)
        defer { Clearings.end(clearing, at: lockPath) }
        var problem: FileError?
        // Nobody else gets the directory meanwhile, neither a manager nor a store.
        let lock = lock(lockPath, &problem)
        let tokens = lock == nil ? [] : forgetRecords()
        let ownTmp = Self.defaultTmpPath(in: downloadPath)
        // Not that of a manager's store, which may be about to take it.
        let locks = [lock, lock.flatMap { _ in self.lock(downloadPath + "/" + StoreFileName.lock, &problem) }]
        defer { locks.forEach { $0?.release() } }
        var doomed = filesInside(downloadFilePath, &problem) { !FileName.isOwn($0) }
        if locks.allSatisfy({ $0 != nil }) {
            // What is copied from another device is among the finished ones.
            for directory in Set([downloadTmpPath, downloadFilePath]) {
                doomed += filesInside(directory, &problem) { name in
                    let partial = PartialName(name) ?? PartialName(ofCopy: name)
                    return partial.map { tokens?.contains($0.token) ?? (directory == ownTmp) } ?? false
                }
            }
            doomed += files(in: downloadPath, &problem, where: StoreFileName.isOfRecords)
        }
        for path in doomed { attempt(&problem) { () throws(FileError) in try disk.remove(path) } }
        for directory in Set(doomed.map(\.directory)) { try? disk.syncDirectory(directory) }
        if let problem { throw .cacheError(path: problem.path, message: DownloadFailure(problem).detail) }
    }

    /// Nil when the work fails: of several failures the first counts, of those that are `expected` none.
    @discardableResult
    private func attempt<Value>(
        _ problem: inout FileError?, expected: DiskFault..., work: () throws(FileError) -> Value
    ) -> Value? {
        do throws(FileError) {
            return try work()
        } catch {
            if !expected.contains(error.fault) { problem = problem ?? error }
            return nil
        }
    }

    /// Nil while somebody has it, and where nothing is.
    private func lock(_ path: String, _ problem: inout FileError?) -> (any FileLock)? {
        attempt(&problem, expected: .locked, .notFound) { () throws(FileError) in try disk.lock(path) }
    }

    /// Forgets all downloads at once, since the files of the records are removed one by one, and some of them would tell
    /// of what was there long ago. Returns what the unfinished files are known by; nil when no record can be read.
    private func forgetRecords() -> Set<UInt64>? {
        // Each of its commits becomes a snapshot, without which no journal counts.
        let store = FileStore(directory: downloadPath, disk: disk, lanes: PooledLanes(), largestFrame: 0)
        defer { store.close() }
        guard let values = try? store.load().values else { return nil }
        // Where the disk refuses that, the files go all the same.
        let downloads = values.keys.filter { $0 != StoreIdentity.key }
        if !downloads.isEmpty { store.commit(downloads.map { .remove(key: $0) }, durability: .machine) { _ in } }
        var tokens = Set(
            values.compactMap { key, value in
                key == StoreIdentity.key ? StoreIdentity(value)?.token : DownloadRecord(value)?.token
            })
        if let token = UnrecordedToken(path: lockPath, fileSystem: disk).read() { tokens.insert(token) }
        return tokens
    }

    /// The files of a directory that lies in `downloadPath`, and does not only lead elsewhere from there.
    private func filesInside(
        _ directory: String, _ problem: inout FileError?, where isWanted: (String) -> Bool
    ) -> [String] {
        guard directory.path(below: downloadPath) != nil, !disk.hasLink(in: directory, below: downloadPath) else {
            return []
        }
        return files(in: directory, &problem, where: isWanted)
    }

    private func files(in directory: String, _ problem: inout FileError?, where isWanted: (String) -> Bool) -> [String]
    {
        let names = attempt(&problem, expected: .notFound) { () throws(FileError) in try disk.list(directory) } ?? []
        return names.filter(isWanted).map { directory + "/" + $0 }.filter { path in
            // Directories stay.
            attempt(&problem, expected: .inTheWay) { () throws(FileError) in try disk.size(of: path) } ?? nil != nil
        }
    }
}

/// The clearings that are under way in this process, by the path of the lock that they hold: whoever is made meanwhile is to
/// wait, and not to find the directory in use.
enum Clearings {
    private static let underWay = Locked<[String: [Latch]]>([:])

    static func begin(at path: String) -> Latch {
        let latch = Latch()
        underWay.withLock { $0[path, default: []].append(latch) }
        return latch
    }

    /// Behind the release of the lock.
    static func end(_ latch: Latch, at path: String) {
        underWay.withLock { clearings in
            clearings[path]?.removeAll { $0 === latch }
            if clearings[path]?.isEmpty == true { clearings[path] = nil }
        }
        latch.open()
    }

    /// Waits for one, if there is any.
    static func waited(at path: String) -> Bool {
        guard let latch = underWay.withLock({ $0[path]?.first }) else { return false }
        latch.wait()
        return true
    }
}
