import Foundation
import Lanner

/// Tells a directory of records that was made here from one that came from elsewhere, as from an archive: whoever has made
/// that may have put down anything as downloaded.
///
/// In it is an empty file, and another in whose name is when the system has changed that one last. To set that time, or to
/// know it before, is in nobody's power.
struct Origin {
    /// The path of the directory.
    let directory: String

    private static let mark = "made-here"

    /// Whether the directory was made here, of all that is in it.
    func isHere(_ names: [String]) -> Bool {
        guard let seal else { return false }
        // Of many, one for each time that it might be, one may be right.
        return names.filter(Self.isOwn).sorted() == [Self.mark, seal]
    }

    /// Puts down that it was made here, if it does not say so.
    func put() {
        if let seal, access(path(seal), F_OK) == 0 { return }
        for name in names.filter(Self.isOwn) { unlink(path(name)) }
        make(Self.mark)
        if let seal { make(seal) }
    }

    func remove() {
        for name in names.filter(Self.isOwn) { unlink(path(name)) }
    }

    private static func isOwn(_ name: String) -> Bool { name.hasPrefix(mark) }

    private var names: [String] { (try? PosixFileSystem().list(directory)) ?? [] }

    /// The name of the second file.
    private var seal: String? {
        var status = stat()
        return lstat(path(Self.mark), &status) == 0 ? "\(Self.mark)-\(status.changed)" : nil
    }

    private func path(_ name: String) -> String { directory + "/" + name }

    private func make(_ name: String) {
        let file = open(path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
    }
}
