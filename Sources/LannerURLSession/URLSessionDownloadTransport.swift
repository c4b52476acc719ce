import Foundation
import LannerCore

/// Carries out exchanges with URLSession's download tasks. The default on macOS and in app extensions.
///
/// The body is handed over as a file, with progress on the way, and a canceled or broken exchange leaves resume data,
/// where the server allows it, that a later ``TransportRequest/resumeData`` takes. A canceled one ends once the system
/// has made them.
///
/// ### On Linux
/// It compiles and fetches whole files, and is unfit for more: there is no progress and no resume data, requests that
/// carry some fail, every 16 KiB open and close the file anew, a full disk ends the process, and what is stopped leaves its
/// bytes among the system's temporary files. Nothing uses it there by default.
public final class URLSessionDownloadTransport: Transport {
    /// Whole files, and resume data.
    public let traits = TransportTraits(delivery: .file, hasResumeData: true)

    private let rules: RequestRules
    private let control: SessionControl

    /// Makes a transport for the time the process runs.
    public init(configuration: URLSessionTransport.Options = URLSessionTransport.Options()) {
        rules = RequestRules(userAgent: configuration.userAgent)
        control = SessionControl(relay: DownloadRelay(), connectionsPerHost: configuration.connectionsPerHost)
    }

    deinit {
        control.invalidate()
    }

    /// Begins one GET; see ``Transport/begin(_:receive:)``. With resume data the request's fields are those of the
    /// exchange it comes from.
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        do {
            let exchange = DownloadExchange(
                try rules.request(for: request), resumeData: request.resumeData, control: control, receive: receive)
            control.begin(exchange)
            return exchange
        } catch {
            return RefusedExchange(error, receive: receive)
        }
    }

    /// Ends every exchange with ``TransportFault/unavailable``, with resume data where there is some.
    public func invalidate() {
        control.invalidate()
    }
}
