/// Why there can be no ``CurlTransport`` in this process.
public struct CurlUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is the matter with libcurl.
    public enum Reason: Sendable, Hashable {
        /// It is not installed, or cannot be loaded; in the loader's words.
        case notLoaded(String)
        /// It is older than ``CurlUnavailable/minimumVersion``; its own version.
        case tooOld(String)
        /// It is one that cannot be relied upon, whatever it is used for; its own version.
        case faulty(String)
    }

    /// The oldest libcurl that will do, of January 2020: the first whose wait can be interrupted from another thread.
    public static let minimumVersion = "7.68.0"

    /// What is the matter.
    public var reason: Reason

    /// Makes an error.
    public init(_ reason: Reason) {
        self.reason = reason
    }

    /// What is the matter and what to do, in one or two sentences.
    public var description: String {
        switch reason {
        case .notLoaded(let words):
            "libcurl cannot be loaded (\(words)). Install libcurl \(Self.minimumVersion) or later: \(Self.packages)."
        case .tooOld(let version):
            "libcurl \(version) is too old. Install libcurl \(Self.minimumVersion) or later: \(Self.packages)."
        case .faulty(let version):
            "libcurl \(version) breaks transfers off that have to pause. Install a later one: \(Self.packages)."
        }
    }

    private static let packages =
        "the package libcurl4 on Debian and Ubuntu, libcurl on Fedora, Amazon Linux and Alpine"
}
