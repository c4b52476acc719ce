import Foundation
import LannerMachine

extension FileError: CustomStringConvertible {
    /// One sentence: what was done, to which path, and the platform's words for why it failed.
    package var description: String {
        "\(phrase) \(path)\(target.map { " to \($0)" } ?? ""): \(code == 0 ? fault.words : Self.words(for: code))"
    }

    /// An error with the platform's `errno`, which decides the class.
    package init(operation: String, path: String, target: String? = nil, code: Int32) {
        self.init(fault: DiskFault(errno: code), operation: operation, path: path, target: target, code: code)
    }

    /// A rename between two file systems.
    package static func acrossDevices(_ path: String, to target: String) -> FileError {
        FileError(operation: "rename", path: path, target: target, code: EXDEV)
    }

    /// Whether a rename failed because its two ends are on two file systems.
    package var isAcrossDevices: Bool { code == EXDEV }

    /// Whether the file system has no locks to give.
    package var isWantOfLocks: Bool {
        operation == "lock" && [ENOSYS, ENOLCK, ENOTSUP, EOPNOTSUPP].contains(code)
    }

    private var phrase: String {
        switch operation {
        case "write": "write to"
        case "read": "read from"
        default: operation
        }
    }

    /// What the platform says of an `errno`; safe on any thread, as `strerror` is not.
    package static func words(for code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "error \(code)" }
            start.initialize(repeating: 0, count: buffer.count)
            _ = strerror_r(code, start, buffer.count)
            return String(cString: start)
        }
    }
}

extension DiskFault {
    /// The class of an `errno`.
    package init(errno code: Int32) {
        switch code {
        case ENOSPC, EDQUOT: self = .noSpace
        // ENOTCONN: the process that serves the file system has ended, as one of FUSE may.
        case EIO, ENXIO, ENODEV, ENOTCONN, ESTALE, EBADMSG: self = .inputOutput
        #if os(Linux)
        // What the file system itself has found damaged.
        case EUCLEAN: self = .inputOutput
        #endif
        case EACCES, EPERM, EROFS: self = .notPermitted
        case ENOENT: self = .notFound
        // ELOOP: a symbolic link where a file is expected. EBUSY: another file is mounted on it.
        case EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ELOOP, EBUSY: self = .inTheWay
        case EFBIG: self = .tooLarge
        case EMFILE, ENFILE: self = .tooManyFiles
        case EWOULDBLOCK: self = .locked
        default: self = .other
        }
    }

    /// For failures that come without an `errno`.
    fileprivate var words: String {
        switch self {
        case .noSpace: "no space left"
        case .inputOutput: "the device failed"
        case .notPermitted: "not permitted"
        case .notFound: "not there"
        case .inTheWay: "something else is in the place"
        case .tooLarge: "too large for the file system"
        case .tooManyFiles: "too many open files"
        case .locked: "in use"
        case .other: "it is not as it was left; something else may have changed it"
        }
    }
}

/// Makes a system call, again when a signal interrupted it, and turns its -1 into an error.
@discardableResult
func systemCall<Value: SignedInteger>(
    _ operation: String, _ path: String, to target: String? = nil, _ call: () -> Value
) throws(FileError) -> Value {
    while true {
        let result = call()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw FileError(operation: operation, path: path, target: target, code: code) }
    }
}
