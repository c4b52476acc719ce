import Dispatch
import Foundation

/// Threads that lanes share, so that the work for many small files changes threads seldom: to wake a thread costs more than
/// most of what is done here.
///
/// Work may block all the same. A thread is woken when none works, when many lanes wait, or when those that work have
/// been at the same things for a while; and while lanes wait, one that has no work of its own looks whether any are
/// taken. Work that knows when it waits for a device says so, and another thread takes over at once.
package final class LanePool: Sendable {
    package static let shared = LanePool()

    /// Lanes that wait before a second thread is woken for them, as long as there is a processor for it. Two that share the
    /// work for small files take longer than one: they wait for each other's locks, and have less of it in their caches.
    private static let many = 64
    /// Nanoseconds after which what was begun last counts as long.
    private static let long: UInt64 = 1_000_000
    /// When so many block at once, the lanes of all managers wait for one of them.
    private static let most = 128

    /// A thread.
    // @unchecked Sendable: what changes is only touched under the pool's lock.
    private final class Hand: @unchecked Sendable {
        let signal = DispatchSemaphore(value: 0)
        /// The last standstill before it took what it is at, or went on with it.
        var standstill = 0
        /// Whether it waits for a device.
        var isBlocked = false
        /// Whether the lane that it is at is ours alone.
        var isOnOwnLane = false
    }

    /// Whom to fetch.
    private enum Call {
        case nobody
        case hand(Hand)
        case newcomer
    }

    private enum Duty {
        case work
        case watch
        case rest
    }

    private struct State {
        /// How many threads there may be.
        let limit: Int
        /// Lanes that have work and are with no thread.
        var waiting = WaitingLanes()
        /// Threads with nothing to do; the one that came last is fetched first.
        var resting: [Hand] = []
        /// The one that looks now and then, and whether one was fetched for that.
        var watcher: Hand?
        var isWatcherCalled = false
        /// The threads that have begun and not gone.
        var hands: [ThreadNumber: Hand] = [:]
        /// Threads that work or were fetched for it, those apart that wait for a device, and how many of these have not
        /// begun.
        var working = 0
        var called = 0
        /// New threads that have not begun: each takes over a duty when it does, if nobody has before.
        var coming = 0
        /// How often nobody took anything in a whole interval, and how many threads have been at the same thing since
        /// one of these.
        var standstills = 0
        var stuck = 0
        /// When a lane was last taken, and how many were.
        var lastTaken: UInt64 = 0
        var taken = 0

        /// Those apart that wait for other threads.
        var absent = 0

        var threads: Int { hands.count + coming - absent }

        init(limit: Int) {
            self.limit = limit
        }

        mutating func add(_ lane: PooledLane, processors: Int) -> Call {
            waiting.append(lane)
            guard called == 0, needsWorker(processors) else { return callWatcher() }
            return callWorker()
        }

        private mutating func callWorker() -> Call {
            working += 1
            called += 1
            return call()
        }

        private func needsWorker(_ processors: Int) -> Bool {
            working <= stuck || (waiting.count >= LanePool.many && working < processors)
                || DispatchTime.now().uptimeNanoseconds &- lastTaken > LanePool.long
        }

        /// Adds a lane that the caller takes by itself when its turn comes.
        mutating func addAgain(_ lane: PooledLane) -> Call {
            waiting.append(lane)
            return callWatcher()
        }

        private mutating func callWatcher() -> Call {
            guard watcher == nil, !isWatcherCalled, waiting.count > 0 else { return .nobody }
            isWatcherCalled = true
            return call()
        }

        /// Whoever is fetched asks for its duty by itself; at the limit somebody else will.
        private mutating func call() -> Call {
            if let hand = resting.popLast() { return .hand(hand) }
            if let hand = watcher {
                watcher = nil
                return .hand(hand)
            }
            guard threads < limit, coming < called + (isWatcherCalled ? 1 : 0) else { return .nobody }
            coming += 1
            return .newcomer
        }

        /// The next lane, for one that works, and who is to look after the others meanwhile; nil ends the work.
        mutating func take(_ hand: Hand) -> (PooledLane, Call)? {
            if hand.standstill < standstills {
                hand.standstill = standstills
                stuck -= 1
            }
            guard let lane = waiting.popFirst() else {
                working -= 1
                return nil
            }
            hand.isOnOwnLane = lane.isOwn
            lastTaken = DispatchTime.now().uptimeNanoseconds
            taken &+= 1
            return (lane, callWatcher())
        }

        /// What a thread is at waits for a device; nil when it is none of these, or has said so before.
        mutating func block(_ thread: ThreadNumber) -> (Hand, Call)? {
            guard let hand = hands[thread], !hand.isBlocked else { return nil }
            hand.isBlocked = true
            if hand.standstill < standstills { stuck -= 1 }
            working -= 1
            return (hand, waiting.count > 0 && called == 0 && working <= stuck ? callWorker() : .nobody)
        }

        /// What a thread is at waits for other threads, of which there may be another one meanwhile. Nil as of `block`.
        mutating func stepOut(_ thread: ThreadNumber) -> (Hand, Call)? {
            absent += 1
            guard let (hand, call) = block(thread) else {
                absent -= 1
                return nil
            }
            guard case .nobody = call else { return (hand, call) }
            // Whoever was called at the limit has yet to come.
            return (hand, called > 0 || isWatcherCalled ? self.call() : callWatcher())
        }

        mutating func stepIn(_ hand: Hand) {
            absent -= 1
            unblock(hand)
        }

        mutating func unblock(_ hand: Hand) {
            hand.isBlocked = false
            hand.standstill = standstills
            working += 1
        }

        mutating func duty(of hand: Hand) -> Duty {
            if called > 0 {
                called -= 1
                hand.standstill = standstills
                return .work
            }
            if isWatcherCalled || (watcher == nil && working > 0) {
                (isWatcherCalled, watcher) = (false, hand)
                return .watch
            }
            resting.append(hand)
            return .rest
        }

        /// What one that has looked does next, `seen` lanes having been taken when it looked before; nil when it was
        /// fetched meanwhile.
        mutating func look(_ hand: Hand, seen: Int) -> Duty? {
            guard watcher === hand else { return nil }
            if taken != seen { return .watch }
            watcher = nil
            // Those that were fetched have not taken anything yet.
            stuck = working - called
            standstills += 1
            if waiting.count == 0 {
                resting.append(hand)
                return .rest
            }
            working += 1
            hand.standstill = standstills
            return .work
        }

        /// Whether one that has rested for long may go, not having been fetched meanwhile.
        mutating func leave(_ hand: Hand) -> Bool {
            guard let index = resting.firstIndex(where: { $0 === hand }) else { return false }
            resting.remove(at: index)
            hands[.current] = nil
            return true
        }
    }

    private let state: Locked<State>
    private let processors = ProcessInfo.processInfo.activeProcessorCount
    /// For how long a thread without work stays.
    private let patience: DispatchTimeInterval
    /// How often it is looked whether lanes are taken.
    private let interval: DispatchTimeInterval

    init(
        patience: DispatchTimeInterval = .seconds(10), interval: DispatchTimeInterval = .milliseconds(1),
        limit: Int = LanePool.most
    ) {
        state = Locked(State(limit: limit))
        self.patience = patience
        self.interval = interval
    }

    /// How many threads there are, and how many of them work and do not wait for a device.
    var threads: Int { state.withLock { $0.threads } }
    var working: Int { state.withLock { $0.working } }

    /// Whether the caller is at work on a lane that is nobody else's.
    var isOnOwnLane: Bool { state.withLock { $0.hands[.current]?.isOnOwnLane ?? false } }

    fileprivate func add(_ lane: PooledLane) {
        fetch(state.withLock { $0.add(lane, processors: processors) })
    }

    private func fetch(_ call: Call) {
        switch call {
        case .nobody: break
        case .hand(let hand): hand.signal.signal()
        case .newcomer:
            // Each on a queue of its own, which has a thread of its own, and gets it also when there is none for the
            // moment; of a quality that is not that of whoever came first.
            DispatchQueue(label: "lanner.lanes", qos: .default).async { self.serve() }
        }
    }

    // MARK: On a thread of the pool

    /// Does what waits for a device, while another thread takes the lanes that wait. On a thread that is none of the
    /// pool's it is only done.
    func block<Result, Failure: Error>(_ work: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let (hand, call) = state.withLock({ $0.block(.current) }) else { return try work() }
        defer { state.withLock { $0.unblock(hand) } }
        fetch(call)
        return try work()
    }

    /// Waits for what happens on other threads of the pool, or on one that comes in the place of this one. However many
    /// wait, there is one left for that.
    func wait(for latch: Latch) {
        guard let (hand, call) = state.withLock({ $0.stepOut(.current) }) else { return latch.wait() }
        fetch(call)
        latch.wait()
        state.withLock { $0.stepIn(hand) }
    }

    private func serve() {
        let hand = Hand()
        var duty = state.withLock { state in
            state.hands[.current] = hand
            state.coming -= 1
            return state.duty(of: hand)
        }
        while true {
            switch duty {
            case .work:
                work(hand)
                duty = state.withLock { $0.duty(of: hand) }
            case .watch: duty = watch(hand)
            case .rest:
                if hand.signal.wait(timeout: .now() + patience) == .timedOut {
                    if state.withLock({ $0.leave(hand) }) { return }
                    // Fetched after all.
                    hand.signal.wait()
                }
                duty = state.withLock { $0.duty(of: hand) }
            }
        }
    }

    private func work(_ hand: Hand) {
        while let (lane, call) = state.withLock({ $0.take(hand) }) {
            fetch(call)
            if lane.work() { fetch(state.withLock { $0.addAgain(lane) }) }
        }
    }

    private func watch(_ hand: Hand) -> Duty {
        var seen = state.withLock { $0.taken }
        while hand.signal.wait(timeout: .now() + interval) == .timedOut {
            let (duty, taken) = state.withLock { ($0.look(hand, seen: seen), $0.taken) }
            guard let duty else {
                // Fetched meanwhile.
                hand.signal.wait()
                break
            }
            if duty != .watch { return duty }
            seen = taken
        }
        return state.withLock { $0.duty(of: hand) }
    }
}

/// Lanes in line: in order, but that those that gather come last, since the more they wait the more they do at once. Not
/// for ever: after so many others it is the turn of all of them that wait.
struct WaitingLanes {
    private static let many = 64

    private var lanes = Fifo<PooledLane>()
    private var gathering = Fifo<PooledLane>()
    /// How many have gone before those that gather, and how many of these have their turn.
    private var passed = 0
    private var due = 0

    var count: Int { lanes.count + gathering.count }

    mutating func append(_ lane: PooledLane) {
        if lane.gathers { gathering.append(lane) } else { lanes.append(lane) }
    }

    mutating func popFirst() -> PooledLane? {
        if passed == Self.many { (passed, due) = (0, gathering.count) }
        if due == 0, let lane = lanes.popFirst() {
            passed = gathering.count == 0 ? 0 : passed + 1
            return lane
        }
        due = max(0, due - 1)
        return gathering.popFirst()
    }
}

/// A lane on the threads of a pool, and, where it has one, on a dispatch queue as well: in its turn there, without a thread
/// being woken for it.
package final class PooledLane: Lane {
    /// Not a bare closure: those change their form, by an allocation, where they pass through generic code.
    private struct Work {
        let run: @Sendable () -> Void
    }

    private struct State {
        var waiting = Fifo<Work>()
        /// Whether the pool has the lane.
        var isAdded = false
    }

    /// For debuggers.
    private let label: String
    private let queue: DispatchQueue?
    /// Whether it runs nothing of a user's: what is handed over to one has a queue.
    fileprivate var isOwn: Bool { queue == nil }
    /// Whether its work is for all that has come until then.
    fileprivate let gathers: Bool
    private let pool: LanePool
    private let state = Locked(State())

    package init(
        _ label: String, on queue: DispatchQueue? = nil, gathers: Bool = false, _ pool: LanePool = .shared
    ) {
        self.label = label
        self.queue = queue
        self.gathers = gathers
        self.pool = pool
    }

    package func run(_ work: @escaping @Sendable () -> Void) {
        let isNew = state.withLock { state in
            state.waiting.append(Work(run: work))
            defer { state.isAdded = true }
            return !state.isAdded
        }
        if isNew { pool.add(self) }
    }

    /// Runs what waits now; says whether more has come meanwhile, which is for after the other lanes.
    fileprivate func work() -> Bool {
        if let queue { queue.sync(execute: runWaiting) } else { runWaiting() }
        return state.withLock { state in
            state.isAdded = state.waiting.count > 0
            return state.isAdded
        }
    }

    private func runWaiting() {
        for _ in 0..<state.withLock({ $0.waiting.count }) { pooled { state.withLock { $0.waiting.popFirst() }?.run() } }
    }
}

/// On Apple platforms work may leave objects behind that go with their pool.
package func pooled<Result>(_ work: () -> Result) -> Result {
    #if canImport(ObjectiveC)
    autoreleasepool(invoking: work)
    #else
    work()
    #endif
}
