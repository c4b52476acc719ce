import Foundation
import LannerCore
import Testing

@testable import LannerURLSession

struct FaultTableTests {
    @Test(arguments: [
        // The body is short, the connection gone.
        ("transfer closed with 45 bytes remaining to read", TransportFault.connectionLost),
        ("transfer closed with outstanding read data remaining", .connectionLost),
        ("end of response with 12 bytes missing", .connectionLost),
        ("Recv failure: Connection reset by peer", .connectionLost),
        ("Send failure: Broken pipe", .connectionLost),
        ("Empty reply from server", .connectionLost),
        ("HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", .connectionLost),
        ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", .connectionLost),
        ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to host:443", .connectionLost),
        ("OpenSSL SSL_connect: Connection reset by peer in connection to host:443", .connectionLost),
        ("GnuTLS recv error (-110): The TLS connection was non-properly terminated.", .connectionLost),
        // TLS.
        ("SSL certificate problem: self-signed certificate", .secureConnectionFailed),
        ("SSL certificate problem: certificate has expired", .secureConnectionFailed),
        ("SSL: no alternative certificate subject name matches target host name 'a'", .secureConnectionFailed),
        ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed),
        ("TLS connect error: error:0A000438:SSL routines::tlsv1 alert internal error", .secureConnectionFailed),
        ("gnutls_handshake() failed: The TLS handshake was refused", .secureConnectionFailed),
        // Not HTTP.
        ("Received HTTP/0.9 when not allowed", .malformedResponse),
        ("Illegal or missing hexadecimal sequence in chunked-encoding", .malformedResponse),
        ("Invalid Content-Length: value", .malformedResponse),
        ("Header without colon", .malformedResponse),
        ("Failed writing header", .malformedResponse),
        ("Too large response headers: 307221 > 307200", .malformedResponse),
        ("Error while processing content unencoding: incorrect header check", .malformedResponse),
        ("Unrecognized content encoding type. libcurl understands deflate, gzip", .malformedResponse),
        // No connection.
        ("Failed to connect to a port 1 after 0 ms: Couldn't connect to server", .cannotConnect),
        // Of a proxy.
        ("Received HTTP code 407 from proxy after CONNECT", .unacceptableRequest),
        ("CONNECT tunnel failed, response 403", .unacceptableRequest),
        ("CONNECT tunnel failed, response 503", .cannotConnect),
        ("User was rejected by the SOCKS5 server (1 1).", .unacceptableRequest),
        ("No authentication method was acceptable.", .unacceptableRequest),
        ("Can't complete SOCKS5 connection to a. (2)", .unacceptableRequest),
        ("Can't complete SOCKS5 connection to a. (4)", .cannotConnect),
        ("Unsupported proxy scheme for 'foo://127.0.0.1'", .unacceptableRequest),
        ("Could not resolve proxy: nowhere", .cannotFindHost),
        ("Failed to connect to a port 1 after 0 ms: Network is unreachable", .notConnected),
        ("Connection timed out after 1001 milliseconds", .timedOut),
    ])
    func wordsDecide(text: String, fault: TransportFault) {
        #expect(FaultTable.fault(code: NSURLErrorUnknown, text: text) == fault)
    }

    @Test(arguments: [
        (NSURLErrorUnknown, TransportFault.other), (NSURLErrorCancelled, .unavailable), (-997, .connectionLost),
        (NSURLErrorBadURL, .unacceptableRequest), (NSURLErrorTimedOut, .timedOut),
        (NSURLErrorUnsupportedURL, .unacceptableRequest), (NSURLErrorCannotFindHost, .cannotFindHost),
        (NSURLErrorCannotConnectToHost, .cannotConnect), (NSURLErrorNetworkConnectionLost, .connectionLost),
        (NSURLErrorHTTPTooManyRedirects, .malformedResponse), (NSURLErrorNotConnectedToInternet, .notConnected),
        (NSURLErrorBadServerResponse, .malformedResponse), (NSURLErrorDataNotAllowed, .networkNotAllowed),
        (NSURLErrorSecureConnectionFailed, .secureConnectionFailed),
        (NSURLErrorServerCertificateUntrusted, .secureConnectionFailed), (-1206, .secureConnectionFailed),
        (NSURLErrorCannotWriteToFile, .diskFull), (-98765, .other), (Int.min, .other),
    ])
    func codesDecideWhereWordsSayNothing(code: Int, fault: TransportFault) {
        #expect(FaultTable.fault(code: code, text: "") == fault)
    }

    @Test func aCodeThatStuckToAnotherErrorGivesWay() {
        let text = "transfer closed with 45 bytes remaining to read"
        #expect(FaultTable.fault(code: NSURLErrorCannotConnectToHost, text: text) == .connectionLost)
    }

    @Test func aCodeThatIsCertainDoesNotGiveWay() {
        #expect(FaultTable.fault(code: NSURLErrorTimedOut, text: "SSL connection reset") == .timedOut)
    }

    @Test func theInnermostWordsAreTaken() throws {
        let cause = NSError(
            domain: NSURLErrorDomain, code: -1, userInfo: [NSLocalizedDescriptionKey: "Recv failure: Broken pipe"])
        let error = NSError(domain: NSURLErrorDomain, code: -1, userInfo: [NSUnderlyingErrorKey: cause])
        let failure = TransportFailure(error, for: URL(string: "http://host/"))
        #expect(failure.fault == .connectionLost)
        #expect(failure.message == "host: Recv failure: Broken pipe")
        #expect(TransportFailure(NSError(domain: "elsewhere", code: 1), for: nil).fault == .other)
    }

    /// Tasks end with errors of the system as well.
    @Test(
        arguments: [
            (ENOSPC, .diskFull), (EDQUOT, .diskFull), (ECONNABORTED, .connectionLost), (EBADF, .connectionLost),
            (ETIMEDOUT, .timedOut), (ECONNREFUSED, .cannotConnect), (ENETDOWN, .notConnected), (EACCES, .other),
        ] as [(Int32, TransportFault)])
    func theSystemsErrorsHaveTheirFaults(code: Int32, fault: TransportFault) {
        let error = NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        #expect(TransportFailure(error, for: nil).fault == fault)
        #expect(TransportFailure(error, for: nil, resumes: true).fault == fault)
    }

    /// Apple's TLS has the same code for a peer that has gone and for one that is not to be trusted.
    @Test(
        arguments: [
            (-9805, TransportFault.connectionLost), (-9806, .connectionLost), (-9816, .connectionLost),
            (-9824, .secureConnectionFailed),
        ], [true, false])
    func aHandshakeThatBreaksOffIsALostConnection(_ expected: (code: Int, fault: TransportFault), isBelow: Bool) {
        let stream: [String: Any] = ["_kCFStreamErrorCodeKey": expected.code]
        let cause = NSError(domain: "kCFErrorDomainCFNetwork", code: -1200, userInfo: stream)
        let userInfo = isBelow ? [NSUnderlyingErrorKey: cause] : stream
        let error = NSError(domain: NSURLErrorDomain, code: NSURLErrorSecureConnectionFailed, userInfo: userInfo)
        #expect(TransportFailure(error, for: nil).fault == expected.fault)
    }

    private static let full = NSError(domain: NSPOSIXErrorDomain, code: Int(ENOSPC))
    private static let refused = NSError(domain: NSPOSIXErrorDomain, code: Int(EACCES))

    private static func error(_ domain: String, _ code: Int, _ cause: NSError? = nil) -> NSError {
        NSError(domain: domain, code: code, userInfo: cause.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }

    @Test func aFailedMoveSaysWhy() {
        #expect(TransportFailure(keeping: Self.full).fault == .diskFull)
        #expect(TransportFailure(keeping: Self.error(NSCocoaErrorDomain, 640)).fault == .diskFull)
        #expect(TransportFailure(keeping: Self.error(NSCocoaErrorDomain, 512, Self.full)).fault == .diskFull)
        #expect(TransportFailure(keeping: Self.refused).fault == .other)
        #expect(TransportFailure(keeping: Self.error(NSCocoaErrorDomain, 513, Self.refused)).fault == .other)
        #expect(TransportFailure(keeping: Self.error(NSCocoaErrorDomain, 516)).fault == .other)
    }

    @Test func aFileThatCouldNotBeWrittenSaysWhyWhereThatIsKnown() {
        func fault(_ cause: NSError?) -> TransportFault {
            TransportFailure(Self.error(NSURLErrorDomain, NSURLErrorCannotMoveFile, cause), for: nil).fault
        }
        #expect(fault(nil) == .diskFull)
        #expect(fault(Self.full) == .diskFull)
        #expect(fault(Self.refused) == .other)
    }

    @Test func aFullDiskIsOneForResumeDataToo() {
        let error = Self.error(NSURLErrorDomain, NSURLErrorCannotOpenFile, Self.full)
        #expect(TransportFailure(error, for: nil, resumes: true).fault == .diskFull)
    }
}
