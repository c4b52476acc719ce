import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A transport that hands over a file, and goes on by resume data of its own.
@Suite(.timeLimit(.minutes(10))) struct ResumeDataTests {
    private static let traits = TransportTraits(delivery: .file, hasResumeData: true)

    private func bench(_ bytes: [UInt8] = large) -> TestBench {
        TestBench.serving(bytes, traits: Self.traits)
    }

    /// A task that was suspended after the first of its three chunks.
    private func suspended() throws -> (TestBench, DownloadTask) {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        return (bench, task)
    }

    /// Whether each request so far brought resume data.
    private func resumed(_ bench: TestBench) -> [Bool] {
        bench.transport.requests.map { $0.resumeData != nil }
    }

    /// What was told of the bytes while a task that was suspended ran to its end.
    private func restarts(_ bench: TestBench, _ task: DownloadTask) async -> [String] {
        let events = EventLog(task)
        _ = await events.next(1)
        bench.manager.start(task)
        #expect(bench.runToRest())
        let seen = await events.untilRest()
        #expect(task.status == .succeeded, "\(String(describing: task.error))")
        return seen.filter { $0.hasPrefix("restarted") }
    }

    @Test(arguments: [0, 1, 3_000_000] as [Int64]) func publishesWhatIsHandedOver(size: Int64) throws {
        let bench = bench(Sample.bytes(size))
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(Sample.bytes(size), in: task) == true)
        #expect(bench.files == [task.filePath])
        #expect(task.completedBytes == size && task.totalBytes == size)
    }

    /// Whether it ends while the transfer runs, or at any step of its being suspended.
    @Test(arguments: 0..<12) func isKeptAtTheEndOfTheManager(steps: Int) throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: (1 << 20) + 1000))
        bench.settle()
        if steps > 0 { bench.manager.suspend(task) }
        _ = bench.run(steps: max(0, steps - 1))
        bench.manager.invalidate()
        bench.relaunch()
        let restored = try #require(bench.manager.fetchTask(address))
        #expect(restored.status == .suspended && restored.completedBytes == (1 << 20) + 1000)
        bench.manager.start(restored)
        #expect(bench.runToRest())
        #expect(restored.status == .succeeded && bench.holds(large, in: restored) == true)
        #expect(resumed(bench) == [false, true])
    }

    @Test func showsProgressOnTheWay() async throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let events = EventLog(task)
        bench.run(for: .seconds(1))
        #expect(task.completedBytes == 1 << 20 && task.totalBytes == 3 << 20)
        // However slowly bytes come: they come.
        for _ in 0..<20 {
            bench.transport.release(bytes: 1000)
            bench.run(for: .seconds(30))
        }
        #expect(task.completedBytes == 1 << 20 + 20_000)
        bench.transport.release()
        bench.settle()
        #expect(await events.untilRest().filter { $0.hasPrefix("re") } == ["response: 200"])
        #expect(bench.transport.requests.count == 1)
    }

    @Test func endsAnExchangeThatIsSilent() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(59))
        #expect(task.status == .running)
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(resumed(bench) == [false, true])
    }

    @Test func goesOnAfterASuspension() async throws {
        let (bench, task) = try suspended()
        #expect(task.completedBytes == 1 << 20)
        let data = try #require(bench.records.first?.saved.resumeData)
        #expect(data.held == 1 << 20)
        #expect(await restarts(bench, task) == [])
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == [false, true])
        #expect(bench.transport.requests.last?.resumeData == Data(data.bytes))
        #expect(bench.transport.requests.last?.fields["Range"] == nil)
        #expect(bench.records.first?.saved.resumeData == nil, "it is used up")
    }

    @Test(arguments: [false, true]) func waitsForRoom(whenResumed: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.waitsForDiskSpace = true
        let bench = TestBench.serving(large, configuration: configuration, traits: Self.traits)
        let full = ScriptedTransport.Step.failure(.diskFull)
        let task = try whenResumed ? bench.download(.cut(afterBytes: 2 << 20), full) : bench.download(full)
        bench.runToRest(within: .seconds(5))
        #expect(task.status == .waiting)
        bench.runToRest()
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == (whenResumed ? [false, true, true] : [false, false]))
    }

    @Test func goesOnAgainAndAgain() throws {
        let bench = bench()
        let task = try bench.download()
        var last: Int64 = 0
        for _ in 0..<5 {
            bench.transport.script(place, .stall(afterBytes: 300_000))
            bench.manager.suspend(task)
            bench.settle()
            #expect(task.completedBytes >= last)
            last = task.completedBytes
            bench.manager.start(task)
            bench.settle()
        }
        bench.transport.release()
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
    }

    @Test func goesOnAfterAFailure() async throws {
        let bench = bench()
        let task = try bench.download(.cut(afterBytes: 2 << 20))
        let events = EventLog(task)
        bench.settle()
        #expect(task.completedBytes == 2 << 20)
        #expect(bench.records.first?.saved.resumeData?.held == 2 << 20)
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == [false, true])
        #expect(!(await events.untilRest()).contains { $0.hasPrefix("restarted") })
    }

    @Test func saysWhatIsLostWithoutThem() async throws {
        let bench = bench()
        bench.transport.leavesResumeData = false
        let task = try bench.download(.cut(afterBytes: 2 << 20))
        let events = EventLog(task)
        bench.settle()
        #expect(task.completedBytes == 0)
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == [false, false])
        #expect((await events.untilRest()).filter { $0.hasPrefix("restarted") } == ["restarted: cannotResume"])
    }

    @Test func goesOnAfterARelaunch() async throws {
        let (bench, _) = try suspended()
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(address))
        #expect(task.completedBytes == 1 << 20 && task.totalBytes == 3 << 20)
        #expect(await restarts(bench, task) == [])
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == [false, true])
    }

    @Test func beginsAgainOnceWithDataThatAreNone() async throws {
        let (bench, _) = try suspended()
        var record = try #require(bench.records.first)
        record.saved.resumeData?.bytes = [1, 2, 3]
        bench.relaunch(store: MemoryStore([record.storeKey: record.encoded], lanes: bench.lanes))
        let task = try #require(bench.manager.fetchTask(address))
        #expect(await restarts(bench, task) == ["restarted: cannotResume"])
        #expect(bench.holds(large, in: task) == true)
        #expect(resumed(bench) == [false, true, false])
    }

    @Test(arguments: [
        (ScriptedTransport.Step.ignoreRange, "rangesNotServed", 2), (.changeTo(.init(large)), "", 2),
        (.changeTo(.init(Sample.bytes(2_000_000))), "contentChanged", 2), (.status(412), "contentChanged", 3),
        (.status(416), "contentChanged", 3), (.status(403), "cannotResume", 3), (.status(404), "cannotResume", 3),
        (.redirect(to: "/elsewhere"), "cannotResume", 3), (.contentRange(nil), "unusableAnswer", 3),
        (.contentRange("bytes 0-9/10"), "unusableAnswer", 3), (.contentRange("bytes 0-9/*"), "unusableAnswer", 3),
        (.multipart, "unusableAnswer", 3), (.failure(.other), "cannotResume", 3),
        (.failure(.unacceptableRequest), "cannotResume", 3), (.failure(.unavailable), "cannotResume", 3),
    ])
    func beginsAgainOnceWhenTheyAreRefused(step: ScriptedTransport.Step, reason: String, count: Int) async throws {
        let (bench, task) = try suspended()
        bench.transport.script(place, step)
        #expect(await restarts(bench, task) == (reason.isEmpty ? [] : ["restarted: \(reason)"]))
        #expect(bench.transport.requests.count == count)
        #expect(resumed(bench).prefix(3) == [false, true, false].prefix(count))
        let isOther = reason == "contentChanged" && count == 2
        #expect(bench.holds(isOther ? Sample.bytes(2_000_000) : large, in: task) == true)
        #expect(bench.files == [task.filePath])
    }

    @Test(arguments: [
        ScriptedTransport.Step.failure(.connectionLost), .failure(.notConnected), .failure(.timedOut), .status(503),
        .status(429),
    ])
    func keepsThemWhenTheyAreNotToBlame(step: ScriptedTransport.Step) async throws {
        let (bench, task) = try suspended()
        bench.transport.script(place, step)
        #expect(await restarts(bench, task) == [])
        #expect(resumed(bench) == [false, true, true])
        #expect(bench.holds(large, in: task) == true)
    }

    /// The server sends another part than the transport asks for, and the transport does not notice.
    @Test func beginsAgainWhenTheFileTurnsOutTooShort() async throws {
        let (bench, task) = try suspended()
        bench.transport.script(place, .wrongRange(offset: 68))
        #expect(await restarts(bench, task) == ["restarted: cannotResume"])
        #expect(bench.holds(large, in: task) == true)
    }

    /// The same when the manager ends at any step meanwhile: the bytes of that answer are not on record.
    @Test(arguments: [68, -68] as [Int64]) func recordsNothingOfAnAnswerThatIsUnproven(offset: Int64) throws {
        for steps in 0... {
            let (bench, task) = try suspended()
            bench.transport.script(place, .wrongRange(offset: offset))
            bench.manager.start(task)
            let isOver = bench.run(steps: steps)
            bench.manager.invalidate()
            bench.relaunch()
            let again = try #require(bench.manager.fetchTask(address))
            bench.manager.start(again)
            #expect(bench.runToRest())
            #expect(again.status == .succeeded && bench.holds(large, in: again) == true, "after \(steps) steps")
            if isOver {
                #expect(steps > 10)
                break
            }
        }
    }

    @Test func keepsThemOverAFailureThatIsFinal() async throws {
        let (bench, task) = try suspended()
        bench.transport.script(place, .failure(.secureConnectionFailed))
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .failed && task.completedBytes == 1 << 20)
        #expect(await restarts(bench, task) == [])
        #expect(resumed(bench) == [false, true, true])
    }

    @Test func aTransportWithoutThemBeginsAgain() async throws {
        let (bench, _) = try suspended()
        let record = try #require(bench.records.first)
        let plain = TestBench.serving(large)
        plain.relaunch(store: MemoryStore([record.storeKey: record.encoded], lanes: plain.lanes))
        let again = try #require(plain.manager.fetchTask(address))
        #expect(again.completedBytes == 1 << 20)
        #expect(await restarts(plain, again) == ["restarted: cannotResume"])
        #expect(plain.holds(large, in: again) == true)
    }

    @Test func fetchesOnceMoreWhenTheDigestIsWrong() async throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20), checksum: digest(of: large))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.transport.script(place, .corrupt(at: 2 << 20))
        #expect(await restarts(bench, task) == ["restarted: wrongDigest"])
        #expect(bench.holds(large, in: task) == true)
        #expect(task.validation == .correct)
    }

    @Test func cancelingForgetsThem() throws {
        let (bench, task) = try suspended()
        bench.manager.start(task)
        bench.transport.script(place, .stall(afterBytes: 1000))
        bench.manager.cancel(task)
        bench.settle()
        #expect(task.status == .canceled && bench.records.isEmpty && bench.files.isEmpty)
    }

    /// Killed after every single piece of work: wherever it was, it ends with the right file.
    @Test func survivesDeathAtEveryStep() throws {
        let bytes = Sample.bytes(1000)
        for steps in 0... {
            let bench = bench(bytes)
            let first = try bench.download(.cut(afterBytes: 300), .cut(afterBytes: 300))
            let isOver = bench.run(steps: steps, of: first)
            // Before the first commit is made there is nothing to go on with.
            let isOnRecord = !bench.records.isEmpty || !bench.transport.requests.isEmpty
            bench.relaunch()
            let task = try isOnRecord ? #require(bench.manager.fetchTask(address)) : bench.download()
            bench.manager.start(task)
            #expect(bench.runToRest())
            #expect(task.status == .succeeded, "killed after \(steps) steps")
            #expect(bench.contents(of: task) == bytes)
            #expect(bench.files == [task.filePath])
            if isOver { break }
        }
    }
}
