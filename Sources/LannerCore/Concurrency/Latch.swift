import Foundation

/// Something that happens once, and that any number of threads may wait for.
// @unchecked Sendable: `hasHappened` is only touched between `lock` and `unlock` of `condition`.
package final class Latch: @unchecked Sendable {
    private let condition = NSCondition()
    private var hasHappened = false

    package init() {}

    package var isOpen: Bool {
        condition.lock()
        defer { condition.unlock() }
        return hasHappened
    }

    /// It has happened. Twice does nothing.
    package func open() {
        condition.lock()
        hasHappened = true
        condition.broadcast()
        condition.unlock()
    }

    /// Returns when it has happened.
    package func wait() {
        condition.lock()
        while !hasHappened { condition.wait() }
        condition.unlock()
    }
}
