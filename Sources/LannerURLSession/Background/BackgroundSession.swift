import Dispatch
import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A session of the system that goes on without the process, and its exchanges.
///
/// There can be one of each identifier in a process, so it stays until the process ends: transports come and go over it.
/// As in ``SessionControl``, URLSession is only called on the control queue, never from inside its callbacks.
// @unchecked Sendable: `session` and `waiting` are only touched on `queue`; the rest is constant or locked.
final class BackgroundSession: @unchecked Sendable {
    typealias Listener = @Sendable (TransportRecovery) -> Void
    /// The number of a transport, which no other one ever has.
    typealias Owner = Int

    fileprivate struct State {
        var lastOwner = 0
        var exchanges: [String: BackgroundExchange] = [:]
        /// A task that is being ended may still say so.
        var discarded: Set<String> = []
        /// Who is to be told what has survived, and to listen from then on, once nobody else does.
        var coming: [(owner: Owner, report: Listener)] = []
        /// Who is told of what comes by itself, and has all exchanges.
        var listener: (owner: Owner, report: Listener)?
        /// Whether all was told while nobody listened.
        var isDelivered = false
        /// Whether the exchanges are all that the session had when it was opened.
        var hasListed = false
    }

    private static let sessions = Locked<[String: BackgroundSession]>([:])

    private let shelf: OutcomeShelf
    private let queue = DispatchQueue(label: "lanner.background.control")
    private let reports = DispatchQueue(label: "lanner.background.reports")
    private let state = Locked(State())
    private var session: URLSession?
    /// What is to be done once it is known what has survived; nil from then on.
    private var waiting: [() -> Void]? = []

    /// The session of an identifier. The directory and the configuration are those of the first call.
    static func shared(
        _ identifier: String, directory: URL, configuration: @escaping @Sendable () -> URLSessionConfiguration
    ) -> BackgroundSession {
        let (session, isNew) = sessions.withLock { sessions in
            if let known = sessions[identifier] { return (known, false) }
            let new = BackgroundSession(OutcomeShelf(directory: directory))
            sessions[identifier] = new
            return (new, true)
        }
        if isNew { session.queue.async { session.open(configuration()) } }
        return session
    }

    private init(_ shelf: OutcomeShelf) {
        self.shelf = shelf
    }

    // MARK: For transports

    /// A number for another transport.
    func makeOwner() -> Owner {
        state.withLock { state in
            state.lastOwner += 1
            return state.lastOwner
        }
    }

    /// Tells a listener of what has survived, behind the last one.
    func recover(for owner: Owner, _ report: @escaping Listener) {
        state.withLock { $0.coming.append((owner, report)) }
        afterListing { [self] in
            readShelf()
            tellNext()
        }
    }

    private func tellNext() {
        // A listener from its first report on: whatever comes to it by itself comes behind that.
        reports.async { [self] in
            guard let (report, survivors, isDelivered) = state.withLock({ $0.begin() }) else { return }
            report(.survivors(survivors))
            if isDelivered { report(.delivered) }
        }
    }

    /// Whether there is an exchange of a name; nil as long as it is not known what has survived.
    func isKnown(_ name: String) -> Bool? {
        state.withLock { $0.hasListed ? $0.exchanges[name] != nil : nil }
    }

    /// Says so once it is known.
    func whenKnown(_ name: String, _ body: @escaping @Sendable (Bool) -> Void) {
        afterListing { [self] in body(isKnown(name) == true) }
    }

    /// Takes up the exchange of a name, or begins it; neither while another has the session.
    func begin(_ request: URLRequest?, resumeData: Data?, name: String, of owner: Owner, for attendance: Attendance) {
        afterListing { [self] in
            guard !attendance.mailbox.isClosed else { return }
            guard !state.withLock({ $0.isTaken(from: owner) }) else {
                attendance.mailbox.abandon(.sessionTaken)
                return
            }
            if let known = state.withLock({ $0.exchanges[name] }) { return known.take(attendance) }
            guard let request else {
                attendance.mailbox.abandon(.leftNothing)
                return
            }
            guard let session else {
                attendance.mailbox.abandon(.sessionEnded)
                return
            }
            let resumed = resumeData.flatMap { session.resumedTask(with: $0, for: request) }
            let task = resumed ?? session.downloadTask(with: request)
            task.taskDescription = name
            let exchange = BackgroundExchange(name, shelf)
            exchange.adopt(task, isResumed: resumed != nil)
            exchange.take(attendance)
            state.withLock { state in
                state.exchanges[name] = exchange
                state.discarded.remove(name)
            }
            task.resume()
        }
    }

    /// Ends the exchange of a name for this receiver, if it has not left it.
    func cancel(_ name: String, for attendance: Attendance) {
        afterListing { [self] in
            if let exchange = state.withLock({ $0.exchanges[name] }) {
                exchange.cancel(attendance)
            } else {
                attendance.mailbox.abandon(.canceled)
            }
        }
    }

    func leave(_ name: String, _ attendance: Attendance) {
        attendance.mailbox.abandon(.invalidated)
        state.withLock { $0.exchanges[name] }?.leave(attendance)
    }

    func stopListening(_ owner: Owner) {
        // Let go of outside the lock.
        let left = state.withLock { $0.end(owner) }
        withExtendedLifetime(left) {}
        afterListing { [self] in tellNext() }
    }

    /// Forgets the exchange of a name, unless another has the session.
    func discard(_ name: String, of owner: Owner) {
        afterListing { [self] in
            if state.withLock({ $0.isTaken(from: owner) }) { return }
            let exchange = state.withLock { state in
                let exchange = state.exchanges.removeValue(forKey: name)
                // Of one that was canceled the system may say so only later.
                if let exchange, exchange.progress != .ended { state.discarded.insert(name) }
                return exchange
            }
            if let exchange { exchange.discard() } else if OutcomeShelf.isName(name) { shelf.remove(name) }
        }
    }

    // MARK: On the control queue

    private func open(_ configuration: URLSessionConfiguration) {
        let relay = BackgroundRelay(
            find: { [weak self] in self?.exchange(of: $0) }, finished: { [weak self] in self?.finished() },
            ended: { [weak self] in self?.end() })
        let session = URLSession(configuration: configuration, delegate: relay, delegateQueue: .delivery())
        self.session = session
        session.getAllTasks { [self] tasks in
            let tasks = Tasks(all: tasks)
            queue.async { self.list(tasks.all) }
        }
    }

    func list(_ tasks: [URLSessionTask]) {
        for task in tasks {
            guard let download = task as? URLSessionDownloadTask, let exchange = exchange(of: task) else {
                task.cancel()
                continue
            }
            exchange.adopt(download)
            // The library suspends none: its process died after making it, before resuming it.
            if download.state == .suspended { download.resume() }
        }
        readShelf()
        state.withLock { $0.hasListed = true }
        let work = waiting ?? []
        waiting = nil
        work.forEach { $0() }
    }

    /// Takes in what has ended before; what cannot be read is left for the next one who asks.
    private func readShelf() {
        let names = shelf.names()
        state.withLock { state in
            for name in names where state.exchanges[name] == nil {
                do {
                    if let outcome = try shelf.outcome(name) {
                        state.exchanges[name] = BackgroundExchange(name, shelf, outcome)
                    } else {
                        // The body of one whose end was not written down: nobody will ask for it.
                        shelf.remove(name)
                    }
                } catch {
                    continue
                }
            }
        }
    }

    private func afterListing(_ work: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            if waiting == nil { work() } else { waiting?.append(work) }
        }
    }

    // MARK: From the relay

    /// The exchange of a task, which may be one of an earlier process that was not known yet.
    func exchange(of task: URLSessionTask) -> BackgroundExchange? {
        guard let name = task.taskDescription, OutcomeShelf.isName(name) else { return nil }
        let (exchange, listener) = state.withLock { state -> (BackgroundExchange?, Listener?) in
            if state.discarded.contains(name) { return (nil, nil) }
            if let known = state.exchanges[name] { return (known.isOwner(of: task) ? known : nil, nil) }
            let new = BackgroundExchange(name, shelf)
            state.exchanges[name] = new
            // One that the system has not listed.
            return (new, state.hasListed ? state.listener?.report : nil)
        }
        if let task = task as? URLSessionDownloadTask { exchange?.own(task) }
        if let listener { reports.async { listener(.survivors([TransportSurvivor(name, .running)])) } }
        return exchange
    }

    /// The system has ended the session, as it does at once in an app extension that names no container it shares with
    /// its app: a task that were made in it would end the process.
    func end() {
        queue.async { [self] in
            session = nil
            // It may never say what it had, nor that this is over.
            if waiting != nil { list([]) }
            for exchange in state.withLock({ Array($0.exchanges.values) }) { exchange.abandon(.sessionEnded) }
        }
    }

    /// Everything that had happened while the process was away has been told to the exchanges: once they have passed it
    /// on, it is delivered.
    func finished() {
        let exchanges = state.withLock { Array($0.exchanges.values) }
        let group = DispatchGroup()
        for exchange in exchanges {
            group.enter()
            exchange.fence { group.leave() }
        }
        group.notify(queue: reports) { [self] in tellDelivered() }
    }

    /// Those that were reported as running, and have ended with nobody attending, are reported as ended before.
    private func tellDelivered() {
        let (report, ended) = state.withLock { state in
            if state.listener == nil { state.isDelivered = true }
            return (state.listener?.report, state.endedUnattended)
        }
        guard let report else { return }
        if !ended.isEmpty { report(.survivors(ended)) }
        report(.delivered)
    }
}

extension BackgroundSession.State {
    /// Makes the next one the listener, if nobody else is; what has survived, and whether all was told while nobody
    /// listened.
    fileprivate mutating func begin() -> (
        report: BackgroundSession.Listener, survivors: [TransportSurvivor], isDelivered: Bool
    )? {
        guard let next = coming.first, !isTaken(from: next.owner) else { return nil }
        coming.removeFirst()
        listener = next
        defer { isDelivered = false }
        let survivors = exchanges.sorted { $0.key < $1.key }
        return (next.report, survivors.map { TransportSurvivor($0.key, $0.value.progress) }, isDelivered)
    }

    /// Whether somebody else has the exchanges.
    fileprivate func isTaken(from owner: BackgroundSession.Owner) -> Bool {
        listener.map { $0.owner != owner } ?? false
    }

    /// An owner is told nothing more; returns its listeners.
    fileprivate mutating func end(_ owner: BackgroundSession.Owner) -> [BackgroundSession.Listener] {
        let left = ([listener].compactMap { $0 } + coming).filter { $0.owner == owner }
        coming.removeAll { $0.owner == owner }
        if listener?.owner == owner { listener = nil }
        return left.map(\.report)
    }

    /// Not those that were interrupted: whoever adopted one as running learns that when it is taken up, and stops.
    fileprivate var endedUnattended: [TransportSurvivor] {
        let ended = exchanges.filter { $0.value.progress == .ended && !$0.value.isAttended }
        return ended.keys.sorted().map { TransportSurvivor($0, .ended) }
    }
}

extension TransportFailure {
    /// Of a second manager, which would take the exchanges of the first one for leftovers.
    fileprivate static let sessionTaken = TransportFailure(
        .unavailable, "The background session of this identifier is in use by another manager.")
    fileprivate static let sessionEnded = TransportFailure(
        .unavailable,
        "The system has ended the background session; in an app extension use URLSessionDownloadTransport.")
    /// What was to be taken up was discarded a moment ago.
    fileprivate static let leftNothing = TransportFailure(.connectionLost, "The exchange is gone.")
}

/// Tasks on their way from URLSession to the control queue, which is where they are used.
// @unchecked Sendable: URLSession's tasks may be used on any thread; not every platform says so.
private struct Tasks: @unchecked Sendable {
    let all: [URLSessionTask]
}

extension URLSession {
    /// A task that goes on with resume data; nil where the request that these bring along may not stand for the one that is
    /// made now.
    fileprivate func resumedTask(with data: Data, for request: URLRequest) -> URLSessionDownloadTask? {
        let task = downloadTask(withResumeData: data)
        guard let original = task.originalRequest, !original.mayStand(for: request) else { return task }
        // It was never resumed, and nobody knows it.
        task.cancel()
        return nil
    }
}

extension URLRequest {
    /// Whether it uses the same networks, and sends no field that the other one does not: the system would wait for ever
    /// for a network that it may not use, and sends everything wherever redirects lead.
    fileprivate func mayStand(for other: URLRequest) -> Bool {
        #if canImport(Darwin)
        guard allowsCellularAccess == other.allowsCellularAccess,
            allowsExpensiveNetworkAccess == other.allowsExpensiveNetworkAccess,
            allowsConstrainedNetworkAccess == other.allowsConstrainedNetworkAccess
        else { return false }
        #endif
        return (allHTTPHeaderFields ?? [:]).keys.allSatisfy { name in
            HeaderFields.isAnonymous(name) || other.value(forHTTPHeaderField: name) != nil
        }
    }
}
