import LannerCore
import LannerCurl
import LannerURLSession

/// The transports that speak to real servers, and behave alike where no more is asked of them than the contract.
enum TransportKind: CaseIterable {
    case urlSession, curl

    /// A transport with its defaults, but for the limit.
    func make(connectionsPerHost: Int? = nil) throws -> any Transport {
        switch self {
        case .urlSession:
            guard let connectionsPerHost else { return URLSessionTransport() }
            return URLSessionTransport(configuration: .init(connectionsPerHost: connectionsPerHost))
        case .curl: return try CurlTransport(configuration: .init(connectionsPerHost: connectionsPerHost))
        }
    }
}
