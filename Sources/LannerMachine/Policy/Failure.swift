/// Why one exchange with a server failed, in terms every transport can map its errors to.
public enum TransportFault: String, Sendable, Hashable, CaseIterable {
    /// No answer, or no byte, within the time allowed.
    case timedOut
    /// The connection was reset or closed before the response was complete.
    case connectionLost
    /// The server's address refused or did not take the connection.
    case cannotConnect
    /// The host name has no address, or the resolver did not answer.
    case cannotFindHost
    /// The machine has no network.
    case notConnected
    /// The network that is there is not allowed for this download (cellular, expensive, constrained).
    case networkNotAllowed
    /// TLS failed: certificate, host name, protocol version.
    case secureConnectionFailed
    /// The peer's bytes are not HTTP, or a response this transport refuses for safety.
    case malformedResponse
    /// The response body ended before, or went past, the length that was announced.
    case lengthMismatch
    /// The request cannot be sent: its URL or a header field is not acceptable, or the proxy that it has to go through
    /// refuses it (wants a password, forbids the host).
    case unacceptableRequest
    /// The exchange was canceled by its owner.
    case canceled
    /// The transport was invalidated, or broke down as a whole.
    case unavailable
    /// There was no space for a file that the transport writes itself.
    case diskFull
    /// Anything else.
    case other

    /// One sentence, for a failure that comes without one.
    package var explanation: String {
        switch self {
        case .timedOut: "The server did not answer in time."
        case .connectionLost: "The connection was lost before the answer was complete."
        case .cannotConnect: "The server did not take the connection."
        case .cannotFindHost: "The host was not found."
        case .notConnected: "There is no network."
        case .networkNotAllowed: "The network that is there is not allowed for this download."
        case .secureConnectionFailed: "No secure connection was made with the server."
        case .malformedResponse: "The server's answer is not HTTP, or was refused for safety."
        case .lengthMismatch: "The answer had another length than was announced."
        case .unacceptableRequest: "The request could not be sent as it is."
        case .canceled: "The exchange was canceled."
        case .unavailable: "The transport is not usable any more."
        case .diskFull: "There was no space for the file."
        case .other: "The exchange failed, and the transport does not say why."
        }
    }
}

/// Why the disk refused.
public enum DiskFault: String, Sendable, Hashable, CaseIterable {
    /// ENOSPC, EDQUOT, or too little free space seen before the start.
    case noSpace
    /// EIO and its like: the device failed.
    case inputOutput
    /// EACCES, EPERM, EROFS.
    case notPermitted
    /// ENOENT: a file or directory that must be there is gone.
    case notFound
    /// EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, ELOOP, EBUSY: something else is in the place.
    case inTheWay
    /// EFBIG: larger than the file system can hold.
    case tooLarge
    /// EMFILE, ENFILE: too many open files.
    case tooManyFiles
    /// The directory is in use by another manager or process.
    case locked
    /// Anything else.
    case other
}

/// Why a download failed: a stable reason to switch over, and a sentence with what, where and what to do.
public struct DownloadFailure: Error, Sendable, Hashable {
    /// What a program decides by.
    public enum Reason: Sendable, Hashable {
        /// The exchange failed.
        case transport(TransportFault)
        /// The server answered with a status that is not a file. In `DownloadTask.error` this is
        /// `LannerError.unacceptableStatusCode(code:)`.
        case status(Int)
        /// The server's answer contradicts the request or itself (for example a 206 of another range).
        case unusableResponse
        /// More than 20 redirects in a row, or one to a place that is not http or https.
        case redirect
        /// No link was given where another was needed, or wanted before the start.
        case link
        /// The file's digest is not the expected one.
        case checksumMismatch
        /// The disk refused.
        case disk(DiskFault)
        /// The store could not keep the record.
        case store
    }

    /// The reason.
    public var reason: Reason
    /// One sentence for a person: what failed, where, and what can be done.
    public var detail: String

    /// Makes a failure.
    public init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

extension DownloadFailure: CustomStringConvertible {
    /// The ``detail``.
    public var description: String { detail }
}
