import Lanner

extension Int64 {
    /// Reads a number of bytes a second as curl and wget do: `k`, `m` and `g`, in either case, are powers of 1024.
    static func rate(_ text: String) throws(UsageError) -> Int64 {
        let shift = ["k": 10, "m": 20, "g": 30][text.suffix(1).lowercased()]
        let digits = shift == nil ? text[...] : text.dropLast()
        let isNumber =
            !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let number = Int64(digits), number > 0, number <= .max >> Int64(shift ?? 0) else {
            throw UsageError(
                "--limit-rate needs a whole number of bytes a second, at least 1, with k, m or g behind it for powers of "
                    + "1024; not \(text.quoted)")
        }
        return number << Int64(shift ?? 0)
    }
}

extension DownloadPriority {
    private static let words: KeyValuePairs<String, DownloadPriority> = [
        "very-low": .veryLow, "low": .low, "normal": .normal, "high": .high, "very-high": .veryHigh,
    ]

    /// What is written on a command line.
    var word: String { Self.words.first { $0.value == self }?.key ?? "\(rawValue)" }

    /// Reads the option's value.
    static func argument(_ text: String) throws(UsageError) -> DownloadPriority {
        guard let word = words.first(where: { $0.key == text }) else {
            let names = words.map(\.key).joined(separator: ", ")
            throw UsageError("there is no priority \(text.quoted); there are \(names)")
        }
        return word.value
    }
}
