import Foundation
import LannerLoopback
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// N-11: digests that servers give.
@Suite struct ServerDigestFeatureTests {
    private let bytes = Sample.bytes(40_000)

    /// A field of RFC 9530, or of RFC 2616.
    private func field(_ algorithm: Checksum.Algorithm, of bytes: [UInt8]) -> LoopbackServer.Fields {
        let text = Data(bytes[...].digest(algorithm)).base64EncodedString()
        let key = [.md5: "md5", .sha1: "sha", .sha256: "sha-256", .sha512: "sha-512"][algorithm] ?? ""
        return ["Repr-Digest": "\(key)=:\(text):"]
    }

    private func contentMD5(of bytes: [UInt8]) -> LoopbackServer.Fields {
        ["Content-MD5": Data(bytes[...].md5).base64EncodedString()]
    }

    private func bench(
        _ fields: LoopbackServer.Fields, tag: LoopbackServer.Resource.EntityTag? = .content,
        _ configuration: SessionConfiguration = SessionConfiguration(),
        traits: TransportTraits = TransportTraits(delivery: .pausable)
    ) -> TestBench {
        let bench = TestBench(configuration: configuration, traits: traits)
        bench.transport.serve(.init(.bytes(bytes), entityTag: tag, fields: fields), at: place)
        return bench
    }

    private static let kinds = [
        TransportTraits(delivery: .pausable), TransportTraits(delivery: .sliced(4096...8192, inFlight: 2)),
        TransportTraits(delivery: .file, hasResumeData: true),
    ]

    // MARK: Comparing

    @Test(arguments: Checksum.Algorithm.allCases) func aRightOneIsCompared(_ algorithm: Checksum.Algorithm) throws {
        for traits in Self.kinds {
            let bench = bench(field(algorithm, of: bytes), traits: traits)
            let task = try bench.download()
            bench.settle()
            #expect(task.status == .succeeded && task.validation == .correct)
            #expect(bench.holds(bytes, in: task) == true)
        }
    }

    @Test(arguments: Checksum.Algorithm.allCases) func aWrongOneFails(_ algorithm: Checksum.Algorithm) throws {
        for traits in Self.kinds {
            let bench = bench(field(algorithm, of: [1]), traits: traits)
            let task = try bench.download()
            #expect(bench.runToRest())
            #expect(task.status == .failed && task.reason == .checksumMismatch)
            #expect(bench.contents(of: task) == nil)
            let words = task.error.map { "\($0)" } ?? ""
            #expect(words.contains("that the server gives; download again, or do not"), "\(words)")
        }
    }

    /// Who gives the pieces has said what the file is to be.
    @Test func itSaysNothingWhereThePiecesAreKnown() throws {
        for traits in Self.kinds {
            let bench = bench(field(.sha256, of: [1]), traits: traits)
            let pieces = Checksum.Pieces.of(bytes, length: 10_000, .sha256)
            let task = try #require(bench.manager.download(DownloadRequest(address, pieces: pieces)))
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && task.validation == .correct)
            #expect(bench.holds(bytes, in: task) == true)
        }
    }

    @Test func whatWasDamagedOnTheWayIsFound() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumChecksumRetries = 1
        let bench = bench(field(.sha256, of: bytes), configuration)
        let task = try bench.download(.corrupt(at: 20_000))
        bench.settle()
        #expect(task.status == .succeeded && bench.transport.requests.count == 2)
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func contentMD5IsComparedWithTheWholeOnly() throws {
        let right = bench(contentMD5(of: bytes))
        #expect(try finished(right).validation == .correct)
        let wrong = bench(contentMD5(of: [1]))
        #expect(try finished(wrong).reason == .checksumMismatch)
        // In answers with parts it is that of the part.
        let sliced = bench(contentMD5(of: [1]), traits: Self.kinds[1])
        #expect(try finished(sliced).validation == .unknown)
    }

    private func finished(_ bench: TestBench, checksum: Checksum.Digest? = nil) throws -> DownloadTask {
        let task = try bench.download(checksum: checksum)
        #expect(bench.runToRest())
        return task
    }

    // MARK: Not comparing

    @Test func theCallersChecksumIsTheOneThatCounts() throws {
        let checksum = try Checksum.Digest(algorithm: .sha1, bytes: bytes[...].digest(.sha1))
        let bench = bench(field(.sha256, of: [1]))
        #expect(try finished(bench, checksum: checksum).validation == .correct)
    }

    @Test func oneThatIsGivenMeanwhileCounts() throws {
        let bench = bench(field(.sha256, of: bytes))
        let task = try bench.download(.stall(afterBytes: 20_000))
        bench.settle()
        bench.manager.download(
            address, checksum: try Checksum.Digest(algorithm: .md5, bytes: [UInt8](repeating: 0, count: 16)))
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.reason == .checksumMismatch)
    }

    @Test func isIgnoredWhereThatIsWanted() throws {
        var configuration = SessionConfiguration()
        configuration.checksServerDigests = false
        let task = try finished(bench(field(.sha256, of: [1]), configuration))
        #expect(task.status == .succeeded && task.validation == .unknown)
    }

    @Test func isIgnoredAlsoByWhatIsUnderWay() throws {
        let bench = bench(field(.sha256, of: [1]))
        let task = try bench.download(.stall(afterBytes: 20_000))
        bench.settle()
        bench.manager.configuration.checksServerDigests = false
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.validation == .unknown)
        // Nor does it count as compared with what the server has told.
        bench.manager.download(address, checksum: try digest(of: [1]))
        #expect(bench.runToRest())
        #expect(task.reason == .checksumMismatch)
    }

    @Test(arguments: ["sha-256=:AAA", "sha-256=:AAAA:", "sha-256=::, md5=:AAAA:", "sha-256=\u{1}", ",", "a=:"])
    func whatIsMalformedIsIgnoredAndLogged(_ value: String) throws {
        let bench = bench(["Repr-Digest": value])
        let task = try finished(bench)
        #expect(task.status == .succeeded && task.validation == .unknown)
        #expect(bench.log.lines.contains { $0.contains("Repr-Digest is malformed, and ignored") })
    }

    @Test(arguments: ["adler=:AAAAAA==:", "unixsum=:AAAA:;a, x=(1 2)"]) func unknownOnesAreIgnored(
        _ value: String
    ) throws {
        let bench = bench(["Repr-Digest": value])
        #expect(try finished(bench).status == .succeeded)
        #expect(!bench.log.lines.contains { $0.contains("malformed") })
    }

    @Test func anEncodedFileIsNotCompared() throws {
        var fields = field(.sha256, of: [1])
        fields["Content-Encoding"] = "gzip"
        #expect(try finished(bench(fields)).status == .succeeded)
    }

    // MARK: Resuming

    @Test(arguments: [false, true]) func isRememberedAndTiesWhatIsResumed(isChanged: Bool) throws {
        // Nothing but the digest tells versions apart.
        let bench = bench(field(.sha256, of: bytes), tag: nil)
        _ = try bench.download(.stall(afterBytes: 20_000))
        bench.run(for: .seconds(2))
        #expect(bench.records.first?.saved.version?.digest?.algorithm == .sha256)
        var other = bytes
        other[30_000] ^= 1
        let served = isChanged ? other : bytes
        bench.transport.serve(
            .init(.bytes(served), entityTag: nil, fields: isChanged ? [:] : field(.sha256, of: bytes)), at: place)
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.ranges.dropFirst().first == "bytes=20000-")
        #expect(task.status == .succeeded && bench.holds(served, in: task) == true)
        // The answer that went on without a digest was of another file: once more from zero.
        #expect(bench.ranges.count == (isChanged ? 3 : 2))
        #expect(task.validation == (isChanged ? .unknown : .correct))
    }

    @Test func anotherDigestIsAnotherFile() throws {
        let bench = bench(field(.sha256, of: bytes))
        let task = try bench.download(.cut(afterBytes: 20_000), .fields(field(.sha256, of: [2])))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.ranges.count == 3)
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func countsForTheURLThatToldIt() throws {
        let bench = bench(field(.sha256, of: bytes))
        bench.transport.serve(.init(large), at: "/other.bin")
        let request = DownloadRequest(address, key: "a")
        bench.transport.script(place, .stall(afterBytes: 20_000))
        let task = try #require(bench.manager.download(request))
        bench.run(for: .seconds(1))
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.download(DownloadRequest("https://example.com/other.bin", key: "a"))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
    }

    /// The process ended before the move, and somebody else has put a file of the same size there.
    @Test func doesNotTakeAnotherFileForThePublishedOne() throws {
        let bench = bench(field(.sha256, of: bytes))
        let first = try bench.download()
        try bench.step { bench.records.first?.saved.status == .publishing }
        bench.files.forEach { try? bench.disk.remove($0) }
        bench.disk.put(bytes.map { ~$0 }, at: first.filePath)
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.status == .suspended)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
    }
}
