import Foundation
import LannerMachine

/// How files are named.
package enum FileName {
    /// The most bytes of a name that file systems in use hold.
    package static let longest = 255

    /// The name of a URL's file when none is given: the MD5 of the URL, with its path's extension where that
    /// is fit for every file system.
    static func standard(for url: URL) -> String {
        var hasher = Checksum.MD5()
        var text = url.absoluteString
        let plain = text.withUTF8 { bytes in
            hasher.update(UnsafeRawBufferPointer(bytes))
            return plainExtension(URIReference.Parts(bytes[...]).path)
        }
        let digest = Checksum.Digest(algorithm: .md5, of: hasher).hexadecimal
        if let plain { return digest + "." + plain }
        let suffix = url.pathExtension
        let name = digest + "." + suffix
        return !suffix.isEmpty && suffix.utf8.count <= longestExtension && safe(name) == name ? name : digest
    }

    private static let longestExtension = 32

    /// The extension of a path that ends in one of letters and digits, which nothing has to be asked about: as most do.
    private static func plainExtension(_ path: some ByteSlice) -> String? {
        let isPlain = { (byte: UInt8) in FieldText.isLetter(byte) || FieldText.isDigit(byte) }
        guard let dot = path.lastIndex(where: { !isPlain($0) }), path[dot] == UInt8(ascii: "."),
            let before = path[..<dot].last, isPlain(before)
        else { return nil }
        let suffix = path[(dot + 1)...]
        return (1...longestExtension).contains(suffix.count) ? String(decoding: suffix, as: UTF8.self) : nil
    }

    /// The last component of a URL's path, made safe; nil when it has none that is of use.
    static func lastComponent(of url: URL) -> String? {
        let path = url.path(percentEncoded: true)
        guard let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map({ String(Substring($0)) }) else {
            return nil
        }
        return safe(last.utf8.contains(UInt8(ascii: "%")) ? last.removingPercentEncoding ?? last : last)
    }

    /// The name that the server gave in its answer, made safe; nil when it gave none that is of use.
    static func served(_ head: ResponseHead) -> String? {
        ContentDisposition(fields: head.fields)?.fileName.flatMap(safe)
    }

    /// Whether a text can be the name of a file in a directory, and of nothing outside it.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text != "." && text != ".." && text.utf8.count <= longest
            && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    /// Another name of the same kind: "name 2.ext" for "name.ext".
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = parts(of: name)
        let ending = " \(number)" + suffix
        return cut(stem, to: longest - ending.utf8.count) + ending
    }

    /// As much of a name as a file system holds, with its extension.
    package static func cut(_ name: String) -> String {
        guard name.utf8.count > longest else { return name }
        let (stem, suffix) = parts(of: name)
        return cut(stem, to: longest - suffix.utf8.count) + suffix
    }

    /// What comes before the extension, and the extension with its dot: a short one, or none.
    static func parts(of name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex, name[dot...].utf8.count <= 32 else {
            return (name[...], "")
        }
        let stem = name[..<dot]
        // The two of "name.tar.gz" belong together.
        let isArchive = stem.count > 4 && stem.lowercased().hasSuffix(".tar")
        let end = isArchive ? stem.index(stem.endIndex, offsetBy: -4) : dot
        return (name[..<end], name[end...])
    }

    /// As much of the beginning as so many bytes hold: whole characters, or, when not even one fits, whole code points.
    static func cut(_ text: Substring, to bytes: Int) -> String {
        var length = 0
        let characters = text.prefix {
            length += $0.utf8.count
            return length <= bytes
        }
        if !characters.isEmpty || text.isEmpty { return String(characters) }
        length = 0
        return String(
            text.unicodeScalars.prefix {
                length += UTF8.width($0)
                return length <= bytes
            })
    }
}
