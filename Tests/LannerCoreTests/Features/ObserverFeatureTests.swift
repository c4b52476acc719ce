import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

extension DownloadEvent {
    /// In few words.
    var text: String {
        switch self {
        case .status(let status): status.rawValue
        case .progress(let completed, let total): "\(completed)/\(total.map(String.init) ?? "?")"
        case .restarted(let reason): "restarted: \(reason.rawValue)"
        case .retrying(let error, _): "retrying: \(error)"
        case .response(let head): "response: \(head.status)"
        }
    }
}

extension SessionEvent {
    var text: String {
        switch self {
        case .added(let task): "added \(task.url.lastPathComponent)"
        case .task(let task, let event): "\(task.url.lastPathComponent) \(event.text)"
        case .removed(let task): "removed \(task.url.lastPathComponent)"
        case .progress(let progress): "all \(progress.completedBytes)/\(progress.totalBytes)"
        case .status(let status): "manager \(status.rawValue)"
        }
    }
}

@Suite("N-06: observers of a task") struct TaskObserverTests {
    @Test func anyNumberIsToldInOrder() throws {
        let bench = TestBench.serving(large)
        let (one, two) = (Tally(), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let first = task.observe { one.add($0.text) }
        let second = task.observe(onMainQueue: false) { two.add($0.text) }
        #expect(one.all.isEmpty && two.all.isEmpty, "never inside the call")
        bench.settle()
        bench.run(for: .seconds(1))
        bench.transport.release()
        bench.settle()
        #expect(one.all == two.all)
        #expect(one.all.first == "running" && one.all.last == "succeeded")
        #expect(one.all.contains("response: 200") && one.all.contains("1048576/3145728"))
        #expect(one.all.suffix(2) == ["3145728/3145728", "succeeded"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func callsOnTheQueueThatWasAskedFor() throws {
        let (bench, lanes) = (TestBench.serving([1]), Tally())
        let task = try bench.download()
        let tokens = [true, false].map { isMain in
            task.observe(onMainQueue: isMain) { _ in lanes.add("\(isMain) \(bench.lanes.current ?? "")") }
        }
        bench.settle()
        #expect(Set(lanes.all) == ["true main", "false operation"])
        withExtendedLifetime(tokens) {}
    }

    @Test func isNotCalledOnceItWasCanceled() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let token = task.observe { calls.add($0.text) }
        bench.settle()
        bench.run(for: .seconds(1))
        bench.manager.suspend(task)
        // What has happened is on its way.
        while task.status != .suspended, bench.lanes.runNext() {}
        let count = calls.all.count
        token.cancel()
        token.cancel()
        bench.settle()
        #expect(calls.all.count == count && task.status == .suspended)
        #expect(task.state.withLock { $0.observers.all.isEmpty })
    }

    @Test func mayBeCanceledFromWithin() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download()
        let token = Locked<EventObservation?>(nil)
        let observation = task.observe {
            calls.add($0.text)
            token.withLock { $0 }?.cancel()
        }
        token.withLock { $0 = observation }
        bench.settle()
        #expect(calls.all == ["running"])
    }

    @Test func endsWhenItIsLetGoOf() throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        do {
            let token = task.observe { calls.add($0.text) }
            bench.settle()
            withExtendedLifetime(token) {}
        }
        let count = calls.all.count
        bench.transport.release()
        bench.settle()
        #expect(count > 0 && calls.all.count == count && task.status == .succeeded)
    }

    /// What a closure holds may call back while it goes.
    @Test func closuresAreLetGoOutsideTheLocks() throws {
        final class Caller: Sendable {
            let manager: SessionManager
            let calls: Tally
            init(_ manager: SessionManager, _ calls: Tally) { (self.manager, self.calls) = (manager, calls) }
            deinit { calls.add("gone, \(manager.tasks.count) tasks") }
        }
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let one = task.observe { [caller = Caller(bench.manager, calls)] _ in _ = caller }
        let two = task.observe { [caller = Caller(bench.manager, calls)] _ in _ = caller }
        let three = bench.manager.observe { [caller = Caller(bench.manager, calls)] _ in _ = caller }
        bench.settle()
        one.cancel()
        bench.manager.remove(task)
        bench.settle()
        three.cancel()
        #expect(calls.all == ["gone, 1 tasks", "gone, 0 tasks", "gone, 0 tasks"])
        withExtendedLifetime(two) {}
    }

    @Test func aTaskThatIsGoneTellsSoAndNoMore() async throws {
        let (bench, calls) = (TestBench.serving([1]), Tally())
        let task = try bench.download()
        bench.settle()
        bench.manager.remove(task)
        bench.settle()
        let token = task.observe { calls.add($0.text) }
        bench.settle()
        #expect(calls.all == ["removed"])
        var events: [String] = []
        for await event in task.events { events.append(event.text) }
        #expect(events == ["removed"])
        withExtendedLifetime(token) {}
    }

    @Test func anEndedManagerTellsNoMore() async throws {
        let (bench, calls) = (TestBench.serving(large), Tally())
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let (events, all) = (task.events, bench.manager.events)
        let token = bench.manager.observe { calls.add($0.text) }
        bench.settle()
        bench.manager.invalidate()
        bench.settle()
        var last = ""
        for await event in events { last = event.text }
        for await event in all { calls.add("sequence \(event.text)") }
        #expect(last == "response: 200" || last.hasSuffix("/3145728"))
        let count = calls.all.count
        bench.manager.download(address)
        bench.settle()
        #expect(calls.all.count == count)
        withExtendedLifetime(token) {}
    }

    @Test func aCanceledTaskFirstGetsWhatWaits() async throws {
        let bench = TestBench.serving([1, 2, 3])
        let events = try bench.download(.stall(afterBytes: 0)).events
        bench.settle()
        let heard = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var texts: [String] = []
            for await event in events { texts.append(event.text) }
            return texts
        }
        #expect(await heard.value == ["running", "response: 200", "0/3"])
    }

    @Test func aSlowConsumerOfATaskKeepsTheLatestProgress() async throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        let events = task.events
        bench.settle()
        for _ in 0..<1000 { bench.run(for: .milliseconds(25)) }
        bench.transport.release()
        bench.settle()
        bench.manager.remove(task)
        bench.settle()
        var all: [String] = []
        for await event in events { all.append(event.text) }
        #expect(all.count < 12)
        #expect(
            all.filter { !$0.contains("/") } == [
                "running", "response: 200", "succeeded", "willRemove", "removed",
            ])
        #expect(all[all.count - 4] == "3145728/3145728")
    }
}

@Suite("N-06: queues of slow observers") struct EventQueueTests {
    private enum Event: QueuedEvent, Equatable {
        case progress(Int, of: Int)
        case state(Int, of: Int)

        private static let subjects = (0..<8).map { _ in Subject() }
        private final class Subject: Sendable {}

        var subject: ObjectIdentifier? {
            switch self {
            case .progress(_, let number), .state(_, let number): ObjectIdentifier(Self.subjects[number])
            }
        }

        var isProgress: Bool { if case .progress = self { true } else { false } }
        var number: Int {
            switch self {
            case .progress(_, let number), .state(_, let number): number
            }
        }
    }

    private func drain(_ queue: inout EventQueue<Event>) -> [Event] {
        var all: [Event] = []
        while let event = queue.popFirst() { all.append(event) }
        return all
    }

    @Test func theLatestProgressOfEachSubjectWaits() {
        var queue = EventQueue<Event>()
        for number in 0..<1000 {
            queue.append(.progress(number, of: 0))
            queue.append(.progress(-number, of: 1))
        }
        #expect(queue.count == 2)
        #expect(drain(&queue) == [.progress(999, of: 0), .progress(-999, of: 1)])
    }

    @Test func nothingOvertakesAState() {
        var queue = EventQueue<Event>()
        queue.append(.progress(1, of: 0))
        queue.append(.state(1, of: 1))
        queue.append(.progress(2, of: 0))
        queue.append(.state(2, of: 0))
        queue.append(.progress(3, of: 0))
        queue.append(.progress(4, of: 0))
        #expect(drain(&queue) == [.progress(2, of: 0), .state(1, of: 1), .state(2, of: 0), .progress(4, of: 0)])
    }

    /// Against the plain rule: of what is taken of one subject, states are all there and in order, and each run of progress
    /// is its last.
    @Test(arguments: 0..<50) func whateverComes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = EventQueue<Event>()
        var (sent, taken): ([Event], [Event]) = ([], [])
        var states = 0
        for number in 0..<2000 {
            let subject = Int(random.next() % 8)
            let event: Event = random.next() % 4 == 0 ? .state(number, of: subject) : .progress(number, of: subject)
            queue.append(event)
            sent.append(event)
            if !event.isProgress { states += 1 }
            let pops = random.next() % 8 == 0 ? random.next() % 20 : 0
            for _ in 0..<pops { if let event = queue.popFirst() { taken.append(event) } }
            #expect(queue.count <= 2 * states + 8)
        }
        taken += drain(&queue)
        for subject in 0..<8 {
            let (came, told) = (sent.filter { $0.number == subject }, taken.filter { $0.number == subject })
            #expect(told.filter { !$0.isProgress } == came.filter { !$0.isProgress })
            #expect(told.last == came.last)
            var rest = came[...]
            for event in told {
                guard let index = rest.firstIndex(of: event) else {
                    Issue.record("\(event) is out of order")
                    return
                }
                rest = rest[(index + 1)...]
            }
        }
    }
}

@Suite("N-06: observers of a manager") struct ManagerObserverTests {
    private let addresses = ["https://a.example/1", "https://a.example/2"]

    private func bench() -> TestBench {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        return bench
    }

    @Test func areToldOfTasksAndOfTheWhole() {
        let (bench, calls) = (bench(), Tally())
        let token = bench.manager.observe { calls.add($0.text) }
        bench.manager.multiDownload(addresses)
        bench.settle()
        #expect(calls.all.prefix(3) == ["manager waiting", "added 1", "added 2"])
        #expect(calls.all.contains("1 running") && calls.all.contains("2 succeeded"))
        #expect(calls.all.contains("manager running") && calls.all.contains("all 6000/6000"))
        #expect(calls.all.last == "manager succeeded")
        for task in ["1", "2"] {
            #expect(calls.all.firstIndex(of: "\(task) 3000/3000")! < calls.all.firstIndex(of: "\(task) succeeded")!)
        }
        calls.clear()
        bench.manager.remove(addresses[0])
        bench.settle()
        #expect(
            calls.all == [
                "1 willRemove", "all 6000/6000", "manager running", "1 removed", "removed 1", "all 3000/3000",
                "manager succeeded",
            ])
        calls.clear()
        bench.manager.totalRemove()
        bench.settle()
        #expect(calls.all.suffix(2) == ["all 0/0", "manager removed"])
        withExtendedLifetime(token) {}
    }

    @Test func aSequenceBeginsWithHowThingsStand() async {
        let bench = bench()
        bench.manager.multiDownload(addresses)
        bench.settle()
        let events = bench.manager.events
        bench.manager.download("https://a.example/3")
        bench.settle()
        bench.manager.invalidate()
        var all: [String] = []
        for await event in events { all.append(event.text) }
        #expect(all.prefix(3) == ["manager succeeded", "added 3", "all 6000/6000"])
        #expect(all.last == "manager succeeded" && all.contains("3 succeeded") && all.contains("all 9000/9000"))
    }

    @Test func restoredTasksAreNotAdded() {
        let (bench, calls) = (bench(), Tally())
        bench.manager.multiDownload(addresses)
        bench.settle()
        bench.relaunch()
        let token = bench.manager.observe { calls.add($0.text) }
        bench.settle()
        bench.manager.download(addresses[0])
        bench.settle()
        #expect(calls.all == ["manager succeeded"])
        withExtendedLifetime(token) {}
    }

    @Test func ofOtherContextsNothingIsTold() {
        let (bench, calls) = (bench(), Tally())
        bench.manager.download(addresses[0])
        bench.settle()
        let token = bench.manager.observe { calls.add($0.text) }
        bench.manager.download(DownloadRequest(addresses[1], context: "ann"))
        bench.settle()
        #expect(calls.all == ["manager succeeded"])
        bench.manager.context = "ann"
        bench.settle()
        #expect(calls.all.last == "manager succeeded" && calls.all.contains("2 running"))
        bench.manager.context = "bob"
        bench.settle()
        #expect(calls.all.last == "manager waiting")
        withExtendedLifetime(token) {}
    }

    /// A consumer that never comes holds, of each of many tasks, the latest progress, and of the whole one.
    @Test func aSlowConsumerKeepsTheLatestProgressOfEachTask() async {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 20
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        for number in 0..<20 { bench.transport.script("/\(number)", .stall(afterBytes: 1000)) }
        let events = bench.manager.events
        bench.manager.multiDownload((0..<20).map { "https://a.example/\($0)" })
        bench.settle()
        bench.run(for: .seconds(50))
        bench.manager.invalidate()
        var all: [String] = []
        for await event in events { all.append(event.text) }
        // Each: added, running, response, a progress before and one behind each of the last two; and a few of the whole.
        #expect(all.count < 20 * 6 + 12)
        for number in 0..<20 { #expect(all.contains("\(number) 1000/3000")) }
        #expect(all.contains("all 20000/60000"))
    }

    @Test func oneClosureIsToldOfEveryTaskThatComesToRest() {
        let (bench, calls) = (bench(), Tally())
        bench.transport.script("/2", .status(404))
        bench.manager.taskCompletion { calls.add("\($0.url.lastPathComponent) \($0.status.rawValue)") }
        bench.manager.multiDownload(addresses)
        bench.settle()
        bench.manager.remove(addresses[0])
        bench.settle()
        #expect(calls.all.sorted() == ["1 removed", "1 succeeded", "2 failed"])
    }

    @Test func anUnusableManagerEndsItsSequences() async {
        let bench = bench()
        let other = SessionManager(
            "other", configuration: SessionConfiguration(), transport: bench.transport, store: nil, logger: bench.log,
            cache: bench.manager.cache, operationQueue: .global(),
            environment: Environment(clock: bench.clock, fileSystem: bench.disk, lanes: bench.lanes))
        var all: [String] = []
        for await event in other.events { all.append(event.text) }
        #expect(other.unavailable != nil && all == ["manager waiting"])
    }
}

@Suite("N-06: groups of tasks") struct GroupTests {
    @Test func addUpTheirTasks() throws {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        bench.transport.script("/1", .stall(afterBytes: 1000))
        bench.transport.script("/2", .hold)
        let tasks = bench.manager.multiDownload((1...3).map { "https://a.example/\($0)" })
        let group = (tasks + tasks).group
        #expect(group.tasks == tasks)
        #expect(group.progress.counts[.running] == 3 && group.progress.knownSizes == 0)
        bench.settle()
        bench.run(for: .seconds(1))
        #expect(group.progress.completedBytes == 4000 && group.progress.totalBytes == 6000)
        #expect(group.progress.knownSizes == 2 && !group.progress.isTotalKnown)
        #expect(group.progress.counts[.running] == 2 && group.progress.counts[.succeeded] == 1)
        bench.transport.release()
        bench.settle()
        #expect(group.progress.fractionCompleted == 1 && group.progress.isTotalKnown)
        bench.manager.remove(tasks[0])
        bench.settle()
        #expect(group.progress.completedBytes == 6000 && group.progress.counts[.removed] == 1)
        #expect(group.progress.isTotalKnown && group.progress.counts.all == 3)
    }

    /// What was removed has nothing that is yet to come.
    @Test func thatHaveEmptyFilesOnlyAreWhole() {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init([]))
        bench.transport.script("/2", .hold)
        let tasks = bench.manager.multiDownload((1...2).map { "https://a.example/\($0)" })
        bench.settle()
        #expect(tasks.group.progress.fractionCompleted == 0)
        bench.manager.remove(tasks[1])
        bench.settle()
        #expect(tasks.group.progress.fractionCompleted == 1 && tasks.group.progress.estimatedFractionCompleted == 1)
    }

    @Test func tellClosuresAndSequences() async throws {
        let (bench, calls) = (TestBench(), Tally())
        bench.transport.serveElsewhere(.init(Sample.bytes(3000)))
        let tasks = bench.manager.multiDownload((1...3).map { "https://a.example/\($0)" })
        let updates = tasks.group.updates
        let token = tasks.group.observe {
            calls.add("\($0.completedBytes) \($0.counts[.succeeded]) on \(bench.lanes.current ?? "")")
        }
        bench.settle()
        #expect(calls.all.first == "0 0 on main" && calls.all.last == "9000 3 on main")
        bench.manager.totalRemove()
        bench.settle()
        var all: [Int64] = []
        for await progress in updates { all.append(progress.completedBytes) }
        #expect(all == [0], "of progress only the latest waits, and all are gone")
        withExtendedLifetime(token) {}
    }

    @Test func mayBeOfSeveralManagersAndOfNone() async {
        let (one, two) = (TestBench.serving(large), TestBench.serving([1]))
        let tasks = [one, two].compactMap { $0.manager.download(address) }
        let group = DownloadGroup(tasks)
        one.settle()
        two.settle()
        #expect(group.progress.completedBytes == 3 << 20 + 1 && group.progress.counts[.succeeded] == 2)
        var all: [AggregateProgress] = []
        for await progress in DownloadGroup([]).updates { all.append(progress) }
        #expect(all.count == 1 && all.first?.fractionCompleted == 0)
    }

    /// A bar is not full with the first of many.
    @Test func takeUnknownSizesForAverageOnes() {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(Sample.bytes(1000)))
        let group = bench.manager.multiDownload((0..<4).map { "https://a.example/\($0)" }).group
        #expect(group.progress.estimatedFractionCompleted == 0 && !group.progress.isAtRest)
        for task in group.tasks.dropFirst() { bench.manager.suspend(task) }
        bench.settle()
        #expect(group.progress.fractionCompleted == 1 && group.progress.estimatedFractionCompleted == 0.25)
        #expect(group.progress.isAtRest)
        bench.manager.totalStart()
        bench.settle()
        #expect(group.progress.estimatedFractionCompleted == 1 && group.progress.isAtRest)
    }

    /// Nor with what has no size.
    @Test func expectNoLessThanThereIs() {
        let bench = TestBench()
        bench.transport.serve(.init(Sample.bytes(1000)), at: "/1")
        bench.transport.serve(.init(Sample.bytes(5000), framing: .chunked), at: "/2")
        bench.transport.script("/2", .stall(afterBytes: 3000))
        let group = bench.manager.multiDownload(["https://a.example/1", "https://a.example/2"]).group
        bench.run(for: .seconds(1))
        #expect(group.progress.completedBytes == 4000 && group.progress.knownSizes == 1)
        #expect(group.progress.estimatedFractionCompleted == 1 && !group.progress.isAtRest)
    }

    @Test func leaveNothingBehind() throws {
        let bench = TestBench.serving(large)
        let task = try bench.download()
        do {
            let group = DownloadGroup([task])
            #expect(task.state.withLock { $0.observers.all.count } == 1)
            withExtendedLifetime(group) {}
        }
        #expect(task.state.withLock { $0.observers.all.isEmpty })
    }

    /// Tasks of two managers change on two threads while a group is made and asked.
    @Test func addUpWhileAllChanges() async throws {
        let benches = (0..<2).map { _ in TestBench() }
        for bench in benches { bench.transport.serveElsewhere(.init(Sample.bytes(3000))) }
        let tasks = benches.flatMap { $0.manager.multiDownload((0..<50).map { "https://a.example/\($0)" }) }
        let runs = benches.map { bench in Task.detached { bench.settle() } }
        let groups = (0..<20).map { _ in tasks.group }
        let tokens = groups.map { $0.observe { _ in } }
        for run in runs { await run.value }
        // This thread may have been at a manager's work while its bench found nothing more to do.
        benches.forEach { $0.settle() }
        for group in groups {
            #expect(group.progress.completedBytes == 300_000 && group.progress.counts[.succeeded] == 100)
        }
        withExtendedLifetime(tokens) {}
    }
}
