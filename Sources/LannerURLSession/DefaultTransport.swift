import LannerCore

/// Which transport a manager uses when it is given none.
public enum DefaultTransport {
    /// Download tasks on Apple platforms, data tasks on Linux.
    public static func make() -> any Transport {
        #if canImport(Darwin)
        URLSessionDownloadTransport()
        #else
        URLSessionTransport()
        #endif
    }
}
