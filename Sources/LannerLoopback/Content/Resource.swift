import Foundation

extension LoopbackServer {
    /// What the server has at a path: bytes and how it serves them.
    public struct Resource: Sendable {
        /// Where the bytes come from.
        public enum Body: Sendable {
            /// These bytes.
            case bytes([UInt8])
            /// Pseudo-random bytes made while they are sent, the same for the same seed, whatever the length.
            case generated(seed: UInt64, length: Int64)
        }

        /// The validator in the `ETag` field (RFC 9110, 8.8.3).
        public enum EntityTag: Sendable, Hashable {
            /// A strong tag computed from the bytes: equal for equal bytes.
            case content
            /// A strong tag, written `"tag"`.
            case strong(String)
            /// A weak tag, written `W/"tag"`.
            case weak(String)
        }

        /// How the end of the body is told (RFC 9112, 6).
        public enum Framing: Sendable, Hashable {
            /// By `Content-Length`.
            case contentLength
            /// In chunks; for a client of HTTP/1.0 by the close.
            case chunked
            /// By closing the connection.
            case close
        }

        /// The bytes.
        public var body: Body
        /// The `ETag` field; none for nil.
        public var entityTag: EntityTag?
        /// The `Last-Modified` field, in whole seconds; none for nil.
        public var lastModified: Date?
        /// Whether ranges are served. When not, `Range` is ignored and `Accept-Ranges: none` is sent.
        public var acceptsRanges: Bool
        /// How the end of the body is told.
        public var framing: Framing
        /// More fields. They replace those the server would send under the same name, so that a resource can claim
        /// another `Date`, `Content-Type` or `Content-Encoding` than is true. They are sent with 200 and 206.
        public var fields: Fields

        /// Makes a resource of a body.
        public init(
            _ body: Body, entityTag: EntityTag? = .content, lastModified: Date? = nil, acceptsRanges: Bool = true,
            framing: Framing = .contentLength, fields: Fields = [:]
        ) {
            self.body = body
            self.entityTag = entityTag
            self.lastModified = lastModified
            self.acceptsRanges = acceptsRanges
            self.framing = framing
            self.fields = fields
        }

        /// Makes a resource of the given bytes.
        public init(
            _ bytes: some Sequence<UInt8>, entityTag: EntityTag? = .content, lastModified: Date? = nil,
            acceptsRanges: Bool = true, framing: Framing = .contentLength, fields: Fields = [:]
        ) {
            self.init(
                .bytes(Array(bytes)), entityTag: entityTag, lastModified: lastModified,
                acceptsRanges: acceptsRanges, framing: framing, fields: fields)
        }
    }
}

extension LoopbackServer.Resource {
    /// How many bytes there are.
    public var length: Int64 { body.length }

    /// The bytes of a range, to compare with; the part of it that the resource has.
    public func bytes(in range: Range<Int64>) -> [UInt8] {
        let range = range.clamped(to: 0..<length)
        // All threads share one empty array, and the initializer would write to it.
        guard !range.isEmpty else { return [] }
        return Array(unsafeUninitializedCapacity: Int(range.upperBound - range.lowerBound)) { buffer, count in
            count = range.count
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            body.copy(from: range.lowerBound, to: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        }
    }

    /// All bytes.
    public var bytes: [UInt8] { bytes(in: 0..<length) }

    /// Calls `receive` with all bytes in order, a piece at a time, without holding them all.
    public func forEachPiece(_ receive: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        var position: Int64 = 0
        while position < length {
            let end = min(length, position + 256 * 1024)
            try bytes(in: position..<end).withUnsafeBytes(receive)
            position = end
        }
    }

    /// The value of the `ETag` field.
    var entityTagText: String? {
        switch entityTag {
        case nil: nil
        case .content: "\"\(String(body.fingerprint, radix: 16))\""
        case .strong(let tag): "\"\(tag)\""
        case .weak(let tag): "W/\"\(tag)\""
        }
    }
}

extension LoopbackServer.Resource.Body: CustomStringConvertible {
    /// How many bytes there are, not which: a test that takes a resource as its argument prints it.
    public var description: String {
        switch self {
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .generated(let seed, let length): "\(length) bytes generated from \(seed)"
        }
    }
}

extension LoopbackServer.Resource.Body {
    var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .generated(_, let length): max(0, length)
        }
    }

    /// Fills the buffer with the bytes from a position on; they must be there.
    func copy(from position: Int64, to buffer: UnsafeMutableRawBufferPointer) {
        switch self {
        case .bytes(let bytes):
            let start = Int(position)
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[start..<start + buffer.count])) }
        case .generated(let seed, _):
            GeneratedBytes(seed: seed).fill(buffer, from: position)
        }
    }

    /// A number that is equal for equal bytes of one kind of body (FNV-1a over the bytes, or over what they come from).
    fileprivate var fingerprint: UInt64 {
        switch self {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { Self.fingerprint($0) }
        case .generated(let seed, let length):
            withUnsafeBytes(of: (seed.littleEndian, length.littleEndian)) { Self.fingerprint($0) }
        }
    }

    private static func fingerprint(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var place = 0
        while place + 8 <= bytes.count {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian) &* 0x100_0000_01B3
            hash ^= hash >> 32
            place += 8
        }
        while place < bytes.count {
            hash = (hash ^ UInt64(bytes[place])) &* 0x100_0000_01B3
            place += 1
        }
        return hash ^ UInt64(bytes.count)
    }
}
