import Foundation
import LannerCore
import LannerMachine
import Testing

@testable import LannerTesting

/// Rules that are broken on purpose.
@Suite struct AuditorTests {
    private let chronicle = Chronicle(keepsLines: true)

    private var broken: Violation.Rule? { chronicle.violation?.rule }

    @Test func aHandlerIsCalledOnceAndLater() {
        var auditor = Auditor(chronicle)
        auditor.expectCall("never made")
        let call = auditor.expectCall("made")
        var handler: (@Sendable () -> Void)?
        call.make { called in handler = called }
        #expect(call.isOwed)
        handler?()
        auditor.allHandlersWereCalled("all is done")
        #expect(broken == nil)
        handler?()
        #expect(broken == .handler)
    }

    @Test func aHandlerIsNotCalledInsideTheCall() {
        var auditor = Auditor(chronicle)
        auditor.expectCall("made").make { $0?() }
        #expect(broken == .handler)
    }

    @Test func aHandlerThatIsOwedIsMissed() {
        var auditor = Auditor(chronicle)
        auditor.expectCall("made").make { _ in }
        auditor.allHandlersWereCalled("all is done")
        #expect(broken == .handler)
    }

    /// Nobody tries again and again, but who is started may do so as often once more.
    @Test(arguments: [false, true]) func retriesAreCountedFromAStart(starts: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumRetries = World.mostRetries
        let bench = TestBench(configuration: configuration)
        bench.transport.always("/file", .status(503))
        var auditor = Auditor(chronicle)
        let task = try #require(bench.manager.download("https://a.example/file"))
        auditor.observe(task)
        for _ in 0..<4 {
            #expect(bench.runToRest())
            if starts { auditor.noteStart() }
            bench.manager.start(task)
        }
        #expect(broken == (starts ? nil : .liveness))
    }

    /// Another host, scheme or port is another origin.
    @Test(arguments: ["https://b.example", "http://a.example", "https://a.example:8443"], ["Authorization", "X-Key"])
    func credentialsStayWhereTheyWereGivenFor(other: String, field: String) throws {
        let bench = TestBench()
        bench.transport.serve(.init([1, 2, 3]), at: "/file")
        let lookout = Lookout(chronicle)
        let url = try #require(URL(string: "https://a.example/file"))
        let secret = Lookout.secrets(for: url)
        bench.manager.download(url, headers: secret)
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        #expect(broken == nil)
        bench.manager.download("\(other)/file", headers: secret.filter { $0.key == field })
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        #expect(broken == .credentials)
    }

    /// Of a list no more run than may, except those that were moved into it.
    @Test func aListThatIsFullLetsNobodyBegin() throws {
        var configuration = SessionConfiguration()
        configuration.listLimits = ["a": 2]
        let bench = TestBench(configuration: configuration)
        bench.transport.holdsAll = true
        let lookout = Lookout(chronicle)
        for (number, list) in ["a", "a", "b"].enumerated() {
            bench.manager.download(.init(try #require(URL(string: "https://a.example/\(number)")), list: list))
        }
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        bench.manager.download(.init(try #require(URL(string: "https://a.example/2")), list: "a"))
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        #expect(bench.manager.running.count == 3)
        #expect(broken == nil)
        Lookout(chronicle).look(at: bench.manager, bench.transport)
        #expect(broken == .limit)
    }

    @Test func aFileIsOneVersion() throws {
        var random = SeededGenerator(seed: 1)
        var site = SimulatedSite(number: 0, using: &random)
        let bench = TestBench()
        let other = try #require(site.change(at: Date(timeIntervalSince1970: 100), using: &random))
        let served = try #require(site.change(at: Date(timeIntervalSince1970: 200), using: &random))
        let auditor = Auditor(chronicle)
        bench.transport.serve(served, at: site.place)
        let task = try #require(bench.manager.download(site.url))
        bench.settle()
        auditor.compareFile(of: task, [site], bench.disk)
        #expect(broken == nil)
        try bench.disk.remove(task.filePath)
        bench.disk.put(other.bytes.map { ~$0 } + [1], at: task.filePath)
        auditor.compareFile(of: task, [site], bench.disk)
        #expect(broken == .oneVersion)
    }

    @Test func bytesThatAreClaimedAreOfOneVersion() throws {
        var random = SeededGenerator(seed: 2)
        var site = SimulatedSite(number: 1, using: &random)
        for second in 1...3 { _ = site.change(at: Date(timeIntervalSince1970: Double(second)), using: &random) }
        let version = try #require(site.versions.first { $0.count > 4 })
        #expect(site.holds(version, in: [0..<2, 3..<4]))
        #expect(!site.holds(version.map { ~$0 }, in: [0..<4]))
        #expect(!site.holds(version, in: [0..<Int64(version.count) + 1]))
    }

    /// Its digest went with the download that was canceled: until the bytes are given up nothing tells of a lie in them.
    @Test(arguments: [true, false]) func bytesOfAnotherURLMayBeALie(isLying: Bool) throws {
        var random = SeededGenerator(seed: 3)
        let one = try #require(
            (0..<64).map { _ in SimulatedSite(number: 0, using: &random) }.first { $0.needsChecksum == isLying })
        let other = try #require(
            (0..<64).map { _ in SimulatedSite(number: 1, using: &random) }.first { !$0.needsChecksum })
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        let bench = TestBench(configuration: configuration)
        // Of no version, since there are none.
        bench.transport.serveElsewhere(.init([UInt8](repeating: 1, count: 100)))
        for site in [one, other] { bench.transport.script(site.place, .stall(afterBytes: 50)) }
        var auditor = Auditor(chronicle)
        for site in [one, other] { auditor.noteAsked(Identity(key: "key"), site.url) }
        let digest = isLying ? [UInt8]().digest(.md5) : nil
        bench.manager.download(DownloadRequest(one.url, checksum: digest, key: "key"))
        bench.settle()
        bench.manager.cancel(key: "key")
        bench.settle()
        let request = DownloadRequest(other.url, key: "key", startsImmediately: false)
        let task = try #require(bench.manager.download(request))
        bench.settle()
        #expect(bench.manager.inspections.map(\.claimed) == [[0..<50]])
        auditor.compareClaims(of: bench.manager, [one, other], bench.disk)
        #expect(broken == (isLying ? nil : .rightBytes))
        bench.manager.start(task)
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        #expect(bench.manager.inspections.map(\.claimed) == [[0..<50]])
        auditor.compareClaims(of: bench.manager, [one, other], bench.disk)
        #expect(broken == .rightBytes)
    }

    @Test func statusesMoveAlongTheGraph() {
        #expect(Status.waiting.leads(to: .running))
        #expect(!Status.canceled.leads(to: .running))
        #expect(!Status.running.leads(to: .running))
        #expect(!Status.suspended.leads(to: .succeeded))
    }
}
