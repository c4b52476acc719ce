/// The few rules of field values that every parser here shares (RFC 9110, 5.6).
///
/// Works on bytes: a `Character` may hide a CR LF pair or a combining mark behind a comma.
@usableFromInline package enum FieldText {
    package typealias Bytes = ArraySlice<UInt8>

    /// A value's bytes without the white space around it.
    package static func trimmed(_ text: String) -> Bytes { trimmed(Array(text.utf8)[...]) }

    @inlinable package static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes
    where Bytes.SubSequence == Bytes {
        var bytes = bytes
        while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return bytes
    }

    /// The members of a comma-separated list over all lines of a name; some transports join lines of one name.
    package static func members(_ lines: [String]) -> [Bytes] {
        var members: [Bytes] = []
        for line in lines {
            var rest = Array(line.utf8)[...]
            while let comma = rest.firstIndex(of: UInt8(ascii: ",")) {
                members.append(trimmed(rest[..<comma]))
                rest = rest[(comma + 1)...]
            }
            members.append(trimmed(rest))
        }
        return members
    }

    /// A number of digits only, without a sign; nil when it is anything else or does not fit.
    @inlinable package static func decimal(_ bytes: some Collection<UInt8>) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in bytes {
            guard isDigit(byte) else { return nil }
            let (tens, overTen) = value.multipliedReportingOverflow(by: 10)
            let (sum, overSum) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !overTen, !overSum else { return nil }
            value = sum
        }
        return value
    }

    /// Whether the bytes are an ASCII word, letters compared without case.
    package static func equal(_ bytes: Bytes, _ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            bytes.count == word.count && zip(bytes, word).allSatisfy { lowercased($0) == lowercased($1) }
        }
    }

    @inlinable package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    @inlinable package static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    @inlinable package static func isLetter(_ byte: UInt8) -> Bool {
        let byte = lowercased(byte)
        return byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
    }

    @inlinable package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// A text from outside as part of a sentence: without what terminals act on, as control characters, and not too long.
    package static func shown(_ text: String) -> String { printable(text.unicodeScalars.prefix(200)) }

    /// The same of any length.
    package static func printable(_ text: some Sequence<Unicode.Scalar>) -> String {
        text.map { scalar in
            scalar.isDisruptive ? scalar.escaped(asASCII: true) : String(scalar)
        }.joined()
    }

    /// Whether the text is a token (RFC 9110, 5.6.2), as field names have to be.
    package static func isToken(_ text: String) -> Bool { isToken(text.utf8) }

    @inlinable package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isOfToken)
    }

    /// Letters, digits and ``!#$%&'*+-.^_`|~``, in the ranges that they make in ASCII.
    @inlinable static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "^")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"): true
        case UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// Whether it is no visible part of a line: controls, line and paragraph ends, changes of direction.
    package var isDisruptive: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        case _: false
        }
    }
}
