import Foundation
import LannerMachine

// Names from outside: what a server or a URL calls a file, made a name that every file system takes and that looks like
// what it is.

extension FileName {
    /// Makes a name of any text; nil when nothing is left of it.
    static func safe(_ text: String) -> String? {
        let fit = text.utf8.allSatisfy(isPlain) ? text : harmless(text)
        let name = shortened(trimmed(fit[...]))
        // Looked at last: what was cut off may have made the difference.
        let free = isReserved(name) || isOwn(name) ? shortened("_\(name)") : name
        return isName(free) ? free : nil
    }

    // MARK: Characters

    /// What most names are made of, which no file system minds.
    private static func isPlain(_ byte: UInt8) -> Bool {
        FieldText.isLetter(byte) || FieldText.isDigit(byte) || "-._".utf8.contains(byte)
    }

    private static func harmless(_ text: String) -> String {
        var seen = String.UnicodeScalarView()
        seen.append(contentsOf: text.unicodeScalars.lazy.filter { !isUnseen($0) })
        // Composed once all is gone that could stand between a letter and its mark.
        let composed = String(seen).precomposedStringWithCanonicalMapping
        return String(String.UnicodeScalarView(composed.unicodeScalars.map { isForbidden($0) ? "_" : $0 }))
    }

    /// Whether a code point is not seen, or changes how others are seen: a name with it is not what it looks like.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Unix takes all but one of them; terminals act on them.
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case _:
            // Direction: "exe.jpg" is shown for "gpj.exe". Noncharacters: some file systems refuse them.
            scalar.properties.isBidiControl || scalar.properties.isNoncharacterCodePoint
                || zeroWidth.contains(scalar)
        }
    }

    /// Spaces and joiners without width, soft hyphen, byte order mark. Not the two joiners that scripts and emoji need.
    private static let zeroWidth: Set<Unicode.Scalar> = [
        "\u{AD}", "\u{200B}", "\u{2060}", "\u{2061}", "\u{2062}", "\u{2063}", "\u{2064}", "\u{FEFF}",
    ]

    /// Whether a code point separates directories somewhere, or is one that FAT and Windows do not take.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": true
        case _: false
        }
    }

    // MARK: Ends

    /// Without dots and spaces at its ends: a dot in front hides a file, Windows drops those behind.
    private static func trimmed(_ text: Substring) -> Substring {
        text.trimmed { $0 == "." || $0.properties.isWhitespace }
    }

    /// No longer than a name may be, with its extension.
    private static func shortened(_ name: Substring) -> String {
        guard name.utf8.count > longest else { return String(name) }
        return String(trimmed(Substring(cut(String(name)))))
    }

    // MARK: Names

    /// Whether Windows takes the name for a device, whatever its extension.
    private static func isReserved(_ name: String) -> Bool {
        let base = trimmed(Substring(name.utf8.prefix { $0 != UInt8(ascii: ".") }))
        return base.utf8.count <= longestDevice && devices.contains(base.uppercased())
    }

    private static let devices: Set<String> = {
        let numbers = "0123456789¹²³"
        return Set(["CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$"])
            .union(numbers.flatMap { ["COM\($0)", "LPT\($0)"] })
    }()

    private static let longestDevice = devices.map(\.utf8.count).max() ?? 0

    /// Whether the library has files of that name, which may lie in the same directory. Some file systems see no
    /// difference between capitals and small letters.
    static func isOwn(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == StoreFileName.lock || name == Cache.lockName || StoreFileName.isOfRecords(name)
            || PartialName(name) != nil || PartialName(ofCopy: name) != nil
    }
}

extension Substring {
    /// Without such code points at its ends.
    func trimmed(of isEdge: (Unicode.Scalar) -> Bool) -> Substring {
        let scalars = unicodeScalars.drop(while: isEdge)
        guard let last = scalars.lastIndex(where: { !isEdge($0) }) else { return "" }
        return Substring(scalars[...last])
    }
}
