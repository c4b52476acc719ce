import Foundation

extension Checksum {
    /// The digests of the pieces of a file: all of one length but the last, which may be shorter.
    ///
    /// A download that has them compares each piece as soon as it is there, and fetches those again that are wrong, and
    /// only those.
    public struct Pieces: Hashable, Sendable {
        /// The algorithm of all digests.
        public let algorithm: Algorithm
        /// How many bytes a piece has; the last may have fewer, and has at least one.
        public let length: Int64
        /// The digests, one behind the other.
        let bytes: [UInt8]

        /// How many bytes the digests may have together: they are part of the record of a download, which is written again
        /// and again. Enough for 32768 pieces by SHA-256.
        public static let mostBytes = 1 << 20

        /// Pieces of that many bytes, with these digests, in order.
        ///
        /// Fails when the length is not positive, when there is no piece, when their digests are not by one algorithm, and
        /// when there is more than can be remembered or a file can hold.
        public init(length: Int64, digests: some Collection<Digest>) throws(PieceError) {
            let digests = Array(digests)
            guard length > 0 else { throw .length(length) }
            guard let algorithm = digests.first?.algorithm else { throw .empty }
            for (index, digest) in digests.enumerated() where digest.algorithm != algorithm {
                throw .mixed(algorithm, index: index, digest.algorithm)
            }
            let most = Self.mostBytes / algorithm.digestLength
            guard digests.count <= most else { throw .tooMany(digests.count, most: most) }
            guard !length.multipliedReportingOverflow(by: Int64(digests.count)).overflow else { throw .length(length) }
            self.init(algorithm: algorithm, length: length, bytes: digests.flatMap(\.bytes))
        }

        private init(algorithm: Algorithm, length: Int64, bytes: [UInt8]) {
            (self.algorithm, self.length, self.bytes) = (algorithm, length, bytes)
        }

        /// Pieces from a record; nil when it makes no sense.
        init?(algorithm: Algorithm, length: Int64, joined bytes: [UInt8]) {
            let count = bytes.count / algorithm.digestLength
            guard length > 0, count > 0, bytes.count == count * algorithm.digestLength, bytes.count <= Self.mostBytes,
                !length.multipliedReportingOverflow(by: Int64(count)).overflow
            else { return nil }
            self.init(algorithm: algorithm, length: length, bytes: bytes)
        }

        /// How many there are; at least one.
        public var count: Int { bytes.count / algorithm.digestLength }

        /// The sizes of files that consist of so many pieces.
        public var fileSizes: ClosedRange<Int64> { length * Int64(count - 1) + 1...length * Int64(count) }
    }
}

extension Checksum.Pieces {
    /// The first piece that begins at a position or behind it, of a file of that size; nil when there is none. Without a
    /// size the last one has its full length.
    func range(from position: Int64, in total: Int64?) -> Range<Int64>? {
        let index = position / length + (position % length == 0 ? 0 : 1)
        guard index < count, index * length < total ?? .max else { return nil }
        return index * length..<min((index + 1) * length, total ?? .max)
    }

    /// Whether this is the digest of the piece that begins there.
    func isDigest(_ digest: [UInt8], ofPieceAt position: Int64) -> Bool {
        let first = Int(position / length) * algorithm.digestLength
        return bytes[first..<first + algorithm.digestLength].elementsEqual(digest)
    }
}

extension Checksum {
    /// Why there are no such pieces.
    public enum PieceError: Error, Hashable, Sendable {
        /// There is no digest.
        case empty
        /// A piece cannot have so many bytes, or not all pieces together.
        case length(Int64)
        /// The digest at that index is by another algorithm than the first.
        case mixed(Algorithm, index: Int, Algorithm)
        /// There are more digests than can be remembered.
        case tooMany(Int, most: Int)
    }
}

extension Checksum.PieceError: LocalizedError, CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch self {
        case .empty:
            "A list of pieces needs a checksum for each piece of the file, in order; this one is empty."
        case .length(let length):
            "A piece cannot have \(length) bytes; give the number of bytes of every piece but the last, at least 1."
        case .mixed(let algorithm, let index, let other):
            "All pieces need a checksum by one algorithm; the first has \(algorithm.rawValue), number \(index + 1) "
                + "\(other.rawValue)."
        case .tooMany(let count, let most):
            "\(count) pieces are too many to be remembered; with this algorithm there may be \(most): use longer ones."
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
