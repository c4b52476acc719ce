/// One thing that a contract asks for. The raw value is its name in a few words.
public protocol ContractClause: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// What the contract says, mostly in the words of the protocol's documentation.
    var text: String { get }
}

/// A clause that was not kept, and what was seen instead.
///
/// A contract's `check` returns them, so that any framework can take them up:
///
/// ```swift
/// let violations = await TransportContract.check { MyTransport() }
/// #expect(violations == [])       // Swift Testing
/// XCTAssertEqual(violations, [])  // XCTest
/// ```
public struct ContractViolation<Clause: ContractClause>: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause.
    public let clause: Clause
    /// What was seen, in one sentence; the first time, if it was seen more often.
    public let detail: String

    /// The clause's name, what was seen, and what the contract says.
    public var description: String { "\(clause.rawValue): \(detail) The contract says: “\(clause.text)”" }
}
