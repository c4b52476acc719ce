/// What a `Range` field asks of a resource (RFC 9110, 14.2).
enum AskedRange: Equatable {
    /// Nothing, something that is not understood, or more than one range: everything is sent.
    case everything
    /// One range of the resource, not empty.
    case part(Range<Int64>)
    /// A range of which the resource has nothing.
    case unsatisfiable

    init(field: String?, length: Int64) {
        self = field.flatMap { AskedRange.parse($0, length: length) } ?? .everything
    }

    private static func parse(_ field: String, length: Int64) -> AskedRange? {
        guard let sign = field.utf8.firstIndex(of: UInt8(ascii: "=")),
            LoopbackServer.Fields.same(String(field[..<sign]), "bytes")
        else { return nil }
        let range = field[field.utf8.index(after: sign)...].trimmingSpaces
        guard let dash = range.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let (start, end) = (range[..<dash], range[range.utf8.index(after: dash)...])
        switch (position(start), position(end)) {
        case (nil, let suffix?):
            return start.isEmpty ? satisfiable(max(0, length - suffix)..<length) : nil
        case (let first?, nil):
            return end.isEmpty ? satisfiable(first..<max(first, length)) : nil
        case (let first?, let last?):
            return first <= last ? satisfiable(first..<max(first, last < length ? last + 1 : length)) : nil
        case (nil, nil):
            return nil
        }
    }

    private static func satisfiable(_ range: Range<Int64>) -> AskedRange {
        range.isEmpty ? .unsatisfiable : .part(range)
    }

    /// A number of digits; one that does not fit is as good as the largest.
    private static func position(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int64(text) ?? .max
    }
}
