import Foundation
import Lanner

/// The directory that holds what is not finished, beside the files.
struct StateDirectory {
    let path: String

    init(in directory: String) {
        path = TargetName.path(TargetName.stateDirectory, in: directory)
    }

    /// Where everything is, in the words of the library.
    func cache(filesIn directory: String) -> Cache {
        Cache("lanner", downloadPath: path, downloadTmpPath: path + "/Tmp", downloadFilePath: directory)
    }

    /// Removes the directory once its manager has been invalidated and had no download left that is worth its record.
    ///
    /// Only what the library makes is removed, and only while its lock is ours: whatever else is there stays, and so
    /// does everything when someone else has come meanwhile.
    func remove() {
        let files = PosixFileSystem()
        let temporary = path + "/Tmp"
        guard let lock = try? files.lock(path + "/" + Cache.lockName), let names = try? files.list(path) else { return }
        defer { lock.release() }
        guard let partials = try? files.list(temporary), partials.isEmpty else { return }
        // Journals first: what is left of a store when this is cut off is an earlier state of it, not a damaged one.
        for name in names.sorted() where Self.isStore(name) { try? files.remove(path + "/" + name) }
        rmdir(temporary)
        try? files.remove(path + "/" + Cache.lockName)
        rmdir(path)
    }

    /// Files of a store; damaged ones that were set aside are none.
    private static func isStore(_ name: String) -> Bool {
        name == "lock" || name.hasPrefix("journal-") || name.hasPrefix("snapshot-")
    }
}
