import Dispatch
import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ProgressTests {
    /// Sums of sizes come and go with the tasks. Foundation's own on Linux does not survive all of it.
    @Test func mayChangeItsSizeAsOftenAsItLikes() {
        let progress = Progress(totalUnitCount: 0)
        let sizes: [Int64?] = [120_000, nil, 0, 40_000, 0, 30_001, 7, 0, nil, 1 << 40, 99_999_999_977, 1 << 62, .max]
        for first in sizes {
            for second in sizes {
                for size in [first, second] {
                    progress.set(completed: size.map { $0 / 2 } ?? 10, total: size)
                    #expect(progress.totalUnitCount == size ?? -1)
                    #expect(progress.completedUnitCount == size.map { $0 / 2 } ?? 10)
                }
            }
        }
        progress.set(completed: 5, total: 10)
        #expect(progress.fractionCompleted == 0.5)
    }

    /// What a parent is told it keeps, also that a part was done ninety-nine times over for a moment.
    @Test func isNeverMoreThanFinished() {
        let (parent, child) = (Progress(totalUnitCount: 100), Progress(totalUnitCount: -1))
        parent.addChild(child, withPendingUnitCount: 50)
        child.set(completed: 100, total: 101)
        child.set(completed: 0, total: 1)
        #expect(parent.fractionCompleted == 0 && parent.completedUnitCount == 0)
        child.set(completed: 1, total: 2)
        #expect(parent.fractionCompleted == 0.25)
    }

    @Test func ofAnEmptyFileIsFinished() throws {
        let bench = TestBench.serving([])
        let task = try bench.download()
        let progress = task.progress
        #expect(!progress.isFinished)
        #expect(bench.runToRest())
        #expect(progress.isFinished && progress.fractionCompleted == 1)
        bench.relaunch()
        #expect(bench.manager.fetchTask(address)?.progress.isFinished == true)
    }

    /// What is current when an object is made would wait for that one.
    @Test func isNoPartOfTheCallersOwn() throws {
        var bench: TestBench?
        #expect(isFinished(by: { bench = TestBench() }))
        let task = try #require(try bench?.download())
        #expect(isFinished(by: { _ = task.progress }))
        #expect(task.progress === task.progress)
    }

    private func isFinished(by work: () -> Void) -> Bool {
        let progress = Progress.discreteProgress(totalUnitCount: 10)
        progress.becomeCurrent(withPendingUnitCount: 10)
        work()
        progress.resignCurrent()
        return progress.isFinished
    }

    /// The first to ask may come while the task moves on.
    @Test func isUpToDateWhoeverAsksFirst() throws {
        for _ in 0..<500 {
            let bench = TestBench.serving([UInt8](repeating: 1, count: 1000))
            let task = try bench.download()
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == 0 { bench.settle() } else { _ = task.progress }
            }
            #expect(task.progress.completedUnitCount == 1000 && task.progress.totalUnitCount == 1000)
        }
    }

    /// The closures of a task and of the manager, of a download that runs and has brought a megabyte.
    private func followed() throws -> (bench: TestBench, task: DownloadTask, ofTask: Tally, ofAll: Tally) {
        let (bench, ofTask, ofAll) = (TestBench.serving(large), Tally(), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        task.progress { ofTask.add("\($0.status.rawValue) \($0.speed > 0)") }
        bench.manager.progress { ofAll.add("\($0.speed > 0)") }
        bench.run(for: .milliseconds(500))
        #expect(ofTask.all.last == "running true" && ofAll.all.last == "true")
        return (bench, task, ofTask, ofAll)
    }

    /// Else its speed would be shown for as long as it waits.
    @Test func isToldWhenATaskBeginsToWait() throws {
        let (bench, task, ofTask, ofAll) = try followed()
        bench.transport.fail(with: .connectionLost)
        bench.settle()
        #expect(task.status == .waiting)
        #expect(ofTask.all.last == "waiting false" && ofAll.all.last == "false")
    }

    /// And with what it has, which is known when its last bytes are written.
    @Test(arguments: [Status.suspended, .failed]) func isToldWhenATaskStops(as end: Status) throws {
        let bench = TestBench.serving(large)
        bench.manager.configuration.retryPolicy.maximumRetries = 0
        let (ofTask, ofAll) = (Tally(), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        task.progress { ofTask.add("\($0.status.rawValue) \($0.completedBytes) \($0.speed)") }
        task.failure { _ in ofTask.add("failure") }
        bench.manager.progress { ofAll.add("\($0.progress.completedUnitCount) \($0.speed)") }
        bench.settle()
        if end == .failed { bench.transport.fail(with: .connectionLost) } else { bench.manager.totalSuspend() }
        bench.settle()
        #expect(task.status == end && task.completedBytes > 0)
        #expect(ofTask.all.suffix(2) == ["\(end.rawValue) \(task.completedBytes) 0", "failure"])
        #expect(ofAll.all.last == "\(task.completedBytes) 0")
    }

    @Test func ofAllIsToldUntilTheSpeedHasFallen() throws {
        let (bench, task, ofTask, ofAll) = try followed()
        bench.run(for: .seconds(10))
        #expect(task.status == .running)
        #expect(ofTask.all.last == "running false" && ofAll.all.last == "false")
    }
}
