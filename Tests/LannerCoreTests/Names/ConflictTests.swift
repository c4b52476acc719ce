import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("N-10: a place that is taken") struct ConflictTests {
    private static let folder = "/downloads/File/"
    private static let old: [UInt8] = [9, 9, 9, 9]
    private static let one: [UInt8] = [1, 1]
    private static let two: [UInt8] = [2, 2, 2]
    /// As long as the first.
    private static let alike: [UInt8] = [3, 3]

    /// Two files of one name, and a third party's.
    private static func bench(_ policy: FileConflictPolicy, taken: [String] = []) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.fileConflictPolicy = policy
        configuration.maxConcurrentTasksLimit = 1
        let bench = TestBench(configuration: configuration)
        bench.transport.serve(.init(one), at: "/one")
        bench.transport.serve(.init(two), at: "/two")
        for name in taken { bench.disk.put(old, at: folder + name) }
        return bench
    }

    private func download(_ place: String, on bench: TestBench, _ name: String = "a.txt") throws -> DownloadTask {
        try #require(bench.manager.download("https://example.com/" + place, fileName: name))
    }

    /// Does something before the next operation of a kind is made.
    private func before(_ operation: MemoryDisk.Operation, on disk: MemoryDisk, _ work: @escaping @Sendable () -> Void)
    {
        let hold = Locked<MemoryDisk.Hold?>(nil)
        let held = disk.hold(operation) {
            work()
            hold.withLock { $0 }?.release()
        }
        hold.withLock { $0 = held }
    }

    private func names(_ bench: TestBench) -> [String] {
        bench.files.filter { $0.hasPrefix(Self.folder) }.map { String($0.dropFirst(Self.folder.count)) }
    }

    // MARK: Replace

    @Test func replacingIsTheDefault() throws {
        #expect(SessionConfiguration().fileConflictPolicy == .replace)
        let bench = Self.bench(.replace, taken: ["a.txt"])
        let one = try download("one", on: bench)
        bench.settle()
        #expect(bench.contents(of: one) == Self.one)
        let two = try download("two", on: bench)
        bench.settle()
        #expect(two.filePath == one.filePath && bench.contents(of: one) == Self.two)
        #expect(names(bench) == ["a.txt"])
    }

    /// What is in its place says nothing of it.
    @Test func aReplacedTaskIsNotValidatedByTheOthersFile() throws {
        let bench = Self.bench(.replace)
        let one = try download("one", on: bench)
        bench.settle()
        _ = try download("two", on: bench)
        bench.settle()
        for file in [Self.one, Self.two] {
            let calls = Tally()
            one.validateFile(code: try digest(of: file).hexadecimal, type: .sha256) { calls.add("\($0.validation)") }
            bench.settle()
            #expect(calls.all == ["unknown"] && one.validation == .unknown)
        }
    }

    /// The file of a task that another one has replaced is the other's.
    @Test(arguments: [false, true]) func aReplacedTaskDoesNotRemoveTheOthersFile(relaunches: Bool) throws {
        let bench = Self.bench(.replace)
        try _ = download("one", on: bench)
        bench.settle()
        bench.run(for: .seconds(5))
        try _ = download("two", on: bench)
        bench.settle()
        if relaunches { bench.relaunch() }
        bench.manager.remove("https://example.com/one", completely: true)
        bench.settle()
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.two)
        bench.manager.remove("https://example.com/two", completely: true)
        bench.settle()
        #expect(names(bench).isEmpty)
    }

    /// As in the same launch, though its own record is all there is, or the clock was set back.
    @Test(arguments: [false, true]) func aReplacedTaskHasNoFileInALaterLaunch(removesTheOther: Bool) throws {
        let bench = Self.bench(.replace)
        let one = try download("one", on: bench)
        bench.settle()
        bench.clock.date -= 3600
        let two = try download("two", on: bench)
        bench.settle()
        #expect(two.endDate < one.endDate)
        if removesTheOther { bench.manager.remove(two) }
        bench.settle()
        bench.relaunch()
        bench.manager.remove("https://example.com/one", completely: true)
        bench.settle()
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.two)
    }

    /// The process ends between the move and the record of it.
    @Test(arguments: [false, true]) func whoWasReplacedLastHasNoFileWhateverTheClockSays(isKilled: Bool) throws {
        let bench = Self.bench(.replace)
        _ = try download("one", on: bench)
        bench.settle()
        bench.clock.date -= 3600
        _ = try download("two", on: bench)
        try bench.step { bench.disk.contents(of: Self.folder + "a.txt") == Self.two }
        if !isKilled { bench.manager.invalidate() }
        for _ in 0..<2 {
            bench.relaunch()
            bench.settle()
        }
        #expect(bench.manager.fetchTask("https://example.com/two")?.status == .succeeded)
        bench.manager.remove("https://example.com/one", completely: true)
        bench.settle()
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.two)
    }

    /// Two of one URL have the same bytes: on one file system that says nothing of who was moved.
    @Test func whoseFileIsTheSameIsNotReplacedBeforeTheMove() throws {
        let bench = Self.bench(.replace)
        bench.transport.serve(.init(Self.one), at: "/two")
        _ = try download("one", on: bench)
        bench.settle()
        _ = try download("two", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        bench.relaunch()
        bench.settle()
        #expect(bench.records.first?.isReplaced == false)
        bench.manager.remove("https://example.com/two", completely: true)
        bench.settle()
        let one = try #require(bench.manager.fetchTask("https://example.com/one"))
        #expect(one.hasFile && bench.contents(of: one) == Self.one)
    }

    /// It has the place again.
    @Test func aReplacedTaskThatIsDownloadedAgainHasAFile() throws {
        let bench = Self.bench(.replace)
        let one = try download("one", on: bench)
        bench.settle()
        _ = try download("two", on: bench)
        bench.settle()
        bench.manager.download(
            DownloadRequest("https://example.com/one", fileName: "a.txt", checksum: try digest(of: Self.one)))
        bench.settle()
        #expect(bench.contents(of: one) == Self.one)
        bench.relaunch()
        bench.manager.remove("https://example.com/one", completely: true)
        bench.settle()
        #expect(names(bench).isEmpty)
    }

    /// Only its record was missing, when another task put its own file there: that must not pass for it.
    @Test(arguments: [false, true]) func aTaskThatWasReplacedBeforeItsRecordBeginsAgain(removes: Bool) throws {
        let bench = Self.bench(.replace)
        // The start, and the intent to publish, go well.
        bench.store.fail(.commit, skipping: 2, times: .max)
        let one = try download("one", on: bench)
        #expect(bench.runToRest())
        #expect(one.reason == .disk(.noSpace) && bench.contents(of: one) == Self.one)
        bench.store.failNothing()
        let two = try download("two", on: bench)
        #expect(bench.runToRest())
        #expect(bench.contents(of: one) == Self.two)
        if removes { bench.manager.remove(two, completely: true) }
        bench.settle()
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one)
    }

    /// The same between two tries to record it.
    @Test func aTaskThatWasReplacedWhileItWaitsForItsRecordBeginsAgain() throws {
        let bench = Self.bench(.replace)
        bench.manager.configuration.maxConcurrentTasksLimit = 2
        bench.store.fail(.commit, skipping: 2)
        let one = try download("one", on: bench)
        bench.settle()
        #expect(one.status == .running && bench.contents(of: one) == Self.one)
        let two = try download("two", on: bench)
        bench.settle()
        #expect(two.status == .succeeded)
        bench.manager.remove(two, completely: true)
        bench.settle()
        #expect(one.status == .running && names(bench).isEmpty)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one)
    }

    private static let three: [UInt8] = [3, 3]

    /// A task with its file, and another of the same size that is to replace it.
    private func replacing(onAnotherDevice: Bool) throws -> (TestBench, one: DownloadTask, three: DownloadTask) {
        let bench = Self.bench(.replace)
        bench.transport.serve(.init(Self.three), at: "/three")
        if onAnotherDevice { bench.disk.mounts = ["/downloads/File"] }
        let checksum = try digest(of: Self.one)
        let one = try #require(
            bench.manager.download("https://example.com/one", fileName: "a.txt", checksum: checksum))
        bench.settle()
        #expect(one.validation == .correct)
        return (bench, one, try download("three", on: bench))
    }

    /// Wherever the process ends, and whatever is configured afterwards: whoever has succeeded has its file, or it was
    /// replaced, and is fetched again when it is asked for.
    @Test(arguments: [false, true], FileConflictPolicy.allCases)
    func aDeathAnywhereLeavesNobodyWithTheOthersFile(onAnotherDevice: Bool, next: FileConflictPolicy) throws {
        for steps in 0... {
            let (bench, _, _) = try replacing(onAnotherDevice: onAnotherDevice)
            let isOver = bench.run(steps: steps)
            var configuration = bench.manager.configuration
            (configuration.resumesAtLaunch, configuration.fileConflictPolicy) = (false, next)
            bench.relaunch(configuration: configuration)
            bench.settle()
            let isReplaced = bench.records.first?.isReplaced == true
            #expect(bench.records.first?.validation == (isReplaced ? .unknown : .correct))
            #expect(bench.disk.contents(of: Self.folder + "a.txt") == (isReplaced ? Self.three : Self.one))
            bench.manager.remove("https://example.com/three")
            bench.settle()
            let one = try download("one", on: bench)
            #expect(bench.runToRest())
            if one.status == .succeeded {
                #expect(bench.contents(of: one) == Self.one, "after \(steps) steps")
            } else {
                #expect(next == .fail && one.reason == .disk(.inTheWay))
                #expect(bench.contents(of: one) == Self.three, "after \(steps) steps")
            }
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    /// The file is in the place by then, though its task has failed.
    @Test(arguments: [false, true]) func aMoveThatIsNotConfirmedHasReplacedTheFile(onAnotherDevice: Bool) throws {
        let (bench, one, three) = try replacing(onAnotherDevice: onAnotherDevice)
        bench.disk.fail(.syncDirectory, with: .inputOutput, path: "/downloads/File")
        #expect(bench.runToRest())
        #expect(three.status == .failed && bench.contents(of: one) == Self.three)
        #expect(bench.records.first { $0.id == one.id }?.isReplaced == true)
        bench.manager.start(three)
        #expect(bench.runToRest())
        #expect(three.status == .succeeded && bench.files == [three.filePath])
        _ = try download("one", on: bench)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one)
    }

    /// Nobody's file is lost for nothing: the old one, or the new one that has replaced it, is there.
    @Test(arguments: [.inputOutput, .tooManyFiles] as [DiskFault])
    func aPlaceIsNotEmptiedWhereTheNameOfACopyIsNotKept(_ fault: DiskFault) throws {
        let bench = Self.bench(.replace, taken: ["a.txt"])
        bench.disk.mounts = ["/downloads/File"]
        bench.disk.fail(.syncDirectory, with: fault, path: "/downloads/File", times: 100)
        let one = try download("one", on: bench)
        bench.run(for: .seconds(5))
        #expect(one.status != .succeeded && bench.contents(of: one) == Self.one)
        bench.manager.remove(one)
        bench.settle()
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.one)
    }

    /// The copy whose name could not be kept is not in the way of its own download, not after another launch either.
    @Test(arguments: FileConflictPolicy.allCases, [false, true])
    func aCopyThatIsNotConfirmedIsNotInItsOwnWay(_ policy: FileConflictPolicy, relaunches: Bool) throws {
        let bench = Self.bench(policy)
        bench.disk.mounts = ["/downloads/File"]
        bench.disk.fail(.syncDirectory, with: .inputOutput, path: "/downloads/File")
        _ = try download("one", on: bench)
        #expect(bench.runToRest())
        if relaunches { bench.relaunch() }
        let one = try #require(bench.manager.fetchTask("https://example.com/one"))
        #expect(one.reason == .disk(.inputOutput))
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && one.fileName == "a.txt" && bench.contents(of: one) == Self.one)
        #expect(names(bench) == ["a.txt"] && bench.transport.requests.count == 1)
    }

    /// Nothing was moved, and nothing can be read: nobody's file is taken for another's.
    @Test(arguments: [false, true]) func aMoveThatWasNotMadeTakesNoFile(onAnotherDevice: Bool) throws {
        let (bench, _, _) = try replacing(onAnotherDevice: onAnotherDevice)
        try bench.step { bench.records.last?.saved.status == .publishing }
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.one)
        let part = try #require(bench.records.last?.partialName.text)
        bench.disk.fail(.open, with: .tooManyFiles, path: "/downloads/Tmp/" + part)
        bench.relaunch()
        bench.manager.remove("https://example.com/three", completely: true)
        bench.settle()
        let one = try #require(bench.manager.fetchTask("https://example.com/one"))
        #expect(one.status == .succeeded && one.hasFile && bench.contents(of: one) == Self.one)
    }

    /// As over a network, where the answer of a server is lost.
    @Test func aMoveThatWasMadeThoughItWasRefusedIsNoLoss() throws {
        let bench = Self.bench(.replace)
        let one = try download("one", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        let disk = bench.disk
        let part = try #require(bench.files.first { $0.hasSuffix(".part") })
        before(.rename, on: disk) {
            disk.put(Self.one, at: Self.folder + "a.txt")
            disk.remove(at: part)
            disk.fail(.rename, with: .inputOutput)
        }
        #expect(bench.runToRest())
        #expect(one.status == .failed && one.reason == .disk(.inputOutput))
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one)
        #expect(bench.transport.requests.count == 1)
    }

    /// It was fetched because that one has another checksum, and is gone before it was moved.
    @Test(arguments: FileConflictPolicy.allCases) func theOwnOlderFileIsNotTheNewOne(
        _ policy: FileConflictPolicy
    ) throws {
        let (bench, one) = try fetchedAgain(policy)
        try bench.step { bench.records.last?.saved.status == .publishing }
        bench.disk.remove(at: try #require(bench.files.first { $0.hasSuffix(".part") }))
        #expect(bench.runToRest())
        #expect(one.status == .failed || bench.contents(of: one) == Self.other)
    }

    /// Nor does it go with a new one that was canceled before it came.
    @Test func theOwnOlderFileStaysAtTheEnd() throws {
        let (bench, one) = try fetchedAgain(.replace)
        try bench.step { bench.records.last?.saved.status == .publishing }
        bench.manager.cancel(one)
        bench.manager.invalidate()
        bench.settle()
        #expect(bench.files.map(\.lastComponent) == ["a.txt"] && bench.contents(of: one) == Self.one)
    }

    private static let other: [UInt8] = [1, 2]

    /// A task that has its file, and is given the checksum of another one of the same size.
    private func fetchedAgain(_ policy: FileConflictPolicy) throws -> (TestBench, DownloadTask) {
        let bench = Self.bench(policy)
        let one = try download("one", on: bench)
        #expect(bench.runToRest())
        bench.transport.serve(.init(Self.other), at: "/one")
        let checksum = try digest(of: Self.other)
        bench.manager.download(DownloadRequest("https://example.com/one", checksum: checksum))
        return (bench, one)
    }

    /// Nobody has touched the file: no byte is fetched again.
    @Test(arguments: FileConflictPolicy.allCases) func aTaskThatOnlyLacksItsRecordHasItsFile(
        _ policy: FileConflictPolicy
    ) throws {
        let bench = Self.bench(policy)
        bench.store.fail(.commit, skipping: 2, times: .max)
        let one = try download("one", on: bench)
        #expect(bench.runToRest())
        bench.store.failNothing()
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && one.fileName == "a.txt" && bench.contents(of: one) == Self.one)
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: FileConflictPolicy.allCases) func removingNeverTakesAForeignFile(
        _ policy: FileConflictPolicy
    ) throws {
        let bench = Self.bench(policy, taken: ["a.txt"])
        bench.transport.script("/one", .stall(afterBytes: 1))
        let task = try download("one", on: bench)
        bench.settle()
        bench.manager.remove(task, completely: true)
        bench.settle()
        #expect(bench.manager.tasks.isEmpty)
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old)
    }

    enum Farewell: CaseIterable {
        case cancel, cancelKeepingBytes, remove
    }

    /// Up to the moment in which the old file is replaced.
    @Test(arguments: [false, true], Farewell.allCases) func whatIsNotWantedAnyMoreReplacesNothing(
        onAnotherDevice: Bool, _ farewell: Farewell
    ) throws {
        var (steps, isReplaced) = (0, false)
        while !isReplaced {
            let bench = Self.bench(.replace, taken: ["a.txt"])
            if onAnotherDevice { bench.disk.mounts = ["/downloads/File"] }
            bench.manager.configuration.keepsPartialFileOnCancel = farewell == .cancelKeepingBytes
            let one = try download("one", on: bench)
            for _ in 0..<steps { try #require(bench.lanes.runNext()) }
            isReplaced = bench.disk.contents(of: Self.folder + "a.txt") != Self.old
            if farewell == .remove {
                bench.manager.remove(one, completely: true)
            } else {
                bench.manager.cancel(one)
            }
            bench.settle()
            #expect(bench.manager.tasks.isEmpty)
            #expect(names(bench) == (isReplaced ? [] : ["a.txt"]), "after \(steps) steps")
            if !isReplaced { #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old) }
            steps += 1
        }
        #expect(steps > 5)
    }

    /// While the file is copied to another device: what it would replace stays.
    @Test(arguments: FileConflictPolicy.allCases, Farewell.allCases) func whatIsNotWantedAnyMoreIsNotCopiedOn(
        _ policy: FileConflictPolicy, _ farewell: Farewell
    ) throws {
        let bench = Self.bench(policy, taken: policy == .replace ? ["a.txt"] : [])
        bench.disk.mounts = ["/downloads/File"]
        bench.manager.configuration.keepsPartialFileOnCancel = farewell == .cancelKeepingBytes
        let one = try download("one", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        let manager = bench.manager
        before(.write, on: bench.disk) {
            if farewell == .remove { manager.remove(one, completely: true) } else { manager.cancel(one) }
        }
        bench.settle()
        #expect(bench.manager.tasks.isEmpty)
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == (policy == .replace ? Self.old : nil))
        #expect(names(bench) == (policy == .replace ? ["a.txt"] : []))
        let isKept = farewell == .cancelKeepingBytes
        #expect(bench.disk.paths.contains { $0.hasSuffix(".part") } == isKept)
    }

    /// Which may take long: another policy still counts, for all tasks or for one.
    @Test(arguments: [FileConflictPolicy.keepBoth, .fail], [false, true])
    func whatIsBeingCopiedReplacesNothingOnceThatIsNotWanted(_ policy: FileConflictPolicy, ofOne: Bool) throws {
        let bench = Self.bench(.replace, taken: ["a.txt"])
        bench.disk.mounts = ["/downloads/File"]
        let one = try download("one", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        let manager = bench.manager
        before(.write, on: bench.disk) {
            if ofOne {
                manager.download(
                    DownloadRequest("https://example.com/one", fileName: "a.txt", conflictPolicy: policy))
            } else {
                manager.configuration.fileConflictPolicy = policy
            }
        }
        bench.settle()
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old)
        if policy == .fail {
            #expect(one.reason == .disk(.inTheWay) && names(bench) == ["a.txt"])
        } else {
            #expect(one.status == .succeeded && one.fileName != "a.txt" && bench.contents(of: one) == Self.one)
        }
        #expect(bench.transport.requests.count == 1)
    }

    /// To fill the device up would harm others, and all of it be for nothing.
    @Test func nothingIsCopiedToADeviceWithoutRoom() throws {
        let bench = TestBench(allowedDirectories: ["/media"])
        bench.disk.mounts = ["/media"]
        bench.transport.serve(.init(Self.one), at: "/one")
        let request = DownloadRequest("https://example.com/one", destination: "/media/a")
        let one = try #require(bench.manager.download(request))
        try bench.step { bench.records.first?.saved.status == .publishing }
        bench.disk.claimedFreeSpace = 0
        let isWritten = Locked(false)
        before(.write, on: bench.disk) { isWritten.withLock { $0 = true } }
        #expect(bench.runToRest())
        #expect(one.status == .failed && one.reason == .disk(.noSpace))
        #expect(!isWritten.withLock { $0 } && !bench.files.contains { $0.hasPrefix("/media") })
        bench.disk.claimedFreeSpace = nil
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one)
    }

    /// A copy may take as long as the download has.
    @Test func aCopyToAnotherDeviceHoldsUpNoOtherFile() throws {
        let bench = TestBench(allowedDirectories: ["/media"])
        bench.disk.mounts = ["/media"]
        bench.transport.serve(.init(Self.one), at: "/one")
        bench.transport.serve(.init(Self.two), at: "/two")
        let copied = DownloadRequest("https://example.com/one", destination: "/media/films/a")
        let one = try #require(bench.manager.download(copied))
        let two = try download("two", on: bench)
        try bench.step { bench.records.filter { $0.saved.status == .publishing }.count == 2 }
        let (statuses, lanes) = (Locked<[Status]>([]), bench.lanes)
        before(.write, on: bench.disk) {
            // All others have their turns.
            lanes.wait(for: Latch())
            statuses.withLock { $0 = [one.status, two.status] }
        }
        bench.settle()
        #expect(statuses.withLock { $0 } == [.running, .succeeded])
        #expect(one.status == .succeeded && bench.contents(of: one) == Self.one && bench.contents(of: two) == Self.two)
    }

    /// Of several each is told when it is there, and what is to go is gone.
    @Test func aCopyToAnotherDeviceHoldsUpNeitherTheNewsNorTheVerbsOfOthers() throws {
        let bench = TestBench(allowedDirectories: ["/media"])
        bench.disk.mounts = ["/media"]
        bench.transport.serve(.init(Self.one), at: "/one")
        bench.transport.serve(.init(Self.two), at: "/two")
        bench.transport.serve(.init(Self.old), at: "/old")
        bench.transport.script("/old", .stall(afterBytes: 1))
        let tasks = try ["one", "two", "old"].map { name in
            let request = DownloadRequest("https://example.com/" + name, destination: "/media/" + name)
            return try #require(bench.manager.download(request))
        }
        try bench.step { bench.records.filter { $0.saved.status == .publishing }.count == 2 }
        let (manager, lanes, disk) = (bench.manager, bench.lanes, bench.disk)
        let seen = Locked<[[Status]]>([])
        let look: @Sendable () -> Void = {
            // All others have their turns.
            lanes.wait(for: Latch())
            seen.withLock { $0.append(tasks.map(\.status)) }
        }
        before(.write, on: disk) {
            manager.cancel(tasks[2])
            look()
            before(.write, on: disk, look)
        }
        bench.settle()
        #expect(seen.withLock { $0 } == [[.running, .running, .canceled], [.succeeded, .running, .canceled]])
        #expect(tasks[1].status == .succeeded && bench.contents(of: tasks[1]) == Self.two)
    }

    /// It is made anew by the next launch, from what is there.
    @Test(arguments: FileConflictPolicy.allCases) func theEndDoesNotWaitForACopy(_ policy: FileConflictPolicy) throws {
        let bench = Self.bench(policy)
        bench.disk.mounts = ["/downloads/File"]
        _ = try download("one", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        let manager = bench.manager
        before(.write, on: bench.disk) { manager.invalidate() }
        bench.settle()
        #expect(names(bench) == [] && bench.files.filter { $0.hasSuffix(".part") }.count == 1)
        bench.relaunch()
        let one = try #require(bench.manager.fetchTask("https://example.com/one"))
        bench.manager.start(one)
        #expect(bench.runToRest())
        #expect(one.status == .succeeded && one.fileName == "a.txt" && bench.contents(of: one) == Self.one)
        #expect(names(bench) == ["a.txt"] && bench.transport.requests.count == 1)
    }

    /// One has moved it, of which the record is lost, and the other was about to; its partial file is gone as well.
    @Test func aFileThatTwoMayHaveMovedIsNeithers() throws {
        let bench = Self.bench(.keepBoth)
        bench.transport.serve(.init(Self.alike), at: "/two")
        _ = try download("one", on: bench)
        try bench.step { bench.records.first?.saved.status == .publishing }
        let earlier = bench.contents
        bench.settle()
        _ = try download("two", on: bench)
        try bench.step { bench.records.last?.saved.status == .publishing }
        let contents = bench.contents.merging(earlier) { $1 }
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes)) {
            for path in bench.files where path.hasSuffix(".part") { bench.disk.remove(at: path) }
        }
        #expect(bench.runToRest())
        for task in bench.manager.tasks { bench.manager.start(task) }
        #expect(bench.runToRest())
        for (task, bytes) in zip(bench.manager.tasks, [Self.one, Self.alike]) {
            #expect(task.status == .succeeded && bench.contents(of: task) == bytes)
        }
        #expect(names(bench) == ["a 2.txt", "a 3.txt", "a.txt"])
    }

    /// Another one has it, and still has: two of the same bytes do not have one file.
    @Test func theFileOfAnotherIsNotTakenForOnesOwnThoughItsDigestFits() throws {
        let bench = Self.bench(.keepBoth)
        bench.transport.serve(.init(Self.one), at: "/two")
        let digest = try digest(of: Self.one)
        _ = try download("one", on: bench)
        bench.settle()
        _ = bench.manager.download("https://example.com/two", fileName: "a.txt", checksum: digest)
        try bench.step { bench.records.last?.saved.status == .publishing }
        bench.relaunch {
            for path in bench.files where path.hasSuffix(".part") { bench.disk.remove(at: path) }
        }
        for task in bench.manager.tasks { bench.manager.start(task) }
        #expect(bench.runToRest())
        #expect(bench.manager.tasks.map(\.fileName) == ["a.txt", "a 2.txt"])
        for task in bench.manager.tasks { #expect(task.status == .succeeded && bench.contents(of: task) == Self.one) }
    }

    // MARK: Keep both

    @Test func bothAreKept() throws {
        let bench = Self.bench(.keepBoth, taken: ["a.txt", "a 2.txt"])
        let one = try download("one", on: bench)
        let two = try download("two", on: bench)
        bench.settle()
        #expect(one.fileName == "a 3.txt" && bench.contents(of: one) == Self.one && one.status == .succeeded)
        #expect(two.fileName == "a 4.txt" && bench.contents(of: two) == Self.two && two.status == .succeeded)
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old)
        #expect(bench.disk.contents(of: Self.folder + "a 2.txt") == Self.old)
        #expect(bench.records.map(\.place.name).sorted() == ["a 3.txt", "a 4.txt"])
        bench.relaunch()
        #expect(bench.manager.succeededTasks.map(\.fileName) == ["a 3.txt", "a 4.txt"])
    }

    /// A download of the same name as another one, which has succeeded and whose file somebody has taken away.
    private func downloadBesideOneWithoutItsFile(on bench: TestBench, relaunches: Bool) throws -> DownloadTask {
        let one = try download("one", on: bench)
        bench.settle()
        try bench.disk.remove(one.filePath)
        if relaunches { bench.relaunch() }
        let two = try download("two", on: bench)
        bench.settle()
        return two
    }

    /// Its file was moved away; the name is still its own.
    @Test(arguments: [false, true]) func aPlaceIsKeptForATaskWithoutItsFile(relaunches: Bool) throws {
        let bench = Self.bench(.keepBoth)
        let two = try downloadBesideOneWithoutItsFile(on: bench, relaunches: relaunches)
        #expect(two.fileName == "a 2.txt")
        let again = try download("one", on: bench)
        bench.settle()
        #expect(again.fileName == "a.txt" && bench.contents(of: again) == Self.one)
        bench.manager.remove(again, completely: true)
        bench.settle()
        #expect(names(bench) == ["a 2.txt"])
    }

    @Test func aPlaceIsFreeOnceItsTaskIsGone() throws {
        let bench = Self.bench(.keepBoth)
        let one = try download("one", on: bench)
        bench.settle()
        bench.manager.remove(one, completely: true)
        bench.settle()
        let two = try download("two", on: bench)
        bench.settle()
        #expect(two.fileName == "a.txt" && names(bench) == ["a.txt"])
    }

    /// The name is on record before the file has it: wherever the process ends, the next one knows the file.
    @Test func aDeathAnywhereLeavesTheRightName() throws {
        for steps in 0... {
            let bench = Self.bench(.keepBoth, taken: ["a.txt"])
            let first = try download("one", on: bench)
            let isOver = bench.run(steps: steps)
            #expect(first.status == .succeeded || !isOver)
            bench.relaunch()
            let task = try download("one", on: bench)
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && task.fileName == "a 2.txt", "after \(steps) steps")
            #expect(bench.contents(of: task) == Self.one && names(bench) == ["a 2.txt", "a.txt"])
            #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old)
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    /// Whichever record cannot be kept, that of the other name among them: no byte is fetched again.
    @Test(arguments: 0..<5) func aNameThatCannotBeRecordedLosesNoByte(commit: Int) throws {
        let bench = Self.bench(.keepBoth, taken: ["a.txt"])
        bench.store.fail(.commit, skipping: commit)
        let task = try download("one", on: bench)
        #expect(bench.runToRest())
        if task.status == .failed {
            #expect(task.reason == .disk(.noSpace) && task.completedBytes == 2 && names(bench) == ["a.txt"])
            bench.manager.start(task)
            #expect(bench.runToRest())
        }
        #expect(task.status == .succeeded && task.fileName == "a 2.txt" && bench.contents(of: task) == Self.one)
        #expect(bench.disk.contents(of: Self.folder + "a.txt") == Self.old && bench.transport.requests.count == 1)
    }

    // MARK: Fail

    /// Also of a server that tells nothing of versions: the file is there, and of one.
    @Test(arguments: [false, true]) func aTakenPlaceIsAFailureThatKeepsTheBytes(hasValidator: Bool) throws {
        let bench = Self.bench(.fail, taken: ["a.txt"])
        if !hasValidator { bench.transport.serve(.init(Self.one, entityTag: nil), at: "/one") }
        let task = try download("one", on: bench)
        bench.settle()
        #expect(task.status == .failed && task.reason == .disk(.inTheWay))
        #expect(task.completedBytes == 2 && bench.disk.contents(of: task.filePath) == Self.old)
        bench.relaunch()
        let again = try #require(bench.manager.fetchTask("https://example.com/one"))
        try bench.disk.remove(again.filePath)
        bench.manager.start(again)
        bench.settle()
        #expect(again.status == .succeeded && bench.contents(of: again) == Self.one)
        #expect(bench.transport.requests.count == 1)
        let two = try download("two", on: bench)
        bench.settle()
        #expect(two.reason == .disk(.inTheWay) && bench.contents(of: again) == Self.one)
        // Under another name there is room for it.
        try _ = download("two", on: bench, "b.txt")
        bench.settle()
        #expect(two.status == .succeeded && two.fileName == "b.txt" && bench.contents(of: two) == Self.two)
    }

    /// Its file was moved away; the name is still its own. Nothing is in the way, and that is not what is said.
    @Test(arguments: [false, true]) func aPlaceOfATaskWithoutItsFileIsNotFree(relaunches: Bool) throws {
        let bench = Self.bench(.fail)
        let two = try downloadBesideOneWithoutItsFile(on: bench, relaunches: relaunches)
        #expect(two.reason == .disk(.inTheWay))
        #expect(
            two.error.map { "\($0)" }
                == "move a file to /downloads/File/a.txt: it is the place of the task “https://example.com/one”, though its "
                + "file is gone; remove that task, or choose another name")
        bench.manager.remove("https://example.com/one")
        bench.settle()
        bench.manager.start(two)
        bench.settle()
        #expect(two.status == .succeeded && bench.contents(of: two) == Self.two)
        #expect(bench.transport.requests.count == 2)
    }

    /// A move that was cut off between its steps left both: the task's own file is not in its way.
    @Test(arguments: [FileConflictPolicy.keepBoth, .fail]) func itsOwnFileIsNotInTheWay(
        _ policy: FileConflictPolicy
    ) throws {
        let bench = Self.bench(policy)
        bench.disk.fail(.rename, with: .inputOutput)
        let task = try download("one", on: bench)
        bench.settle()
        #expect(task.reason == .disk(.inputOutput))
        bench.disk.put(Self.one, at: task.filePath)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && task.fileName == "a.txt" && bench.files == [task.filePath])
    }
}
