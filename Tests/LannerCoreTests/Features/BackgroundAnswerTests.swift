import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// T3-24: what servers answer exchanges that outlive the process, other than with what was asked for.
@Suite(.timeLimit(.minutes(10))) struct BackgroundAnswerTests {
    /// A download of which a third has come, and whose rest is asked for; the answer is the whole file, and has not come.
    private func askedForTheRest(_ policy: RetryPolicy = .never) throws -> (TestBench, DownloadTask) {
        var configuration = SessionConfiguration()
        configuration.retryPolicy = policy
        let bench = TestBench.serving(large, configuration: configuration, traits: .background)
        let task = try bench.download(.stall(afterBytes: 1 << 20), .ignoreRange)
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.transport.holdsAll = true
        bench.manager.start(task)
        bench.settle()
        bench.transport.holdsAll = false
        #expect(bench.transport.requests.last?.resumeData != nil)
        return (bench, task)
    }

    private func expectWhole(_ bench: TestBench, requests: Int) throws {
        let task = try #require(bench.manager.fetchTask(address))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded, "\(String(describing: task.error))")
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count <= requests)
        #expect(bench.transport.keptNames == [] && bench.files == [task.filePath])
    }

    @Test("T3-24: the whole file in answer to a request for the rest comes by the exchange that brings it")
    func wholeForTheRest() throws {
        let (bench, task) = try askedForTheRest()
        bench.transport.release(bytes: 1 << 20)
        bench.run(for: .seconds(1))
        #expect(task.status == .running && task.completedBytes == 1 << 20)
        #expect(bench.transport.keptNames.count == 1)
        bench.transport.release()
        try expectWhole(bench, requests: 2)
    }

    @Test("T3-24: so it does after a death in the middle", arguments: [false, true])
    func wholeForTheRestAfterADeath(endsWhileAway: Bool) throws {
        let (bench, _) = try askedForTheRest()
        bench.transport.release(bytes: 1 << 20)
        bench.settle()
        bench.relaunch { if endsWhileAway { bench.transport.release() } }
        bench.settle()
        #expect(bench.manager.fetchTask(address)?.status == (endsWhileAway ? .succeeded : .running))
        bench.transport.release()
        try expectWhole(bench, requests: 2)
    }

    /// Before the other partial file is on record the exchange belongs to one that was given up.
    @Test func wholeForTheRestWithADeathAtEveryStep() throws {
        for steps in 0... {
            let (bench, _) = try askedForTheRest(RetryPolicy())
            bench.transport.release(bytes: 1 << 20)
            let isOver = bench.run(steps: steps)
            bench.relaunch()
            bench.settle()
            bench.manager.totalStart()
            bench.settle()
            bench.transport.release()
            try expectWhole(bench, requests: 3)
            if isOver { break }
        }
    }

    // MARK: From elsewhere

    /// One that the system has been led to by itself.
    private func led() throws -> (TestBench, DownloadTask) {
        var configuration = SessionConfiguration()
        configuration.fileNaming = .serverName
        let bench = TestBench.serving(large, configuration: configuration, traits: .background)
        let head = ResponseHead(
            status: 200, fields: ["Content-Length": "3"], url: "https://user@cdn.example/files/real.zip?key=1#top")
        bench.transport.holdsAll = true
        let task = try bench.download(.exactly(head, body: [1, 2, 3]))
        bench.settle()
        bench.transport.holdsAll = false
        return (bench, task)
    }

    @Test("T3-15, N-10: where the system was led to is shown, and names the file") func ledElsewhere() throws {
        let (bench, task) = try led()
        #expect(task.currentURL.absoluteString == address)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.fileName == "real.zip")
        #expect(task.currentURL.absoluteString == "https://cdn.example/files/real.zip?key=1")
        #expect(task.url.absoluteString == address)
    }

    @Test("T3-15, N-10: so it does after a death", arguments: [false, true])
    func ledElsewhereWhileAway(endsWhileAway: Bool) throws {
        let (bench, _) = try led()
        if !endsWhileAway {
            bench.transport.release(bytes: 1)
            bench.settle()
        }
        bench.relaunch { if endsWhileAway { bench.transport.release() } }
        bench.settle()
        bench.transport.release()
        #expect(bench.runToRest())
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.status == .succeeded && task.fileName == "real.zip")
        #expect(task.currentURL.absoluteString == "https://cdn.example/files/real.zip?key=1")
        #expect(bench.transport.requests.count == 1)
    }

    @Test(arguments: ["", "nowhere", "file:///etc/passwd"]) func placesThatAreNoneAreNotShown(place: String) throws {
        let bench = TestBench.serving(large, traits: .background)
        let task = try bench.download(.exactly(ResponseHead(status: 200, url: place), body: [1]))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && task.currentURL.absoluteString == address)
    }
}
