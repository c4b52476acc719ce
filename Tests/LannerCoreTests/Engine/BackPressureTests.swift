import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct BackPressureTests {
    /// 48 chunks.
    private static let resource = LoopbackServer.Resource(.generated(seed: 7, length: 48 << 20))

    private func bench(_ traits: TransportTraits) throws -> (TestBench, DownloadTask) {
        let bench = TestBench(traits: traits)
        bench.transport.serve(Self.resource, at: place)
        return (bench, try bench.download(.stall(afterBytes: 0)))
    }

    private func outstanding(_ bench: TestBench, _ task: DownloadTask) -> Int {
        let file = bench.manager.engine.job(task.id)?.state.withLock { $0.file }
        return file?.outstanding ?? 0
    }

    @Test func pausesWhenTheDiskIsSlow() throws {
        let (bench, task) = try bench(TransportTraits(delivery: .pausable))
        bench.settle()
        // Nothing is written while the lanes stand still.
        bench.transport.release()
        #expect(bench.transport.paused == 1)
        #expect(outstanding(bench, task) <= 10 << 20)
        var most = 0
        var isResumed = false
        while bench.lanes.runNext() {
            most = max(most, outstanding(bench, task))
            isResumed = isResumed || bench.transport.paused == 0
        }
        #expect(isResumed)
        #expect(most <= 10 << 20)
        #expect(task.status == .succeeded)
        #expect(bench.disk.contents(of: task.filePath)?.count == 48 << 20)
    }

    @Test func manyFilesShareWhatMayWait() throws {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 12
        let bench = TestBench(configuration: configuration, traits: TransportTraits(delivery: .pausable))
        let paths = (0..<12).map { "/many-\($0)" }
        for path in paths {
            bench.transport.serve(.init(.generated(seed: 7, length: 10 << 20)), at: path)
            bench.transport.script(path, .stall(afterBytes: 0))
        }
        let tasks = try paths.map { try #require(bench.manager.download(URL(string: "https://files.test" + $0)!)) }
        bench.settle()
        #expect(bench.transport.underway == 12)
        bench.transport.release()
        #expect(bench.transport.paused == 12)
        // Of each file a chunk more than its mark: of seven that of a file with the disk to itself.
        var most = bench.manager.engine.load.waiting
        while bench.lanes.runNext() { most = max(most, bench.manager.engine.load.waiting) }
        #expect(most <= (7 * 9 + 5 * 3) << 20)
        #expect(tasks.allSatisfy { $0.status == .succeeded })
    }

    /// A transport that took an earlier call for the later one.
    @Test func pausesAgainWhatGoesOn() throws {
        let bench = TestBench(transport: { ForgetfulTransport(base: $0) })
        bench.transport.serve(Self.resource, at: place)
        let task = try bench.download(.stall(afterBytes: 0))
        bench.settle()
        bench.transport.release()
        #expect(bench.transport.paused == 1 && outstanding(bench, task) <= 10 << 20)
        bench.settle()
        #expect(task.status == .succeeded && bench.disk.contents(of: task.filePath)?.count == 48 << 20)
    }

    @Test func pausesWhatCameInsideBegin() throws {
        let (bench, task) = try bench(TransportTraits(delivery: .pausable))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.transport.script(place, .stall(afterBytes: 12 << 20))
        bench.manager.start(task)
        while bench.transport.underway == 0, bench.lanes.runNext() {}
        // Twelve came before anybody could pause it; none of the rest does while nothing is written.
        #expect(bench.transport.paused == 1)
        bench.transport.release()
        #expect(outstanding(bench, task) == 12 << 20)
        var most = 0
        while bench.lanes.runNext() { most = max(most, outstanding(bench, task)) }
        #expect(most <= 12 << 20)
        #expect(task.status == .succeeded)
        #expect(bench.transport.paused == 0)
    }

    /// There is but one thread, which has to write what it waits for.
    @Test(
        .timeLimit(.minutes(5)), arguments: [TransportTraits.Delivery.file, .sliced(24 << 20...24 << 20, inFlight: 2)])
    func waitsForADiskOfItsOwnThread(delivery: TransportTraits.Delivery) throws {
        let (bench, task) = try bench(TransportTraits(delivery: delivery))
        bench.disk.takesFilesIn = false
        bench.settle()
        let observed = Locked(0)
        let observation = task.observe(onMainQueue: false) { [bench, task] _ in
            let outstanding = outstanding(bench, task)
            observed.withLock { $0 = max($0, outstanding) }
        }
        bench.transport.release()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.disk.contents(of: task.filePath)?.count == 48 << 20)
        #expect((1...10 << 20).contains(observed.withLock { $0 }))
        observation.cancel()
    }

    /// With threads: none that waits for room misses that there is some.
    @Test(.timeLimit(.minutes(10))) func aThreadThatWaitsGoesOn() async throws {
        let (waits, wait) = AsyncStream<Void>.makeStream()
        let delivery = TransportTraits.Delivery.sliced(48 << 20...48 << 20, inFlight: 1)
        let (disk, transport) = (MemoryDisk(), ScriptedTransport(traits: TransportTraits(delivery: delivery)))
        transport.serve(Self.resource, at: place)
        transport.script(place, .stall(afterBytes: 2 << 20))
        var configuration = SessionConfiguration()
        // Other tests may keep this one waiting for as long as a server may stay silent.
        configuration.timeoutIntervalForRequest = 3600
        let manager = SessionManager(
            "waiting", configuration: configuration, transport: transport, store: MemoryStore(),
            logger: RecordingLog(), cache: Cache("waiting", downloadPath: "/downloads", on: disk),
            operationQueue: nil, environment: Environment(fileSystem: disk, lanes: TellingLanes { wait.yield() }))
        var request = DownloadRequest(address)
        request.startsImmediately = false
        let task = try #require(manager.download(request))
        // From before the start, for nothing is told again of one that has stalled.
        let events = task.events
        manager.start(task)
        // The answer is judged.
        for await event in events { if case .progress(1..., _) = event { break } }
        let hold = disk.hold(.write)
        DispatchQueue.global().async { transport.release() }
        for await _ in waits { break }
        hold.release()
        let file = try await task.file
        #expect(disk.contents(of: file.path)?.count == 48 << 20)
        manager.invalidate()
    }

    @Test func asksForAFewSlicesOnly() throws {
        let bench = TestBench(traits: TransportTraits(delivery: .sliced(1 << 20...2 << 20, inFlight: 2)))
        bench.transport.serve(.init(.generated(seed: 7, length: 12 << 20)), at: place)
        let task = try bench.download(.stall(afterBytes: 0), .stall(afterBytes: 0), .stall(afterBytes: 0))
        bench.settle()
        #expect(bench.transport.underway == 2)
        #expect(bench.ranges == ["bytes=0-1048575", "bytes=1048576-2097151"])
        while bench.transport.underway > 0 {
            #expect(bench.transport.underway <= 2)
            bench.transport.release()
            bench.settle()
        }
        #expect(task.status == .succeeded)
        #expect(bench.transport.requests.count >= 6)
    }

    @Test func stopsWhatIsPaused() throws {
        let (bench, task) = try bench(TransportTraits(delivery: .pausable))
        bench.settle()
        bench.transport.release()
        #expect(bench.transport.paused == 1)
        bench.manager.cancel(task)
        bench.settle()
        #expect(task.status == .canceled)
        #expect(bench.transport.underway == 0 && bench.files == [])
    }
}

/// Lanes with threads that say when one waits.
private struct TellingLanes: LaneFactory {
    let tell: @Sendable () -> Void

    init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }

    func makeLane(_ label: String) -> any Lane { PooledLanes().makeLane(label) }

    func wait(for latch: Latch) {
        tell()
        PooledLanes().wait(for: latch)
    }

    var isOnOwnLane: Bool { PooledLanes().isOnOwnLane }
}

@Suite struct FigureTests {
    @Test func measuresSpeedAndTimeLeft() throws {
        let bench = TestBench.serving(Sample.bytes(1_000_000))
        let task = try bench.download(.stall(afterBytes: 0))
        bench.settle()
        #expect(task.speed == 0 && task.timeRemaining == 0 && task.speedString == "0 B/s")
        for _ in 0..<20 {
            bench.transport.release(bytes: 25_000)
            bench.run(for: .milliseconds(250))
        }
        #expect((95_000...105_000).contains(task.speed))
        #expect((4...6).contains(task.timeRemaining))
        #expect(bench.manager.speed == task.speed)
        bench.run(for: .seconds(10))
        #expect(task.speed == 0, "it has stalled")
        bench.transport.release()
        bench.settle()
        #expect(task.speed == 0 && task.timeRemaining == 0)
        #expect(task.endDate - task.startDate == 15)
    }

    @Test func isNoSpeedOnceAllBytesAreThere() throws {
        let bench = TestBench.serving(Sample.bytes(1_000_000))
        let task = try bench.download(.stall(afterBytes: 0))
        bench.settle()
        for _ in 0..<8 {
            bench.transport.release(bytes: 25_000)
            bench.run(for: .milliseconds(250))
        }
        #expect(task.speed > 0)
        bench.transport.release()
        try bench.step { task.completedBytes == 1_000_000 }
        #expect(task.status == .running && task.speed == 0 && bench.manager.speed == 0)
    }

    @Test func aBurstIsNoRate() {
        var meter = SpeedMeter()
        meter.note(0, at: .zero)
        meter.note(1000, at: .microseconds(1))
        #expect(meter.value == 1000)
        meter.note(4000, at: .seconds(2))
        #expect(meter.value == 2000)
        meter.note(10, at: .seconds(3))
        #expect(meter.value == 0, "it begins anew")
    }

    @Test func writesFigures() {
        #expect(Figures.bytes(0) == "0 B" && Figures.bytes(999) == "999 B")
        #expect(Figures.bytes(1500) == "1.5 kB" && Figures.bytes(123_456_789) == "123 MB")
        #expect(Figures.bytes(.max).hasSuffix("TB") && Figures.bytes(.min).hasSuffix("TB"))
        #expect(Figures.time(65) == "01:05" && Figures.time(3661) == "1:01:01" && Figures.time(0) == "00:00")
        #expect(Figures.date(0) == "")
    }

    @Test func neverTrapsOnOddTimes() {
        var meter = SpeedMeter()
        meter.note(0, at: .zero)
        meter.note(.max, at: Duration(secondsComponent: 0, attosecondsComponent: 1))
        #expect(meter.value > 0)
        #expect(Int64(rounding: .nan) == 0 && Int64(rounding: .infinity) > 1 << 62 && Int64(rounding: -1e300) == .min)
        let bench = TestBench.serving([1])
        bench.clock.date = Date(timeIntervalSince1970: 1e300)
        bench.manager.download(address)
        bench.settle()
    }
}

/// Goes on after the first call that asks it to pause.
private struct ForgetfulTransport: Transport {
    let base: any Transport
    var traits: TransportTraits { base.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        ForgetfulExchange(base.begin(request, receive: receive))
    }

    func invalidate() { base.invalidate() }
}

private final class ForgetfulExchange: TransportExchange {
    private let base: any TransportExchange
    private let isFirst = Locked(true)

    init(_ base: any TransportExchange) {
        self.base = base
    }

    func cancel() { base.cancel() }

    func pause() {
        let isForgotten = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if !isForgotten { base.pause() }
    }

    func resume() { base.resume() }
}
