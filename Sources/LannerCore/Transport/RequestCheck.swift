import LannerMachine

/// Looks a caller's header fields over before any request is made.
///
/// A transport may send a line break in a value as it is, and with it a second request; and some fields are the
/// library's own, or have no meaning it could keep.
package enum RequestCheck {
    /// Throws, with what is wrong and why, for the first field that cannot be sent.
    package static func check(_ fields: HeaderFields) throws(DownloadFailure) {
        for field in fields.fields {
            if let problem = problem(with: field) { throw DownloadFailure(.transport(.unacceptableRequest), problem) }
        }
    }

    private static func problem(with field: HeaderFields.Field) -> String? {
        guard FieldText.isToken(field.name) else {
            return "The header field name \(printable(field.name)) is not valid: use letters, digits and hyphens."
        }
        guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x09 }) else {
            return "The value of the header field \(field.name) has a line break or another character that is not "
                + "visible ASCII."
        }
        return reserved.first { HeaderFields.same($0.name, field.name) }.map {
            "The header field \(field.name) cannot be set: \($0.reason)."
        }
    }

    /// A name that may hold anything, safe to print.
    private static func printable(_ name: String) -> String {
        "“" + name.unicodeScalars.prefix(64).map { $0.escaped(asASCII: true) }.joined() + "”"
    }

    private static let reserved = connectionFields + downloadFields

    /// Those that no transport sends for a caller.
    static let connectionFields: [(name: String, reason: String)] = [
        ("Host", "it is made from the URL"),
        ("Content-Length", "a download has no request body"),
        ("Transfer-Encoding", "a download has no request body"),
        ("Expect", "a download has no request body"),
        ("Connection", "connections belong to the transport"),
        ("Keep-Alive", "connections belong to the transport"),
        ("Proxy-Connection", "connections belong to the transport"),
        ("Upgrade", "connections belong to the transport"),
        ("TE", "trailers and transfer codings belong to the transport"),
        ("Trailer", "trailers and transfer codings belong to the transport"),
    ]

    /// Those that a download sends itself, or has no use for.
    private static let downloadFields: [(name: String, reason: String)] = [
        ("Range", "ranges are asked for as the download needs them"),
        ("If-Range", "ranges are asked for as the download needs them"),
        ("Accept-Encoding", "only bytes without a content coding can be resumed and verified"),
        ("If-Match", "the answer could be one without the file"),
        ("If-None-Match", "the answer could be one without the file"),
        ("If-Modified-Since", "the answer could be one without the file"),
        ("If-Unmodified-Since", "the answer could be one without the file"),
    ]
}
