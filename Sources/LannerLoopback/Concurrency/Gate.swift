import Foundation

/// A gate that opens once and then stays open, and that `poll` can wait for beside a socket.
final class Gate: Sendable {
    /// Readable (at its end) as soon as the gate is open.
    let descriptor: Int32
    private let writer: Guarded<Int32?>

    /// Makes a closed gate.
    init() throws(LoopbackServer.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LoopbackServer.Failure.system("pipe") }
        descriptor = ends[0]
        writer = Guarded(ends[1])
        for end in ends { Socket.closeOnExec(end) }
    }

    deinit {
        open()
        close(descriptor)
    }

    /// Whether the gate is open.
    var isOpen: Bool { writer.withLock { $0 == nil } }

    /// Opens the gate; everyone who waits goes on. Twice does nothing.
    func open() {
        writer.withLock { end in
            if let end { close(end) }
            end = nil
        }
    }
}
