import Dispatch
import LannerTesting
import Testing

@testable import LannerCore

/// Whoever is canceled may need the lock that those who tell hold, so nobody is woken under it.
@Suite(.timeLimit(.minutes(10))) struct ObserverLockTests {
    /// What Swift tasks run on, one thing after the other; notes for each whether the lock was held when it was woken.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private final class NotingExecutor: TaskExecutor {
        let isLocked = Locked(false)
        let notes = Locked<[Bool]>([])
        private let queue = DispatchQueue(label: "noting")

        func enqueue(_ job: consuming ExecutorJob) {
            notes.withLock { $0.append(isLocked.withLock { $0 }) }
            let job = UnownedJob(job)
            queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
        }

        /// Returns when what was woken waits again.
        func pass() { queue.sync {} }
    }

    /// Tells how things stand under its lock, once it is told to.
    private final class Source: EventSource {
        let isLocked: Locked<Bool>
        private let start = Locked<(@Sendable () -> Void)?>(nil)

        init(_ isLocked: Locked<Bool>) { self.isLocked = isLocked }

        func begin() { start.withLock { $0 }?() }

        func listen(_ begin: @escaping @Sendable () -> Void) { start.withLock { $0 = begin } }

        func add(_ makeObserver: (DownloadEvent) -> Observer<DownloadEvent>) {
            isLocked.withLock { $0 = true }
            _ = makeObserver(.status(.running))
            isLocked.withLock { $0 = false }
        }

        func remove(_ observer: Observer<DownloadEvent>) {}
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func first(of events: EventSequence<DownloadEvent>, on executor: NotingExecutor) -> Task<String?, Never> {
        let task = Task(executorPreference: executor) {
            for await event in events { return event.text as String? }
            return nil
        }
        executor.pass()
        return task
    }

    @Test func whoWaitsForTheFirstEventIsWokenBehindTheLock() async {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let executor = NotingExecutor()
        let source = Source(executor.isLocked)
        let first = first(of: source.makeSequence(), on: executor)
        source.begin()
        #expect(await first.value == "running")
        #expect(executor.notes.withLock { $0.count > 1 && !$0.contains(true) })
    }

    @Test func whatIsKeptWakesNobodyBeforeItIsTold() async {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let executor = NotingExecutor()
        let listener = Listener<DownloadEvent>()
        let first = first(of: EventSequence(listener) {}, on: executor)
        executor.isLocked.withLock { $0 = true }
        listener.keep(.status(.running))
        executor.isLocked.withLock { $0 = false }
        listener.tell()
        #expect(await first.value == "running")
        #expect(executor.notes.withLock { !$0.contains(true) })
    }

    @Test func whatIsKeptComesBeforeTheEnd() async {
        let listener = Listener<DownloadEvent>()
        listener.keep(.status(.running))
        listener.end()
        listener.keep(.status(.failed))
        var texts: [String] = []
        for await event in EventSequence(listener, onEnd: {}) { texts.append(event.text) }
        #expect(texts == ["running"])
    }
}
