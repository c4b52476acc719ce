import Lanner

/// Texts from outside, made fit for one line on a terminal.
extension String {
    /// Control characters and others that would change what the line looks like are written as escapes.
    var printable: String { isGraphic ? self : FieldText.printable(unicodeScalars) }

    /// In quotation marks, printable, and not too long to read.
    var quoted: String {
        let shown = count > 200 ? prefix(200) + "…" : self[...]
        return "“" + String(shown).printable + "”"
    }

    /// The same of an argument, which may be a URL with a password where none is expected.
    var quotedArgument: String { Destination.redacted(self).quoted }

    /// Whether it is of visible ASCII only, as most texts are: much sooner said than anything of Unicode.
    var isGraphic: Bool { utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }

    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
