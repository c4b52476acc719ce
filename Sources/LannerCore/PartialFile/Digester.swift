/// The hasher of a partial file and the buffer it reads back into.
// @unchecked Sendable: touched only on the file's hash lane, which runs one piece of work at a time.
final class Digester: @unchecked Sendable {
    private var hasher: any Checksum.Hasher
    private var buffer: Chunk?

    init(_ hasher: any Checksum.Hasher) {
        self.hasher = hasher
    }

    /// Takes the next bytes of the file, from memory or from disk.
    func take(_ piece: HashBacklog.Piece, of file: any OpenFile, _ path: String) throws(FileError) {
        switch piece {
        case .chunk(let chunk): chunk.withBytes { hasher.update($0) }
        case .range(let range): try readBack(range, of: file, path)
        }
    }

    /// The digest of the whole file.
    func digest() -> [UInt8] {
        hasher.digest()
    }

    /// Gives the buffer back.
    func release() {
        buffer = nil
    }

    private func readBack(_ range: Range<Int64>, of file: any OpenFile, _ path: String) throws(FileError) {
        let buffer = self.buffer ?? Chunk(capacity: Int(HashBacklog.pieceLimit))
        self.buffer = buffer
        var position = range.lowerBound
        while position < range.upperBound {
            let start = position
            let limit = Int(range.upperBound - start)
            try buffer.fill(upTo: limit) { room throws(FileError) in try file.read(into: room, at: start) }
            // Someone else has cut the file.
            if buffer.count == 0 { throw FileError(fault: .inputOutput, operation: "read", path: path) }
            buffer.withBytes { hasher.update($0) }
            position += Int64(buffer.count)
        }
    }
}
