import LannerMachine

/// Moves a complete file to its place, so that the place holds the old file or the new one, never a part.
struct Publisher {
    var fileSystem: any FileSystem

    /// Renames; across file systems copies beside the target, syncs, and renames there. The name is with the device
    /// when this returns.
    func move(_ source: String, to target: String) throws(FileError) {
        do throws(FileError) {
            try fileSystem.rename(source, to: target)
        } catch {
            guard error.isAcrossDevices else { throw error }
            try copy(source, to: target)
        }
        try fileSystem.syncDirectory(target.directory)
    }

    /// Whether a move that the death of the process may have interrupted was made: the source is gone, and in the place
    /// is a file of that size and, where one is known, with that digest. Without a digest another file of the same size,
    /// put there by somebody else, is taken for it.
    ///
    /// Reads the file when there is a digest.
    func hasMoved(_ source: String, to target: String, size: Int64?, digest: Checksum.Digest?) -> Bool {
        do throws(FileError) {
            guard try fileSystem.size(of: source) == nil, let found = try fileSystem.size(of: target), found == size
            else { return false }
            // Or the death of the machine could still take the move back.
            try fileSystem.syncDirectory(target.directory)
            guard let digest else { return true }
            return try fileSystem.digest(of: target, digest.algorithm) == digest
        } catch {
            return false
        }
    }

    private func copy(_ source: String, to target: String) throws(FileError) {
        let beside = target + ".lanner-part"
        let from = try fileSystem.open(source, .read)
        defer { from.close() }
        do throws(FileError) {
            let to = try fileSystem.open(beside, .create)
            defer { to.close() }
            try copyBytes(from, to)
            try to.sync()
        } catch {
            try? fileSystem.remove(beside)
            throw error
        }
        try fileSystem.rename(beside, to: target)
        try fileSystem.remove(source)
    }

    private func copyBytes(_ from: any OpenFile, _ to: any OpenFile) throws(FileError) {
        try to.allocate(from.size())
        try from.readPieces { (piece, position) throws(FileError) in try to.write(piece, at: position) }
    }
}
