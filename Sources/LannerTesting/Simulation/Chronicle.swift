import LannerCore
import LannerMachine

/// A rule that a simulated world was seen to break.
public struct Violation: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is promised.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// S1: a published file is one version the server had, or has the digest that was asked for.
        case oneVersion
        /// S2: after a death every byte that is claimed is the byte the server sent at that place.
        case rightBytes
        /// S3: progress goes back only with an event that says why.
        case progress
        /// S4: credentials reach no other origin than the one they were given for.
        case credentials
        /// L1: once faults stop, every download that may run ends, and well.
        case liveness
        /// Never more downloads run than the limit allows.
        case limit
        /// A handler is called exactly once, and not inside the call it was given to.
        case handler
        /// Statuses move as documented.
        case status
        /// A key has one task in each context.
        case oneTask
        /// No file takes the place of another one, unless that is asked for.
        case place
        /// A new manager finds what the last one knew.
        case memory
    }

    /// The rule.
    public var rule: Rule
    /// What was seen.
    public var text: String

    /// The rule and what was seen, in one line.
    public var description: String { "\(rule.rawValue): \(text)" }
}

/// What happened in a world: the sum over all of it, the lines when somebody wants to read them, and the first rule
/// that was broken.
///
/// Callbacks and observers write here as well, from wherever they are called.
final class Chronicle: Sendable {
    fileprivate struct State {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var lines: [String] = []
        var violation: Violation?
        var isHealed = false
        var isElsewhere = false
    }

    let keepsLines: Bool
    private let state = Locked(State())

    init(keepsLines: Bool) {
        self.keepsLines = keepsLines
    }

    var hash: UInt64 { state.withLock { $0.hash } }
    var lines: [String] { state.withLock { $0.lines } }
    var violation: Violation? { state.withLock { $0.violation } }

    /// Notes that something happened: a name for it, numbers that tell it from others, and a text for readers.
    func note(_ code: StaticString, _ one: Int = 0, _ other: Int = 0, text: @autoclosure () -> String = "") {
        let line = keepsLines ? "\(code) \(one) \(other) \(text())" : nil
        state.withLock { state in
            code.withUTF8Buffer { for byte in $0 { state.mix(UInt64(byte)) } }
            state.mix(UInt64(bitPattern: Int64(one)))
            state.mix(UInt64(bitPattern: Int64(other)))
            if let line { state.lines.append(line) }
        }
    }

    /// Whether faults have stopped, and the user is quiet as well.
    var isHealed: Bool {
        get { state.withLock { $0.isHealed } }
        set { state.withLock { $0.isHealed = newValue } }
    }

    /// Whether what happens now happens on another thread than the one the world's step is on.
    var isElsewhere: Bool {
        get { state.withLock { $0.isElsewhere } }
        set { state.withLock { $0.isElsewhere = newValue } }
    }

    /// Adds a line for readers.
    func comment(_ line: @autoclosure () -> String) {
        guard keepsLines else { return }
        let line = line()
        state.withLock { $0.lines.append(line) }
    }

    /// Notes that a rule was broken; the first one counts.
    func report(_ rule: Violation.Rule, _ text: String) {
        state.withLock { state in
            state.violation = state.violation ?? Violation(rule: rule, text: text)
            if keepsLines { state.lines.append("broken: \(rule.rawValue): \(text)") }
        }
    }
}

extension Chronicle.State {
    /// FNV-1a, a word at a time.
    fileprivate mutating func mix(_ word: UInt64) {
        hash = (hash ^ word) &* 0x0000_0100_0000_01B3
    }
}
