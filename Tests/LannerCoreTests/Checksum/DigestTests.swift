import Foundation
import LannerCore
import Testing

@Suite("Digest values and algorithm names")
struct DigestTests {
    private let hexadecimal = "900150983cd24fb0d6963f7d28e17f72"

    @Test(
        "Names are read in the usual spellings",
        arguments: [
            ("md5", "MD-5", .md5), ("sha1", "SHA-1", .sha1), ("sha256", "SHA-256", .sha256),
            ("sha512", "SHA-512", .sha512),
        ] as [(String, String, Checksum.Algorithm)])
    func names(_ plain: String, _ hyphenated: String, _ algorithm: Checksum.Algorithm) {
        for name in [plain, hyphenated, plain.uppercased(), hyphenated.lowercased()] {
            #expect(Checksum.Algorithm(name: name) == algorithm, "\(name)")
        }
    }

    @Test(
        "Other names are refused",
        arguments: ["", "sha", "sha2", "s-ha1", "sha--1", "sha-", "sha-25-6", "crc32", "sha256 "])
    func otherNames(_ name: String) {
        #expect(Checksum.Algorithm(name: name) == nil)
    }

    @Test("Digits are read in either case, with white space around them")
    func reads() throws {
        let lower = try Checksum.Digest(algorithm: .md5, hexadecimal: hexadecimal)
        let upper = try Checksum.Digest(algorithm: .md5, hexadecimal: "\t " + hexadecimal.uppercased() + " \r\n")
        #expect(lower == upper)
        #expect(lower.bytes.prefix(4) == [0x90, 0x01, 0x50, 0x98])
        #expect(upper.hexadecimal == hexadecimal)
    }

    @Test("What is written is read back", arguments: Checksum.Algorithm.allCases)
    func roundTrip(_ algorithm: Checksum.Algorithm) throws {
        let digest = try Checksum.Digest(algorithm: algorithm, bytes: algorithm.makeHasher().digest())
        #expect(digest.description.hasPrefix(algorithm.rawValue + ":"))
        #expect(try Checksum.Digest(parsing: digest.description) == digest)
        let encoded = try JSONEncoder().encode([digest])
        #expect(String(decoding: encoded, as: UTF8.self) == "[\"\(digest)\"]")
        #expect(try JSONDecoder().decode([Checksum.Digest].self, from: encoded) == [digest])
    }

    @Test("Both parts may have white space around them")
    func looseParts() throws {
        let digest = try Checksum.Digest(parsing: " MD5 : \(hexadecimal) ")
        #expect(digest.description == "md5:" + hexadecimal)
    }

    @Test("A wrong length is told with both lengths", arguments: [0, 1, 31, 33, 40, 64])
    func wrongLength(_ count: Int) {
        let error = #expect(throws: Checksum.ParseError.self) {
            try Checksum.Digest(algorithm: .md5, hexadecimal: String(repeating: "a", count: count))
        }
        #expect(error == .wrongLength(.md5, digits: count))
        #expect(error?.description == "A md5 checksum has 32 hexadecimal digits, this one \(count).")
    }

    @Test("Bytes of a wrong length are refused")
    func wrongByteCount() {
        #expect(throws: Checksum.ParseError.wrongLength(.sha1, digits: 38)) {
            try Checksum.Digest(algorithm: .sha1, bytes: [UInt8](repeating: 0, count: 19))
        }
    }

    @Test("The first bad character is told", arguments: ["g", "-", " ", "\u{FF11}", "é", "🦅", "\u{0}"] as [Character])
    func badCharacter(_ character: Character) {
        #expect(throws: Checksum.ParseError.badCharacter(character)) {
            try Checksum.Digest(algorithm: .md5, hexadecimal: "90" + String(character) + hexadecimal.dropFirst(3))
        }
    }

    @Test("A missing and an unknown algorithm are told")
    func badAlgorithm() {
        #expect(throws: Checksum.ParseError.missingAlgorithm(hexadecimal)) {
            try Checksum.Digest(parsing: hexadecimal)
        }
        #expect(throws: Checksum.ParseError.unknownAlgorithm("crc32")) {
            try Checksum.Digest(parsing: "crc32:00000000")
        }
        #expect(throws: Checksum.ParseError.wrongLength(.md5, digits: 0)) {
            try Checksum.Digest(parsing: "md5:")
        }
    }

    @Test("An error is one sentence, also as a localized description")
    func errorText() {
        let error: any Error = Checksum.ParseError.badCharacter("\n")
        #expect("\(error)" == "A checksum consists of hexadecimal digits, this one contains \"\\n\".")
        #expect(error.localizedDescription == "\(error)")
        let unknown = Checksum.ParseError.unknownAlgorithm("crc32")
        #expect(unknown.description == "\"crc32\" is not a known checksum algorithm; md5, sha1, sha256, sha512 are.")
    }
}
