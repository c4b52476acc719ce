import Foundation
import Lanner

/// The two standard streams. A line is written as one piece, so that lines of several threads do not mix.
enum Console {
    /// Writes a line to standard output; false when no one reads it any more.
    static func output(_ line: String) -> Bool { write(line + "\n", to: .standardOutput) }

    /// Writes a line to standard error.
    static func message(_ line: String) { write(line + "\n", to: .standardError) }

    /// Writes an error line to standard error.
    static func error(_ reason: String) { message("lanner: " + reason.printable) }

    /// Writes text as it is to standard error.
    static func draw(_ text: String) { write(text, to: .standardError) }

    private static let lock = Locked(())

    @discardableResult
    private static func write(_ text: String, to stream: FileHandle) -> Bool {
        lock.withLock { _ in (try? stream.write(contentsOf: Data(text.utf8))) != nil }
    }
}
