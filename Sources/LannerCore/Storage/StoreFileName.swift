/// The names in the directory of a ``FileStore``.
package enum StoreFileName {
    package static let lock = "lock"

    /// A snapshot or journal of one generation.
    static func name(_ kind: StoreFileKind, _ generation: UInt64) -> String {
        "\(kind.rawValue)-\(generation)"
    }

    /// A snapshot that is being written.
    static func unfinished(_ generation: UInt64) -> String {
        name(.snapshot, generation) + unfinishedSuffix
    }

    /// Bytes that could not be read as records.
    static func corrupt(_ number: UInt64) -> String {
        "\(corruptPrefix)\(number)\(corruptSuffix)"
    }

    static func isUnfinished(_ name: String) -> Bool {
        name.hasSuffix(unfinishedSuffix)
            && generation(of: String(name.dropLast(unfinishedSuffix.count)), .snapshot) != nil
    }

    /// The generation a file of the kind belongs to; nil for other names.
    static func generation(of name: String, _ kind: StoreFileKind) -> UInt64? {
        number(in: name, kind.rawValue + "-", "")
    }

    static func corruptNumber(of name: String) -> UInt64? {
        number(in: name, corruptPrefix, corruptSuffix)
    }

    /// The number for the next bytes that could not be read: the one after the highest, unless no store gets there.
    static func nextCorruptNumber(besides names: [String]) -> UInt64 {
        let taken = Set(names.compactMap(corruptNumber))
        let last = taken.max() ?? 0
        var next = last < StoreFormat.largestStart ? last + 1 : 1
        while taken.contains(next) { next += 1 }
        return next
    }

    /// Whether records are in a file of this name.
    package static func hasRecords(_ name: String) -> Bool {
        generation(of: name, .snapshot) != nil || generation(of: name, .journal) != nil || isUnfinished(name)
    }

    /// The same, or they were.
    static func isOfRecords(_ name: String) -> Bool { hasRecords(name) || corruptNumber(of: name) != nil }

    private static let unfinishedSuffix = ".new"
    private static let corruptPrefix = "corrupt-"
    private static let corruptSuffix = ".bin"

    private static func number(in name: String, _ prefix: String, _ suffix: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count > prefix.utf8.count + suffix.utf8.count,
            let number = UInt64(name.dropFirst(prefix.count).dropLast(suffix.count)),
            number < StoreFormat.largestNumber, name == "\(prefix)\(number)\(suffix)"
        else { return nil }
        return number
    }
}
