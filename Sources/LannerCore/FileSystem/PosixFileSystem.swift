import CLannerDisk
import Foundation
import LannerMachine

/// The file system of the operating system.
package struct PosixFileSystem: FileSystem {
    private let returns: BlockReturns

    package init() {
        self.init(returns: .shared)
    }

    init(returns: BlockReturns) {
        self.returns = returns
    }

    package func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile {
        // O_NONBLOCK means nothing for a file, and keeps a pipe in the place from holding us up.
        let file = try Descriptor(opening: path, mode.flags | O_NOFOLLOW | O_NONBLOCK, permissions: mode.permissions)
        let status = try file.status("open", path)
        guard status.isRegular else { throw FileError(fault: .inTheWay, operation: "open", path: path) }
        return PosixFile(file, path: path, device: status.st_dev, returns)
    }

    package func size(of path: String) throws(FileError) -> Int64? { try status(of: path).map { Int64($0.st_size) } }

    package func fingerprint(of path: String) throws(FileError) -> FileFingerprint? {
        try status(of: path).map { status in
            FileFingerprint(number: UInt64(status.st_ino), changed: status.changed, size: Int64(status.st_size))
        }
    }

    /// Whether the bytes of a file are those that it had when it was told by this, as far as the file system says: its
    /// name and its permissions may be others.
    package func hasSameBytes(_ path: String, as fingerprint: FileFingerprint) -> Bool {
        guard let status = try? status(of: path) else { return false }
        return UInt64(status.st_ino) == fingerprint.number && Int64(status.st_size) == fingerprint.size
            && status.modified <= fingerprint.changed
    }

    /// Of a regular file; nil when nothing is there.
    private func status(of path: String) throws(FileError) -> stat? {
        var status = stat()
        do throws(FileError) {
            try systemCall("look at", path) { lstat(path, &status) }
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        guard status.isRegular else { throw FileError(fault: .inTheWay, operation: "look at", path: path) }
        return status
    }

    package func remove(_ path: String) throws(FileError) {
        do throws(FileError) {
            try returns.remove(path) { () throws(FileError) in
                try systemCall("remove", path) { unlink(path) }
            }
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    package func removeAll(of path: String) throws(FileError) {
        var status = stat()
        if lstat(path, &status) == 0, status.isRegular, status.st_nlink == 1 { try? open(path, .create).close() }
        try remove(path)
    }

    package func rename(_ path: String, to target: String) throws(FileError) {
        let succession = Succession(of: target, by: path)
        succession?.prepare()
        try renameNow(path, to: target)
        succession?.finish()
    }

    private func renameNow(_ path: String, to target: String) throws(FileError) {
        #if canImport(Darwin)
        try systemCall("rename", path, to: target) { Darwin.rename(path, target) }
        #elseif canImport(Glibc)
        try systemCall("rename", path, to: target) { Glibc.rename(path, target) }
        #elseif canImport(Musl)
        try systemCall("rename", path, to: target) { Musl.rename(path, target) }
        #endif
    }

    package func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        #if canImport(Darwin)
        do throws(FileError) {
            try systemCall("rename", path, to: target) { renamex_np(path, target, UInt32(RENAME_EXCL)) }
            return true
        } catch {
            if error.code == EEXIST { return false }
            guard error.code == ENOTSUP else { throw error }
        }
        #else
        do throws(FileError) {
            try systemCall("rename", path, to: target) { lanner_disk_rename_if_free(path, target) }
            return true
        } catch {
            // What is there may be the file itself, from two steps that were cut off.
            guard [EEXIST, EINVAL, ENOSYS].contains(error.code) else { throw error }
        }
        #endif
        return try linkIfFree(path, to: target)
    }

    package func takeIn(_ file: String, as path: String, leavesIt isToStay: Bool) -> Bool {
        var status = stat()
        // Nobody else has it by another name, and it can be written to.
        guard lstat(file, &status) == 0, status.isRegular, status.st_nlink == 1, status.st_uid == geteuid() else {
            return false
        }
        guard isToStay else { return Self.letBeOpened(file) && (try? renameNow(file, to: path)) != nil }
        #if canImport(Darwin)
        guard clonefile(file, path, 0) == 0 else { return false }
        if Self.letBeOpened(path) { return true }
        unlink(path)
        return false
        #else
        return false
        #endif
    }

    package func mayTakeIn(into directory: String, leavingThem areToStay: Bool) -> Bool {
        #if canImport(Darwin)
        if areToStay { return true }
        #endif
        return !areToStay && !areApart(FileManager.default.temporaryDirectory.path, directory)
    }

    package func areApart(_ directory: String, _ other: String) -> Bool {
        var (one, two) = (stat(), stat())
        guard stat(directory, &one) == 0, stat(other, &two) == 0 else { return false }
        if one.st_dev != two.st_dev { return true }
        // Nor does Linux move a file between two mounts of one file system, which it says before it looks for the file.
        let name = "/.lanner-" + UUID().uuidString
        return renameat(AT_FDCWD, directory + name, AT_FDCWD, other + name) != 0 && errno == EXDEV
    }

    package func isLastCounted(_ path: String, beside other: String) -> Bool {
        var (one, two) = (stat(), stat())
        guard lstat(path, &one) == 0, lstat(other, &two) == 0 else { return false }
        return one.st_dev == two.st_dev && one.st_ino == two.st_ino && one.st_nlink == 1
    }

    package func fillsGaps(in directory: String) -> Bool { lanner_disk_fills_gaps(directory) != 0 }

    package func keepsUnsynced(in directory: String) -> Bool { lanner_disk_keeps_unsynced(directory) != 0 }

    /// When the system made a file, in words that are the same each time, and that nobody can give another one; nil where
    /// that is not known.
    package func birth(of path: String) -> String? {
        var text = [CChar](repeating: 0, count: 64)
        guard lanner_disk_birth(path, &text, Int32(text.count)) == 0 else { return nil }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    package func hasLink(in directory: String, below base: String) -> Bool {
        var path = directory
        while path.utf8.count > base.utf8.count {
            var status = stat()
            if lstat(path, &status) == 0 {
                if status.isLink { return true }
            } else if errno != ENOENT {
                return true
            }
            let parent = Self.parent(of: path)
            if parent == path { break }
            path = parent
        }
        return false
    }

    package func hasRoom(for count: Int64, in directory: String) -> Bool {
        let fits = { Self.freeSpace(directory).map { $0 >= count } ?? true }
        return fits() || (returns.wait() && fits())
    }

    private static func freeSpace(_ directory: String) -> Int64? {
        #if canImport(Darwin)
        // The other call counts in 32 bits there.
        var status = statfs()
        let isKnown = statfs(directory, &status) == 0
        let unit = UInt64(status.f_bsize)
        #else
        var status = statvfs()
        let isKnown = statvfs(directory, &status) == 0
        let unit = UInt64(status.f_frsize)
        #endif
        // Some file systems count nothing.
        guard isKnown, status.f_blocks > 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: unit)
        return max(overflow ? .max : Int64(clamping: bytes), purgeableSpace(directory))
    }

    /// What there would be if the system removed what it may; 0 where nobody says.
    private static func purgeableSpace(_ directory: String) -> Int64 {
        #if os(macOS) || os(iOS) || os(visionOS)
        let key = URLResourceKey.volumeAvailableCapacityForImportantUsageKey
        let values = try? URL(fileURLWithPath: directory).resourceValues(forKeys: [key])
        return values?.volumeAvailableCapacityForImportantUsage ?? 0
        #else
        return 0
        #endif
    }

    package func lock(_ path: String) throws(FileError) -> any FileLock {
        try PosixFileLock(path)
    }
}

extension PosixFileSystem {
    package func makeDirectory(_ path: String) throws(FileError) {
        do throws(FileError) {
            try makeOneDirectory(path)
        } catch {
            guard error.code == ENOENT, Self.parent(of: path) != path else { throw error }
            try makeDirectory(Self.parent(of: path))
            try makeOneDirectory(path)
        }
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        try list(path, atMost: .max)
    }

    /// The same, but no more names than that.
    package func list(_ path: String, atMost limit: Int) throws(FileError) -> [String] {
        guard let directory = opendir(path) else {
            throw FileError(operation: "list", path: path, code: errno)
        }
        defer { closedir(directory) }
        var names: [String] = []
        errno = 0
        while names.count < limit, let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw FileError(operation: "list", path: path, code: errno) }
        return names
    }

    /// In two steps, where one does not do: gives a file a second name, which fails when somebody has it, and takes the
    /// first.
    private func linkIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        do throws(FileError) {
            try systemCall("rename", path, to: target) { linkat(AT_FDCWD, path, AT_FDCWD, target, 0) }
        } catch {
            switch error.code {
            // Both names may be those of the file: the process ended between the two steps.
            case EEXIST: if !Self.isOneFile(path, target) { return false }
            // No second names here. Somebody else may take the name between the look and the rename.
            case EPERM, ENOTSUP, ENOSYS, EMLINK:
                if try isTaken(target) { return false }
                try rename(path, to: target)
                return true
            case _: throw error
            }
        }
        try remove(path)
        return true
    }

    private static func isOneFile(_ path: String, _ other: String) -> Bool {
        var (one, two) = (stat(), stat())
        return lstat(path, &one) == 0 && lstat(other, &two) == 0 && one.isRegular
            && (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
    }

    /// Makes a directory of a directory that is there; fine when it is there itself.
    private func makeOneDirectory(_ path: String) throws(FileError) {
        do throws(FileError) {
            try systemCall("make directory", path) { mkdir(path, mode_t(0o777)) }
        } catch {
            guard error.code == EEXIST || error.code == EISDIR, Self.isDirectory(path) else { throw error }
            return
        }
        Self.letBeOpened(path)
        do throws(FileError) {
            try syncDirectory(Self.parent(of: path))
        } catch {
            // Who finds it the next time would take its name for one that is with the device.
            rmdir(path)
            throw error
        }
    }

    /// Downloads go on while the device is locked: a file, and those in a new directory, can be opened then, also where an
    /// app's are protected better by default. Says whether that could be done.
    @discardableResult
    private static func letBeOpened(_ path: String) -> Bool {
        #if canImport(Darwin) && !os(macOS) && !targetEnvironment(macCatalyst)
        let attributes = [FileAttributeKey.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication]
        return (try? FileManager.default.setAttributes(attributes, ofItemAtPath: path)) != nil
        #else
        return true
        #endif
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.isDirectory
    }

    private static func parent(of path: String) -> String {
        path.plainPath.directory
    }
}

extension PosixFileSystem {
    package var maximumOpenFiles: Int {
        // -1 where there is no bound.
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        return limit < 0 ? .max : limit
    }

    #if canImport(Darwin)
    package func bootIdentifier() -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            var size = buffer.count
            guard sysctlbyname("kern.bootsessionuuid", buffer.baseAddress, &size, nil, 0) == 0 else { return nil }
            return Self.text(UnsafeRawBufferPointer(buffer).prefix(size))
        }
    }
    #else
    package func bootIdentifier() -> String? {
        guard let file = try? open("/proc/sys/kernel/random/boot_id", .read) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let size = try? file.read(into: buffer, at: 0) else { return nil }
            return Self.text(UnsafeRawBufferPointer(buffer).prefix(size))
        }
    }
    #endif

    /// The first line of the bytes, nil when it is empty.
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        let line = String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return line.isEmpty ? nil : line
    }
}

extension FileMode {
    fileprivate var flags: Int32 {
        switch self {
        case .read: O_RDONLY
        case .readWrite: O_RDWR | O_CREAT
        case .create, .createPrivate: O_RDWR | O_CREAT | O_TRUNC
        }
    }

    fileprivate var permissions: mode_t {
        switch self {
        case .read, .readWrite, .create: 0o666
        case .createPrivate: 0o600
        }
    }
}

extension stat {
    var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
    fileprivate var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
    fileprivate var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }

    /// When anything of it was changed last, in nanoseconds since 1970.
    fileprivate var changed: Int64 {
        #if canImport(Darwin)
        Self.nanoseconds(st_ctimespec)
        #else
        Self.nanoseconds(st_ctim)
        #endif
    }

    /// When its bytes were, in nanoseconds since 1970.
    fileprivate var modified: Int64 {
        #if canImport(Darwin)
        Self.nanoseconds(st_mtimespec)
        #else
        Self.nanoseconds(st_mtim)
        #endif
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
