import Foundation

/// What a URL can be made of: `String`, `URL`, `URLComponents`, and types of your own.
public protocol URLConvertible: Sendable {
    /// The URL.
    ///
    /// - Throws: ``LannerError/invalidURL(url:)`` when there is none.
    func asURL() throws -> URL
}

extension String: URLConvertible {
    /// The URL that this string spells. What may not stand in one is percent-encoded; what is so already stays. Space around
    /// it is left out, and there is none with a control character in it, as a line break.
    public func asURL() throws -> URL {
        // Of a text without any, no copy is made.
        let text = String(self[...].trimmed { $0.properties.isWhitespace || $0 == "\u{200B}" })
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }), let url = URL(string: WebAddress.escaped(text))
        else { throw LannerError.invalidURL(url: self) }
        return url
    }
}

extension URL: URLConvertible {
    /// Itself.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// The URL of these components.
    public func asURL() throws -> URL {
        guard let url else { throw LannerError.invalidURL(url: self) }
        return url
    }
}
