/// Keeps what has happened, and wakes those who wait for something to happen.
final class Ledger: Sendable {
    typealias Activity = LoopbackServer.Activity
    typealias Condition = @Sendable (Activity) -> Bool

    private struct Waiter {
        var condition: Condition
        var continuation: CheckedContinuation<Activity, any Error>
    }

    private struct State {
        var activity = Activity()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isStopped = false

        mutating func takeSatisfied() -> [(CheckedContinuation<Activity, any Error>, Activity)] {
            let met = waiters.filter { $0.value.condition(activity) }
            for key in met.keys { waiters[key] = nil }
            return met.values.map { ($0.continuation, activity) }
        }
    }

    private let state = Guarded(State())

    var activity: Activity { state.withLock { $0.activity } }

    /// Records something and wakes those whose condition holds now.
    @discardableResult
    func record<Result>(_ change: (inout Activity) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            let result = change(&state.activity)
            return (result, state.waiters.isEmpty ? [] : state.takeSatisfied())
        }
        for (continuation, activity) in woken { continuation.resume(returning: activity) }
        return result
    }

    /// Returns as soon as the condition holds; throws when the task is canceled or the server is stopped meanwhile.
    func wait(until condition: @escaping Condition) async throws -> Activity {
        let key = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(Waiter(condition: condition, continuation: continuation), key)
            }
        } onCancel: {
            fail(key)
        }
    }

    /// The server runs again: waits make sense.
    func start() {
        state.withLock { $0.isStopped = false }
    }

    /// Ends all waits, also those to come until the start: nothing happens any more.
    func stop() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.isStopped = true
            return state.waiters.values
        }
        for waiter in waiters { waiter.continuation.resume(throwing: LoopbackServer.Failure.stopped) }
    }

    private func add(_ waiter: Waiter, _ key: Int) {
        let outcome: Result<Activity, any Error>? = state.withLock { state in
            if waiter.condition(state.activity) { return .success(state.activity) }
            if state.isStopped { return .failure(LoopbackServer.Failure.stopped) }
            state.waiters[key] = waiter
            return nil
        }
        if let outcome { waiter.continuation.resume(with: outcome) }
        // A cancellation that came before the waiter was there found nothing to end.
        if Task.isCancelled { fail(key) }
    }

    private func fail(_ key: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: key) }
        waiter?.continuation.resume(throwing: CancellationError())
    }
}
