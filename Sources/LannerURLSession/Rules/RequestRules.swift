import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Turns what a caller asks for into a request URLSession can take without harm, or says why not.
struct RequestRules {
    /// Sent when the request has no `User-Agent`.
    var userAgent: String

    func request(for asked: TransportRequest) throws(TransportFailure) -> URLRequest {
        let url = try Self.url(asked.url)
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        // By the property: on Linux the initializer's argument counts for nothing.
        // Whole and bounded: what is not finite or too large kills the process there, and fractions are cut off.
        request.timeoutInterval = TimeInterval(TransportRules.seconds(asked.timeout))
        request.httpMethod = "GET"
        request.httpShouldHandleCookies = false
        #if canImport(Darwin)
        request.allowsCellularAccess = asked.networkAccess.cellular
        request.allowsExpensiveNetworkAccess = asked.networkAccess.expensive
        request.allowsConstrainedNetworkAccess = asked.networkAccess.constrained
        #endif
        for (name, value) in try fields(asked.fields) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }
}

// MARK: - The URL

extension RequestRules {
    /// The URL as URLSession can take it: scheme in small letters, which is all that Linux knows, a host that every
    /// parser reads as the same one, no fragment, and not so long that libcurl refuses it, which ends the process.
    static func url(_ asked: URL) throws(TransportFailure) -> URL {
        let address = try TransportRules.address(of: asked)
        #if !canImport(Darwin)
        guard !address.host.hasPrefix("[") else {
            throw .unacceptable(
                "URLSession on Linux takes no IPv6 addresses, only host names: \(Destination.redacted(address.text))")
        }
        #endif
        guard let url = address.url else {
            throw .unacceptable("The URL cannot be read: \(Destination.redacted(address.text))")
        }
        return url
    }
}

// MARK: - The header

extension RequestRules {
    /// One line per name: of names that differ in case only, URLSession on Linux sends one at random.
    func fields(_ asked: HeaderFields) throws(TransportFailure) -> [(name: String, value: String)] {
        var lines: [(name: String, value: String)] = []
        for field in asked.fields {
            try TransportRules.check(field)
            // For a proxy alone; URLSession would give it to the server.
            if HeaderFields.same(field.name, "Proxy-Authorization") { continue }
            let value = field.value.trimmingCharacters(in: Self.blank)
            if let index = lines.firstIndex(where: { HeaderFields.same($0.name, field.name) }) {
                lines[index].value += (HeaderFields.same(field.name, "Cookie") ? "; " : ", ") + value
            } else {
                lines.append((field.name, value))
            }
        }
        // Without this, URLSession announces the codings it knows.
        if asked["Accept-Encoding"] == nil { lines.append(("Accept-Encoding", "identity")) }
        if asked["User-Agent"] == nil {
            try TransportRules.check(HeaderFields.Field(name: "User-Agent", value: userAgent))
            lines.append(("User-Agent", userAgent))
        }
        return lines
    }

    private static let blank = CharacterSet(charactersIn: " \t")
}
