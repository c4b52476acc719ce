import LannerCore

/// A number that only grows, and Swift tasks that wait for it.
final class Gauge: Sendable {
    private struct State {
        var value = 0
        var lastWaiter: UInt64 = 0
        var waiting: [UInt64: (goal: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
    }

    private let state = Locked(State())

    /// Adds one, and lets those go on who waited for that.
    func raise() {
        let reached = state.withLock { state in
            state.value += 1
            if state.waiting.isEmpty { return [CheckedContinuation<Void, any Error>]() }
            let value = state.value
            let reached = state.waiting.filter { $0.value.goal <= value }
            for id in reached.keys { state.waiting[id] = nil }
            return reached.sorted { $0.key < $1.key }.map(\.value.continuation)
        }
        for continuation in reached { continuation.resume() }
    }

    /// Returns when the number is `goal` or more; throws `CancellationError` when the Swift task is canceled before.
    func wait(for goal: Int) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if state.value >= goal { return .success(()) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[id] = (goal, continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiting.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}
