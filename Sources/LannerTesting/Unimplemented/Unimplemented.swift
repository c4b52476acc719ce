/// What an unimplemented fake does when it is touched: it hands a sentence to this, which fails the test.
///
/// With Swift Testing and with XCTest:
///
/// ```swift
/// UnimplementedTransport { Issue.record("\($0)") }
/// UnimplementedTransport { XCTFail($0) }
/// ```
///
/// Called on the thread that touched the fake, once for each time.
public typealias UnimplementedHandler = @Sendable (_ message: String) -> Void

/// Tells of one touch.
struct Touch: Sendable {
    let type: String
    let handler: UnimplementedHandler

    /// Ends the process, with the sentence as its last words: better than a test that passes for the wrong reason.
    static let trap: UnimplementedHandler = { fatalError($0) }

    func report(_ what: String) {
        handler("\(type) was asked for \(what), in a test that says it must not be used.")
    }
}
