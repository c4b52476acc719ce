import Dispatch
import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

@Suite struct MemoryDiskTests {
    private func disk(capacity: Int64? = nil) throws -> MemoryDisk {
        let disk = MemoryDisk(capacity: capacity)
        try disk.makeDirectory("/a/b")
        return disk
    }

    private func write(_ bytes: [UInt8], at offset: Int64 = 0, to file: any OpenFile) throws {
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
    }

    private func fault(_ body: () throws -> Void) -> DiskFault? { fileError(body)?.fault }

    @Test func keepsBytesHolesAndSizes() throws {
        let disk = try disk()
        let file = try disk.open("/a/b/f", .create)
        try write([1, 2, 3], at: 70_000, to: file)
        try write([9], at: 65_535, to: file)
        try write([7, 7], at: 70_001, to: file)
        var expected = [UInt8](repeating: 0, count: 70_003)
        expected.replaceSubrange(70_000..., with: [1, 7, 7])
        expected[65_535] = 9
        #expect(disk.contents(of: "/a/b/f") == expected)
        #expect(try file.size() == 70_003)
        var buffer = [UInt8](repeating: 0xFF, count: 10)
        let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 69_999) }
        #expect(count == 4)
        #expect(buffer == [0, 1, 7, 7] + [UInt8](repeating: 0xFF, count: 6))
        try file.truncate(to: 65_536)
        try file.truncate(to: 70_001)
        expected.replaceSubrange(65_536..., with: [UInt8](repeating: 0, count: 4465))
        #expect(disk.contents(of: "/a/b/f") == expected)
    }

    @Test(arguments: ["/a//b/\u{301}c", "a/b/\u{301}c", "/a/b/\u{301}c/"]) func pathsAreRead(_ path: String) throws {
        let disk = try disk()
        disk.put([1], at: path)
        #expect(try disk.list("/a/b") == ["\u{301}c"])
    }

    /// Whatever the seed leaves of what was not synced.
    @Test(arguments: 0..<8 as Range<UInt64>) func whatATestPutsAndRemovesIsSo(seed: UInt64) {
        let (disk, bench) = (MemoryDisk(capacity: 2), { (disk: MemoryDisk) in TestBench(disk: disk) })
        for path in ["/x/f", "/x/g", "y"] { disk.put([1], at: path) }
        disk.put([2, 3], at: "/x//f")
        #expect(disk.remove(at: "x/g") && !disk.remove(at: "/x/g") && !disk.remove(at: "/x"))
        let paths = { disk.paths.filter { !$0.hasPrefix("/downloads") } }
        #expect(paths() == ["/x/f", "/y"] && disk.contents(of: "/x/f") == [2, 3])
        bench(disk).reboot(seed: seed)
        #expect(paths() == ["/x/f", "/y"] && disk.contents(of: "/x/f") == [2, 3])
    }

    @Test func hugeHolesCostNothing() throws {
        let disk = try disk(capacity: 100_000)
        let file = try disk.open("/a/f", .create)
        try write([1], at: 1 << 40, to: file)
        #expect(try file.size() == (1 << 40) + 1)
        #expect(disk.used == 1)
    }

    @Test func aFullDiskTakesWhatFits() throws {
        let disk = try disk(capacity: 150_000)
        let file = try disk.open("/a/f", .create)
        #expect(fault { try write([UInt8](repeating: 1, count: 200_000), to: file) } == .noSpace)
        #expect(try file.size() == 131_072)
        #expect(fault { try file.allocate(150_001) } == .noSpace)
        try file.allocate(150_000)
        #expect(disk.hasRoom(for: 0, in: "/a") && !disk.hasRoom(for: 1, in: "/a"))
        try write([UInt8](repeating: 2, count: 150_000), to: file)
        try disk.remove("/a/f")
        #expect(disk.used == 150_000, "it is open")
        file.close()
        #expect(disk.used == 0)
    }

    @Test func aFingerprintOutlivesAReboot() throws {
        let disk = try disk()
        disk.put([1], at: "/a/one")
        let old = try #require(try disk.fingerprint(of: "/a/one"))
        try disk.rename("/a/one", to: "/a/two")
        let first = try #require(try disk.fingerprint(of: "/a/two"))
        #expect(try first != old && first.number == old.number && disk.fingerprint(of: "/a/one") == nil)
        try disk.syncDirectory("/a")
        var random = SeededGenerator(seed: 1)
        disk.loseUnsynced(&random)
        #expect(try disk.fingerprint(of: "/a/two") == first)
        disk.put([1], at: "/a/two")
        #expect(try disk.fingerprint(of: "/a/two") != first)
    }

    @Test func renamesAndRemoves() throws {
        let disk = try disk()
        disk.put([1], at: "/a/one")
        disk.put([2, 2], at: "/a/two")
        try disk.rename("/a/one", to: "/a/two")
        #expect(disk.paths == ["/a/two"])
        #expect(disk.contents(of: "/a//two/") == [1])
        #expect(disk.used == 1)
        #expect(try disk.list("/a").sorted() == ["b", "two"])
        #expect(fault { try disk.rename("/a/one", to: "/a/x") } == .notFound)
        #expect(fault { try disk.rename("/a/two", to: "/a/b") } == .inTheWay)
        #expect(fault { try disk.rename("/a/two", to: "/c/x") } == .notFound)
        try disk.remove("/a/two")
        try disk.remove("/a/two")
        #expect(try disk.size(of: "/a/two") == nil)
        #expect(fault { _ = try disk.open("/a/two", .read) } == .notFound)
        #expect(fault { _ = try disk.open("/a/b", .create) } == .inTheWay)
        #expect(fault { _ = try disk.list("/c") } == .notFound)
        #expect(disk.used == 0)
    }

    @Test func failsAsPlanned() throws {
        let disk = try disk()
        let file = try disk.open("/a/f", .create)
        let other = try disk.open("/a/g", .create)
        disk.fail(.write, with: .inputOutput, path: "/a/f", skipping: 1, times: 2)
        try write([1], to: other)
        let faults = (0..<4).map { _ in fault { try write([1], to: file) } }
        #expect(faults == [nil, .inputOutput, .inputOutput, nil])
        disk.fail(.sync, with: .noSpace)
        disk.failNothing()
        try file.sync()
        #expect(disk.counters[.write] == 5)
        #expect(disk.counters.bytesWritten == 3)
    }

    @Test func tellsWhichFaultsHaveNotHappened() throws {
        let disk = try disk()
        disk.fail(.open, with: .inputOutput, path: "/a/misspelled")
        disk.fail(.open, with: .inputOutput, path: "/a/f", times: .max)
        #expect(disk.unusedFaults == [.open, .open])
        #expect(fault { _ = try disk.open("/a/f", .create) } == .inputOutput)
        #expect(disk.unusedFaults == [.open])
        disk.failNothing()
        #expect(disk.unusedFaults == [])
    }

    @Test(arguments: [0, -1]) func failsNoTimes(times: Int) throws {
        let disk = try disk()
        disk.fail(.open, with: .inputOutput, times: times)
        disk.put([1], at: "/a/f")
        _ = try disk.open("/a/f", .read)
    }

    private func fails(_ result: Result<Void, FileError>) -> DiskFault? {
        fault { try result.get() }
    }

    @Test func allIsSyncedAtOnce() throws {
        let disk = try disk()
        let files = try ["/a/f", "/a/g"].map { path in try disk.open(path, .create) }
        for file in files { try write([1, 2], to: file) }
        #expect(disk.syncAll([files[0]]) == nil)
        #expect(!disk.hasDurably([0..<2], of: "/a/f"))
        #expect(disk.syncAll(files)?.map { fails($0) } == [nil, nil])
        for path in ["/a/f", "/a/g"] { #expect(disk.hasDurably([0..<2], of: path)) }
    }

    @Test func whatFailsOfAllIsToldOfItsFile() throws {
        let disk = try disk()
        let files = try ["/a/f", "/a/g", "/a/h"].map { path in try disk.open(path, .create) }
        for file in files { try write([1, 2], to: file) }
        for path in ["/a/f", "/a/h"] { disk.fail(.sync, with: .inputOutput, path: path) }
        #expect(disk.syncAll(Array(files[..<2]))?.map { fails($0) } == [.inputOutput, nil])
        try files[0].sync()
        #expect(!disk.hasDurably([0..<2], of: "/a/f"), "as kernels have it")
        #expect(disk.hasDurably([0..<2], of: "/a/g"))
        #expect(fault { try files[2].sync() } == .inputOutput, "nobody has asked for it")
    }

    @Test func whatWasCutOffIsNotWrittenLater() throws {
        let disk = try disk()
        let file = try disk.open("/a/f", .create)
        try write([UInt8](repeating: 1, count: 900), to: file)
        disk.fail(.sync, with: .inputOutput)
        #expect(fault { try file.sync() } == .inputOutput)
        try file.truncate(to: 0)
        try write([2, 3], to: file)
        try file.sync()
        try disk.syncDirectory("/a")
        disk.endProcess()
        for seed in 0..<8 {
            var random = SeededGenerator(seed: UInt64(seed))
            disk.loseUnsynced(&random)
            #expect(disk.contents(of: "/a/f") == [2, 3])
        }
    }

    @Test func locksOnce() throws {
        let disk = try disk()
        let lock = try disk.lock("/a/lock")
        #expect(fault { _ = try disk.lock("/a/lock") } == .locked)
        lock.release()
        lock.release()
        _ = try disk.lock("/a/lock")
    }

    @Test func holdsManySmallFiles() throws {
        let disk = try disk()
        for number in 0..<20_000 { disk.put([UInt8(truncatingIfNeeded: number)], at: "/a/\(number)") }
        #expect(disk.used == 20_000)
        for number in 0..<20_000 { try disk.rename("/a/\(number)", to: "/a/b/\(number)") }
        #expect(try disk.list("/a/b").count == 20_000)
        #expect(disk.contents(of: "/a/b/300") == [44])
    }
}

@Suite struct ManualLanesTests {
    @Test func runsInOrderAndNeverInside() {
        let lanes = ManualLanes()
        let (left, right) = (lanes.makeLane("left"), lanes.makeLane("right"))
        let seen = Locked<[Int]>([])
        left.run {
            right.run { seen.withLock { $0.append(3) } }
            seen.withLock { $0.append(1) }
        }
        right.run { seen.withLock { $0.append(2) } }
        #expect(seen.withLock { $0 } == [])
        #expect(lanes.count == 2)
        #expect(lanes.runAll() == 3)
        #expect(seen.withLock { $0 } == [1, 2, 3])
        #expect(!lanes.runNext())
    }

    @Test func aLaneNeverOvertakesItself() {
        var random = SeededGenerator(seed: 1)
        let lanes = ManualLanes()
        let two = (0..<2).map { lanes.makeLane("\($0)") }
        let seen = Locked<[[Int]]>([[], []])
        let order = Locked<[Int]>([])
        for number in 0..<100 {
            for (index, lane) in two.enumerated() {
                lane.run {
                    seen.withLock { $0[index].append(number) }
                    order.withLock { $0.append(index) }
                }
            }
        }
        while lanes.runAny(using: &random) {}
        #expect(seen.withLock { $0 } == [Array(0..<100), Array(0..<100)])
        #expect(order.withLock { $0 } != (0..<200).map { $0 % 2 }, "lanes overtake each other")
    }

    /// Though what is left is on a lane that another thread is on.
    @Test func whoWaitsWaitsForOtherThreads() async {
        let (lanes, last) = (ManualLanes(), Latch())
        let (hasBegun, hasWaited) = (Latch(), DispatchSemaphore(value: 0))
        let lane = lanes.makeLane("lane")
        lane.run {
            hasBegun.open()
            // Comes too early or not at all.
            _ = hasWaited.wait(timeout: .now() + 0.1)
        }
        lane.run { last.open() }
        Thread.detachNewThread { lanes.runNext() }
        let isOpen = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                hasBegun.wait()
                lanes.wait(for: last)
                hasWaited.signal()
                continuation.resume(returning: last.isOpen)
            }
        }
        #expect(isOpen)
    }
}
