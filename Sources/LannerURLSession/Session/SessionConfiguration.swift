import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionConfiguration {
    #if canImport(Darwin)
    /// A configuration like ``quiet(connectionsPerHost:)`` of a session that the system goes on with, and wakes the app for.
    static func background(_ identifier: String, connectionsPerHost: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.keepNothing()
        configuration.httpMaximumConnectionsPerHost = connectionsPerHost
        // At once, not when it suits the system; and with the app woken for what has come.
        configuration.isDiscretionary = false
        configuration.sessionSendsLaunchEvents = true
        return configuration
    }
    #endif

    /// A configuration that keeps nothing, sends nothing of its own and decides nothing.
    static func quiet(connectionsPerHost: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.keepNothing()
        #if canImport(Darwin)
        configuration.httpMaximumConnectionsPerHost = connectionsPerHost
        #else
        // The gate limits per host. libcurl's own limit counts a proxy as the host of everything behind it, and what
        // waits for it times out: keep it out of reach.
        configuration.httpMaximumConnectionsPerHost = 10_000
        #endif
        return configuration
    }

    private func keepNothing() {
        // Cookies are not the transport's; on Linux certain names in a Set-Cookie also kill the process.
        httpCookieStorage = nil
        httpCookieAcceptPolicy = .never
        httpShouldSetCookies = false
        // No stored answers to requests or challenges, and no files in the user's home.
        urlCache = nil
        requestCachePolicy = .reloadIgnoringLocalCacheData
        urlCredentialStorage = nil
    }
}
