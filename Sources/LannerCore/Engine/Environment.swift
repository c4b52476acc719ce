/// The seams a manager works over, besides transport and store.
package struct Environment: Sendable {
    package var clock: any SessionManager.Clock
    package var fileSystem: any FileSystem
    package var lanes: any LaneFactory
    package var network: any NetworkMonitor
    /// Makes the hashers of files and pieces.
    package var makeHasher: Checksum.HasherProvider
    /// Where links come from; nil for nowhere.
    package var links: (any LinkSource)?
    /// The lane of callbacks that asked for the main queue.
    package var mainLane: any Lane
    /// The lane of the other callbacks; nil for the manager's operation queue.
    package var operationLane: (any Lane)?
    /// So long a caller carries out what it has asked for: whoever calls for many is not to wait for all of them.
    package var patience: Duration
    /// Decides the jitter of retries.
    package var seed: UInt64
    /// Whether the machine writes down in which states it meets which events.
    package var notesCoverage: Bool

    /// Everything real, unless said otherwise.
    package init(
        clock: any SessionManager.Clock = SystemClock(), fileSystem: any FileSystem = PosixFileSystem(),
        lanes: any LaneFactory = PooledLanes(), network: any NetworkMonitor = DefaultNetworkMonitor.make(),
        makeHasher: @escaping Checksum.HasherProvider = { $0.makeHasher() }, links: (any LinkSource)? = nil,
        mainLane: any Lane = DispatchLane(.main), operationLane: (any Lane)? = nil,
        patience: Duration = .milliseconds(1), seed: UInt64 = .random(in: 0 ... .max), notesCoverage: Bool = false
    ) {
        self.clock = clock
        self.fileSystem = fileSystem
        self.lanes = lanes
        self.network = network
        self.makeHasher = makeHasher
        self.links = links
        self.mainLane = mainLane
        self.operationLane = operationLane
        self.patience = patience
        self.seed = seed
        self.notesCoverage = notesCoverage
    }

    var publisher: Publisher { Publisher(fileSystem: fileSystem, makeHasher: makeHasher) }
}
