import Foundation
import LannerCore

// Exchanges that outlive the process.

extension ScriptedTransport {
    /// Ends every exchange that outlives the process, as users do who close an app by hand: they have failed with
    /// `TransportFault.canceled`, and have left resume data where they can. The process ends as well: see
    /// ``TestBench/relaunch(configuration:store:meanwhile:)``.
    public func forceQuit() {
        for exchange in state.withLock({ $0.namedExchanges }) {
            exchange.fail(TransportFailure(.canceled, "The app was closed by hand."))
        }
    }

    /// The names of the exchanges that are kept, in alphabetical order.
    public var keptNames: [String] { state.withLock { $0.named.keys.sorted() } }

    /// Whether it is not told what has survived until this is false again. False unless set.
    public var holdsRecovery: Bool {
        get { state.withLock { $0.holdsRecovery } }
        set {
            state.withLock { $0.holdsRecovery = newValue }
            if !newValue { tellSurvivors() }
        }
    }

    /// Whether exchanges with header fields that not everybody may see are kept as well. False unless set: as over a
    /// background session, which sends them along when it follows a redirect, they end with the process.
    public var trustsRedirects: Bool {
        get { state.withLock { $0.trustsRedirects } }
        set { state.withLock { $0.trustsRedirects = newValue } }
    }

    /// Says that all has been delivered, as the system does each time after it has woken the process.
    public func tellDelivered() {
        state.withLock { $0.listener }?(.delivered)
    }

    /// Tells what has survived, and that what came of it waits. See `Transport.recover(_:)`.
    public func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) {
        guard traits.outlivesProcess else { return }
        state.withLock { $0.listener = report }
        if !holdsRecovery { tellSurvivors() }
    }

    private func tellSurvivors() {
        let (listener, named) = state.withLock { ($0.listener, $0.named.mapValues(\.exchange)) }
        guard let listener else { return }
        let left = named.filter { !$0.value.isTaken }.sorted { $0.key < $1.key }
        listener(.survivors(left.map { TransportSurvivor($0.key, $0.value.progress) }))
        listener(.delivered)
    }

    /// Ends an exchange, and forgets it. See `Transport.discard(_:)`.
    public func discard(_ name: String) {
        let exchange = state.withLock { $0.named.removeValue(forKey: name)?.exchange }
        exchange?.cancel()
    }

    /// The name under which an exchange is kept; nil for one that ends with the process.
    func name(of request: TransportRequest) -> String? {
        traits.outlivesProcess && (trustsRedirects || request.isAnonymous) ? request.name : nil
    }

    /// The exchange that is kept under the name of a request, with another receiver.
    func takeUp(
        _ request: TransportRequest, _ receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> (any TransportExchange)? {
        guard !isInvalidated.withLock({ $0 }), traits.outlivesProcess, let name = request.name else { return nil }
        guard let exchange = state.withLock({ $0.named[name]?.exchange }) else { return nil }
        return ScriptedAttendance(exchange, number: exchange.take(receive))
    }
}

/// An exchange that outlives the process, for one of its receivers: once that is told nothing more, it has no say.
final class ScriptedAttendance: TransportExchange {
    private let exchange: ScriptedExchange
    private let number: Int

    init(_ exchange: ScriptedExchange, number: Int = 1) {
        self.exchange = exchange
        self.number = number
    }

    func cancel() {
        if exchange.tells(number) { exchange.cancel() }
    }

    func pause() {}
    func resume() {}
}
