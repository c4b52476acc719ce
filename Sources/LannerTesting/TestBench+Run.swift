import Foundation
import LannerCore

// Asynchronous code over a bench.

extension TestBench {
    /// Runs asynchronous code of yours to its end, and with it all that happens in the manager: that on the main actor,
    /// whoever calls this.
    ///
    /// While a task runs or waits time passes as soon as nothing else happens, whatever your code is about to do; no
    /// real time is waited for. Where it decides something between two events, let things happen by the other methods.
    ///
    /// ```swift
    /// let file = try await bench.run { try await app.fetchEpisode() }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: How much real time the code has: what it waits for may never come.
    ///   - work: The code.
    /// - Returns: What the code returns.
    /// - Throws: What it throws, or ``Overdue``: the code is canceled then, and not waited for any longer. When the
    ///   Swift task that calls is canceled, the code is.
    public func run<Value: Sendable>(
        within limit: Duration = .seconds(600), _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let isOver = Locked(false)
        let running = Task {
            defer { isOver.withLock { $0 = true } }
            return try await work()
        }
        return try await withTaskCancellationHandler {
            if await !letThingsHappen(until: isOver, within: limit) {
                let overdue = Overdue(self, limit)
                running.cancel()
                throw overdue
            }
            return try await running.value
        } onCancel: {
            running.cancel()
        }
    }

    /// On the main actor, whose closures the main lane takes for anybody's. False when the code had no end in time.
    @MainActor
    func letThingsHappen(until isOver: Locked<Bool>, within limit: Duration) async -> Bool {
        let end = ContinuousClock.now + limit
        var idleTurns = 0
        while !isOver.withLock({ $0 }) {
            if ContinuousClock.now >= end { return false }
            idleTurns = takeTurn() ? 0 : idleTurns + 1
            // The code is woken by what has happened, and nothing tells when it waits again.
            if idleTurns < Self.manyTurns { await Task.yield() } else { await Self.rest() }
        }
        // What the code has asked for last, so far as it takes no time.
        var standstill = Standstill()
        _ = letHappen(&standstill)
        return true
    }

    /// After so many turns in which nothing has happened the code waits for something else than the bench.
    private static let manyTurns = 1000

    /// Lets happen what can, and then time pass where the manager waits for that; false when there was neither.
    @MainActor
    private func takeTurn() -> Bool {
        var standstill = Standstill()
        let hasRun = letHappen(&standstill)
        // A provider needs no time of the bench's.
        guard manager.status == .running, !waitsForLink, let next = clock.nextDeadline else { return hasRun }
        advance(to: next, &standstill)
        return true
    }

    /// In a Swift task of its own: one that is canceled would not sleep.
    private static func rest() async {
        await Task { try? await Task.sleep(for: .milliseconds(1)) }.value
    }
}

extension TestBench {
    /// What ``run(within:_:)`` throws when the code has not ended in time: what it waits for does not come by itself.
    public struct Overdue: Error, Sendable, Hashable {
        /// How much real time the code had.
        public var limit: Duration
        /// Where the manager stood.
        public var status: Status
        /// How many of its tasks had which status.
        public var tasks: [Status: Int]
        /// How many exchanges had begun and not ended: a script may hold them.
        public var exchanges: Int
        /// How many commits were held: see ``FaultyStore/hold()``.
        public var commits: Int
        /// How many links were awaited: of ``ManualLinks``, or of the bench's provider.
        public var links: Int

        fileprivate init(_ bench: TestBench, _ limit: Duration) {
            self.limit = limit
            status = bench.manager.status
            tasks = Dictionary(grouping: bench.manager.tasks, by: \.status).mapValues(\.count)
            exchanges = bench.transport.underway
            commits = bench.store.held
            links = bench.awaitedLinks
        }
    }
}

extension TestBench.Overdue: LocalizedError, CustomStringConvertible {
    /// One sentence: what is waiting, as far as the bench knows.
    public var errorDescription: String? { description }
    /// One sentence: what is waiting, as far as the bench knows.
    public var description: String {
        let counts = Status.allCases.compactMap { status in tasks[status].map { "\($0) \(status.rawValue)" } }
        return """
            The code has not ended within \(limit); the manager is \(status.rawValue); tasks: \
            \(counts.isEmpty ? "none" : counts.joined(separator: ", ")); exchanges under way: \(exchanges); commits \
            held: \(commits); links awaited: \(links).
            """
    }
}
