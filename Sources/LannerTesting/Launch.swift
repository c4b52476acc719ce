import Foundation
import LannerCore
import LannerMachine

/// One life of a process on a ``TestBench``.
final class Launch: Sendable {
    /// What outlives the process.
    struct Parts: Sendable {
        var transport: ScriptedTransport
        /// What a manager uses, made of the scripted transport.
        var makeTransport: @Sendable (any Transport) -> any Transport = { $0 }
        var clock: ManualClock
        var disk: MemoryDisk
        /// Stands before the store of every launch.
        var store: FaultyStore?
        /// What keeps the records in the end, made of where they are.
        var makeStore: @Sendable (any Store) -> any Store = { $0 }
        var log: any Logable
        var lanes: ManualLanes
        var seed: UInt64
        var network = ManualNetwork()
        /// See `Cache.allowedDirectories`.
        var allowedDirectories: [String] = []
        var links: ManualLinks?
        /// Gives links where those do not.
        var linkProvider: DownloadLink.Provider?
        var makeHasher: Checksum.HasherProvider = { $0.makeHasher() }
        var notesCoverage = false
        /// So long a caller carries out what it has asked for; no time passes in a call here, but none may be granted
        /// either.
        var patience = Duration.milliseconds(1)
        /// Whether an exchange that is canceled ends some time later, as those of other processes do.
        var cancelsLater = false
        /// Called by whoever is about to hand changes to the store, has begun an exchange, or has canceled one.
        var meanwhile: @Sendable () -> Void = {}
    }

    let parts: Parts
    let manager: SessionManager
    private let network: LaunchTransport
    private let records: LaunchStore
    /// Where the records are in the end.
    private let store: any Store
    private let lanes: LaunchLanes
    /// What the provider is asked; nil without one.
    private let links: AwaitedLinks?

    /// Where the cache is.
    static let downloadPath = "/downloads"

    /// With a store in the place of the one that is made, and of any before that, if there is one.
    init(
        _ parts: Parts, _ configuration: SessionConfiguration, store given: (any Store)? = nil,
        _ makeStore: (any LaneFactory) -> any Store
    ) {
        self.parts = parts
        lanes = LaunchLanes(parts.lanes)
        network = LaunchTransport(
            parts.transport, parts.cancelsLater ? lanes.makeLane("transport") : nil, meanwhile: parts.meanwhile)
        let base = given ?? makeStore(lanes)
        let whole = given ?? parts.makeStore(base)
        store = whole is MemoryStore ? whole : base
        // It would call on threads that nobody here waits for.
        (store as? MemoryStore)?.use(lanes)
        parts.store?.relaunch(whole)
        records = LaunchStore(parts.store ?? whole, meanwhile: parts.meanwhile)
        let mainLane = lanes.makeLane("main")
        links = parts.linkProvider.map { [lanes] in AwaitedLinks($0, on: lanes.makeLane("links")) }
        let environment = Environment(
            clock: parts.clock, fileSystem: parts.disk, lanes: lanes, network: parts.network,
            makeHasher: parts.makeHasher, links: parts.links ?? links, mainLane: mainLane,
            operationLane: lanes.makeLane("operation"), patience: parts.patience, seed: parts.seed,
            notesCoverage: parts.notesCoverage)
        let cache = Cache(
            parts.log.identifier, downloadPath: Self.downloadPath, allowedDirectories: parts.allowedDirectories,
            on: parts.disk, lane: lanes.makeLane("cache"), mainLane: mainLane)
        manager = SessionManager(
            parts.log.identifier, configuration: configuration, transport: parts.makeTransport(network), store: records,
            logger: parts.log, cache: cache, operationQueue: .global(), environment: environment)
    }

    /// What the store holds, if it is one in memory.
    var contents: [String: Data] { (store as? MemoryStore)?.contents ?? [:] }

    /// Whether the provider has been asked for a link that it has not given.
    var waitsForLink: Bool { links.map { $0.asked > 0 } ?? false }

    /// How many links have been asked for and not been given, wherever they come from.
    var awaitedLinks: Int { (links?.asked ?? 0) + (parts.links?.awaitedCount ?? 0) }

    /// How many commits its store could not keep.
    var failedCommits: Int { records.failures.withLock { $0 } }

    /// Nothing of this launch does anything any more.
    func die() {
        network.die()
        records.die()
        lanes.die()
        parts.lanes.abandon()
        parts.clock.abandon()
        parts.links?.abandon()
        parts.disk.endProcess()
        manager.abandon()
    }
}

/// The bench's transport as long as the process lives: an old manager that is let go later cannot harm a new one.
private final class LaunchTransport: Transport {
    private enum Phase {
        case open
        case invalidated
        case dead
    }

    let traits: TransportTraits
    private let transport: ScriptedTransport
    /// Where exchanges are canceled; nil for at once.
    private let lane: (any Lane)?
    private let meanwhile: @Sendable () -> Void
    private let phase = Locked(Phase.open)

    init(_ transport: ScriptedTransport, _ lane: (any Lane)?, meanwhile: @escaping @Sendable () -> Void) {
        self.transport = transport
        self.lane = lane
        self.meanwhile = meanwhile
        traits = transport.traits
    }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        switch phase.withLock({ $0 }) {
        case .open:
            let exchange = LaunchExchange(
                transport.begin(request, receive: failingLater(receive)), lane, meanwhile: meanwhile)
            meanwhile()
            return exchange
        case .invalidated: receive(.failure(ScriptedTransport.unavailable))
        case .dead: break
        }
        return NoExchange()
    }

    /// The last word of what went wrong comes a little later, where that is so of cancellations.
    private func failingLater(
        _ receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> @Sendable (TransportEvent) -> Void {
        guard let lane else { return receive }
        return { event in
            if case .failure = event { lane.run { receive(event) } } else { receive(event) }
        }
    }

    func invalidate() {
        let wasOpen = phase.withLock { phase in
            guard case .open = phase else { return false }
            phase = .invalidated
            return true
        }
        if wasOpen { transport.endAll() }
    }

    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) {
        transport.recover { [weak self] recovery in
            if let self, case .open = phase.withLock({ $0 }) { report(recovery) }
        }
    }

    func discard(_ name: String) {
        if case .open = phase.withLock({ $0 }) { transport.discard(name) }
    }

    func die() {
        phase.withLock { $0 = .dead }
        transport.abandon()
    }
}

/// An exchange; others may go on while it is canceled.
private final class LaunchExchange: TransportExchange {
    private let exchange: any TransportExchange
    private let lane: (any Lane)?
    private let meanwhile: @Sendable () -> Void

    init(_ exchange: any TransportExchange, _ lane: (any Lane)?, meanwhile: @escaping @Sendable () -> Void) {
        self.exchange = exchange
        self.lane = lane
        self.meanwhile = meanwhile
    }

    func cancel() {
        if let lane { Self.cancel(exchange, lane, after: 4) } else { exchange.cancel() }
        meanwhile()
    }

    /// Behind whatever was begun before, and some time later.
    private static func cancel(_ exchange: any TransportExchange, _ lane: any Lane, after turns: Int) {
        if turns == 0 { return exchange.cancel() }
        lane.run { cancel(exchange, lane, after: turns - 1) }
    }

    func pause() { exchange.pause() }
    func resume() { exchange.resume() }
    var outlivesProcess: Bool { exchange.outlivesProcess }
}

/// The store as long as the process lives.
private final class LaunchStore: Store {
    private let store: any Store
    private let meanwhile: @Sendable () -> Void
    private let isDead = Locked(false)
    let failures = Locked(0)

    init(_ store: any Store, meanwhile: @escaping @Sendable () -> Void) {
        self.store = store
        self.meanwhile = meanwhile
    }

    func load() throws -> StoreContents { try store.load() }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if isDead.withLock({ $0 }) { return }
        meanwhile()
        store.commit(changes, durability: durability) { [failures] result in
            if case .failure = result { failures.withLock { $0 += 1 } }
            completion(result)
        }
    }

    func close() {
        if !isDead.withLock({ $0 }) { store.close() }
    }

    func die() {
        isDead.withLock { $0 = true }
    }
}

/// Links from a provider of a user's, which has threads of its own. Its answers come on a lane.
private final class AwaitedLinks: LinkSource {
    private let links: ProvidedLinks
    /// Those that are to be answered, by number, and how many there were.
    private let calls = Locked((awaited: Set<Int>(), count: 0))

    init(_ provider: @escaping DownloadLink.Provider, on lane: any Lane) {
        links = ProvidedLinks(provider, on: lane)
    }

    /// How many answers are to come.
    var asked: Int { calls.withLock { $0.awaited.count } }

    func ask(
        _ request: DownloadLink.Request, _ answer: @escaping @Sendable (Result<DownloadLink?, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let number = calls.withLock { calls in
            calls.count += 1
            calls.awaited.insert(calls.count)
            return calls.count
        }
        let cancel = links.ask(request) { [calls] result in
            calls.withLock { _ = $0.awaited.remove(number) }
            answer(result)
        }
        return { [calls] in
            // Who is canceled may never answer, and nobody waits for that.
            calls.withLock { _ = $0.awaited.remove(number) }
            cancel()
        }
    }
}

/// The bench's lanes as long as the process lives.
private final class LaunchLanes: LaneFactory {
    private struct LaunchLane: Lane {
        let lane: any Lane
        let lanes: LaunchLanes

        func run(_ work: @escaping @Sendable () -> Void) {
            if !lanes.isDead.withLock({ $0 }) { lane.run(work) }
        }
    }

    private let lanes: ManualLanes
    private let isDead = Locked(false)

    init(_ lanes: ManualLanes) {
        self.lanes = lanes
    }

    func makeLane(_ label: String) -> any Lane {
        LaunchLane(lane: lanes.makeLane(label), lanes: self)
    }

    func wait(for latch: Latch) {
        if !isDead.withLock({ $0 }) { lanes.wait(for: latch) }
    }

    func die() {
        isDead.withLock { $0 = true }
    }
}
