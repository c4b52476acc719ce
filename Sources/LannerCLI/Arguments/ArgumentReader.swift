/// Reads the words of a command line one after the other: options, their values, operands.
///
/// A value may follow as the next word, after `=` for a long option (`--retries=3`), or at once for a short one
/// (`-j8`). A short one without a value may be written together with the next (`-qj8`). Behind `--` there are only
/// operands; a lone `-` is one, too.
struct ArgumentReader {
    enum Word: Equatable {
        case option(String)
        case operand(String)
    }

    private var rest: ArraySlice<String>
    /// The option that was read last.
    private var option = ""
    /// A value that was written together with it, and was not asked for yet.
    private var attached: String?
    private var hasOnlyOperands = false
    /// The options whose only value has been read.
    private var settled: Set<String> = []

    init(_ words: some Sequence<String>) {
        rest = ArraySlice(Array(words))
    }

    /// The next word; nil at the end.
    mutating func next() throws(UsageError) -> Word? {
        if let attached {
            guard !option.hasPrefix("--"), !attached.hasPrefix("-") else {
                throw UsageError("\(option) takes no value")
            }
            split("-" + attached)
            return .option(option)
        }
        guard let word = rest.popFirst() else { return nil }
        if hasOnlyOperands || word == "-" || word.unicodeScalars.first != "-" { return .operand(word) }
        if word == "--" {
            hasOnlyOperands = true
            return try next()
        }
        split(word)
        return .option(option)
    }

    /// The value of the option that was read last, which has only one; `placeholder` stands for it in the error. Of an
    /// option with two names, `name` is one.
    mutating func value(_ placeholder: String, of name: String? = nil) throws(UsageError) -> String {
        let isFirst = settled.insert(name ?? option).inserted
        guard isFirst else { throw UsageError("\(option) is given twice; give it once") }
        return try repeatedValue(placeholder)
    }

    /// The same for a whole number within bounds.
    mutating func number(
        _ placeholder: String, in bounds: ClosedRange<Int>, of name: String? = nil
    ) throws(UsageError) -> Int {
        let text = try value(placeholder, of: name)
        guard let number = Int(text), bounds.contains(number), text.utf8.first != UInt8(ascii: "+") else {
            throw UsageError(
                "\(option) needs a whole number from \(bounds.lowerBound) to \(bounds.upperBound), not \(text.quotedArgument)"
            )
        }
        return number
    }

    /// A value of the option that was read last, which may have several.
    mutating func repeatedValue(_ placeholder: String) throws(UsageError) -> String {
        if let attached {
            self.attached = nil
            return attached
        }
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs \(placeholder)") }
        return value
    }

    /// By scalars: an accent that a value begins with makes one character with what is before it.
    private mutating func split(_ word: String) {
        let scalars = word.unicodeScalars
        if scalars.starts(with: "--".unicodeScalars) {
            let parts = scalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            option = String(parts[0])
            attached = parts.count > 1 ? String(parts[1]) : nil
        } else {
            option = String(scalars.prefix(2))
            attached = scalars.count > 2 ? String(scalars.dropFirst(2)) : nil
        }
    }
}
