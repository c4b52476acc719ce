import CLannerDisk
import Foundation

extension PosixFileSystem {
    private static let directories = SharedSyncs<PathKey>()

    package func syncDirectory(_ path: String) throws(FileError) {
        if lanner_disk_leads_to_memory(path) != 0 { return }
        try LanePool.shared.block { () throws(FileError) in
            try Self.directories.perform(PathKey(path)) { (_) throws(FileError) in
                guard let directory = try Self.directory(path) else { return sync() }
                try DeviceSyncs.share(directory, path) { () throws(FileError) in try Self.syncNow(directory, path) }
            }
        }
    }

    /// Nil for one that may be entered and written, but not opened, as where everybody may put something and nobody
    /// look: there is only to sync all there is.
    private static func directory(_ path: String) throws(FileError) -> Descriptor? {
        do throws(FileError) {
            return try Descriptor(opening: path, O_RDONLY | O_DIRECTORY, operation: "sync directory")
        } catch {
            if error.code == EACCES, access(path, X_OK) == 0 { return nil }
            throw error
        }
    }

    package func syncAll(_ files: [any OpenFile]) -> [Result<Void, FileError>]? {
        let members = files.compactMap { ($0 as? PosixFile)?.member }
        guard members.count > 1, members.count == files.count, let first = members.first,
            members.allSatisfy({ $0.file.device == first.file.device })
        else { return nil }
        if lanner_disk_is_memory(first.descriptor.number) != 0 { return members.map { _ in .success(()) } }
        guard DeviceSyncs.mayShare(first.descriptor) else { return nil }
        // Of a sync of its own the device tells once: it is not made again.
        var own = Result<Void, FileError>.success(())
        do throws(FileError) {
            try LanePool.shared.block { () throws(FileError) in
                let (file, path) = (first.descriptor, first.file.path)
                try DeviceSyncs.shareAll(file, path, first.file.device, for: members.count) { () throws(FileError) in
                    own = Result { () throws(FileError) in try first.file.syncNow(file) }
                    try own.get()
                }
            }
        } catch {
            if case .failure = own { return members.map { _ in own } }
            return nil
        }
        return members.map { $0.outcome() }
    }

    static func syncNow(_ directory: Descriptor, _ path: String) throws(FileError) {
        do throws(FileError) {
            #if canImport(Darwin)
            try directory.syncFully("sync directory", path)
            #else
            // A FAT gives a name that a file was moved to its size and its place only with all the rest, as it takes back
            // that which the file had.
            let syncsAll = lanner_disk_fills_gaps(path) != 0
            try systemCall("sync directory", path) {
                syncsAll ? lanner_disk_sync_all(directory.number) : fsync(directory.number)
            }
            #endif
        } catch {
            if !DeviceSyncs.areWithoutDirectories(error) { throw error }
        }
    }
}

/// One of the files that are synced together.
private struct Member {
    let file: PosixFile
    let descriptor: Descriptor

    /// What the sync of all has done for it; where that cannot be found out, a sync of its own.
    func outcome() -> Result<Void, FileError> {
        Result { () throws(FileError) in
            do throws(FileError) {
                try DeviceSyncs.check(descriptor, file.path)
            } catch {
                guard DeviceSyncs.refusals.contains(error.code) else { throw error }
                try LanePool.shared.block { () throws(FileError) in try file.syncNow(descriptor) }
            }
        }
    }
}

extension PosixFile {
    /// Nil when it is closed.
    fileprivate var member: Member? {
        (try? current("sync")).map { Member(file: self, descriptor: $0) }
    }
}
