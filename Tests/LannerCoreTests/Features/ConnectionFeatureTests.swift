import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A download from a server that sends so much a second over each connection, or in all.
private struct ConnectionBench {
    static let bytes = Sample.bytes(6 << 20)

    let bench: TestBench
    let task: DownloadTask
    /// The most exchanges there were at once.
    var most = 0

    init(
        _ connections: Int = 4, checksum: Checksum.Digest? = nil, traits: TransportTraits? = nil,
        fillsGaps: Bool = false, _ steps: ScriptedTransport.Step...
    ) throws {
        let disk = MemoryDisk()
        disk.fillsGaps = fillsGaps
        var configuration = SessionConfiguration()
        configuration.maxConnectionsPerDownload = connections
        configuration.smallestPiece = 64 << 10
        bench = .serving(
            Self.bytes, configuration: configuration, traits: traits ?? TransportTraits(delivery: .pausable),
            disk: disk)
        bench.transport.always(place, .stall(afterBytes: 0))
        for step in steps { bench.transport.script(place, step) }
        task = try #require(bench.manager.download(address, checksum: checksum))
        bench.settle()
    }

    /// A quarter of a second, in which so much comes over each connection.
    mutating func tick(_ count: Int64 = 64 << 10) {
        bench.transport.release(place, bytes: count)
        most = max(most, bench.transport.underway)
        bench.run(for: .milliseconds(250))
    }

    mutating func run(_ ticks: Int = 400) {
        for _ in 0..<ticks where !task.status.isAtRest { tick() }
    }

    /// Whether it ended well, and in one attempt.
    var isWhole: Bool { task.status == .succeeded && bench.holds(Self.bytes, in: task) }

    var asked: [String] { bench.ranges }
}

@Suite("N-12: several connections for one file") struct ConnectionFeatureTests {
    @Test func theFileIsWhole() throws {
        var line = try ConnectionBench()
        line.run()
        #expect(line.isWhole)
        #expect(line.most == 4)
        #expect(line.asked.first == "whole")
        #expect(line.asked.dropFirst().allSatisfy { $0.hasPrefix("bytes=") })
        // 96 pieces of a quarter of a second over one connection.
        #expect(line.bench.clock.now < .seconds(12))
    }

    /// Zeros would be written for most of the file before its second part.
    @Test func whereFilesHaveNoHolesThereIsOne() throws {
        var line = try ConnectionBench(fillsGaps: true)
        line.run()
        #expect(line.isWhole && line.most == 1)
    }

    /// What one takes of those that a server has for one address is not there for the next.
    @Test func whenTheServerHasNoneLeftForAnotherThereIsOneEach() throws {
        var line = try ConnectionBench()
        line.run(8)
        #expect(line.bench.transport.underway == 4)
        line.bench.transport.serve(.init(ConnectionBench.bytes), at: "/other")
        line.bench.transport.script("/other", .status(503))
        line.bench.transport.always("/other", .stall(afterBytes: 0))
        let other = try #require(line.bench.manager.download("https://example.com/other"))
        line.run(2)
        #expect(other.status == .waiting && line.bench.transport.underway == 1)
        line.run(24)
        #expect(other.status == .running && line.bench.transport.underway == 2)
        line.run()
        #expect(line.isWhole)
    }

    /// What one takes beyond that is stopped, and costs nobody anything.
    @Test func oneConnectionTooManyHoldsUpNobody() throws {
        var line = try ConnectionBench(4, .stall(afterBytes: 0), .stall(afterBytes: 0), .status(503))
        line.bench.transport.serve(.init(ConnectionBench.bytes), at: "/other")
        line.bench.transport.always("/other", .stall(afterBytes: 0))
        line.bench.manager.download("https://example.com/other")
        func both() {
            line.bench.transport.release("/other", bytes: 64 << 10)
            line.tick()
        }
        while !line.bench.transport.unusedSteps.isEmpty, line.bench.clock.now < .seconds(10) { both() }
        for _ in 0..<8 { both() }
        #expect(line.bench.transport.unusedSteps.isEmpty && line.bench.transport.underway > 2)
    }

    /// A file that the server never has is not a want of connections, and holds up the others for a minute at most.
    @Test func whoIsRefusedForGoodDoesNotHoldUpTheOthers() throws {
        var line = try ConnectionBench()
        line.run(8)
        line.bench.transport.always("/other", .status(503))
        let other = try #require(line.bench.manager.download("https://example.com/other"))
        line.run(2)
        #expect(line.bench.transport.underway == 1)
        var most = 0
        for _ in 0..<300 {
            line.tick(1000)
            most = max(most, line.bench.transport.underway)
        }
        #expect(other.status == .waiting && most > 2)
    }

    @Test func aPartIsAskedForOnConditionThatTheFileIsTheSame() throws {
        var line = try ConnectionBench()
        line.run(8)
        let later = line.bench.transport.requests.dropFirst()
        #expect(!later.isEmpty)
        #expect(later.allSatisfy { $0.fields["If-Range"] != nil })
    }

    @Test func theDigestIsTakenOfWhatCameOutOfOrder() throws {
        var line = try ConnectionBench(checksum: digest(of: ConnectionBench.bytes))
        line.run()
        #expect(line.isWhole)
        #expect(line.task.validation == .correct)
        #expect(line.most == 4)
    }

    @Test func whereARedirectLedMayExpire() throws {
        var configuration = SessionConfiguration()
        (configuration.maxConnectionsPerDownload, configuration.smallestPiece) = (2, 64 << 10)
        let bench = TestBench.serving(ConnectionBench.bytes, configuration: configuration)
        bench.transport.always(place, .redirect(to: "/signed"))
        bench.transport.serve(.init(ConnectionBench.bytes), at: "/signed")
        bench.transport.always("/signed", .stall(afterBytes: 0))
        bench.transport.script("/signed", .stall(afterBytes: 0))
        bench.transport.script("/signed", .status(403))
        let task = try #require(bench.manager.download(address))
        bench.settle()
        for _ in 0..<200 where !task.status.isAtRest {
            bench.transport.release("/signed", bytes: 64 << 10)
            bench.run(for: .milliseconds(250))
        }
        #expect(task.status == .succeeded && bench.holds(ConnectionBench.bytes, in: task))
        let paths = bench.transport.requests.map(\.url.path)
        #expect(paths.prefix(5) == [place, "/signed", "/signed", place, "/signed"])
        #expect(paths.count { $0 == place } == 2)
    }

    @Test(arguments: [1, 0, -5]) func oneIsTheLeast(connections: Int) throws {
        var line = try ConnectionBench(connections)
        line.run()
        #expect(line.isWhole)
        #expect(line.asked == ["whole"])
    }

    @Test func sixteenAreTheMost() throws {
        var line = try ConnectionBench(1000)
        for _ in 0..<40 where !line.task.status.isAtRest { line.tick(16 << 10) }
        #expect(line.most == 16)
    }

    @Test func oneIsAllThatSlicesAndFilesTake() {
        var configuration = SessionConfiguration()
        configuration.maxConnectionsPerDownload = 8
        for delivery in [TransportTraits.Delivery.sliced(1...2, inFlight: 2), .file] {
            let settings = configuration.settings(
                TransportTraits(delivery: delivery), in: Environment(fileSystem: MemoryDisk()))
            #expect(settings.connections == 1)
        }
    }

    @Test func aServerThatIsNoFasterIsLeftAtOne() throws {
        var line = try ConnectionBench()
        for _ in 0..<20 { line.tick((64 << 10) / Int64(max(1, line.bench.transport.underway))) }
        #expect(line.bench.transport.underway == 1)
        line.run()
        #expect(line.isWhole)
    }

    @Test(arguments: [
        ScriptedTransport.Step.status(429), .status(503, ["Retry-After": "1000"]), .status(404), .ignoreRange,
        .failure(.cannotConnect), .failure(.connectionLost), .wrongRange(offset: 1), .multipart,
        .fields(["ETag": "\"another\""]),
    ])
    func aSecondThatIsRefusedIsNoFailure(step: ScriptedTransport.Step) async throws {
        var line = try ConnectionBench(4, .stall(afterBytes: 0), step)
        let events = EventLog(line.task)
        line.run(12)
        #expect(line.asked.count == 2)
        #expect(line.bench.transport.underway == 1)
        line.run()
        #expect(line.isWhole)
        // What came over the first counts, and no attempt has failed.
        #expect(line.asked.filter { $0 == "whole" }.count == 1)
        let told = await events.untilRest()
        #expect(told.last == "succeeded")
        #expect(!told.contains { $0.hasPrefix("retrying") || $0.hasPrefix("restarted") })
    }

    @Test func aConnectionThatIsLostIsNoFailure() throws {
        var line = try ConnectionBench(4, .stall(afterBytes: 0), .cut(afterBytes: 100_000))
        line.run(2)
        let job = try #require(line.bench.manager.engine.job(line.task.id))
        line.run()
        #expect(line.isWhole)
        #expect(job.state.withLock { $0.lastAttempt } == 1)
        // Of what it has brought nothing is asked for again.
        let second = try #require(line.asked.dropFirst().first)
        let start = try #require(Int64(second.dropFirst("bytes=".count).split(separator: "-")[0]))
        #expect(line.asked.dropFirst(2).contains { $0.hasPrefix("bytes=\(start + 100_000)-") })
    }

    @Test func aConnectionThatDoesNotComeAboutHoldsUpNobody() throws {
        // Who is led there waits for ever; the first is not.
        var line = try ConnectionBench(4, .stall(afterBytes: 0), .redirect(to: "/waiting"))
        line.bench.transport.always("/waiting", .hold)
        line.run()
        #expect(line.isWhole)
        #expect(line.asked.count > 2)
        #expect(line.asked.filter { $0 == "whole" }.count == 1)
    }

    /// Not from where another one was led meanwhile.
    @Test func aRedirectLeadsOnFromWhereItWasAsked() throws {
        var configuration = SessionConfiguration()
        (configuration.maxConnectionsPerDownload, configuration.firstConnections) = (3, 3)
        configuration.smallestPiece = 64 << 10
        let bench = TestBench.serving(ConnectionBench.bytes, configuration: configuration)
        bench.transport.serve(.init(ConnectionBench.bytes), at: "https://example.com/moved.bin")
        bench.transport.script(
            place, .stall(afterBytes: 0), .redirect(to: "https://other.example/a.bin"), .redirect(to: "/moved.bin"))
        let task = try #require(bench.manager.download(address))
        bench.settle()
        let led = Set(bench.transport.requests.map(\.url.absoluteString))
        #expect(led.contains("https://example.com/moved.bin"))
        #expect(!led.contains("https://other.example/moved.bin"))
        bench.transport.release(place, bytes: .max)
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(ConnectionBench.bytes, in: task) == true)
    }

    @Test func aFileThatChangesIsNotMixed() throws {
        let other = LoopbackServer.Resource(Sample.bytes(1..<(6 << 20) + 1))
        var line = try ConnectionBench(4, .stall(afterBytes: 0), .changeTo(other))
        line.run()
        #expect(line.isWhole, "the first goes on with what it began")
    }

    @Test func aKilledProcessLosesNoPart() throws {
        var line = try ConnectionBench()
        line.run(20)
        #expect(line.bench.transport.underway == 4)
        let bench = line.bench
        bench.run(for: .seconds(2))
        let written = try #require(bench.records.first?.saved.written)
        #expect(written.ranges.count > 2)
        bench.relaunch()
        bench.transport.clearRequests()
        bench.transport.always(place, nil)
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.completedBytes == written.count)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(ConnectionBench.bytes, in: task))
        // One request for each hole.
        #expect(bench.ranges.count == written.ranges.count)
    }

    @Test func suspendedAndStartedItGoesOn() throws {
        var line = try ConnectionBench()
        line.run(14)
        line.bench.manager.suspend(line.task)
        line.bench.settle()
        #expect(line.bench.transport.underway == 0)
        let held = line.task.completedBytes
        #expect(held > 0)
        line.bench.manager.start(line.task)
        line.bench.settle()
        #expect(line.task.completedBytes == held)
        line.run()
        #expect(line.isWhole)
    }

    @Test func aLowerLimitHoldsAtOnce() throws {
        var line = try ConnectionBench()
        line.run(14)
        #expect(line.bench.transport.underway == 4)
        var configuration = line.bench.manager.configuration
        configuration.maxConnectionsPerDownload = 1
        line.bench.manager.configuration = configuration
        line.tick()
        #expect(line.bench.transport.underway == 1)
        line.run()
        #expect(line.isWhole)
    }
}
