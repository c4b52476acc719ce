/// The command cannot be carried out as it was written.
struct UsageError: Error, Sendable, Equatable {
    /// What is wrong and, where that is not plain, what to do; a line for each thing that is.
    var message: String

    init(_ message: String) {
        self.message = message
    }
}

/// What is wrong with a list: all of it is told at once, as far as anybody reads.
struct ListProblems {
    private static let most = 20

    private var messages: [String] = []

    mutating func note(_ message: String, at place: String) {
        messages.append((place.isEmpty ? "" : place + ": ") + message)
    }

    /// Throws what there is, if anything.
    func check() throws(UsageError) {
        if messages.isEmpty { return }
        let more = messages.count - Self.most
        let rest = more > 0 ? ["and \(more) more of the kind"] : []
        throw UsageError((messages.prefix(Self.most) + rest).joined(separator: "\n"))
    }
}
