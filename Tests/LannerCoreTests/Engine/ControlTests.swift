import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// What a task is doing when it is asked for something.
enum Moment: CaseIterable {
    case waitingForASlot, waitingForARetry, opening, headless, transferring, verifying, publishing, succeeded, suspended
    case failed, suspending, canceling

    /// A bench with a task of three chunks at this moment.
    func bench() throws -> (TestBench, DownloadTask) {
        let bench = TestBench.serving(large)
        switch self {
        case .waitingForASlot:
            bench.manager.configuration.maxConcurrentTasksLimit = 1
            bench.transport.script("/other", .hold)
            bench.manager.download("https://example.com/other")
        case .waitingForARetry: bench.transport.script(place, .failure(.notConnected))
        case .headless: bench.transport.script(place, .hold)
        case .transferring, .suspended, .suspending, .canceling:
            bench.transport.script(place, .stall(afterBytes: 1 << 20))
        case .failed: bench.transport.script(place, .status(404))
        case .opening, .verifying, .publishing, .succeeded: break
        }
        let task = try bench.download()
        try reach(bench, task)
        return (bench, task)
    }

    private func reach(_ bench: TestBench, _ task: DownloadTask) throws {
        switch self {
        case .opening: break
        case .verifying: try bench.step { bench.machineState(of: task).hasPrefix("verifying") }
        case .publishing: try bench.step { bench.machineState(of: task).hasPrefix("publishing") }
        case .waitingForASlot, .waitingForARetry, .headless, .transferring, .succeeded, .failed: bench.settle()
        case .suspended:
            bench.settle()
            bench.manager.suspend(task)
            bench.settle()
        case .suspending:
            bench.settle()
            bench.manager.suspend(task)
        case .canceling:
            bench.settle()
            bench.manager.cancel(task)
        }
    }

    var mayEndBefore: Bool {
        switch self {
        case .verifying, .publishing, .succeeded: true
        case .waitingForASlot, .waitingForARetry, .opening, .headless, .transferring, .suspended, .failed, .suspending,
            .canceling:
            false
        }
    }
}

@Suite struct ControlTests {
    @Test(arguments: Moment.allCases) func suspends(at moment: Moment) throws {
        let (bench, task) = try moment.bench()
        let calls = Tally()
        bench.manager.suspend(task) { calls.add($0.status.rawValue) }
        #expect(calls.all.isEmpty, "never inside the call")
        bench.settle()
        let expected: Status =
            switch moment {
            case .publishing, .succeeded: .succeeded
            case .failed: .failed
            case .canceling: .canceled
            case .waitingForASlot, .waitingForARetry, .opening, .headless, .transferring, .verifying, .suspended,
                .suspending:
                .suspended
            }
        #expect(task.status == expected)
        #expect(calls.all == [expected.rawValue])
        guard moment != .canceling else { return }
        bench.transport.release()
        bench.manager.start(task)
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
        #expect(calls.all.count == 1)
    }

    @Test(arguments: Moment.allCases) func cancels(at moment: Moment) throws {
        let (bench, task) = try moment.bench()
        let calls = Tally()
        bench.manager.cancel(task) { calls.add($0.status.rawValue) }
        bench.settle()
        let expected: Status = moment == .succeeded ? .succeeded : .canceled
        #expect(task.status == expected)
        #expect(calls.all == [expected.rawValue])
        #expect((bench.manager.fetchTask(address) == nil) == (moment != .succeeded))
        bench.manager.totalCancel()
        bench.settle()
        #expect(bench.files == (moment == .succeeded ? [task.filePath] : []))
        #expect(bench.transport.underway == 0)
    }

    @Test(arguments: Moment.allCases, [true, false]) func removes(at moment: Moment, completely: Bool) throws {
        let (bench, task) = try moment.bench()
        let calls = Tally()
        bench.manager.remove(task, completely: completely) { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(task.status == .removed)
        #expect(calls.all == ["removed"])
        bench.manager.totalCancel()
        bench.settle()
        let isKept = !completely && (moment == .succeeded || moment == .publishing)
        #expect(bench.files == (isKept ? [task.filePath] : []))
        #expect(bench.manager.fetchTask(address) == nil)
        #expect(bench.records.allSatisfy { $0.url != address })
    }

    @Test(arguments: Moment.allCases) func starts(at moment: Moment) throws {
        let (bench, task) = try moment.bench()
        let calls = Tally()
        bench.manager.start(task) { _ in calls.add("started") }
        bench.settle()
        #expect(calls.all == ["started"])
        bench.manager.fetchTask("https://example.com/other").map { bench.manager.cancel($0) }
        bench.transport.release()
        bench.runToRest()
        #expect(task.status == (moment == .canceling ? .canceled : .succeeded))
    }

    @Test(arguments: Moment.allCases) func answersEveryHandlerOnce(at moment: Moment) throws {
        let (bench, task) = try moment.bench()
        let calls = Tally()
        bench.manager.suspend(task) { _ in calls.add("suspend") }
        bench.manager.start(task) { _ in calls.add("start") }
        bench.manager.suspend(task) { _ in calls.add("suspend again") }
        bench.manager.cancel(task) { _ in calls.add("cancel") }
        bench.manager.remove(task) { _ in calls.add("remove") }
        bench.settle()
        #expect(calls.all.sorted() == ["cancel", "remove", "start", "suspend", "suspend again"])
    }

    @Test func downloadsAgainWhileCanceling() throws {
        let (bench, old) = try Moment.transferring.bench()
        bench.manager.cancel(old)
        let new = try bench.download()
        #expect(new !== old)
        bench.runToRest()
        #expect(old.status == .canceled)
        #expect(new.status == .succeeded)
        #expect(bench.holds(large, in: new) == true)
        #expect(bench.manager.fetchTask(address) === new)
        #expect(bench.manager.tasks == [new])
    }

    @Test func keepsTheNewFileWhenTheOldTaskIsRemovedCompletely() throws {
        let (bench, old) = try Moment.succeeded.bench()
        bench.manager.remove(old, completely: true)
        let new = try bench.download()
        bench.runToRest()
        #expect(new.status == .succeeded)
        #expect(bench.holds(large, in: new) == true)
    }

    @Test func keepsTheNewFileWhenTheOldTaskTakesLongToBeRemoved() throws {
        for seed in 0..<256 {
            let bench = TestBench.serving([1, 2, 3])
            let old = try bench.download(.hold)
            bench.settle()
            bench.manager.remove(old, completely: true)
            let new = try bench.download()
            var random = SeededGenerator(seed: UInt64(seed))
            while bench.lanes.runAny(using: &random) {}
            #expect(new.status == .succeeded)
            #expect(bench.contents(of: new) == [1, 2, 3], "in the order of \(seed)")
        }
    }

    @Test func findsTheTaskOfAURLTwice() throws {
        let (bench, task) = try Moment.transferring.bench()
        #expect(bench.manager.download(address) === task)
        #expect(bench.manager.tasks.count == 1)
        bench.transport.release()
        bench.settle()
        #expect(bench.manager.download(address) === task)
        bench.settle()
        #expect(bench.transport.requests.count == 1, "the file is there")
    }

    @Test func downloadsAgainWhenTheFileIsGone() throws {
        let (bench, task) = try Moment.succeeded.bench()
        try bench.disk.remove(task.filePath)
        bench.manager.download(address)
        #expect(task.status == .running)
        #expect(task.endDate == 0)
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
    }
}
