/// The byte sequences of a dictionary among the structured fields (RFC 9651, 3.2 and 3.3.5), by key. Members of other types
/// are read and left out; one that is malformed spoils the field, as the RFC says.
package struct ByteDictionary: Sendable, Hashable {
    package private(set) var values: [String: [UInt8]] = [:]

    /// Longer fields are not read.
    package static let longest = 8192

    /// Reads the lines of one field; nil when they are malformed, or too long.
    package init?(_ lines: [String]) {
        var reader = StructuredReader(lines.joined(separator: ","))
        guard reader.count <= Self.longest, let values = reader.dictionary() else { return nil }
        self.values = values
    }
}

/// Reads a dictionary as RFC 9651, 4.2 tells, value by value. Each method takes what it reads off the front; nil or false
/// says that it is malformed.
private struct StructuredReader {
    private var rest: FieldText.Bytes

    init(_ text: String) {
        rest = Array(text.utf8)[...]
    }

    var count: Int { rest.count }

    /// The members that are byte sequences; of one key the last counts.
    mutating func dictionary() -> [String: [UInt8]]? {
        var values: [String: [UInt8]] = [:]
        skip { $0 == 0x20 }
        while !rest.isEmpty {
            guard let key = key(), case (let value, true) = member() else { return nil }
            values[key] = value
            skip(FieldText.isSpace)
            if rest.isEmpty { break }
            guard take(",") else { return nil }
            skip(FieldText.isSpace)
            if rest.isEmpty { return nil }
        }
        return values
    }

    /// What follows a key; its bytes if it is a byte sequence, and whether it is well formed.
    private mutating func member() -> (bytes: [UInt8]?, isGood: Bool) {
        guard take("=") else { return (nil, parameters()) }
        if take("(") { return (nil, innerList()) }
        let (bytes, isGood) = item()
        return (bytes, isGood && parameters())
    }

    private mutating func innerList() -> Bool {
        while true {
            skip { $0 == 0x20 }
            if take(")") { return parameters() }
            guard item().isGood, parameters(), let next = rest.first, next == 0x20 || next == UInt8(ascii: ")") else {
                return false
            }
        }
    }

    private mutating func parameters() -> Bool {
        while take(";") {
            skip { $0 == 0x20 }
            guard key() != nil, !take("=") || item().isGood else { return false }
        }
        return true
    }

    private mutating func key() -> String? {
        guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else { return nil }
        let key = takeAll { Self.isLower($0) || FieldText.isDigit($0) || "_-.*".utf8.contains($0) }
        return String(decoding: key, as: UTF8.self)
    }

    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    // MARK: Items

    private mutating func item() -> (bytes: [UInt8]?, isGood: Bool) {
        guard let first = rest.first else { return (nil, false) }
        switch first {
        case UInt8(ascii: ":"):
            let bytes = bytes()
            return (bytes, bytes != nil)
        case UInt8(ascii: "\""): return (nil, string())
        case UInt8(ascii: "%"): return (nil, displayString())
        case UInt8(ascii: "?"): return (nil, boolean())
        case UInt8(ascii: "@"): return (nil, take("@") && number(mayHaveFraction: false))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return (nil, number(mayHaveFraction: true))
        default: return (nil, token(first))
        }
    }

    private mutating func bytes() -> [UInt8]? {
        guard take(":") else { return nil }
        let text = takeAll { $0 != UInt8(ascii: ":") }
        return take(":") ? Base64.decode(text) : nil
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): if !take("\""), !take("\\") { return false }
            case 0x20...0x7E: break
            default: return false
            }
        }
        return false
    }

    private mutating func displayString() -> Bool {
        guard take("%"), take("\"") else { return false }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return text.elementsEqual(String(decoding: text, as: UTF8.self).utf8)
            case UInt8(ascii: "%"):
                guard let high = hexDigit(), let low = hexDigit() else { return false }
                text.append(high << 4 | low)
            case 0x20...0x7E: text.append(byte)
            default: return false
            }
        }
        return false
    }

    private mutating func hexDigit() -> UInt8? {
        switch rest.popFirst() {
        case .some(let byte) where FieldText.isDigit(byte): byte - UInt8(ascii: "0")
        case .some(let byte) where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte): byte - UInt8(ascii: "a") + 10
        case .some, nil: nil
        }
    }

    private mutating func boolean() -> Bool {
        take("?") && (take("0") || take("1"))
    }

    /// Of up to 15 digits, or of up to 12 and a fraction of up to three.
    private mutating func number(mayHaveFraction: Bool) -> Bool {
        _ = take("-")
        let whole = takeAll(FieldText.isDigit).count
        guard whole > 0, mayHaveFraction, take(".") else { return (1...15).contains(whole) }
        return whole <= 12 && (1...3).contains(takeAll(FieldText.isDigit).count)
    }

    private mutating func token(_ first: UInt8) -> Bool {
        guard FieldText.isLetter(first) || first == UInt8(ascii: "*") else { return false }
        _ = takeAll { FieldText.isToken([$0]) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
        return true
    }

    // MARK: Bytes

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func takeAll(_ isWanted: (UInt8) -> Bool) -> FieldText.Bytes {
        let taken = rest.prefix(while: isWanted)
        rest.removeFirst(taken.count)
        return taken
    }

    private mutating func skip(_ isSpace: (UInt8) -> Bool) {
        _ = takeAll(isSpace)
    }
}
