import Foundation

/// Serves one connection on its own thread: requests in, answers out, in order.
// Not Sendable: everything happens on that thread.
final class Connection {
    /// Why a connection is over.
    enum Ended: Error {
        /// The client closed, or the network did.
        case byClient
        /// The server is being stopped.
        case stopped
        /// The answer ends the connection.
        case byAnswer(Answer.Ending)
        /// What came was no request.
        case badRequest(BadRequest)
    }

    let number: Int
    let host: Host
    private let socket: Socket
    private let stopGate: Gate
    private var input = InputBuffer()
    /// For what arrives and, at other times, for what is sent.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Connection.bufferSize, alignment: 16)
    /// The rate the connection keeps now.
    var pacer: Pacer?

    static let bufferSize = 256 * 1024

    init(socket: Socket, number: Int, host: Host, stopGate: Gate) {
        self.socket = socket
        self.number = number
        self.host = host
        self.stopGate = stopGate
    }

    deinit {
        buffer.deallocate()
    }

    /// Answers requests until the connection is over.
    func serve() {
        do {
            while true { try serveOne() }
        } catch {
            finish(error)
        }
    }

    private func serveOne() throws(Ended) {
        let head = try nextHead()
        try answer(head)
        try skip(head.bodyLength)
    }

    private func answer(_ head: RequestHead) throws(Ended) {
        let now = Date()
        let (number, answer) = host.answer(head, connection: self.number, now: now)
        defer { host.ledger.record { $0.update(number) { $0.isFinished = true } } }
        let sender = AnswerSender(connection: self, request: head, number: number, answer: answer, now: now)
        try sender.send()
    }

    private func finish(_ end: Ended) {
        switch end {
        case .byClient, .stopped:
            break
        case .byAnswer(.close):
            closeOrderly(grace: 0)
        case .byAnswer(.reset):
            socket.resetOnClose()
        case .badRequest(let bad):
            let head = Answer.plain(bad.status).headText(fields: ["Connection": "close", "Content-Length": "0"])
            try? send(Array(head.utf8))
            closeOrderly(grace: 500)
        }
    }
}

// Reading.
extension Connection {
    private func nextHead() throws(Ended) -> RequestHead {
        while true {
            do {
                if let head = try input.nextHead() { return head }
            } catch {
                throw .badRequest(error)
            }
            try awaitInput()
            try receive()
        }
    }

    private func skip(_ count: Int) throws(Ended) {
        var left = count - input.discard(count)
        while left > 0 {
            try awaitInput()
            try receive()
            left -= input.discard(left)
        }
    }

    /// Moves what has arrived to the input.
    private func receive() throws(Ended) {
        switch socket.receive(into: buffer) {
        case .moved(let count): input.append(.init(rebasing: buffer[..<count]))
        case .wouldBlock: break
        case .ended: throw .byClient
        }
    }

    private func awaitInput() throws(Ended) {
        try wait(for: [.readable(socket.descriptor)])
    }

    /// Says that nothing more is sent and takes what still comes, for at most `grace` milliseconds.
    ///
    /// Closing with unread input would make a reset, and the client might lose the end of the answer.
    private func closeOrderly(grace: Int32) {
        socket.finishSending()
        var rounds = 64
        while rounds > 0 {
            rounds -= 1
            switch socket.receive(into: buffer) {
            case .moved: continue
            case .ended: return
            case .wouldBlock:
                let interests = [Poll.Interest.readable(stopGate.descriptor), .readable(socket.descriptor)]
                let ready = Poll.wait(interests, milliseconds: grace)
                if ready[0] || !ready[1] { return }
            }
        }
    }
}

// Waiting and writing, for the sender.
extension Connection {
    /// Keeps a rate from now on; none for nil.
    func adjustPace(_ rate: Int?) {
        if rate != pacer?.rate { pacer = rate.map(Pacer.init(rate:)) }
    }

    /// Waits until a descriptor is ready, or the time is over; throws after the stop.
    @discardableResult
    private func wait(for interests: [Poll.Interest], milliseconds: Int32? = nil) throws(Ended) -> [Bool] {
        let ready = Poll.wait([.readable(stopGate.descriptor)] + interests, milliseconds: milliseconds)
        if ready[0] { throw .stopped }
        return Array(ready.dropFirst())
    }

    /// Waits until the gate opens; throws when the client closes.
    func wait(for gate: Gate) throws(Ended) {
        while !gate.isOpen { try rest(beside: [.readable(gate.descriptor)], milliseconds: nil) }
    }

    /// Waits for a time; throws when the client closes.
    func rest(until deadline: DispatchTime) throws(Ended) {
        while true {
            let now = DispatchTime.now().uptimeNanoseconds
            guard deadline.uptimeNanoseconds > now else { return }
            let milliseconds = (deadline.uptimeNanoseconds - now + 999_999) / 1_000_000
            try rest(beside: [], milliseconds: Int32(clamping: milliseconds))
        }
    }

    /// Waits and takes what arrives meanwhile, which is how a close is noticed.
    private func rest(beside interests: [Poll.Interest], milliseconds: Int32?) throws(Ended) {
        let listens = input.count < RequestHead.limit
        let ready = try wait(
            for: interests + (listens ? [.readable(socket.descriptor)] : []), milliseconds: milliseconds)
        if listens, ready.last == true { try receive() }
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8]) throws(Ended) {
        var sent = 0
        try send(.bytes(bytes), 0..<Int64(bytes.count), counting: &sent)
    }

    /// Sends a stretch of a body, at most as long as the buffer unless the body is in memory. `sent` goes up by what
    /// the kernel took, also when it throws.
    func send(
        _ body: LoopbackServer.Resource.Body, _ range: Range<Int64>, counting sent: inout Int
    ) throws(Ended) {
        switch body {
        case .bytes(let bytes):
            let outcome = bytes.withUnsafeBytes { raw in
                let part = UnsafeRawBufferPointer(rebasing: raw[Int(range.lowerBound)..<Int(range.upperBound)])
                return Result { () throws(Ended) in try send(part, counting: &sent) }
            }
            try outcome.get()
        case .generated:
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
            body.copy(from: range.lowerBound, to: part)
            try send(UnsafeRawBufferPointer(part), counting: &sent)
        }
    }

    private func send(_ bytes: UnsafeRawBufferPointer, counting sent: inout Int) throws(Ended) {
        var rest = bytes
        while !rest.isEmpty {
            switch socket.send(rest) {
            case .moved(let count):
                sent += count
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .wouldBlock: try wait(for: [.writable(socket.descriptor)])
            case .ended: throw .byClient
            }
        }
    }
}
