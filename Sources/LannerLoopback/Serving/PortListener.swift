import Foundation

/// Takes connections on a port and serves each on a thread of its own, until it is stopped.
final class PortListener: Sendable {
    let port: UInt16
    private let socket: Socket
    private let host: Host
    private let stopGate: Gate
    private let limit: Int
    private let slots: Slots
    private let threads = DispatchGroup()

    init(port: UInt16, limit: Int, host: Host) throws(LoopbackServer.Failure) {
        socket = try Socket.listening(on: port)
        self.port = try socket.port()
        self.host = host
        self.limit = limit
        stopGate = try Gate()
        slots = Slots(limit)
        spawn { $0.acceptAll() }
    }

    /// Whether `stop` was called.
    var isStopping: Bool { stopGate.isOpen }

    /// Closes everything and waits for the threads. On one of them it does not wait, and says false.
    func stop() -> Bool {
        stopGate.open()
        slots.open()
        if PortListener.isOwnThread { return false }
        threads.wait()
        return true
    }

    private func acceptAll() {
        defer { socket.close() }
        while slots.take() {
            guard let connection = nextConnection() else { return }
            let number = host.ledger.record { activity in
                activity.connections += 1
                activity.openConnections += 1
                return activity.connections
            }
            spawn { $0.serve(connection, number) }
        }
    }

    /// The next connection; nil after the stop.
    private func nextConnection() -> Socket? {
        while !stopGate.isOpen {
            if let taken = socket.accept() { return taken }
            // Out of descriptors, `accept` fails while the socket stays readable: hence the pause.
            let ready = Poll.wait([.readable(stopGate.descriptor), .readable(socket.descriptor)])
            if ready[1], let taken = socket.accept() { return taken }
            if ready[1] { _ = Poll.wait([.readable(stopGate.descriptor)], milliseconds: 10) }
        }
        return nil
    }

    private func serve(_ socket: Socket, _ number: Int) {
        Connection(socket: socket, number: number, host: host, stopGate: stopGate).serve()
        socket.close()
        host.ledger.record { $0.openConnections -= 1 }
        slots.give()
    }

    private func spawn(_ work: @escaping @Sendable (PortListener) -> Void) {
        threads.enter()
        let thread = Thread {
            PortListener.isOwnThread = true
            work(self)
            self.threads.leave()
        }
        thread.name = "lanner.loopback"
        thread.start()
    }

    private static let mark = "lanner.loopback"

    private static var isOwnThread: Bool {
        get { Thread.current.threadDictionary[mark] != nil }
        set { Thread.current.threadDictionary[mark] = newValue ? mark : nil }
    }
}

/// A number of places; who wants one waits until there is one, or until it no longer matters.
// @unchecked Sendable: the variables are only touched while `condition` is locked.
final class Slots: @unchecked Sendable {
    private let condition = NSCondition()
    private var free: Int
    private var isOpen = false

    init(_ count: Int) {
        free = max(1, count)
    }

    /// Waits for a place and takes it; false after `open`.
    func take() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while free == 0, !isOpen { condition.wait() }
        free -= 1
        return !isOpen
    }

    /// Gives a place back.
    func give() {
        condition.lock()
        defer { condition.unlock() }
        free += 1
        condition.signal()
    }

    /// Ends all waiting.
    func open() {
        condition.lock()
        defer { condition.unlock() }
        isOpen = true
        condition.broadcast()
    }
}
