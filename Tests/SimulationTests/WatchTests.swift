import Foundation
import LannerCore
import LannerMachine
import Testing

@testable import LannerTesting

/// Rules that are broken on purpose.
@Suite struct WatchTests {
    private let journal = Journal(keepsLines: true)

    private var broken: Violation.Rule? { journal.violation?.rule }

    @Test func aHandlerIsCalledOnceAndLater() {
        var watch = Watch(journal)
        watch.expectCall("never made")
        let call = watch.expectCall("made")
        var handler: (@Sendable () -> Void)?
        call.make { called in handler = called }
        #expect(call.isOwed)
        handler?()
        watch.allHandlersWereCalled("all is done")
        #expect(broken == nil)
        handler?()
        #expect(broken == .handler)
    }

    @Test func aHandlerIsNotCalledInsideTheCall() {
        var watch = Watch(journal)
        watch.expectCall("made").make { $0?() }
        #expect(broken == .handler)
    }

    @Test func aHandlerThatIsOwedIsMissed() {
        var watch = Watch(journal)
        watch.expectCall("made").make { _ in }
        watch.allHandlersWereCalled("all is done")
        #expect(broken == .handler)
    }

    @Test func credentialsStayWhereTheyWereGivenFor() {
        let bench = TestBench()
        bench.transport.serve(.init([1, 2, 3]), at: "/file")
        let lookout = Lookout(journal)
        bench.manager.download("https://a.example/file", headers: ["Authorization": "for a.example"])
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        #expect(broken == nil)
        bench.manager.download("https://b.example/file", headers: ["Authorization": "for a.example"])
        bench.settle()
        lookout.look(at: bench.manager, bench.transport)
        #expect(broken == .credentials)
    }

    @Test func aFileIsOneVersion() throws {
        var random = SeededGenerator(seed: 1)
        var site = Site(number: 0, using: &random)
        let bench = TestBench()
        let other = try #require(site.change(at: Date(timeIntervalSince1970: 100), using: &random))
        let served = try #require(site.change(at: Date(timeIntervalSince1970: 200), using: &random))
        let watch = Watch(journal)
        bench.transport.serve(served, at: site.place)
        let task = try #require(bench.manager.download(site.url))
        bench.settle()
        watch.compareFile(of: task, [site], bench.disk)
        #expect(broken == nil)
        try bench.disk.remove(task.filePath)
        bench.disk.place(other.bytes.map { ~$0 } + [1], at: task.filePath)
        watch.compareFile(of: task, [site], bench.disk)
        #expect(broken == .oneVersion)
    }

    @Test func bytesThatAreClaimedAreOfOneVersion() throws {
        var random = SeededGenerator(seed: 2)
        var site = Site(number: 1, using: &random)
        for second in 1...3 { _ = site.change(at: Date(timeIntervalSince1970: Double(second)), using: &random) }
        let version = try #require(site.versions.first { $0.count > 4 })
        #expect(site.holds(version, in: [0..<2, 3..<4]))
        #expect(!site.holds(version.map { ~$0 }, in: [0..<4]))
        #expect(!site.holds(version, in: [0..<Int64(version.count) + 1]))
    }

    @Test func statusesMoveAlongTheGraph() {
        #expect(Status.waiting.leads(to: .running))
        #expect(!Status.canceled.leads(to: .running))
        #expect(!Status.running.leads(to: .running))
        #expect(!Status.suspended.leads(to: .succeeded))
    }
}
