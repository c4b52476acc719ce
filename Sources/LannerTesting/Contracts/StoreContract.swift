import LannerCore

/// What every `Store` has to do, as tests that an author runs over their own.
///
/// ```swift
/// @Test func keepsTheContract() async {
///     let violations = await StoreContract.check {
///         let file = Database.temporaryFile()
///         return { DatabaseStore(file) }
///     }
///     #expect(violations == [])
/// }
/// ```
///
/// What a store keeps when the process or the machine dies cannot be seen from inside the process: it is not checked.
public enum StoreContract {
    /// What the contract asks for.
    public enum Clause: String, ContractClause {
        /// A new place holds nothing.
        case empty = "empty at first"
        /// What was committed is there when the place is opened again.
        case kept = "what was committed"
        /// A store that is open is not loaded a second time, and goes on.
        case inUse = "load while it is open"
        /// A second store on a place that is open is not loaded, and the first goes on. To be waived where each store has
        /// a place of its own, as in memory.
        case taken = "a second store on an open place"
        /// Keys may be any text, and values any bytes.
        case anything = "opaque values"
        /// Changes are applied in their order.
        case order = "changes in order"
        /// A key that is not there may be removed.
        case missing = "removing what is not there"
        /// Each commit is applied, and its completion called once, in their order.
        case completions = "completions once and in order"
        /// No completion is called inside `commit`.
        case notInside = "never inside commit"
        /// `commit` returns while a completion blocks.
        case atOnce = "commit returns at once"
        /// Any thread may commit.
        case threads = "any thread"
        /// What was committed before `close` is kept, and the place is free.
        case close = "close finishes"
        /// A store may be closed twice.
        case closeTwice = "close twice"
        /// A commit after `close` fails.
        case closed = "commit after close"
        /// A store may be closed inside a completion.
        case inside = "close inside a completion"
        /// After any changes it holds what a dictionary would.
        case model = "a map"
    }

    /// Checks a kind of store.
    ///
    /// - Parameters:
    ///   - waived: Clauses that are left out, each with the reason why it cannot be kept.
    ///   - patience: How long anything is waited for that has to come. Nobody waits longer than need be.
    ///   - makePlace: Makes a new place, and returns what opens a new store over it, as often as it is called; each
    ///     time after the last store has been closed, but for ``Clause/taken``. Called for each clause.
    /// - Returns: The clauses that are not kept; none when all is well.
    public static func check(
        waiving waived: [Clause: String] = [:], patience: Duration = .seconds(30),
        makePlace: @escaping @Sendable () throws -> @Sendable () throws -> any Store
    ) async -> [ContractViolation<Clause>] {
        let findings = ContractFindings<Clause>(waiving: waived)
        await findings.run(patience: patience) { clause in
            try await clause.run(StoreTrial(clause: clause, findings: findings, makeStore: try makePlace()))
        }
        return findings.all
    }
}

extension StoreContract.Clause {
    /// What the documentation of `Store` says.
    public var text: String {
        switch self {
        case .empty, .kept: "Everything that is kept."
        case .inUse, .taken: "… or the store is in use by someone else, this object by another manager included"
        case .anything, .model: "A store is a map from keys to opaque values."
        case .order: "Applies changes, in their order, all of them or none, after all that was committed before."
        case .missing: "Removes a key; fine when it is not there."
        case .completions:
            "Applies changes … after all that was committed before. … `completion` is called exactly once, … in the order "
                + "of the commits"
        case .notInside: "Returns at once. `completion` is called … on a queue of the store's"
        case .atOnce: "Returns at once."
        case .threads: "Methods may be called on any thread."
        case .close:
            "Finishes what was committed and gives everything back, so that another store may be opened on the same "
                + "place at once."
        case .closeTwice: "Calling it twice does nothing."
        case .closed: "Later commits and loads fail with `closed`."
        case .inside: "May be called inside a completion."
        }
    }

    func run(_ trial: StoreTrial) async throws {
        switch self {
        case .empty: try await trial.empty()
        case .kept: try await trial.kept()
        case .inUse: try await trial.inUse()
        case .taken: try await trial.taken()
        case .anything: try await trial.anything()
        case .order: try await trial.order()
        case .missing: try await trial.missing()
        case .completions: try await trial.completions()
        case .notInside: try await trial.notInside()
        case .atOnce: try await trial.atOnce()
        case .threads: try await trial.threads()
        case .close, .closeTwice: try await trial.close(times: self == .close ? 1 : 2)
        case .closed: try await trial.closed()
        case .inside: try await trial.inside()
        case .model: try await trial.model()
        }
    }
}
