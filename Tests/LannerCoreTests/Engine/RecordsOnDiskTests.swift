import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A bench whose records are where those of an app are.
@Suite struct RecordsOnDiskTests {
    private let bench = TestBench(recordsOnDisk: true)

    init() {
        bench.transport.serve(.init([1, 2, 3]), at: place)
    }

    @Test func aLaunchFindsThem() throws {
        _ = try bench.download()
        bench.settle()
        #expect(bench.relaunch().tasks.map(\.status) == [.succeeded])
    }

    @Test func aRebootFindsWhatWasSynced() throws {
        _ = try bench.download()
        bench.settle()
        #expect(bench.reboot().tasks.map(\.status) == [.succeeded])
    }

    /// Whatever the kernel has yet to write by itself.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func aRebootFindsTheBytesThatWereSynced(seed: UInt64) throws {
        bench.transport.serve(.init(large), at: place)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: Pace.syncTime + .seconds(1))
        #expect(task.completedBytes == 1 << 20)
        #expect(bench.reboot(seed: seed).tasks.map(\.completedBytes) == [1 << 20])
    }

    @Test func aClearedCacheHasNone() throws {
        _ = try bench.download()
        bench.settle()
        bench.manager.invalidate()
        bench.manager.cache.clearDiskCache(onMainQueue: false)
        bench.settle()
        #expect(bench.relaunch().tasks.isEmpty)
    }

    /// It has its own space, and so have the records of that.
    @Test func whatIsUnderWayIsThereWhenSomebodyFillsTheDisk() throws {
        bench.transport.serve(.init(large), at: place)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(1))
        // More than half of what is set aside.
        for number in 0..<45 {
            bench.disk.capacity = bench.disk.used
            let others = (0..<20).map { "https://example.com/\(number)/\($0)" }
            bench.manager.multiDownload(requests: others.map { DownloadRequest($0, startsImmediately: false) })
            bench.settle()
        }
        let recorded = try #require(bench.disk.contents(of: "/downloads/journal-1")).count
        #expect((150 << 10..<200 << 10).contains(recorded))
        bench.transport.release()
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.reboot().fetchTask(address)?.status == .succeeded)
    }

    @Test func aFullDiskHasNoRoomForThem() throws {
        bench.settle()
        bench.disk.capacity = 0
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .failed)
        #expect(bench.log.lines.contains { $0.hasPrefix("could not keep records") })
        bench.disk.capacity = nil
        bench.manager.start(task)
        bench.settle()
        #expect(bench.contents(of: task) == [1, 2, 3])
        #expect(bench.relaunch().tasks.map(\.status) == [.succeeded])
    }
}
