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

    @Test func aClearedCacheHasNone() throws {
        _ = try bench.download()
        bench.settle()
        bench.manager.invalidate()
        bench.manager.cache.clearDiskCache(onMainQueue: false)
        bench.settle()
        #expect(bench.relaunch().tasks.isEmpty)
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
