import Foundation
import LannerCore
import Testing

/// A published message and its digest.
struct HashVector: Sendable, CustomTestStringConvertible {
    let algorithm: Checksum.Algorithm
    let message: String
    let digest: String

    init(_ algorithm: Checksum.Algorithm, _ message: String, _ digest: String) {
        self.algorithm = algorithm
        self.message = message
        self.digest = digest
    }

    var testDescription: String { "\(algorithm) of \(message.utf8.count) bytes" }
}

extension HashVector {
    private static let alphabet = "abcdefghijklmnopqrstuvwxyz"
    private static let twoBlocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    private static let twoLongBlocks =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"
    private static let million = String(repeating: "a", count: 1_000_000)

    static let all = md5 + sha1 + sha256 + sha512

    /// RFC 1321, A.5, and a long message.
    private static let md5 = [
        HashVector(.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        HashVector(.md5, "a", "0cc175b9c0f1b6a831c399e269772661"),
        HashVector(.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        HashVector(.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        HashVector(.md5, alphabet, "c3fcd3d76192e4007dfb496cca67e13b"),
        HashVector(.md5, alphabet.uppercased() + alphabet + "0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        HashVector(.md5, String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
        HashVector(.md5, million, "7707d6ae4e027c70eea2a935c2296f21"),
    ]

    /// The examples that NIST published with FIPS 180.
    private static let sha1 = [
        HashVector(.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        HashVector(.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        HashVector(.sha1, twoBlocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        HashVector(.sha1, million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ]

    private static let sha256 = [
        HashVector(.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        HashVector(.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        HashVector(.sha256, twoBlocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        HashVector(.sha256, million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ]

    private static let sha512 = [
        HashVector(
            .sha512, "",
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"),
        HashVector(
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
        HashVector(
            .sha512, twoLongBlocks,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
                + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"),
        HashVector(
            .sha512, million,
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"),
    ]
}

/// The message of Fixtures/digests and its digests.
enum HashPattern {
    static let bytes: [UInt8] = (0..<12800).map { (index: Int) -> UInt8 in
        UInt8(truncatingIfNeeded: 167 * index + 13 + index / 256)
    }

    /// Lengths of the pattern with the digests that another implementation gave.
    static func digests(_ algorithm: Checksum.Algorithm) throws -> [(length: Int, digest: String)] {
        let file = Fixtures.directory.appendingPathComponent("digests/\(algorithm.rawValue).txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let fields = line.split(separator: " ")
            guard fields.count == 2, let length = Int(fields[0]) else {
                throw CocoaError(.fileReadCorruptFile)
            }
            return (length, String(fields[1]))
        }
    }
}

private enum Fixtures {
    /// The package's `Fixtures`, found from this file's place in `Tests/LannerCoreTests/Checksum`.
    static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures")
}

extension [UInt8] {
    var hexadecimal: String {
        map { String(format: "%02x", $0) }.joined()
    }
}

extension Checksum.Hasher {
    mutating func update(_ bytes: some Collection<UInt8>) {
        Array(bytes).withUnsafeBytes { update($0) }
    }
}
