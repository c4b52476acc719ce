import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("R-03: contexts") struct ContextTests {
    private func bench(_ configuration: SessionConfiguration = SessionConfiguration()) -> TestBench {
        var configuration = configuration
        configuration.maxConcurrentTasksLimit = 2
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        return bench
    }

    /// Two run and hold a third of their bytes, one waits, one is suspended.
    private func fill(_ bench: TestBench, _ names: [String] = ["a", "b", "c", "d"]) {
        for name in names { bench.transport.script("/" + name, .stall(afterBytes: 1000)) }
        bench.manager.multiDownload(
            requests: names.map { DownloadRequest("https://a.example/" + $0, startsImmediately: $0 != "d") })
        bench.settle()
    }

    private func statuses(_ bench: TestBench) -> [Status] { bench.manager.tasks.map(\.status) }

    @Test func aChangeHidesAndStopsAndRestores() throws {
        let bench = bench()
        bench.manager.context = "ann"
        fill(bench)
        let tasks = bench.manager.tasks
        #expect(tasks.map(\.context) == ["ann", "ann", "ann", "ann"])
        bench.manager.context = "bob"
        #expect(bench.manager.tasks.isEmpty && bench.manager.fetchTask("https://a.example/a") == nil)
        #expect(bench.manager.taskCounts.all == 0 && bench.manager.progress.completedUnitCount == 0)
        #expect(bench.manager.status == .waiting && bench.manager.speed == 0)
        bench.settle()
        #expect(bench.transport.underway == 0)
        #expect(tasks.map(\.status) == [.waiting, .waiting, .waiting, .suspended])
        #expect(tasks.map(\.waitingReason) == [.context, .context, .context, nil])
        #expect(tasks.map(\.completedBytes) == [1000, 1000, 0, 0])
        bench.run(for: .seconds(600))
        #expect(bench.transport.requests.count == 2)
        bench.manager.context = "ann"
        #expect(bench.manager.tasks == tasks)
        bench.settle()
        #expect(bench.runToRest())
        #expect(statuses(bench) == [.succeeded, .succeeded, .succeeded, .suspended])
        #expect(bench.ranges.prefix(4) == ["whole", "whole", "bytes=1000-", "bytes=1000-"])
    }

    @Test func twoContextsMayHaveOneKey() throws {
        let bench = bench()
        bench.manager.context = "ann"
        let one = try #require(bench.manager.download("https://a.example/a", fileName: "ann"))
        bench.settle()
        bench.manager.context = "bob"
        let two = try #require(bench.manager.download("https://a.example/a", fileName: "bob"))
        bench.settle()
        #expect(one !== two && bench.manager.succeededTasks == [two])
        bench.relaunch()
        #expect(bench.manager.tasks.isEmpty && bench.manager.context == nil)
        bench.manager.context = "bob"
        #expect(bench.manager.tasks.map(\.fileName) == ["bob"])
        bench.manager.context = "ann"
        #expect(bench.manager.fetchTask("https://a.example/a")?.fileName == "ann")
    }

    @Test func whatIsAddedElsewhereWaitsThere() throws {
        let (bench, calls) = (bench(), Tally())
        let task = try #require(
            bench.manager.download(DownloadRequest("https://a.example/a", context: "ann")) { calls.add($0.key) })
        bench.settle()
        #expect(task.status == .waiting && task.waitingReason == .context && bench.manager.tasks.isEmpty)
        #expect(calls.all.count == 1 && bench.transport.requests.isEmpty)
        bench.manager.context = "ann"
        bench.settle()
        #expect(bench.manager.succeededTasks == [task])
    }

    @Test func whoStillHoldsATaskMayUseIt() throws {
        let bench = bench()
        fill(bench)
        let tasks = bench.manager.tasks
        bench.manager.context = "bob"
        bench.settle()
        bench.manager.suspend(tasks[0])
        bench.manager.start(tasks[3])
        bench.manager.remove(tasks[1])
        bench.settle()
        #expect(tasks.map(\.status) == [.suspended, .removed, .waiting, .waiting])
        bench.manager.totalRemove()
        bench.settle()
        bench.manager.context = nil
        #expect(bench.manager.tasks == [tasks[0], tasks[2], tasks[3]], "all of a context are those of the present one")
        bench.settle()
        bench.runToRest()
        #expect(statuses(bench) == [.suspended, .succeeded, .succeeded])
    }

    @Test func tellsNoEnd() throws {
        let (bench, calls) = (bench(), Tally())
        bench.manager.completion { calls.add("manager \($0.status.rawValue)") }
        fill(bench)
        bench.manager.tasks.completion { calls.add("task \($0.status.rawValue)") }
        bench.settle()
        calls.clear()
        bench.manager.context = "bob"
        bench.settle()
        #expect(calls.all.isEmpty)
        bench.manager.download("https://a.example/x")
        bench.settle()
        #expect(calls.all == ["manager succeeded"])
    }

    @Test func tellsTheStatusThoughItIsTheSame() {
        let (bench, calls) = (bench(), Tally())
        for context in ["ann", "bob"] {
            bench.manager.context = context
            bench.manager.download("https://a.example/a", fileName: context)
            bench.settle()
        }
        let observation = bench.manager.observe { if case .status(let status) = $0 { calls.add(status.rawValue) } }
        bench.settle()
        bench.manager.context = "ann"
        bench.settle()
        #expect(calls.all == ["succeeded", "succeeded"])
        withExtendedLifetime(observation) {}
    }

    @Test func theOrderStays() {
        let bench = bench()
        bench.manager.multiDownload(
            requests: ["a", "b", "c", "d"].map {
                DownloadRequest("https://a.example/" + $0, context: $0 < "c" ? "ann" : "bob")
            })
        bench.manager.context = "bob"
        bench.manager.tasksSort { $0.url.path > $1.url.path }
        bench.manager.context = "ann"
        bench.manager.moveTask(at: 1, to: 0)
        bench.settle()
        bench.relaunch()
        bench.manager.context = "ann"
        #expect(bench.manager.tasks.map(\.url.lastPathComponent) == ["b", "a"])
        bench.manager.context = "bob"
        #expect(bench.manager.tasks.map(\.url.lastPathComponent) == ["d", "c"])
    }

    @Test(arguments: [false, true]) func aLaunchInAnotherContext(resumes: Bool) {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = resumes
        let bench = bench(configuration)
        bench.manager.context = "ann"
        fill(bench)
        bench.manager.context = "bob"
        bench.settle()
        bench.relaunch()
        bench.settle()
        #expect(bench.manager.tasks.isEmpty && bench.transport.underway == 0)
        bench.manager.context = "ann"
        #expect(bench.runToRest())
        let expected: Status = resumes ? .succeeded : .suspended
        #expect(statuses(bench) == [expected, expected, expected, .suspended])
        configuration.contextAtLaunch = "ann"
        bench.relaunch(configuration: configuration)
        #expect(bench.manager.tasks.count == 4 && bench.manager.context == "ann")
        bench.manager.totalStart()
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 4)
    }

    @Test func shutDownStopsAllAndShowsAll() {
        let (bench, calls) = (bench(), Tally())
        fill(bench)
        bench.manager.shutDown { calls.add("\($0.heldSlots) run") }
        bench.settle()
        #expect(calls.all == ["0 run"] && bench.transport.underway == 0 && bench.manager.tasks.count == 4)
        #expect(statuses(bench) == [.waiting, .waiting, .waiting, .suspended])
        bench.manager.totalStart()
        bench.manager.download("https://a.example/e")
        bench.settle()
        #expect(bench.transport.requests.count == 2 && bench.manager.tasks.last?.waitingReason == .context)
        bench.manager.context = nil
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 5)
    }

    @Test(arguments: [false, true]) func aManagerMayBeginShutDown(resumes: Bool) {
        let bench = bench()
        fill(bench)
        bench.manager.shutDown()
        bench.settle()
        #expect(bench.manager.isShutDown)
        let asked = bench.transport.requests.count
        var configuration = bench.manager.configuration
        (configuration.resumesAtLaunch, configuration.isShutDownAtLaunch) = (resumes, true)
        bench.relaunch(configuration: configuration)
        bench.run(for: .seconds(60))
        #expect(bench.manager.isShutDown && bench.transport.requests.count == asked)
        let expected: Status = resumes ? .waiting : .suspended
        #expect(statuses(bench) == [expected, expected, expected, .suspended])
        bench.manager.context = bench.manager.context
        #expect(bench.runToRest() && !bench.manager.isShutDown)
        #expect(bench.manager.succeededTasks.count == (resumes ? 3 : 0))
        #expect(bench.manager.tasks.last?.status == .suspended)
    }

    /// Also of those that a change of the context is still stopping.
    @Test(arguments: [false, true]) func shutDownWaitsForThoseOfAnotherContext(isAnybodyShown: Bool) {
        let (bench, calls) = (bench(), Tally())
        if isAnybodyShown {
            bench.manager.context = "bob"
            bench.manager.download(DownloadRequest("https://a.example/e", startsImmediately: false))
        }
        bench.manager.context = "ann"
        fill(bench)
        bench.manager.context = "bob"
        bench.manager.shutDown { calls.add("\($0.heldSlots) run, \($0.tasks.count) are shown") }
        bench.settle()
        #expect(calls.all == ["0 run, \(isAnybodyShown ? 1 : 0) are shown"] && bench.transport.underway == 0)
    }

    @Test func shutDownOfNobodyAnswers() {
        let (bench, calls) = (bench(), Tally())
        bench.manager.shutDown { _ in calls.add("done") }
        bench.settle()
        bench.manager.invalidate()
        bench.manager.shutDown { _ in calls.add("over") }
        bench.settle()
        #expect(calls.all == ["done", "over"])
    }

    /// To and fro at any moment: in the end all that was started has its file.
    @Test(arguments: 0..<40) func nothingGetsStuck(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bench = bench()
        for context in [nil, "ann", "bob"] {
            bench.manager.multiDownload(
                requests: (0..<4).map {
                    DownloadRequest(
                        "https://a.example/\($0)", fileName: "\(context ?? "")\($0)", list: "x", context: context)
                })
        }
        for _ in 0..<40 {
            switch random.next() % 8 {
            case 0: bench.manager.shutDown()
            case 1: bench.run(for: .milliseconds(500))
            default: bench.manager.context = [nil, "ann", "bob"][Int(random.next() % 3)]
            }
            for _ in 0..<random.next() % 30 { _ = bench.lanes.runNext() }
        }
        for context in [nil, "ann", "bob"] {
            bench.manager.context = context
            #expect(bench.runToRest() && bench.manager.succeededTasks.count == 4)
        }
    }
}
