import CLannerDisk

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// Bringing files and names to the device. Whoever wants that of something small while another such sync is under way waits for
// one sync of the whole file system, together with all others who do: that costs little more than one of a single file, and
// the many small files, the records of them and the names in two directories want many.

extension PosixFileSystem {
    /// A device takes longer for more that all programs have left to it than it would for single files: 32 MiB.
    private static let mostUnwritten: Int64 = 32 << 20

    private static let directories = SharedSyncs<PathKey>()
    /// By the numbers of their devices.
    private static let fileSystems = SharedSyncs<dev_t>()

    package func syncDirectory(_ path: String) throws(FileError) {
        try LanePool.shared.block { () throws(FileError) in
            try Self.directories.perform(PathKey(path)) { (_) throws(FileError) in
                let directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY, operation: "sync directory")
                try Self.share(directory, path) { () throws(FileError) in try Self.syncNow(directory, path) }
            }
        }
    }

    package func syncAll(of path: String, for files: Int) throws(FileError) -> Bool {
        guard files > 1 else { return false }
        let directory = try Descriptor(opening: path, O_RDONLY | O_DIRECTORY, operation: "sync")
        guard Self.mayShare(directory) else { return false }
        try LanePool.shared.block { () throws(FileError) in
            try Self.fileSystems.perform(directory.status("sync", path).st_dev, for: files) { (_) throws(FileError) in
                try Self.syncAll(directory, path)
            }
        }
        return true
    }

    /// Has an open file or directory synced together with others, or else by its own sync.
    static func share(
        _ file: Descriptor, _ path: String, own: () throws(FileError) -> Void
    ) throws(FileError) {
        guard mayShare(file) else { return try own() }
        var isOwn = false
        do throws(FileError) {
            try fileSystems.perform(file.status("sync", path).st_dev) { (wanted) throws(FileError) in
                isOwn = wanted == 1
                if isOwn { try own() } else { try syncAll(file, path) }
            }
        } catch {
            if isOwn { throw error }
            // Whether this file is concerned is told by its own.
            return try own()
        }
        if !isOwn { try checkSynced(file, path) }
    }

    /// Throws when bytes of an open file could not be brought to the device.
    static func checkSynced(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_check(file.number) }
    }

    private static func mayShare(_ file: Descriptor) -> Bool {
        lanner_disk_may_sync_all(file.number, mostUnwritten) != 0
    }

    private static func syncAll(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_sync_all(file.number) }
    }

    private static func syncNow(_ directory: Descriptor, _ path: String) throws(FileError) {
        do throws(FileError) {
            #if canImport(Darwin)
            if fcntl(directory.number, F_FULLFSYNC) == 0 { return }
            #endif
            try systemCall("sync directory", path) { fsync(directory.number) }
        } catch {
            // EINVAL: a file system that has nothing to sync for a directory.
            if error.code != EINVAL { throw error }
        }
    }
}
