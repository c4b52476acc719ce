import Foundation
import LannerCore

/// How libcurl ended a transfer that did not succeed.
struct TransferEnd: Sendable {
    /// Its `CURLcode`.
    var code: Int32
    /// What it said.
    var text: String
    /// The `errno` of the last address that was tried, or 0.
    var systemError: Int32 = 0
    /// Whether there is a way out by IPv4 or IPv6. Of interest only where there is none to that address.
    var hasRoute = false
    /// Whether the process has as many files open as it may. Of interest only where one of ours could not be read.
    var hasTooManyFiles = false
    /// What a proxy answered to CONNECT, or 0.
    var proxyStatus = 0
    /// Its `CURLproxycode`: what a SOCKS proxy did, or 0.
    var proxyError = 0
    /// Whether the response announced its length.
    var hasLength = false
    /// Whether the connection was there from an earlier request.
    var isReused = false
}

extension TransferEnd {
    /// What that is for the manager.
    var fault: TransportFault {
        switch code {
        case _ where isOfEarlierAnswer: .connectionLost
        case _ where isRefusedByProxy || isProxyUnknown: .unacceptableRequest
        case _ where isTunnelRefused: .cannotConnect
        case 1 where text.hasPrefix("Protocol \""): .unavailable
        case 7 where hasNoRouteToLast && !hasRoute: .notConnected
        case 18: hasLength ? .lengthMismatch : .connectionLost
        case 35: isHandshakeBroken ? .connectionLost : .secureConnectionFailed
        case _ where isForWantOfFiles: .other
        case 43: says(Self.badKeys) ? .secureConnectionFailed : .other
        case 56 where says(Self.badBytes): .malformedResponse
        case 55, 56: says(Self.alerts) ? .secureConnectionFailed : .connectionLost
        case _: Self.faults[code] ?? .other
        }
    }

    /// Whether what came, and is no HTTP, may be left of the answer before: another connection may bring this one's.
    var isOfEarlierAnswer: Bool { isReused && [1, 8].contains(code) }

    /// Whether a proxy would not let the same request through later either, as far as can be told: of one that speaks
    /// HTTP, by what is worth a retry of a server.
    private var isRefusedByProxy: Bool {
        if isTunnelRefused { return !DownloadFailure.Reason.status(proxyStatus).isWorthRetrying }
        return code == 97 && Self.refusals.contains(proxyError)
    }

    /// Whether a proxy that speaks HTTP has refused to connect; libcurl from 8.20 on ends with the first code.
    private var isTunnelRefused: Bool { [7, 56].contains(code) && proxyStatus >= 300 }

    /// Whether a proxy wants to know who asks.
    private var isUnknownToProxy: Bool {
        // Some answer as the server would.
        [401, 407].contains(proxyStatus) || code == 97 && Self.strangers.contains(proxyError)
    }

    /// Whether libcurl does not know what kind of proxy it is given.
    private var isProxyUnknown: Bool { text.hasPrefix("Unsupported proxy scheme") }

    private var proxyRefusal: ProxyRefusal? {
        isUnknownToProxy ? .stranger : isRefusedByProxy ? .notAllowed : isProxyUnknown ? .unknown : nil
    }

    /// Of SOCKS: NO_AUTH, none of our ways to log in; USER_REJECTED.
    private static let strangers: Set<Int> = [12, 33]

    /// And REPLY_NOT_ALLOWED; LONG_HOSTNAME, LONG_PASSWD, LONG_USER.
    private static let refusals = strangers.union([23, 9, 10, 11])

    /// Whether the system knew no way to the last address. That need not be for want of a network: where there is only
    /// IPv4, a host that refuses and has an IPv6 address, too, ends like that.
    var hasNoRouteToLast: Bool {
        code == 7 && [ENETUNREACH, ENETDOWN].contains(systemError)
    }

    /// Whether a file of ours could not be read, or may have been one: `CURLE_SSL_CERTPROBLEM`,
    /// `CURLE_SSL_CACERT_BADFILE`, and `CURLE_SSL_PINNEDPUBKEYNOTMATCH`, which is also that of a key that cannot be read.
    var hasUnreadFile: Bool { [58, 77, 90].contains(code) }

    /// Whether that may pass.
    private var isForWantOfFiles: Bool { hasUnreadFile && hasTooManyFiles }

    /// Whether words tell nothing of how a transfer ended: there are none, or they are what libcurl keeps of a connection that
    /// was dead when it goes on over another. Of that which is set up for TLS they may be, too.
    static func mayBeOfEarlierTry(_ words: String, _ code: Int32) -> Bool {
        words.isEmpty
            || ![35, sendError, 56].contains(code) && ["Send failure", "Recv failure"].contains { words.hasPrefix($0) }
    }

    /// `CURLE_SEND_ERROR`
    static let sendError: Int32 = 55

    /// `CURLE_OUT_OF_MEMORY`
    static let outOfMemory: Int32 = 27

    /// `CURLE_BAD_FUNCTION_ARGUMENT`
    static let badArgument: Int32 = 43

    /// What to tell of it: before 8.6 a line of the header that is too long is no memory to libcurl.
    var words: String {
        // It may cite the server.
        let text = FieldText.printable(Self.withoutUserInfo(text).unicodeScalars)
        if let proxyRefusal { return proxyRefusal.advised(text) }
        if isForWantOfFiles { return "\(text), for the process has too many files open" }
        return code == Self.outOfMemory ? "\(text), or a line of the header is too long" : text
    }

    /// What libcurl says of a proxy's URL, which it sets in quotes, may have its password, which may have anything.
    private static func withoutUserInfo(_ text: String) -> String {
        guard let end = text.lastIndex(of: "@") else { return text }
        let before = text[..<end]
        let url =
            before.firstRange(of: " '").map { before[$0.upperBound...] } ?? before.split(separator: " ").last ?? before
        let scheme = url.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let start = url[scheme.endIndex...].hasPrefix("://") ? url.index(scheme.endIndex, offsetBy: 3) : url.startIndex
        return String(text[..<start] + text[text.index(after: end)...])
    }

    private func says(_ words: [String]) -> Bool {
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }

    /// The words behind the name of a function of OpenSSL are an error of OpenSSL's, or, before 7.87, the system's, in any
    /// language.
    private var isHandshakeBroken: Bool {
        says(Self.brokenHandshakes) || says(["ssl_connect: "]) && !says(["error:", "ssl_error"])
    }

    /// `CURLE_SSL_CONNECT_ERROR` is also a connection that broke below TLS, in the words of OpenSSL and GnuTLS. An error of
    /// OpenSSL that is none is one, too.
    private static let brokenHandshakes = [
        "recv failure", "send failure", "reset by peer", "broken pipe", "connection abort", "timed out", "unreachable",
        "no route to host", "network is down", "ssl_error_syscall", "unexpected eof", "non-properly terminated",
        "error:00000000:",
    ]

    /// From 8.17 on `CURLE_BAD_FUNCTION_ARGUMENT` is also a key of ours that cannot be read.
    private static let badKeys = ["private key"]

    /// `CURLE_RECV_ERROR` is also a chunk that is none, and a header that is too large.
    private static let badBytes = ["chunk", "hexadecimal", "response headers"]

    /// In TLS 1.3 (RFC 8446, 4.4.2.4) a server may refuse our certificate, or miss one, when libcurl has the connection for
    /// made: in the words of OpenSSL, and of GnuTLS.
    private static let alerts = [
        "alert certificate", "alert bad certificate", "alert unsupported certificate", "alert unknown ca",
        "alert access denied", "certificate is required", "certificate is bad",
    ]

    /// The codes an HTTP transfer can end with and that mean one thing. Others are above.
    private static let faults: [Int32: TransportFault] = [
        1: .malformedResponse,  // UNSUPPORTED_PROTOCOL: what came is no HTTP; other schemes are refused before.
        3: .unacceptableRequest,  // URL_MALFORMAT
        5: .cannotFindHost,  // COULDNT_RESOLVE_PROXY
        6: .cannotFindHost,  // COULDNT_RESOLVE_HOST
        7: .cannotConnect,  // COULDNT_CONNECT
        8: .malformedResponse,  // WEIRD_SERVER_REPLY
        28: .timedOut,  // OPERATION_TIMEDOUT
        47: .malformedResponse,  // TOO_MANY_REDIRECTS
        51: .secureConnectionFailed,  // PEER_FAILED_VERIFICATION before 7.62
        52: .connectionLost,  // GOT_NOTHING
        53: .secureConnectionFailed,  // SSL_ENGINE_NOTFOUND
        54: .secureConnectionFailed,  // SSL_ENGINE_SETFAILED
        58: .secureConnectionFailed,  // SSL_CERTPROBLEM: ours
        59: .secureConnectionFailed,  // SSL_CIPHER
        60: .secureConnectionFailed,  // PEER_FAILED_VERIFICATION
        61: .malformedResponse,  // BAD_CONTENT_ENCODING
        63: .malformedResponse,  // FILESIZE_EXCEEDED
        65: .connectionLost,  // SEND_FAIL_REWIND
        66: .secureConnectionFailed,  // SSL_ENGINE_INITFAILED
        77: .secureConnectionFailed,  // SSL_CACERT_BADFILE
        80: .connectionLost,  // SSL_SHUTDOWN_FAILED
        82: .secureConnectionFailed,  // SSL_CRL_BADFILE
        83: .secureConnectionFailed,  // SSL_ISSUER_ERROR
        90: .secureConnectionFailed,  // SSL_PINNEDPUBKEYNOTMATCH
        91: .secureConnectionFailed,  // SSL_INVALIDCERTSTATUS
        97: .cannotConnect,  // PROXY
        98: .secureConnectionFailed,  // SSL_CLIENTCERT: the server wants one
        100: .malformedResponse,  // TOO_LARGE: a header
        101: .secureConnectionFailed,  // ECH_REQUIRED
    ]
}

extension TransportFailure {
    /// After bytes of the body: what follows would be put behind them, and be of another answer. Of no libcurl it is known
    /// that it does so over HTTP/1.1.
    static let askedAgain = TransportFailure(
        .connectionLost, "libcurl has sent the request again in the middle of the body.")
    /// Who has no key cannot be known by it.
    static let unpinned = TransportFailure(
        .secureConnectionFailed, "Servers are to have the pinned public key, and one that is asked over http has none.")
    /// No end that can be trusted.
    static let bytesForgotten = TransportFailure(.connectionLost, "libcurl has forgotten bytes that it held back.")

    /// An end of which libcurl says that it is one.
    static func tooShort(by missing: Int64, _ host: String) -> TransportFailure {
        TransportFailure(.lengthMismatch, "\(host): the body ended \(missing) bytes before its Content-Length.")
    }
}
