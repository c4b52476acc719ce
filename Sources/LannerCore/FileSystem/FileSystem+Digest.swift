extension FileSystem {
    /// The digest of a file, which is read once; nil when nobody wants it any more before that is done.
    func digest(
        of path: String, _ algorithm: Checksum.Algorithm, by makeHasher: Checksum.HasherProvider,
        while isWanted: () -> Bool
    ) throws(FileError) -> Checksum.Digest? {
        let file = try open(path, .read)
        defer { file.close() }
        var hasher = makeHasher(algorithm)
        let isRead = try file.readPieces(while: isWanted) { (piece, _) throws(FileError) in hasher.update(piece) }
        return isRead ? Checksum.Digest(algorithm: algorithm, of: hasher) : nil
    }

    /// Whether a file consists of these pieces; it is read up to the first that is wrong. Nil when nobody wants to know
    /// any more.
    func hasPieces(
        _ pieces: Checksum.Pieces, _ path: String, by makeHasher: @escaping Checksum.HasherProvider,
        while isWanted: () -> Bool
    ) throws(FileError) -> Bool? {
        let file = try open(path, .read)
        defer { file.close() }
        let size = try file.size()
        guard pieces.fileSizes.contains(size) else { return false }
        let digester = Digester(makeHasher)
        var position: Int64 = 0
        while let piece = pieces.range(from: position, in: size) {
            let digest = try digester.digest(of: piece, pieces.algorithm, in: file, path, while: isWanted)
            guard let digest else { return nil }
            guard pieces.isDigest(digest, ofPieceAt: position) else { return false }
            position = piece.upperBound
        }
        return true
    }

    /// Whether two files of one size have the same bytes; they are read up to the first difference. Nil when nobody wants to
    /// know any more.
    func haveSameBytes(
        _ path: String, _ other: String, while isWanted: () -> Bool
    ) throws(FileError) -> Bool? {
        let one = try open(path, .read)
        defer { one.close() }
        let two = try open(other, .read)
        defer { two.close() }
        var isSame = true
        let isRead = try one.readPieces(while: { isSame && isWanted() }) { (piece, position) throws(FileError) in
            isSame = try two.has(piece, at: position)
        }
        return isSame && !isRead ? nil : isSame
    }
}

extension OpenFile {
    /// Reads from the start to the end, in pieces that are lent with their positions, as long as that is wanted; whether it
    /// was to the end.
    func readPieces(
        while isWanted: () -> Bool, _ body: (UnsafeRawBufferPointer, Int64) throws(FileError) -> Void
    ) throws(FileError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 << 10, alignment: 64)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while case let count = try read(into: buffer, at: position), count > 0 {
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), position)
            position += Int64(count)
            if !isWanted() { return false }
        }
        return true
    }

    /// Whether these bytes are at a position.
    fileprivate func has(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
        defer { buffer.deallocate() }
        var count = 0
        while count < bytes.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            let next = try read(into: rest, at: offset + Int64(count))
            if next == 0 { return false }
            count += next
        }
        return buffer.elementsEqual(bytes)
    }
}
