import LannerCore
import LannerLoopback

/// What every `Transport` has to do, as tests that an author runs over their own.
///
/// ```swift
/// @Test func keepsTheContract() async {
///     let violations = await TransportContract.check { MyTransport() }
///     #expect(violations == [])
/// }
/// ```
///
/// Each clause gets a transport of its own and a ``LoopbackServer`` that serves what the clause needs; those that do not
/// apply by the transport's `TransportTraits` are left out. Nothing sleeps: a clause waits for what has to come, and
/// gives up when its patience is over. What must not come cannot be waited for; other exchanges are carried out
/// meanwhile, and it is looked for after them. One clause has a body come slowly, and takes six seconds.
public enum TransportContract {
    /// A transport, and the place where it finds what the contract serves.
    public struct Setup: Sendable {
        /// What is checked.
        public var transport: any Transport
        /// What it reaches.
        public var site: any Site
        /// Makes the transport that a later process would make in its stead. For transports that outlive the process.
        public var successor: (@Sendable () throws -> any Transport)?

        /// Makes a pair.
        public init(
            _ transport: any Transport, _ site: any Site, successor: (@Sendable () throws -> any Transport)? = nil
        ) {
            self.transport = transport
            self.site = site
            self.successor = successor
        }

        /// A scripted transport, which is a place as well; inside another transport, if need be.
        public init(
            _ scripted: ScriptedTransport,
            inside wrap: @escaping @Sendable (ScriptedTransport) -> any Transport = { $0 }
        ) {
            self.init(wrap(scripted), ScriptedSite(transport: scripted)) { wrap(scripted.successor()) }
        }
    }

    /// Checks a transport that reaches 127.0.0.1 over HTTP.
    ///
    /// - Parameters:
    ///   - waived: Clauses that are left out, each with the reason why it cannot be kept.
    ///   - patience: How long anything is waited for that has to come. Nobody waits longer than need be.
    ///   - makeSuccessor: Makes, for one that has been invalidated, the transport that a later process would make in its
    ///     stead; for transports that outlive the process.
    ///   - make: Makes a new transport; called for each clause, and now and then for a second one.
    /// - Returns: The clauses that are not kept; none when all is well.
    public static func check(
        waiving waived: [Clause: String] = [:], patience: Duration = .seconds(30),
        makeSuccessor: (@Sendable (any Transport) throws -> any Transport)? = nil,
        make: @escaping @Sendable () throws -> any Transport
    ) async -> [ContractViolation<Clause>] {
        await check(waiving: waived, patience: patience) {
            let transport = try make()
            let successor = makeSuccessor.map { make in { @Sendable in try make(transport) } }
            return Setup(transport, LoopbackSite(try LoopbackServer()), successor: successor)
        }
    }

    /// Checks a transport that reaches a place of its own, and no network.
    ///
    /// - Parameters:
    ///   - waived: Clauses that are left out, each with the reason why it cannot be kept.
    ///   - patience: How long anything is waited for that has to come. Nobody waits longer than need be.
    ///   - setUp: Makes a new transport and its place; called for each clause, and now and then for a second one.
    /// - Returns: The clauses that are not kept; none when all is well.
    public static func check(
        waiving waived: [Clause: String] = [:], patience: Duration = .seconds(30),
        setUp: @escaping @Sendable () throws -> Setup
    ) async -> [ContractViolation<Clause>] {
        let findings = ContractFindings<Clause>(waiving: waived)
        await findings.run(patience: patience) { clause in
            try await TransportTrial(clause: clause, findings: findings, setup: try setUp(), setUp: setUp).run()
        }
        return findings.all
    }
}
