import Foundation
import LannerCore

/// What one check of a contract has found so far.
final class ContractFindings<Clause: ContractClause>: Sendable {
    private let state = Locked<[ContractViolation<Clause>]>([])
    /// Those that are not waived, in the order of the contract.
    let clauses: [Clause]

    init(waiving waived: [Clause: String]) {
        clauses = Clause.allCases.filter { waived[$0] == nil }
    }

    /// In the order of the contract, each clause once; none that is waived, wherever it was seen.
    var all: [ContractViolation<Clause>] {
        let found = state.withLock { $0 }
        return clauses.compactMap { clause in found.first { $0.clause == clause } }
    }

    func add(_ clause: Clause, _ detail: String) {
        state.withLock { $0.append(ContractViolation(clause: clause, detail: detail)) }
    }

    /// Adds what was seen of a clause, unless it is as it should be.
    func expect(_ isKept: Bool, _ clause: Clause, _ detail: @autoclosure () -> String) {
        if !isKept { add(clause, detail()) }
    }

    /// Checks clauses one by one, each with so much patience for anything that it waits for.
    func run(patience: Duration, _ body: @Sendable (Clause) async throws -> Void) async {
        await NeverCame.$patience.withValue(patience) {
            for clause in clauses { await run(clause, body) }
        }
    }

    private func run(_ clause: Clause, _ body: @Sendable (Clause) async throws -> Void) async {
        do {
            try await body(clause)
        } catch let error as NeverCame {
            add(clause, "\(error.what) never came.")
        } catch {
            add(clause, "It could not be tried: \(error)")
        }
    }
}

/// Patience ran out before this.
struct NeverCame: Error {
    @TaskLocal static var patience = Duration.seconds(30)

    var what: String

    /// Waits, and says what for when the waiting is canceled or lasts longer than the patience. What has come by then is
    /// there, however long the Swift tasks of other tests keep those that wait for it from a thread.
    static func unless<Value: Sendable>(
        _ what: String, _ wait: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let waiting = Task { try await wait() }
        let end = Task { [patience] in
            try await Task.sleep(for: patience)
            waiting.cancel()
        }
        defer { end.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await waiting.value
            } onCancel: {
                waiting.cancel()
            }
        } catch is CancellationError {
            throw NeverCame(what: what)
        }
    }
}

/// Something that arrives once, and a Swift task that waits for it.
final class Arrival<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)
    private let gauge = Gauge()

    func arrive(_ value: Value) {
        self.value.withLock { $0 = $0 ?? value }
        gauge.raise()
    }

    /// Returns what has arrived.
    func wait(for what: String) async throws -> Value {
        while true {
            if let value = value.withLock({ $0 }) { return value }
            try await NeverCame.unless(what) { [gauge] in try await gauge.wait(for: 1) }
        }
    }

    /// Runs work that may block on a thread of its own, and returns its result.
    static func of(_ what: String, _ work: @escaping @Sendable () -> Value) async throws -> Value {
        let arrival = Arrival()
        Thread.detachNewThread { arrival.arrive(work()) }
        return try await arrival.wait(for: what)
    }
}

/// Blocks one who is called back. Only the first: whoever calls in parallel would lose all threads to it.
struct Barrier: Sendable {
    private let isReached = Locked(false)
    private let reached = Arrival<Void>()
    private let gate = Latch()

    /// Blocks the first caller until it is opened.
    func hold() {
        let isFirst = isReached.withLock { isReached in
            defer { isReached = true }
            return !isReached
        }
        guard isFirst else { return }
        reached.arrive(())
        gate.wait()
    }

    /// Returns when someone is blocked.
    func wait(for what: String = "The first event") async throws {
        try await reached.wait(for: what)
    }

    func open() {
        gate.open()
    }
}
