extension FileSystem {
    /// The digest of a file, which is read once.
    func digest(
        of path: String, _ algorithm: Checksum.Algorithm, by makeHasher: Checksum.HasherProvider
    ) throws(FileError) -> Checksum.Digest {
        let file = try open(path, .read)
        defer { file.close() }
        var hasher = makeHasher(algorithm)
        try file.readPieces { (piece, _) throws(FileError) in hasher.update(piece) }
        return Checksum.Digest(algorithm: algorithm, of: hasher)
    }
}

extension OpenFile {
    /// Reads from the start to the end, in pieces that are lent with their positions.
    func readPieces(_ body: (UnsafeRawBufferPointer, Int64) throws(FileError) -> Void) throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 << 10, alignment: 64)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while case let count = try read(into: buffer, at: position), count > 0 {
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), position)
            position += Int64(count)
        }
    }
}
