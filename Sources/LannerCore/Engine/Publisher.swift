import LannerMachine

/// Moves a complete file to its place, so that the place holds the old file or the new one, never a part.
struct Publisher {
    var fileSystem: any FileSystem
    var makeHasher: Checksum.HasherProvider = { $0.makeHasher() }

    /// How a file came to its place, or that it did not.
    enum Move {
        case renamed
        /// The source is there as well. It goes once the directory is confirmed: two devices keep no order, and the death
        /// of the machine must not take the new name and leave the removal.
        case copied
        /// The place is on another device than the file, and than its copy if there is one: nothing was done.
        case apart
    }

    /// Renames the file, or a copy that was made of it. The name is with the device once the directory is confirmed.
    func move(_ source: String, to target: String, copiedTo copy: String? = nil) throws(FileError) -> Move {
        do throws(FileError) {
            try fileSystem.rename(copy ?? source, to: target)
            return copy == nil ? .renamed : .copied
        } catch {
            guard error.isAcrossDevices, copy?.directory != target.directory else { throw error }
            return .apart
        }
    }

    /// The same, unless something has the target's name: then does nothing and says nil.
    func moveIfFree(_ source: String, to target: String, copiedTo copy: String? = nil) throws(FileError) -> Move? {
        do throws(FileError) {
            guard try fileSystem.renameIfFree(copy ?? source, to: target) else { return nil }
            return copy == nil ? .renamed : .copied
        } catch {
            guard error.isAcrossDevices, copy?.directory != target.directory else { throw error }
            return try fileSystem.isTaken(target) ? nil : .apart
        }
    }

    /// Has the names of all that were moved into a directory kept by the device.
    func confirm(_ directory: String) throws(FileError) {
        try fileSystem.syncDirectory(directory)
    }

    /// Whether the target has the bytes of the source: a move across file systems was cut off behind the copy, if it was.
    /// Reads both, where they have one size, up to the first difference. Nil when nobody wants to know any more.
    func isCopied(_ source: String, to target: String, while isWanted: () -> Bool) throws(FileError) -> Bool? {
        guard let size = try fileSystem.size(of: source), size == (try? fileSystem.size(of: target))
        else { return false }
        return try fileSystem.haveSameBytes(source, target, while: isWanted)
    }

    /// The same at a launch; nil when that would take too long, or cannot be told.
    func isFoundCopied(_ source: String, to target: String) -> Bool? {
        guard let size = try? fileSystem.size(of: source), size <= Self.mostReadAtLaunch else { return nil }
        return try? isCopied(source, to: target) { true }
    }

    /// Whether a move was made: the source is gone, and in the place is a file of that size and, where one is known, with
    /// that digest. Without a digest another file of the same size, put there by somebody else, is taken for it.
    ///
    /// Reads the file when there is a digest; nil when nobody wants to know any more.
    func isMoved(
        _ source: String, to target: String, size: Int64?, digest: Checksum.Digest?,
        while isWanted: () -> Bool = { true }
    ) throws(FileError) -> Bool? {
        guard try fileSystem.size(of: source) == nil, let found = try fileSystem.size(of: target), found == size
        else { return false }
        guard let digest else { return true }
        do throws(FileError) {
            return try fileSystem.digest(of: target, digest.algorithm, by: makeHasher, while: isWanted).map {
                $0 == digest
            }
        } catch {
            // What cannot be read is not the file, unless that may pass.
            guard error.fault == .tooManyFiles else { return false }
            throw error
        }
    }

    /// What is found of a move that the death of the process may have interrupted.
    enum Found {
        case nothing
        /// The file is in its place, and only its digest was not read, or its name may not outlive the machine.
        case unconfirmed
        case confirmed
    }

    /// How large a file is whose digest is compared while a manager is being made, which an application waits for: one that
    /// took too long for that would be ended, and begin anew at its next launch.
    private static let mostReadAtLaunch: Int64 = 16 << 20

    /// Looks whether a move was made, and has the file's name kept by the device, and the old one forgotten. The digest of a
    /// large file is left to who moves files.
    func find(_ source: String, at target: String, size: Int64?, digest: Checksum.Digest?) -> Found {
        let isLarge = size.map { $0 > Self.mostReadAtLaunch } ?? false
        do throws(FileError) {
            guard try isMoved(source, to: target, size: size, digest: isLarge ? nil : digest) == true else {
                return .nothing
            }
        } catch {
            // Then all but its digest was compared.
            return error.fault == .tooManyFiles ? .unconfirmed : .nothing
        }
        if isLarge, digest != nil { return .unconfirmed }
        do throws(FileError) {
            try confirm(target.directory)
            try confirm(source.directory)
            return .confirmed
        } catch {
            return .unconfirmed
        }
    }

    /// Copies a file, which may take long, to where it is renamed to the target from; says where that is. Nil, and nothing
    /// left, when it is not wanted any more.
    func copy(
        _ source: String, beside target: String, while isWanted: () -> Bool = { true }
    ) throws(FileError) -> String? {
        let copy = Self.copyPath(of: source, beside: target)
        var isWhole = false
        defer { if !isWhole { try? fileSystem.remove(copy) } }
        isWhole = try self.copy(source, to: copy, while: isWanted)
        return isWhole ? copy : nil
    }

    /// Where a copy is made on the way to the target: in its directory, under the source's own name, which is no other
    /// download's, and an ending. Without that it would be the source itself where both directories are one that is
    /// mounted twice: the kernel moves no file between two mounts.
    static func copyPath(of source: String, beside target: String) -> String {
        target.directory + "/" + source.lastComponent + PartialName.copySuffix
    }

    /// Whether that was to the end.
    private func copy(
        _ source: String, to copy: String, while isWanted: () -> Bool
    ) throws(FileError) -> Bool {
        let from = try fileSystem.open(source, .read)
        defer { from.close() }
        let size = try from.size()
        // Not every file system can set it aside, and to fill one up harms others.
        try fileSystem.requireRoom(for: size, to: "copy \(size) bytes to", copy)
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
