import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Held downloads, found by the path of their URL.
private struct HostBench {
    let bench: TestBench
    var manager: SessionManager { bench.manager }

    init(_ urls: [String], perHost: Int?, list: String? = nil) {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 100
        configuration.maxConcurrentTasksPerHost = perHost
        bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init([1, 2, 3]))
        bench.transport.holdsAll = true
        bench.manager.multiDownload(requests: urls.map { DownloadRequest($0, key: Self.key($0), list: list) })
        bench.settle()
    }

    private static func key(_ url: String) -> String { URL(string: url)?.lastPathComponent ?? "" }

    /// Who has a status, in order.
    func names(_ status: Status) -> String {
        manager.tasks.filter { $0.status == status }.map(\.key).joined(separator: " ")
    }

    func release(_ name: String) {
        bench.transport.release("/" + name)
        bench.settle()
    }
}

@Suite("N-13: limits per host") struct HostFeatureTests {
    @Test func aFullHostHoldsUpNoOther() {
        let hosts = HostBench(
            ["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/4"], perHost: 2)
        #expect(hosts.names(.running) == "1 2 4" && hosts.names(.waiting) == "3")
        hosts.release("4")
        #expect(hosts.names(.running) == "1 2")
        hosts.release("1")
        #expect(hosts.names(.running) == "2 3")
    }

    @Test func thereIsNoneUnlessOneIsSet() {
        let hosts = HostBench((1...9).map { "http://a.example/\($0)" }, perHost: nil)
        #expect(hosts.manager.heldSlots == 9)
    }

    @Test func oneHostIsOneInWhateverCaseAndAtWhateverPort() {
        let hosts = HostBench(
            [
                "http://a.example/1", "https://A.example/2", "http://user@a.example:8080/3", "http://[::1]/4",
                "http://[::1]:81/5", "http://a.example.org/6",
            ], perHost: 1)
        #expect(hosts.names(.running) == "1 4 6")
    }

    @Test func listsAndContextsShareIt() {
        let hosts = HostBench(["http://a.example/1"], perHost: 1, list: "one")
        hosts.manager.download(DownloadRequest("http://a.example/2", key: "2", list: "other"))
        hosts.manager.download(DownloadRequest("http://a.example/3", key: "3"))
        hosts.bench.settle()
        #expect(hosts.names(.running) == "1" && hosts.names(.waiting) == "2 3")
        // What runs there stops, and makes room.
        hosts.manager.context = "other"
        hosts.manager.download("http://a.example/4")
        hosts.bench.settle()
        #expect(hosts.manager.heldSlots == 1 && hosts.manager.tasks.first?.status == .running)
    }

    @Test("N-09: that of the host is missing") func whatIsMissing() throws {
        let hosts = HostBench(["http://a.example/1", "http://a.example/2"], perHost: 1, list: "list")
        let task = try #require(hosts.manager.fetchTask(key: "2"))
        #expect(task.waitingReason == .hostSlot)
        hosts.manager.configuration.listLimits["list"] = 1
        #expect(task.waitingReason == .listSlot)
        hosts.manager.configuration.listLimits = [:]
        hosts.manager.configuration.maxConcurrentTasksLimit = 1
        #expect(task.waitingReason == .hostSlot)
        hosts.manager.configuration.maxConcurrentTasksPerHost = 2
        #expect(task.waitingReason == .slot)
    }

    @Test func theLimitChangesWhileTheyRun() {
        let hosts = HostBench((1...5).map { "http://a.example/\($0)" }, perHost: 2)
        #expect(hosts.names(.running) == "1 2")
        hosts.manager.configuration.maxConcurrentTasksPerHost = 3
        hosts.bench.settle()
        #expect(hosts.names(.running) == "1 2 3")
        hosts.manager.configuration.maxConcurrentTasksPerHost = 0
        hosts.bench.settle()
        #expect(hosts.names(.running) == "1 2 3", "what runs goes on")
        for name in ["1", "2", "3"] { hosts.release(name) }
        #expect(hosts.names(.running) == "4", "less than one is no limit")
        hosts.manager.configuration.maxConcurrentTasksPerHost = nil
        hosts.bench.settle()
        #expect(hosts.names(.running) == "4 5")
    }

    @Test func anotherURLCountsFromTheNextAttemptOn() throws {
        let hosts = HostBench(["http://a.example/1", "http://a.example/2", "http://b.example/3"], perHost: 1)
        #expect(hosts.names(.running) == "1 3")
        hosts.manager.download(DownloadRequest("http://c.example/1", key: "1"))
        hosts.manager.download(DownloadRequest("http://c.example/2", key: "2"))
        hosts.bench.settle()
        #expect(hosts.names(.running) == "1 2 3", "the first still loads from where it began")
        hosts.manager.suspend(key: "1")
        hosts.bench.settle()
        hosts.manager.start(key: "1")
        hosts.bench.settle()
        #expect(hosts.names(.running) == "2 3")
        #expect(hosts.manager.fetchTask(key: "1")?.waitingReason == .hostSlot)
    }

    @Test func isKnownAgainAfterALaunch() {
        let hosts = HostBench(["http://a.example/1", "http://a.example/2", "http://b.example/3"], perHost: 1)
        var configuration = hosts.manager.configuration
        configuration.resumesAtLaunch = true
        hosts.bench.relaunch(configuration: configuration)
        hosts.bench.settle()
        #expect(hosts.names(.running) == "1 3" && hosts.names(.waiting) == "2")
    }

    @Test func aHundredHostsAllEnd() {
        let hosts = HostBench((0..<400).map { "http://host-\($0 % 100).example/\($0)" }, perHost: 1)
        #expect(hosts.manager.heldSlots == 100)
        hosts.bench.transport.holdsAll = false
        hosts.bench.transport.release()
        hosts.bench.settle()
        #expect(hosts.manager.succeededTasks.count == 400)
    }
}
