/// An entity tag, as the server wrote it (RFC 9110, 8.8.3).
package struct EntityTag: Sendable, Hashable {
    /// The exact text, quotes and `W/` included: what goes into `If-Range`.
    package let text: String
    /// Whether it says only that versions are equivalent, not that their bytes are the same.
    package let isWeak: Bool

    /// Longer ones are no validator: they have to be kept in records and sent back.
    private static let longest = 1024

    /// Reads a field value; nil when it is not exactly one tag of visible ASCII.
    ///
    /// The grammar allows bytes above ASCII too, but not every transport gives and sends those unchanged.
    package init?(_ value: String) {
        let bytes = FieldText.trimmed(value)
        let isWeak = bytes.starts(with: "W/".utf8)
        let quoted = isWeak ? bytes.dropFirst(2) : bytes
        guard bytes.count <= Self.longest, quoted.count >= 2, quoted.first == Self.quote, quoted.last == Self.quote,
            quoted.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != Self.quote })
        else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
        self.isWeak = isWeak
    }

    /// The tag of a response; nil when it has none, lines that contradict each other, or one without a character, which
    /// is the same for every version.
    package init?(fields: HeaderFields) {
        guard let line = fields.onlyValue(of: "ETag") else { return nil }
        self.init(line)
        if opaque.utf8.count == 2 { return nil }
    }

    /// Strong comparison: the same bytes.
    package func isSameBytes(as other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && text == other.text
    }

    /// Weak comparison: the same but for what the server calls insignificant.
    package func isEquivalent(to other: EntityTag) -> Bool { opaque == other.opaque }

    /// Whether it may be made of nothing but a file's date and size, as most servers make theirs: it is shorter than a digest
    /// in hexadecimal, of which the shortest in use has 32 digits.
    package var mayBeOfDate: Bool { opaque.utf8.count < 2 + 32 }

    private var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }

    private static let quote = UInt8(ascii: "\"")
}
