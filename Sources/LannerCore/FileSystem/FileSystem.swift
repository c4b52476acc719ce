import LannerMachine

/// What a file operation failed with.
package struct FileError: Error, Sendable, Hashable {
    /// The class of the failure.
    package var fault: DiskFault
    /// The operation, for example "write".
    package var operation: String
    /// The path it was about.
    package var path: String
    /// Where it was to be moved to.
    package var target: String?
    /// The platform's `errno`; 0 where there is none.
    package var code: Int32

    package init(fault: DiskFault, operation: String, path: String, target: String? = nil, code: Int32 = 0) {
        self.fault = fault
        self.operation = operation
        self.path = path
        self.target = target
        self.code = code
    }
}

/// How a file is opened.
package enum FileMode: Sendable, Hashable {
    /// For reading; the file must be there.
    case read
    /// For reading and writing; made when it is not there, kept as it is when it is.
    case readWrite
    /// For reading and writing; emptied when it is there.
    case create
    /// The same, but nobody else than its owner may read the file when it is made here.
    case createPrivate
}

/// An open file. Positions and sizes are bytes. Calls block; none is made under a lock.
package protocol OpenFile: AnyObject, Sendable {
    /// Writes all bytes at a position; the kernel has them when it returns.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError)
    /// Writes all bytes of the buffers, one behind the other, from a position on.
    func write(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError)
    /// Whether it can be written around the kernel's cache, as far as is known.
    var takesDirectWrites: Bool { get }
    /// Writes around the kernel's cache what can be: less work, but the device is waited for, and who reads the file next
    /// does so from there.
    func writeDirectly(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError)
    /// Reads up to the buffer's length from a position; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int
    /// Sets space aside for `size` bytes without changing what is read; where that cannot be done, does nothing.
    /// Fails with `noSpace` when the disk cannot hold it.
    func allocate(_ size: Int64) throws(FileError)
    /// Cuts or extends the file.
    func truncate(to size: Int64) throws(FileError)
    /// Has the device begin with what was written in a range, so that a sync has less to wait for; where that cannot be
    /// done, does nothing. Promises nothing of the bytes; but what it throws no sync may tell again.
    func beginSync(of range: Range<Int64>) throws(FileError)
    /// Returns when the bytes written so far survive the death of the machine.
    func sync() throws(FileError)
    /// The same for a file of which little was written since its last sync: it may wait for others of the kind, and one
    /// sync serve all.
    func syncShared() throws(FileError)
    /// Of a file that was written from its beginning to its end, and synced: throws when bytes are missing all the
    /// same. File systems may lose some for which they find no place, and tell nobody. Where that cannot be told, does
    /// nothing.
    func checkWhole() throws(FileError)
    /// Parts of ranges within the size that the file has no bytes for, though they were written: file systems may lose
    /// some, and whoever copies a file may leave zeros out. Empty where that cannot be told.
    func holes(in ranges: ByteRanges) -> ByteRanges
    /// The size now.
    func size() throws(FileError) -> Int64
    /// Whether its path still leads to it: somebody may have removed it, or put something else there. True when it
    /// cannot be told.
    var isInPlace: Bool { get }
    /// Whether it has no name any more. False when it cannot be told: not every file system gives a file the same number
    /// each time.
    var isRemoved: Bool { get }
    /// Closes; later calls fail. Closing twice does nothing.
    func close()
}

extension FileSystem {
    /// Throws where a file is to get so many bytes and its file system has no room for them; `operation` says what for.
    func requireRoom(for count: Int64, to operation: String, _ path: String) throws(FileError) {
        guard hasRoom(for: count, in: path.directory) else {
            throw FileError(fault: .noSpace, operation: operation, path: path)
        }
    }

    /// Gives back what was set aside behind the end of a file, if it is there; nobody else may write to it meanwhile.
    func trim(_ path: String) throws(FileError) {
        guard try size(of: path) != nil else { return }
        let file = try open(path, .readWrite)
        defer { file.close() }
        try file.truncate(to: file.size())
    }
}

extension OpenFile {
    /// Writes all bytes at a position.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(FileError) {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(FileError) in try write(bytes, at: offset) }
        }.get()
    }

    /// In one write of ours, for files that cannot do it without copying.
    package func write(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError) {
        try write(buffers.flatMap { Array($0) }, at: offset)
    }

    /// For files that have no cache.
    package var takesDirectWrites: Bool { false }

    package func writeDirectly(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError) {
        try write(buffers, at: offset)
    }

    /// For files that have no device.
    package func beginSync(of range: Range<Int64>) throws(FileError) {}

    /// For file systems that sync files one by one.
    package func syncShared() throws(FileError) { try sync() }

    /// For file systems that tell.
    package func checkWhole() throws(FileError) {}
    package func holes(in ranges: ByteRanges) -> ByteRanges { ByteRanges() }

    /// For file systems where nobody else does anything.
    package var isInPlace: Bool { true }
    package var isRemoved: Bool { !isInPlace }
}

/// The directory operations and files the library uses. Calls block; none is made under a lock.
package protocol FileSystem: Sendable {
    /// Opens a regular file; never follows a symbolic link in the last component.
    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile
    /// Makes a directory and those above it, to survive the death of the machine; fine when it is there.
    func makeDirectory(_ path: String) throws(FileError)
    /// The names in a directory, in no order.
    func list(_ path: String) throws(FileError) -> [String]
    /// The size of a regular file, nil when nothing is there.
    func size(of path: String) throws(FileError) -> Int64?
    /// What tells a regular file from any that may come in its place; nil when nothing is there, or nothing tells it.
    func fingerprint(of path: String) throws(FileError) -> FileFingerprint?
    /// Removes a file; fine when it is not there. What a large one has of the disk may be given back somewhat later.
    func remove(_ path: String) throws(FileError)
    /// The same, and what the file has of the disk is given back also while somebody has it open, unless it has another
    /// name.
    func removeAll(of path: String) throws(FileError)
    /// Renames within one file system, replacing a file in the place in one step, whose permissions it takes over where
    /// files have any. Fails with ``FileError/isAcrossDevices``
    /// (EXDEV) when source and target are on two file systems.
    func rename(_ path: String, to target: String) throws(FileError)
    /// The same, unless something has the name already, a symbolic link included: then does nothing and says false.
    func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool
    /// Gives somebody else's file a name of ours, which nothing has yet, where that takes no room and next to no time: it is
    /// moved; or, where it is to stay, a copy that shares its blocks is made. False when that cannot be done, and then
    /// nothing has changed.
    func takeIn(_ file: String, as path: String, leavesIt isToStay: Bool) -> Bool
    /// Whether that can be expected of files in the directory for temporary ones, or, where they stay, of any.
    func mayTakeIn(into directory: String, leavingThem areToStay: Bool) -> Bool
    /// Whether two directories are on two file systems, between which no file is renamed.
    func areApart(_ directory: String, _ other: String) -> Bool
    /// Whether two names lead to one file that counts only one, as a power loss leaves it where there is no journal: with
    /// either name the file would be lost.
    func isLastCounted(_ path: String, beside other: String) -> Bool
    /// Whether files in a directory have no holes, and zeros are written before what is written behind their end.
    func fillsGaps(in directory: String) -> Bool
    /// Whether what was written to files in a directory is there for as long as the machine runs, synced or not.
    func keepsUnsynced(in directory: String) -> Bool
    /// Whether a directory, or one of those between it and the one it is below, is a symbolic link, or cannot be looked
    /// at. What is not there is none.
    func hasLink(in directory: String, below base: String) -> Bool
    /// Returns when the names made and removed in a directory survive the death of the machine.
    func syncDirectory(_ path: String) throws(FileError)
    /// Has the bytes and the names of open files, which were made since they were opened, survive the death of the machine,
    /// all at the price of about two syncs; what has become of each. Nil when this is not worth it, cannot be done or has
    /// failed: then nothing is promised, and each is to be synced by itself.
    func syncAll(_ files: [any OpenFile]) -> [Result<Void, FileError>]?
    /// Whether a program may use so many bytes more on the file system of a directory, what is being given back of removed
    /// files included; true when it cannot be told.
    func hasRoom(for count: Int64, in directory: String) -> Bool
    /// Takes the advisory lock of a lock file (made when missing) until the result is released or the process ends.
    /// Fails with `locked` when another process, or this one, has it.
    func lock(_ path: String) throws(FileError) -> any FileLock
    /// A text that changes with every boot of the machine; nil when it cannot be told.
    func bootIdentifier() -> String?
    /// How many files and connections the program may have open at once.
    var maximumOpenFiles: Int { get }
}

/// A file as long as nobody changes it, also after the machine was booted again.
package struct FileFingerprint: Sendable, Hashable {
    /// Which file it is of its file system; may be given to another once it is gone.
    package var number: UInt64
    /// When anything of it was changed last, its name as well, in nanoseconds since 1970: nobody can give it to another.
    package var changed: Int64
    package var size: Int64

    package init(number: UInt64, changed: Int64, size: Int64) {
        self.number = number
        self.changed = changed
        self.size = size
    }
}

/// An advisory lock that is held until `release`, or until the process ends.
package protocol FileLock: AnyObject, Sendable {
    /// Whether the lock file's path still leads to it; otherwise somebody else may have the lock of that path.
    var isInPlace: Bool { get }
    /// Gives the lock back. Twice does nothing.
    func release()
}

extension FileLock {
    /// For file systems where nobody else does anything.
    package var isInPlace: Bool { true }
}

extension FileSystem {
    /// For file systems that take as many as there is memory for: what a program may have open mostly.
    package var maximumOpenFiles: Int { 1024 }

    /// For file systems that know their files by their names only.
    package func fingerprint(of path: String) throws(FileError) -> FileFingerprint? { nil }

    /// For file systems that sync files one by one.
    package func syncAll(_ files: [any OpenFile]) -> [Result<Void, FileError>]? { nil }

    /// For file systems where a file has one name.
    package func removeAll(of path: String) throws(FileError) {
        guard try size(of: path) != nil else { return }
        try? open(path, .create).close()
        try remove(path)
    }

    /// For file systems that are one: no two directories of theirs are apart.
    package func areApart(_ directory: String, _ other: String) -> Bool { false }

    /// For file systems of their own.
    package func takeIn(_ file: String, as path: String, leavesIt isToStay: Bool) -> Bool { false }
    package func mayTakeIn(into directory: String, leavingThem areToStay: Bool) -> Bool { false }

    /// For file systems where a file has one name.
    package func isLastCounted(_ path: String, beside other: String) -> Bool { false }

    /// For file systems whose files have holes.
    package func fillsGaps(in directory: String) -> Bool { false }

    /// For file systems of the machine, which lose what was not synced only when that dies.
    package func keepsUnsynced(in directory: String) -> Bool { true }

    /// For file systems that have no links.
    package func hasLink(in directory: String, below base: String) -> Bool { false }

    /// For file systems that nobody else changes meanwhile.
    package func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        if try isTaken(target) { return false }
        try rename(path, to: target)
        return true
    }

    /// Whether a file is there; what cannot be looked at is taken to be.
    func mayHaveFile(at path: String) -> Bool {
        do throws(FileError) { return try size(of: path) != nil } catch { return true }
    }

    /// Whether something has a name: a file, a directory, a link that may lead nowhere.
    func isTaken(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            return try size(of: path) != nil
        } catch {
            guard error.fault == .inTheWay else { throw error }
            return true
        }
    }
}

/// The directory is mostly there: it is made, and the work done again, when something was not found.
func makingDirectory<Result>(
    _ make: () throws(FileError) -> Void, for work: () throws(FileError) -> Result
) throws(FileError) -> Result {
    do throws(FileError) {
        return try work()
    } catch {
        guard error.fault == .notFound else { throw error }
        try make()
        return try work()
    }
}
