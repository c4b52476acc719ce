import Foundation

@testable import LannerCore

/// Digests as they are written, and as they are computed.
extension FuzzTarget {
    /// "ALGORITHM:HEX".
    static let digest = FuzzTarget("digest") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let digest = try? Checksum.Digest(parsing: text) else { return }
        try promise(digest.bytes.count == digest.algorithm.digestLength, "\(digest.bytes.count) bytes")
        try promise(try Checksum.Digest(parsing: digest.description) == digest, "\(digest) is read otherwise")
        try promise(
            try Checksum.Digest(algorithm: digest.algorithm, hexadecimal: digest.hexadecimal) == digest, "\(digest)")
        let json = try JSONEncoder().encode([digest])
        try promise(try JSONDecoder().decode([Checksum.Digest].self, from: json) == [digest], "\(digest) in JSON")
        let digits = text.lowercased().filter { $0.isASCII && $0.isHexDigit }
        try promise(digits.hasSuffix(digest.hexadecimal), "\(text) is read as \(digest)")
    }

    /// Sizes of pieces up to a zero; then a message.
    static let hash = FuzzTarget("hash") { bytes in
        let sizes = bytes.prefix { $0 != 0 }
        let message = Array(bytes.dropFirst(sizes.count + 1))
        for algorithm in Checksum.Algorithm.allCases {
            var whole = algorithm.makeHasher()
            message.withUnsafeBytes { whole.update($0) }
            let cut = digest(of: message, in: sizes.map(Int.init), algorithm)
            try promise(whole.digest() == cut, "\(algorithm) depends on how \(message.count) bytes are cut")
            try promise(cut.count == algorithm.digestLength, "\(algorithm) has \(cut.count) bytes")
        }
        let sum = message.withUnsafeBytes { CRC32C.checksum($0) }
        try promise(sum == slowChecksum(message), "the checksum of \(message.count) bytes")
    }

    private static func digest(of message: [UInt8], in sizes: [Int], _ algorithm: Checksum.Algorithm) -> [UInt8] {
        var hasher = algorithm.makeHasher()
        message.withUnsafeBytes { message in
            var rest = message[...]
            for size in sizes {
                hasher.update(UnsafeRawBufferPointer(rebasing: rest.prefix(size)))
                rest = rest.dropFirst(size)
                // A look in between changes nothing.
                if size % 8 == 3 { _ = hasher.digest() }
            }
            hasher.update(UnsafeRawBufferPointer(rebasing: rest))
        }
        return hasher.digest()
    }

    /// The definition, bit by bit.
    private static func slowChecksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
        }
    }
}
