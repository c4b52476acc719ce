import Foundation

/// Bytes on their way into a file, in the pieces they arrived in.
///
/// Network pieces are small (16 KiB); handed on one by one they cost a change of threads each. They are gathered here
/// and not copied: what receives them has little time for each.
package struct Chunk: Sendable {
    /// From this many bytes on a download hands a chunk to its file, 1 MiB: large enough that the changes of threads
    /// no longer show, small enough that a few of them in flight are no burden.
    package static let standardSize = 1 << 20
    /// Chunks that wait are written together up to so many bytes, 4 MiB: fewer and larger direct writes are quicker. A file
    /// for which so much waits is behind.
    static let largestWrite = 4 << 20
    /// So many bytes of a file that was behind are written directly, 64 MiB: who caught up by that would be behind again at
    /// once without.
    static let hurry = 64 << 20

    /// From this many bytes on the device is told to begin with a chunk once it is written. What it has not got waits in
    /// the kernel for the next sync, and whoever suspends waits for that: seconds of many downloads would be too much. Less
    /// is not worth a request of its own.
    private static let worthDevice = 256 << 10

    /// Whole blocks of this size, 4 KiB, are written directly where they lie in memory as in the file: that of most devices
    /// and file systems, and a multiple of that of others.
    package static let block = 4096

    /// Neighbors that are not larger together are copied into one, so that a trickle does not cost more memory than
    /// its bytes.
    private static let pieceSize = 4 << 10
    /// How many pieces are lent at once; each is a level of nesting.
    private static let lentPieces = 16

    /// How many bytes are in it.
    package private(set) var count = 0
    /// None is empty.
    package private(set) var pieces: [Data] = []

    /// An empty chunk.
    package init() {}

    /// Chunks one behind the other, nothing being copied.
    init(joining chunks: [Chunk]) {
        count = chunks.reduce(0) { $0 + $1.count }
        pieces = chunks.count == 1 ? chunks[0].pieces : chunks.flatMap(\.pieces)
    }

    /// Whether it is worth a request to the device of its own.
    var isLarge: Bool { count >= Self.worthDevice }

    /// Adds bytes at the end.
    package mutating func append(_ piece: Data) {
        guard !piece.isEmpty else { return }
        count += piece.count
        if let size = pieces.last?.count, size + piece.count <= Self.pieceSize {
            pieces[pieces.count - 1].append(piece)
        } else {
            pieces.append(piece)
        }
    }

    /// Lends the bytes for the duration of `body`, in order, some pieces at a time, each time with the position of the
    /// first in the chunk. Ends with the first failure.
    func lend(
        to body: (_ position: Int, _ buffers: [UnsafeRawBufferPointer]) -> Result<Void, FileError>
    ) throws(FileError) {
        // What is small mostly came at once.
        if pieces.count == 1 { return try pieces[0].withUnsafeBytes { body(0, [$0]) }.get() }
        var position = 0
        var rest = pieces[...]
        while !rest.isEmpty {
            let group = rest.prefix(Self.lentPieces)
            try Self.lend(group, behind: []) { body(position, $0) }.get()
            position += group.reduce(0) { $0 + $1.count }
            rest = rest.dropFirst(group.count)
        }
    }

    private static func lend<Value>(
        _ pieces: ArraySlice<Data>, behind buffers: [UnsafeRawBufferPointer],
        _ body: ([UnsafeRawBufferPointer]) -> Value
    ) -> Value {
        guard let piece = pieces.first else { return body(buffers) }
        return piece.withUnsafeBytes { lend(pieces.dropFirst(), behind: buffers + [$0], body) }
    }
}

extension [UnsafeRawBufferPointer] {
    /// The bytes in a range of what the buffers hold together; what lies outside is left out.
    package func part(_ range: Range<Int>) -> Self {
        if range.lowerBound == 0, range.upperBound == reduce(0, { $0 + $1.count }) { return self }
        var start = 0
        return compactMap { buffer in
            defer { start += buffer.count }
            let held = range.clamped(to: start..<(start + buffer.count))
            guard !held.isEmpty else { return nil }
            return UnsafeRawBufferPointer(rebasing: buffer[(held.lowerBound - start)..<(held.upperBound - start)])
        }
    }
}
