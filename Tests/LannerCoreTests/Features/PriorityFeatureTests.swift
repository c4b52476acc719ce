import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("N-13: priorities") struct PriorityFeatureTests {
    private let bench: TestBench
    private var manager: SessionManager { bench.manager }

    init() {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        bench.transport.holdsAll = true
    }

    @discardableResult
    private func download(_ key: String, _ priority: DownloadPriority? = nil) -> DownloadTask? {
        defer { bench.settle() }
        return manager.download(DownloadRequest("http://a.example/" + key, key: key, priority: priority))
    }

    /// In which order all run, from now on.
    private func order() -> [String] {
        bench.transport.clearRequests()
        bench.transport.holdsAll = false
        bench.transport.release()
        bench.settle()
        return bench.transport.requests.map(\.url.lastPathComponent)
    }

    @Test func theHigherRunNextThenTheOrder() {
        download("runs")
        for key in ["a", "b"] { download(key) }
        for key in ["low", "lower"] { download(key, key == "low" ? .low : .veryLow) }
        for key in ["c", "d"] { download(key, .high) }
        download("e", .veryHigh)
        #expect(
            manager.tasks.map(\.key) == ["runs", "a", "b", "low", "lower", "c", "d", "e"], "the order is another thing")
        #expect(order() == ["e", "c", "d", "a", "b", "low", "lower"])
    }

    @Test func mayChangeWithoutLosingAByte() throws {
        bench.transport.holdsAll = false
        bench.transport.script("/runs", .stall(afterBytes: 1500))
        let first = try #require(download("runs"))
        bench.transport.holdsAll = true
        let (low, high) = (try #require(download("low")), try #require(download("high")))
        first.priority = .veryLow
        high.priority = .veryHigh
        low.priority = .low
        bench.settle()
        #expect(first.status == .running && bench.transport.requests.count == 1, "what runs goes on")
        manager.suspend(first)
        bench.settle()
        #expect(high.status == .running && low.status == .waiting)
        manager.start(first)
        bench.settle()
        #expect(first.status == .waiting && first.completedBytes == 1500)
        #expect(order() == ["low", "runs"])
        #expect(bench.transport.requests.last?.fields["Range"]?.hasPrefix("bytes=1500-") == true)
        #expect(manager.succeededTasks.count == 3)
    }

    @Test func isRemembered() throws {
        download("runs")
        download("a", .low)
        try #require(download("b")).priority = .high
        bench.settle()
        bench.relaunch()
        #expect(manager.tasks.map(\.priority) == [.normal, .low, .high])
        // Asked for again without one it keeps the one it has.
        download("b")
        download("a", .veryHigh)
        bench.settle()
        bench.relaunch()
        #expect(manager.tasks.map(\.priority) == [.normal, .veryHigh, .high])
        manager.totalStart()
        bench.settle()
        #expect(manager.tasksInProgress.first { $0.status == .running }?.key == "a")
        #expect(order() == ["b", "runs"])
    }

    @Test func ofATaskThatIsGoneIsItsOwn() throws {
        let task = try #require(download("a", .high))
        manager.remove(task)
        bench.settle()
        #expect(task.priority == .high && task.status == .removed)
        task.priority = .low
        bench.settle()
        #expect(task.priority == .low && manager.tasks.isEmpty)
        let other = try #require(download("b"))
        manager.invalidate()
        other.priority = .low
        #expect(other.priority == .low)
    }
}
