import Foundation
import Testing

@testable import LannerCore
@testable import LannerTesting

@Suite("R-09: progress at most so often") struct ProgressIntervalTests {
    /// A bench on which bytes come only when they are let go.
    private func bench(_ interval: Duration, _ size: Int64 = 100_000) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.progressInterval = interval
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(size)))
        bench.transport.holdsAll = true
        return bench
    }

    private func start(_ bench: TestBench) throws -> DownloadTask {
        let task = try #require(bench.manager.download("https://a.example/1"))
        bench.settle()
        bench.transport.underwayExchanges[0].release(0)
        bench.settle()
        return task
    }

    /// Lets bytes go four times a second.
    private func flow(_ bench: TestBench, seconds: Int) {
        for _ in 0..<seconds * 4 {
            bench.transport.underwayExchanges.first?.release(100)
            bench.run(for: .milliseconds(250))
        }
    }

    @Test func zeroIsTheDefaultAndTellsEachTime() throws {
        #expect(SessionConfiguration().progressInterval == .zero)
        let (bench, calls) = (bench(.zero), Tally())
        let task = try start(bench)
        task.progress { _ in calls.add("") }
        flow(bench, seconds: 10)
        #expect((38...41).contains(calls.all.count))
    }

    @Test func thereIsNoSpeedOnceTheManagerHasEnded() throws {
        let bench = bench(.zero)
        let task = try start(bench)
        flow(bench, seconds: 3)
        #expect(task.speed > 0 && bench.manager.speed > 0)
        bench.manager.invalidate()
        #expect(task.speed == 0 && bench.manager.speed == 0)
    }

    /// It may wait for hours.
    @Test func whatItHasWhenItBeginsToWaitIsTold() throws {
        let bench = bench(.seconds(60))
        let task = try start(bench)
        let told = Locked<Int64>(0)
        let token = task.observe { event in
            if case .progress(let completed, _) = event { told.withLock { $0 = completed } }
        }
        flow(bench, seconds: 3)
        #expect(told.withLock { $0 } < task.completedBytes)
        bench.manager.context = "other"
        bench.settle()
        #expect(task.status == .waiting && task.completedBytes > 0)
        #expect(told.withLock { $0 } == task.completedBytes)
        withExtendedLifetime(token) {}
    }

    /// As when all of it was wrong, and the server lets nobody know when it begins again.
    @Test func thatItHasLessIsTold() throws {
        var configuration = SessionConfiguration()
        configuration.progressInterval = .seconds(3600)
        configuration.retryPolicy.maximumChecksumRetries = 1
        let bench = TestBench(configuration: configuration)
        bench.transport.serve(.init(Sample.bytes(100_000)), at: "/1")
        bench.transport.script("/1", .pass, .hold)
        let wrong = try digest(of: [1])
        let task = try #require(bench.manager.download("https://a.example/1", checksum: wrong))
        let told = Locked<[Int64]>([])
        let token = task.observe { event in
            if case .progress(let completed, _) = event { told.withLock { $0.append(completed) } }
        }
        bench.run(for: .seconds(5))
        #expect(task.status == .running && task.completedBytes == 0)
        let all = told.withLock { $0 }
        #expect(all.contains(100_000) && all.last == 0, "\(all)")
        withExtendedLifetime(token) {}
    }

    /// A queue that does not run holds up no closure that is on another.
    @Test func aPendingCallHoldsUpNoOtherClosure() throws {
        let bench = bench(.zero)
        let task = try start(bench)
        let (ofTask, ofAll) = (
            task.state.withLock { $0.pending.beginProgress() },
            bench.manager.state.withLock { $0.pending.beginProgress() }
        )
        let calls = Tally()
        task.progress { _ in calls.add("task") }
        bench.manager.progress { _ in calls.add("all") }
        flow(bench, seconds: 1)
        #expect(calls.all.count { $0 == "task" } >= 3 && calls.all.count { $0 == "all" } >= 3)
        // The end of the old call is none of the new one.
        let isPending = task.state.withLock { state in
            let number = state.pending.beginProgress()
            state.pending.endProgress(ofTask)
            defer { state.pending.endProgress(number) }
            return state.pending.isProgress && ofTask == ofAll
        }
        #expect(isPending && !task.state.withLock { $0.pending.isProgress })
    }

    /// Of one that has stalled only that its speed falls.
    @Test func aSilentServerIsNoProgress() throws {
        let (bench, calls, posted) = (bench(.zero), Tally(), Tally())
        let task = try start(bench)
        task.progress { calls.add("\($0.speed)") }
        let posts = NotificationCenter.default.addObserver(
            forName: DownloadTask.progressNotification, object: nil, queue: nil
        ) { if $0.downloadTask === task { posted.add("") } }
        defer { NotificationCenter.default.removeObserver(posts) }
        flow(bench, seconds: 5)
        bench.run(for: .seconds(5))
        #expect(calls.all.last == "0" && task.speed == 0)
        let counts = (calls.all.count, posted.all.count)
        bench.run(for: .seconds(30))
        #expect(task.status == .running && (calls.all.count, posted.all.count) == counts)
        flow(bench, seconds: 1)
        #expect(calls.all.count >= counts.0 + 3 && posted.all.count >= counts.1 + 3)
    }

    @Test func holdsForAllWhoAreTold() throws {
        let bench = bench(.seconds(1))
        let names = ["task", "event", "manager", "whole", "group", "posted"]
        let calls = Dictionary(uniqueKeysWithValues: names.map { ($0, Tally()) })
        let task = try start(bench)
        let manager = bench.manager
        task.progress { _ in calls["task"]?.add("") }
        manager.progress { _ in calls["manager"]?.add("") }
        let tokens = [
            task.observe { if $0.isProgress { calls["event"]?.add("") } },
            manager.observe { if case .progress = $0 { calls["whole"]?.add("") } },
            [task].group.observe { _ in calls["group"]?.add("") },
        ]
        let posts = NotificationCenter.default.addObserver(
            forName: DownloadTask.progressNotification, object: nil, queue: nil
        ) { if $0.downloadTask === task { calls["posted"]?.add("") } }
        defer { NotificationCenter.default.removeObserver(posts) }
        flow(bench, seconds: 20)
        for name in names { #expect((18...22).contains(calls[name]?.all.count ?? 0), "\(name)") }
        #expect(task.completedBytes == 8000 || task.completedBytes == 7900, "what is asked for is not held back")
        withExtendedLifetime(tokens) {}
    }

    @Test func theLastByteIsToldBeforeTheEnd() throws {
        for end in ["succeeded", "suspended"] {
            let (bench, calls) = (bench(.seconds(3600), 1000), Tally())
            let task = try start(bench)
            let token = task.observe { calls.add($0.text) }
            task.progress { calls.add("closure \($0.completedBytes)") }
            bench.manager.progress { calls.add("manager \($0.progress.completedUnitCount)") }
            for _ in 0..<5 {
                bench.transport.underwayExchanges[0].release(100)
                bench.run(for: .milliseconds(250))
            }
            #expect(
                calls.all.filter { $0.contains("/") } == ["0/1000"] || calls.all.filter { $0.contains("/") }.isEmpty)
            if end == "suspended" { bench.manager.suspend(task) } else { bench.transport.release() }
            bench.settle()
            let last = end == "suspended" ? "500/1000" : "1000/1000"
            #expect(calls.all.last { !$0.hasPrefix("closure") && !$0.hasPrefix("manager") } == end)
            let index = try #require(calls.all.firstIndex(of: last))
            #expect(try index < #require(calls.all.firstIndex(of: end)))
            #expect(calls.all.contains { $0.hasPrefix("closure") } && calls.all.contains { $0.hasPrefix("manager") })
            withExtendedLifetime(token) {}
        }
    }

    /// Nothing comes any more, and nothing else happens: what was withheld is told all the same.
    @Test func whatWasWithheldIsToldWhenNothingComesAnyMore() throws {
        let (bench, task, group, whole) = (bench(.seconds(2)), Tally(), Tally(), Tally())
        let download = try start(bench)
        let tokens = [
            download.observe { if case .progress(let completed, _) = $0 { task.add("\(completed)") } },
            [download].group.observe { group.add("\($0.completedBytes)") },
        ]
        bench.manager.progress { whole.add("\($0.progress.completedUnitCount)") }
        flow(bench, seconds: 1)
        bench.run(for: .seconds(5))
        for calls in [task, group, whole] { #expect(calls.all.last == "400") }
        #expect(whole.all.count <= 3)
        withExtendedLifetime(tokens) {}
    }

    @Test func aGroupThatIsAskedHoldsNothingBack() throws {
        let (bench, calls) = (bench(.seconds(3600)), Tally())
        let task = try start(bench)
        let group = [task].group
        let token = group.observe { _ in calls.add("") }
        flow(bench, seconds: 5)
        #expect(task.completedBytes >= 1900 && group.progress.completedBytes == task.completedBytes)
        #expect(calls.all.count <= 2)
        withExtendedLifetime(token) {}
    }

    @Test func aChangeAppliesAtOnce() throws {
        let (bench, calls) = (bench(.seconds(3600)), Tally())
        let task = try start(bench)
        task.progress { _ in calls.add("") }
        flow(bench, seconds: 5)
        let count = calls.all.count
        bench.manager.configuration.progressInterval = .zero
        flow(bench, seconds: 5)
        #expect(count <= 1 && calls.all.count >= count + 18)
    }

    @Test func theEndOfTheManagerLeavesNoTimerBehind() throws {
        let (bench, calls) = (bench(.seconds(10)), Tally())
        _ = try start(bench)
        bench.manager.progress { _ in calls.add("") }
        flow(bench, seconds: 2)
        bench.manager.invalidate()
        bench.settle()
        let count = calls.all.count
        bench.run(for: .seconds(30))
        #expect(calls.all.count == count)
        #expect(bench.clock.scheduledCount == 0)
    }
}

@Suite("R-09: the pace of progress") struct ProgressPaceTests {
    @Test func oneWakeIsAskedForAtATime() {
        var pace = ProgressPace()
        let times: [(Double, isLast: Bool)] = [(1, false), (1.2, false), (1.4, false), (1.6, true), (1.8, false)]
        let verdicts = times.map { pace.note(at: .seconds($0.0), every: .seconds(1), isLast: $0.isLast) }
        #expect(
            verdicts == [.tell, .withhold(wake: .seconds(2)), .withhold(wake: nil), .tell, .withhold(wake: nil)])
        let wakes = [2, 2.6, 3].map { pace.wake(at: .seconds($0), every: .seconds(1)) }
        #expect(wakes == [.withhold(wake: .seconds(1.6) + .seconds(1)), .tell, nil])
        let isWithheld = pace.takeWithheld(at: .seconds(3))
        #expect(!isWithheld)
    }
}
