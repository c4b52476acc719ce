import Foundation
import Lanner

/// The name a download is saved under.
enum TargetName {
    /// Where the state of unfinished downloads is kept, in the directory they are saved in.
    static let stateDirectory = ".lanner"
    /// For a URL that names a directory, as it is usual.
    static let index = "index.html"

    /// The name that a URL suggests: the last part of its path, made fit to be the name of a file.
    static func suggested(by url: URL) -> String {
        // Bytes that are no UTF-8 become the replacement character.
        sanitized(String(decoding: url.path(percentEncoded: true).lastComponent.percentDecoded, as: UTF8.self))
    }

    /// Makes a name of any text.
    static func sanitized(_ text: String) -> String {
        let isPlain = text.isGraphic && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let plain = isPlain ? text : text.unicodeScalars.map { isForbidden($0) ? "_" : String($0) }.joined()
        let name = FileName.cut(plain)
        switch name {
        // No name at all, or one of another directory.
        case "", ".", "..": return index
        case _ where isStateDirectory(name): return "_" + name
        case _: return name
        }
    }

    /// Checks a name that a user gave.
    static func argument(_ text: String) throws(UsageError) -> String {
        guard text != "", text != ".", text != "..", !text.unicodeScalars.contains(where: isForbidden) else {
            let advice = text.unicodeScalars.contains("/") ? "give one without a directory" : "choose another"
            throw UsageError("\(text.quoted) is no file name; \(advice)")
        }
        guard !isStateDirectory(text) else { throw UsageError("\(text.quoted) is taken; choose another name") }
        guard text.utf8.count <= FileName.longest else {
            throw UsageError("\(text.quoted) is longer than \(FileName.longest) bytes")
        }
        return text
    }

    private static func isStateDirectory(_ name: String) -> Bool {
        PathKey(ofFile: name) == PathKey(ofFile: stateDirectory)
    }

    /// The path of a name in a directory, as short as it goes.
    static func path(_ name: String, in directory: String) -> String {
        if directory == "." { return name }
        return directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    /// Separators of any system, and what would not be seen; but for the two joiners that scripts and emoji need.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "/", "\\": true
        case "\u{200C}", "\u{200D}": false
        case _: scalar.isDisruptive
        }
    }
}
