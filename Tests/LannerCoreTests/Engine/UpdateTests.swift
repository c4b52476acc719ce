import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// What asking for a URL again changes.
@Suite struct UpdateTests {
    /// The old one's file is still being moved.
    @Test(arguments: [true, false]) func whatIsAskedForAgainAtItsEndIsDownloaded(isRemoved: Bool) throws {
        let bench = TestBench.serving(large)
        let first = try bench.download()
        try bench.step { bench.records.first?.saved.status == .publishing }
        if isRemoved { bench.manager.remove(first, completely: true) } else { bench.manager.cancel(first) }
        let second = try bench.download()
        bench.settle()
        #expect(first !== second && first.status == (isRemoved ? .removed : .canceled))
        #expect(second.status == .succeeded && bench.holds(large, in: second) == true)
        #expect(bench.manager.tasks == [second] && bench.records.count == 1)
    }

    /// Its move is announced, and nothing else of it is recorded before that is made.
    @Test func whatIsChangedWhileTheFileIsMovedIsOnRecord() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download()
        try bench.step { bench.records.first?.saved.status == .publishing }
        let calls = Tally()
        let checksum = try Checksum.Digest(algorithm: .md5, hexadecimal: String(repeating: "0", count: 32))
        bench.manager.download(DownloadRequest(address, checksum: checksum)) { _ in calls.add("") }
        try bench.step { calls.all.count == 1 }
        #expect(bench.records.map(\.digest) == [checksum.description])
        _ = task
    }

    @Test func aTaskTellsWhatItWasAskedForLast() throws {
        let bench = TestBench.serving(large)
        let checksum = try digest(of: large)
        let mirrors = ["https://a.example/x", "https://b.example/x"]
        let task = try bench.manager.add(DownloadRequest(address, checksum: checksum, mirrors: mirrors))
        #expect(task.checksum == checksum && task.mirrors.map(\.absoluteString) == mirrors)
        bench.manager.download(DownloadRequest(address, mirrors: []))
        #expect(task.checksum == checksum && task.mirrors == [])
        task.maximumBytesPerSecond = -5
        #expect(task.maximumBytesPerSecond == 1)
    }

    /// The next task of the key goes on with what it has left, under its number.
    @Test func aTaskThatIsGoneDoesNotAnswerForTheNext() throws {
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        let bench = TestBench.serving(large, configuration: configuration)
        let gone = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.cancel(gone)
        bench.settle()
        bench.transport.script(place, .hold)
        let checksum = try digest(of: large)
        let task = try bench.manager.add(
            DownloadRequest(address, checksum: checksum, mirrors: ["https://a.example/x"]))
        let date = Date(timeIntervalSince1970: 1e9)
        task.linkExpirationDate = date
        bench.settle()
        #expect(task.id == gone.id && task.checksum == checksum && task.mirrors.count == 1)
        #expect(task.linkExpirationDate == date)
        #expect(gone.checksum == nil && gone.mirrors.isEmpty && gone.linkExpirationDate == nil)
    }

    @Test func aChecksumThatWasWrongCanBeTakenBack() throws {
        let bench = TestBench.serving(large)
        let task = try bench.manager.add(DownloadRequest(address, checksum: digest(of: [1])))
        #expect(bench.runToRest())
        #expect(task.reason == .checksumMismatch)
        var request = DownloadRequest(address)
        request.dropsChecksum = true
        try #require(bench.manager.add(request) === task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.checksum == nil)
    }

    @Test func whoAddsOneIsToldWhyItIsRefused() throws {
        let bench = TestBench()
        #expect(throws: LannerError.self) { try bench.manager.add(DownloadRequest("not a URL")) }
        let error = #expect(throws: LannerError.self) {
            try bench.manager.add(DownloadRequest(address, fileName: "a/b"))
        }
        #expect("\(try #require(error))".contains("“a/b” cannot be a file name"))
        #expect(bench.manager.tasks.isEmpty)
        bench.manager.invalidate()
        bench.settle()
        #expect(throws: LannerError.self) { try bench.manager.add(DownloadRequest(address)) }
    }

    @Test func whoAddsSeveralIsToldOfEach() throws {
        var configuration = SessionConfiguration()
        configuration.startsImmediately = false
        let bench = TestBench(configuration: configuration)
        // Some are refused before the others are looked at together, 10,000 at once, and some then.
        var requests = (0..<10_003).map { DownloadRequest("https://example.com/\($0)") }
        requests[1].url = "not a URL"
        requests[3].url = requests[0].url
        requests[10_001].fileName = "a/b"
        let outcomes = bench.manager.add(contentsOf: requests)
        #expect(outcomes.count == requests.count)
        let refusals = [1: "“not a URL” is not", 3: "more than once", 10_001: "“a/b” cannot be a file name"]
        for (index, outcome) in outcomes.enumerated() {
            switch outcome {
            case .success(let task):
                #expect(task.url.absoluteString == requests[index].url as? String && refusals[index] == nil)
            case .failure(let error): #expect(refusals[index].map { "\(error)".contains($0) } == true)
            }
        }
        #expect(bench.manager.tasks.count == 10_000)
        bench.manager.invalidate()
        bench.settle()
        for outcome in bench.manager.add(contentsOf: [requests[0], requests[1]]) {
            #expect(throws: LannerError.self) { try outcome.get() }
        }
    }

    @Test(arguments: Moment.allCases) func theNameChangesUntilTheFileIsMoved(at moment: Moment) throws {
        let (bench, task) = try moment.bench()
        let old = task.fileName
        let again = try #require(bench.manager.download(address, fileName: "other"))
        bench.manager.fetchTask("https://example.com/other").map { bench.manager.cancel($0) }
        bench.settle()
        bench.transport.release()
        bench.runToRest()
        let isFixed = moment == .publishing || moment == .succeeded
        #expect((again === task) == (moment != .canceling))
        #expect(again.fileName == (isFixed ? old : "other"))
        #expect(again.status == .succeeded)
        #expect(bench.holds(large, in: again) == true)
        #expect(bench.files == [again.filePath])
        #expect(bench.transport.requests.filter { $0.url.path == place }.count <= (isFixed ? 1 : 2))
        let refusals = bench.log.errors.filter { if case LannerError.fileNameIsFixed = $0 { true } else { false } }
        #expect(refusals.count == (isFixed ? 1 : 0))
        bench.relaunch()
        #expect(bench.manager.fetchTask(address)?.fileName == again.fileName)
    }

    /// The file that does not have the digest is there until another is.
    @Test func theNameStaysWhileItIsFetchedAgain() throws {
        let (bench, task) = try Moment.succeeded.bench()
        let (old, other) = (task.filePath, Array(large.reversed()))
        bench.transport.serve(.init(other), at: place)
        bench.transport.script(place, .hold)
        bench.manager.download(address, checksum: try digest(of: other))
        bench.settle()
        #expect(task.status == .running)
        bench.manager.download(address, fileName: "other")
        bench.settle()
        bench.transport.release()
        bench.runToRest()
        #expect(task.status == .succeeded && task.filePath == old && bench.files == [old])
        #expect(bench.log.errors.contains { if case LannerError.fileNameIsFixed = $0 { true } else { false } })
        #expect(bench.holds(other, in: task) == true)
    }

    @Test func aFileThatIsGoneComesBackUnderTheNewName() throws {
        let (bench, task) = try Moment.succeeded.bench()
        try bench.disk.remove(task.filePath)
        bench.manager.download(address, fileName: "other")
        bench.settle()
        #expect(task.status == .succeeded && task.fileName == "other")
        #expect(bench.holds(large, in: task) == true)
    }

    /// A file that is there is compared where it is; one that does not have the digest is fetched.
    @Test(arguments: [false, true]) func anotherChecksumIsComparedWithTheFileThatIsThere(relaunches: Bool) throws {
        let (bench, _) = try Moment.succeeded.bench()
        if relaunches { bench.relaunch() }
        let task = try #require(try bench.manager.download(address, checksum: digest(of: large)))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.transport.requests.count == 1)
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: place)
        try bench.manager.download(address, checksum: digest(of: other))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.holds(other, in: task) == true && bench.files == [task.filePath])
        let count = bench.transport.requests.count
        bench.relaunch()
        try bench.manager.download(address, checksum: digest(of: other))
        #expect(bench.runToRest())
        #expect(bench.transport.requests.count == count)
    }

    /// What is there stays, as long as nothing better has come.
    @Test func aFileWithoutTheChecksumThatIsAskedForIsNoSuccess() throws {
        let (bench, task) = try Moment.succeeded.bench()
        let other = Array(large.reversed())
        let request = try DownloadRequest(address, checksum: digest(of: other), startsImmediately: false)
        bench.manager.download(request)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation != .correct)
        try bench.manager.download(address, checksum: digest(of: Array(large.dropLast())))
        #expect(bench.runToRest())
        #expect(task.reason == .checksumMismatch)
        #expect(bench.holds(large, in: task) == true && bench.files == [task.filePath])
    }

    /// One that comes while the file is on its way to its place is compared there.
    @Test(arguments: [false, true]) func aChecksumIsNeverTooLate(isRight: Bool) throws {
        let (bench, _) = try Moment.publishing.bench()
        let wanted = isRight ? large : Array(large.reversed())
        let task = try #require(try bench.manager.download(address, checksum: digest(of: wanted)))
        bench.settle()
        #expect(bench.runToRest())
        #expect(task.status == (isRight ? .succeeded : .failed))
        #expect(isRight ? task.validation == .correct : task.reason == .checksumMismatch)
        #expect(bench.transport.requests.count == (isRight ? 1 : 2))
    }

    /// The record of a success may name a checksum that the process did not live to compare.
    @Test(arguments: [false, true]) func theNextProcessComparesAChecksumThatCameLate(isRight: Bool) throws {
        let (bench, _) = try Moment.publishing.bench()
        let wanted = try digest(of: isRight ? large : Array(large.reversed()))
        let before = try #require(bench.manager.download(address, checksum: wanted))
        try bench.step { before.status == .succeeded }
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.status == .succeeded)
        #expect(bench.runToRest())
        #expect(task.status == (isRight ? .succeeded : .suspended))
        #expect(task.validation == (isRight ? .correct : .unknown))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(isRight ? task.status == .succeeded : task.reason == .checksumMismatch)
        #expect(bench.holds(large, in: task) == true)
    }

    /// The file was there for the one comparison, and gone by the time of the other: what the one has found holds for no
    /// file, nor for what is asked for.
    @Test func whatWasComparedBeforeAFileWasGoneIsForgotten() throws {
        let (bench, task) = try Moment.publishing.bench()
        task.validateFile(code: "", type: .md5) { _ in }
        bench.manager.download(address, checksum: try digest(of: large))
        try bench.step { task.validation == .incorrect }
        try bench.disk.remove(task.filePath)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .unknown)
        let next = try #require(bench.relaunch().fetchTask(address))
        #expect(bench.runToRest())
        #expect(next.status == .succeeded && next.validation == .unknown)
    }

    /// It goes by who asks for the download until that is known.
    @Test(arguments: [false, true], [false, true])
    func whoStartsItDuringTheComparisonStartsIt(starts: Bool, byVerb: Bool) throws {
        let (bench, _) = try Moment.publishing.bench()
        let other = Array(large.reversed())
        let before = try #require(try bench.manager.download(address, checksum: digest(of: other)))
        try bench.step { before.status == .succeeded }
        bench.transport.serve(.init(other), at: place)
        let task = try #require(bench.relaunch().fetchTask(address))
        for _ in 0..<2 {
            try bench.manager.download(
                DownloadRequest(address, checksum: digest(of: other), startsImmediately: starts && !byVerb))
        }
        if starts, byVerb { bench.manager.start(task) }
        var comparisons = 0
        while bench.lanes.runNext("validation") { comparisons += 1 }
        #expect(bench.runToRest())
        #expect(comparisons == 1 && task.status == (starts ? .succeeded : .suspended))
    }

    /// Somebody has moved it away as soon as it was there.
    @Test func aFileThatIsGoneIsNotFetchedAgainForAChecksum() throws {
        let (bench, _) = try Moment.publishing.bench()
        let task = try #require(try bench.manager.download(address, checksum: digest(of: Array(large.reversed()))))
        try bench.step { task.status == .succeeded }
        try bench.disk.remove(task.filePath)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.transport.requests.count == 1)
        bench.relaunch()
        #expect(bench.runToRest())
        #expect(bench.manager.fetchTask(address)?.status == .succeeded)
    }

    /// The same of pieces, which are no reason to fetch a file that has them.
    @Test(arguments: [Moment.publishing, .succeeded], [false, true])
    func piecesAreNeverTooLate(at moment: Moment, areRight: Bool) throws {
        let (bench, _) = try moment.bench()
        let wanted = areRight ? large : Array(large.reversed())
        let pieces = try Checksum.Pieces(
            length: 1 << 20, digests: [0, 1, 2].map { try digest(of: Array(wanted[$0 << 20..<($0 + 1) << 20])) })
        let task = try #require(bench.manager.download(DownloadRequest(address, pieces: pieces)))
        #expect(bench.runToRest())
        #expect(task.status == (areRight ? .succeeded : .failed))
        #expect(areRight ? task.validation == .correct : task.reason == .checksumMismatch)
        #expect((bench.transport.requests.count == 1) == areRight)
        #expect(bench.holds(large, in: task) == true)
    }

    @Test func theNextProcessComparesPiecesThatCameLate() throws {
        let (bench, _) = try Moment.publishing.bench()
        let other = Array(large.reversed())
        let pieces = try Checksum.Pieces(length: Int64(other.count), digests: [digest(of: other)])
        let before = try #require(bench.manager.download(DownloadRequest(address, pieces: pieces)))
        try bench.step { before.status == .succeeded }
        bench.transport.serve(.init(other), at: place)
        let task = try #require(bench.relaunch().fetchTask(address))
        #expect(bench.runToRest())
        #expect(task.status == .suspended)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(other, in: task) == true)
    }

    /// The record of something else may be the last that is kept before the process dies.
    @Test func theNextProcessFindsAgainThatTheFileDoesNotHaveTheChecksum() throws {
        let (bench, _) = try Moment.succeeded.bench()
        let other = Array(large.reversed())
        let before = try #require(try bench.manager.download(address, checksum: digest(of: other)))
        bench.manager.logger = LogThatCalls { [bench] in
            // While somebody is at work both wait: the other record, and behind it what is found of the file.
            before.priority = .high
            bench.lanes.runNext("validation")
        }
        bench.store.fail(.commit, skipping: 2, times: 9)
        bench.manager.download("https://example.com/other.bin")
        bench.settle()
        bench.transport.serve(.init(other), at: place)
        let task = try #require(bench.relaunch().fetchTask(address))
        #expect(task.priority == .high)
        bench.store.failNothing()
        bench.settle()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(other, in: task) == true)
    }

    /// Nobody can tell whether it has the checksum.
    @Test func aFileThatCannotBeReadIsFetchedAgain() throws {
        let (bench, task) = try Moment.succeeded.bench()
        bench.disk.fail(.open, with: .inputOutput, path: task.filePath)
        try bench.manager.download(address, checksum: digest(of: large))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.transport.requests.count == 2)
    }

    /// Its volume may be back in a while.
    @Test func aFileThatIsAwayIsLeftAlone() throws {
        let (bench, task) = try Moment.succeeded.bench()
        bench.disk.fail(.open, with: .other, path: task.filePath)
        try bench.manager.download(address, checksum: digest(of: large))
        bench.settle()
        #expect(task.status == .succeeded && task.validation == .unknown)
        #expect(bench.transport.requests.count == 1 && bench.disk.unusedFaults.isEmpty)
    }

    @Test func aFileThatCannotBeReadForWantOfDescriptorsIsReadLater() throws {
        let (bench, task) = try Moment.succeeded.bench()
        bench.disk.fail(.open, with: .tooManyFiles, path: task.filePath)
        try bench.manager.download(address, checksum: digest(of: large))
        bench.run(for: .seconds(2))
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func ofTwoChecksumsTheLastOneCounts() throws {
        let (bench, task) = try Moment.succeeded.bench()
        let other = Array(large.reversed())
        bench.transport.serve(.init(other), at: place)
        try bench.manager.download(address, checksum: digest(of: Array(large.dropLast())))
        try bench.manager.download(address, checksum: digest(of: other))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.holds(other, in: task) == true)
    }

    @Test func theChecksumOfAFileThatIsGoneCountsOnceItIsStarted() throws {
        let (bench, task) = try Moment.succeeded.bench()
        try bench.disk.remove(task.filePath)
        let other = try digest(of: Array(large.reversed()))
        bench.manager.download(DownloadRequest(address, checksum: other, startsImmediately: false))
        bench.settle()
        #expect(task.status == .suspended)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.reason == .checksumMismatch)
    }

    @Test func downloadingAgainSaysSoAndGainsFromTheFirstByte() async throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = RetryPolicy(maximumRetries: 1)
        let bench = TestBench.serving(large, configuration: configuration)
        let task = try bench.download()
        bench.settle()
        try bench.disk.remove(task.filePath)
        let events = EventLog(task)
        for _ in 0..<3 { bench.transport.script(place, .cut(afterBytes: 500_000)) }
        bench.manager.download(address)
        bench.runToRest()
        #expect(task.status == .succeeded, "\(String(describing: task.error))")
        var seen = await events.untilRest()
        if seen == ["succeeded"] { seen += await events.untilRest() }
        let restart = try #require(seen.firstIndex(of: "restarted: bytesLost"))
        let zero = try #require(seen.firstIndex { $0.hasPrefix("0/") })
        #expect(restart < zero)
        #expect(seen.filter { $0.hasPrefix("restarted") }.count == 1)
    }

    /// Two URLs, one after the other, while the manager is busy: what it decides after the first goes there, since it
    /// counts for that one's host, and the second is for the next attempt.
    @Test func eachURLCountsFromItsOwnTurnOn() throws {
        let bench = TestBench()
        @Sendable func request(_ path: String) -> DownloadRequest {
            DownloadRequest("https://example.com\(path)", key: "key")
        }
        for path in ["/1", "/2", "/3", "/other"] { bench.transport.serve(.init([1, 2, 3]), at: path) }
        for path in ["/1", "/2", "/other"] { bench.transport.script(path, .hold) }
        let task = try #require(bench.manager.download(request("/1")))
        let other = try #require(bench.manager.download("https://example.com/other"))
        bench.settle()
        bench.manager.suspend(task)
        bench.manager.logger = LogThatCalls { [bench] in
            bench.manager.download(request("/2"))
            while bench.lanes.runNext("file.write") || bench.lanes.runNext("file.sync") {}
            bench.manager.download(request("/3"))
        }
        bench.manager.suspend(other)
        bench.settle()
        #expect(bench.transport.requests.map(\.url.path).last == "/2")
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.transport.requests.map(\.url.path).last == "/3")
    }

    @Test func aFileThatIsGoneIsOnlyAddedAgainWhereNothingIsToStart() throws {
        let (bench, task) = try Moment.succeeded.bench()
        try bench.disk.remove(task.filePath)
        let asked = bench.transport.requests.count
        #expect(bench.manager.download(DownloadRequest(address, startsImmediately: false)) === task)
        bench.settle()
        #expect(task.status == .suspended && bench.transport.requests.count == asked)
        bench.relaunch()
        bench.manager.startWaiting()
        #expect(bench.runToRest())
        let again = try #require(bench.manager.fetchTask(address))
        #expect(again.status == .succeeded && bench.holds(large, in: again) == true)
    }
}
