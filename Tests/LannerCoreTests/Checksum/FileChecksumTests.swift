import Foundation
import LannerCore
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite("Checksums of files")
final class FileChecksumTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// Sizes around the read buffer's.
    @Test("A file's digest is that of its bytes", arguments: [0, 1, 524_287, 524_288, 524_289, 1_600_000])
    func digest(_ size: Int) throws {
        let content = Sample.bytes(Int64(size))
        let path = try write(content)
        for algorithm in Checksum.Algorithm.allCases {
            #expect(try Checksum.digest(ofFileAt: path, algorithm: algorithm) == Self.digest(of: content, algorithm))
        }
    }

    @Test("A pipe's digest is that of all bytes until its end; the descriptor stays open")
    func descriptor() throws {
        let content = Sample.bytes(900_000)
        let pipe = Pipe()
        DispatchQueue.global().async {
            pipe.fileHandleForWriting.write(Data(content))
            try? pipe.fileHandleForWriting.close()
        }
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        let digest = try Checksum.digest(ofFileDescriptor: descriptor, algorithm: .sha256)
        #expect(try digest == Self.digest(of: content, .sha256))
        #expect(fcntl(descriptor, F_GETFD) >= 0)
    }

    @Test("A descriptor is read from where it stands")
    func descriptorPosition() throws {
        let content = Sample.bytes(1000)
        let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: write(content)))
        try handle.seek(toOffset: 300)
        let digest = try Checksum.digest(ofFileDescriptor: handle.fileDescriptor, algorithm: .md5)
        #expect(try digest == Self.digest(of: Array(content[300...]), .md5))
    }

    @Test("Errors name the path and the reason")
    func errors() throws {
        let missing = directory.appendingPathComponent("missing").path
        let error = #expect(throws: Checksum.ReadError.self) {
            try Checksum.digest(ofFileAt: missing, algorithm: .md5)
        }
        #expect(error?.path == missing)
        #expect(error?.code == ENOENT)
        #expect(error?.description == "\(missing) could not be read: No such file or directory.")
        #expect(error?.localizedDescription == error?.description)
        let folder = #expect(throws: Checksum.ReadError.self) {
            try Checksum.digest(ofFileAt: directory.path, algorithm: .md5)
        }
        #expect(folder?.code == EISDIR)
        let closed = #expect(throws: Checksum.ReadError.self) {
            try Checksum.digest(ofFileDescriptor: -1, algorithm: .md5)
        }
        #expect(closed?.path == "standard input")
        #expect(closed?.code == EBADF)
    }

    @Test("The right file is told to be right", arguments: FileVerificationType.allCases)
    func rightFile(_ type: FileVerificationType) async throws {
        let content = Sample.bytes(10_000)
        let code = try Self.digest(of: content, type).hexadecimal
        let path = try write(content)
        #expect(await validate(path, code, type) == .success(true))
        #expect(await validate(path, code.uppercased() + "\n", type) == .success(true))
    }

    @Test("Another file is a mismatch that repeats the checksum", arguments: FileVerificationType.allCases)
    func otherFile(_ type: FileVerificationType) async throws {
        var content = Sample.bytes(10_000)
        let code = try Self.digest(of: content, type).hexadecimal
        content[9_999] ^= 1
        #expect(await validate(try write(content), code, type) == .failure(.codeMismatch(code: code)))
    }

    @Test("What cannot be compared is told")
    func failures() async throws {
        let path = try write([1, 2, 3])
        let code = String(repeating: "0", count: 32)
        let missing = directory.appendingPathComponent("missing").path
        #expect(await validate(path, "", .md5) == .failure(.codeEmpty))
        #expect(await validate(path, " \n", .md5) == .failure(.codeEmpty))
        #expect(await validate(path, "123", .md5) == .failure(.codeInvalid(.wrongLength(.md5, digits: 3))))
        #expect(await validate(missing, code, .md5) == .failure(.fileDoesnotExist(path: missing)))
        #expect(await validate(directory.path, code, .md5) == .failure(.readDataFailed(path: directory.path)))
    }

    private func validate(
        _ path: String, _ code: String, _ type: FileVerificationType
    ) async -> Result<Bool, FileVerificationError> {
        await withCheckedContinuation { continuation in
            FileChecksumHelper.validateFile(path, code: code, type: type) { continuation.resume(returning: $0) }
        }
    }

    private func write(_ content: [UInt8]) throws -> String {
        let file = directory.appendingPathComponent(UUID().uuidString)
        try Data(content).write(to: file)
        return file.path
    }

    private static func digest(of content: [UInt8], _ algorithm: Checksum.Algorithm) throws -> Checksum.Digest {
        var hasher = algorithm.makeHasher()
        hasher.update(content)
        return try Checksum.Digest(algorithm: algorithm, bytes: hasher.digest())
    }
}
