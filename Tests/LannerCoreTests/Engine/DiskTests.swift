import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct DiskTests {
    let bytes = large

    @Test func failsWhenTheDiskIsFull() throws {
        let bench = TestBench.serving(bytes, disk: MemoryDisk(capacity: 1 << 20))
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(task.reason == .disk(.noSpace))
        #expect(bench.transport.underway == 0)
        bench.disk.capacity = nil
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func keepsTheBytesWhenTheDiskFillsUp() throws {
        let bench = TestBench.serving(bytes)
        // Someone else takes the space that was not set aside. A chunk is written in four parts.
        bench.disk.fail(.write, with: .noSpace, skipping: 8, times: 1)
        let task = try bench.download()
        bench.settle()
        #expect(task.reason == .disk(.noSpace))
        #expect(task.completedBytes == 2 << 20)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=2097152-"])
    }

    /// A server may announce what it likes, and one that is suspended may be for long.
    @Test(arguments: [true, false]) func whatDoesNotRunKeepsNoMoreSpaceThanItHasBytes(isSuspended: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let bench = TestBench.serving(bytes, configuration: configuration)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        #expect(bench.disk.used >= bytes.count)
        if isSuspended { bench.manager.suspend(task) } else { bench.transport.fail(with: .connectionLost) }
        bench.settle()
        #expect(task.completedBytes == 1 << 20 && bench.disk.used < 3 << 19)
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true && bench.ranges == ["whole", "bytes=1048576-"])
    }

    /// However it came to rest.
    @Test(arguments: ["suspend", "cancel", "invalidate", "die", "context", "shutDown", "die elsewhere"])
    func whatWaitedForItsNextAttemptGivesItsSpaceBack(_ end: String) throws {
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        let bench = TestBench.serving(bytes, configuration: configuration)
        let task = try bench.download(.cut(afterBytes: 1 << 20), .stall(afterBytes: 0))
        bench.run(for: .milliseconds(400))
        guard case .retry = task.waitingReason else { return #expect(Bool(false), "it waits for the next attempt") }
        #expect(bench.disk.used >= bytes.count)
        switch end {
        case "suspend": bench.manager.suspend(task)
        case "invalidate": bench.manager.invalidate()
        case "die": bench.relaunch()
        case "die elsewhere":
            (configuration.contextAtLaunch, configuration.resumesAtLaunch) = ("other", true)
            bench.relaunch(configuration: configuration)
        case "context": bench.manager.context = "other"
        case "shutDown": bench.manager.shutDown()
        default: bench.manager.cancel(task)
        }
        bench.settle()
        #expect(bench.disk.used >= 1 << 20 && bench.disk.used < 3 << 19)
        if end == "invalidate" { bench.relaunch() }
        bench.manager.context = nil
        let next = try end == "suspend" ? task : #require(bench.manager.download(address))
        bench.manager.start(next)
        #expect(bench.runToRest())
        bench.transport.release()
        #expect(bench.runToRest() && bench.holds(bytes, in: next) == true)
        #expect(bench.ranges.allSatisfy { $0 == "whole" || $0 == "bytes=1048576-" })
    }

    /// The end comes in the middle of an attempt.
    @Test(arguments: [true, false]) func whatRanAtTheEndGivesItsSpaceBack(dies: Bool) throws {
        let bench = TestBench.serving(bytes)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(2))
        #expect(bench.disk.used >= bytes.count)
        if dies { bench.relaunch() } else { bench.manager.invalidate() }
        bench.settle()
        #expect(bench.disk.used >= 1 << 20 && bench.disk.used < 3 << 19)
    }

    /// The end comes while the last bytes of an attempt are on their way to the disk.
    @Test func whatIsBeingWrittenAtTheEndIsNotCutMeanwhile() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.cut(afterBytes: 1 << 20))
        try bench.step { task.status == .running }
        let isOver = Locked(false)
        bench.manager.logger = LogThatCalls(at: "is waiting") { [weak manager = bench.manager] in
            manager?.invalidate()
            isOver.withLock { $0 = true }
        }
        while !isOver.withLock({ $0 }) { try #require(bench.lanes.runNext()) }
        while bench.disk.used < bytes.count { try #require(bench.lanes.runNext("file.write")) }
        try #require(task.completedBytes < 1 << 20)
        while bench.lanes.runNext("files") {}
        #expect(bench.disk.used >= bytes.count)
        bench.settle()
        #expect(bench.disk.used >= 1 << 20 && bench.disk.used < 3 << 19)
        let next = try #require(bench.relaunch().fetchTask(address))
        #expect(next.completedBytes == 1 << 20)
        bench.manager.start(next)
        #expect(bench.runToRest() && bench.holds(bytes, in: next) == true)
    }

    /// The next attempt is over before its file is open.
    @Test func whatWasOpenedTooLateGivesItsSpaceBack() throws {
        let bench = TestBench.serving(bytes)
        bench.network.path = NetworkPath(kind: .wifi)
        let task = try bench.download(.cut(afterBytes: 1 << 20))
        bench.run(for: .milliseconds(400))
        guard case .retry = task.waitingReason else { return #expect(Bool(false), "it waits for the next attempt") }
        bench.clock.advance(by: .seconds(100))
        try bench.step { task.status == .running }
        bench.network.path = .unavailable
        bench.settle()
        #expect(bench.disk.used >= bytes.count && bench.transport.requests.count == 1)
        bench.manager.suspend(task)
        bench.settle()
        #expect(bench.disk.used >= 1 << 20 && bench.disk.used < 3 << 19)
    }

    /// Another would have it before the next attempt.
    @Test func whatIsTriedAgainKeepsItsSpace() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.cut(afterBytes: 1 << 20))
        bench.run(for: .milliseconds(400))
        guard case .retry = task.waitingReason else { return #expect(Bool(false), "it waits for the next attempt") }
        #expect(task.completedBytes == 1 << 20 && bench.disk.used >= bytes.count)
        #expect(bench.runToRest() && bench.holds(bytes, in: task) == true)
    }

    @Test func waitsForSpaceWhenAsked() throws {
        var configuration = SessionConfiguration()
        configuration.waitsForDiskSpace = true
        let bench = TestBench.serving(bytes, configuration: configuration, disk: MemoryDisk(capacity: 1 << 20))
        let task = try bench.download()
        bench.run(for: .seconds(100))
        guard case .disk = task.waitingReason else { return #expect(Bool(false), "it waits for the disk") }
        bench.disk.capacity = nil
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
    }

    /// Each of the two would have room by itself.
    @Test(arguments: [false, true]) func ofTwoOneHasToWaitForSpaceOrFails(waits: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.waitsForDiskSpace = waits
        let bench = TestBench(configuration: configuration, disk: MemoryDisk(capacity: 5 << 20))
        bench.transport.serveElsewhere(.init(bytes))
        for name in ["/1", "/2"] { bench.transport.script(name, .stall(afterBytes: 1 << 20)) }
        let tasks = bench.manager.multiDownload(["https://example.com/1", "https://example.com/2"])
        bench.run(for: .seconds(3))
        let (first, second) = (tasks[0], tasks[1])
        #expect(first.status == .running && first.completedBytes == 1 << 20)
        // Seen before any of its bytes came.
        #expect(second.status == (waits ? .waiting : .failed) && second.completedBytes == 0)
        #expect(waits || second.reason == .disk(.noSpace))
        bench.transport.release()
        bench.run(for: .seconds(100))
        #expect(first.status == .succeeded && bench.holds(bytes, in: first) == true)
        #expect(second.status == (waits ? .waiting : .failed))
        bench.disk.capacity = nil
        bench.manager.start(second)
        #expect(bench.runToRest())
        #expect(second.status == .succeeded && bench.holds(bytes, in: second) == true)
    }

    /// The server has another file now: what was there of the old one is of no use, and there is no room for both.
    @Test(arguments: [false, true]) func changesToAnotherFileWithoutRoomForTwo(relaunches: Bool) throws {
        let bench = TestBench.serving(bytes, disk: MemoryDisk(capacity: Int64(bytes.count) + 4096))
        let new = bytes.map { ~$0 }
        var task = try bench.download(.cut(afterBytes: 2 << 20), .changeTo(.init(new)))
        bench.settle()
        if relaunches {
            bench.relaunch()
            task = try #require(bench.manager.fetchTask(address))
            bench.manager.start(task)
        }
        #expect(bench.runToRest())
        #expect(task.error == nil)
        #expect(bench.holds(new, in: task) == true)
        #expect(bench.files == [task.filePath])
    }

    /// The record does not lead to any bytes: no request can be tied to them.
    @Test func beginsAgainWithoutRoomForTwo() throws {
        let bench = TestBench(disk: MemoryDisk(capacity: Int64(bytes.count) + 4096))
        bench.transport.serve(.init(bytes, entityTag: nil), at: place)
        let task = try bench.download(.stall(afterBytes: 2 << 20))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.error == nil)
        #expect(bench.holds(bytes, in: task) == true)
    }

    /// A bench whose file is in its place, the name of which could not be synced.
    private func unconfirmed(
        _ policy: FileConflictPolicy = .fail, checksum: Checksum.Digest? = nil
    ) throws -> TestBench {
        var configuration = SessionConfiguration()
        (configuration.fileConflictPolicy, configuration.retryPolicy) = (policy, .never)
        let bench = TestBench.serving(large, configuration: configuration)
        bench.disk.fail(.syncDirectory, with: .tooManyFiles, path: "/downloads/File")
        let task = try bench.download(checksum: checksum)
        bench.settle()
        #expect(task.reason == .disk(.tooManyFiles) && bench.holds(large, in: task) == true)
        return bench
    }

    @Test(arguments: [false, true]) func whatIsInItsPlaceIsNotFetchedAgain(hasDigest: Bool) throws {
        let bench = try unconfirmed(checksum: hasDigest ? digest(of: large) : nil)
        let task = try #require(bench.manager.fetchTask(address))
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func whatIsInItsPlaceIsFoundAtLaunch() throws {
        let bench = try unconfirmed()
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
    }

    @Test func whatWasInItsPlaceAndIsGoneStaysAFailureAtLaunch() throws {
        let bench = try unconfirmed()
        let path = try #require(bench.manager.fetchTask(address)).filePath
        bench.relaunch { #expect(throws: Never.self) { try bench.disk.remove(path) } }
        let task = try #require(bench.manager.fetchTask(address))
        bench.settle()
        #expect(task.reason == .disk(.tooManyFiles))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
    }

    /// The name cannot be synced the second time, either: no byte is lost by that.
    @Test func whatIsInItsPlaceStaysThereWhileItCannotBeConfirmed() throws {
        let bench = try unconfirmed()
        let task = try #require(bench.manager.fetchTask(address))
        bench.disk.fail(.syncDirectory, with: .notFound, path: "/downloads/File", times: 3)
        for _ in 0..<3 {
            bench.manager.start(task)
            bench.settle()
            #expect(task.reason == .disk(.notFound) && bench.holds(large, in: task) == true)
        }
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.transport.requests.count == 1)
    }

    /// The old name may come back as long as the device has not forgotten it, and the file with it by both.
    @Test func whoseOldNameTheDeviceHasNotForgottenIsNotToldAsASuccess() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let bench = TestBench.serving(large, configuration: configuration)
        // Its first sync is that of the partial file.
        bench.disk.fail(.syncDirectory, with: .inputOutput, path: "/downloads/Tmp", skipping: 1)
        let task = try bench.download()
        bench.settle()
        #expect(task.reason == .disk(.inputOutput) && bench.holds(large, in: task) == true)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func aCancelLeavesNoFileWhoseSuccessWasNotTold() throws {
        let bench = try unconfirmed()
        bench.manager.cancel(address)
        bench.settle()
        #expect(bench.files == [])
    }

    /// What is in its place is not what is asked for any more. It is not removed, either: nobody knows whose it is by now.
    @Test func whatIsInItsPlaceIsComparedWithAnotherDigest() throws {
        let bench = try unconfirmed()
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: place)
        let task = try #require(bench.manager.download(address, checksum: digest(of: other)))
        #expect(bench.runToRest())
        #expect(task.reason == .disk(.inTheWay) && bench.holds(large, in: task) == true)
        try bench.disk.remove(task.filePath)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(other, in: task) == true)
    }

    /// It was never told: it makes room, whatever is done about the files of others.
    @Test(arguments: [false, true]) func whatIsInItsPlaceIsNotThatOfAnotherURL(relaunches: Bool) throws {
        let bench = try unconfirmed()
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: "/other")
        let request = DownloadRequest("https://example.com/other", key: address, startsImmediately: false)
        var task = try #require(bench.manager.download(request))
        bench.settle()
        if relaunches {
            bench.relaunch()
            task = try #require(bench.manager.fetchTask(address))
            #expect(task.status == .failed)
            // Nobody knows any more whose it is.
            try bench.disk.remove(task.filePath)
        }
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(other, in: task) == true)
        #expect(bench.files == [task.filePath])
    }

    /// Nobody asks any more for what has replaced it.
    @Test func whatWasReplacedIsNotFoundAtLaunch() throws {
        let bench = try unconfirmed()
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: "/other")
        let name = try #require(bench.manager.fetchTask(address)).fileName
        let request = DownloadRequest("https://example.com/other", fileName: name, conflictPolicy: .replace)
        let successor = try #require(bench.manager.download(request))
        #expect(bench.runToRest())
        #expect(bench.holds(other, in: successor) == true)
        bench.manager.remove(successor, completely: false)
        bench.settle()
        bench.relaunch()
        bench.settle()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.reason == .disk(.tooManyFiles) && bench.disk.contents(of: task.filePath) == other)
        try bench.disk.remove(task.filePath)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
    }

    @Test func whatIsInItsPlaceHasNotTheOtherPieces() throws {
        let bench = try unconfirmed()
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: place)
        let request = DownloadRequest(address, pieces: .of(other, length: 1 << 20, .sha256))
        let task = try #require(bench.manager.download(request))
        #expect(bench.runToRest())
        #expect(bench.holds(other, in: task) == true)
        #expect(bench.files == [task.filePath])
    }

    @Test(arguments: [false, true]) func aFileOfAnotherSizeIsSomebodyElses(cancels: Bool) throws {
        let bench = try unconfirmed()
        let task = try #require(bench.manager.fetchTask(address))
        bench.disk.put([1, 2, 3], at: task.filePath)
        if cancels { bench.manager.cancel(task) } else { bench.manager.start(task) }
        bench.settle()
        #expect(bench.disk.contents(of: task.filePath) == [1, 2, 3])
        #expect(cancels || task.reason == .disk(.inTheWay))
    }

    /// Somebody has put it there since, as a digest has told: it does not go with the task.
    @Test(arguments: [FileConflictPolicy.replace, .fail])
    func whatIsInItsPlaceIsNotRemovedOnceItIsKnownToBeAnother(policy: FileConflictPolicy) throws {
        let bench = try unconfirmed(policy)
        let other = Array(large.reversed())
        try bench.disk.put(other, at: #require(bench.manager.fetchTask(address)).filePath)
        bench.transport.script(place, .stall(afterBytes: 1000))
        let task = try #require(bench.manager.download(address, checksum: digest(of: large)))
        bench.settle()
        bench.manager.remove(task, completely: true)
        bench.settle()
        #expect(bench.disk.contents(of: task.filePath) == other)
    }

    /// As little as before: what is in its place stays known.
    @Test(arguments: [MemoryDisk.Operation.syncDirectory, .open])
    func whatIsInItsPlaceIsKnownAfterALaunchThatCannotConfirmIt(fails: MemoryDisk.Operation) throws {
        let bench = try unconfirmed(checksum: digest(of: large))
        let path = try #require(bench.manager.fetchTask(address)).filePath
        bench.disk.fail(fails, with: .tooManyFiles, path: fails == .open ? path : "/downloads/File")
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.reason == .disk(.tooManyFiles))
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    /// Another download has replaced it since, with a file of the same size.
    @Test func whatIsInItsPlaceIsNotThatOfAnotherDownload() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let bench = TestBench.serving(large, configuration: configuration)
        bench.transport.serve(.init(Array(large.reversed())), at: "/other")
        bench.disk.fail(.syncDirectory, with: .tooManyFiles, path: "/downloads/File")
        let first = try #require(bench.manager.download(DownloadRequest(address, fileName: "one")))
        bench.settle()
        #expect(first.status == .failed)
        bench.clock.advance(by: .seconds(1))
        let second = try #require(
            bench.manager.download(DownloadRequest("https://example.com/other", fileName: "one")))
        bench.settle()
        #expect(second.status == .succeeded)
        bench.relaunch()
        #expect(bench.manager.fetchTask(address)?.status == .failed)
        #expect(bench.manager.fetchTask("https://example.com/other")?.status == .succeeded)
    }

    /// A bench where another file has had the name "one" for a second.
    private func holdingAnother() -> TestBench {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let bench = TestBench.serving(large, configuration: configuration)
        bench.transport.serve(.init(Array(large.reversed())), at: "/other")
        bench.manager.download(DownloadRequest("https://example.com/other", fileName: "one"))
        bench.settle()
        bench.clock.advance(by: .seconds(1))
        return bench
    }

    /// An earlier launch was ended while it copied the file to another device.
    @Test func whatIsLeftOfACopyGoesWithTheTask() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        let part = try #require(bench.files.first { $0.hasSuffix(".part") })
        bench.disk.put([1], at: "/downloads/File/" + part.lastComponent + ".copy")
        bench.manager.remove(task)
        bench.settle()
        #expect(bench.files.isEmpty)
    }

    /// The old file stays until the other has come, whatever the size of that.
    @Test(arguments: [false, true]) func aFileThatIsFetchedAgainGoesWithTheTask(relaunches: Bool) throws {
        let (old, new) = (Sample.bytes(1000), Sample.bytes(2 << 20))
        let bench = TestBench.serving(old)
        var task = try bench.download()
        bench.settle()
        if relaunches { task = try #require(bench.relaunch().fetchTask(address)) }
        bench.transport.serve(.init(new), at: place)
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        bench.manager.download(DownloadRequest(address, checksum: try digest(of: new)))
        bench.run(for: .seconds(10))
        #expect(bench.contents(of: task) == old && bench.records.first?.saved.total == 2 << 20)
        bench.manager.remove(task, completely: true)
        bench.settle()
        #expect(bench.files.isEmpty)
    }

    /// Though no byte is given up for that.
    @Test func whatWasFoundOfAnEmptyFileSaysNothingOfTheNext() throws {
        let bench = TestBench.serving([])
        let task = try bench.download()
        bench.settle()
        task.validateFile(code: "d41d8cd98f00b204e9800998ecf8427e", type: .md5) { _ in }
        bench.settle()
        try #require(task.validation == .correct)
        try bench.disk.remove(task.filePath)
        _ = try bench.download(.status(404))
        bench.settle()
        #expect(task.status == .failed && task.validation == .unknown)
    }

    /// As long as it is the one that the task has put there: what somebody else has written since is theirs.
    @Test(arguments: [false, true]) func aFileThatWasBeingFetchedAgainAtTheDeathGoesWithTheTask(isEdited: Bool) throws {
        let (old, new) = (Sample.bytes(1000), Sample.bytes(2 << 20))
        let bench = TestBench.serving(old)
        _ = try bench.download()
        bench.settle()
        bench.transport.serve(.init(new), at: place)
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        let path = try #require(
            bench.manager.download(DownloadRequest(address, checksum: try digest(of: new)))
        ).filePath
        bench.run(for: .seconds(10))
        bench.relaunch { if isEdited { bench.disk.put(Array(old.reversed()), at: path) } }
        bench.run(for: .seconds(10))
        #expect(bench.files.count == 2)
        bench.manager.remove(address, completely: true)
        bench.settle()
        #expect(bench.files == (isEdited ? [path] : []))
    }

    /// It has not come to its place, and the old one is there.
    @Test func aFileWhoseSuccessorCouldNotBeMovedGoesWithTheTask() throws {
        let (old, new) = (Sample.bytes(1000), Sample.bytes(2000))
        let bench = TestBench.serving(old)
        let task = try bench.download()
        bench.settle()
        bench.transport.serve(.init(new), at: place)
        bench.disk.fail(.rename, with: .inputOutput)
        bench.manager.download(DownloadRequest(address, checksum: try digest(of: new)))
        #expect(bench.runToRest())
        #expect(task.status == .failed && bench.contents(of: task) == old)
        bench.manager.remove(task, completely: true)
        bench.settle()
        #expect(bench.files.isEmpty)
    }

    /// Its process ended between the move and the record of it: it is the one that is there, and ended last.
    @Test func whatWasMovedLastHasThePlaceAfterALaunch() throws {
        let bench = holdingAnother()
        // What is left on record is that it is being moved.
        bench.store.fail(.commit, skipping: 2, times: .max)
        bench.manager.download(DownloadRequest(address, fileName: "one"))
        bench.settle()
        bench.store.failNothing()
        bench.relaunch()
        bench.settle()
        let task = try #require(bench.manager.fetchTask(address))
        let other = try #require(bench.manager.fetchTask("https://example.com/other"))
        #expect(task.status == .succeeded && other.status == .succeeded)
        #expect(task.endDate > other.endDate)
        bench.manager.remove(other, completely: true)
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
    }

    /// The other one was there before.
    @Test func whatIsInItsPlaceHasReplacedThatOfAnotherDownload() throws {
        let bench = holdingAnother()
        bench.disk.fail(.syncDirectory, with: .tooManyFiles, path: "/downloads/File")
        bench.manager.download(DownloadRequest(address, fileName: "one"))
        bench.settle()
        #expect(bench.manager.fetchTask(address)?.status == .failed)
        bench.relaunch()
        bench.settle()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
    }

    @Test(arguments: [MemoryDisk.Operation.open, .write, .sync, .rename, .syncDirectory, .makeDirectory])
    func failsTypedAndCanBeStartedAgain(operation: MemoryDisk.Operation) throws {
        let bench = TestBench.serving(bytes)
        bench.disk.fail(operation, with: .inputOutput)
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(task.reason == .disk(.inputOutput))
        #expect(task.error.map { "\($0)" }?.contains("device") == true)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.files == [task.filePath])
    }

    @Test func countsWhatTheDiskHasLost() async throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.cut(afterBytes: 2 << 20))
        bench.settle()
        let partial = try #require(bench.files.first)
        bench.disk.put(Array(bytes[..<1_000_000]), at: partial)
        let events = EventLog(task)
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges.last == "bytes=1000000-")
        #expect(await events.untilRest().contains("restarted: bytesLost"))
    }

    /// A record that stays because no newer one is kept must not take the bytes of another version for those it knows.
    @Test func takesNoOtherBytesForThoseOfAnOldRecord() throws {
        let bench = TestBench.serving([1, 2, 3])
        // The start goes well, the intent to publish does not.
        bench.store.fail(.commit, skipping: 1)
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.reason == .disk(.noSpace))
        try bench.disk.remove(try #require(bench.files.first))
        bench.store.fail(.commit, times: .max)
        bench.transport.serve(.init([4, 5, 6, 7]), at: place)
        bench.manager.start(task)
        #expect(bench.runToRest())
        bench.store.failNothing()
        bench.relaunch()
        let restored = try #require(bench.manager.fetchTask(address))
        bench.manager.start(restored)
        #expect(bench.runToRest())
        #expect(bench.contents(of: restored) == [4, 5, 6, 7])
    }

    @Test func failsWhenTheStoreDoesNotKeepTheRecord() throws {
        let bench = TestBench.serving(bytes)
        bench.store.fail(.commit, times: .max)
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(task.reason == .disk(.noSpace))
        #expect(bench.contents(of: task) == nil, "what is not recorded is not published")
        bench.store.failNothing()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.count == 1, "the bytes were all there")
    }

    /// Whichever record there is no space for: it waits, and the bytes come once.
    @Test(arguments: 1..<3) func waitsForSpaceForItsRecords(commit: Int) throws {
        var configuration = SessionConfiguration()
        configuration.waitsForDiskSpace = true
        let bench = TestBench.serving(bytes, configuration: configuration)
        bench.store.fail(.commit, with: .disk(.noSpace), skipping: commit, times: .max)
        let task = try bench.download()
        bench.run(for: .seconds(20))
        let isForSpace = if case .disk = task.waitingReason { true } else { false }
        #expect(task.status == .waiting && isForSpace)
        bench.store.failNothing()
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    /// That is no want of the store's alone.
    @Test(arguments: 1..<3) func waitsUntilItsRecordsCanBeOpened(commit: Int) throws {
        let bench = TestBench.serving(bytes)
        bench.store.fail(.commit, with: .disk(.tooManyFiles), skipping: commit)
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func isToldWhenThereIsNoSpaceForItsRecords() throws {
        let bench = TestBench.serving(bytes)
        bench.store.fail(.commit, with: .disk(.noSpace), skipping: 1, times: .max)
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .failed && task.reason == .disk(.noSpace))
    }

    @Test func succeedsLateWhenTheStoreRecovers() throws {
        let bench = TestBench.serving(bytes)
        // The start, and the intent to publish, go well.
        bench.store.fail(.commit, skipping: 2, times: .max)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .running, "it is not done before it is recorded")
        bench.store.failNothing()
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.log.errors.count == 1)
    }
}
