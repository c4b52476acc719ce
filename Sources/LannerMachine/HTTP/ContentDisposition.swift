/// What `Content-Disposition` says of a response (RFC 6266), as far as it names a file.
///
/// More is understood than the grammar allows, since much more is sent: names without quotes that hold spaces, white
/// space around the equals sign, parameters without a value. A parameter that cannot be read counts as not sent.
package struct ContentDisposition: Sendable, Hashable {
    /// The name that the server gives the file, nil when it gives none that can be read. Never empty; else any text,
    /// with separators and controls if they were sent.
    ///
    /// `filename*` (RFC 8187) comes before `filename`. The type does not matter: a file that is saved is an attachment.
    package let fileName: String?

    /// Reads a field value; nil when it does not begin with a type, or a quotation in it has no end.
    package init?(_ value: String) {
        guard let sections = Self.sections(FieldText.trimmed(value)), let type = sections.first,
            FieldText.isToken(type)
        else { return nil }
        let parameters = sections.dropFirst().compactMap(Parameter.init)
        fileName =
            Self.only("filename*", of: parameters).flatMap(Self.extended)
            ?? Self.only("filename", of: parameters).flatMap(Self.plain)
    }

    /// The disposition of a response; nil when it has none, or lines that contradict each other.
    package init?(fields: HeaderFields) {
        let lines = Set(fields.values(of: "Content-Disposition"))
        guard lines.count == 1, let line = lines.first else { return nil }
        self.init(line)
    }

    private static let quote = UInt8(ascii: "\"")
    private static let escape = UInt8(ascii: "\\")
}

// MARK: Parameters

extension ContentDisposition {
    private typealias Bytes = FieldText.Bytes

    private struct Parameter {
        var name: Bytes
        var value: Bytes

        init?(_ section: Bytes) {
            let parts = section.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = parts.first, let value = parts.last else { return nil }
            self.name = FieldText.trimmed(name)
            self.value = FieldText.trimmed(value)
        }
    }

    /// The value of a parameter, nil when it is there more than once (RFC 6266, 4.1).
    private static func only(_ name: StaticString, of parameters: [Parameter]) -> Bytes? {
        let values = parameters.filter { FieldText.equal($0.name, name) }.map(\.value)
        return values.count == 1 ? values.first : nil
    }

    /// What stands between the semicolons that are not in quotation marks; nil when a quotation has no end.
    private static func sections(_ bytes: Bytes) -> [Bytes]? {
        var sections: [Bytes] = []
        var start = bytes.startIndex
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in zip(bytes.indices, bytes) {
            if isEscaped {
                isEscaped = false
            } else if byte == escape {
                isEscaped = isQuoted
            } else if byte == quote {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                sections.append(FieldText.trimmed(bytes[start..<index]))
                start = index + 1
            }
        }
        return isQuoted ? nil : sections + [FieldText.trimmed(bytes[start...])]
    }
}

// MARK: Values

extension ContentDisposition {
    /// A token or a quoted string; nil when it is neither, or empty.
    private static func plain(_ value: Bytes) -> String? {
        let bytes = value.first == quote ? unquoted(value) : Array(value)
        guard let bytes, !bytes.isEmpty, value.first == quote || !bytes.contains(quote) else { return nil }
        return repaired(String(decoding: bytes, as: UTF8.self))
    }

    /// The text between quotation marks that are the first and the last byte; nil when they are not.
    private static func unquoted(_ value: Bytes) -> [UInt8]? {
        var rest = value.dropFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote { return rest.isEmpty ? bytes : nil }
            guard let literal = byte == escape ? rest.popFirst() : byte else { return nil }
            bytes.append(literal)
        }
        return nil
    }

    /// Bytes above ASCII are not allowed, but sent, and mostly are UTF-8. Some transports take each for a character of
    /// ISO-8859-1; a text that happens to be UTF-8 then was meant to be.
    private static func repaired(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.contains(where: { !$0.isASCII }), scalars.allSatisfy({ $0.value <= 0xFF }) else { return text }
        return utf8(scalars.map { UInt8(truncatingIfNeeded: $0.value) }) ?? text
    }

    /// `charset'language'percent-encoded` (RFC 8187, 3.2.1); nil when it is something else, or empty.
    private static func extended(_ value: Bytes) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let charset = parts.first, let encoded = parts.last,
            let bytes = decoded(encoded), !bytes.isEmpty
        else { return nil }
        if FieldText.equal(charset, "UTF-8") { return utf8(bytes) }
        guard FieldText.equal(charset, "ISO-8859-1") else { return nil }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return String(text)
    }

    /// Visible ASCII, escapes undone; nil when anything else is in it. Some senders leave more as it is than they may.
    private static func decoded(_ value: Bytes) -> [UInt8]? {
        var rest = value
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte > 0x20, byte < 0x7F, byte != quote else { return nil }
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        if FieldText.isDigit(byte) { return byte - UInt8(ascii: "0") }
        let letter = FieldText.lowercased(byte)
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "f") ? letter - UInt8(ascii: "a") + 10 : nil
    }

    /// The text of bytes that are UTF-8.
    private static func utf8(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
