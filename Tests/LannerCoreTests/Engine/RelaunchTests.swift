import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct RelaunchTests {
    private func restored(_ bench: TestBench) throws -> DownloadTask {
        try #require(bench.manager.fetchTask(address))
    }

    @Test func resumesWhatWasSuspendedAt40Percent() throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        let first = try bench.download(.stall(afterBytes: 400))
        bench.settle()
        bench.manager.suspend(first)
        bench.settle()
        bench.relaunch()
        let task = try restored(bench)
        #expect(task.status == .suspended)
        #expect(task.progress.fractionCompleted == 0.4)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.contents(of: task) == Sample.bytes(1000))
        #expect(bench.ranges.last == "bytes=400-")
    }

    /// The process that waited is gone; a task of the test's that did goes on.
    @Test(.timeLimit(.minutes(10))) func whoWaitsForTheOldManagerIsTold() async throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.hold)
        bench.settle()
        let (manager, waits) = (bench.manager, Locked(0))
        let file = Task { () -> URL in
            waits.withLock { $0 += 1 }
            return try await task.file
        }
        let all = Task { for await _ in manager.events { waits.withLock { $0 += 1 } } }
        // The second has heard of the first event, the first may be about to wait.
        while waits.withLock({ $0 }) < 1 { await Task.yield() }
        bench.relaunch()
        await #expect(throws: LannerError.self) { try await file.value }
        await all.value
    }

    @Test func resumesWhatWasKilled() throws {
        let bench = TestBench.serving(large)
        _ = try bench.download(.stall(afterBytes: 2_000_000))
        bench.run(for: .seconds(3))
        bench.relaunch()
        let task = try restored(bench)
        #expect(task.status == .suspended)
        #expect(task.completedBytes == 2_000_000, "the mark of the last second")
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.ranges.last == "bytes=2000000-")
    }

    @Test func trustsOnlySyncedBytesAfterAReboot() throws {
        let bench = TestBench.serving(large)
        _ = try bench.download(.stall(afterBytes: 1_000_000))
        bench.run(for: .seconds(7))
        bench.transport.release(bytes: 1_000_000)
        bench.run(for: .seconds(2))
        bench.disk.boot = "another"
        bench.relaunch()
        let task = try restored(bench)
        #expect(task.completedBytes == 1_000_000)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
    }

    /// A stick may have been away, and what was not synced with it; not every file shows that by holes.
    @Test(arguments: 1...5 as ClosedRange<UInt64>) func trustsOnlySyncedBytesOfAStick(seed: UInt64) throws {
        let disk = MemoryDisk()
        disk.keepsUnsynced = false
        let bench = TestBench.serving(large, disk: disk)
        _ = try bench.download(.stall(afterBytes: 1_000_000))
        bench.run(for: .seconds(7))
        bench.transport.release(bytes: 1_000_000)
        bench.run(for: .seconds(2))
        let boot = disk.boot
        bench.relaunch(meanwhile: {
            var random = SeededGenerator(seed: seed)
            disk.loseUnsynced(&random)
            disk.boot = boot
        })
        let task = try restored(bench)
        #expect(task.completedBytes == 1_000_000)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
    }

    @Test func startsByItselfWhenAsked() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let bench = TestBench.serving(large, configuration: configuration)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(2))
        bench.relaunch()
        bench.settle()
        #expect(bench.holds(large, in: try restored(bench)) == true)
    }

    @Test func remembersEveryEnd() throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.manager.download(address)
        bench.manager.download("https://example.com/missing", headers: ["X-A": "b"])
        bench.settle()
        bench.relaunch()
        let tasks = bench.manager.tasks
        #expect(tasks.map(\.status) == [.succeeded, .failed])
        #expect(tasks.first?.completedBytes == 3)
        #expect(tasks.first.map { $0.endDate > 0 } == true)
        guard case .unacceptableStatusCode(404) = tasks.last?.error as? LannerError else {
            return #expect(Bool(false), "the error is remembered")
        }
        #expect(bench.manager.status == .failed)
        bench.transport.serve(.init([4]), at: "/missing")
        bench.manager.totalStart()
        bench.settle()
        #expect(bench.manager.status == .succeeded)
        #expect(bench.transport.requests.last?.fields["X-A"] == "b")
    }

    @Test func remembersWhyEachFailed() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init([1, 2, 3]))
        bench.transport.script("/redirect", .redirect(to: "ftp://example.com/f"))
        bench.transport.script("/odd", .exactly(ResponseHead(status: 206)))
        bench.transport.script("/transport", .failure(.secureConnectionFailed))
        bench.transport.script("/status", .status(410))
        bench.manager.multiDownload(["redirect", "odd", "transport", "status"].map { "https://example.com/" + $0 })
        bench.manager.download("https://example.com/checksum", checksum: try digest(of: [4]))
        bench.settle()
        bench.disk.fail(.write, with: .notPermitted)
        bench.manager.download("https://example.com/disk")
        bench.settle()
        let errors = bench.manager.tasks.map { String(describing: $0.error) }
        for _ in 0..<2 {
            // A status is an error of its own.
            #expect(
                bench.manager.tasks.map(\.reason) == [
                    .redirect, .unusableResponse, .transport(.secureConnectionFailed), nil, .checksumMismatch,
                    .disk(.notPermitted),
                ])
            #expect(bench.manager.tasks.map { String(describing: $0.error) } == errors)
            #expect(bench.manager.tasks.allSatisfy { $0.status == .failed })
            bench.relaunch()
        }
    }

    @Test func keepsTheOrder() {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init([1]))
        bench.manager.multiDownload((0..<20).map { "https://example.com/\($0)" })
        while bench.records.count < 20, bench.lanes.runNext() {}
        bench.relaunch()
        bench.transport.clearRequests()
        bench.manager.totalStart()
        bench.settle()
        #expect(bench.transport.requests.map(\.url.path) == (0..<20).map { "/\($0)" })
    }

    /// A download that was suspended with a third of its file.
    private func suspended() throws -> (TestBench, DownloadTask) {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        return (bench, task)
    }

    @Test func neverUsesAnIdentityTwice() throws {
        let (bench, first) = try suspended()
        bench.relaunch()
        let other = try #require(bench.manager.download("https://example.com/other"))
        #expect(other.id != first.id)
    }

    /// Where names are not written in the order of their changes the file could come back by its old name as well, and be
    /// lost with that, whether it is on record then or not.
    @Test(arguments: 0..<16 as Range<UInt64>, [false, true]) func aFinishedFileIsNotLostWithItsOldName(
        seed: UInt64, isForgotten: Bool
    ) throws {
        let bench = TestBench.serving(large)
        bench.disk.ordersNames = false
        let path = try bench.download().filePath
        #expect(bench.runToRest())
        if isForgotten {
            bench.manager.tasks.forEach { bench.manager.remove($0) }
            bench.settle()
        }
        for _ in 0..<2 {
            bench.reboot(seed: seed)
            bench.settle()
        }
        #expect(bench.disk.contents(of: path) == large && bench.files == [path])
    }

    /// The machine dies between the move and the record of it.
    @Test(arguments: 0..<12 as Range<UInt64>, [.replace, .keepBoth, .fail] as [FileConflictPolicy])
    func aFileThatHasBothNamesIsNotLost(seed: UInt64, policy: FileConflictPolicy) throws {
        let bytes = Sample.bytes(1000)
        for operations in 0..<12 {
            let bench = TestBench.serving(bytes)
            bench.manager.configuration.fileConflictPolicy = policy
            bench.disk.ordersNames = false
            let path = try bench.download().filePath
            try bench.step { bench.records.first?.saved.status == .publishing }
            bench.disk.operationsLeft = operations
            bench.settle()
            bench.reboot(seed: seed, store: MemoryStore(bench.contents, lanes: bench.lanes))
            bench.manager.start(try restored(bench))
            #expect(bench.runToRest())
            for next in 0..<3 as Range<UInt64> {
                #expect(try restored(bench).status == .succeeded)
                #expect(bench.disk.contents(of: path) == bytes, "\(operations) operations")
                bench.reboot(seed: seed + next)
                bench.settle()
            }
        }
    }

    /// Killed after every single piece of work: wherever it was, it ends with the right file.
    @Test(arguments: [false, true]) func survivesDeathAtEveryStep(reboots: Bool) throws {
        let bytes = Sample.bytes(1000)
        for steps in 0... {
            let bench = TestBench.serving(bytes)
            let first = try bench.download(.cut(afterBytes: 300))
            let isOver = bench.run(steps: steps, of: first)
            if reboots { bench.disk.boot = "another" }
            // Before the first commit is made there is nothing to go on with.
            let isOnRecord = !bench.records.isEmpty || !bench.transport.requests.isEmpty
            bench.relaunch()
            let task = try isOnRecord ? #require(bench.manager.fetchTask(address)) : bench.download()
            bench.manager.start(task)
            #expect(bench.runToRest())
            #expect(task.status == .succeeded, "killed after \(steps) steps")
            #expect(bench.contents(of: task) == bytes)
            #expect(bench.files == [task.filePath])
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    /// The process ended before the move, and somebody else has put a file of the same size there.
    @Test func doesNotTakeAnotherFileForThePublishedOne() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download(checksum: digest(of: large))
        try bench.step { bench.records.first?.saved.status == .publishing }
        bench.files.forEach { try? bench.disk.remove($0) }
        bench.disk.put(large.map { ~$0 }, at: first.filePath)
        bench.relaunch()
        let task = try restored(bench)
        #expect(task.status == .suspended)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
    }

    /// It was about to go there when the process died, and another has gone there since.
    @Test func doesNotTakeAnotherDownloadsFileForItsOwn() throws {
        var configuration = SessionConfiguration()
        configuration.fileConflictPolicy = .keepBoth
        let bench = TestBench.serving(large, configuration: configuration)
        let request = DownloadRequest(address, fileName: "name", key: "one")
        let before = try #require(bench.manager.download(request))
        try bench.step { bench.machineState(of: before).contains("moving") }
        bench.relaunch()
        let other = try #require(bench.manager.download(DownloadRequest(address, fileName: "name", key: "other")))
        #expect(bench.runToRest())
        #expect(other.status == .succeeded && other.fileName == "name")
        for path in bench.files where path.hasSuffix(".part") { try bench.disk.remove(path) }
        let task = try #require(bench.relaunch().fetchTask(key: "one"))
        #expect(task.status == .suspended)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.fileName != "name")
    }

    /// The process died while it copied the file to another device, and nobody wants it any more.
    @Test func theBeginningOfACopyGoesWithItsDownload() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download()
        try bench.step { bench.records.first?.saved.status == .publishing }
        let partial = try #require(bench.files.first)
        let copy = first.filePath.directory + "/" + partial.lastComponent + ".copy"
        bench.disk.put(Array(large.prefix(1000)), at: copy)
        bench.relaunch()
        #expect(bench.files.sorted() == [copy, partial].sorted())
        bench.manager.remove(try restored(bench))
        bench.settle()
        #expect(bench.files.isEmpty)
    }

    @Test(arguments: [false, true])
    func recognizesAFileThatWasPublishedButNotRecorded(hasDigest: Bool) throws {
        let bench = TestBench.serving(large)
        let first = try bench.download(checksum: hasDigest ? digest(of: large) : nil)
        let contents = try bench.stepBehindTheMove(of: first)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let task = try restored(bench)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.records.first?.saved.status == .succeeded, "and recorded")
        #expect(bench.transport.requests.count == 1)
    }

    /// It is read before it goes: only its size tells that it is the download's.
    @Test(arguments: [false, true], [false, true])
    func aLargeFileThatWasPublishedGoesWithItsDownload(isIts: Bool, removes: Bool) throws {
        let file = Sample.bytes(17 << 20)
        let bench = TestBench.serving(file)
        let first = try bench.download(checksum: digest(of: file))
        let contents = try bench.stepBehindTheMove(of: first)
        if !isIts { bench.disk.put(file.map { ~$0 }, at: first.filePath) }
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let task = try restored(bench)
        if removes { bench.manager.remove(task, completely: true) } else { bench.manager.cancel(task) }
        bench.settle()
        #expect(bench.manager.tasks.isEmpty)
        #expect(bench.files == (isIts ? [] : [first.filePath]))
    }

    /// An application that waits for its manager would be ended while a large file is read, at each of its launches.
    @Test(arguments: [false, true]) func aLargeFileThatWasPublishedIsReadOnceTheManagerIsMade(isIts: Bool) throws {
        let file = Sample.bytes(17 << 20)
        let bench = TestBench.serving(file)
        let first = try bench.download(checksum: digest(of: file))
        let contents = try bench.stepBehindTheMove(of: first)
        if !isIts { bench.disk.put(file.map { ~$0 }, at: first.filePath) }
        let reads = bench.disk.counters[.read]
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let task = try restored(bench)
        #expect(task.status == .suspended && bench.disk.counters[.read] == reads)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && task.validation == .correct && bench.holds(file, in: task) == true)
        #expect(bench.transport.requests.count == (isIts ? 1 : 2))
    }

    /// Else another death might take it back.
    @Test func aFileThatWasPublishedIsNoSuccessBeforeThatIsRecorded() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download()
        let contents = try bench.stepBehindTheMove(of: first)
        bench.store.fail(.commit, times: 2)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let task = try restored(bench)
        let ends = Tally()
        task.completion { ends.add($0.status.rawValue) }
        #expect(task.status == .running && task.completedBytes == large.count && bench.manager.status == .running)
        bench.settle()
        #expect(task.status == .running && ends.all.isEmpty)
        #expect(bench.runToRest())
        #expect(ends.all == ["succeeded"] && bench.records.first?.saved.status == .succeeded)
        #expect(bench.transport.requests.count == 1 && bench.holds(large, in: task) == true)
    }

    @Test func aRelativeURLIsKnownAgain() throws {
        let bench = TestBench.serving(large)
        let url = try #require(URL(string: "file.bin", relativeTo: URL(string: "https://example.com/")))
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        _ = try #require(bench.manager.download(url))
        bench.settle()
        bench.manager.totalSuspend()
        bench.settle()
        bench.relaunch()
        let task = try #require(bench.manager.download(url))
        #expect(task.completedBytes == 1 << 20)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=1048576-"])
    }

    /// The process ends between the move and the sync of the name, the machine right after the next launch.
    @Test(arguments: 1...8 as ClosedRange<UInt64>, ["file.bin", "\u{301}a"])
    func doesNotTakeSuccessBack(seed: UInt64, name: String) throws {
        var succeeded = 0
        for operations in 0..<12 {
            let bench = TestBench.serving(Sample.bytes(1000))
            let first = try #require(bench.manager.download(address, fileName: name))
            try bench.step { bench.records.first?.saved.status == .publishing }
            bench.disk.operationsLeft = operations
            bench.settle()
            bench.relaunch(store: MemoryStore(bench.contents, lanes: bench.lanes))
            bench.settle()
            guard try restored(bench).status == .succeeded else { continue }
            succeeded += 1
            bench.reboot(seed: seed)
            #expect(try restored(bench).status == .succeeded, "\(operations) operations")
            #expect(bench.contents(of: first) == Sample.bytes(1000))
        }
        #expect(succeeded > 0 && succeeded < 12, "some of these are before the move, and some behind it")
    }

    @Test func removesPartialFilesNobodyKnows() throws {
        let (bench, task) = try suspended()
        let known = bench.files
        let token = try #require(bench.records.first?.token)
        let orphans = [
            PartialName(token: token, id: DownloadID(99), generation: 1),
            PartialName(token: token, id: task.id, generation: 9),
        ].map(\.text)
        let others = [PartialName(token: token + 1, id: task.id, generation: 1).text, "1-1.part", "someone's.txt"]
        for name in orphans + others { bench.disk.put([1, 2], at: "/downloads/Tmp/" + name) }
        bench.relaunch()
        #expect(bench.files == (known + others.map { "/downloads/Tmp/" + $0 }).sorted())
    }

    /// Its value may be readable at another launch, as when the store's key is there again.
    @Test func keepsPartialFilesOfValuesThatCouldNotBeRead() throws {
        let (bench, _) = try suspended()
        let (files, contents) = (bench.files, bench.contents)
        let key = try #require(bench.records.first?.storeKey)
        bench.relaunch(store: LockedStore(contents.filter { $0.key != key }, "The value “\(key)” is locked."))
        #expect(bench.manager.restorationProblems == ["The value “\(key)” is locked."])
        #expect(bench.manager.tasks.isEmpty && bench.files == files)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let again = try #require(bench.manager.fetchTask(address))
        bench.manager.start(again)
        #expect(bench.runToRest() && again.status == .succeeded)
        #expect(bench.ranges.last == "bytes=\(1 << 20)-")
    }

    /// A new record would take the place of one that comes back.
    @Test func givesNoNumberOfRecordsThatCouldNotBeRead() throws {
        let (bench, _) = try suspended()
        let old = try #require(bench.records.first?.storeKey)
        let keys = Tally()
        bench.relaunch(store: LockedStore([:], "The store is locked.") { keys.add($0) })
        _ = try #require(bench.manager.download("https://example.com/other"))
        bench.settle()
        #expect(!keys.all.isEmpty && !keys.all.contains(old))
    }

    /// Also of one that is to be moved yet: it is copied anew.
    @Test func removesCopiesThatACrashLeftOnAnotherFileSystem() throws {
        let bench = TestBench.serving(large)
        bench.disk.mounts = ["/downloads/File"]
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        let token = try #require(bench.records.first?.token)
        let recorded = try #require(bench.records.first?.partialName.text)
        let orphan = PartialName(token: token, id: DownloadID(99), generation: 1).text + ".copy"
        let others = [PartialName(token: token + 1, id: task.id, generation: 1).text + ".copy", "mine.part.copy"]
        for name in [recorded + ".copy", orphan] + others { bench.disk.put([1, 2], at: "/downloads/File/" + name) }
        bench.relaunch()
        let left = bench.files.filter { $0.hasPrefix("/downloads/File/") }
        #expect(left == others.map { "/downloads/File/" + $0 }.sorted())
    }

    /// Nothing tells of it any more when the file goes elsewhere, or does not come.
    @Test func removesACopyBesideADestinationOnAnotherFileSystem() throws {
        let bench = TestBench(allowedDirectories: ["/media"])
        bench.disk.mounts = ["/media"]
        bench.transport.serve(.init(large), at: place)
        _ = try #require(bench.manager.download(DownloadRequest(address, destination: "/media/films/a")))
        try bench.step { bench.records.first?.saved.status == .publishing }
        let name = try #require(bench.records.first?.partialName.text)
        let others = [name + ".copy.copy", "mine.part.copy"]
        for name in [name + ".copy"] + others { bench.disk.put([1, 2], at: "/media/films/" + name) }
        bench.relaunch()
        #expect(bench.files == ["/downloads/Tmp/" + name] + others.map { "/media/films/" + $0 })
        bench.manager.start(try restored(bench))
        #expect(bench.runToRest())
        let task = try restored(bench)
        #expect(task.filePath == "/media/films/a" && bench.holds(large, in: task) == true)
    }

    /// It was copied to its place on another file system, and the removal was lost with the machine.
    @Test func removesThePartialFileOfASuccess() throws {
        let bench = TestBench.serving(large)
        bench.disk.mounts = ["/downloads/File"]
        let task = try bench.download()
        bench.settle()
        let name = try #require(bench.records.first?.partialName.text)
        bench.disk.put(large, at: "/downloads/Tmp/" + name)
        bench.relaunch()
        #expect(bench.files == [task.filePath])
        #expect(try restored(bench).status == .succeeded)
    }

    /// The two devices keep no order: what was removed on one must not be all that is left when the machine dies.
    @Test(arguments: 0..<20 as Range<UInt64>) func aCopyOutlivesTheMachineBeforeItsSourceGoes(seed: UInt64) throws {
        let bench = TestBench.serving(large)
        bench.disk.mounts = ["/downloads/File"]
        bench.disk.fail(.syncDirectory, with: .inputOutput, path: "/downloads/File")
        _ = try bench.download()
        #expect(bench.runToRest())
        bench.reboot(seed: seed)
        let task = try restored(bench)
        #expect(task.reason == .disk(.inputOutput))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.files == [task.filePath] && bench.transport.requests.count == 1)
    }

    @Test func removesPartialFilesThoughNoRecordIsLeft() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.cancel(task)
        try bench.step { bench.records.isEmpty }
        #expect(bench.files.count == 1, "the file is still there")
        bench.relaunch()
        #expect(bench.files.isEmpty)
    }

    @Test func sharesADirectoryOfPartialFilesWithAnotherStore() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        let cache = Cache("second", downloadPath: "/second", downloadTmpPath: "/downloads/Tmp")
        let second = bench.manager(on: MemoryStore([:], lanes: bench.lanes), cache, seed: 2)
        let other = try #require(second.download(address))
        #expect(other.id == task.id, "so that nothing but the token tells them apart")
        bench.settle()
        #expect(bench.holds(large, in: other) == true)
        bench.transport.release()
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        second.invalidate()
    }

    @Test func neverGivesANumberAgain() throws {
        let bench = TestBench.serving(large)
        let first = try bench.download()
        bench.settle()
        bench.manager.remove(first)
        bench.settle()
        bench.relaunch()
        let next = try #require(bench.manager.download(address))
        #expect(next.id != first.id)
    }

    /// The record alone leads to the bytes.
    @Test func resumesThoughTheIdentityIsLost() throws {
        let (bench, _) = try suspended()
        var contents = bench.contents
        contents[StoreIdentity.key] = Data([1, 2, 3])
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        #expect(bench.log.errors.count == 1)
        let task = try restored(bench)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.ranges.last == "bytes=1048576-")
    }

    @Test func leavesOutRecordsThatMakeNoSense() throws {
        let bench = TestBench.serving([1])
        _ = try bench.download()
        bench.settle()
        let good = try #require(bench.contents["1"])
        let store = MemoryStore(
            ["1": good, "7": Data([1, 2, 3]), "8": good, "9": Data()], lanes: bench.lanes)
        bench.relaunch(store: store)
        #expect(bench.manager.tasks.count == 1)
        #expect(bench.log.errors.count == 3)
    }
}

/// A store that cannot read all that it has.
private final class LockedStore: Store {
    private let contents: StoreContents
    private let note: @Sendable (String) -> Void

    /// `note` is told the keys that are put.
    init(_ values: [String: Data], _ problem: String, _ note: @escaping @Sendable (String) -> Void = { _ in }) {
        contents = StoreContents(values: values, problems: [problem])
        self.note = note
    }

    func load() -> StoreContents { contents }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        for case .put(let key, _) in changes { note(key) }
        completion(.success(()))
    }

    func close() {}
}
