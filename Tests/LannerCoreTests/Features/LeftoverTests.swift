import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite("T1-03: a cancel that keeps the partial file") struct LeftoverTests {
    private static let keeping: SessionConfiguration = {
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        return configuration
    }()

    /// A bench with a download that holds its first megabyte and was canceled.
    private func canceled() throws -> (bench: TestBench, task: DownloadTask) {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.cancel(task)
        bench.settle()
        return (bench, task)
    }

    private func parts(_ bench: TestBench) -> [String] { bench.files.filter { $0.hasSuffix(".part") } }

    @Test func theNextDownloadGoesOnFromIt() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let calls = Tally()
        let first = try bench.download(.stall(afterBytes: 1 << 20))
        first.failure { calls.add("failure \($0.status.rawValue)") }
        bench.settle()
        bench.manager.cancel(address) { calls.add("handler \($0.status.rawValue)") }
        bench.settle()
        #expect(calls.all == ["failure canceled", "handler canceled"])
        #expect(bench.manager.tasks.isEmpty && bench.manager.fetchTask(address) == nil)
        #expect(bench.manager.status == .canceled && bench.manager.taskCounts.all == 0)
        #expect(parts(bench).count == 1)
        let second = try bench.download()
        #expect(second !== first && second.completedBytes == 1 << 20)
        bench.settle()
        #expect(second.status == .succeeded && bench.holds(large, in: second) == true)
        #expect(bench.ranges == ["whole", "bytes=1048576-"])
        #expect(bench.transport.requests[1].fields["If-Range"] != nil)
        #expect(parts(bench).isEmpty && first.status == .canceled)
    }

    enum Way: CaseIterable {
        case url, key, keys
    }

    @Test(arguments: Way.allCases) func itIsRemovedByItsURLOrKey(by way: Way) throws {
        let (bench, _) = try canceled()
        #expect(parts(bench).count == 1)
        switch way {
        case .url: bench.manager.remove(address)
        case .key: bench.manager.remove(key: address)
        case .keys: bench.manager.remove(keys: [address])
        }
        bench.settle()
        #expect(parts(bench).isEmpty)
        bench.relaunch()
        _ = try bench.download()
        bench.settle()
        #expect(bench.ranges == ["whole", "whole"])
    }

    /// By whoever hears of the cancel first.
    @Test func isThereAsSoonAsTheCancelIsTold() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.logger = LogThatCalls(at: "is canceled") { [weak manager = bench.manager] in
            manager?.download(address)
        }
        bench.manager.cancel(task)
        bench.settle()
        let next = try #require(bench.manager.fetchTask(address))
        #expect(next !== task && bench.holds(large, in: next) == true)
        #expect(bench.ranges == ["whole", "bytes=1048576-"])
        #expect(bench.manager.taskCounts.all == 1 && bench.manager.tasks == [next])
    }

    /// The next download brings its own, and nobody needs the old ones.
    @Test func keepsNoKeys() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        let request = DownloadRequest(address, headers: ["Authorization": "secret"], mirrors: ["https://b.example/key"])
        let task = try #require(bench.manager.download(request))
        bench.settle()
        #expect(bench.records.map { $0.fields["Authorization"] } == ["secret"])
        bench.manager.cancel(task)
        bench.settle()
        #expect(bench.records.map(\.fields) == [[:]] && bench.records.map(\.mirrors) == [[]])
        #expect(try bench.download().completedBytes == 1 << 20)
    }

    /// Each context has one; all are removed of the first, and the second is chosen, while the manager is busy.
    @Test func goWithTheContextThatIsEmptied() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        for context in ["a", "b"] {
            bench.manager.context = context
            let task = try bench.download(.stall(afterBytes: 1 << 20))
            bench.settle()
            bench.manager.cancel(task)
            bench.settle()
        }
        bench.manager.context = "a"
        bench.transport.serve(.init([1]), at: "/other")
        bench.transport.script("/other", .hold)
        let other = try #require(bench.manager.download("https://example.com/other"))
        bench.settle()
        bench.manager.logger = LogThatCalls { [bench] in
            bench.manager.totalRemove()
            bench.manager.context = "b"
        }
        bench.manager.suspend(other)
        bench.settle()
        for (context, range) in [("b", "bytes=1048576-"), ("a", "whole")] {
            bench.manager.context = context
            _ = try bench.download()
            bench.settle()
            #expect(bench.ranges.last == range, "in \(context)")
        }
    }

    /// Though the manager is busy when both are asked for.
    @Test(arguments: [false, true]) func whatIsToGoIsNotTakenOver(removesAll: Bool) throws {
        let (bench, _) = try canceled()
        bench.transport.serve(.init([1]), at: "/other")
        bench.manager.logger = LogThatCalls { [bench] in
            if removesAll { bench.manager.totalRemove() } else { bench.manager.remove(address) }
            bench.manager.download(address)
        }
        bench.manager.download("https://example.com/other")
        bench.settle()
        let next = try #require(bench.manager.fetchTask(address))
        #expect(next.status == .succeeded && bench.ranges.allSatisfy { $0 == "whole" })
        #expect(parts(bench).isEmpty)
    }

    @Test func theDefaultDeletes() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.cancel(task)
        bench.settle()
        #expect(parts(bench).isEmpty && bench.records.isEmpty)
    }

    @Test(arguments: ["relaunch", "reboot", "invalidate"]) func isRememberedFromLaunchToLaunch(how: String) throws {
        let (bench, _) = try canceled()
        switch how {
        case "reboot": bench.reboot()
        case "invalidate":
            bench.manager.invalidate()
            bench.relaunch()
        default: bench.relaunch()
        }
        #expect(bench.manager.tasks.isEmpty && parts(bench).count == 1)
        bench.relaunch()
        let task = try bench.download()
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=1048576-"])
        bench.relaunch()
        #expect(bench.manager.succeededTasks.count == 1 && bench.records.count == 1)
    }

    /// A death at each step of the cancel, of the download that follows, and of what it does then.
    @Test func aDeathAtAnyMomentLosesNothingButTime() throws {
        for steps in 0... {
            let bench = TestBench.serving(large, configuration: Self.keeping)
            let first = try bench.download(.stall(afterBytes: 1 << 20))
            bench.settle()
            bench.manager.cancel(first) { [manager = bench.manager] _ in manager.download(address) }
            let isOver = bench.run(steps: steps)
            bench.relaunch()
            #expect(bench.manager.tasks.count <= 1 && parts(bench).count <= 1)
            let second = try bench.download()
            bench.settle()
            #expect(bench.holds(large, in: second) == true)
            #expect(bench.manager.tasks == [second] && parts(bench).isEmpty)
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    @Test func aChangedFileBeginsAnew() throws {
        let (bench, _) = try canceled()
        let other = Sample.bytes(2 << 20)
        bench.transport.serve(.init(other), at: place)
        let task = try bench.download()
        bench.settle()
        #expect(bench.holds(other, in: task) == true)
    }

    @Test func anotherURLOfTheKeyBeginsAnew() throws {
        let bench = TestBench(configuration: Self.keeping)
        bench.transport.serveElsewhere(.init(large))
        bench.transport.script("/a", .stall(afterBytes: 1 << 20))
        bench.manager.download(DownloadRequest("https://a.example/a", key: "k"))
        bench.settle()
        bench.manager.cancel(key: "k")
        bench.settle()
        let task = try #require(bench.manager.download(DownloadRequest("https://a.example/b", key: "k")))
        bench.settle()
        #expect(task.status == .succeeded && bench.ranges == ["whole", "whole"])
    }

    @Test func holdsForAllFormsOfCancel() {
        for form in 0..<6 {
            let bench = TestBench.serving(large, configuration: Self.keeping)
            bench.transport.script(place, .stall(afterBytes: 1 << 20))
            let task = bench.manager.download(address)
            bench.settle()
            switch form {
            case 0: bench.manager.cancel(address)
            case 1: bench.manager.cancel(task)
            case 2: bench.manager.cancel(key: address)
            case 3: bench.manager.cancel([task].compactMap { $0 })
            case 4: bench.manager.cancel(keys: [address])
            default: bench.manager.totalCancel()
            }
            bench.settle()
            #expect(bench.manager.tasks.isEmpty && parts(bench).count == 1)
        }
    }

    @Test func waitsUnderItsContext() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        bench.manager.context = "ann"
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.totalCancel()
        bench.manager.context = "bob"
        bench.settle()
        #expect(try bench.download(.hold).completedBytes == 0)
        bench.settle()
        bench.manager.context = "ann"
        #expect(try bench.download().completedBytes == 1 << 20)
    }

    @Test func isDeletedByACancelWithoutIt() throws {
        let (bench, _) = try canceled()
        let task = try bench.download(.hold)
        bench.settle()
        bench.manager.configuration.keepsPartialFileOnCancel = false
        bench.manager.cancel(task)
        bench.settle()
        #expect(parts(bench).isEmpty && bench.records.isEmpty)
    }

    @Test func isDeletedByARemovalAndByThatOfAll() throws {
        for isOfAll in [false, true] {
            let (bench, _) = try canceled()
            if isOfAll {
                bench.manager.totalRemove()
            } else {
                bench.manager.remove(try bench.download(.hold))
            }
            bench.settle()
            #expect(parts(bench).isEmpty && bench.records.isEmpty)
            #expect(try bench.download().completedBytes == 0)
        }
    }

    @Test func aDownloadWhileTheCancelIsUnderWayHasNothingOfIt() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let first = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.cancel(first)
        let second = try bench.download()
        bench.settle()
        #expect(first.status == .canceled && second.status == .succeeded)
        #expect(bench.holds(large, in: second) == true)
        #expect(parts(bench).isEmpty && bench.records.count == 1)
    }

    @Test func aStoreThatFailsIsTriedAgain() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.store.fail(.commit, with: .disk(.noSpace))
        let calls = Tally()
        bench.manager.cancel(task) { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all == ["canceled"])
        bench.store.failNothing()
        bench.run(for: .seconds(10))
        bench.relaunch()
        #expect(bench.manager.tasks.isEmpty)
        #expect(try bench.download().completedBytes == 1 << 20)
    }

    @Test func leavesNoFileWhereNothingHadCome() throws {
        let bench = TestBench.serving(large, configuration: Self.keeping)
        let task = try bench.download(.hold)
        bench.settle()
        bench.manager.cancel(task)
        bench.settle()
        #expect(parts(bench).isEmpty && bench.records.isEmpty)
    }
}
