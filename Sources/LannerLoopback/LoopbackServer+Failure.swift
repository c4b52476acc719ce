import Foundation

extension LoopbackServer {
    /// Why the server could not do what it was asked for.
    public enum Failure: Error, Sendable, Hashable {
        /// A system call failed: its name and `errno`.
        case system(call: String, code: Int32)
        /// The server was stopped while someone waited for it.
        case stopped

        static func system(_ call: String) -> Failure {
            .system(call: call, code: errno)
        }
    }
}

extension LoopbackServer.Failure: LocalizedError, CustomStringConvertible {
    /// One sentence for a person.
    public var errorDescription: String? { description }
    /// One sentence for a person.
    public var description: String {
        switch self {
        case .system(let call, let code):
            "\(call) failed: \(NSError(domain: NSPOSIXErrorDomain, code: Int(code)).localizedDescription)."
        case .stopped: "The server was stopped while it was waited for."
        }
    }
}
