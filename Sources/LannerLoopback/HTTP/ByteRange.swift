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
        let words = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, LoopbackServer.Fields.same(String(words[0]), "bytes") else { return nil }
        let ends = words[1].trimmingSpaces.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (position(ends[0]), position(ends[1])) {
        case (nil, let suffix?):
            return ends[0].isEmpty ? satisfiable(max(0, length - suffix)..<length) : nil
        case (let first?, nil):
            return ends[1].isEmpty ? satisfiable(first..<max(first, length)) : nil
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
