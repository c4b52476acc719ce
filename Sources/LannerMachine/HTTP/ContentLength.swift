/// How long a body is announced to be (RFC 9110, 8.6).
package enum ContentLength: Sendable, Hashable {
    /// Not announced, or overruled by a transfer coding (RFC 9112, 6.3).
    case unknown
    /// So many bytes.
    case bytes(Int64)
    /// Malformed, too large, or several values that differ: such a response cannot be trusted.
    case contradictory

    package init(fields: HeaderFields) {
        let lines = fields.values(of: "Content-Length")
        if lines.isEmpty {
            self = .unknown
        } else if let value = Self.number(lines) {
            self = fields.isTransferCoded ? .unknown : .bytes(value)
        } else {
            self = .contradictory
        }
    }

    /// The one that all members of all lines are.
    private static func number(_ lines: [String]) -> Int64? {
        // As nearly always.
        if lines.count == 1, let number = FieldText.decimal(lines[0].utf8) { return number }
        return FieldText.members(lines).map { FieldText.decimal($0) }.agreed ?? nil
    }

    /// The number, where there is exactly one.
    package var value: Int64? {
        switch self {
        case .bytes(let count): count
        case .unknown, .contradictory: nil
        }
    }
}

extension HeaderFields {
    /// Whether the body has a content coding (RFC 9110, 8.4), so that its length and ranges are not those of the file.
    ///
    /// Nor have those that name none: `none` is sent to switch compression off, and object stores repeat the `aws-chunked`
    /// of an upload for a file that is as it was.
    package var isContentCoded: Bool { hasCoding("Content-Encoding", but: ["identity", "none", "aws-chunked"]) }

    fileprivate var isTransferCoded: Bool { hasCoding("Transfer-Encoding", but: ["identity"]) }

    private func hasCoding(_ name: String, but names: [StaticString]) -> Bool {
        FieldText.members(values(of: name)).contains { coding in
            !coding.isEmpty && !names.contains { FieldText.equal(coding, $0) }
        }
    }

    /// Whether the body is several ranges in one (RFC 9110, 14.6).
    package var isMultipartRanges: Bool {
        values(of: "Content-Type").contains { value in
            let type = FieldText.trimmed(value).prefix { $0 != UInt8(ascii: ";") }
            return FieldText.equal(FieldText.trimmed(type), "multipart/byteranges")
        }
    }
}
