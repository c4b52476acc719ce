import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Finished files that go with their tasks.
@Suite(.timeLimit(.minutes(10))) struct RemovalTests {
    private let bytes = Sample.bytes(1000)

    /// A task with its file, its record being on the disk as well.
    private func finished() throws -> (TestBench, DownloadTask) {
        let bench = TestBench.serving(bytes)
        bench.relaunch(store: store(bench))
        let task = try bench.download()
        bench.settle()
        try #require(bench.contents(of: task) == bytes)
        return (bench, task)
    }

    private func store(_ bench: TestBench) -> any Store {
        FileStore(directory: "/downloads", disk: bench.disk, lanes: bench.lanes)
    }

    private func relaunch(_ bench: TestBench, rebooting seed: UInt64? = nil) {
        if let seed { bench.reboot(seed: seed, store: store(bench)) } else { bench.relaunch(store: store(bench)) }
        bench.settle()
    }

    /// What the store has under keys of its own for files that are to go.
    private func removals(_ bench: TestBench) throws -> [String] {
        bench.manager.invalidate()
        let store = store(bench)
        defer { store.close() }
        return try store.load().values.keys.filter { Removal.id(ofKey: $0) != nil }
    }

    @Test(arguments: [nil, 1, 2, 3] as [UInt64?])
    func aDeathLeavesNoFileWithoutItsTask(_ seed: UInt64?) throws {
        var outcomes: Set<Bool> = []
        for operations in 0..<16 {
            let (bench, task) = try finished()
            bench.disk.operationsLeft = operations
            bench.manager.remove(task, completely: true)
            bench.settle()
            relaunch(bench, rebooting: seed)
            let isKnown = bench.manager.fetchTask(address) != nil
            outcomes.insert(isKnown)
            #expect((bench.disk.contents(of: task.filePath) != nil) == isKnown, "after \(operations) operations")
            // What the device has forgotten must not come back, either.
            relaunch(bench, rebooting: 9)
            #expect((bench.disk.contents(of: task.filePath) != nil) == isKnown, "\(operations), later")
            #expect(try removals(bench).isEmpty)
        }
        #expect(outcomes.count == 2, "some of these are before it is on record, and some behind")
    }

    @Test func whatHasComeInItsPlaceSinceStays() throws {
        let others = bytes.reversed() as [UInt8]
        for operations in 0..<16 {
            let (bench, task) = try finished()
            bench.disk.operationsLeft = operations
            bench.manager.remove(task, completely: true)
            bench.settle()
            bench.relaunch(store: store(bench)) { bench.disk.put(others, at: task.filePath) }
            bench.settle()
            #expect(bench.disk.contents(of: task.filePath) == others, "after \(operations) operations")
            #expect(try removals(bench).isEmpty)
        }
    }

    /// As its user may set its rights, or mark it as one that needs no backup.
    @Test func aFileWhoseAttributesWereSetGoesWithItsTask() throws {
        let (bench, task) = try finished()
        let path = task.filePath
        try bench.disk.rename(path, to: path + ".x")
        try bench.disk.rename(path + ".x", to: path)
        bench.disk.fail(.remove, with: .inputOutput, path: path)
        bench.manager.remove(task, completely: true)
        bench.settle()
        try #require(bench.disk.contents(of: path) == bytes)
        relaunch(bench)
        #expect(bench.disk.contents(of: path) == nil)
        #expect(try removals(bench).isEmpty)
    }

    @Test(arguments: [(false, false), (true, false), (true, true)])
    func whatTheStoreCannotForgetIsTold(isCanceled: Bool, keepsBytes: Bool) throws {
        let bench = TestBench.serving(bytes)
        bench.manager.configuration.keepsPartialFileOnCancel = keepsBytes
        let task = try bench.download(isCanceled ? .stall(afterBytes: 10) : .pass)
        bench.settle()
        bench.store.fail(.commit, times: 100)
        let told = Tally()
        let tell: DownloadTask.MainActorHandler = { told.add("\($0.status.rawValue): \($0.error is LannerError)") }
        if isCanceled {
            bench.manager.cancel(task, handler: tell)
        } else {
            bench.manager.remove(task, completely: true, handler: tell)
        }
        bench.settle()
        #expect(told.all == [isCanceled ? "canceled: true" : "removed: true"])
        guard case .storeError? = task.error as? LannerError else {
            return #expect(Bool(false), "the store failed, not \(String(describing: task.error))")
        }
        bench.store.failNothing()
        bench.run(for: .seconds(120))
        #expect(bench.relaunch().allTasks.isEmpty, "it is tried again")
    }

    @Test func whatATaskHasFailedWithIsNoMatterWhenItIsGone() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.status(404))
        bench.settle()
        #expect(task.status == .failed && task.error != nil)
        bench.manager.remove(task)
        bench.settle()
        #expect(task.status == .removed && task.error == nil)
    }

    @Test func aRefusalIsToldAndTheNextLaunchTriesAgain() throws {
        let (bench, task) = try finished()
        let calls = Tally()
        bench.disk.fail(.remove, with: .inputOutput, path: task.filePath)
        bench.manager.remove(task, completely: true) { calls.add("\($0.status) \($0.reason == .disk(.inputOutput))") }
        bench.settle()
        #expect(calls.all == ["removed true"])
        #expect(bench.manager.tasks.isEmpty && bench.contents(of: task) == bytes)
        relaunch(bench)
        #expect(bench.contents(of: task) == nil && bench.manager.tasks.isEmpty)
        #expect(try removals(bench).isEmpty)
    }

    @Test func theEndOfTheManagerLeavesNoFile() throws {
        let (bench, task) = try finished()
        bench.manager.remove(task, completely: true)
        bench.manager.invalidate()
        bench.settle()
        #expect(bench.contents(of: task) == nil)
        relaunch(bench, rebooting: 1)
        #expect(bench.contents(of: task) == nil && bench.manager.tasks.isEmpty)
        #expect(try removals(bench).isEmpty)
    }

    /// More is asked for when the record of the task is on its way out already.
    @Test func aFileThatIsToGoLaterIsOnRecordAsWell() throws {
        let (bench, task) = try finished()
        bench.disk.fail(.remove, with: .inputOutput, path: task.filePath)
        bench.manager.remove(task)
        bench.manager.remove(task, completely: true)
        bench.settle()
        #expect(task.status == .removed && task.reason == .disk(.inputOutput) && bench.contents(of: task) == bytes)
        relaunch(bench)
        #expect(bench.contents(of: task) == nil && bench.manager.tasks.isEmpty)
        #expect(try removals(bench).isEmpty)
    }

    /// The success is not on record yet when the task is to go and the manager ends.
    @Test func whatTheEndCannotRemoveTheNextLaunchDoes() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download()
        try bench.step { bench.records.first?.saved.status == .publishing }
        bench.store.hold()
        bench.settle()
        #expect(task.status == .running && bench.contents(of: task) == bytes)
        bench.manager.remove(task, completely: true)
        bench.disk.fail(.remove, with: .inputOutput, path: task.filePath)
        bench.manager.invalidate()
        bench.settle()
        #expect(bench.contents(of: task) == bytes)
        bench.relaunch()
        bench.settle()
        #expect(bench.manager.tasks.isEmpty && bench.contents(of: task) == nil)
    }

    /// The directory of many is not synced for each.
    @Test func manyGoTogether() throws {
        let bench = TestBench()
        let count = 40
        for number in 0..<count { bench.transport.serve(.init(bytes), at: "/\(number)") }
        for number in 0..<count { _ = try #require(bench.manager.download("https://example.com/\(number)")) }
        bench.settle()
        try #require(bench.manager.succeededTasks.count == count)
        let syncs = bench.disk.counters[.syncDirectory]
        bench.manager.totalRemove(completely: true)
        bench.settle()
        #expect(bench.manager.tasks.isEmpty && bench.files.isEmpty && bench.contents.keys.sorted() == ["identity"])
        #expect(bench.disk.counters[.syncDirectory] - syncs <= 2)
    }
}
