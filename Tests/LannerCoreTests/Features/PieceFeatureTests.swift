import Foundation
import LannerLoopback
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// N-11: pieces that have checksums of their own.
@Suite struct PieceFeatureTests {
    private let bytes = Sample.bytes(100_000)
    private var pieces: Checksum.Pieces { .of(bytes, length: 10_000, .sha256) }

    private static let kinds = [
        TransportTraits(delivery: .pausable), TransportTraits(delivery: .sliced(4096...8192, inFlight: 2)),
        TransportTraits(delivery: .file, hasResumeData: true),
    ]

    private func bench(
        _ traits: TransportTraits = kinds[0], _ configuration: SessionConfiguration = SessionConfiguration()
    ) -> TestBench {
        TestBench.serving(bytes, configuration: configuration, traits: traits)
    }

    private func download(
        _ bench: TestBench, _ steps: ScriptedTransport.Step..., pieces: Checksum.Pieces? = nil,
        checksum: Checksum.Digest? = nil
    ) throws -> DownloadTask {
        for step in steps { bench.transport.script(place, step) }
        let request = DownloadRequest(address, checksum: checksum, pieces: pieces ?? self.pieces)
        return try #require(bench.manager.download(request))
    }

    @Test func aFileOfRightPiecesIsRight() throws {
        for traits in Self.kinds {
            let bench = bench(traits)
            let task = try download(bench)
            bench.settle()
            #expect(task.status == .succeeded && task.validation == .correct)
            #expect(bench.holds(bytes, in: task) == true)
        }
    }

    @Test func onlyABadPieceIsFetchedAgain() async throws {
        let bench = bench()
        let task = try download(bench, .corrupt(at: 34_567))
        let events = EventLog(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=30000-39999"])
        let told = await events.untilRest()
        let restart = try #require(told.firstIndex(of: "restarted: wrongPiece"))
        #expect(told[restart + 1].hasSuffix("/100000"))
        #expect(told.filter { $0.hasPrefix("restarted") }.count == 1)
    }

    @Test func onlyBadPiecesAreFetchedAgainInSlices() throws {
        let bench = bench(Self.kinds[1])
        let task = try download(bench, .pass, .corrupt(at: 5000), .pass, .pass, .corrupt(at: 18_000))
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        let asked = bench.ranges.compactMap { LannerMachine.ByteRanges(asked: $0) }
        let count = asked.reduce(0) { $0 + $1.count }
        #expect(count == 120_000, "what is right is not asked for again: \(bench.ranges)")
    }

    @Test func theLastIsFetchedAgain() throws {
        for traits in Self.kinds {
            let bench = bench(traits)
            let task = try download(bench, pieces: .of(bytes, length: 30_000))
            bench.transport.always(place, .corrupt(at: 99_999))
            bench.transport.script(place, .corrupt(at: 99_999))
            #expect(bench.runToRest())
            #expect(task.reason == .checksumMismatch)
            #expect(task.completedBytes == 90_000, "the others stay")
            bench.transport.endScripts()
            bench.transport.clearRequests()
            bench.manager.start(task)
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        }
    }

    @Test func isFetchedSoOftenAndThenFails() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumPieceRetries = 2
        let bench = bench(Self.kinds[0], configuration)
        bench.transport.always(place, .corrupt(at: 0))
        let task = try download(bench)
        bench.settle()
        #expect(task.status == .failed && task.reason == .checksumMismatch && task.validation == .unknown)
        #expect(bench.ranges == ["whole", "bytes=0-9999", "bytes=0-9999"])
        #expect(task.error.map { "\($0)" }?.contains("bytes from 0 to 9999") == true)
        #expect(task.completedBytes == 90_000)
    }

    @Test func overSeveralConnections() throws {
        var configuration = SessionConfiguration()
        (configuration.firstConnections, configuration.smallestPiece) = (4, 1000)
        let bench = bench(Self.kinds[0], configuration)
        bench.transport.holdsAll = true
        for _ in 0..<4 { bench.transport.script(place, .corrupt(at: 60_000)) }
        let checksum = try Checksum.Digest(algorithm: .sha256, bytes: bytes[...].digest(.sha256))
        let task = try download(bench, checksum: checksum)
        bench.settle()
        var most = 0
        for _ in 0..<200 where !task.status.isAtRest {
            bench.transport.release(bytes: 4096)
            most = max(most, bench.transport.underway)
            bench.run(for: .milliseconds(250))
        }
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(most == 4)
        #expect(bench.ranges.contains { $0.hasPrefix("bytes=60000-") })
    }

    @Test func afterThatAMirrorIsAskedForIt() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumPieceRetries = 1
        let bench = bench(Self.kinds[0], configuration)
        let mirror = "https://mirror.example/copy.bin"
        bench.transport.serve(.init(bytes), at: mirror)
        bench.transport.always(place, .corrupt(at: 0))
        let request = DownloadRequest(address, pieces: pieces, mirrors: [mirror])
        let task = try #require(bench.manager.download(request))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=0-9999", "bytes=0-9999"])
        #expect(bench.transport.requests.last?.url.absoluteString == mirror)
    }

    @Test func whereRangesAreNotServedTheWholeIsFetchedAgain() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.bytes(bytes), acceptsRanges: false), at: place)
        let task = try download(bench, .corrupt(at: 50_000), .corrupt(at: 60_000))
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges.count == 3)
    }

    /// Also where it was found out before that ranges are of no use.
    @Test func afterAnUnusableRangeTheWholeIsFetchedAgain() throws {
        let bench = bench(Self.kinds[1])
        let task = try download(bench, .multipart, .corrupt(at: 50_000))
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["bytes=0-4095", "whole", "whole"])
    }

    @Test func areRememberedWithWhatIsRight() throws {
        let bench = bench()
        _ = try download(bench, .corrupt(at: 20_000))
        bench.transport.script(place, .hold)
        bench.run(for: .seconds(2))
        bench.relaunch()
        #expect(bench.records.first?.pieces == pieces)
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.completedBytes == 90_000)
        bench.transport.endScripts()
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.ranges.last == "bytes=20000-29999")
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func whatLiesOnTheDiskIsCompared() throws {
        let bench = bench()
        let task = try download(bench, .stall(afterBytes: 65_000))
        bench.run(for: .seconds(2))
        bench.manager.suspend(task)
        bench.settle()
        let path = try #require(bench.files.first { $0.hasSuffix(".part") })
        var spoiled = try #require(bench.disk.contents(of: path))
        spoiled[12_345] ^= 1
        bench.disk.put(spoiled, at: path)
        bench.transport.endScripts()
        bench.transport.clearRequests()
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["bytes=65000-", "bytes=10000-19999"])
    }

    // MARK: Mistakes

    @Test func aListForAFileOfAnotherSizeFails() throws {
        for list in [bytes + bytes, Array(bytes.prefix(90_000))] {
            let bench = bench()
            let task = try download(bench, pieces: .of(list, length: 10_000))
            bench.settle()
            #expect(task.reason == .checksumMismatch)
            #expect(task.error.map { "\($0)" }?.contains("The file has 100000 bytes, but") == true)
        }
    }

    /// No byte of the file is waited for.
    @Test func aListForAnotherSizeIsRefusedWithTheAnswer() throws {
        for traits in Self.kinds {
            let bench = bench(traits)
            bench.transport.always(place, .stall(afterBytes: 0))
            let task = try download(bench, pieces: .of(Array(bytes.prefix(90_000)), length: 10_000))
            bench.settle()
            #expect(task.status == .failed && task.reason == .checksumMismatch && task.validation == .unknown)
            #expect(task.error.map { "\($0)" }?.contains("are for one of 80001 to 90000 bytes") == true)
            #expect(bench.transport.requests.count == 1 && bench.transport.underway == 0)
        }
    }

    /// The bytes are those of the server's file, and the list may be mended.
    @Test func whatIsHeldOutlastsAListForAnotherSize() throws {
        var configuration = SessionConfiguration()
        // Nor is it tried again what cannot be another time.
        configuration.retryPolicy.maximumChecksumRetries = 2
        for traits in Self.kinds.prefix(2) {
            let bench = bench(traits, configuration)
            let task = try download(bench, .stall(afterBytes: 4095))
            bench.run(for: .seconds(2))
            bench.manager.suspend(task)
            bench.settle()
            let held = task.completedBytes
            #expect(held > 0)
            bench.transport.endScripts()
            let list = Checksum.Pieces.of(Array(bytes.prefix(90_000)), length: 10_000)
            bench.manager.download(DownloadRequest(address, pieces: list))
            #expect(bench.runToRest())
            #expect(task.reason == .checksumMismatch && task.completedBytes == held)
            bench.manager.download(DownloadRequest(address, pieces: pieces))
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        }
    }

    /// It is of the same pieces, and begins once.
    @Test func aFileThatIsGoneIsFetchedAnew() throws {
        let (bench, statuses) = (bench(), Tally())
        let task = try download(bench)
        bench.settle()
        try bench.disk.remove(task.filePath)
        let observation = task.observe(onMainQueue: false) { event in
            if case .status(let status) = event { statuses.add(status.rawValue) }
        }
        bench.settle()
        bench.manager.download(DownloadRequest(address, pieces: pieces))
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true && task.validation == .correct)
        #expect(statuses.all.filter { $0 == "running" }.count == 1, "\(statuses.all)")
        observation.cancel()
    }

    /// What was moved was compared before, but not what lies there now.
    @Test(arguments: [false, true]) func aFileThatIsFoundAtLaunchIsCompared(isOther: Bool) throws {
        let bench = bench()
        let first = try download(bench)
        let contents = try bench.stepBehindTheMove(of: first)
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        let task = try #require(bench.manager.fetchTask(address))
        // Somebody's file of the same size.
        if isOther { bench.disk.put([UInt8](repeating: 0, count: bytes.count), at: task.filePath) }
        #expect(bench.runToRest())
        bench.settle()
        if isOther {
            bench.manager.start(task)
            #expect(bench.runToRest())
        }
        #expect(task.status == .succeeded && task.validation == .correct && bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.count == (isOther ? 2 : 1))
    }

    @Test func aFileOfAnotherSizeIsAskedOfTheMirror() throws {
        let bench = bench()
        bench.transport.serve(.init(Array(bytes.prefix(90_000))), at: place)
        bench.transport.serve(.init(bytes), at: "/other")
        let request = DownloadRequest(address, pieces: pieces, mirrors: ["https://example.com/other"])
        let task = try #require(bench.manager.download(request))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.map(\.url.path) == [place, "/other"])
    }

    /// The server may have been mended since.
    @Test func aFileThatHadAnotherSizeIsFetchedAgain() throws {
        for framing in [LoopbackServer.Resource.Framing.chunked, .contentLength] {
            let bench = bench()
            bench.transport.serve(.init(.bytes(Array(bytes.prefix(90_000))), framing: framing), at: place)
            let task = try download(bench)
            #expect(bench.runToRest())
            #expect(task.reason == .checksumMismatch)
            bench.transport.serve(.init(bytes), at: place)
            bench.manager.start(task)
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        }
    }

    @Test func anotherListCountsAtOnce() throws {
        let bench = bench()
        let wrong = Checksum.Pieces.of([UInt8](repeating: 0, count: 100_000), length: 10_000)
        let task = try download(bench, .stall(afterBytes: 45_000), pieces: wrong)
        bench.transport.always(place, .hold)
        bench.settle()
        bench.transport.endScripts()
        #expect(bench.manager.download(DownloadRequest(address, pieces: pieces)) === task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
    }

    @Test func bothAreCompared() throws {
        let right = try Checksum.Digest(algorithm: .sha1, bytes: bytes[...].digest(.sha1))
        let wrong = try Checksum.Digest(algorithm: .sha1, bytes: [UInt8](repeating: 0, count: 20))
        for (digest, reason) in [(right, nil), (wrong, .checksumMismatch)]
            as [(Checksum.Digest, DownloadFailure.Reason?)]
        {
            let bench = bench()
            let task = try download(bench, .corrupt(at: 34_567), checksum: digest)
            #expect(bench.runToRest())
            #expect(task.reason == reason)
        }
    }

    @Test func nobodyButTheListTellsVersionsApart() throws {
        let bench = TestBench()
        var other = bytes
        other[70_000] ^= 1
        bench.transport.serve(.init(.bytes(other), entityTag: nil), at: place)
        let task = try download(bench, .stall(afterBytes: 75_000))
        bench.run(for: .seconds(2))
        bench.manager.suspend(task)
        bench.settle()
        bench.transport.serve(.init(.bytes(bytes), entityTag: nil), at: place)
        bench.transport.endScripts()
        bench.transport.clearRequests()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["bytes=75000-", "bytes=70000-79999"])
    }
}

extension ByteRanges {
    /// What a `Range` field asks for.
    init?(asked: String) {
        let numbers = asked.dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        self.init([numbers[0]..<numbers[1] + 1])
    }
}
