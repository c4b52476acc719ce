import Foundation

/// A file descriptor that is closed when no one holds it any more, so that its number is never used for another
/// file while a call is under way.
final class Descriptor: Sendable {
    let number: Int32

    /// The permissions of a file that is made by this are narrowed by the process's umask, as for every program that
    /// writes documents.
    init(
        opening path: String, _ flags: Int32, permissions: mode_t = 0o666, operation: String = "open"
    ) throws(FileError) {
        number = try systemCall(operation, path) { open(path, flags | O_CLOEXEC, permissions) }
    }

    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        // Not again after EINTR: the number may be another file's by then.
        _ = close(number)
    }

    func status(_ operation: String, _ path: String) throws(FileError) -> stat {
        var status = stat()
        try systemCall(operation, path) { fstat(number, &status) }
        return status
    }

    /// Whether a path leads to this file, as far as can be told.
    func isInPlace(_ path: String) -> Bool {
        guard let mine = try? status("find", path) else { return true }
        var other = stat()
        guard lstat(path, &other) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        return mine.st_dev == other.st_dev && mine.st_ino == other.st_ino
    }

    /// Whether nothing has the path any more, or something else, and this file no other name.
    func isRemoved(from path: String) -> Bool {
        (try? status("find", path))?.st_nlink == 0 && !isInPlace(path)
    }
}

#if canImport(Darwin)
extension Descriptor {
    /// fsync leaves the bytes in the drive's cache there. Not every file system knows the stronger call; but when that says
    /// that bytes are lost, the weaker one might not know it any more.
    func syncFully(_ operation: String, _ path: String) throws(FileError) {
        do throws(FileError) {
            try systemCall(operation, path) { fcntl(number, F_FULLFSYNC) }
        } catch {
            if DeviceSyncs.losses.contains(error.code) { throw error }
            try systemCall(operation, path) { fsync(number) }
        }
    }
}
#endif
