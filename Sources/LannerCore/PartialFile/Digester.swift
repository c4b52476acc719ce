/// The hasher of a partial file and the buffer it reads back into.
// @unchecked Sendable: touched only on the file's hash lane, which runs one piece of work at a time.
final class Digester: @unchecked Sendable {
    private var hasher: any Checksum.Hasher
    private var buffer: [UInt8] = []

    init(_ hasher: any Checksum.Hasher) {
        self.hasher = hasher
    }

    /// Takes the next bytes of the file, from memory or from disk.
    func take(_ piece: HashBacklog.Piece, of file: any OpenFile, _ path: String) throws(FileError) {
        switch piece {
        case .chunk(let chunk):
            for piece in chunk.pieces { piece.withUnsafeBytes { hasher.update($0) } }
        case .range(let range): try readBack(range, of: file, path)
        }
    }

    /// The digest of the whole file.
    func digest() -> [UInt8] {
        hasher.digest()
    }

    /// Gives the buffer back.
    func release() {
        buffer = []
    }

    private func readBack(_ range: Range<Int64>, of file: any OpenFile, _ path: String) throws(FileError) {
        let needed = Int(min(range.upperBound - range.lowerBound, HashBacklog.pieceLimit))
        if buffer.count < needed { buffer = [UInt8](repeating: 0, count: needed) }
        var position = range.lowerBound
        while position < range.upperBound {
            let limit = Int(min(range.upperBound - position, HashBacklog.pieceLimit))
            let count = try read(limit, at: position, of: file)
            // Someone else has cut the file.
            if count == 0 { throw FileError(fault: .inputOutput, operation: "read", path: path) }
            buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            position += Int64(count)
        }
    }

    private func read(_ limit: Int, at position: Int64, of file: any OpenFile) throws(FileError) -> Int {
        let result = buffer.withUnsafeMutableBytes { bytes in
            Result { () throws(FileError) in
                try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<limit]), at: position)
            }
        }
        return try result.get()
    }
}
