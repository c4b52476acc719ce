/// Base64 (RFC 4648, 4).
package enum Base64 {
    /// The bytes of a text; nil when it is malformed. Padding may be missing, and what is left of the last digit may be
    /// anything, as RFC 9651 (4.2.7) wants it.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.prefix { $0 != padding }
        let end = text.dropFirst(digits.count)
        guard digits.count % 4 != 1, end.allSatisfy({ $0 == padding }),
            end.isEmpty || (end.count <= 2 && text.count % 4 == 0)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count) = (UInt32(0), 0)
        for digit in digits {
            guard let value = value(digit) else { return nil }
            (bits, count) = (bits << 6 | UInt32(value), count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }

    private static let padding = UInt8(ascii: "=")

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
