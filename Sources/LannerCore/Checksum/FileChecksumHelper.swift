import Dispatch
import Foundation

/// The algorithm a file is verified with.
public typealias FileVerificationType = Checksum.Algorithm

/// Why a file is not what its checksum says, or why that cannot be told.
public enum FileVerificationError: Error, Hashable, Sendable {
    /// No checksum was given.
    case codeEmpty
    /// The checksum cannot be one of the algorithm's.
    case codeInvalid(Checksum.ParseError)
    /// The file is another than the one with the given checksum.
    case codeMismatch(code: String)
    /// There is no file.
    case fileDoesnotExist(path: String)
    /// There is something, but it could not be read.
    case readDataFailed(path: String)
}

/// Checks files against checksums: files of the file system, not those that a test has on a disk in memory.
public enum FileChecksumHelper {
    /// Reads a file on a background queue and compares its digest with a checksum.
    ///
    /// Memory use does not depend on the file's size.
    ///
    /// - Parameters:
    ///   - filePath: The file's path.
    ///   - code: The checksum the file should have, in hexadecimal digits of either case.
    ///   - type: The checksum's algorithm.
    ///   - completion: Called once, on the background queue: with success (`true`) for the right file, else with
    ///     ``FileVerificationError/codeMismatch(code:)`` for another one, ``FileVerificationError/codeEmpty`` or
    ///     ``FileVerificationError/codeInvalid(_:)`` for what is no checksum of the algorithm,
    ///     ``FileVerificationError/fileDoesnotExist(path:)``, or ``FileVerificationError/readDataFailed(path:)``.
    public static func validateFile(
        _ filePath: String, code: String, type: FileVerificationType,
        completion: @escaping @Sendable (Result<Bool, FileVerificationError>) -> Void
    ) {
        DispatchQueue.global(qos: .utility).async {
            completion(verdict(filePath, code: code, type: type).map { true })
        }
    }

    private static func verdict(
        _ path: String, code: String, type: FileVerificationType
    ) -> Result<Void, FileVerificationError> {
        do {
            let expected = try expectation(code, type)
            let actual = try read(path, type)
            return actual == expected ? .success(()) : .failure(.codeMismatch(code: code))
        } catch {
            return .failure(error)
        }
    }

    private static func expectation(
        _ code: String, _ type: FileVerificationType
    ) throws(FileVerificationError) -> Checksum.Digest {
        guard !code.allSatisfy(\.isWhitespace) else {
            throw .codeEmpty
        }
        do {
            return try Checksum.Digest(algorithm: type, hexadecimal: code)
        } catch {
            throw .codeInvalid(error)
        }
    }

    private static func read(
        _ path: String, _ type: FileVerificationType
    ) throws(FileVerificationError) -> Checksum.Digest {
        do {
            return try Checksum.digest(ofFileAt: path, algorithm: type)
        } catch {
            throw error.code == ENOENT ? .fileDoesnotExist(path: path) : .readDataFailed(path: path)
        }
    }
}

extension FileVerificationError: LocalizedError, CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch self {
        case .codeEmpty: "No checksum was given to verify the file with."
        case .codeInvalid(let reason): reason.description
        case .codeMismatch(let code): "The file does not have the checksum \(code)."
        case .fileDoesnotExist(let path): "\(path) does not exist."
        case .readDataFailed(let path): "\(path) could not be read."
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
