import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite("T3-11: moveTask and tasksSort") struct OrderFeatureTests {
    /// One runs, the others wait in order.
    private func queue(_ names: [String]) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        let bench = TestBench(configuration: configuration)
        for name in names {
            bench.transport.serve(.init(Sample.bytes(100)), at: "/" + name)
            bench.transport.script("/" + name, .hold)
        }
        bench.manager.multiDownload(names.map { "http://a.example/" + $0 })
        bench.settle()
        return bench
    }

    private func names(_ bench: TestBench) -> String {
        bench.manager.tasks.map(\.url.lastPathComponent).joined()
    }

    /// The order in which they are requested when one after the other is let go.
    private func requested(_ bench: TestBench) -> String {
        while bench.transport.underway > 0 {
            bench.transport.release()
            bench.settle()
        }
        return bench.transport.requests.map(\.url.lastPathComponent).joined()
    }

    @Test(arguments: [
        (3, 1, "adbc"), (1, 3, "acdb"), (3, 0, "dabc"), (0, 3, "bcda"), (1, 2, "acbd"), (2, 1, "acbd"), (2, 2, "abcd"),
    ])
    func movesOne(from source: Int, to destination: Int, expected: String) throws {
        let bench = queue(["a", "b", "c", "d"])
        bench.manager.moveTask(at: source, to: destination)
        bench.settle()
        #expect(names(bench) == expected)
        // What runs goes on; the others follow in their new order.
        #expect(requested(bench) == "a" + expected.filter { $0 != "a" })
    }

    @Test(arguments: [(0, 4), (4, 0), (-1, 1), (1, -1)]) func refusesWhatIsNoPosition(from: Int, to: Int) {
        let bench = queue(["a", "b", "c", "d"])
        bench.manager.moveTask(at: from, to: to)
        #expect(names(bench) == "abcd")
        #expect(bench.log.errors.contains { "\($0)" == LannerError.indexOutOfRange.description })
    }

    @Test func sortsAndRemembers() throws {
        let bench = queue(["b", "d", "a", "c"])
        bench.manager.tasksSort { $0.url.path < $1.url.path }
        bench.settle()
        #expect(names(bench) == "abcd")
        bench.relaunch()
        #expect(names(bench) == "abcd")
        bench.manager.tasksSort { $0.url.path > $1.url.path }
        bench.manager.download("http://a.example/e")
        bench.settle()
        #expect(names(bench) == "dcbae", "what is added later comes last")
    }

    @Test func aSortCostsOneCommit() {
        let bench = queue((0..<200).map { "file-\($0)" })
        bench.store.hold()
        bench.manager.tasksSort { $0.url.path > $1.url.path }
        bench.settle()
        #expect(bench.store.held == 1)
        bench.store.release()
    }

    /// Moving to one place again and again leaves no room between two ranks at last.
    @Test func findsRoomAgainAndAgain() {
        let bench = queue(["a", "b", "c", "d"])
        var model = Array("abcd")
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let (source, destination) = (Int(random.next() % 4), Int(random.next() % 2) + 1)
            bench.manager.moveTask(at: source, to: destination)
            model.insert(model.remove(at: source), at: destination)
            #expect(names(bench) == String(model))
        }
        bench.settle()
        bench.relaunch()
        #expect(names(bench) == String(model))
    }

    @Test func whatTheClosureThrowsChangesNothing() {
        let bench = queue(["b", "a"])
        #expect(throws: CancellationError.self) { try bench.manager.tasksSort { _, _ in throw CancellationError() } }
        #expect(names(bench) == "ba")
    }
}
