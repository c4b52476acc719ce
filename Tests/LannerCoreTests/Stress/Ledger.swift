@testable import LannerCore

/// Keeps account of what has begun and has to end, exactly once.
final class Ledger: Sendable {
    private struct State {
        var last = 0
        var open: [Int: String] = [:]
        var twice: [String] = []
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Locked(State())

    /// What has not ended.
    var open: [String] { state.withLock { $0.open.values.sorted() } }

    /// What has ended more than once.
    var twice: [String] { state.withLock { $0.twice } }

    func begin(_ name: String) -> Int {
        state.withLock { state in
            state.last += 1
            state.open[state.last] = name
            return state.last
        }
    }

    func end(_ number: Int, _ name: String) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            if state.open.removeValue(forKey: number) == nil { state.twice.append(name) }
            guard state.open.isEmpty else { return [] }
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when nothing is open; throws `CancellationError` when the Swift task is canceled before, as one is whose
    /// time is over.
    func settled() async throws {
        let number = begin("")
        // Only a number of its own.
        end(number, "")
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    if state.open.isEmpty { return .success(()) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }
}
