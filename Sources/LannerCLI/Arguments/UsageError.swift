/// The command cannot be carried out as it was written.
struct UsageError: Error, Sendable, Equatable {
    /// What is wrong and, where that is not plain, what to do: a line for each thing that is.
    var lines: [String]
    /// The same in one text.
    var message: String { lines.joined(separator: "\n") }

    init(_ message: String) {
        lines = [message]
    }

    fileprivate init(lines: [String]) {
        self.lines = lines
    }
}

/// What is wrong with a list: all of it is told at once, as far as anybody reads.
struct ListProblems {
    private static let most = 20

    private var lines: [String] = []
    private var count = 0

    mutating func note(_ message: String, at place: String) {
        count += 1
        if count <= Self.most { lines.append((place.isEmpty ? "" : place + ": ") + message) }
    }

    /// Throws what there is, if anything.
    func check() throws(UsageError) {
        if lines.isEmpty { return }
        let more = count - lines.count
        throw UsageError(lines: lines + (more > 0 ? ["and \(more) more of the kind"] : []))
    }
}
