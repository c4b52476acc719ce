import Dispatch
import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Where managers live, one after the other.
struct StressPlace {
    var disk: any FileSystem
    var cache: Cache
    var traits: TransportTraits
    /// The directory lives as long as this.
    var directory: TemporaryDirectory?

    /// One of each kind of transport, on both kinds of disk.
    static func make(_ number: Int) throws -> StressPlace {
        let directory = try TemporaryDirectory()
        let cache = Cache("stress", downloadPath: directory.path)
        let real = PosixFileSystem()
        switch number % 3 {
        case 0:
            let traits = TransportTraits(delivery: .pausable)
            return StressPlace(disk: MemoryDisk(), cache: Cache("stress", downloadPath: "/stress"), traits: traits)
        case 1:
            let traits = TransportTraits(delivery: .sliced(16 << 10...64 << 10, inFlight: 2))
            return StressPlace(disk: real, cache: cache, traits: traits, directory: directory)
        default:
            let traits = TransportTraits(delivery: .file, hasResumeData: true)
            return StressPlace(disk: real, cache: cache, traits: traits, directory: directory)
        }
    }
}

/// How a manager ends.
enum StressEnd: CaseIterable {
    /// When all has come to rest.
    case rest
    case thread
    case mainQueue
    case operationQueue
    case logger
    /// Nobody holds it any more.
    case release
}

/// The life of one manager under calls from everywhere.
final class StressRound: Sendable {
    static let threads = 8
    static let contexts: [String?] = [nil, "guest"]

    let place: StressPlace
    let transport: StressTransport
    let network = ManualNetwork(NetworkPath())
    /// The network changes on one thread at a time.
    let networkQueue = DispatchQueue(label: "stress.network")
    /// Closed as long as some questions for a link are not answered.
    let linkGate = Ledger()
    /// Closed as long as nobody has asked for a link.
    private let firstQuestion = Ledger()
    /// One-shot handlers.
    let handlers = Ledger()
    /// Calls under way, and threads.
    let work = Ledger()
    /// Swift tasks that wait for what happens to a download.
    let listeners = Ledger()
    /// Swift tasks that wait for what happens to the manager, up to its end.
    let followers = Ledger()
    let coverage: StressCoverage
    private let held = Locked<SessionManager?>(nil)
    private let observations = Locked<[EventObservation]>([])
    /// How many calls are made inside callbacks of each kind; nil for no more.
    private let spent = Locked<[String: Int]?>([:])
    private let seed: Locked<UInt64>

    init(_ number: Int, _ place: StressPlace, _ coverage: StressCoverage) {
        self.place = place
        self.coverage = coverage
        transport = StressTransport(place.traits)
        seed = Locked(UInt64(number) << 32)
        _ = linkGate.begin("gate")
        _ = firstQuestion.begin("question")
        let queue = DispatchQueue(label: "stress", attributes: number % 4 == 3 ? .concurrent : [])
        let log = StressLog()
        let manager = makeManager(transport, log, queue, network)
        held.withLock { $0 = manager }
        log.round.withLock { $0 = self }
    }

    var manager: SessionManager? { held.withLock { $0 } }

    func letGo() { held.replace(\.self, by: nil) }

    func keep(_ observation: EventObservation) { observations.withLock { $0.append(observation) } }

    func letGoOfObservations() { observations.replace(\.self, by: []) }

    func makeManager(
        _ transport: any Transport, _ log: any Logable, _ queue: DispatchQueue, _ network: any NetworkMonitor
    ) -> SessionManager {
        let links = ProvidedLinks { [weak self] in try await self?.link($0) }
        return SessionManager(
            "stress", configuration: StressCalls.configuration, transport: transport, store: nil, logger: log,
            cache: place.cache, operationQueue: queue,
            environment: Environment(fileSystem: place.disk, network: network, links: links, seed: nextSeed()))
    }

    func nextSeed() -> UInt64 {
        seed.withLock { seed in
            seed += 1
            return seed
        }
    }

    // MARK: Calls

    /// A handler that is to be called exactly once, and makes another call then.
    func handler<Sender>(_ name: String, _ then: @escaping @Sendable () -> Void = {}) -> @Sendable (Sender) -> Void {
        let number = handlers.begin(name)
        return { [self] _ in
            then()
            callAnything("callback")
            handlers.end(number, name)
        }
    }

    /// Makes one call where nobody asked for any, up to a number, so that it comes to an end.
    func callAnything(_ origin: String) {
        let number = work.begin("a call in a \(origin)")
        defer { work.end(number, "a call in a \(origin)") }
        let mayCall = spent.withLock { spent in
            spent?[origin, default: 0] += 1
            return (spent?[origin] ?? .max) <= 100
        }
        guard mayCall else { return }
        coverage.note(origin)
        var random = SeededGenerator(seed: nextSeed())
        if let call = StressCalls.all.randomElement(using: &random) { make(call, SeededGenerator(seed: nextSeed())) }
    }

    func make(_ call: StressCall, _ random: SeededGenerator) {
        guard let manager else { return }
        let number = work.begin(call.name)
        coverage.note(call.name)
        var caller = StressCaller(round: self, manager: manager, name: call.name, random: random)
        call.body(&caller)
        work.end(number, call.name)
    }

    /// Makes every call once, in an order of its own.
    private func makeAll(halfway: () -> Void) {
        var random = SeededGenerator(seed: nextSeed())
        let calls = StressCalls.all.shuffled(using: &random)
        for (index, call) in calls.enumerated() {
            if index == calls.count / 2 { halfway() }
            make(call, SeededGenerator(seed: nextSeed()))
        }
    }

    /// Does something on a thread of its own.
    func onThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let number = work.begin(name)
        Thread.detachNewThread { [self] in
            body()
            work.end(number, name)
        }
    }

    /// Waits for something that happens to a download.
    func listen(_ name: String, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        wait(name, listeners, body)
    }

    /// Waits for something that happens to the manager.
    func follow(_ name: String, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        wait(name, followers, body)
    }

    private func wait(
        _ name: String, _ ledger: Ledger, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let number = ledger.begin(name)
        return Task { [self] in
            await body()
            callAnything("task")
            ledger.end(number, name)
        }
    }

    private func link(_ request: DownloadLink.Request) async throws -> DownloadLink? {
        callAnything("link provider")
        if !firstQuestion.open.isEmpty { firstQuestion.end(1, "question") }
        switch nextSeed() % 8 {
        case 0: throw CancellationError()
        case 1: try await linkGate.settled()
        default: break
        }
        // Leads from the place that is refused to one that is not.
        return DownloadLink(url: URL(string: StressTransport.addresses[2]), expirationDate: Date() + 3600)
    }

    // MARK: Life

    func run(_ end: StressEnd) async throws {
        let manager = try #require(manager)
        #expect(manager.unavailable == nil)
        // Later it is a matter of chance whether anything is refused.
        manager.download(DownloadRequest(StressTransport.addresses[10], key: "refused-\(nextSeed())"))
        try await firstQuestion.settled()
        for index in 0..<Self.threads {
            onThread("thread \(index)") { [self] in makeAll { if index == 0 { begin(end) } } }
        }
        for _ in 0..<2 {
            let number = work.begin("every call in a Swift task")
            _ = listen("every call in a Swift task") { [self] in
                makeAll {}
                work.end(number, "every call in a Swift task")
            }
        }
    }

    private func begin(_ end: StressEnd) {
        switch end {
        case .rest: break
        case .thread: manager?.invalidate()
        case .mainQueue, .operationQueue:
            let handler: SessionManager.Handler = handler("the end") { [self] in manager?.invalidate() }
            manager?.totalSuspend(onMainQueue: end == .mainQueue, handler: handler)
        case .logger:
            let log = StressLog()
            log.round.withLock { $0 = self }
            log.ends.withLock { $0 = true }
            manager?.logger = log
        case .release: letGo()
        }
    }

    /// No more calls in callbacks.
    func endCallsInCallbacks() { spent.withLock { $0 = nil } }
}

/// Which calls were made, and where.
final class StressCoverage: Sendable {
    private let counts = Locked<[String: Int]>([:])

    func note(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }

    subscript(name: String) -> Int { counts.withLock { $0[name, default: 0] } }

    var total: Int { counts.withLock { $0.values.reduce(0, +) } }
}

/// A logger that makes calls, and perhaps ends the manager.
final class StressLog: Logable {
    let identifier = "stress"
    let round = Locked<StressRound?>(nil)
    let ends = Locked(false)
    private let lines = Locked(0)

    var option: LogOption {
        get { .default }
        set {}
    }

    func log(_ type: LogType) {
        let line = lines.withLock { lines in
            lines += 1
            return lines
        }
        let isEnd = ends.withLock { ends in
            defer { ends = false }
            return ends
        }
        guard let round = round.withLock({ $0 }) else { return }
        if isEnd { round.manager?.invalidate() }
        if line % 8 == 0 { round.callAnything("logger") }
    }
}
