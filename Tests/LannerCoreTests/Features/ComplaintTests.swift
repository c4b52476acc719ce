import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// What users of older download managers complain of, where no other test shows that it is gone. The whole list is in
/// `Docs/Migrating from Tiercel.md`.
@Suite struct ComplaintTests {
    private let addresses = (1...4).map { "https://example.com/\($0)" }

    private func bench(limit: Int = 6) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = limit
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(1000)))
        return bench
    }

    @Test("no status is stuck in between after a death", arguments: Moment.allCases)
    func aDeathLeavesNobodyInBetween(moment: Moment) throws {
        let (bench, _) = try moment.bench()
        bench.relaunch()
        for task in bench.manager.tasks { #expect(task.status.isAtRest) }
        bench.manager.totalStart()
        bench.runToRest()
        for task in bench.manager.tasks where task.url.path == place { #expect(task.status == .succeeded) }
    }

    @Test("a waiting task whose file is there stalls no queue", arguments: FileConflictPolicy.allCases)
    func aFileThatIsThereStallsNoQueue(policy: FileConflictPolicy) {
        let bench = bench(limit: 1)
        bench.manager.configuration.fileConflictPolicy = policy
        bench.transport.script("/1", .stall(afterBytes: 10))
        let tasks = bench.manager.multiDownload(addresses, fileNames: ["1", "2", "3", "4"])
        bench.settle()
        bench.disk.put([9], at: tasks[1].filePath)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(tasks.map(\.status) == [.succeeded, policy == .fail ? .failed : .succeeded, .succeeded, .succeeded])
    }

    @Test("a task that has succeeded and is asked for again stalls no queue") func askingAgainStallsNoQueue() {
        let bench = bench(limit: 1)
        bench.manager.download(addresses[1])
        bench.settle()
        bench.manager.multiDownload(addresses)
        bench.manager.totalStart()
        #expect(bench.runToRest())
        #expect(bench.manager.tasks.map(\.status) == Array(repeating: .succeeded, count: 4))
    }

    @Test("all may end while the configuration changes") func aChangeAtAnyStepStallsNoQueue() throws {
        for steps in 0... {
            let (bench, calls) = (bench(limit: 2), Tally())
            bench.manager.completion { calls.add($0.status.rawValue) }
            let tasks = bench.manager.multiDownload(addresses)
            let isOver = bench.run(steps: steps)
            bench.manager.configuration.allowsCellularAccess.toggle()
            bench.manager.configuration.maxConcurrentTasksLimit = 1
            bench.manager.configuration.timeoutIntervalForRequest = 10
            #expect(bench.runToRest())
            #expect(tasks.map(\.status) == Array(repeating: .succeeded, count: 4), "after \(steps) steps")
            #expect(calls.all == ["succeeded"], "after \(steps) steps")
            if isOver {
                #expect(steps > 30)
                break
            }
        }
    }

    @Test("no task is twice among those that succeeded") func succeededTasksAreThereOnce() throws {
        let bench = bench()
        for _ in 0..<3 {
            bench.manager.download(addresses[0])
            bench.settle()
            bench.manager.start(addresses[0])
            bench.settle()
            let task = try #require(bench.manager.fetchTask(addresses[0]))
            #expect(bench.manager.succeededTasks == [task])
            try bench.disk.remove(task.filePath)
        }
        bench.relaunch()
        #expect(bench.manager.succeededTasks.count == 1)
    }

    @Test("a closure is not told of a state that is over", arguments: [ScriptedTransport.Step.status(404), .hold])
    func noOldStateIsToldAgain(first: ScriptedTransport.Step) throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(first)
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        #expect(task.status.isAtRest)
        bench.manager.start(task)
        task.completion { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all == ["succeeded"])
    }

    @Test("an unknown length gives no negative figure") func anUnknownLengthIsNoNegativeFigure() throws {
        let bench = TestBench()
        bench.transport.serve(.init(Sample.bytes(300_000), framing: .chunked), at: place)
        let task = try bench.download(.stall(afterBytes: 200_000))
        for _ in 0..<8 {
            bench.run(for: .milliseconds(500))
            #expect(task.status == .running)
            #expect(task.progress.isIndeterminate)
            #expect(task.progress.completedUnitCount >= 0)
            #expect(0...1 ~= task.progress.fractionCompleted)
            #expect(task.speed >= 0 && task.timeRemaining == 0)
            #expect(bench.manager.speed >= 0 && bench.manager.timeRemaining == 0)
            #expect(0...1 ~= bench.manager.progress.fractionCompleted)
        }
        bench.transport.release()
        bench.settle()
        #expect(task.status == .succeeded && task.progress.fractionCompleted == 1)
    }

    @Test("an unknown length is no part of what the others have left")
    func anUnknownLengthCompletesNobodyElse() throws {
        let bench = TestBench()
        bench.transport.serve(.init(Sample.bytes(300_000), framing: .chunked), at: place)
        bench.transport.serve(.init(Sample.bytes(100_000)), at: "/b")
        bench.transport.script("/b", .stall(afterBytes: 25_000))
        let unknown = try bench.download(.stall(afterBytes: 200_000))
        let known = try #require(bench.manager.download("https://example.com/b"))
        let group = [unknown, known].group
        bench.run(for: .seconds(2))
        #expect(unknown.completedBytes == 200_000 && known.completedBytes == 25_000)
        #expect(bench.manager.progress.fractionCompleted == 0.25 && !bench.manager.progress.isFinished)
        #expect(group.progress.fractionCompleted == 0.25 && group.progress.completedBytes == 225_000)
    }

    @Test("closures hold nobody any more once nothing comes to them", arguments: [true, false])
    func closuresAreLetGoOf(byRemoval: Bool) throws {
        weak var task: DownloadTask?
        weak var manager: SessionManager?
        do {
            let bench = TestBench.serving([1, 2, 3])
            let (running, all) = (try bench.download(), bench.manager)
            (task, manager) = (running, all)
            running.completion { [running] _ in _ = (running, all) }
            all.completion { [all] _ in _ = (all, running) }
            bench.runToRest()
            if byRemoval { all.remove(running) }
            bench.settle()
            running.failure { [running] _ in _ = running }
            running.progress { [running] _ in _ = running }
            bench.settle()
            all.invalidate()
        }
        #expect(task == nil && manager == nil)
    }

    @Test("a header field can be taken back") func noFieldsAreFields() throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.transport.script(place, .failure(.connectionLost), .failure(.connectionLost))
        for headers in [["Authorization": "secret"], nil, [:]] {
            bench.manager.download(address, headers: headers)
            bench.settle()
        }
        bench.runToRest()
        #expect(bench.transport.requests.map { $0.fields["Authorization"] } == ["secret", "secret", nil])
    }

    @Test("a verdict over an old file does not outlive it") func anOldVerdictIsVoid() throws {
        let bytes: [UInt8] = [1, 2, 3]
        let bench = TestBench.serving(bytes)
        let task = try bench.download()
        task.validateFile(code: "5289df737df57326fcdd22597afb1fac", type: .md5) { _ in }
        bench.settle()
        #expect(task.validation == .correct)
        try bench.disk.remove(task.filePath)
        bench.transport.serve(.init([4, 5, 6]), at: place)
        bench.manager.download(address)
        bench.settle()
        #expect(task.status == .succeeded && bench.contents(of: task) == [4, 5, 6])
        #expect(task.validation == .unknown)
        bench.relaunch()
        #expect(bench.manager.fetchTask(address)?.validation == .unknown)
    }

    @Test("more than six run at once") func noLimitOfOurs() {
        let bench = bench(limit: 40)
        let addresses = (0..<50).map { "https://example.com/many/\($0)" }
        for address in addresses { bench.transport.script(URL(string: address)?.path ?? "", .hold) }
        bench.manager.multiDownload(addresses)
        bench.settle()
        #expect(bench.transport.underway == 40)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 50)
    }
}
