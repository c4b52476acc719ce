import Foundation
import LannerCore
import LannerMachine

/// A `SessionManager` with nothing real below it: no network, no disk, no queues and no time of their own.
///
/// Everything the manager does happens inside its methods, ``settle()``, and the methods that let time pass, on the
/// calling thread and in the same order every time; callbacks of both queues run there, too. Between these calls
/// nothing moves.
///
/// ```swift
/// let bench = TestBench()
/// bench.transport.serve(.init(bytes), at: "/file.zip")
/// let task = bench.manager.download("https://example.com/file.zip")
/// bench.settle()  // the task has succeeded
/// ```
///
/// A transport that claims to be `sliced` or to deliver a `file` is held back by blocking it, and here there is but one
/// thread: whatever has it deliver many MiB, ``ScriptedTransport/release(_:bytes:)`` too, lets things happen meanwhile.
/// One that delivers a `file` has to hand over a real one: that is in the system's directory for temporary files, and is
/// read there; faults of the bench's disk are of all other files.
///
/// What a script does not stall comes inside the request, where nobody can pause it: to see a limit on bandwidth kept,
/// stall an answer, and release it.
///
/// Callbacks of the main actor, which are all those without `onMainQueue:`, run on the calling thread like the others:
/// a test that has any is to be of the main actor, or to let things happen by ``run(within:_:)`` alone, which does so
/// there.
///
/// May be used on any thread, by one at a time. ``run(within:_:)`` alone runs code of yours beside, whose calls come
/// when its executor has its turn.
public final class TestBench: Sendable {
    /// What answers the manager's requests, or those that a transport of your own hands on.
    public let transport: ScriptedTransport
    /// The manager's time.
    public let clock: ManualClock
    /// The disk with the files: make it full, or let it fail.
    public let disk: MemoryDisk
    /// What network there is, as the manager is told. It tells nothing until its ``ManualNetwork/path`` is set.
    public let network = ManualNetwork()
    /// The manager's records: let commits fail or wait.
    public let store = FaultyStore()
    /// What the manager logs.
    public let log = RecordingLog()
    /// Every lane of every manager that this bench makes.
    package let lanes = ManualLanes()
    /// How much work may be done while the clock stands still: many times what ten thousand downloads come to.
    package let workLimit = Locked(1_000_000)

    private let launch: Locked<Launch>
    private let seed: UInt64
    private let hasRecordsOnDisk: Bool

    /// Makes a manager that has no downloads yet.
    ///
    /// - Parameters:
    ///   - configuration: What the manager works by.
    ///   - traits: What ``transport`` claims to be.
    ///   - makeTransport: Makes the manager's transport, anew for every launch: one of your own that hands requests on to
    ///     the one it is given, which is ``transport``, or takes its place. ``settle()`` does not wait for one with threads
    ///     of its own, and where time passes, a minute of it is over before such a one answers: everything times out.
    ///   - disk: The disk; an empty one without a limit unless given. As `links` it is one bench's: the launches of two would
    ///     end each other's processes.
    ///   - makeStore: Makes what keeps the records, below ``store``, anew for every launch: one of your own that hands commits
    ///     on to the one it is given, which is what `recordsOnDisk` says and has what the last launch has left there, or
    ///     takes its place. ``settle()`` does not wait for one with threads of its own.
    ///   - recordsOnDisk: Whether the records are in files on `disk`, as an app has them: then its capacity and its faults
    ///     are theirs, too, and `Cache.clearDiskCache()` finds them. Else they are in a `MemoryStore`.
    ///   - allowedDirectories: Where tasks may have their files besides, on ``disk``: see `Cache.allowedDirectories`.
    ///     The cache itself is below "/downloads".
    ///   - links: Gives links to the manager, and to that of every later launch; nil when there are none.
    ///   - linkProvider: Gives them in the place of `links`, as an app's own provider does. It runs on threads of its own,
    ///     which ``settle()`` does not wait for: what it gives comes with the next method that lets things happen. In
    ///     ``run(within:_:)`` no time passes until it has answered.
    ///   - hasherProvider: Makes the hashers that files and pieces are compared by; the library's own when nil.
    ///   - seed: Decides the jitter of retries.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(),
        traits: TransportTraits = TransportTraits(delivery: .pausable),
        transport makeTransport: @escaping @Sendable (any Transport) -> any Transport = { $0 },
        disk: MemoryDisk = MemoryDisk(),
        store makeStore: @escaping @Sendable (any Store) -> any Store = { $0 }, recordsOnDisk: Bool = false,
        allowedDirectories: [String] = [], links: ManualLinks? = nil, linkProvider: DownloadLink.Provider? = nil,
        hasherProvider: Checksum.HasherProvider? = nil, seed: UInt64 = 1
    ) {
        clock = ManualClock()
        self.disk = disk
        self.seed = seed
        hasRecordsOnDisk = recordsOnDisk
        transport = ScriptedTransport(traits: traits, clock: clock)
        let parts = Launch.Parts(
            transport: transport, makeTransport: makeTransport, clock: clock, disk: disk, store: store,
            makeStore: makeStore, log: log, lanes: lanes, seed: seed, network: network,
            allowedDirectories: allowedDirectories, links: links, linkProvider: linkProvider,
            makeHasher: hasherProvider ?? { $0.makeHasher() })
        launch = Locked(
            Launch(parts, configuration) { Self.store(holding: [:], on: recordsOnDisk ? disk : nil, $0) })
    }

    /// The records of a launch: on a disk, where all is that the last one has left, or in memory.
    private static func store(
        holding contents: [String: Data], on disk: MemoryDisk?, _ lanes: any LaneFactory
    ) -> any Store {
        guard let disk else { return MemoryStore(contents) }
        return FileStore(directory: Launch.downloadPath, disk: disk, lanes: lanes)
    }

    /// The manager of the present launch.
    public var manager: SessionManager { launch.withLock { $0.manager } }

    // MARK: Letting things happen

    /// Lets everything happen that can happen without time passing, what is due by ``clock`` included.
    ///
    /// Where that has no end, as when a handler starts what fails at once, the process ends with a sentence that names the
    /// tasks and their errors. So it does in the other methods that let things happen.
    public func settle() {
        var standstill = Standstill()
        letHappen(&standstill)
    }

    /// Lets time pass, with everything that happens in it.
    public func run(for duration: Duration) {
        let end = clock.now + duration
        var standstill = Standstill()
        letHappen(&standstill)
        while let next = clock.nextDeadline, next <= end { advance(to: next, &standstill) }
        advance(to: end, &standstill)
    }

    /// Lets time pass until no task runs or waits; false when some still does after `limit`.
    @discardableResult
    public func runToRest(within limit: Duration = .seconds(3600)) -> Bool {
        let end = clock.now + limit
        var standstill = Standstill()
        letHappen(&standstill)
        while manager.status == .running, let next = clock.nextDeadline, next <= end { advance(to: next, &standstill) }
        if manager.status == .running { advance(to: end, &standstill) }
        return manager.status != .running
    }

    // MARK: Looking

    /// The bytes of a task's finished file; nil when it is not there.
    public func contents(of task: DownloadTask) -> [UInt8]? {
        disk.contents(of: task.filePath)
    }

    /// What the store holds, if it is the bench's own in memory.
    package var contents: [String: Data] { launch.withLock { $0.contents } }

    /// Whether a provider has been asked for a link that it has not given.
    var waitsForLink: Bool { launch.withLock { $0 }.waitsForLink }

    /// How many links the manager waits for.
    var awaitedLinks: Int { launch.withLock { $0 }.awaitedLinks }
}

extension TestBench {
    /// Ends the process at this instant, and begins another: a new manager finds what the last one has left on the disk
    /// and in the store, and nothing else. Whatever was on its way is lost, so that a download is on record only after
    /// ``settle()``. A reboot of the machine it is not.
    ///
    /// The earlier manager is dead: its tasks stay as they are, its callbacks are not called any more.
    ///
    /// - Parameters:
    ///   - configuration: What the new manager works by; as the last one when nil.
    ///   - store: Keeps the new manager's records, in the place of the bench's and of any that stands before that; when
    ///     nil, those on ``disk``, if the bench has them there, or a `MemoryStore` with what the last launch's held.
    ///     ``settle()`` does not wait for one with threads of its own. A
    ///     `FileStore` of the same real directory finds it in use: nobody really dies here, so the last manager has to be
    ///     invalidated first.
    ///   - meanwhile: What happens between the two, to exchanges that outlive the process for example.
    /// - Returns: The new manager.
    @discardableResult
    public func relaunch(
        configuration: SessionConfiguration? = nil, store: (any Store)? = nil, meanwhile: () -> Void = {}
    ) -> SessionManager {
        let last = launch.withLock { $0 }
        last.die()
        meanwhile()
        return launch(after: last, configuration, store)
    }

    /// Ends the machine at this instant, and boots it again: as ``relaunch(configuration:store:meanwhile:)``, but of what
    /// was not synced to the disk only a part is left.
    ///
    /// - Parameters:
    ///   - seed: Decides what survives: of each unsynced write none, part or all; of unsynced renames and removals some.
    ///   - configuration: What the new manager works by; as the last one when nil.
    ///   - store: Keeps the new manager's records; when nil, what is left of those on ``disk``, if the bench has them
    ///     there, or a `MemoryStore` with all that was committed in the last launch. ``settle()`` does not wait for one
    ///     with threads of its own.
    /// - Returns: The new manager.
    @discardableResult
    public func reboot(
        seed: UInt64 = 1, configuration: SessionConfiguration? = nil, store: (any Store)? = nil
    ) -> SessionManager {
        let last = launch.withLock { $0 }
        last.die()
        var random = SeededGenerator(seed: seed)
        disk.loseUnsynced(&random)
        return launch(after: last, configuration, store)
    }

    private func launch(
        after last: Launch, _ configuration: SessionConfiguration?, _ store: (any Store)?
    ) -> SessionManager {
        let contents = last.contents
        let disk = hasRecordsOnDisk ? disk : nil
        let next = Launch(last.parts, configuration ?? last.manager.configuration, store: store) {
            Self.store(holding: contents, on: disk, $0)
        }
        launch.withLock { $0 = next }
        return next.manager
    }
}
