import LannerMachine

// The system wakes an app in the background for what its transfers have brought, and hands over a handler: once that is
// called the app may be suspended again. So it is called when the files are in their places, and the next requests are out.

/// The handler that the system waits for, and what it waits for in turn.
struct BackgroundDelivery {
    /// The longest it waits, for anything: the system allows for half a minute.
    static let patience = Duration.seconds(20)

    private(set) var handler: CompletionHandler?
    private var number = 0
    /// When all was delivered last, since the last handler was called.
    private var delivered: Duration?
    /// Whether it has waited long enough.
    private var isLate = false
    /// Downloads whose exchange has ended while the process was away, and was not looked at yet.
    var awaited: Set<DownloadID> = []
    /// Requests that wait for their record.
    var beginnings = 0

    mutating func noteDelivered(at now: Duration) { delivered = now }

    /// Takes a handler in the place of the last one; returns its number. All may have been delivered shortly before: what
    /// was long before was delivered for another, which was late, or for none.
    mutating func set(_ handler: CompletionHandler?, at now: Duration) -> Int {
        if let time = delivered, now - time > Self.patience { delivered = nil }
        self.handler = handler
        number += 1
        isLate = false
        return number
    }

    mutating func expire(_ number: Int) {
        if number == self.number { isLate = true }
    }

    mutating func takeHandler() -> CompletionHandler? {
        defer { (handler, delivered, isLate) = (nil, nil, false) }
        return handler
    }

    /// `isAlone`: nothing goes on without the process, of which anything would be delivered.
    func isDue(_ machine: Machine, isAlone: Bool) -> Bool {
        if handler == nil { return false }
        if isLate { return true }
        guard isAlone || delivered != nil, beginnings == 0, !machine.isAtWork else { return false }
        return !awaited.contains { machine[$0]?.isUnsettled == true }
    }
}

extension Download {
    /// Whether it runs or is going to.
    fileprivate var isUnsettled: Bool {
        switch phase {
        case .waiting, .running: true
        case .willSuspend, .willCancel, .willRemove, .suspended, .canceled, .removed, .failed, .succeeded: false
        }
    }
}

/// A closure of the system.
// @unchecked Sendable: it is called once, on the main queue, for which it was made; elsewhere it is only handed on.
final class CompletionHandler: @unchecked Sendable {
    let call: () -> Void

    init(_ call: @escaping () -> Void) {
        self.call = call
    }
}

extension SessionManager {
    /// What the system hands to `application(_:handleEventsForBackgroundURLSession:completionHandler:)` for the session of
    /// this manager's ``identifier``.
    ///
    /// Called once, on the main queue, when all that has happened while the app was suspended or dead has been taken in:
    /// finished files are in their places, or have failed, and the next tasks have begun. At the latest 20 seconds after
    /// it was set; at once when there is nothing to wait for, or when the manager is invalidated. A transport that does
    /// not outlive the process has only files waited for that are on their way to their places. It is nil again by then.
    /// One in whose place another is set is called then, since the system waits for each: do not call it in the other one.
    /// One in whose place nil is set is not called.
    public var completionHandler: (() -> Void)? {
        get { engine.state.withLock { $0.delivery.handler }?.call }
        set { engine.deliver(to: newValue.map(CompletionHandler.init)) }
    }
}

extension Engine {
    func deliver(to handler: CompletionHandler?) {
        var number: Int?
        // Called, or let go of, outside the lock.
        var last: CompletionHandler?
        let now = environment.clock.now
        note { state in
            last = state.delivery.handler
            number = state.delivery.set(handler, at: now)
        }
        guard let number else { return call(handler) }
        if handler == nil { return withExtendedLifetime(last) {} }
        call(last)
        environment.clock.wake(at: now + BackgroundDelivery.patience) { [weak self] in
            self?.note { $0.delivery.expire(number) }
        }
    }

    func call(_ handler: CompletionHandler?) {
        if let handler { environment.mainLane.run { handler.call() } }
    }

    /// Calls the handler behind all that has happened so far, if that is due.
    func deliverIfDue(_ state: inout EngineState) -> Action? {
        guard state.delivery.isDue(state.machine, isAlone: !traits.outlivesProcess) else { return nil }
        let handler = state.delivery.takeHandler()
        return state.makeTicket { [weak self] in self?.call(handler) }.map { .answer($0) }
    }
}
