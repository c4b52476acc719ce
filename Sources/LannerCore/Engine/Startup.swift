import Foundation
import LannerMachine

/// What is done before a manager can be used: the lock, the records, the directories.
struct Startup {
    private(set) var store: any Store
    private(set) var lock: (any FileLock)?
    /// In the order of the tasks.
    private(set) var records: [DownloadRecord] = []
    /// Records that a later one of the same key has replaced.
    private(set) var replaced: [DownloadRecord] = []
    /// Finished files that an earlier process had yet to remove.
    private(set) var removals: [DownloadID: Removal] = [:]
    /// Those that cannot be read. They stay, for a later version of the library may be able to: neither the number nor the
    /// partial file of one becomes another's, and its exchange goes on.
    private(set) var unread: Set<DownloadID> = []
    private(set) var identity: StoreIdentity
    /// What could not be read, though the rest could.
    private(set) var problems: [String] = []
    private(set) var error: LannerError?

    init(cache: Cache, environment: Environment, store: (any Store)?) {
        self.store = MemoryStore(lanes: environment.lanes)
        var random = SeededGenerator(seed: environment.seed)
        identity = StoreIdentity(token: random.next())
        do {
            let fileSystem = environment.fileSystem
            // Before all else: nobody touches what another one works with.
            lock = try Self.lock(cache, fileSystem)
            let isOwnStore = store == nil
            let store =
                store
                ?? FileStore(directory: cache.downloadPath, disk: fileSystem, lanes: environment.lanes)
            // Before the records, whose reading may mend them: that is left to those who can be used.
            try fileSystem.makeDirectory(cache.downloadTmpPath)
            let names = try fileSystem.list(cache.downloadTmpPath)
            let contents = try store.load()
            // One that could not be loaded may be another manager's, and is left as it is.
            self.store = store
            read(contents)
            let unrecorded = UnrecordedToken(path: cache.lockPath, fileSystem: fileSystem)
            let left = unrecorded.read()
            // Another store than that of the directory may have records anywhere.
            let isUnrecorded = isOwnStore && contents == StoreContents()
            // Those of records that another store could not read may be wanted when it can again; this one sets such aside.
            if store is FileStore || contents.problems.isEmpty {
                removeOrphans(names, fileSystem, cache, leftBy: isUnrecorded ? left : nil)
            }
            if isUnrecorded || left != nil { unrecorded.write(isUnrecorded ? identity : nil) }
        } catch {
            self.store.close()
            lock?.release()
            lock = nil
            self.error = LannerError(ofStart: error, cache)
        }
    }

    /// Makes the directory, and locks it. One who has ended may remove it in between, for there was nothing in it; one who
    /// clears it is waited for.
    private static func lock(_ cache: Cache, _ fileSystem: any FileSystem) throws(FileError) -> any FileLock {
        for _ in 0..<10 {
            try fileSystem.makeDirectory(cache.downloadPath)
            do throws(FileError) {
                return try fileSystem.lock(cache.lockPath)
            } catch  where error.fault == .notFound {
                continue
            } catch  where error.fault == .locked {
                guard Clearings.waited(at: cache.lockPath) else { throw error }
            }
        }
        try fileSystem.makeDirectory(cache.downloadPath)
        return try fileSystem.lock(cache.lockPath)
    }

    private mutating func read(_ contents: StoreContents) {
        problems = contents.problems
        var isKnown = false
        records.reserveCapacity(contents.values.count)
        for (key, value) in contents.values {
            if key == StoreIdentity.key, let known = StoreIdentity(value) {
                (identity, isKnown) = (known, true)
            } else if let record = DownloadRecord(value), record.storeKey == key {
                records.append(record)
            } else if let id = Removal.id(ofKey: key), let removal = Removal(value) {
                removals[id] = removal
            } else {
                if let number = Int64(key), DownloadRecord.numbers.contains(number) {
                    unread.insert(DownloadID(UInt64(number)))
                }
                problems.append("The record “\(key)” makes no sense and is left out.")
            }
        }
        identity.lastID = max(identity.lastID, unread.max()?.number ?? 0, removals.keys.max()?.number ?? 0)
        // Nobody knows which numbers are those of records that may come back.
        if !isKnown, !problems.isEmpty { identity.lastID = max(identity.lastID, identity.token >> 3) }
        problems.sort()
        leaveOutReplaced()
        sort()
    }

    /// A download may be asked for again while its predecessor is being removed: when the process ended then, that is
    /// still there.
    private mutating func leaveOutReplaced() {
        var latest: [Identity: DownloadID] = [:]
        for record in records { latest[record.identity] = max(latest[record.identity] ?? record.id, record.id) }
        guard latest.count < records.count else { return }
        replaced = records.filter { $0.id != latest[$0.identity] }
        records.removeAll { $0.id != latest[$0.identity] }
    }

    /// Records are large: only their places are moved about.
    private mutating func sort() {
        let keys = records.map { ($0.rank, $0.id) }
        records = keys.indices.sorted { keys[$0] < keys[$1] }.map { records[$0] }
    }

    /// Partial files of this store that no record names are left from a crash, and so are those of one of whom nothing was
    /// on record, and all copies of them in the directory of finished files: a copy begins anew. Those of others are none of
    /// ours.
    private func removeOrphans(
        _ names: [String], _ fileSystem: any FileSystem, _ cache: Cache, leftBy unrecorded: UInt64?
    ) {
        let unfinished = cache.downloadTmpPath
        var found = names.compactMap { name in PartialName(name).map { ($0, unfinished + "/" + name) } }
        // Files that transports have handed over, and that had yet to become partial ones.
        var copies = names.compactMap { name in PartialName(ofCopy: name).map { ($0, unfinished + "/" + name) } }
        let finished = cache.downloadFilePath
        // Files are copied only where they cannot be moved, and there may be many.
        if fileSystem.areApart(cache.downloadTmpPath, finished), let names = try? fileSystem.list(finished) {
            copies += names.compactMap { name in PartialName(ofCopy: name).map { ($0, finished + "/" + name) } }
        }
        if found.isEmpty, copies.isEmpty { return }
        var tokens = Set(records.map(\.token) + replaced.map(\.token) + [identity.token])
        if let unrecorded { tokens.insert(unrecorded) }
        // What has succeeded needs none, but the removal of one that was copied to its place may have been lost.
        let needed = Set(records.lazy.filter { $0.saved.status != .succeeded }.map(\.partialName))
        found.removeAll { needed.contains($0.0) }
        let left = Set(found.map(\.0))
        for record in records where record.saved.status == .succeeded && left.contains(record.partialName) {
            let place = cache.path(of: record.place)
            found.removeAll { $0.0 == record.partialName && fileSystem.isLastCounted($0.1, beside: place) }
        }
        for (name, path) in found + copies where tokens.contains(name.token) && !unread.contains(name.id) {
            try? fileSystem.remove(path)
        }
    }
}

extension LannerError {
    /// Why a manager cannot be used.
    package init(ofStart error: any Error, _ cache: Cache) {
        switch error {
        case let error as StoreError: self = .storeError(error)
        case let error as FileError where error.fault == .locked:
            let message =
                "\(cache.downloadPath) is in use by another manager or process; call invalidate() on that one first, or "
                + "use another directory."
            self = .storeError(StoreError(.inUse, message))
        case let error as FileError where error.isWantOfLocks:
            let message =
                "\(error.description) This file system has no locks, without which two programs would spoil each other's "
                + "downloads; put downloadPath on another."
            self = .cacheError(path: error.path, message: message)
        case let error as FileError where error.fault == .notFound:
            self = .cacheError(path: error.path, message: "\(error); choose another downloadPath for the cache")
        case let error as FileError: self = .cacheError(path: error.path, message: DownloadFailure(error).detail)
        // That of a store which is a caller's own.
        default:
            self = .storeError(StoreError(.disk(.other), "The store could not be read: \(Self.words(of: error))"))
        }
    }

    /// What somebody else's error says of itself.
    private static func words(of error: any Error) -> String {
        let isOfFoundation = type(of: error) == NSError.self
        if isOfFoundation || error is any LocalizedError { return error.localizedDescription }
        return "\(error)"
    }
}
