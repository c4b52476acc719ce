import Foundation
import Lanner
import LannerCurl

/// What `lanner get` downloads with.
enum TransportChoice: String, Sendable, CaseIterable {
    /// libcurl where it can be loaded, else URLSession.
    case auto
    case curl
    case urlsession

    /// Makes the transport. `note` is told why it is another than the first choice. There is only one choice where
    /// authorities are given: URLSession would trust others. Where none are, libcurl trusts those that the environment
    /// names, as of `curl` and of OpenSSL's own programs.
    func make(
        trusting authorities: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment,
        loading curl: (CurlTransport.Options) throws(CurlUnavailable) -> any Transport = Self.loadCurl,
        note: (String) -> Void
    ) throws(CurlUnavailable) -> any Transport {
        let named = ["CURL_CA_BUNDLE", "SSL_CERT_FILE"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let options = CurlTransport.Options(certificateAuthorities: authorities ?? named)
        switch self {
        case .curl: return try curl(options)
        case .urlsession: return DefaultTransport.make()
        case .auto:
            do throws(CurlUnavailable) {
                return try curl(options)
            } catch {
                if authorities != nil { throw error }
                let others = named == nil ? "" : " and trusts the system's authorities"
                note("lanner: goes on with URLSession, which is slower\(others): \(error.description.printable)")
                return DefaultTransport.make()
            }
        }
    }

    private static func loadCurl(_ options: CurlTransport.Options) throws(CurlUnavailable) -> any Transport {
        try CurlTransport(configuration: options)
    }
}

extension TransportChoice {
    /// Reads the option's value.
    static func argument(_ text: String) throws(UsageError) -> TransportChoice {
        guard let choice = TransportChoice(rawValue: text) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("there is no transport \(text.quoted); there are \(names)")
        }
        return choice
    }
}

extension Trouble {
    /// The transport that was asked for by an option is not there.
    init(_ error: CurlUnavailable, for option: String) {
        self.init(
            code: "transport.unavailable", reason: error.description.withoutFullStop,
            advice: "or leave \(option) out", exitCode: .failure)
    }
}
