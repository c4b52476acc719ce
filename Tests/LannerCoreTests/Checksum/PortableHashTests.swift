import Testing

@testable import LannerCore

/// Where the processor has instructions for SHA, nothing else runs the functions that are written in Swift.
@Suite("Hash functions without the processor's instructions")
struct PortableHashTests {
    @Test("Published vectors", arguments: HashVector.all)
    func vector(_ vector: HashVector) {
        #expect(Self.digest(vector.algorithm, Array(vector.message.utf8)) == vector.digest)
    }

    @Test("Many lengths agree with another implementation", arguments: Checksum.Algorithm.allCases)
    func lengths(_ algorithm: Checksum.Algorithm) throws {
        for (length, digest) in try HashPattern.digests(algorithm) {
            #expect(Self.digest(algorithm, Array(HashPattern.bytes.prefix(length))) == digest, "\(length) bytes")
        }
    }

    @Test("The digest does not depend on where the bytes lie", arguments: Checksum.Algorithm.allCases)
    func unaligned(_ algorithm: Checksum.Algorithm) {
        let message = Array(HashPattern.bytes.prefix(70 * 128 + 5))
        let whole = Self.digest(algorithm, message)
        for offset in 1..<8 {
            #expect(Self.digest(algorithm, [UInt8](repeating: 0, count: offset) + message, from: offset) == whole)
        }
    }

    private static func digest(_ algorithm: Checksum.Algorithm, _ bytes: [UInt8], from start: Int = 0) -> String {
        switch algorithm {
        case .md5: digest(MD5Function.self, bytes, start)
        case .sha1: digest(PortableSHA1.self, bytes, start)
        case .sha256: digest(PortableSHA256.self, bytes, start)
        case .sha512: digest(SHA512Function.self, bytes, start)
        }
    }

    private static func digest<Function: BlockFunction>(
        _ function: Function.Type, _ bytes: [UInt8], _ start: Int
    ) -> String {
        var stream = BlockStream<Function>()
        bytes.withUnsafeBytes { stream.update(UnsafeRawBufferPointer(rebasing: $0.dropFirst(start))) }
        return stream.digest().hexadecimal
    }
}

private struct PortableSHA1: BlockFunction {
    private var function = SHA1Function()
    static var isBigEndian: Bool { SHA1Function.isBigEndian }
    var words: [UInt32] { function.words }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        function.compressPortably(blocks, count: count)
    }
}

private struct PortableSHA256: BlockFunction {
    private var function = SHA256Function()
    static var isBigEndian: Bool { SHA256Function.isBigEndian }
    var words: [UInt32] { function.words }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        function.compressPortably(blocks, count: count)
    }
}
