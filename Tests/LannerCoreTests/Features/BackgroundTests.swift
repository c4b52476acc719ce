import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// T3-24: transfers that go on while the process is suspended or dead, by a transport whose exchanges outlive it.
@Suite(.timeLimit(.minutes(10))) struct BackgroundTests {
    private func bench(_ configuration: SessionConfiguration = SessionConfiguration()) -> TestBench {
        TestBench.serving(large, configuration: configuration, traits: .background)
    }

    /// One download of which a third has come.
    private func begun(
        _ configuration: SessionConfiguration = SessionConfiguration(), _ step: ScriptedTransport.Step? = nil
    ) throws -> TestBench {
        let bench = bench(configuration)
        _ = try bench.download(step ?? .stall(afterBytes: 1 << 20))
        bench.settle()
        #expect(bench.transport.keptNames.count == 1)
        return bench
    }

    private func restored(_ bench: TestBench) throws -> DownloadTask {
        try #require(bench.manager.fetchTask(address))
    }

    /// Expects the file to come to its end by the one request that there was, or so many.
    private func expectWhole(_ bench: TestBench, requests: Int = 1) throws {
        let task = try restored(bench)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded, "\(String(describing: task.error))")
        #expect(bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count == requests)
        #expect(bench.transport.keptNames == [])
        #expect(bench.files == [task.filePath])
    }

    @Test("T3-24: what still runs is taken up again") func goesOnWhileRunning() throws {
        let bench = try begun()
        bench.relaunch()
        bench.run(for: .seconds(1))
        let task = try restored(bench)
        #expect(task.status == .running)
        #expect(task.completedBytes == 1 << 20)
        bench.transport.release()
        try expectWhole(bench)
    }

    /// The system would send them along where a redirect leads.
    @Test("S4: what has credentials ends with the process unless redirects are trusted", arguments: [false, true])
    func endsWithTheProcessWhereItHasCredentials(trusts: Bool) throws {
        let bench = bench()
        bench.transport.trustsRedirects = trusts
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        bench.manager.download(DownloadRequest(address, headers: ["Authorization": "Bearer x"]))
        bench.settle()
        #expect(bench.transport.keptNames.count == (trusts ? 1 : 0))
        #expect(bench.log.lines.contains { $0.contains("ends with the process") } == !trusts)
        bench.relaunch()
        bench.run(for: .seconds(1))
        let task = try restored(bench)
        #expect(task.status == (trusts ? .running : .suspended))
        bench.transport.release()
        bench.manager.start(task)
        try expectWhole(bench, requests: trusts ? 1 : 2)
    }

    @Test("T3-24: it takes its slot before others") func takesItsSlot() throws {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        configuration.resumesAtLaunch = true
        let bench = bench(configuration)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.transport.serve(.init([1, 2]), at: "/other")
        bench.manager.download("https://example.com/other")
        bench.settle()
        bench.manager.moveTask(at: 1, to: 0)
        bench.settle()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.run(for: .seconds(1))
        let (first, other) = (try restored(bench), try #require(bench.manager.tasks.first))
        #expect(first.status == .running && first.completedBytes == 1 << 20)
        #expect(other !== first && other.status == .waiting && other.waitingReason == .slot)
        #expect(bench.transport.requests.count == 1)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(first.status == .succeeded && other.status == .succeeded)
    }

    /// It waits for its context, and is taken in then.
    @Test func whatEndedMeanwhileIsNotForgottenForItsContext() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let bench = bench(configuration)
        bench.manager.context = "ann"
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.relaunch { bench.transport.release() }
        bench.settle()
        #expect(bench.manager.tasks.isEmpty)
        bench.manager.context = "ann"
        try expectWhole(bench)
    }

    /// It was to be stopped, its context being hidden, and was faster.
    @Test func whatEndsWhileItIsStoppedIsNotForgottenForItsContext() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let ending = Locked<ScriptedTransport?>(nil)
        let bench = TestBench(
            configuration: configuration, traits: .background, transport: { EndingTransport(base: $0, ending: ending) })
        bench.transport.serve(.init(large), at: place)
        bench.manager.context = "ann"
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        ending.withLock { $0 = bench.transport }
        bench.relaunch()
        bench.settle()
        bench.manager.context = "ann"
        try expectWhole(bench)
    }

    /// As if it had never been hidden.
    @Test func aContextThatIsShownAgainKeepsWhatHasSurvived() throws {
        var configuration = SessionConfiguration()
        configuration.contextAtLaunch = "ann"
        let bench = bench(configuration)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.manager.context = "bob"
        bench.manager.context = "ann"
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.settle()
        #expect(try restored(bench).status == .running && bench.transport.requests.count == 1)
        bench.transport.release()
        try expectWhole(bench)
    }

    /// What a user wants of a task that waits for the survivors counts, and what says nothing of it does not.
    @Test(arguments: [false, true]) func whatWasInterruptedGoesOnUnlessItsUserSaysElse(isSuspended: Bool) throws {
        var configuration = SessionConfiguration()
        (configuration.maxConcurrentTasksLimit, configuration.resumesAtLaunch) = (1, true)
        let bench = bench(configuration)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.transport.serve(.init([1, 2]), at: "/other")
        bench.manager.download("https://example.com/other")
        bench.settle()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.settle()
        let other = try #require(bench.manager.fetchTask("https://example.com/other"))
        #expect(other.status == .suspended)
        bench.manager.startWaiting()
        bench.manager.context = nil
        if isSuspended { bench.manager.suspend(other) }
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.settle()
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(other.status == (isSuspended ? .suspended : .succeeded))
    }

    /// Though its exchange has survived, and others are to be started that never were.
    @Test func whatIsSuspendedStaysSoThoughWhatWaitsIsStarted() throws {
        let bench = try begun()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.settle()
        let task = try #require(bench.manager.fetchTask(address))
        bench.manager.suspend(task)
        bench.manager.startWaiting()
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.settle()
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.status == .suspended)
    }

    @Test("T3-24: what ended meanwhile is taken in, without a request") func finishedWhileAway() throws {
        let bench = try begun()
        bench.relaunch { bench.transport.release() }
        try expectWhole(bench)
    }

    @Test("T3-24: what failed meanwhile is tried again, with its bytes") func failedWhileAway() throws {
        let bench = try begun()
        bench.relaunch { bench.transport.fail(with: .connectionLost) }
        bench.settle()
        #expect(try restored(bench).completedBytes == 1 << 20)
        try expectWhole(bench, requests: 2)
        #expect(bench.transport.requests.last?.resumeData != nil)
    }

    @Test("T3-24: any answer that came meanwhile goes its way", arguments: [304, 403, 404, 416, 503])
    func answeredWhileAway(status: Int) throws {
        let bench = bench()
        bench.transport.always(place, .status(status))
        bench.transport.holdsAll = true
        _ = try bench.download(.status(status))
        bench.settle()
        bench.transport.holdsAll = false
        bench.relaunch { bench.transport.release() }
        #expect(bench.runToRest())
        let task = try restored(bench)
        guard case .unacceptableStatusCode(status) = task.error as? LannerError else {
            return #expect(Bool(false), "\(String(describing: task.error))")
        }
        #expect(bench.transport.keptNames == [])
    }

    @Test("T3-24: a force quit comes back suspended, with its bytes") func forceQuit() throws {
        let bench = try begun()
        bench.relaunch { bench.transport.forceQuit() }
        bench.settle()
        let task = try restored(bench)
        #expect(task.status == .suspended)
        #expect(task.completedBytes == 1 << 20)
        #expect(bench.transport.keptNames == [])
        #expect(bench.transport.requests.count == 1)
        // Nothing of it is lost when the process ends again.
        bench.relaunch()
        bench.settle()
        #expect(try restored(bench).completedBytes == 1 << 20)
        bench.manager.start(try restored(bench))
        try expectWhole(bench, requests: 2)
        #expect(bench.transport.requests.last?.resumeData != nil)
    }

    @Test("T3-24: a force quit is gone on with by itself when asked") func forceQuitResumes() throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = true
        let bench = try begun(configuration)
        bench.relaunch { bench.transport.forceQuit() }
        try expectWhole(bench, requests: 2)
        #expect(bench.transport.requests.last?.resumeData != nil)
    }

    @Test("T3-24: a force quit that is noticed late comes to the same", arguments: [false, true])
    func forceQuitLate(resumes: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = resumes
        let bench = try begun(configuration)
        bench.relaunch()
        bench.settle()
        bench.transport.forceQuit()
        bench.settle()
        let task = try restored(bench)
        #expect(task.status == (resumes ? .waiting : .suspended))
        #expect(task.completedBytes == 1 << 20)
        bench.manager.start(task)
        try expectWhole(bench, requests: 2)
    }

    @Test("T3-24: a force quit that is told while the download is being started keeps its bytes")
    func forceQuitToldAtTheStart() throws {
        for steps in 0..<40 {
            let bench = try begun()
            bench.transport.holdsRecovery = true
            bench.relaunch { bench.transport.forceQuit() }
            bench.settle()
            bench.manager.totalStart()
            _ = bench.run(steps: steps)
            bench.transport.holdsRecovery = false
            #expect(bench.runToRest(), "after \(steps) steps")
            let task = try restored(bench)
            #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
            #expect(bench.transport.requests.last?.resumeData != nil, "after \(steps) steps")
            #expect(bench.transport.requests.count == 2 && bench.transport.keptNames == [])
        }
    }

    @Test("T3-24: without its exchange a download comes back suspended, or goes on", arguments: [false, true])
    func notSurvived(resumes: Bool) throws {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = resumes
        let bench = try begun(configuration)
        bench.relaunch { bench.transport.keptNames.forEach(bench.transport.discard) }
        bench.settle()
        #expect(try restored(bench).status == (resumes ? .succeeded : .suspended))
        bench.manager.totalStart()
        try expectWhole(bench, requests: 2)
    }

    @Test("T3-24: what no record asks for is canceled") func recordLost() throws {
        let bench = try begun()
        bench.relaunch(store: MemoryStore([:], lanes: bench.lanes))
        bench.settle()
        #expect(bench.manager.tasks.isEmpty)
        #expect(bench.transport.keptNames == [])
        #expect(bench.transport.underway == 0)
    }

    @Test("T3-24: that of a record which only a later version can read goes on, and is that version's")
    func recordOfALaterVersion() throws {
        let bench = try begun()
        let name = bench.transport.keptNames
        let contents = bench.contents
        let record = try #require(bench.records.first)
        var later = record.encoded
        let range = try #require(later.firstRange(of: Array("active".utf8)))
        later.replaceSubrange(range, with: Array("queued".utf8))
        bench.relaunch(store: MemoryStore(contents.merging([record.storeKey: later]) { $1 }, lanes: bench.lanes))
        bench.settle()
        #expect(bench.manager.tasks.isEmpty && bench.transport.keptNames == name)
        bench.transport.release()
        bench.settle()
        bench.relaunch(store: MemoryStore(contents, lanes: bench.lanes))
        try expectWhole(bench)
    }

    @Test("T3-24: what was removed is canceled, also when that is on record only later") func removedLate() throws {
        let bench = try begun()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.store.fail(.commit, with: .disk(.noSpace))
        bench.manager.remove(address, completely: true)
        bench.settle()
        #expect(bench.records.count == 1 && bench.transport.keptNames.count == 1)
        bench.run(for: .seconds(10))
        #expect(bench.records.isEmpty && bench.transport.keptNames == [] && bench.transport.underway == 0)
    }

    @Test("T3-24: what was removed is canceled") func removed() throws {
        let bench = try begun()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        bench.manager.remove(address, completely: true)
        bench.settle()
        #expect(bench.transport.keptNames == [])
        bench.transport.holdsRecovery = false
        bench.settle()
        #expect(bench.transport.underway == 0 && bench.files == [])
    }

    /// The process dies when the cancel is on record, and before the transport has given the exchange up.
    @Test("T3-24: what takes over the bytes of a canceled download does not take up its exchange")
    func anotherURLAfterACancel() throws {
        var configuration = SessionConfiguration()
        configuration.keepsPartialFileOnCancel = true
        let (bench, other) = (try begun(configuration), try begun(configuration))
        // What is on record then, of one that has gone on just so far.
        other.manager.cancel(address)
        other.settle()
        #expect(other.records.map(\.saved.isLeftover) == [true] && other.transport.keptNames == [])
        bench.manager.cancel(address)
        bench.transport.holdsRecovery = true
        bench.relaunch(store: MemoryStore(other.contents))
        #expect(bench.transport.keptNames.count == 1)
        bench.transport.serve(.init([1, 2, 3]), at: "/other")
        let task = try #require(bench.manager.download(DownloadRequest("https://example.com/other", key: address)))
        bench.settle()
        bench.transport.holdsRecovery = false
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds([1, 2, 3], in: task) == true)
        #expect(bench.transport.keptNames == [] && bench.transport.underway == 0)
    }

    @Test("T3-24: an exchange for another URL is not taken up", arguments: [false, true])
    func readdressed(whileRunning: Bool) throws {
        let bench = try begun()
        bench.transport.serve(.init([1, 2, 3]), at: "/other")
        let request = DownloadRequest("https://example.com/other", key: address)
        if whileRunning {
            bench.manager.download(request)
            bench.settle()
            bench.relaunch()
            bench.settle()
            bench.manager.totalStart()
        } else {
            bench.transport.holdsRecovery = true
            bench.relaunch()
            bench.manager.download(request)
            bench.transport.holdsRecovery = false
        }
        #expect(bench.runToRest())
        let task = try #require(bench.manager.fetchTask(key: address))
        #expect(bench.contents(of: task) == [1, 2, 3])
        #expect(bench.transport.keptNames == [] && bench.transport.underway == 0)
    }

    @Test("T3-24: what the user wants before the survivors are known holds", arguments: [true, false])
    func verbsBeforeTheSurvivorsAreKnown(starts: Bool) throws {
        let bench = try begun()
        bench.transport.holdsRecovery = true
        bench.relaunch()
        if starts { bench.manager.totalStart() } else { bench.manager.totalSuspend() }
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.run(for: .seconds(1))
        let task = try restored(bench)
        #expect(task.status == (starts ? .running : .suspended))
        #expect(task.completedBytes == 1 << 20)
        bench.manager.start(task)
        bench.transport.release()
        try expectWhole(bench, requests: starts ? 1 : 2)
    }

    @Test("T3-24: one that waits for its slot can be suspended, and keeps its bytes", arguments: [false, true])
    func suspendedBeforeItIsTakenUp(hasEnded: Bool) throws {
        let bench = try begun()
        bench.transport.script("/blocker", .hold)
        bench.transport.serve(.init([1]), at: "/blocker")
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        bench.transport.holdsRecovery = true
        bench.relaunch(configuration: configuration) { if hasEnded { bench.transport.release() } }
        bench.manager.download("https://example.com/blocker")
        bench.settle()
        bench.transport.holdsRecovery = false
        bench.settle()
        let task = try restored(bench)
        #expect(task.status == .waiting)
        bench.manager.suspend(task)
        bench.settle()
        #expect(task.status == .suspended)
        #expect(task.completedBytes == (hasEnded ? 0 : 1 << 20))
        bench.relaunch()
        bench.settle()
        #expect(try restored(bench).status == .suspended)
        #expect(bench.transport.keptNames.count == (hasEnded ? 2 : 1), "with that of the other")
        bench.transport.clearRequests()
        bench.manager.remove("https://example.com/blocker", completely: true)
        bench.manager.start(try restored(bench))
        try expectWhole(bench, requests: hasEnded ? 0 : 1)
    }

    @Test("T3-24: a redirect that came meanwhile is followed from the first URL on") func redirected() throws {
        let bench = bench()
        bench.transport.holdsAll = true
        _ = try bench.download(.redirect(to: "elsewhere"))
        bench.settle()
        bench.transport.holdsAll = false
        bench.relaunch { bench.transport.release() }
        try expectWhole(bench, requests: 2)
        #expect(bench.transport.requests.last?.url.absoluteString == address)
    }

    @Test("T3-24: silence is not the manager's business") func isPatient() throws {
        let bench = try begun()
        bench.run(for: .seconds(3600))
        #expect(try restored(bench).status == .running)
        bench.transport.release()
        try expectWhole(bench)
    }

    @Test("T3-24: a manager that is invalidated leaves its exchanges to the next") func invalidated() throws {
        let bench = try begun()
        bench.manager.invalidate()
        bench.settle()
        #expect(bench.transport.underway == 1)
        bench.relaunch()
        bench.settle()
        #expect(try restored(bench).status == .running)
        bench.transport.release()
        try expectWhole(bench)
    }

    /// As one with fields that not everybody may see: it runs in the foreground.
    @Test("T3-24: what ends with the process leaves its bytes at the end of the manager")
    func invalidatedInTheForeground() throws {
        let bench = TestBench(traits: .background, transport: { ForegroundTransport(base: $0) })
        bench.transport.serve(.init(large), at: place)
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.manager.invalidate()
        bench.settle()
        #expect(bench.transport.underway == 0)
        bench.relaunch()
        bench.settle()
        let task = try restored(bench)
        #expect(task.completedBytes == 1 << 20)
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.count == 2 && bench.transport.requests.last?.resumeData != nil)
    }

    @Test("T3-24: managers with transports of their own do not take each other's survivors") func twoManagers() throws {
        let (first, second) = (try begun(), try begun())
        first.relaunch()
        second.relaunch { second.transport.release() }
        first.settle()
        try expectWhole(second)
        #expect(first.transport.keptNames.count == 1)
        #expect(try restored(first).status == .running)
    }

    /// Killed after every single piece of work, twice: it always ends with the right file, and never asks for it twice.
    @Test("T3-24: no byte is lost by a death at any step", arguments: [false, true])
    func survivesDeathAtEveryStep(endsWhileAway: Bool) throws {
        for steps in 0... {
            let bench = bench()
            bench.transport.always(place, .stall(afterBytes: 2 << 20))
            let first = try bench.download()
            let isOver = bench.run(steps: steps, of: first)
            let hadBegun = !bench.transport.requests.isEmpty
            bench.relaunch { if endsWhileAway { bench.transport.release() } }
            for _ in 0..<steps % 7 { bench.lanes.runNext() }
            bench.relaunch()
            bench.settle()
            guard let task = bench.manager.fetchTask(address) else {
                try #require(!hadBegun && !isOver, "what has begun is on record, after \(steps) steps")
                continue
            }
            #expect(hadBegun ? task.status != .suspended : task.status == .suspended, "after \(steps) steps")
            bench.manager.start(task)
            bench.transport.release()
            bench.settle()
            bench.transport.release()
            bench.settle()
            #expect(bench.holds(large, in: task) == true, "killed after \(steps) steps")
            #expect(bench.transport.requests.count == 1, "killed after \(steps) steps")
            #expect(bench.files == [task.filePath])
            #expect(bench.transport.keptNames == [])
            if isOver || steps > 200 { break }
        }
    }
}

/// Its exchanges end with the process, though they are given names.
private struct ForegroundTransport: Transport {
    private final class Exchange: TransportExchange {
        private let base: any TransportExchange
        init(_ base: any TransportExchange) { self.base = base }
        func cancel() { base.cancel() }
        func pause() { base.pause() }
        func resume() { base.resume() }
        var outlivesProcess: Bool { false }
    }

    let base: any Transport
    var traits: TransportTraits { base.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        var request = request
        request.name = nil
        return Exchange(base.begin(request, receive: receive))
    }

    func invalidate() { base.invalidate() }
    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) { base.recover(report) }
    func discard(_ name: String) { base.discard(name) }
}

/// A transport whose exchanges come to their end before they are canceled, as soon as it knows by what.
private struct EndingTransport: Transport {
    private final class Exchange: TransportExchange {
        private let base: any TransportExchange
        private let end: @Sendable () -> Void

        init(_ base: any TransportExchange, _ end: @escaping @Sendable () -> Void) {
            (self.base, self.end) = (base, end)
        }

        func cancel() { end() }
        func pause() { base.pause() }
        func resume() { base.resume() }
    }

    let base: any Transport
    let ending: Locked<ScriptedTransport?>
    var traits: TransportTraits { base.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let exchange = base.begin(request, receive: receive)
        guard let transport = ending.withLock({ $0 }) else { return exchange }
        return Exchange(exchange) { transport.release() }
    }

    func invalidate() { base.invalidate() }
    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) { base.recover(report) }
    func discard(_ name: String) { base.discard(name) }
}
