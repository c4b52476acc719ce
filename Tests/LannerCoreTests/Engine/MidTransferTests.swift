import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// What changes while a download is under way.
@Suite struct MidTransferTests {
    private static let sliced = TransportTraits(delivery: .sliced(1 << 20...1 << 20, inFlight: 2))

    @Test(arguments: [true, false]) func heedsAChecksumThatIsGivenWhileItRuns(isRight: Bool) throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.hold)
        bench.settle()
        let checksum = try digest(of: isRight ? large : [1])
        #expect(bench.manager.download(address, checksum: checksum) === task)
        bench.transport.release(place)
        bench.runToRest()
        #expect(task.status == (isRight ? .succeeded : .failed))
        #expect(task.reason == (isRight ? nil : .checksumMismatch))
        #expect(bench.contents(of: task) == (isRight ? large : nil))
    }

    @Test func remembersAChecksumThatIsGivenWhileItRuns() throws {
        let bench = TestBench.serving(large)
        _ = try bench.download(.hold)
        bench.settle()
        bench.manager.download(address, checksum: try digest(of: [1]))
        bench.settle()
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        bench.manager.start(task)
        bench.transport.always(place, .pass)
        bench.runToRest()
        #expect(task.reason == .checksumMismatch)
    }

    @Test func beginsAgainAtTheFirstURLWhenTheLinkItLedToExpires() throws {
        let bench = TestBench.serving(large, traits: Self.sliced)
        bench.transport.always("/start", .redirect(to: "https://cdn.example/file.bin"))
        bench.transport.script(place, .pass, .status(403))
        let task = try #require(bench.manager.download("https://example.com/start"))
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
        #expect(
            bench.transport.requests.map(\.url.path) == [
                "/start", "/file.bin", "/file.bin", "/start", "/file.bin", "/file.bin",
            ])
        let slices = (0..<3).map { "bytes=\($0 << 20)-\((($0 + 1) << 20) - 1)" }
        #expect(bench.ranges == [slices[0], slices[0], slices[1], slices[1], slices[1], slices[2]])
    }

    @Test func fetchesWhatWasWrongFromTheFirstURLOnceTheLinkItLedToHasExpired() throws {
        let bench = TestBench.serving(large, traits: Self.sliced)
        bench.transport.always("/start", .redirect(to: "https://cdn.example/file.bin"))
        bench.transport.script(place, .pass, .pass, .corrupt(at: 2 << 20))
        let task = try #require(bench.manager.download("https://example.com/start", checksum: try digest(of: large)))
        bench.runToRest()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count { $0.url.path == "/start" } == 2)
    }

    @Test func countsTheRedirectsOfEachRequestByThemselves() throws {
        let bytes = Sample.bytes(4 << 20)
        let small = TransportTraits(delivery: .sliced(1 << 17...1 << 17, inFlight: 1))
        let bench = TestBench.serving(bytes, traits: small)
        // Each slice is led on once more, to the same place.
        for _ in 0..<32 {
            bench.transport.script(place, .redirect(to: "/file.bin"), .pass)
        }
        let task = try #require(bench.manager.download(address))
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func fetchesOnceFromZeroWhenSlicesAreOfTwoFiles() throws {
        let bench = TestBench.serving(large, traits: Self.sliced)
        let task = try bench.download(.pass, .pass, .corrupt(at: 2 << 20), checksum: try digest(of: large))
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
        #expect(
            bench.ranges == ["bytes=0-1048575", "bytes=1048576-2097151", "bytes=2097152-3145727", "whole"])
    }

    @Test func aTaskOfAnotherManagerIsNotMistakenForOneOfOurs() throws {
        let (ours, others) = (TestBench.serving([1]), TestBench.serving([2]))
        let task = try ours.download()
        ours.settle()
        let foreign = try others.download()
        others.settle()
        #expect(task.id == foreign.id)
        let calls = Tally()
        ours.manager.remove(foreign, completely: true) { _ in calls.add("answered") }
        ours.settle()
        #expect(calls.all == ["answered"])
        #expect(task.status == .succeeded)
        #expect(ours.contents(of: task) == [1])
    }

    @Test func aFileThatIsTooLargeForTheDiskFailsBeforeItsBytes() throws {
        let disk = MemoryDisk()
        disk.claimedFreeSpace = 1 << 20
        let bench = TestBench.serving(large, disk: disk)
        let task = try bench.download()
        bench.runToRest()
        #expect(task.reason == .disk(.noSpace))
        #expect(task.completedBytes == 0)
    }

    @Test func aNameOutsideTheDirectoryIsNoFile() {
        let bench = TestBench()
        #expect(bench.manager.cache.filePath(fileName: "../../etc/passwd") == nil)
        #expect(Cache("a/b").downloadPath != Cache("a_b").downloadPath)
        #expect(Cache("a/b").downloadPath != Cache("a%2Fb").downloadPath)
        #expect(Cache("a/\u{301}b").downloadPath.directory == Cache("a").downloadPath.directory)
    }
}
