import LannerCore
import LannerMachine

/// The logger of a world: while the manager is in it, in the middle of its work, other things go on, as they do on other
/// threads.
final class Meanwhile: Logable {
    let identifier = "world"
    private let journal: Journal
    private let lanes: ManualLanes
    private let transport: ScriptedTransport
    /// Nil while nothing else is to go on.
    private let random = Locked<SeededGenerator?>(nil)

    init(_ journal: Journal, _ lanes: ManualLanes, _ transport: ScriptedTransport, isOn: Bool) {
        self.isOn = isOn
        self.journal = journal
        self.lanes = lanes
        self.transport = transport
    }

    /// What goes on during the next step, and does not when this is nil.
    func begin(_ generator: SeededGenerator?) {
        random.withLock { $0 = generator }
    }

    /// Whether the manager is to log: it is slower then.
    private let isOn: Bool

    var option: LogOption {
        get { isOn || journal.keepsLines ? .default : .none }
        set {}
    }

    func log(_ type: LogType) {
        journal.comment("  log: " + type.line)
        pass()
    }

    /// Some time passes, in which something else may go on.
    func pass() {
        // One thing at a time: nothing goes on in the middle of what goes on.
        guard isOn, var generator = random.withLock({ $0.take() }) else { return }
        if generator.chance(1, in: 4) {
            journal.isElsewhere = true
            goOn(&generator)
            journal.isElsewhere = false
        }
        random.withLock { $0 = generator }
    }

    private func goOn(_ generator: inout SeededGenerator) {
        let underway = transport.underwayExchanges
        if !underway.isEmpty, generator.chance(1, in: 2) {
            let index = generator.below(underway.count)
            journal.note("meanwhile deliver", index)
            underway[index].release(generator.chance(1, in: 3) ? nil : 700)
        } else {
            journal.note("meanwhile work", lanes.count)
            lanes.runAnyIdle(using: &generator)
        }
    }
}
