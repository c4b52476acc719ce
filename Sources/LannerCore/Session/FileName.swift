import Foundation

/// How files are named.
enum FileName {
    /// The name of a URL's file when none is given: the MD5 of the URL, with its path's extension.
    static func standard(for url: URL) -> String {
        var hasher = Checksum.MD5()
        Array(url.absoluteString.utf8).withUnsafeBytes { hasher.update($0) }
        let digest = hasher.digest().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let suffix = url.pathExtension
        return isName(suffix) && suffix.utf8.count <= 32 ? digest + "." + suffix : digest
    }

    /// Whether a text can be the name of a file in a directory, and of nothing outside it.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
            && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }
}
