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
    /// A device takes longer for more that all programs have left to it than it would for single files: 64 MiB.
    private static let mostUnwritten: Int64 = 64 << 20

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

    package func syncAll(_ files: [any OpenFile]) -> [Result<Void, FileError>]? {
        let members = files.compactMap { ($0 as? PosixFile)?.member }
        guard members.count > 1, members.count == files.count, let first = members.first,
            members.allSatisfy({ $0.device == first.device }), Self.mayShare(first.descriptor)
        else { return nil }
        do throws(FileError) {
            // Each by itself: what cannot be written is told here, and by nobody later.
            let begun = try members.map { member throws(FileError) in try member.begin() }
            try LanePool.shared.block { () throws(FileError) in
                try Self.fileSystems.perform(first.device, for: members.count) { (_) throws(FileError) in
                    try Self.syncAll(first.descriptor, first.file.path)
                    try first.file.syncNow(first.descriptor)
                }
            }
            return zip(members, begun).map { member, begun in
                Result { () throws(FileError) in
                    try begun.get()
                    try Self.check(member.descriptor, member.file.path)
                }
            }
        } catch {
            return nil
        }
    }

    /// Has an open file or directory synced together with others, or else by its own sync.
    static func share(
        _ file: Descriptor, _ path: String, own: () throws(FileError) -> Void
    ) throws(FileError) {
        guard mayShare(file) else { return try own() }
        let device = try file.status("sync", path).st_dev
        var isMaker = false
        do throws(FileError) {
            try begin(file, path)
            try fileSystems.perform(device) { (wanted) throws(FileError) in
                isMaker = true
                if wanted > 1 { try syncAll(file, path) }
                // Tells what the sync of all may keep to itself, of this file and of the whole file system.
                try own()
            }
        } catch {
            if isMaker || PosixFile.losses.contains(error.code) { throw error }
            // Whether this file is concerned is told by its own.
            return try own()
        }
        if !isMaker { try check(file, path) }
    }

    /// Has the device begin with what was written to an open file.
    fileprivate static func begin(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_begin_sync(file.number, 0, 0) }
    }

    /// Throws when bytes of an open file could not be brought to the device.
    private static func check(_ file: Descriptor, _ path: String) throws(FileError) {
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

/// One of the files that are synced together.
private struct Member {
    let file: PosixFile
    let descriptor: Descriptor
    let device: dev_t

    /// What of it cannot be written; throws when that cannot be found out.
    func begin() throws(FileError) -> Result<Void, FileError> {
        do throws(FileError) {
            try PosixFileSystem.begin(descriptor, file.path)
            return .success(())
        } catch {
            guard PosixFile.losses.contains(error.code) else { throw error }
            return .failure(error)
        }
    }
}

extension PosixFile {
    /// Nil when it is closed.
    fileprivate var member: Member? {
        guard let open = try? current("sync"), let status = try? open.status("sync", path) else { return nil }
        return Member(file: self, descriptor: open, device: status.st_dev)
    }
}
