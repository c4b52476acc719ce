import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

extension StressRound {
    /// Does something where the network changes.
    func onQueue(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let number = work.begin(name)
        networkQueue.async { [work] in
            body()
            work.end(number, name)
        }
    }

    /// Waits for the end of all that was begun, and looks whether all is accounted for.
    func finish(_ end: StressEnd) async throws {
        try await work.settled()
        if end == .rest { try await comeToRest() }
        onThread("invalidate") { [self] in manager?.invalidate() }
        onThread("invalidate again") { [self] in manager?.invalidate() }
        endCallsInCallbacks()
        onQueue("network") { [network] in network.path = NetworkPath() }
        letGoOfObservations()
        try await work.settled()
        // Nobody may go on that waits for an answer of no use.
        becomeWell()
        try await handlers.settled()
        try await listeners.settled()
        try await followers.settled()
        try await work.settled()
        #expect(handlers.twice.isEmpty)
        if let disk = place.disk as? MemoryDisk, end != .release { #expect(disk.openFiles == 0) }
        letGo()
    }

    private func becomeWell() {
        transport.becomeWell()
        if !linkGate.open.isEmpty { linkGate.end(1, "gate") }
    }

    /// Everything goes well from here on, so that every download comes to an end; then all are removed.
    private func comeToRest() async throws {
        let manager = try #require(manager)
        endCallsInCallbacks()
        try await work.settled()
        becomeWell()
        onQueue("network") { [network] in network.path = NetworkPath() }
        try await work.settled()
        let expected = manager.configuration.settings(transport.traits, in: manager.engine.environment)
        #expect(settings(of: manager) == expected)
        manager.configuration = StressCalls.configuration
        for context in Self.contexts {
            manager.context = context
            // At a byte a second nothing comes to its end.
            for task in manager.tasks { task.maximumBytesPerSecond = nil }
            try await asked("totalStart at last") { done in manager.totalStart(onMainQueue: false) { _ in done() } }
            for task in manager.tasks { _ = try? await task.file }
            let tasks = manager.tasks
            #expect(tasks.allSatisfy { $0.status.isAtRest }, "\(tasks.map { "\($0.key) \($0.status)" })")
        }
        for context in Self.contexts {
            manager.context = context
            try await asked("totalRemove at last") { done in manager.totalRemove { _ in done() } }
            #expect(manager.tasks.isEmpty)
            #expect(manager.taskCounts.all == 0)
        }
        try await handlers.settled()
        try await listeners.settled()
        #expect(transport.scripted.underway == 0)
    }

    /// Waits for a handler.
    private func asked(_ name: String, _ body: (@escaping @Sendable () -> Void) -> Void) async throws {
        let ledger = Ledger()
        let number = ledger.begin(name)
        body { ledger.end(number, name) }
        try await ledger.settled()
    }

    private func settings(of manager: SessionManager) -> Settings {
        manager.engine.state.withLock { $0.machine.settings }
    }

    /// What has not ended, when the time is over.
    var account: String {
        "handlers \(handlers.open), calls \(work.open), listeners \(listeners.open + followers.open)"
    }
}
