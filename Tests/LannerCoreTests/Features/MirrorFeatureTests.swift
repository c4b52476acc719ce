import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("N-12: mirrors") struct MirrorFeatureTests {
    private static let bytes = Sample.bytes(1 << 20)
    private static let mirror = "https://mirror.example/copy.bin"

    private func bench(connections: Int = 1) -> TestBench {
        var configuration = SessionConfiguration()
        if connections > 1 { (configuration.firstConnections, configuration.smallestPiece) = (connections, 1024) }
        let bench = TestBench.serving(Self.bytes, configuration: configuration)
        bench.transport.serve(.init(Self.bytes), at: Self.mirror)
        return bench
    }

    /// The mirror has another file of the same size, and there is time to ask it.
    private func benchWithAnotherFile() -> TestBench {
        let bench = bench(connections: 2)
        bench.transport.serve(.init(Self.bytes.map { $0 ^ 0xFF }), at: Self.mirror)
        bench.transport.script(place, .stall(afterBytes: 100_000))
        return bench
    }

    private func download(_ bench: TestBench, _ checksum: Checksum.Digest? = nil) throws -> DownloadTask {
        let headers = ["Authorization": "secret", "User-Agent": "Test"]
        let request = DownloadRequest(address, headers: headers, checksum: checksum, mirrors: [Self.mirror])
        return try #require(bench.manager.download(request))
    }

    private func hosts(_ bench: TestBench) -> [String?] { bench.transport.requests.map(\.url.host) }

    @Test func aMirrorIsAskedWhenTheURLFails() throws {
        let bench = bench()
        bench.transport.always(place, .status(404))
        let task = try download(bench)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(Self.bytes, in: task) == true)
        #expect(hosts(bench) == ["example.com", "mirror.example"])
        // What was given for the URL stays with its origin.
        let last = try #require(bench.transport.requests.last)
        #expect(last.fields["Authorization"] == nil)
        #expect(last.fields["User-Agent"] == "Test")
    }

    /// The next process knows which mirror it was.
    @Test(arguments: [false, true]) func whatIsOfAMirrorGoesOnLater(hasDigest: Bool) throws {
        let bench = bench()
        bench.transport.always(place, .status(404))
        bench.transport.script(Self.mirror, .stall(afterBytes: 100_000))
        let task = try download(bench, hasDigest ? digest(of: Self.bytes) : nil)
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        #expect(task.completedBytes == 100_000)
        #expect(task.canResume)
        let later = try #require(bench.relaunch().fetchTask(address))
        bench.manager.start(later)
        bench.settle()
        #expect(bench.holds(Self.bytes, in: later) == true)
        #expect(bench.ranges.last == "bytes=100000-")
        #expect(hosts(bench).last == "mirror.example")
    }

    /// A mirror goes on with what it began while it is one of those that are asked for, in this process and the next.
    @Test(arguments: [true, false], [true, false])
    func whatIsOfAMirrorGoesOnAmongOthers(isStill: Bool, isLater: Bool) throws {
        let bench = bench()
        bench.transport.always(place, .status(404))
        bench.transport.always("https://other.example/file", .status(404))
        bench.transport.script(Self.mirror, .stall(afterBytes: 100_000))
        let task = try download(bench)
        bench.settle()
        let mirrors = ["https://other.example/file"] + (isStill ? [Self.mirror] : [])
        bench.manager.download(DownloadRequest(address, mirrors: mirrors))
        bench.manager.suspend(task)
        bench.settle()
        let next = isLater ? try #require(bench.relaunch().fetchTask(address)) : task
        bench.manager.start(next)
        bench.settle()
        if isStill {
            #expect(bench.holds(Self.bytes, in: next) == true)
            #expect(bench.ranges.last == "bytes=100000-")
        } else {
            #expect(bench.ranges.dropFirst(2).allSatisfy { $0 == "whole" })
        }
    }

    @Test func partsComeFromBoth() throws {
        let bench = bench(connections: 2)
        bench.transport.always(place, .stall(afterBytes: 100_000))
        let task = try download(bench)
        bench.settle()
        #expect(hosts(bench).prefix(2) == ["example.com", "mirror.example"])
        bench.run(for: .seconds(1))
        // The URL has given no more than it was let; the other half is the mirror's, and some of the first.
        #expect(task.completedBytes >= 100_000 + (1 << 19))
        bench.transport.release(place, bytes: .max)
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(Self.bytes, in: task) == true)
    }

    @Test func anotherFileIsNotMixedIn() throws {
        let bench = benchWithAnotherFile()
        let task = try download(bench)
        bench.settle()
        bench.transport.release(place, bytes: .max)
        bench.runToRest()
        #expect(bench.holds(Self.bytes, in: task) == true)
        #expect(hosts(bench).filter { $0 == "mirror.example" }.count == 1)
    }

    /// The mirror of another file, and the digest is of the URL's.
    @Test func aDigestDecidesAtTheEnd() throws {
        let bench = benchWithAnotherFile()
        let task = try download(bench, digest(of: Self.bytes))
        bench.settle()
        bench.transport.release(place, bytes: .max)
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(task.validation == .correct)
        #expect(bench.holds(Self.bytes, in: task) == true)
    }

    @Test func redirectsOfAMirrorAreItsOwn() throws {
        let bench = bench()
        bench.transport.always(place, .status(404))
        bench.transport.script(Self.mirror, .redirect(to: "/moved.bin"))
        bench.transport.serve(.init(Self.bytes), at: "https://mirror.example/moved.bin")
        let task = try download(bench)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(hosts(bench) == ["example.com", "mirror.example", "mirror.example"])
        #expect(task.currentURL.absoluteString == address)
    }

    @Test func theNameIsThatOfTheMirrorThatAnswered() throws {
        let bench = bench()
        bench.manager.configuration.fileNaming = .serverName
        bench.transport.always(place, .status(404))
        let task = try download(bench)
        bench.settle()
        #expect(task.status == .succeeded && task.fileName == "copy.bin")
    }

    @Test func mirrorsAreRemembered() throws {
        let bench = bench()
        let task = try download(bench)
        bench.manager.suspend(task)
        bench.settle()
        bench.relaunch()
        bench.transport.always(place, .status(404))
        let again = try #require(bench.manager.fetchTask(address))
        bench.manager.start(again)
        bench.runToRest()
        #expect(again.status == .succeeded)
        #expect(hosts(bench).last == "mirror.example")
    }

    @Test func otherMirrorsMayBeGiven() throws {
        let bench = bench()
        bench.transport.always(place, .status(404))
        let task = try #require(bench.manager.download(address))
        bench.settle()
        #expect(task.status == .failed)
        #expect(try download(bench) === task)
        bench.settle()
        #expect(task.status == .succeeded)
    }

    @Test(arguments: ["ftp://mirror.example/f", "http://", ""]) func refusesWhatIsNoMirror(url: String) throws {
        let bench = bench()
        let request = DownloadRequest(address, mirrors: [Self.mirror, url])
        #expect(bench.manager.download(request) == nil)
    }
}
