import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// The scripted transport delivers pieces of 16 KiB, and at 64 KiB a second one may come at once.
@Suite struct LimitFeatureTests {
    private static let rate: Int64 = 64 << 10
    private static let piece: Int64 = 16 << 10

    /// A bench that serves large files at /1, /2, …; they come once ``start`` is called, not inside the request, where
    /// nobody can pause them.
    private func bench(
        _ count: Int, _ configuration: SessionConfiguration = SessionConfiguration(), length: Int64 = 4 << 20,
        traits: TransportTraits = TransportTraits(delivery: .pausable)
    ) throws -> (TestBench, [DownloadTask]) {
        let bench = TestBench(configuration: configuration, traits: traits)
        let tasks = try (1...count).map { number in
            bench.transport.serve(.init(.generated(seed: UInt64(number), length: length)), at: "/\(number)")
            bench.transport.script("/\(number)", .stall(afterBytes: 0))
            return try #require(bench.manager.download("https://example.com/\(number)"))
        }
        return (bench, tasks)
    }

    private func start(_ bench: TestBench) {
        bench.settle()
        bench.transport.release()
        bench.settle()
    }

    private func limited(_ rate: Int64?) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.maximumBytesPerSecond = rate
        return configuration
    }

    // MARK: One task

    @Test func aTaskTakesItsLimitAndNoMore() throws {
        let (bench, tasks) = try bench(1)
        tasks[0].maximumBytesPerSecond = Self.rate
        start(bench)
        bench.run(for: .seconds(10))
        // One piece more has come, which is told with the next look.
        #expect(tasks[0].completedBytes == 10 * Self.rate)
        #expect(bench.transport.requests.count == 1)
        bench.run(for: .seconds(20))
        #expect(tasks[0].completedBytes == 30 * Self.rate)
        #expect(tasks[0].speed == Self.rate)
        #expect(bench.runToRest() && tasks[0].status == .succeeded)
        // 4 MiB at 64 KiB a second, less what came at once.
        #expect(tasks[0].endDate - tasks[0].startDate >= 63.5 && tasks[0].endDate - tasks[0].startDate <= 64)
    }

    @Test func holdsAtOnceForWhatRuns() throws {
        let (bench, tasks) = try bench(1, limited(Self.rate))
        start(bench)
        bench.run(for: .seconds(1))
        #expect(tasks[0].completedBytes == Self.rate)
        tasks[0].maximumBytesPerSecond = Self.rate / 4
        bench.run(for: .seconds(16))
        #expect(tasks[0].completedBytes <= Self.piece * 3 + 5 * Self.rate)
        #expect(tasks[0].completedBytes >= 5 * Self.rate)
        tasks[0].maximumBytesPerSecond = nil
        bench.manager.configuration.maximumBytesPerSecond = nil
        bench.settle()
        #expect(tasks[0].status == .succeeded, "without a limit nothing is left to wait for")
    }

    @Test(arguments: [0, -1, Int64.min]) func isOneAtLeast(_ limit: Int64) throws {
        let (bench, tasks) = try bench(1)
        tasks[0].maximumBytesPerSecond = limit
        #expect(tasks[0].maximumBytesPerSecond == 1)
        start(bench)
        bench.run(for: .seconds(1000))
        // One piece at once, and one byte more than was there makes it two.
        #expect(tasks[0].completedBytes == 2 * Self.piece)
        bench.manager.configuration.maximumBytesPerSecond = limit
        tasks[0].maximumBytesPerSecond = nil
        bench.run(for: .seconds(1000))
        #expect(tasks[0].completedBytes <= 4 * Self.piece)
    }

    @Test func transportsAreToldOfIt() throws {
        let bench = TestBench()
        for (place, limit) in [("/own", 1), ("/none", nil)] as [(String, Int64?)] {
            let url = "https://example.com" + place
            #expect(bench.manager.download(DownloadRequest(url, maximumBytesPerSecond: limit)) != nil)
        }
        bench.settle()
        bench.manager.configuration.maximumBytesPerSecond = 1
        #expect(bench.manager.download("https://example.com/all") != nil)
        bench.settle()
        let told = bench.transport.requests.map { [$0.url.path: $0.isLimited] }
        #expect(told == [["/own": true], ["/none": false], ["/all": true]])
    }

    // MARK: All tasks

    @Test func allTasksShareEqually() throws {
        let (bench, tasks) = try bench(3, limited(3 * Self.rate))
        start(bench)
        bench.run(for: .seconds(30))
        for task in tasks {
            #expect(abs(task.completedBytes - 30 * Self.rate) <= 4 * Self.piece, "\(task.completedBytes)")
        }
        let all = tasks.reduce(0) { $0 + $1.completedBytes }
        #expect(all <= 90 * Self.rate + 3 * Self.rate / 4 + 3 * Self.piece && all >= 90 * Self.rate - 3 * Self.piece)
    }

    @Test func whatOneDoesNotTakeIsTheOthers() throws {
        let bench = TestBench(configuration: limited(2 * Self.rate))
        for number in 1...2 { bench.transport.serve(.init(.generated(seed: 1, length: 4 << 20)), at: "/\(number)") }
        for place in ["/1", "/2"] { bench.transport.script(place, .stall(afterBytes: 0)) }
        let slow = try #require(bench.manager.download("https://example.com/1"))
        let fast = try #require(bench.manager.download("https://example.com/2"))
        bench.settle()
        bench.transport.release("/1", bytes: Self.piece)
        bench.transport.release("/2")
        bench.run(for: .seconds(20))
        #expect(slow.completedBytes == Self.piece)
        #expect(fast.completedBytes >= 40 * Self.rate - 2 * Self.piece)
        bench.manager.cancel(slow)
        bench.run(for: .seconds(10))
        #expect(abs(fast.completedBytes - 60 * Self.rate) <= 3 * Self.piece)
    }

    @Test func smallFilesAreNoWayAround() throws {
        let bench = TestBench(configuration: limited(Self.rate))
        let tasks = try (1...20).map { number in
            bench.transport.serve(.init(.generated(seed: UInt64(number), length: 16 << 10)), at: "/\(number)")
            return try #require(bench.manager.download("https://example.com/\(number)"))
        }
        bench.run(for: .seconds(2))
        let done = tasks.filter { $0.status == .succeeded }.count
        // Two seconds' worth, and what came at once: up to one for each that ran.
        #expect((8...15).contains(done))
        #expect(bench.runToRest())
        #expect(tasks.allSatisfy { $0.status == .succeeded })
        #expect(tasks.map(\.endDate).max().map { $0 - tasks[0].startDate >= 3.5 } == true)
    }

    /// Sixty small files are downloaded under the limit of all, eight at once.
    private func benchOfSmallFiles() throws -> (TestBench, [DownloadTask]) {
        var configuration = limited(Self.rate)
        configuration.maxConcurrentTasksLimit = 8
        let bench = TestBench(configuration: configuration)
        let tasks = try (1...60).map { number in
            bench.transport.serve(.init(.generated(seed: UInt64(number), length: 16 << 10)), at: "/\(number)")
            return try #require(bench.manager.download("https://example.com/\(number)"))
        }
        return (bench, tasks)
    }

    /// Files that make room for the next when their bytes have come, and are finished much later.
    @Test func filesThatWaitForTheDiskHaveTakenTheirShare() throws {
        let (bench, tasks) = try benchOfSmallFiles()
        bench.store.hold()
        bench.run(for: .seconds(2))
        // Two seconds' worth, and what came at once: up to one for each that ran.
        #expect((8...17).contains(bench.transport.requests.count), "\(bench.transport.requests.count)")
        bench.run(for: .seconds(4))
        #expect((24...33).contains(bench.transport.requests.count), "\(bench.transport.requests.count)")
        bench.store.release()
        #expect(bench.runToRest())
        #expect(tasks.allSatisfy { $0.status == .succeeded })
        #expect(tasks.map(\.endDate).max().map { $0 - tasks[0].startDate >= 13 } == true)
    }

    /// The same while the disk stands still, so that what has come is not even written.
    @Test func filesThatAreNotWrittenYetHaveTakenTheirShare() throws {
        let (bench, tasks) = try benchOfSmallFiles()
        bench.settle()
        let others = ["drain", "files", "store", "main", "operation"]
        while let next = bench.clock.nextDeadline, next <= .seconds(6) {
            bench.clock.advance(to: next)
            while others.contains(where: { bench.lanes.runNext($0) }) {}
        }
        // Six seconds' worth, and what came at once.
        #expect((24...33).contains(bench.transport.requests.count), "\(bench.transport.requests.count)")
        #expect(tasks.count { $0.status == .succeeded } <= 1)
        #expect(bench.runToRest())
        #expect(tasks.allSatisfy { $0.status == .succeeded })
    }

    // MARK: Watchdogs

    @Test func silenceAndSlownessOfALimitAreNoFault() throws {
        var configuration = limited(nil)
        (configuration.timeoutIntervalForRequest, configuration.minimumSpeed) = (5, 100_000)
        let (bench, tasks) = try bench(2, configuration, length: 256 << 10)
        // Sixteen seconds for each piece; and half as fast as asked of servers.
        tasks[0].maximumBytesPerSecond = 1 << 10
        tasks[1].maximumBytesPerSecond = 2 << 10
        start(bench)
        #expect(bench.runToRest(within: .seconds(600)))
        #expect(tasks.allSatisfy { $0.status == .succeeded })
        #expect(bench.transport.requests.count == 2)
    }

    @Test func theServersSilenceIsStillNoticed() throws {
        var configuration = limited(Self.rate)
        configuration.timeoutIntervalForRequest = 5
        configuration.retryPolicy.maximumRetries = 0
        let bench = TestBench.serving(large, configuration: configuration)
        let task = try bench.download(.stall(afterBytes: 256 << 10))
        #expect(bench.runToRest(within: .seconds(60)))
        #expect(task.reason == .transport(.timedOut))
        #expect(task.endDate - task.startDate < 12)
        // Also before the answer.
        let other = try bench.download(.hold)
        bench.manager.start(other)
        bench.run(for: .seconds(6))
        #expect(other.status == .failed)
    }

    // MARK: Verbs

    @Test func stopsAndGoesOnWhileItIsHeldBack() throws {
        let (bench, tasks) = try bench(1, limited(1))
        start(bench)
        bench.run(for: .seconds(1))
        #expect(bench.transport.paused == 1)
        bench.manager.suspend(tasks[0])
        bench.settle()
        #expect(tasks[0].status == .suspended && tasks[0].completedBytes >= Self.piece)
        let held = tasks[0].completedBytes
        bench.manager.start(tasks[0])
        bench.run(for: .seconds(10))
        #expect(tasks[0].completedBytes == held, "what was taken is not forgotten")
        #expect(bench.transport.underway == 0, "not even asked for")
        #expect(tasks[0].status == .running)
        bench.manager.configuration.maximumBytesPerSecond = nil
        #expect(bench.runToRest() && tasks[0].status == .succeeded)
        #expect(bench.ranges.last == "bytes=\(held)-")
    }

    @Test func endsWhileItIsHeldBack() throws {
        let (bench, tasks) = try bench(2, limited(1))
        start(bench)
        bench.run(for: .seconds(1))
        bench.manager.cancel(tasks[0])
        bench.settle()
        #expect(tasks[0].status == .canceled)
        bench.manager.invalidate()
        bench.run(for: .seconds(100_000))
        #expect(bench.transport.underway == 0)
    }

    @Test func isRemembered() throws {
        let bench = TestBench.serving(large)
        bench.transport.serve(.init(.generated(seed: 7, length: 4 << 20)), at: place)
        bench.transport.script(place, .stall(afterBytes: 0))
        let request = DownloadRequest(address, maximumBytesPerSecond: Self.rate)
        let task = try #require(bench.manager.download(request))
        start(bench)
        bench.run(for: .seconds(2))
        #expect(task.completedBytes == 2 * Self.rate)
        bench.relaunch()
        let again = try #require(bench.manager.fetchTask(address))
        #expect(again.maximumBytesPerSecond == Self.rate)
        again.maximumBytesPerSecond = 2 * Self.rate
        bench.settle()
        bench.relaunch()
        let last = try #require(bench.manager.fetchTask(address))
        #expect(last.maximumBytesPerSecond == 2 * Self.rate)
        // Who asks again without a limit leaves it as it is.
        bench.transport.script(place, .stall(afterBytes: 0))
        bench.manager.download(address)
        #expect(last.maximumBytesPerSecond == 2 * Self.rate)
        bench.manager.download(DownloadRequest(address, maximumBytesPerSecond: Self.rate))
        #expect(last.maximumBytesPerSecond == Self.rate)
        start(bench)
        let held = last.completedBytes
        bench.run(for: .seconds(4))
        #expect(abs(last.completedBytes - held - 4 * Self.rate) <= 2 * Self.piece)
    }

    // MARK: Transports

    @Test func slicesAreSmallAndAskedForInTime() throws {
        let traits = TransportTraits(delivery: .sliced((4 << 20)...(32 << 20), inFlight: 2))
        let (bench, tasks) = try bench(1, limited(2 * Self.rate), length: 8 << 20, traits: traits)
        start(bench)
        // A quarter of a second's worth, twice.
        #expect(bench.ranges == ["bytes=0-32767", "bytes=32768-65535"])
        bench.run(for: .seconds(20))
        #expect(abs(tasks[0].completedBytes - 40 * Self.rate) <= 4 * Self.piece, "\(tasks[0].completedBytes)")
        #expect(bench.transport.requests.count <= 82)
        bench.manager.configuration.maximumBytesPerSecond = nil
        #expect(bench.runToRest() && tasks[0].status == .succeeded)
        #expect(bench.ranges.contains { $0.hasSuffix("-\((8 << 20) - 1)") })
        #expect(bench.transport.requests.count <= 90, "slices are long again")
    }

    /// All of it comes at once, of a server without ranges over a transport that cannot pause.
    @Test func whatCannotBeHeldBackDoesNotKeepTheOthersWaiting() throws {
        let traits = TransportTraits(delivery: .sliced((4 << 20)...(32 << 20), inFlight: 2))
        let (bench, tasks) = try bench(2, limited(2 * Self.rate), length: 1 << 20, traits: traits)
        bench.transport.serve(.init(.generated(seed: 1, length: 64 << 20), acceptsRanges: false), at: "/1")
        start(bench)
        bench.run(for: .seconds(9))
        #expect(tasks[0].status == .succeeded && tasks[1].status == .running)
        // Ten seconds for what came too soon, eight for its own.
        #expect(bench.runToRest(within: .seconds(11)))
        #expect(tasks[1].status == .succeeded)
    }

    @Test func aTransportThatHandsOverFilesKnowsNone() throws {
        let (bench, tasks) = try bench(1, limited(1), traits: TransportTraits(delivery: .file))
        start(bench)
        #expect(tasks[0].status == .succeeded)
    }

    @Test func theDiskAndALimitBothHoldBack() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 7, length: 48 << 20)), at: place)
        let task = try bench.download(.stall(afterBytes: 0))
        bench.settle()
        // Nothing is written while the lanes stand still.
        bench.transport.release()
        #expect(bench.transport.paused == 1)
        task.maximumBytesPerSecond = 1 << 20
        bench.settle()
        // Before another piece has come, nothing is known to be too much.
        #expect(task.completedBytes < 16 << 20 && bench.transport.paused == 1)
        bench.run(for: .seconds(4))
        #expect(task.completedBytes < 20 << 20)
        task.maximumBytesPerSecond = nil
        #expect(bench.runToRest() && task.status == .succeeded)
    }
}
