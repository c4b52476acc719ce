// Paths, by bytes as file systems have them: a mark behind a slash makes another character of both, and names that are
// equal as text may be two.

import Foundation

extension String {
    /// The last component of a path.
    package var lastComponent: String {
        lastSlash.map { String(self[utf8.index(after: $0)...]) } ?? self
    }

    /// The directory that a path's last component is in.
    package var directory: String {
        guard let slash = lastSlash else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    private var lastSlash: String.Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }

    /// What stands between the slashes, in order.
    var components: [String] {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

    /// The path without slashes that mean nothing: at its end, and more than one in a row.
    package var plainPath: String {
        (isAbsolutePath ? "/" : "") + components.filter { !$0.isEmpty }.joined(separator: "/")
    }

    /// The path from the root, whatever becomes of the directory that the process works in.
    var absolute: String {
        isAbsolutePath ? self : FileManager.default.currentDirectoryPath + "/" + self
    }

    /// The path from a directory, whose own path is plain, to what lies below it; nil for all else.
    func path(below directory: String) -> String? {
        let start = directory.utf8.last == UInt8(ascii: "/") ? directory : directory + "/"
        guard utf8.count > start.utf8.count, utf8.starts(with: start.utf8) else { return nil }
        return String(self[utf8.index(startIndex, offsetBy: start.utf8.count)...])
    }
}

/// A name or a path as file systems tell them apart: by bytes, but on Apple's, where texts that are equal are one name.
package struct PathKey: Hashable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    /// The same for a path of a file that is to be another than others: Macs mostly do not tell them apart by case.
    package init(ofFile path: String) {
        #if os(macOS) || targetEnvironment(macCatalyst) || targetEnvironment(simulator)
        text = path.lowercased()
        #else
        text = path
        #endif
    }

    #if !canImport(Darwin)
    package static func == (one: PathKey, other: PathKey) -> Bool {
        guard one.text.utf8.count == other.text.utf8.count else { return false }
        var (one, other) = (one.text, other.text)
        return one.withUTF8 { one in other.withUTF8 { one.elementsEqual($0) } }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // As the end of it, which no text contains.
        hasher.combine(UInt8.max)
    }
    #endif
}
