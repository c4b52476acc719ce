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
    /// The URL as URLSession can take it: scheme in small letters, which is all that Linux knows, a host that every
    /// parser reads as the same one, no fragment, and not so long that libcurl refuses it, which ends the process.
    static func url(_ asked: URL) throws(TransportFailure) -> URL {
        let address: WebAddress
        do {
            address = try WebAddress(asked.absoluteString)
        } catch {
            throw .unacceptable("The URL \(error.reason): \(Destination.redacted(asked.absoluteString))")
        }
        // It would be sent unasked on Linux, and stored elsewhere.
        guard address.userInfo == nil else {
            throw .unacceptable("Credentials belong into the Authorization field, not into the URL of \(address.host).")
        }
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
        guard FieldText.isToken(field.name) else {
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
