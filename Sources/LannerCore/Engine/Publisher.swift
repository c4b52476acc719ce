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
        try fileSystem.syncDirectory(Self.directory(of: target))
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
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while true {
            let count = try from.read(into: buffer, at: position)
            if count == 0 { return }
            try to.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: position)
            position += Int64(count)
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
