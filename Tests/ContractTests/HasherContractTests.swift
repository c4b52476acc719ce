import LannerCore
import LannerTesting
import Testing

/// The contract over every hasher there is.
@Suite struct HasherContractTests {
    /// Of RFC 1321, A.5, and FIPS 180-4.
    private static let vectors: [Checksum.Algorithm: [String: String]] = [
        .md5: ["": "d41d8cd98f00b204e9800998ecf8427e", "abc": "900150983cd24fb0d6963f7d28e17f72"],
        .sha1: ["abc": "a9993e364706816aba3e25717850c26c9cd0d89d"],
        .sha256: ["abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
        .sha512: [
            "abc": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ],
    ]

    @Test(arguments: Checksum.Algorithm.allCases)
    func ours(algorithm: Checksum.Algorithm) throws {
        let vectors = try #require(Self.vectors[algorithm])
        let violations = HasherContract.check(vectors: vectors) { algorithm.makeHasher() }
        #expect(violations == [])
    }

    @Test(arguments: Checksum.Algorithm.allCases)
    func objects(algorithm: Checksum.Algorithm) throws {
        let vectors = try #require(Self.vectors[algorithm])
        let violations = HasherContract.check(vectors: vectors) { SharedHasher(algorithm) }
        #expect(violations == [])
    }

    /// Of the whole, of its pieces, and of a file that is there.
    @Test func objectsServeTheLibrary() throws {
        let bench = TestBench(hasherProvider: { SharedHasher($0) })
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let digest = Self.digest(bytes[...])
        let pieces = stride(from: 0, to: bytes.count, by: 100_000).map { Self.digest(bytes[$0..<$0 + 100_000]) }
        bench.transport.serve(.init(bytes), at: "/file")
        let task = try #require(
            bench.manager.download(
                DownloadRequest(
                    "https://example.com/file", checksum: digest,
                    pieces: Checksum.Pieces(length: 100_000, digests: pieces))))
        bench.settle()
        #expect(task.status == .succeeded && task.validation == .correct)
        task.validateFile(code: digest.hexadecimal, type: .sha256) { _ in }
        bench.settle()
        #expect(task.validation == .correct)
    }

    private static func digest(_ bytes: ArraySlice<UInt8>) -> Checksum.Digest {
        let hasher = SharedHasher(.sha256)
        bytes.withUnsafeBytes { hasher.update($0) }
        return Checksum.Digest(algorithm: .sha256, of: hasher)
    }
}

// @unchecked Sendable: used by one thread at a time.
private final class SharedHasher: Checksum.Hasher, @unchecked Sendable {
    private var hasher: any Checksum.Hasher

    init(_ algorithm: Checksum.Algorithm) { hasher = algorithm.makeHasher() }

    func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func digest() -> [UInt8] { hasher.digest() }
}
