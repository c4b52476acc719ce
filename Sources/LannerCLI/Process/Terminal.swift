import Foundation

/// The terminal that standard error is shown on.
struct Terminal: Sendable, Equatable {
    var width: Int
    var height: Int

    /// The terminal as it is now; nil when there is none, or one that cannot move its cursor.
    static var current: Terminal? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        switch ProcessInfo.processInfo.environment["TERM"] {
        case nil, "", "dumb": return nil
        case .some: break
        }
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Terminal(width: 80, height: 24)
        }
        return Terminal(width: Int(size.ws_col), height: Int(size.ws_row))
    }
}
