/// The command cannot be carried out as it was written.
struct UsageError: Error, Sendable, Equatable {
    /// What is wrong and, where that is not plain, what to do; one line.
    var message: String

    init(_ message: String) {
        self.message = message
    }
}
