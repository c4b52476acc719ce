import Lanner

/// One line of the live display: percent, a bar, size, speed, time left, name.
enum Bar {
    /// The line, at most as wide as asked for; what matters least is left out first.
    static func line(_ standing: Standing, label: String, width: Int) -> String {
        let percent = standing.fraction.map { "\(Int($0 * 100))%" } ?? "-"
        let time = standing.total != nil && standing.speed > 0 ? Figures.time(standing.timeLeft) : "--:--"
        var columns = [padded(percent, 4)]
        if width >= 76 { columns.append(bar(standing.fraction, cells: 16)) }
        columns.append(padded(Figures.bytes(standing.total ?? standing.bytes), 8))
        if width >= 40 { columns.append(padded(Figures.speed(standing.speed), 10)) }
        if width >= 56 { columns.append(padded(time, 7)) }
        return cut(columns.joined(separator: " ") + " " + label.printable, to: width)
    }

    /// The first columns of a text, with an ellipsis where something is missing.
    static func cut(_ text: String, to width: Int) -> String {
        guard columns(of: text) > width else { return text }
        guard width > 0 else { return "" }
        var result = text[...]
        while columns(of: result) > width - 1 { result.removeLast() }
        return result + "…"
    }

    /// How many columns of a terminal a text takes.
    static func columns(of text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + ($1.unicodeScalars.contains(where: isWide) ? 2 : 1) }
    }

    /// The blocks of East Asian scripts, and pictographs, which take two columns; a flag is two letters of these.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            true
        // Asks for the pictograph of the character before it.
        case 0xFE0F: true
        case _: scalar.properties.isEmojiPresentation
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func bar(_ fraction: Double?, cells: Int) -> String {
        let full = Int((fraction ?? 0) * Double(cells))
        return "[" + String(repeating: "=", count: full) + String(repeating: " ", count: cells - full) + "]"
    }
}
