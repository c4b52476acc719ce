import Foundation
import Lanner

/// The directory that holds what is not finished, beside the files.
struct StateDirectory {
    let path: String
    private let files = PosixFileSystem()
    private var temporary: String { path + "/Tmp" }

    init(in directory: String) {
        path = TargetName.path(TargetName.stateDirectory, in: directory)
    }

    /// Where everything is, in the words of the library.
    func cache(filesIn directory: String) -> Cache {
        Cache("lanner", downloadPath: path, downloadTmpPath: temporary, downloadFilePath: directory)
    }

    /// Removes the directory once its manager has been invalidated and had no download left.
    ///
    /// Only what the library makes is removed, and only while its lock is ours: whatever else is there stays, and so
    /// does everything when someone else has come meanwhile.
    func remove() {
        guard let lock = try? files.lock(path + "/" + Cache.lockName) else { return }
        defer { lock.release() }
        guard removeRecords() else { return }
        try? files.remove(path + "/lock")
        rmdir(temporary)
        try? files.remove(path + "/" + Cache.lockName)
        rmdir(path)
    }

    /// Removes the records of a manager that records nothing any more, without its forgetting one download after the
    /// other; false, and nothing is done, when there are unfinished files. Only for whoever has the lock.
    func removeRecords() -> Bool {
        guard let partials = try? files.list(temporary), partials.isEmpty, let names = try? files.list(path) else {
            return false
        }
        // What was recorded last goes first: should that be all, downloads are where they were before.
        for name in names.sorted() where Self.isOfRecords(name) { try? files.remove(path + "/" + name) }
        return true
    }

    /// Damaged ones that were set aside are none.
    private static func isOfRecords(_ name: String) -> Bool {
        name.hasPrefix("journal-") || name.hasPrefix("snapshot-")
    }
}
