import Foundation
import LannerCore

/// Which transport a manager uses when it is given none.
public enum DefaultTransport {
    /// For a manager of an identifier, whose unfinished files are in a directory: download tasks of a background session on
    /// iOS, tvOS, watchOS and visionOS; else, for an empty identifier, and in app extensions, those of watchOS apart, as
    /// ``make()``.
    public static func make(identifier: String, directory: String) -> any Transport {
        #if canImport(Darwin) && !os(macOS)
        // The system has no background sessions without one.
        if identifier.isEmpty { return make() }
        #if !os(watchOS)
        // Of an extension the system takes background sessions only that share a container with its app. On a watch the
        // app may be one itself.
        if Bundle.main.bundleURL.pathExtension == "appex" { return make() }
        #endif
        let name =
            "Background-"
            + identifier.replacingOccurrences(of: "%", with: "%25")
            .replacingOccurrences(of: "/", with: "%2F")
        let url = URL(fileURLWithPath: directory, isDirectory: true)
            .appendingPathComponent(name, isDirectory: true)
        return URLSessionBackgroundTransport(identifier: identifier, directory: url)
        #else
        return make()
        #endif
    }

    /// Transfers for the time the process runs: download tasks on Apple platforms, data tasks on Linux.
    public static func make() -> any Transport {
        #if canImport(Darwin)
        URLSessionDownloadTransport()
        #else
        URLSessionTransport()
        #endif
    }
}
