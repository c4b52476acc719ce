import Dispatch

/// A value that one caller at a time works with, for as long as its files take.
///
/// Unlike ``Locked`` it may be held while calls to the disk block; it is never held while a callback runs.
// @unchecked Sendable: `value` is only touched between `wait` and `signal` of `turn`.
final class Exclusive<Value>: @unchecked Sendable {
    private let turn = DispatchSemaphore(value: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func use<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        turn.wait()
        defer { turn.signal() }
        return try body(&value)
    }
}
