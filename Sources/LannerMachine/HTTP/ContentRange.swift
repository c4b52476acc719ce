/// What `Content-Range` says about a body (RFC 9110, 14.4).
package enum ContentRange: Sendable, Hashable {
    /// `bytes a-b/N`, or `bytes a-b/*` where the total is nil. Never empty; within the total.
    case part(Range<Int64>, total: Int64?)
    /// `bytes */N`: no part of the range that was asked for exists.
    case unsatisfied(total: Int64)

    /// Reads one value; nil for other units and for everything that is malformed, too large or impossible. Some servers
    /// write `=` or `:` behind the unit, as in `Range`, or no unit, or `;` at the end: what they mean is clear.
    package init?(_ value: String) { self.init(FieldText.trimmed(value)) }

    /// The range of a response; nil when it has none, or lines that contradict each other.
    package init?(fields: HeaderFields) {
        let ranges = FieldText.members(fields.values(of: "Content-Range")).map { ContentRange($0) }
        guard let range = ranges.agreed ?? nil else { return nil }
        self = range
    }

    private init?(_ bytes: FieldText.Bytes) {
        var text = Self.withoutUnit(bytes)
        if text.last == UInt8(ascii: ";") { text = FieldText.trimmed(text.dropLast()) }
        guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let (range, size) = (text[..<slash], text[(slash + 1)...])
        let total = FieldText.decimal(size)
        guard total != nil || FieldText.equal(size, "*") else { return nil }
        if FieldText.equal(range, "*") {
            guard let total else { return nil }
            self = .unsatisfied(total: total)
        } else {
            guard let range = Self.range(range), total.map({ range.upperBound <= $0 }) ?? true else { return nil }
            self = .part(range, total: total)
        }
    }

    private static func withoutUnit(_ bytes: FieldText.Bytes) -> FieldText.Bytes {
        guard FieldText.equal(bytes.prefix(5), "bytes") else { return bytes }
        let text = FieldText.trimmed(bytes.dropFirst(5))
        let isMarked = text.first.map { "=:".utf8.contains($0) } ?? false
        return isMarked ? FieldText.trimmed(text.dropFirst()) : text
    }

    private static func range(_ bytes: FieldText.Bytes) -> Range<Int64>? {
        guard let dash = bytes.firstIndex(of: UInt8(ascii: "-")), let first = FieldText.decimal(bytes[..<dash]),
            let last = FieldText.decimal(bytes[(dash + 1)...]), first <= last, last < Int64.max
        else { return nil }
        return first..<(last + 1)
    }

    /// The size of the whole file, where it is told.
    package var total: Int64? {
        switch self {
        case .part(_, let total): total
        case .unsatisfied(let total): total
        }
    }
}
