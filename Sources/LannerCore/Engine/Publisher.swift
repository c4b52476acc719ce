import LannerMachine

/// Moves a complete file to its place, so that the place holds the old file or the new one, never a part.
struct Publisher {
    var fileSystem: any FileSystem
    var makeHasher: Checksum.HasherProvider = { $0.makeHasher() }
    /// Asked while a file is copied, which may take long, and before the copy takes its place.
    var isWanted: () -> Bool = { true }

    /// How a file came to its place.
    enum Move {
        case renamed
        /// The source is there as well. It goes once the directory is confirmed: two devices keep no order, and the death
        /// of the machine must not take the new name and leave the removal.
        case copied
    }

    /// Renames; across file systems copies beside the target, syncs, and renames there; nil, and nothing done, when that
    /// is not wanted any more. The name is with the device once the directory is confirmed.
    func move(_ source: String, to target: String) throws(FileError) -> Move? {
        do throws(FileError) {
            try fileSystem.rename(source, to: target)
            return .renamed
        } catch {
            guard error.isAcrossDevices else { throw error }
        }
        let isMoved = try moveCopy(of: source, to: target) { copy throws(FileError) in
            try fileSystem.rename(copy, to: target)
            return true
        }
        return isMoved ? .copied : nil
    }

    /// The same, unless something has the target's name: then does nothing and says nil.
    func moveIfFree(_ source: String, to target: String) throws(FileError) -> Move? {
        do throws(FileError) {
            return try fileSystem.renameIfFree(source, to: target) ? .renamed : nil
        } catch {
            guard error.isAcrossDevices else { throw error }
        }
        guard try !fileSystem.isTaken(target) else { return nil }
        let isMoved = try moveCopy(of: source, to: target) { copy throws(FileError) in
            try fileSystem.renameIfFree(copy, to: target)
        }
        return isMoved ? .copied : nil
    }

    /// Has the names of all that were moved into a directory kept by the device.
    func confirm(_ directory: String) throws(FileError) {
        try fileSystem.syncDirectory(directory)
    }

    /// Whether the target has the bytes of the source: a move across file systems was cut off behind the copy, if it was.
    /// Reads both, where they have one size, up to the first difference.
    func isCopied(_ source: String, to target: String) throws(FileError) -> Bool {
        guard let size = try fileSystem.size(of: source), size == (try? fileSystem.size(of: target))
        else { return false }
        return try fileSystem.haveSameBytes(source, target)
    }

    /// Whether a move was made: the source is gone, and in the place is a file of that size and, where one is known, with
    /// that digest. Without a digest another file of the same size, put there by somebody else, is taken for it.
    ///
    /// Reads the file when there is a digest.
    func isMoved(
        _ source: String, to target: String, size: Int64?, digest: Checksum.Digest?
    ) throws(FileError) -> Bool {
        guard try fileSystem.size(of: source) == nil, let found = try fileSystem.size(of: target), found == size
        else { return false }
        guard let digest else { return true }
        do throws(FileError) {
            return try fileSystem.digest(of: target, digest.algorithm, by: makeHasher) == digest
        } catch {
            // What cannot be read is not the file, unless that may pass.
            guard error.fault == .tooManyFiles else { return false }
            throw error
        }
    }

    /// What is found of a move that the death of the process may have interrupted.
    enum Found {
        case nothing
        /// The file is in its place, and only its digest could not be read, or its name may not outlive the machine.
        case unconfirmed
        case confirmed
    }

    /// Looks whether a move was made, and has the file's name kept by the device.
    func find(_ source: String, at target: String, size: Int64?, digest: Checksum.Digest?) -> Found {
        do throws(FileError) {
            guard try isMoved(source, to: target, size: size, digest: digest) else { return .nothing }
        } catch {
            // Then all but its digest was compared.
            return error.fault == .tooManyFiles ? .unconfirmed : .nothing
        }
        do throws(FileError) {
            try confirm(target.directory)
            return .confirmed
        } catch {
            return .unconfirmed
        }
    }

    /// Copies, and moves the copy by a rename, which may refuse: then the copy is removed, as when it is not wanted.
    private func moveCopy(
        of source: String, to target: String, _ rename: (String) throws(FileError) -> Bool
    ) throws(FileError) -> Bool {
        let copy = Self.copyPath(of: source, beside: target)
        var isMoved = false
        defer { if !isMoved { try? fileSystem.remove(copy) } }
        guard try self.copy(source, to: copy), isWanted() else { return false }
        isMoved = try rename(copy)
        return isMoved
    }

    /// Where a copy is made on the way to the target: in its directory, under the source's own name, which is no other
    /// download's, and an ending. Without that it would be the source itself where both directories are one that is
    /// mounted twice: the kernel moves no file between two mounts.
    static func copyPath(of source: String, beside target: String) -> String {
        target.directory + "/" + source.lastComponent + PartialName.copySuffix
    }

    /// Whether that was to the end.
    private func copy(_ source: String, to copy: String) throws(FileError) -> Bool {
        let from = try fileSystem.open(source, .read)
        defer { from.close() }
        let size = try from.size()
        let to = try fileSystem.open(copy, .create)
        defer { to.close() }
        try to.allocate(size)
        let isWhole = try from.readPieces(while: isWanted) { (piece, position) throws(FileError) in
            try to.write(piece, at: position)
        }
        guard isWhole else { return false }
        try to.sync()
        try to.checkWhole()
        guard try to.size() == size else { throw FileError(fault: .other, operation: "copy", path: source) }
        return true
    }
}
