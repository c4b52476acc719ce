// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What a module of an application may export. `ClientCode.swift` imports it beside Lanner: a name that both exported would
// be ambiguous there.

public enum State: Sendable { case idle, loading }
public enum Event: Sendable { case tapped }
public enum Action: Sendable { case load }
public enum Phase: Sendable { case first }
public enum Notice: Sendable { case news }
public struct Failure: Error {
    public init() {}
}
public typealias Handler<Value> = (Value) -> Void
public struct Callback { public init() {} }
public struct Machine { public init() {} }
public struct Engine { public init() {} }
public struct Job { public init() {} }
public struct Download { public init() {} }
public struct Attempt { public init() {} }
public struct Exchange { public init() {} }
public struct Transfer { public init() {} }
public struct Settings { public init() {} }
public struct Verb { public init() {} }
public struct Version { public init() {} }
public struct Origin { public init() {} }
public struct Record { public init() {} }
public struct Environment { public init() {} }
public struct Callbacks { public init() {} }
