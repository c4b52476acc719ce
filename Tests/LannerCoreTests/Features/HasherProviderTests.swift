import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Hashers of a user's own, by which files and pieces are compared.
@Suite struct HasherProviderTests {
    private let directory: TemporaryDirectory
    private let transport = ScriptedTransport()
    private let bytes = Sample.bytes(100_000)

    init() throws {
        directory = try TemporaryDirectory()
        transport.serve(.init(bytes), at: "/file")
    }

    private func manager(_ hasherProvider: Checksum.HasherProvider?) -> SessionManager {
        SessionManager(
            "hashers", transport: transport, logger: RecordingLog(),
            cache: Cache("hashers", downloadPath: directory.path), operationQueue: .global(),
            hasherProvider: hasherProvider)
    }

    private func file(_ manager: SessionManager, _ request: DownloadRequest) async throws -> URL {
        defer { manager.invalidate() }
        return try await #require(manager.download(request)).file
    }

    /// What `Backwards` computes.
    private func backwards(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) -> Checksum.Digest {
        var hasher = Backwards(algorithm)
        bytes.withUnsafeBytes { hasher.update($0) }
        return Checksum.Digest(algorithm: algorithm, of: hasher)
    }

    @Test func aFileIsComparedByThem() async throws {
        let request = DownloadRequest("http://a.example/file", checksum: backwards(bytes))
        let file = try await file(manager { Backwards($0) }, request)
        #expect(try Data(contentsOf: file) == Data(bytes))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/Tmp").isEmpty)
    }

    @Test func otherwiseByOurs() async throws {
        let request = DownloadRequest("http://a.example/file", checksum: backwards(bytes))
        await #expect(throws: LannerError.self) { try await file(manager(nil), request) }
    }

    @Test func onABenchToo() throws {
        let bench = TestBench(hasherProvider: { Backwards($0) })
        bench.transport.serve(.init(bytes), at: "/file")
        let right = try #require(bench.manager.download("http://a.example/file", checksum: backwards(bytes)))
        bench.settle()
        #expect(right.status == .succeeded)
    }

    @Test func piecesAreComparedByThem() async throws {
        let digests = stride(from: 0, to: bytes.count, by: 10_000).map {
            backwards(Array(bytes[$0..<($0 + 10_000)]), .sha1)
        }
        let request = DownloadRequest(
            "http://a.example/file", pieces: try Checksum.Pieces(length: 10_000, digests: digests))
        #expect(try await Data(contentsOf: file(manager { Backwards($0) }, request)) == Data(bytes))
    }

    @Test func afterwardsToo() async throws {
        let manager = manager { Backwards($0) }
        defer { manager.invalidate() }
        let task = try #require(manager.download("http://a.example/file"))
        let code = backwards(bytes, .md5).hexadecimal
        await withCheckedContinuation { continuation in
            task.validateFile(code: code, type: .md5, onMainQueue: false) { _ in continuation.resume() }
        }
        #expect(task.validation == .correct)
    }

    private func validate(_ task: DownloadTask, _ code: String, _ type: FileVerificationType) async {
        await withCheckedContinuation { continuation in
            task.validateFile(code: code, type: type, onMainQueue: false) { _ in continuation.resume() }
        }
    }

    /// A comparison takes its time: what another has found meanwhile is newer, and of another file nothing is known.
    @Test(.timeLimit(.minutes(10)), .serialized, arguments: [true, false])
    func whatIsFoundTooLateDoesNotCount(isComparedAgain: Bool) async throws {
        let (begun, continuation) = AsyncStream<Void>.makeStream()
        let end = DispatchSemaphore(value: 0)
        let manager = manager { algorithm in
            Slow(hasher: algorithm.makeHasher()) {
                guard algorithm == .md5 else { return }
                continuation.yield()
                end.wait()
            }
        }
        defer { manager.invalidate() }
        let task = try #require(manager.download("http://a.example/file"))
        let file = try await task.file
        let code = Checksum.Digest(algorithm: .md5, of: Checksum.Algorithm.md5.hasher(of: bytes)).hexadecimal
        async let comparison: Void = validate(task, code, .md5)
        for await _ in begun { break }
        if isComparedAgain {
            await validate(task, "00", .sha256)
            #expect(task.validation == .incorrect)
        } else {
            try FileManager.default.removeItem(at: file)
            transport.script("/file", .hold)
            manager.download("http://a.example/file")
            for await case .status(.running) in task.events { break }
        }
        end.signal()
        await comparison
        #expect(task.validation == (isComparedAgain ? .incorrect : .unknown))
    }

    /// Each of two calls has its turn, and the second one's is over at once, since the first has taken its request.
    @Test(.timeLimit(.minutes(10))) func aTurnForNothingTakesNothingAway() async throws {
        let manager = manager(nil)
        defer { manager.invalidate() }
        let task = try #require(manager.download("http://a.example/file"))
        _ = try await task.file
        let code = Checksum.Digest(algorithm: .md5, of: Checksum.Algorithm.md5.hasher(of: bytes)).hexadecimal
        for _ in 0..<50 {
            await validate(task, "00", .sha256)
            #expect(task.validation == .incorrect)
            async let first: Void = validate(task, code, .md5)
            await validate(task, code, .md5)
            await first
            #expect(task.validation == .correct)
        }
    }

    @Test func aDigestOfAnotherLengthIsNoFiles() async throws {
        let request = DownloadRequest("http://a.example/file", checksum: backwards(bytes))
        await #expect {
            try await file(manager { _ in Short() }, request)
        } throws: {
            "\($0)".contains("of another length")
        }
    }
}

/// Gives the bytes of the digest backwards, so that nobody else computes the same.
private struct Backwards: Checksum.Hasher {
    private var hasher: any Checksum.Hasher

    init(_ algorithm: Checksum.Algorithm) { hasher = algorithm.makeHasher() }
    mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func digest() -> [UInt8] { hasher.digest().reversed() }
}

private struct Short: Checksum.Hasher {
    mutating func update(_ bytes: UnsafeRawBufferPointer) {}
    func digest() -> [UInt8] { [1, 2, 3, 4] }
}

private struct Slow: Checksum.Hasher {
    var hasher: any Checksum.Hasher
    /// Before it tells.
    let pause: @Sendable () -> Void

    mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func digest() -> [UInt8] {
        pause()
        return hasher.digest()
    }
}

extension Checksum.Algorithm {
    fileprivate func hasher(of bytes: [UInt8]) -> any Checksum.Hasher {
        var hasher = makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher
    }
}
