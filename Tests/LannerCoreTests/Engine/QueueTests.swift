import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct QueueTests {
    private func bench(limit: Int, holding count: Int) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = limit
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init([1, 2, 3]))
        for number in 0..<count { bench.transport.script("/\(number)", .hold) }
        bench.manager.multiDownload((0..<count).map { "https://example.com/\($0)" })
        bench.settle()
        return bench
    }

    @Test func runsOneAfterTheOther() {
        let bench = bench(limit: 1, holding: 3)
        let statuses = { bench.manager.tasks.map(\.status) }
        #expect(statuses() == [.running, .waiting, .waiting])
        #expect(bench.manager.tasks.last?.waitingReason == .slot)
        bench.transport.release("/0")
        bench.settle()
        #expect(statuses() == [.succeeded, .running, .waiting])
        bench.transport.fail("/1", with: .secureConnectionFailed)
        bench.settle()
        #expect(statuses() == [.succeeded, .failed, .running])
        bench.transport.release("/2")
        bench.settle()
        #expect(statuses() == [.succeeded, .failed, .succeeded])
        #expect(bench.manager.status == .failed)
        #expect(bench.transport.requests.map(\.url.path) == ["/0", "/1", "/2"])
    }

    @Test func suspendingMakesRoom() throws {
        let bench = bench(limit: 1, holding: 2)
        bench.manager.suspend("https://example.com/0")
        bench.settle()
        #expect(bench.manager.tasks.map(\.status) == [.suspended, .running])
    }

    @Test func waitingForARetryMakesRoom() {
        let bench = bench(limit: 1, holding: 2)
        bench.transport.fail("/0", with: .connectionLost)
        bench.settle()
        #expect(bench.manager.tasks.map(\.status) == [.waiting, .running])
    }

    @Test func raisesTheLimitAtOnce() {
        let bench = bench(limit: 1, holding: 4)
        bench.manager.configuration.maxConcurrentTasksLimit = 3
        bench.settle()
        #expect(bench.transport.underway == 3)
        bench.manager.configuration.maxConcurrentTasksLimit = 1
        bench.settle()
        #expect(bench.transport.underway == 3, "what runs goes on")
        bench.transport.release()
        bench.settle()
        #expect(bench.transport.underway == 1)
    }

    @Test func neverRunsMoreThanTheLimit() {
        let bench = bench(limit: 3, holding: 20)
        while bench.transport.underway > 0 {
            #expect(bench.transport.underway <= 3)
            bench.transport.release("/\(bench.manager.succeededTasks.count)")
            bench.settle()
        }
        #expect(bench.manager.succeededTasks.count == 20)
        #expect(bench.transport.requests.map(\.url.path) == (0..<20).map { "/\($0)" })
    }
}

@Suite struct InputTests {
    @Test(arguments: ["", "ftp://example.com/f", "example.com/f", "http://", "https:///f", "file:///etc/passwd"])
    func refusesAURL(text: String) {
        let bench = TestBench()
        #expect(bench.manager.download(text) == nil)
        #expect(bench.log.errors.map { "\($0)" } == ["\(LannerError.invalidURL(url: text))"])
        #expect(bench.manager.tasks.isEmpty)
    }

    @Test(arguments: [".", "..", "a/b", "../a", "a\0b", String(repeating: "x", count: 256)])
    func refusesAFileName(name: String) {
        let bench = TestBench()
        #expect(bench.manager.download(address, fileName: name) == nil)
        #expect(bench.log.lines.count == 1)
    }

    @Test(arguments: [["A": "b\r\nHost: evil"], ["A\nB": "c"], ["Range": "bytes=0-"], ["": "x"]])
    func refusesHeaders(headers: [String: String]) {
        let bench = TestBench()
        #expect(bench.manager.download(address, headers: headers) == nil)
        #expect(bench.log.errors.count == 1)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func skipsWhatCannotBeUsedInABatch() {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        let calls = Tally()
        let urls = ["https://example.com/a", "nonsense", "https://example.com/a", "https://example.com/b"]
        let tasks = bench.manager.multiDownload(urls) { calls.add("\($0.tasks.count)") }
        bench.settle()
        #expect(tasks.map(\.url.path) == ["/a", "/b"])
        #expect(bench.log.errors.count == 2)
        #expect(calls.all == ["2"])
        #expect(bench.manager.multiDownload(urls, headersArray: [[:]]).isEmpty)
        #expect(bench.manager.multiDownload(urls, fileNames: ["a"]).isEmpty)
    }

    @Test func anEmptyArrayOrNameIsNone() {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([1]))
        let urls = ["https://example.com/a", "https://example.com/b"]
        #expect(bench.manager.multiDownload(urls, headersArray: [], fileNames: []).count == 2)
        let tasks = bench.manager.multiDownload(urls.map { $0 + "2" }, fileNames: ["name", ""])
        let url = tasks.last?.url ?? URL(fileURLWithPath: "/")
        #expect(tasks.map(\.fileName) == ["name", FileName.standard(for: url)])
    }

    @Test func tellsOfATaskThatIsNotThere() {
        let bench = TestBench()
        bench.manager.suspend(address)
        guard case .fetchDownloadTaskFailed = bench.log.errors.first as? LannerError else {
            return #expect(Bool(false), "it is logged")
        }
    }
}
