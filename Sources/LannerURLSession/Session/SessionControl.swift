import Dispatch
import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Owns a URLSession and its tasks.
///
/// URLSession is only ever called on one serial queue, the control queue, and never from inside its own callbacks:
/// on Linux creating a task there kills the process, and canceling one deadlocks. The queue may be held up for as
/// long as URLSession is (a resolver that does not answer stops all of it), so nothing an owner waits for, like the
/// report of a cancellation, depends on it.
// @unchecked Sendable: `session`, `running` and `gate` are only touched on `queue`; the rest is constant or locked.
final class SessionControl: @unchecked Sendable {
    private enum Session {
        /// Made with the first task, so that an unused transport costs nothing.
        case unopened
        case open(URLSession)
        /// For good. A task made on an invalidated session kills the process on Linux.
        case closed
    }

    private struct Running {
        var task: URLSessionTask
        var host: String
    }

    private struct Live {
        var isOpen = true
        var exchanges: [ObjectIdentifier: any SessionExchange] = [:]
    }

    private let queue = DispatchQueue(label: "lanner.transport.control")
    private let relay: SessionRelay
    private let connectionsPerHost: Int
    private let live = Locked(Live())

    private var session = Session.unopened
    private var running: [ObjectIdentifier: Running] = [:]
    private var gate: HostGate<any SessionExchange>

    init(relay: SessionRelay, connectionsPerHost: Int) {
        self.relay = relay
        self.connectionsPerHost = max(1, connectionsPerHost)
        gate = HostGate(limit: self.connectionsPerHost)
    }

    /// Begins an exchange as soon as its host's limit allows.
    func begin(_ exchange: any SessionExchange) {
        let isAccepted = live.withLock { live in
            if live.isOpen { live.exchanges[ObjectIdentifier(exchange)] = exchange }
            return live.isOpen
        }
        if isAccepted {
            queue.async { self.enter(exchange) }
        } else {
            exchange.abandon(.invalidated)
        }
    }

    /// Stops the task of an exchange that is over for its owner.
    func stop(_ exchange: any SessionExchange) {
        queue.async { self.halt(exchange) }
    }

    /// URLSession has ended the task by itself.
    func ended(_ exchange: any SessionExchange) {
        queue.async { self.forget(exchange) }
    }

    /// Ends every exchange, and the session behind them.
    func invalidate() {
        let orphans = live.withLock { live in
            live.isOpen = false
            return Array(live.exchanges.values)
        }
        for exchange in orphans { exchange.abandon(.invalidated) }
        queue.async { self.close() }
    }

    // MARK: On the control queue

    private func enter(_ exchange: any SessionExchange) {
        guard !exchange.isOver else { return halt(exchange) }
        // Never resume more than may run: a task that waits for a connection inside URLSession times out there.
        if gate.enter(exchange, host: exchange.host) { launch(exchange) }
    }

    private func launch(_ exchange: any SessionExchange) {
        guard let session = openSession() else { return exchange.abandon(.invalidated) }
        let task = exchange.makeTask(in: session)
        running[ObjectIdentifier(exchange)] = Running(task: task, host: exchange.host)
        relay.connect(task, to: exchange)
        task.resume()
    }

    private func halt(_ exchange: any SessionExchange) {
        let task = running[ObjectIdentifier(exchange)]?.task
        if let task, !exchange.isToldToTheEnd { relay.disconnect(task) }
        exchange.stop(task)
        // Behind that: whoever has its place is not to be one connection too many.
        forget(exchange)
    }

    private func forget(_ exchange: any SessionExchange) {
        live.withLock { $0.exchanges[ObjectIdentifier(exchange)] = nil }
        guard let ended = running.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
        leave(ended.host)
    }

    /// Gives a freed place to the first that still wants it.
    private func leave(_ host: String) {
        while let next = gate.leave(host: host) {
            if !next.isOver { return launch(next) }
        }
    }

    private func openSession() -> URLSession? {
        switch session {
        case .open(let session):
            return session
        case .closed:
            return nil
        case .unopened:
            let new = URLSession(
                configuration: .quiet(connectionsPerHost: connectionsPerHost), delegate: relay,
                delegateQueue: .delivery())
            session = .open(new)
            return new
        }
    }

    private func close() {
        // Every exchange was abandoned, and what stops it is already queued behind this or done.
        if case .open(let session) = session {
            // Not `invalidateAndCancel`: on Linux it walks the list of tasks while another thread changes it.
            session.finishTasksAndInvalidate()
        }
        session = .closed
    }
}
