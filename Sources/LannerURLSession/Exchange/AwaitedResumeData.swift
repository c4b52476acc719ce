import Foundation

/// The resume data of a task that is stopped, of which is told twice, in either order: where they are asked for, and at the
/// task's end.
struct AwaitedResumeData {
    private var wasMissing = false

    /// Whether nothing more is to be waited for. There are none only when both say so: a task that had all its bytes says so
    /// at first, and then completes.
    mutating func isSettled(by data: Data?) -> Bool {
        defer { wasMissing = true }
        return data != nil || wasMissing
    }
}
