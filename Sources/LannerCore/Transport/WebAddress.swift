import Foundation
import LannerMachine

/// Whom credentials may be sent to: two addresses of the same origin are the same server (RFC 6454, 4).
package struct Origin: Sendable, Hashable {
    package var scheme: String
    package var host: String
    package var port: Int
}

/// An http or https URL that is fit to be requested: with a host that can be one, ASCII throughout, without a fragment.
package struct WebAddress: Sendable, Hashable {
    /// `http` or `https`.
    package let scheme: String
    /// In lower case, an IPv6 address in its brackets.
    package let host: String
    /// Where it is told, and not the scheme's own.
    package let port: Int?
    /// What stood before the `@`, with its percent-encoding.
    package let userInfo: String?
    /// The address, without the user info.
    package let text: String

    /// Longer ones are refused by many servers (RFC 9110, 4.1, asks for 8000 bytes).
    package static let longest = 8192

    package var origin: Origin {
        Origin(scheme: scheme, host: host, port: port ?? Self.defaultPort(scheme))
    }

    /// The same as Foundation has it; nil should it not agree that this is a URL.
    package var url: URL? { URL(string: text) }

    private static func defaultPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }
}

extension HostID {
    /// The host that a URL names, in whatever case, at whatever port: one machine serves them all.
    init(of url: URL) {
        guard let address = try? WebAddress(url.absoluteString) else {
            self = .unknown
            return
        }
        self.init(of: address)
    }

    /// A digest of the host's name (FNV-1a), so that nobody has to keep the names. Should two have the same, they share a
    /// limit.
    init(of address: WebAddress) {
        self.init(address.host.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }
}

extension WebAddress {
    /// Why a reference is no such address, in words that follow on "it".
    package struct Refusal: Error, Sendable, Hashable {
        package var reason: String
    }

    /// Reads an absolute URL.
    package init(_ text: String) throws(Refusal) {
        self = try Self.lend(text) { parts throws(Refusal) in
            if Self.isHostAndPort(parts) { throw Self.noScheme }
            return try WebAddress(parts)
        }
    }

    /// Whether what looks like a scheme is a host in front of its port.
    private static func isHostAndPort(_ parts: URIReference.Parts<some ByteSlice>) -> Bool {
        guard let scheme = parts.scheme, known(scheme) == nil, parts.authority == nil else { return false }
        let digits = parts.path.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return (1...5).contains(digits.count)
            && (digits.count == parts.path.count || parts.path.dropFirst(digits.count).first == UInt8(ascii: "/"))
    }

    /// Reads a reference as it came in `Location`, relative to this address.
    package func resolving(_ location: String) throws(Refusal) -> WebAddress {
        let reference = try Self.lend(location) { URIReference($0) }
        return try WebAddress(URIReference.Parts(reference.resolved(against: URIReference(text))))
    }

    private init(_ parts: URIReference.Parts<some ByteSlice>) throws(Refusal) {
        scheme = try Self.scheme(parts.scheme)
        guard let bytes = parts.authority else { throw Authority.noHost }
        let authority = try Authority(bytes)
        host = authority.host
        port = authority.port == Self.defaultPort(scheme) ? nil : authority.port
        userInfo = authority.userInfo
        text = try Self.joined(scheme, host, port, parts)
    }

    private static func joined(
        _ scheme: String, _ host: String, _ port: Int?, _ parts: URIReference.Parts<some ByteSlice>
    ) throws(Refusal) -> String {
        let slash = UInt8(ascii: "/")
        var bytes: [UInt8] = []
        // With room for the marks and a port.
        bytes.reserveCapacity(scheme.utf8.count + host.utf8.count + parts.path.count + (parts.query?.count ?? 0) + 12)
        bytes += scheme.utf8
        bytes += [UInt8(ascii: ":"), slash, slash]
        bytes += host.utf8
        if let port {
            bytes.append(UInt8(ascii: ":"))
            bytes += String(port).utf8
        }
        if parts.path.first != slash { bytes.append(slash) }
        encode(parts.path, into: &bytes)
        encode(parts.query, after: UInt8(ascii: "?"), into: &bytes)
        guard bytes.count <= longest else { throw tooLong }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func scheme(_ bytes: (some ByteSlice)?) throws(Refusal) -> String {
        guard let bytes else { throw noScheme }
        if let scheme = known(bytes) { return scheme }
        let scheme = String(decoding: bytes, as: UTF8.self).lowercased()
        throw Refusal(reason: "has the scheme “\(scheme)”; only http and https can be downloaded")
    }

    private static func known(_ scheme: some ByteSlice) -> String? {
        ["http", "https"].first { scheme.lazy.map(FieldText.lowercased).elementsEqual($0.utf8) }
    }

    private static var noScheme: Refusal { Refusal(reason: "has no scheme; begin it with https:// or http://") }

    /// Lends the parts of a text for the duration of `body`.
    private static func lend<Result>(
        _ text: String, to body: (URIReference.Parts<Slice<UnsafeBufferPointer<UInt8>>>) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        var text = text
        return try text.withUTF8 { bytes in
            Swift.Result { () throws(Refusal) in try body(parts(bytes[...])) }
        }.get()
    }

    private static func parts<Bytes: ByteSlice>(_ text: Bytes) throws(Refusal) -> URIReference.Parts<Bytes> {
        let bytes = FieldText.trimmed(text)
        guard bytes.count <= longest else { throw tooLong }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw Refusal(reason: "has a control character") }
        return URIReference.Parts(bytes)
    }

    private static let tooLong = Refusal(reason: "is longer than \(longest) bytes")

    /// Percent-encodes what may not stand in a path or a query; servers do send spaces and UTF-8 (RFC 3986, 3.3, 3.4).
    private static func encode(_ part: some ByteSlice, into result: inout [UInt8]) {
        if part.allSatisfy(isAllowed) { return result += part }
        for index in part.indices {
            let byte = part[index]
            if isAllowed(byte) || byte == UInt8(ascii: "%") && isEscape(part[index...]) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
    }

    private static func encode(_ part: (some ByteSlice)?, after mark: UInt8, into result: inout [UInt8]) {
        guard let part else { return }
        result.append(mark)
        encode(part, into: &result)
    }

    private static func isEscape(_ bytes: some ByteSlice) -> Bool {
        bytes.count >= 3 && bytes.dropFirst().prefix(2).allSatisfy(isHexDigit)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    /// Letters, digits and `-._~!$&'()*+,;=:@/?`, in the ranges that they make in ASCII.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&")...UInt8(ascii: ";"), UInt8(ascii: "?")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    fileprivate static func isHexDigit(_ byte: UInt8) -> Bool {
        FieldText.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(FieldText.lowercased(byte))
    }
}

extension WebAddress {
    /// The text of a URL, with what may not stand in path, query or fragment percent-encoded; what is so by then stays.
    ///
    /// Foundation encodes each of these as a whole for one such character: of `%20[` it makes `%2520%5B`. Scheme and
    /// authority are left to it, since it knows how names of hosts are spelled in ASCII, and so are texts without them.
    package static func escaped(_ text: String) -> String {
        // As nearly every text is.
        if text.utf8.allSatisfy(isAllowed) { return text }
        var text = text
        return text.withUTF8 { encoded($0[...]) } ?? text
    }

    private static func encoded(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let parts = URIReference.Parts(text)
        guard parts.scheme != nil, parts.authority != nil else { return nil }
        var bytes = Array(text[..<parts.path.startIndex])
        encode(parts.path, into: &bytes)
        encode(parts.query, after: UInt8(ascii: "?"), into: &bytes)
        encode(parts.fragment, after: UInt8(ascii: "#"), into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The part between `//` and the path (RFC 3986, 3.2).
private struct Authority {
    var userInfo: String?
    var host: String
    var port: Int?

    static let noHost = WebAddress.Refusal(reason: "has no host")

    init(_ text: some ByteSlice) throws(WebAddress.Refusal) {
        var bytes = text
        // The last `@`: an earlier one can only be part of a password that was not encoded.
        if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
            userInfo = String(decoding: bytes[..<at], as: UTF8.self)
            bytes = bytes[(at + 1)...]
        }
        let hostEnd = Self.hostEnd(bytes)
        host = Self.lowercased(bytes[..<hostEnd])
        guard !host.isEmpty else { throw Self.noHost }
        guard Self.isHost(bytes[..<hostEnd]) else {
            throw WebAddress.Refusal(reason: "has a host that cannot be one")
        }
        port = try Self.port(bytes[hostEnd...])
    }

    private static func lowercased(_ bytes: some ByteSlice) -> String {
        String(unsafeUninitializedCapacity: bytes.count) { $0.initialize(from: bytes.lazy.map(FieldText.lowercased)).1 }
    }

    private static func hostEnd(_ bytes: some ByteSlice) -> Int {
        let bracket = bytes.first == UInt8(ascii: "[") ? bytes.firstIndex(of: UInt8(ascii: "]")) : nil
        return bytes[(bracket ?? bytes.startIndex)...].firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    }

    /// Names of letters, digits, `-`, `.`, `_`, and bracketed addresses. The grammar allows more, percent-encoding
    /// too, but no such name exists, and some parsers read it as another host than the one that is asked in the end. So
    /// they do with brackets around something else than an IPv6 address, of which a colon is the least.
    private static func isHost(_ bytes: some ByteSlice) -> Bool {
        if bytes.first == UInt8(ascii: "[") {
            return bytes.contains(UInt8(ascii: ":")) && bytes.last == UInt8(ascii: "]")
                && bytes.dropFirst().dropLast().allSatisfy { WebAddress.isHexDigit($0) || ":.".utf8.contains($0) }
        }
        return bytes.allSatisfy(isOfName)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        case _: FieldText.isLetter(byte) || FieldText.isDigit(byte)
        }
    }

    private static func port(_ bytes: some ByteSlice) throws(WebAddress.Refusal) -> Int? {
        let digits = bytes.dropFirst()
        if digits.isEmpty { return nil }
        guard let port = FieldText.decimal(digits), (1...65535).contains(port) else {
            throw WebAddress.Refusal(reason: "has a port that is not a number from 1 to 65535")
        }
        return Int(port)
    }
}
