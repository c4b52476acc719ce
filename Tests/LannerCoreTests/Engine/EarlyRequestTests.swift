import LannerTesting
import Testing

@testable import LannerCore

/// Of a download that has waited for its turn the server is asked while the new partial file is made.
@Suite struct EarlyRequestTests {
    private let bench: TestBench
    private let first: DownloadTask
    private let second: DownloadTask

    /// The second has been asked for, and its file is not there.
    init() throws {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        bench = TestBench(configuration: configuration)
        bench.transport.serve(.init([1, 2, 3]), at: "/first")
        bench.transport.serve(.init([4, 5, 6, 7]), at: "/second")
        first = try #require(bench.manager.download("https://example.com/first"))
        second = try #require(bench.manager.download("https://example.com/second"))
        while bench.transport.requests.count < 2 { try #require(bench.lanes.runNext()) }
        try #require(partialFiles == [])
    }

    private var partialFiles: [String] { bench.files.filter { $0.hasSuffix("-2-1.part") } }

    @Test func whatComesIsWrittenOnceTheFileIsThere() {
        bench.settle()
        #expect(bench.contents(of: first) == [1, 2, 3] && bench.contents(of: second) == [4, 5, 6, 7])
        #expect(bench.transport.requests.count == 2)
    }

    /// Other than the file of the first, which is there by now.
    @Test func aFileThatCannotBeMadeEndsIt() {
        bench.disk.fail(.open, with: .notPermitted)
        bench.settle()
        #expect(second.reason == .disk(.notPermitted))
        #expect(bench.transport.underway == 0 && partialFiles == [])
        bench.manager.start(second)
        #expect(bench.runToRest())
        #expect(bench.contents(of: second) == [4, 5, 6, 7])
    }

    /// The server is not asked for nothing again and again.
    @Test func afterTheDiskHasRefusedTheFileComesFirst() throws {
        bench.settle()
        for path in ["/third", "/fourth", "/fifth"] {
            bench.transport.serve(.init([8, 9]), at: path)
            bench.transport.script(path, .hold)
        }
        try #require(bench.manager.download("https://example.com/third") != nil)
        let task = try #require(bench.manager.download("https://example.com/fourth"))
        bench.settle()
        // Its turn: it fails while it waits for the answer.
        bench.transport.release()
        while bench.transport.requests.count < 4 { try #require(bench.lanes.runNext()) }
        bench.disk.fail(.open, with: .notPermitted)
        bench.settle()
        #expect(task.reason == .disk(.notPermitted))
        // And again behind another one.
        try #require(bench.manager.download("https://example.com/fifth") != nil)
        bench.settle()
        bench.manager.start(task)
        bench.disk.fail(.open, with: .notPermitted)
        bench.transport.release()
        bench.settle()
        #expect(task.reason == .disk(.notPermitted) && bench.transport.requests.count == 5)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.contents(of: task) == [8, 9] && bench.transport.requests.count == 6)
    }

    @Test func suspendedMeanwhileItGoesOnLater() {
        bench.manager.suspend(second)
        bench.settle()
        #expect(second.status == .suspended && bench.transport.underway == 0)
        bench.manager.start(second)
        #expect(bench.runToRest())
        #expect(bench.contents(of: second) == [4, 5, 6, 7])
    }

    @Test func removedMeanwhileItLeavesNothing() {
        bench.manager.remove(second)
        bench.settle()
        #expect(bench.files == [first.filePath])
        #expect(bench.transport.underway == 0)
    }

    /// Who calls does not begin exchanges.
    @Test func onACallersTimeTheFileComesFirst() throws {
        bench.settle()
        let again = TestBench()
        again.transport.serve(.init([1]), at: "/file.bin")
        let task = try #require(again.manager.download(address))
        #expect(again.transport.requests.isEmpty)
        while again.transport.requests.isEmpty { try #require(again.lanes.runNext()) }
        #expect(again.files.contains { $0.hasSuffix(".part") })
        again.settle()
        #expect(again.contents(of: task) == [1])
    }
}
