import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite("T3-21: clearing a cache", .timeLimit(.minutes(10))) struct CacheFeatureTests {
    private let directory: TemporaryDirectory
    private let cache: Cache

    init() throws {
        directory = try TemporaryDirectory()
        cache = Cache("clearing", downloadPath: directory.path + "/cache")
    }

    /// Time passes by itself, and other tests may keep this one waiting for as long as a server may stay silent.
    private var patient: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = 3600
        return configuration
    }

    /// Begins a download that will stall, and returns when some of it has come.
    private func begin(_ url: String, fileName: String? = nil, in manager: SessionManager) async throws -> DownloadTask
    {
        var request = DownloadRequest(url)
        request.fileName = fileName
        request.startsImmediately = false
        let task = try #require(manager.download(request))
        // From before the start, for nothing is told again of one that has stalled.
        let events = task.events
        manager.start(task)
        for await event in events { if case .progress(1..., _) = event { break } }
        return task
    }

    /// A download that has succeeded and one that was stopped in the middle.
    private func fill() async throws -> SessionManager {
        let transport = ScriptedTransport()
        transport.serve(.init(Sample.bytes(1000)), at: "/whole")
        transport.serve(.init(Sample.bytes(3 << 20)), at: "/part")
        transport.script("/part", .stall(afterBytes: 2 << 20))
        let manager = SessionManager("clearing", configuration: patient, transport: transport, cache: cache)
        let whole = try #require(manager.download("http://a.example/whole", fileName: "whole"))
        _ = try await whole.file
        let part = try await begin("http://a.example/part", fileName: "part", in: manager)
        await withCheckedContinuation { done in manager.suspend(part, onMainQueue: false) { _ in done.resume() } }
        return manager
    }

    private var names: Set<String> {
        let enumerator = FileManager.default.enumerator(atPath: cache.downloadPath)
        return Set((enumerator?.allObjects as? [String] ?? []).filter { !$0.hasSuffix("lock") })
    }

    @Test func deletesAllWhenNobodyUsesIt() async throws {
        try await fill().invalidate()
        #expect(names.contains("File/whole"))
        #expect(names.contains { $0.hasSuffix(".part") })
        try Data("mine".utf8).write(to: URL(fileURLWithPath: cache.downloadPath + "/mine"))
        // On its way to another file system.
        let part = try #require(names.first { $0.hasSuffix(".part") }?.split(separator: "/").last)
        try Data("copy".utf8).write(to: URL(fileURLWithPath: cache.downloadFilePath + "/\(part).copy"))
        try await cache.clearDiskCache()
        #expect(names == ["File", "Tmp", "mine"])
        let manager = SessionManager("clearing", transport: ScriptedTransport(), cache: cache)
        #expect(manager.unavailable == nil)
        #expect(manager.tasks.isEmpty)
        manager.invalidate()
    }

    /// Whoever comes first.
    @Test func aManagerThatIsMadeMeanwhileCanBeUsed() async throws {
        for _ in 0..<20 {
            for number in 0..<200 {
                try FileManager.default.createDirectory(
                    atPath: cache.downloadFilePath, withIntermediateDirectories: true)
                try Data([1]).write(to: URL(fileURLWithPath: cache.downloadFilePath + "/\(number)"))
            }
            let manager = await withCheckedContinuation { done in
                let manager = Locked<SessionManager?>(nil)
                let isMade = Latch()
                cache.clearDiskCache(onMainQueue: false) { _ in
                    isMade.wait()
                    done.resume(returning: manager.withLock { $0 })
                }
                let made = SessionManager("clearing", transport: ScriptedTransport(), cache: cache)
                manager.withLock { $0 = made }
                isMade.open()
            }
            #expect(manager?.unavailable == nil)
            manager?.invalidate()
        }
    }

    /// A disk with a snapshot, and a journal that tells of what was changed since.
    private func recorded() async throws -> MemoryDisk {
        let disk = MemoryDisk()
        let store = FileStore(directory: "/cache", disk: disk, lanes: PooledLanes(), smallestCompaction: 4096)
        _ = try store.load()
        for number in 0..<8 as Range<UInt8> {
            let change = StoreChange.put(key: "d\(number % 2)", value: Data(repeating: number, count: 900))
            #expect(await store.commit([change], .machine) == nil)
        }
        store.close()
        return disk
    }

    /// The files of the records go one by one: where the process dies between two of them, what is left tells of nothing,
    /// or of all.
    @Test func aDeathWhileItIsClearedBringsNothingBack() async throws {
        var (outcomes, operations) = (Set<[UInt8]>(), 0)
        repeat {
            let disk = try await recorded()
            disk.operationsLeft = operations
            try? Cache("clearing", downloadPath: "/cache", on: disk).clear()
            disk.operationsLeft = nil
            disk.endProcess()
            let store = FileStore(directory: "/cache", disk: disk, lanes: PooledLanes())
            defer { store.close() }
            outcomes.insert(try store.load().values.values.compactMap(\.first).sorted())
            operations += 1
        } while operations < 60
        #expect(outcomes == [[], [6, 7]])
    }

    /// Whoever clears a cache is to know what is still there.
    @Test(
        arguments: [(.list, "/cache/File"), (.size, "/cache/File/f"), (.remove, "/cache/File/f"), (.lock, nil)]
            as [(MemoryDisk.Operation, String?)])
    func tellsWhatItCouldNotClear(operation: MemoryDisk.Operation, path: String?) {
        let disk = MemoryDisk()
        disk.put([1], at: "/cache/File/f")
        disk.put([2], at: "/cache/File/directory/other")
        let cache = Cache("clearing", downloadPath: "/cache", on: disk)
        disk.fail(operation, with: .inputOutput, path: path)
        let error = #expect(throws: LannerError.self) { try cache.clear() }
        #expect("\(error.debugDescription)".contains(path ?? "manager.lock"), "\(error.debugDescription)")
        #expect(disk.unusedFaults == [] && disk.contents(of: "/cache/File/f") == (operation == .lock ? nil : [1]))
        #expect(throws: Never.self) { try cache.clear() }
        #expect(disk.contents(of: "/cache/File/f") == nil && disk.contents(of: "/cache/File/directory/other") == [2])
    }

    /// A destination makes directories among the finished files.
    @Test func aDirectoryIsNoFinishedFile() {
        let disk = MemoryDisk()
        disk.put([2], at: "/cache/File/directory/other")
        let cache = Cache("clearing", downloadPath: "/cache", on: disk)
        #expect(!cache.fileExists(fileName: "directory") && cache.filePath(fileName: "directory") == nil)
    }

    @Test func leavesALiveManagerWhatItNeeds() async throws {
        let manager = try await fill()
        await withCheckedContinuation { done in cache.clearDiskCache(onMainQueue: false) { _ in done.resume() } }
        #expect(!cache.fileExists(fileName: "whole"))
        #expect(names.contains { $0.hasSuffix(".part") })
        let part = try #require(manager.fetchTask("http://a.example/part"))
        manager.start(part)
        let file = try await part.file
        #expect(try Data(contentsOf: file) == Data(Sample.bytes(3 << 20)))
        manager.invalidate()
        let next = SessionManager("clearing", transport: ScriptedTransport(), cache: cache)
        #expect(next.tasks.count == 2)
        next.invalidate()
    }

    @Test func leavesAloneWhatAnotherHasInItsDirectory() async throws {
        try await fill().invalidate()
        let transport = ScriptedTransport()
        transport.serve(.init(Sample.bytes(3 << 20)), at: "/shared")
        transport.script("/shared", .stall(afterBytes: 1 << 20))
        let other = SessionManager(
            "other", configuration: patient, transport: transport,
            cache: Cache("other", downloadPath: directory.path + "/other", downloadTmpPath: cache.downloadTmpPath))
        let task = try await begin("http://a.example/shared", in: other)
        let before = names.filter { $0.hasSuffix(".part") }
        #expect(before.count == 2)
        try await cache.clearDiskCache()
        let after = names.filter { $0.hasSuffix(".part") }
        #expect(after.count == 1 && after.isSubset(of: before))
        // Now there are no records that tell what is whose.
        try await cache.clearDiskCache()
        #expect(names.filter { $0.hasSuffix(".part") } == after)
        transport.release()
        let file = try await task.file
        #expect(try Data(contentsOf: file) == Data(Sample.bytes(3 << 20)))
        #expect(transport.requests.count == 1)
        other.invalidate()
    }

    /// Of a later version, say.
    @Test func deletesRecordsThatCannotBeRead() async throws {
        try await fill().invalidate()
        let name = try #require(names.first { $0.hasPrefix("journal-") })
        let journal = URL(fileURLWithPath: cache.downloadPath + "/" + name)
        var bytes = try Data(contentsOf: journal)
        let version: [UInt8] = [2, 0, 0, 0]
        bytes.replaceSubrange(8..<12, with: version)
        let checksum = [UInt8](bytes.prefix(12)).withUnsafeBytes { CRC32C.checksum($0) }
        bytes.replaceSubrange(12..<16, with: withUnsafeBytes(of: checksum.littleEndian) { Array($0) })
        try bytes.write(to: journal)
        #expect(throws: StoreError.self) {
            try FileStore(directory: URL(fileURLWithPath: cache.downloadPath, isDirectory: true)).load()
        }
        let partial = cache.downloadTmpPath + "/" + PartialName(token: 1, id: DownloadID(1), generation: 1).text
        try FileManager.default.createDirectory(atPath: cache.downloadTmpPath, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: partial))
        try await cache.clearDiskCache()
        #expect(names.allSatisfy { !StoreFileName.isOfRecords($0) })
        #expect(!FileManager.default.fileExists(atPath: partial), "nothing would ever tell whose it is")
    }

    /// As where the finished files have been moved to a larger disk.
    @Test func leavesAloneWhereItsDirectoryOnlyLeads() async throws {
        let elsewhere = directory.path + "/elsewhere"
        for path in [elsewhere, cache.downloadPath] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try Data("mine".utf8).write(to: URL(fileURLWithPath: elsewhere + "/mine"))
        try FileManager.default.createSymbolicLink(
            atPath: cache.downloadFilePath, withDestinationPath: elsewhere)
        try await cache.clearDiskCache()
        #expect(FileManager.default.fileExists(atPath: elsewhere + "/mine"))
    }

    @Test func leavesALiveManagerItsUnfinishedFilesAmongTheFinishedOnes() async throws {
        let files = directory.path + "/cache/All"
        let cache = Cache(
            "together", downloadPath: directory.path + "/cache", downloadTmpPath: files, downloadFilePath: files)
        let transport = ScriptedTransport()
        transport.serve(.init(Sample.bytes(3 << 20)), at: "/part")
        transport.script("/part", .stall(afterBytes: 2 << 20))
        let manager = SessionManager("together", configuration: patient, transport: transport, cache: cache)
        let part = try await begin("http://a.example/part", fileName: "part", in: manager)
        await withCheckedContinuation { done in manager.suspend(part, onMainQueue: false) { _ in done.resume() } }
        try Data([1]).write(to: URL(fileURLWithPath: files + "/whole"))
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: files) }
        try await cache.clearDiskCache()
        #expect(try names().count == 1 && names().allSatisfy { $0.hasSuffix(".part") })
        manager.invalidate()
        try await cache.clearDiskCache()
        #expect(try names().isEmpty)
    }

    /// A bench's cache is on its disk.
    @Test func aBenchHasNothingReal() async throws {
        let bench = TestBench.serving([1, 2, 3])
        let task = try bench.download()
        bench.settle()
        #expect(bench.manager.cache.fileExists(url: task.url))
        try await bench.run { [cache = bench.manager.cache] in try await cache.clearDiskCache() }
        #expect(bench.contents(of: task) == nil && !bench.manager.cache.fileExists(url: task.url))
    }

    /// Like everything there: when the test lets it happen, on its thread.
    @Test(arguments: [true, false]) func aBenchClearsWhenItIsToldTo(onMainQueue: Bool) throws {
        let (bench, calls) = (TestBench.serving([1, 2, 3]), Tally())
        let task = try bench.download()
        bench.settle()
        let thread = ThreadNumber.current
        bench.manager.cache.clearDiskCache(onMainQueue: onMainQueue) { cache in
            calls.add("\(ThreadNumber.current == thread) \(cache.fileExists(url: task.url))")
        }
        #expect(calls.all == [] && bench.contents(of: task) != nil)
        bench.settle()
        #expect(calls.all == ["true false"] && bench.contents(of: task) == nil)
    }

    /// The library's own files are in the way there, not in the default directories.
    @Test func aFileDoesNotTakeTheNameOfTheLibrarysOwn() throws {
        let cache = Cache("flat", downloadPath: "/flat", downloadFilePath: "/flat")
        for name in ["manager.lock", "journal-1", PartialName(token: 1, id: DownloadID(1), generation: 1).text] {
            let named = DownloadRequest(address, fileName: name)
            #expect {
                try CheckedRequest(named, cache, starts: true)
            } throws: {
                if case LannerError.invalidFileName(name) = $0 { true } else { false }
            }
            _ = try CheckedRequest(named, Cache("usual", downloadPath: "/usual"), starts: true)
            let placed = DownloadRequest(address, destination: name)
            #expect {
                try CheckedRequest(placed, cache, starts: true)
            } throws: {
                if case LannerError.invalidDestination(name) = $0 { true } else { false }
            }
        }
    }

    @Test func identifiersHaveDirectoriesOfTheirOwn() {
        let identifiers = ["", "_", ".", "_.", "..", "_..", "%", "%2E", "a/b", "a%2Fb"]
        #expect(Set(identifiers.map { Cache($0).downloadPath }).count == identifiers.count)
    }

    @Test func leavesDirectoriesElsewhereAlone() async throws {
        let elsewhere = directory.path + "/elsewhere"
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: elsewhere + "/mine"))
        let cache = Cache("clearing", downloadPath: directory.path + "/cache", downloadFilePath: elsewhere)
        try await cache.clearDiskCache()
        #expect(FileManager.default.fileExists(atPath: elsewhere + "/mine"))
    }
}
