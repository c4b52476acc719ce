import Dispatch
@_exported import LannerCore
@_exported import LannerURLSession

extension SessionManager {
    /// Makes a manager over the default transport, and restores the downloads of its records.
    ///
    /// The same as the initializer with a `transport`, which describes the parameters, over URLSession. On iOS, tvOS,
    /// watchOS and visionOS that is a background session of the same identifier, but in app extensions (those of watchOS
    /// apart): transfers go on while the app is suspended or dead, see ``completionHandler``. For transfers that end with
    /// the process, as where nothing is remembered, give `DefaultTransport.make()`.
    public convenience init(
        _ identifier: String, configuration: SessionConfiguration = SessionConfiguration(),
        store: (any Store)? = nil, clock: (any Clock)? = nil, network: (any NetworkMonitor)? = nil,
        logger: (any Logable)? = nil, cache: Cache? = nil, operationQueue: DispatchQueue? = nil,
        linkProvider: DownloadLink.Provider? = nil, hasherProvider: Checksum.HasherProvider? = nil
    ) {
        let cache = cache ?? Cache(identifier)
        self.init(
            identifier, configuration: configuration,
            transport: DefaultTransport.make(identifier: identifier, directory: cache.downloadTmpPath),
            store: store, clock: clock, network: network, logger: logger, cache: cache, operationQueue: operationQueue,
            linkProvider: linkProvider, hasherProvider: hasherProvider)
    }
}
