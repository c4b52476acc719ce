import Foundation
import Lanner

/// Tells a directory of records that was made here from one that came from elsewhere, as from an archive: whoever has made
/// that may have put down anything as downloaded.
///
/// In it is an empty file whose name says when the system has made the directory, which a copy is not able to say as well.
/// What is unpacked into a directory that was made here it cannot tell, and where no such time is known (of servers, on FAT,
/// on most file systems in user space) there is no seal, and all is trusted.
struct StateSeal {
    /// The path of the directory.
    let directory: String

    private static let prefix = "made-here-"

    /// Whether it is among the names of what is in the directory, or not needed. Of many, one for each time that it might be,
    /// one may be right.
    func isIntact(_ names: [String]) -> Bool {
        guard let name else { return true }
        return names.filter(Self.isSeal) == [name]
    }

    /// Puts down that the directory was made here. Only for who is sure of that, by its lock.
    func put() {
        guard let name else { return }
        for other in seals where other != name { unlink(path(other)) }
        let file = open(path(name), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
    }

    func remove() {
        for seal in seals { unlink(path(seal)) }
    }

    private static func isSeal(_ name: String) -> Bool { name.hasPrefix(prefix) }

    private var seals: [String] { ((try? PosixFileSystem().list(directory)) ?? []).filter(Self.isSeal) }

    private var name: String? { PosixFileSystem().birth(of: directory).map { Self.prefix + $0 } }

    private func path(_ name: String) -> String { directory + "/" + name }
}
