import Foundation
import Lanner

/// A list of URLs as `-i` reads it.
enum InputFile {
    /// One URL with what stands below it.
    struct Entry: Sendable, Equatable {
        var url: String
        /// Where it stands, as "file:line".
        var place: String
        var name: String?
        var checksum: Checksum.Digest?
        var mirrors: [URL] = []
        var priority: DownloadPriority?
    }

    /// Reads a list: a URL on each line, its options indented below it, blank lines, comments. The error has all lines that
    /// cannot be read, with the file's name.
    static func parse(_ text: String, file: String) throws(UsageError) -> [Entry] {
        var entries: [Entry] = []
        var problems = ListProblems()
        for (index, line) in lines(text).enumerated() {
            // As nearly every line is.
            let isGraphic = line.isGraphic
            let content = isGraphic ? line : String(Substring(FieldText.trimmed(line.utf8[...])))
            if content.isEmpty || content.utf8.first == UInt8(ascii: "#") { continue }
            let place = "\(file):\(index + 1)"
            do throws(UsageError) {
                if let first = line.utf8.first, FieldText.isSpace(first) {
                    try take(content, &entries)
                } else {
                    entries.append(Entry(url: content, place: place))
                    if !isGraphic { try checkURL(content) }
                }
            } catch {
                problems.note(error.message, at: place)
            }
        }
        try problems.check()
        return entries
    }

    /// By bytes, a line break of either kind being one character to Swift.
    static func lines(_ text: String) -> [String] {
        let mark = "\u{FEFF}"
        var text = text.hasPrefix(mark) ? text.dropFirst() : text[...]
        return text.withUTF8 { bytes in
            bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
                String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            }
        }
    }

    private static func checkURL(_ content: String) throws(UsageError) {
        guard content.isGraphic || !content.contains(where: \.isWhitespace) else {
            throw UsageError("one URL a line; write a space in a URL as %20")
        }
    }

    private static func take(_ option: String, _ entries: inout [Entry]) throws(UsageError) {
        guard !entries.isEmpty else { throw UsageError("an indented line belongs below a URL") }
        let last = entries.count - 1
        let parts = option.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            .map { Substring($0) }
        let value = parts.count > 1 ? String(parts[1]) : ""
        switch parts[0] {
        case "out" where parts.count > 1:
            guard entries[last].name == nil else { throw UsageError("out= is given twice") }
            entries[last].name = try TargetName.argument(value)
        case "checksum" where parts.count > 1:
            guard entries[last].checksum == nil else { throw UsageError("checksum= is given twice") }
            entries[last].checksum = try .argument(value, of: "checksum=")
        case "mirror" where parts.count > 1:
            try checkURL(value)
            entries[last].mirrors.append(try GetPlan.mirror(value))
        case "priority" where parts.count > 1:
            guard entries[last].priority == nil else { throw UsageError("priority= is given twice") }
            entries[last].priority = try .argument(value)
        case _:
            throw UsageError(
                "\(Destination.redacted(option).quoted) is none of out=NAME, checksum=ALGO:HEX, mirror=URL and priority=P"
            )
        }
    }
}
