import Foundation
import Lanner

/// Why a download failed, as it is told.
struct Trouble: Sendable, Equatable {
    /// A word for programs, the same in every version: "status.404", "transport.timedOut".
    var code: String
    /// For people: why, in one line.
    var reason: String
    /// What they can do; nil where the reason says it already.
    var advice: String?
    var exitCode: ExitCode

    /// The reason and the advice.
    var detail: String { reason + (advice.map { "; " + $0 } ?? "") }
}

extension Trouble {
    /// What is to be done depends on how many bytes are held, and whether the same command goes on with them.
    init(_ error: any Error, held: Int64 = 0, goesOn: Bool = true, from other: OtherServer? = nil) {
        switch error as? LannerError {
        case .unacceptableStatusCode(let status):
            self.init(.status(status), "\(other?.name ?? "the server") answered with status \(status)", "")
            if let other, advice != Self.laterAdvice { advice = other.advice }
            if held > 0, goesOn, [401, 403, 404, 410].contains(status) { advice = Self.mirrorAdvice(advice) }
        case .failed(let failure):
            let end = held == 0 ? "" : goesOn ? " to go on" : " to begin anew"
            self.init(failure.reason, failure.detail.inWordsOfCommands, "run the same command again" + end)
        case .storeError(let error): self.init(error)
        case .cacheError(_, let message):
            self.init(code: "disk.other", sentence: message.inWordsOfCommands, exitCode: .disk)
        case .duplicateKey, .noTask, .invalidDestination, .destinationNotAllowed, .destinationTaken,
            .invalidURL, .duplicateURL, .indexOutOfRange, .fetchDownloadTaskFailed, .headersMatchFailed,
            .fileNamesMatchFailed, .codesMatchFailed, .invalidFileName, .fileNameIsFixed, .notFinished, .invalidated,
            nil:
            self.init(code: "other", reason: "\(error)".oneLine, exitCode: .failure)
        }
    }

    private init(_ reason: DownloadFailure.Reason, _ detail: String, _ again: String) {
        // What the library calls a setting is an option here.
        if reason == .checksumMismatch, let end = detail.range(of: " that the server gives;")?.lowerBound {
            self.init(
                code: reason.code, reason: detail[..<end].description.oneLine + " that the server gives",
                advice: "download again, or leave such digests out by --no-server-digests", exitCode: reason.exitCode)
            return
        }
        if let special = Self.advice(of: reason, detail) {
            self.init(code: reason.code, reason: detail.oneLine, advice: special, exitCode: reason.exitCode)
            return
        }
        self.init(code: reason.code, sentence: detail, exitCode: reason.exitCode)
        advice = advice ?? reason.advice(again)
    }

    fileprivate static let laterAdvice = "try again later"

    /// A link that has run out may have a successor.
    private static func mirrorAdvice(_ advice: String?) -> String {
        (advice.map { $0 + "; " } ?? "") + "what has come is kept; by --mirror it may go on from "
            + "another URL, of the same ETag or with a --checksum"
    }

    /// What there is to do about a secure connection, by the words of libcurl, OpenSSL and GnuTLS.
    private static func advice(of reason: DownloadFailure.Reason, _ detail: String) -> String? {
        guard reason == .transport(.secureConnectionFailed) else { return nil }
        let detail = detail.lowercased()
        return secureAdvices.first { $0.words.contains(where: detail.contains) }?.advice
    }

    private static let secureAdvices: [(words: [String], advice: String)] = [
        (
            ["wrong version number", "packet length too long", "unexpected tls packet"],
            "the server seems to speak no TLS there: try http://, or check the port"
        ),
        (
            ["no alternative certificate subject name", "does not match target host"],
            "check the host in the URL: the certificate is for another"
        ),
        (
            ["error setting certificate verify", "error adding trust anchors", "error setting certificate file"],
            "check the file of certificates: --ca-certificate, or else CURL_CA_BUNDLE or SSL_CERT_FILE"
        ),
    ]

    private init(_ error: StoreError) {
        let (code, exitCode): (String, ExitCode) =
            switch error.reason {
            case .inUse: ("store.inUse", .failure)
            case .unknownVersion: ("store.unknownVersion", .disk)
            case .disk(let fault): ("disk." + fault.rawValue, .disk)
            case .closed: ("store.closed", .failure)
            }
        self.init(code: code, sentence: error.message.inWordsOfCommands, exitCode: exitCode)
        if error.reason == .disk(.notPermitted) { advice = "change its permissions, or remove it to begin anew" }
    }

    /// A sentence of the library's, which may say behind its last semicolon what to do.
    private init(code: String, sentence: String, exitCode: ExitCode) {
        let semicolon = sentence.range(of: "; ", options: .backwards)
        self.init(
            code: code, reason: sentence[..<(semicolon?.lowerBound ?? sentence.endIndex)].description.oneLine,
            advice: semicolon.map { sentence[$0.upperBound...].description.oneLine }, exitCode: exitCode)
    }
}

/// Who may have answered that is not the server of the URL: header fields do not go there.
struct OtherServer {
    let name: String
    let advice: String

    /// Nil when it is nobody else: there are no mirrors, and the last request went to the origin of the URL.
    init?(of item: GetPlan.Item, at url: URL) {
        guard item.mirrors.isEmpty else {
            (name, advice) = ("one of the servers", "check the URL and the mirrors")
            return
        }
        guard let asked = try? WebAddress(item.url.absoluteString), let led = try? WebAddress(url.absoluteString),
            led.origin != asked.origin
        else { return nil }
        name = led.host + (led.port.map { ":\($0)" } ?? "") + ", where it leads,"
        advice = "check the URL"
    }
}

extension DownloadFailure.Reason {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .transport(.diskFull), .disk, .store: .disk
        case .checksumMismatch: .mismatch
        case .transport, .status, .unusableResponse, .redirect, .link: .failure
        }
    }

    fileprivate func advice(_ again: String) -> String? {
        switch self {
        case .status(301), .status(302), .status(303), .status(307), .status(308):
            "it leads elsewhere without saying where; ask whoever runs the server"
        case .status(401): "give credentials, or other ones, by --header 'Authorization: …'; Digest is not supported"
        case .status(403): "check the URL, and whether it needs credentials"
        case .status(404), .status(410): "check the URL"
        case .status(407):
            "give the proxy's user name and password, or other ones, in its URL: http_proxy=http://USER:PASSWORD@HOST"
        case .status(511): "log in to the network first"
        case .status where isWorthRetrying: Trouble.laterAdvice
        case .status: "check the URL and the header fields"
        case .transport(let fault): fault.advice(again)
        case .unusableResponse: "ask whoever runs the server"
        case .redirect: "check the URL"
        case .checksumMismatch: "check the checksum, or download again"
        case .link, .disk, .store: nil
        }
    }
}

extension TransportFault {
    fileprivate func advice(_ again: String) -> String? {
        switch self {
        case .timedOut: again + ", or allow more by --timeout"
        case .connectionLost, .lengthMismatch, .other: again
        case .cannotConnect: "check the address, the proxy if there is one, and that the server runs"
        case .cannotFindHost: "check the network, the name of the host, and of the proxy if there is one"
        case .notConnected, .networkNotAllowed: "connect to a network and run the same command again"
        case .secureConnectionFailed:
            "check the server's certificate, or trust its authority by --transport curl --ca-certificate"
        case .malformedResponse: "check that the URL is one of an HTTP server"
        case .unacceptableRequest: "check the URL and the header fields"
        case .diskFull: "free some space and run the same command again"
        case .canceled, .unavailable: nil
        }
    }
}

extension String {
    /// What a program does with a task its user does by a command: that is behind the last semicolon.
    fileprivate var inWordsOfCommands: String {
        guard let semicolon = range(of: "; ", options: .backwards)?.upperBound else { return self }
        let advice = self[semicolon...].replacingOccurrences(of: "start again", with: "run the same command again")
            .replacingOccurrences(of: "remove the download", with: Self.removal)
            .replacingOccurrences(of: "another downloadPath for the cache", with: "another directory by -d")
            .replacingOccurrences(of: "put downloadPath on another", with: "choose a directory on another by -d")
        return self[..<semicolon] + advice
    }

    private static let removal = "remove .lanner beside the file, with all that is unfinished there,"

    fileprivate var oneLine: String { printable.withoutFullStop }
}
