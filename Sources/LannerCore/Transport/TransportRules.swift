import Foundation
import LannerMachine

/// What every transport that speaks HTTP itself refuses to send, whoever asks for it.
package enum TransportRules {
    /// Fields that belong to the connection and not to the caller: a request that contradicts its own framing is how
    /// requests are smuggled, and `TE` would invite trailers.
    package static let refusedFields = RequestCheck.connectionFields.map(\.name)

    /// The URL with its scheme in small letters, a host that every parser reads as the same one, and no fragment.
    package static func address(of asked: URL) throws(TransportFailure) -> WebAddress {
        let address: WebAddress
        do {
            address = try WebAddress(asked.absoluteString)
        } catch {
            throw .unacceptable("The URL \(error.reason): \(Destination.redacted(asked.absoluteString))")
        }
        // Some libraries would send it unasked, others store it.
        guard address.userInfo == nil else {
            throw .unacceptable("Credentials belong into the Authorization field, not into the URL of \(address.host).")
        }
        return address
    }

    /// The same for the URL of a request, which may have been taken apart before.
    package static func address(of request: TransportRequest) throws(TransportFailure) -> WebAddress {
        if let known = request.known.address(of: request.url) { return known }
        return try address(of: request.url)
    }

    /// Throws for a field that must not be sent.
    package static func check(_ field: HeaderFields.Field) throws(TransportFailure) {
        guard FieldText.isToken(field.name) else {
            throw .unacceptable(
                "A header field's name holds characters that none may have: \(field.name.debugDescription)")
        }
        let length = field.name.utf8.count
        guard !refusedFields.contains(where: { $0.utf8.count == length && HeaderFields.same($0, field.name) }) else {
            throw .unacceptable("The header field \(field.name) is the connection's and cannot be set.")
        }
        // A line break would start another field, NUL would end the value (RFC 9110, 5.5).
        guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw .unacceptable("The header field \(field.name) holds a line break or another control character.")
        }
    }

    /// Whole seconds, from one to a day, rounded up: what the libraries' timers take.
    package static func seconds(_ timeout: Duration) -> Int {
        let (seconds, attoseconds) = timeout.components
        let whole = attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
        return Int(min(max(whole, 1), 86_400))
    }
}

/// What was found out about a request's URL. It is nothing that the request says: with it and without, two are equal.
struct KnownAddress: Sendable, Hashable {
    @Apart private var address: WebAddress?

    init(_ address: WebAddress? = nil) {
        self.address = address
    }

    /// The address of a URL, if that is the one that was taken apart, and had no user info.
    func address(of url: URL) -> WebAddress? {
        guard let address, address.userInfo == nil, address.text == url.absoluteString else { return nil }
        return address
    }

    static func == (one: Self, other: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

extension TransportFailure {
    package static func unacceptable(_ message: String) -> TransportFailure {
        TransportFailure(.unacceptableRequest, message)
    }

    package static func notFinal(_ status: Int) -> TransportFailure {
        TransportFailure(.malformedResponse, "The exchange ended with the interim status \(status).")
    }

    package static func contradictoryLength(of head: ResponseHead) -> TransportFailure {
        let text = head.fields.values(of: "Content-Length").joined(separator: ", ")
        return TransportFailure(
            .malformedResponse, "The response's Content-Length is not one number: \(FieldText.shown(text))")
    }

    package static let noResponse = TransportFailure(.connectionLost, "The connection ended without a response.")
    package static let invalidated = TransportFailure(
        .unavailable,
        "The transport has been invalidated, as it is with its manager: give each manager a transport of its own.")
    package static let canceled = TransportFailure(.canceled, "The exchange was canceled.")
}

/// Why a proxy does not let a request through, now or later.
package enum ProxyRefusal: Sendable {
    /// It wants to know who asks.
    case stranger
    case notAllowed
    /// Nobody knows what kind of proxy it is.
    case unknown

    /// What libcurl says of it, and what can be done.
    package func advised(_ text: String) -> String {
        let text = text.last == "." ? String(text.dropLast()) : text
        return switch self {
        case .stranger: text + "; give the proxy's user name and password, for example in its URL"
        case .notAllowed: text + "; the proxy does not allow it"
        case .unknown: text + "; check the proxy's URL"
        }
    }
}
