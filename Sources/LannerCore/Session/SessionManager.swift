import Foundation

/// Downloads files.
public final class SessionManager: Sendable {
    init() {}
}
