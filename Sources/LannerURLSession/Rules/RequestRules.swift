import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Turns what a caller asks for into a request URLSession can take without harm, or says why not.
struct RequestRules {
    /// Sent when the request has no `User-Agent`.
    var userAgent: String

    /// Longer ones are refused: no server takes them, and libcurl's refusal ends the process.
    static let longestURL = 65_536

    func request(for asked: TransportRequest) throws(TransportFailure) -> URLRequest {
        let url = try Self.url(asked.url)
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        // By the property: on Linux the initializer's argument counts for nothing.
        request.timeoutInterval = Self.seconds(asked.timeout)
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

    /// Whole seconds, from one to a day, rounded up: what is not finite or too large kills the process on Linux,
    /// and fractions are cut off there.
    static func seconds(_ timeout: Duration) -> TimeInterval {
        let (seconds, attoseconds) = timeout.components
        return TimeInterval(min(max(attoseconds > 0 ? seconds.addingOne : seconds, 1), 86_400))
    }
}

// MARK: - The URL

extension RequestRules {
    /// The URL as URLSession wants it: absolute, scheme in small letters, no fragment.
    static func url(_ asked: URL) throws(TransportFailure) -> URL {
        let url = asked.absoluteURL
        guard url.absoluteString.utf8.count <= longestURL else {
            throw .unacceptable("The URL is longer than \(longestURL) bytes.")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .unacceptable("Only http and https URLs can be fetched: \(url.absoluteString)")
        }
        try checkHost(url)
        // Linux knows schemes in small letters only. Anything else stays byte for byte as it was given.
        guard url.scheme != scheme || url.fragment != nil else { return url }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.scheme = scheme
        components?.fragment = nil
        guard let plain = components?.url else {
            throw .unacceptable("The URL cannot be read: \(url.absoluteString)")
        }
        return plain
    }

    private static func checkHost(_ url: URL) throws(TransportFailure) {
        guard let host = url.host, !host.isEmpty else {
            throw .unacceptable("The URL has no host: \(url.absoluteString)")
        }
        #if !canImport(Darwin)
        guard !host.contains(":") else {
            throw .unacceptable(
                "URLSession on Linux cannot fetch from an IPv6 address; use a host name: \(url.absoluteString)")
        }
        #endif
        guard host.unicodeScalars.allSatisfy(mayBeInHost) else {
            throw .unacceptable("The URL's host holds characters that no host name has: \(url.absoluteString)")
        }
        if let port = url.port, !(0...65_535).contains(port) {
            throw .unacceptable("The URL's port is not between 0 and 65535: \(url.absoluteString)")
        }
    }

    /// A host that Foundation and libcurl read differently must not get as far as either.
    private static func mayBeInHost(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x20 && scalar.value != 0x7f && !"\"#%/<>?@\\^`{|}".unicodeScalars.contains(scalar)
    }
}

// MARK: - The header

extension RequestRules {
    /// Fields that belong to the connection and not to the caller: URLSession sends them as they are given, and a
    /// request that contradicts its own framing is how requests are smuggled. `TE` would also invite trailers, which
    /// kill the process on Linux.
    static let refusedFields = [
        "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
        "Transfer-Encoding", "Upgrade",
    ]

    /// One line per name: of names that differ in case only, URLSession on Linux sends one at random.
    func fields(_ asked: HeaderFields) throws(TransportFailure) -> [(name: String, value: String)] {
        var lines: [(name: String, value: String)] = []
        for field in asked.fields {
            try Self.check(field)
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
            try Self.check(HeaderFields.Field(name: "User-Agent", value: userAgent))
            lines.append(("User-Agent", userAgent))
        }
        return lines
    }

    private static let blank = CharacterSet(charactersIn: " \t")

    private static func check(_ field: HeaderFields.Field) throws(TransportFailure) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(isTokenByte) else {
            throw .unacceptable(
                "A header field's name holds characters that none may have: \(field.name.debugDescription)")
        }
        guard !refusedFields.contains(where: { HeaderFields.same($0, field.name) }) else {
            throw .unacceptable("The header field \(field.name) is the connection's and cannot be set.")
        }
        // A line break would start another field, NUL would end the value (RFC 9110, 5.5).
        guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw .unacceptable("The header field \(field.name) holds a line break or another control character.")
        }
    }

    /// RFC 9110, 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension TransportFailure {
    fileprivate static func unacceptable(_ message: String) -> TransportFailure {
        TransportFailure(.unacceptableRequest, message)
    }
}

extension Int64 {
    fileprivate var addingOne: Int64 {
        self == .max ? self : self + 1
    }
}
