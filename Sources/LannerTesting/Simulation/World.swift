import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

/// A world for a `SessionManager`, in which everything that can go wrong does: servers that fail, lie and change their
/// files, a network that comes and goes, a disk that fills up and fails, deaths of the process and of the machine at any
/// moment, and a user who calls the manager at random.
///
/// The manager, its engine, its partial files and its `FileStore` are the real ones. There is one thread and one seed:
/// equal seeds give the same run, step by step, on any machine.
///
/// ```swift
/// let world = World(seed: 7)
/// try world.run(steps: 1000)
/// ```
///
/// Use it from one thread.
public final class World {
    /// Which run this is.
    public let seed: UInt64
    /// How many steps there were.
    public internal(set) var steps = 0
    /// How many more there were in the middle of those, as on other threads; not in every world there are.
    public var innerSteps: Int { meanwhile.steps }
    /// A number over everything that happened; the same for every run with this seed.
    public var traceHash: UInt64 { chronicle.hash }
    /// Everything that happened, a line each; only kept when the world was asked to.
    public var trace: [String] { chronicle.lines }

    /// The present manager.
    public var manager: SessionManager { launch.manager }

    /// The files that the simulated servers have; each may have several versions over time.
    public var files: [URL] { servers.sites.map(\.url) }
    /// Whether the world's own user stays quiet, so that only code of yours calls the manager. The servers do not send
    /// wrong bytes then, which nobody without a checksum can notice.
    public var isUserQuiet = false

    let chronicle: Chronicle
    let clock = ManualClock()
    let disk = MemoryDisk()
    let transport: ScriptedTransport
    let lanes = ManualLanes()
    let meanwhile: Meanwhile
    /// Tells nothing in every second world, as where nothing tells of networks.
    let network: ManualNetwork
    /// Where links come from; in every second world from nowhere.
    let links: ManualLinks?
    var random: SeededGenerator
    let servers: Servers
    var launch: Launch
    var auditor: Auditor
    let lookout: Lookout
    /// What the machine has met, over all launches.
    var coverage = Coverage()
    /// Whether a partial file was synced in the present step.
    private let hasSynced = Locked(false)
    /// For how many more steps bytes come slowly everywhere.
    private var slowSteps = 0
    /// The same for every launch: two downloads may have one place only where all replace.
    let conflictPolicy: FileConflictPolicy
    /// Where files are that are none of the manager's.
    private(set) var foreignPaths: [String] = []
    /// Files that have come back with a second name: a manager may leave one there.
    var spared: Set<String> = []
    /// An unfinished file of another manager, which has the same directory for these.
    static let foreignPart = "/downloads/Tmp/1234567890abcdef-1-1.part"
    private let skipped: Set<Int>
    private var launched: (SessionManager) -> Void = { _ in }

    /// A world that has not begun.
    ///
    /// - Parameters:
    ///   - seed: Decides everything.
    ///   - keepsTrace: Whether ``trace`` is kept.
    public convenience init(seed: UInt64, keepsTrace: Bool = false) {
        self.init(seed: seed, keepsTrace: keepsTrace, skipping: [])
    }

    /// The same world in which some steps do not happen; all others draw the same numbers.
    init(seed: UInt64, keepsTrace: Bool, skipping: Set<Int>) {
        self.seed = seed
        skipped = skipping
        let chronicle = Chronicle(keepsLines: keepsTrace)
        self.chronicle = chronicle
        var random = SeededGenerator(seed: seed)
        let mood = Self.mood(&random)
        transport = ScriptedTransport(
            traits: Self.traits(&random, mood), pieceLength: 1 << (8 + random.below(8)), clock: clock)
        transport.holdsAll = true
        servers = Servers(chronicle, transport, clock, areFilesLong: mood == .stormy, using: &random)
        lookout = Lookout(chronicle)
        let meanwhile = Meanwhile(chronicle, lanes, transport, servers, lookout, clock, mood)
        self.meanwhile = meanwhile
        network = ManualNetwork(random.chance(1, in: 2) ? NetworkPath(kind: .wifi) : nil)
        links = random.chance(1, in: 2) ? ManualLinks() : nil
        let parts = Launch.Parts(
            transport: transport, clock: clock, disk: disk, log: meanwhile, lanes: lanes, seed: random.next(),
            network: network, links: links, notesCoverage: true,
            patience: seed % 4 == 1 ? .zero : .milliseconds(1),
            cancelsLater: transport.traits.outlivesProcess || random.chance(1, in: 4),
            meanwhile: meanwhile.pass)
        conflictPolicy = Self.conflictPolicy(of: seed)
        launch = Launch(parts, Self.configuration(&random, conflictPolicy)) { Self.store(disk: parts.disk, $0) }
        auditor = Auditor(chronicle)
        let (isApart, ordersNames) = (random.chance(1, in: 4), random.chance(3, in: 4))
        (disk.mounts, disk.ordersNames) = (isApart ? [Self.foreignDirectory] : [], ordersNames)
        self.random = random
        if !transport.traits.hasResumeData {
            auditor.ranged = Set(servers.sites.filter(\.isRanged).flatMap { [$0.url, $0.alias] })
        }
        putForeignFile(at: Self.foreignDirectory + "/file-0.bin")
        disk.put(Self.foreign, at: Self.foreignPart)
        disk.state.withLock { $0.whileSyncing = whileSyncing }
        begin()
    }

    /// What the disk calls while it syncs a file.
    private var whileSyncing: @Sendable (String) -> Void {
        { [hasSynced, meanwhile] path in
            // A store syncs under its lock, where nobody else comes in.
            guard path.hasSuffix(".part") else { return }
            hasSynced.withLock { $0 = true }
            meanwhile.pass()
        }
    }

    /// What files have that are none of the manager's: of a length that no download has.
    static let foreign = [UInt8](repeating: 0x66, count: 20_000)
    private static let foreignDirectory = "/downloads/File"

    /// Puts a file in a place that downloads want, where it stays.
    func putForeignFile(at path: String) {
        foreignPaths.append(path)
        disk.put(Self.foreign, at: path)
    }

    /// Those that somebody has removed are no matter any more.
    func forgetForeignFiles() {
        foreignPaths.removeAll { disk.contents(of: $0) == nil }
    }

    /// Whose downloads there are.
    static let contexts: [String?] = [nil, "another user"]

    /// How often a download may try again without a gain, whatever the configuration.
    static let mostRetries = 3

    private static func traits(_ random: inout SeededGenerator, _ mood: Meanwhile.Mood) -> TransportTraits {
        // A storm is worst where much has begun.
        if mood == .stormy { return TransportTraits(delivery: .sliced(512...1024, inFlight: 3)) }
        return switch random.below(16) {
        case 0..<8: TransportTraits(delivery: .pausable)
        case 8, 9: TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: random.chance(3, in: 4))
        default: TransportTraits(delivery: .sliced(512...4096, inFlight: 1 + random.below(3)))
        }
    }

    private static func mood(_ random: inout SeededGenerator) -> Meanwhile.Mood {
        switch random.below(16) {
        case 0..<8: .quiet
        case 8..<14: .lively
        default: .stormy
        }
    }

    private static func conflictPolicy(of seed: UInt64) -> FileConflictPolicy {
        [.replace, .keepBoth, .fail][Int(seed % 3)]
    }

    static func configuration(
        _ random: inout SeededGenerator, _ conflictPolicy: FileConflictPolicy
    ) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.fileConflictPolicy = conflictPolicy
        configuration.fileNaming = FileNaming.allCases[random.below(3)]
        configuration.maxConcurrentTasksLimit = 1 + random.below(3)
        configuration.listLimits = random.chance(1, in: 2) ? ["a": 1 + random.below(2)] : [:]
        configuration.standardListLimit = 1 + random.below(3)
        configuration.maxConcurrentTasksPerHost = random.chance(1, in: 2) ? 1 + random.below(2) : nil
        configuration.allowsCellularAccess = random.chance(1, in: 2)
        configuration.refreshesLinksBeforeStart = random.chance(1, in: 8)
        configuration.waitsForDiskSpace = random.chance(1, in: 2)
        configuration.startsImmediately = !random.chance(1, in: 8)
        configuration.resumesAtLaunch = random.chance(1, in: 2)
        configuration.keepsPartialFileOnCancel = random.chance(1, in: 2)
        configuration.progressInterval = random.chance(1, in: 4) ? .seconds(1) : .zero
        configuration.minimumSpeed = random.chance(1, in: 4) ? 100 : 0
        configuration.maximumBytesPerSecond = random.chance(1, in: 4) ? Int64(2048 << random.below(5)) : nil
        configuration.retryPolicy.maximumRetries = random.below(mostRetries + 1)
        configuration.maxConnectionsPerDownload = 1 + random.below(4)
        configuration.firstConnections = 1 + random.below(4)
        configuration.smallestPiece = 256
        return configuration
    }

    static func store(disk: MemoryDisk, _ lanes: any LaneFactory) -> any Store {
        FileStore(directory: "/downloads", disk: disk, lanes: lanes, smallestCompaction: 1024)
    }

    /// Hands the present manager, and that of every later launch, to code of yours, as the start of a program would.
    public func atEveryLaunch(_ body: @escaping (SessionManager) -> Void) {
        launched = body
        body(manager)
    }

    func tellOfLaunch() {
        launched(manager)
    }

    // MARK: Running

    /// Takes so many steps, then lets all faults stop and sees every download to its end. May be called again: then the
    /// faults begin anew.
    ///
    /// - Throws: ``Violation``, the first rule that was broken; the world stops there.
    public func run(steps count: Int) throws(Violation) {
        beginFaults()
        for _ in 0..<count { try step() }
        try finish()
    }

    /// Lets one thing happen.
    ///
    /// - Throws: ``Violation`` when that broke a rule.
    public func step() throws(Violation) {
        steps += 1
        guard !skipped.contains(steps) else { return }
        random = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(steps))
        meanwhile.begin(SeededGenerator(seed: random.next()), hasUser: !isUserQuiet)
        happen()
        meanwhile.begin(nil)
        let hasSynced = hasSynced.withLock { hasSynced in
            defer { hasSynced = false }
            return hasSynced
        }
        if hasSynced { auditor.compareDurableClaims(of: manager, disk) }
        // Not each time: it looks at every byte.
        if steps % 64 == 0 {
            auditor.compareClaims(of: manager, servers.sites, disk)
            compareForeignFiles()
        }
        try check()
    }

    func check() throws(Violation) {
        lookout.look(at: manager, transport)
        if let violation = chronicle.violation { throw violation }
    }

    private func happen() {
        if slowSteps > 0 { return creep() }
        switch random.below(1000) {
        case 0..<500: work()
        case 500..<750: deliver()
        case 750..<825: pass()
        case 825..<830: slowSteps = Self.slowly
        case 830..<920: use()
        case 920..<935: disturb()
        case 935..<945: giveLink()
        case 945..<975: servers.serveOtherwise(lying: !isUserQuiet, using: &random)
        case 975..<985:
            // Much of what outlives the process shows at launch only.
            if transport.traits.outlivesProcess, random.chance(1, in: 2) { die() } else { changeNetwork() }
        case 985..<995: changeDisk()
        default: die()
        }
    }

    /// A piece of work that is queued; else bytes come.
    func work() {
        guard lanes.runAny(using: &random) else { return deliver() }
        chronicle.note("work", lanes.count)
        if random.chance(1, in: 32) { disturbTheRarest() }
    }

    /// Bytes come in one exchange; else time passes.
    func deliver() {
        let underway = transport.underwayExchanges
        guard !underway.isEmpty else { return pass() }
        let index = random.below(underway.count)
        let bytes: Int64? = random.chance(1, in: 8) ? nil : Int64(random.below(3) * 700)
        chronicle.note("deliver", index, Int(bytes ?? -1))
        underway[index].release(bytes)
    }

    /// Bytes come slowly everywhere, and what they make others do comes first: for so long that they are synced on the
    /// way.
    private func creep() {
        slowSteps -= 1
        if random.chance(7, in: 8), lanes.runAny(using: &random) { return chronicle.note("work", lanes.count) }
        chronicle.note("creep", transport.underway)
        if random.chance(1, in: 4) { servers.confuse(using: &random) }
        for exchange in transport.underwayExchanges { exchange.release(Int64(random.below(700))) }
        clock.advance(by: .seconds(2))
    }

    private static let slowly = 32

    /// Time passes, mostly up to when something is due.
    func pass() {
        let next = clock.nextDeadline.map { $0 - clock.now } ?? .seconds(1)
        let time: Duration = random.chance(1, in: 8) ? .milliseconds(random.below(90_000)) : max(next, .zero)
        chronicle.note("time", Int(time / .milliseconds(1)))
        clock.advance(by: time)
    }
}
