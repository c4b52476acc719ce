/// The hasher of a partial file and the buffer it reads back into.
// @unchecked Sendable: touched only on the file's hash lane, which runs one piece of work at a time; the hasher is given
// before that, under the lock of the file's state, which says that there is one.
final class Digester: @unchecked Sendable {
    private let makeHasher: Checksum.HasherProvider
    private var hasher: (any Checksum.Hasher)?
    private var buffer: [UInt8] = []

    init(_ makeHasher: @escaping Checksum.HasherProvider) {
        self.makeHasher = makeHasher
    }

    /// The hasher of the whole file.
    func begin(with hasher: any Checksum.Hasher) {
        self.hasher = hasher
    }

    /// Takes the next bytes of the file, from memory or from disk.
    func take(_ piece: HashBacklog.Piece, of file: any OpenFile, _ path: String) throws(FileError) {
        switch piece {
        case .chunk(let chunk):
            for piece in chunk.pieces { piece.withUnsafeBytes { hasher?.update($0) } }
        case .range(let range): try readBack(range, of: file, path) { hasher?.update($0) }
        }
    }

    /// The digest of the whole file.
    func digest() -> [UInt8]? {
        hasher?.digest()
    }

    /// The digest of a part of the file by itself; nil when nobody wants it any more.
    func digest(
        of range: Range<Int64>, _ algorithm: Checksum.Algorithm, in file: any OpenFile, _ path: String,
        while isWanted: () -> Bool
    ) throws(FileError) -> [UInt8]? {
        var hasher = makeHasher(algorithm)
        var rest = range
        while !rest.isEmpty {
            guard isWanted() else { return nil }
            let end = rest.lowerBound + min(rest.upperBound - rest.lowerBound, HashBacklog.pieceLimit)
            try readBack(rest.lowerBound..<end, of: file, path) { hasher.update($0) }
            rest = end..<rest.upperBound
        }
        return hasher.digest()
    }

    /// Gives the buffer back.
    func release() {
        buffer = []
    }

    private func readBack(
        _ range: Range<Int64>, of file: any OpenFile, _ path: String, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(FileError) {
        let needed = Int(min(range.upperBound - range.lowerBound, HashBacklog.pieceLimit))
        if buffer.count < needed { buffer = [UInt8](repeating: 0, count: needed) }
        var position = range.lowerBound
        while position < range.upperBound {
            let limit = Int(min(range.upperBound - position, HashBacklog.pieceLimit))
            let count = try read(limit, at: position, of: file)
            // Someone else has cut the file.
            if count == 0 { throw FileError(fault: .inputOutput, operation: "read", path: path) }
            buffer.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
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
