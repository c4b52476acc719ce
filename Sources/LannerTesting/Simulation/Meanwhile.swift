import LannerCore
import LannerMachine

/// What goes on in a world while the manager is in the middle of its work, as it does on other threads: in its logger,
/// while it hands changes to the store, and while the device syncs a file.
final class Meanwhile: Logable {
    /// What one step has for it.
    private struct Share {
        var generator: SeededGenerator
        var hasUser: Bool
        /// How much more may go on: those who call back and forth would never end.
        var left = 1000
    }

    private struct Present {
        weak var manager: SessionManager?
    }

    let identifier = "world"
    private let chronicle: Chronicle
    private let lanes: ManualLanes
    private let transport: ScriptedTransport
    private let servers: Servers
    private let lookout: Lookout
    private let clock: ManualClock
    private let stepCount = Locked(0)
    /// Nil while nothing else is to go on.
    private let share = Locked<Share?>(nil)
    private let present = Locked(Present())
    private let mood: Mood
    /// Whether anything goes on. The manager logs then, and is slower.
    private var isOn: Bool { mood != .quiet }

    /// How much goes on.
    enum Mood {
        case quiet, lively
        /// Servers do hardly anything right, and all that has begun comes at once.
        case stormy
    }

    init(
        _ chronicle: Chronicle, _ lanes: ManualLanes, _ transport: ScriptedTransport, _ servers: Servers,
        _ lookout: Lookout, _ clock: ManualClock, _ mood: Mood
    ) {
        self.clock = clock
        self.mood = mood
        self.lookout = lookout
        self.servers = servers
        self.chronicle = chronicle
        self.lanes = lanes
        self.transport = transport
    }

    /// Whose work it is.
    var manager: SessionManager? {
        get { present.withLock { $0.manager } }
        set { present.withLock { $0.manager = newValue } }
    }

    /// How much has gone on.
    var steps: Int { stepCount.withLock { $0 } }

    /// What goes on during the next step, and does not when the generator is nil.
    func begin(_ generator: SeededGenerator?, hasUser: Bool = false) {
        share.withLock { $0 = generator.map { Share(generator: $0, hasUser: hasUser) } }
    }

    /// Does something in which nothing else goes on.
    func holdStill(_ work: () -> Void) {
        let taken = share.withLock { $0.take() }
        work()
        share.withLock { $0 = taken }
    }

    var option: LogOption {
        get { isOn || chronicle.keepsLines ? .default : .none }
        set {}
    }

    func log(_ type: LogType) {
        chronicle.comment("  log: " + type.line)
        pass()
    }

    private var isSyncing: Bool { lanes.current == "file.sync" }

    /// Some time passes, in which others may go on: more of it, and more of them, on the thread that waits for the device.
    @Sendable func pass() {
        let often = mood == .stormy ? 1 : 3
        guard isSyncing else { return pass { $0.chance(1, in: often) ? 1 + $0.below(12) : 0 } }
        pass { $0.chance(1, in: 2) ? 32 : $0.below(8) }
    }

    /// One thing at a time: nothing goes on in the middle of what goes on.
    private func pass(_ count: (inout SeededGenerator) -> Int) {
        guard isOn, var taken = share.withLock({ $0.take() }) else { return }
        chronicle.isElsewhere = true
        let number = min(count(&taken.generator), taken.left)
        var done = 0
        while done < number, goOn(&taken) {
            if let manager { lookout.look(at: manager, transport) }
            done += 1
        }
        stepCount.withLock { $0 += done }
        taken.left -= done
        chronicle.isElsewhere = false
        share.withLock { $0 = taken }
    }

    /// Whether there was anything to do.
    private func goOn(_ share: inout Share) -> Bool {
        if share.hasUser, share.generator.chance(1, in: 24) {
            use(&share.generator)
        } else if share.generator.chance(1, in: mood == .stormy ? 3 : 16) {
            servers.confuse(using: &share.generator)
        } else if isSyncing, share.generator.chance(1, in: 8) {
            // Long enough that those who gather bytes hand them on.
            chronicle.note("meanwhile time")
            clock.advance(by: .seconds(1))
        } else if share.generator.chance(1, in: 2), lanes.runAnyIdle(using: &share.generator) {
            chronicle.note("meanwhile work", lanes.count)
        } else if transport.underway > 0 {
            deliver(&share.generator)
        } else {
            return false
        }
        return true
    }

    /// Bytes come in one exchange, or in all, one after the other.
    private func deliver(_ generator: inout SeededGenerator) {
        let underway = transport.underwayExchanges
        if generator.chance(1, in: 2) {
            chronicle.note("meanwhile deliver all", underway.count)
            return underway.shuffled(using: &generator).forEach { $0.release(nil) }
        }
        let index = generator.below(underway.count)
        chronicle.note("meanwhile deliver", index)
        underway[index].release(generator.chance(1, in: 3) ? nil : 700)
    }

    /// Stops a download.
    private func use(_ generator: inout SeededGenerator) {
        guard let manager else { return }
        let tasks = manager.tasks
        guard !tasks.isEmpty else { return }
        let task = tasks[generator.below(tasks.count)]
        chronicle.note("meanwhile suspend", text: task.url.path)
        manager.suspend(task)
    }
}
