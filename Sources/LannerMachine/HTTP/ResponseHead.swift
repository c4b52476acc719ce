/// The status and the header of one HTTP response, as the transport saw them.
///
/// Only final responses: a transport never reports 1xx, nor a proxy's answer to CONNECT.
public struct ResponseHead: Sendable, Hashable {
    /// The status code, for example 206.
    public var status: Int
    /// The header fields, in the order received where the transport knows it.
    public var fields: HeaderFields
    /// Where it came from, if the transport may have been led there by itself; nil for where the request went.
    public var url: String?

    /// Makes a head.
    public init(status: Int, fields: HeaderFields = [:], url: String? = nil) {
        self.status = status
        self.fields = fields
        self.url = url
    }
}

extension ResponseHead {
    /// Whether the server says that it sends parts (RFC 9110, 14.3), or has sent one.
    var offersRanges: Bool { status == 206 || acceptsRanges(in: "bytes") }

    /// Whether the server says that it sends none.
    package var deniesRanges: Bool { acceptsRanges(in: "none") }

    private func acceptsRanges(in unit: StaticString) -> Bool {
        FieldText.members(fields.values(of: "Accept-Ranges")).contains { FieldText.equal($0, unit) }
    }
}
