import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What URLSession's errors mean.
///
/// On Linux almost every error has the code −1, and −1004 sticks to a transfer whose first address refused and whose
/// second one failed otherwise: there libcurl's own words decide, the code only where they say nothing.
enum FaultTable {
    static func fault(code: Int, text: String) -> TransportFault {
        if codesDecidedByText.contains(code), let fault = fault(text: text) { return fault }
        return fault(code: code)
    }

    private static let codesDecidedByText: Set<Int> = [
        NSURLErrorUnknown, NSURLErrorCannotConnectToHost, NSURLErrorUnsupportedURL, NSURLErrorBadServerResponse,
        NSURLErrorNetworkConnectionLost,
    ]

    /// The first row whose words occur decides.
    static func fault(text: String) -> TransportFault? {
        if proxyRefusal(in: text) != nil { return .unacceptableRequest }
        let text = text.lowercased()
        return texts.first { text.contains($0.words) }?.fault
    }

    static func proxyRefusal(in text: String) -> ProxyRefusal? {
        let text = text.lowercased()
        if strangers.contains(where: text.contains) { return .stranger }
        if text.contains("unsupported proxy scheme") { return .unknown }
        // REP 2: not allowed by the ruleset (RFC 1928, 6).
        if text.contains("socks5 connection to"), text.hasSuffix("(2)") { return .notAllowed }
        guard let status = proxyStatus(in: text), !DownloadFailure.Reason.status(status).isWorthRetrying else {
            return nil
        }
        // Some answer as the server would.
        return [401, 407].contains(status) ? .stranger : .notAllowed
    }

    private static let strangers = ["rejected by the socks5 server", "no authentication method was acceptable"]

    /// What a proxy has answered to CONNECT.
    private static func proxyStatus(in text: String) -> Int? {
        for words in ["connect tunnel failed, response ", "received http code "] {
            if let end = text.range(of: words)?.upperBound { return Int(text[end...].prefix { $0.isNumber }) }
        }
        return nil
    }

    /// Words of libcurl's messages, in small letters. What may occur inside another kind of message comes first: a
    /// connection lost below TLS is reported by the TLS library.
    static let texts: [(words: String, fault: TransportFault)] = [
        // No connection. These name the host, which may be called anything.
        ("network is unreachable", .notConnected),
        ("could not resolve", .cannotFindHost),
        ("couldn't resolve", .cannotFindHost),
        ("from proxy after connect", .cannotConnect),
        ("connect tunnel failed", .cannotConnect),
        ("proxy connect aborted", .cannotConnect),
        ("complete socks", .cannotConnect),
        ("failed to connect", .cannotConnect),
        ("couldn't connect", .cannotConnect),
        ("connection refused", .cannotConnect),
        ("no route to host", .cannotConnect),
        // The connection broke. With TLS, the library that noticed is named in the same message.
        ("connection reset", .connectionLost),
        ("broken pipe", .connectionLost),
        ("unexpected eof", .connectionLost),
        ("ssl_error_syscall", .connectionLost),
        ("non-properly terminated", .connectionLost),
        ("ssl_read", .connectionLost),
        ("ssl_write", .connectionLost),
        ("gnutls recv", .connectionLost),
        ("recv failure", .connectionLost),
        ("send failure", .connectionLost),
        ("failure when receiving", .connectionLost),
        ("failed sending data", .connectionLost),
        ("connection died", .connectionLost),
        ("empty reply", .connectionLost),
        ("returned nothing", .connectionLost),
        // The body is short.
        ("transfer closed with", .connectionLost),
        ("bytes missing", .connectionLost),
        ("partial file", .connectionLost),
        ("not closed cleanly", .connectionLost),
        ("http/2 framing layer", .connectionLost),
        // Nothing came in time.
        ("timed out", .timedOut),
        ("timeout", .timedOut),
        // TLS.
        ("certificate", .secureConnectionFailed),
        ("ssl", .secureConnectionFailed),
        ("tls", .secureConnectionFailed),
        ("handshake", .secureConnectionFailed),
        // Not HTTP, or HTTP that libcurl or Foundation refuses.
        ("http/0.9", .malformedResponse),
        ("unsupported http", .malformedResponse),
        ("weird server reply", .malformedResponse),
        ("invalid status line", .malformedResponse),
        ("content-length", .malformedResponse),
        ("header", .malformedResponse),
        ("chunk", .malformedResponse),
        ("hexadecimal", .malformedResponse),
        ("content encoding", .malformedResponse),
        ("content unencoding", .malformedResponse),
        ("transfer encoding", .malformedResponse),
        ("maximum file size", .malformedResponse),
        // Foundation's parser stops libcurl when it cannot read a header: there is no other writer here.
        ("failed writing", .malformedResponse),
        ("failure writing", .malformedResponse),
        // The URL.
        ("malformed", .unacceptableRequest),
    ]

    static func fault(code: Int) -> TransportFault {
        codes[code] ?? (secureCodes.contains(code) ? .secureConnectionFailed : .other)
    }

    /// Certificates and TLS, −1200 to −1206.
    private static let secureCodes = -1206 ... -1200

    /// Whether Apple's TLS says below an error that the connection has gone, which is none of a certificate:
    /// `errSSLClosedGraceful`, `errSSLClosedAbort`, `errSSLClosedNoNotify`.
    static func isBrokenHandshake(_ error: NSError) -> Bool {
        guard error.code == NSURLErrorSecureConnectionFailed else { return false }
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
        return [error, cause].contains {
            [-9805, -9806, -9816].contains($0?.userInfo["_kCFStreamErrorCodeKey"] as? Int)
        }
    }

    private static let codes: [Int: TransportFault] = [
        // A cancellation nobody asked for: the owner's own is reported before URLSession hears of it.
        NSURLErrorCancelled: .unavailable,
        backgroundSessionDisconnected: .connectionLost,
        NSURLErrorBadURL: .unacceptableRequest,
        NSURLErrorTimedOut: .timedOut,
        NSURLErrorUnsupportedURL: .unacceptableRequest,
        NSURLErrorCannotFindHost: .cannotFindHost,
        NSURLErrorCannotConnectToHost: .cannotConnect,
        NSURLErrorNetworkConnectionLost: .connectionLost,
        NSURLErrorDNSLookupFailed: .cannotFindHost,
        NSURLErrorHTTPTooManyRedirects: .malformedResponse,
        NSURLErrorResourceUnavailable: .other,
        NSURLErrorNotConnectedToInternet: .notConnected,
        NSURLErrorRedirectToNonExistentLocation: .malformedResponse,
        NSURLErrorBadServerResponse: .malformedResponse,
        NSURLErrorUserCancelledAuthentication: .other,
        NSURLErrorUserAuthenticationRequired: .other,
        NSURLErrorZeroByteResource: .malformedResponse,
        NSURLErrorCannotDecodeRawData: .malformedResponse,
        NSURLErrorCannotDecodeContentData: .malformedResponse,
        NSURLErrorCannotParseResponse: .malformedResponse,
        NSURLErrorInternationalRoamingOff: .networkNotAllowed,
        NSURLErrorCallIsActive: .notConnected,
        NSURLErrorDataNotAllowed: .networkNotAllowed,
        NSURLErrorRequestBodyStreamExhausted: .other,
        appTransportSecurity: .unacceptableRequest,
        NSURLErrorFileDoesNotExist: .other,
        NSURLErrorFileIsDirectory: .other,
        NSURLErrorNoPermissionsToReadFile: .other,
        NSURLErrorDataLengthExceedsMaximum: .malformedResponse,
        NSURLErrorCannotLoadFromNetwork: .other,
        NSURLErrorCannotCreateFile: .diskFull,
        NSURLErrorCannotOpenFile: .diskFull,
        NSURLErrorCannotCloseFile: .diskFull,
        NSURLErrorCannotWriteToFile: .diskFull,
        NSURLErrorCannotRemoveFile: .other,
        NSURLErrorCannotMoveFile: .diskFull,
        NSURLErrorDownloadDecodingFailedMidStream: .malformedResponse,
        NSURLErrorDownloadDecodingFailedToComplete: .malformedResponse,
    ]

    /// What the system's own errors mean, with which tasks end as well: an app that was suspended finds its connections
    /// gone, or their descriptors.
    static func fault(posix code: Int) -> TransportFault {
        switch Int32(truncatingIfNeeded: code) {
        case ENOSPC, EDQUOT: .diskFull
        case ECONNABORTED, ECONNRESET, ENETRESET, ENOTCONN, EPIPE, ESHUTDOWN, EBADF: .connectionLost
        case ETIMEDOUT: .timedOut
        case ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN: .cannotConnect
        case ENETDOWN, ENETUNREACH: .notConnected
        default: .other
        }
    }

    /// Whether an error, or what led to it, is that a disk or a quota is full.
    static func isOutOfSpace(_ error: NSError) -> Bool {
        switch error.domain {
        case NSPOSIXErrorDomain where fault(posix: error.code) == .diskFull: return true
        case NSCocoaErrorDomain where error.code == CocoaError.fileWriteOutOfSpace.rawValue: return true
        default:
            guard let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError else { return false }
            return isOutOfSpace(cause)
        }
    }

    /// `NSURLErrorBackgroundSessionWasDisconnected`, which has no name on Linux: what carries out the tasks has died.
    private static let backgroundSessionDisconnected = -997

    /// `NSURLErrorAppTransportSecurityRequiresSecureConnection`, which has no name on Linux.
    private static let appTransportSecurity = -1022
}

extension TransportFailure {
    /// What URLSession said when it ended a task; one that `resumes` was given resume data, and has not been answered.
    init(_ error: any Error, for url: URL?, resumeData: Data? = nil, resumes: Bool = false) {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #if canImport(Darwin)
        let text = error.localizedDescription
        #else
        // What libcurl said; Foundation has a number only.
        let isLate = cause == nil && error.code == NSURLErrorTimedOut
        let text = isLate ? "the request timed out" : cause?.localizedDescription ?? error.localizedDescription
        #endif
        var fault = Self.fault(of: error, text: text)
        // Of a file that could not be written, when more is known than that, or that is gone which was to be gone on with.
        if fault == .diskFull, cause != nil || resumes, !FaultTable.isOutOfSpace(error) { fault = .other }
        let words = FaultTable.proxyRefusal(in: text)?.advised(text) ?? text
        self.init(fault, "\(url?.host ?? "The server"): \(words)", resumeData: resumeData)
    }

    /// The file of a finished download could not be moved to where it is safe.
    init(keeping error: any Error) {
        let text = (error as NSError).localizedDescription
        self.init(
            FaultTable.isOutOfSpace(error as NSError) ? .diskFull : .other,
            "The finished file could not be kept: \(text)")
    }

    /// Somebody has deleted the file of a finished download before anybody took it.
    static let fileGone = TransportFailure(.other, "The finished file is not there any more.")

    private static func fault(of error: NSError, text: String) -> TransportFault {
        #if canImport(Darwin)
        if let error = error as? URLError, error.networkUnavailableReason != nil { return .networkNotAllowed }
        #endif
        switch error.domain {
        case NSURLErrorDomain:
            if FaultTable.isBrokenHandshake(error) { return .connectionLost }
            #if canImport(Darwin)
            // The text is Foundation's, in the user's language.
            return FaultTable.fault(code: error.code)
            #else
            return FaultTable.fault(code: error.code, text: text)
            #endif
        case NSPOSIXErrorDomain: return FaultTable.fault(posix: error.code)
        default: return .other
        }
    }
}
