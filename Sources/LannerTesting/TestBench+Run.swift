import LannerCore

// Asynchronous code over a bench.

extension TestBench {
    /// Runs asynchronous code of yours to its end, and with it all that happens in the manager: on the main actor, as in an
    /// app, whoever calls this.
    ///
    /// While a task runs or waits time passes as soon as nothing else happens, whatever your code is about to do; no real
    /// time is waited for. Where it decides something between two events, let things happen by the other methods.
    ///
    /// ```swift
    /// let file = try await bench.run { try await app.fetchEpisode() }
    /// ```
    ///
    /// - Returns: What the code returns.
    /// - Throws: What it throws. When the Swift task that calls is canceled, the code is.
    public func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let isOver = Locked(false)
        let running = Task {
            defer { isOver.withLock { $0 = true } }
            return try await work()
        }
        return try await withTaskCancellationHandler {
            await letThingsHappen(until: isOver)
            return try await running.value
        } onCancel: {
            running.cancel()
        }
    }

    /// On the main actor, whose closures the main lane takes for anybody's.
    @MainActor
    private func letThingsHappen(until isOver: Locked<Bool>) async {
        while !isOver.withLock({ $0 }) {
            settle()
            if manager.status == .running, let next = clock.nextDeadline { advance(to: next) }
            // The code is woken by what has happened, and nothing tells when it waits again.
            await Task.yield()
        }
    }
}
