import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Who calls for many downloads at once does not carry out all of it.
@Suite struct HandOverTests {
    /// Time passes whenever somebody looks at it, and nothing else happens by it.
    private final class PassingClock: SessionManager.Clock {
        private let time = Locked(Duration.zero)

        var now: Duration {
            time.withLock { time in
                time += .microseconds(100)
                return time
            }
        }

        let date = Date(timeIntervalSince1970: 1_750_000_000)

        func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) {}
    }

    private let lanes = ManualLanes()
    private let store: MemoryStore
    private let commits: FaultyStore
    private let manager: SessionManager
    private let urls = (0..<40).map { "https://example.com/\($0)" }

    init() {
        let transport = ScriptedTransport()
        for number in 0..<41 {
            transport.serve(.init([UInt8](repeating: 1, count: 1000)), at: "/\(number)")
            transport.script("/\(number)", .stall(afterBytes: 500))
        }
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 50
        store = MemoryStore(lanes: lanes)
        commits = FaultyStore(store)
        manager = Self.manager(lanes, transport, commits, configuration)
    }

    private static func manager(
        _ lanes: ManualLanes, _ transport: ScriptedTransport, _ store: any Store,
        _ configuration: SessionConfiguration = SessionConfiguration()
    ) -> SessionManager {
        SessionManager(
            "hand over", configuration: configuration, transport: transport, store: store, logger: RecordingLog(),
            cache: Cache("hand over", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: PassingClock(), fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: 1))
    }

    private func startAll() {
        manager.multiDownload(urls)
        lanes.runAll()
        #expect(manager.tasks.count == urls.count && manager.tasks.allSatisfy { $0.status == .running })
    }

    @Test func aCallForManyReturnsBeforeAllOfItIsDone() {
        startAll()
        let calls = Locked(0)
        manager.totalSuspend(onMainQueue: false) { _ in calls.withLock { $0 += 1 } }
        let early = manager.tasks.map(\.status)
        #expect(early.contains(.willSuspend) && early.contains(.running))
        lanes.runAll()
        #expect(manager.tasks.allSatisfy { $0.status == .suspended })
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func whatIsAskedMeanwhileComesBehindIt() {
        startAll()
        manager.totalSuspend()
        let task = manager.tasks.last
        #expect(task?.status == .running)
        manager.remove(urls[0])
        manager.start(urls[urls.count - 1])
        manager.download("https://example.com/40")
        lanes.runAll()
        #expect(manager.fetchTask(urls[0]) == nil)
        // It has gone on from what it had; only the first answer stalls.
        #expect(task?.status == .succeeded)
        #expect(manager.fetchTask("https://example.com/40")?.status == .running)
        #expect(manager.tasks.count { $0.status == .suspended } == urls.count - 2)
    }

    @Test func anEndMeanwhileComesBehindItToo() {
        startAll()
        let calls = Locked(0)
        manager.totalSuspend(onMainQueue: false) { _ in calls.withLock { $0 += 1 } }
        #expect(manager.tasks.contains { $0.status == .running })
        manager.invalidate()
        lanes.runAll()
        #expect(calls.withLock { $0 } == 1)
        let next = Self.manager(lanes, ScriptedTransport(), MemoryStore(store.contents, lanes: lanes))
        #expect(next.tasks.count == urls.count)
        #expect(next.tasks.allSatisfy { $0.status == .suspended })
    }

    @Test func whatIsAddedBeforeAnEndIsTold() {
        startAll()
        let events = Locked<[String]>([])
        let observation = manager.observe(onMainQueue: false) { event in
            switch event {
            case .added(let task): events.withLock { $0.append("added \(task.url.lastPathComponent)") }
            case .task(let task, _): events.withLock { $0.append(task.url.lastPathComponent) }
            case .removed, .progress, .status: break
            }
        }
        lanes.runAll()
        manager.totalSuspend()
        manager.download("https://example.com/40")
        manager.invalidate()
        lanes.runAll()
        #expect(events.withLock { $0.first { $0.hasSuffix("40") } } == "added 40")
        withExtendedLifetime(observation) {}
    }

    /// By a lane that has yet to come to it.
    @Test func whatIsChangedBeforeAnEndIsKept() throws {
        startAll()
        manager.totalSuspend()
        var request = DownloadRequest("https://example.com/40")
        request.startsImmediately = false
        let added = try #require(manager.download(request))
        added.metadata = ["key": "value"]
        manager.invalidate()
        lanes.runAll()
        let records = store.contents.values.compactMap { DownloadRecord($0) }
        #expect(records.count == urls.count + 1)
        #expect(records.first { $0.id == added.id }?.metadata == ["key": "value"])
    }

    /// The same of calls that concern all without naming them.
    @Test(arguments: [false, true]) func noCallTakesAllOfIt(choosesContext: Bool) {
        startAll()
        let (tasks, calls) = (manager.tasks, Locked(0))
        if choosesContext {
            manager.context = "other"
        } else {
            manager.shutDown(onMainQueue: false) { _ in calls.withLock { $0 += 1 } }
        }
        #expect(tasks.contains { $0.status == .running })
        lanes.runAll()
        #expect(tasks.allSatisfy { $0.status == .waiting && $0.waitingReason == .context })
        #expect(calls.withLock { $0 } == (choosesContext ? 0 : 1))
    }

    /// What others ask meanwhile is not its business.
    @Test func whoAddsDownloadsCarriesOutOnlyThese() {
        startAll()
        let tasks = manager.tasks
        manager.logger = LogThatCalls { [manager] in manager.totalSuspend() }
        let added = manager.download("https://example.com/40")
        #expect(tasks.contains { $0.status == .running })
        lanes.runAll()
        #expect(tasks.allSatisfy { $0.status == .suspended })
        #expect(added?.status == .suspended)
    }

    /// In one commit, whoever carried out what.
    @Test func theRecordsStayTogether() {
        startAll()
        manager.totalSuspend()
        lanes.runAll()
        let before = commits.commitCount
        manager.totalStart()
        #expect(Set(manager.tasks.map(\.status)) == [.waiting, .suspended])
        #expect(commits.commitCount == before)
        #expect(lanes.runNext("drain"))
        #expect(manager.tasks.allSatisfy { $0.status != .suspended })
        #expect(commits.commitCount == before + 1)
    }

    /// All are at rest when they are started; who asks then what becomes of them is not told that they rest.
    @Test func whoListensIsToldOnlyOfWhatComesBehindIt() async throws {
        startAll()
        manager.totalSuspend()
        lanes.runAll()
        manager.totalStart()
        let task = try #require(manager.tasks.last)
        #expect(task.status == .suspended)
        let events = task.events
        let suspended = Locked<[Int]>([])
        let group = DownloadGroup([task]).observe(onMainQueue: false) { progress in
            suspended.withLock { $0.append(progress.counts[.suspended]) }
        }
        let heard = Locked<[Status]>([])
        let observation = task.observe(onMainQueue: false) { event in
            if case .status(let status) = event { heard.withLock { $0.append(status) } }
        }
        while lanes.runNext("operation") {}
        lanes.runAll()
        #expect(task.status == .succeeded)
        let expected: [Status] = [.running, .succeeded]
        #expect(heard.withLock { $0 } == expected)
        observation.cancel()
        var told: [Status] = []
        for await event in events {
            guard case .status(let status) = event else { continue }
            told.append(status)
            if status.isAtRest { break }
        }
        #expect(told == expected)
        #expect(Set(suspended.withLock { $0 }) == [0])
        group.cancel()
    }

    /// Nobody is left behind in the line of those who are told.
    @Test func whoStopsListeningBeforeItBeginsIsForgotten() throws {
        startAll()
        manager.totalSuspend()
        let task = try #require(manager.tasks.last)
        #expect(task.status == .running)
        let calls = Locked(0)
        task.observe(onMainQueue: false) { _ in calls.withLock { $0 += 1 } }.cancel()
        _ = task.events
        #expect(task.status == .running)
        lanes.runAll()
        #expect(task.status == .suspended)
        #expect(task.state.withLock { $0.observers.all.isEmpty })
        #expect(calls.withLock { $0 } == 0)
    }
}
