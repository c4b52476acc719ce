import Foundation

/// Sends one answer, with what is wrong with it.
final class AnswerSender {
    typealias Ended = Connection.Ended

    private let connection: Connection
    private let request: RequestHead
    private let number: Int
    private let answer: Answer
    private let now: Date
    private let framing: LoopbackServer.Resource.Framing
    /// Bytes of body sent.
    private var sent: Int64 = 0

    init(connection: Connection, request: RequestHead, number: Int, answer: Answer, now: Date) {
        self.connection = connection
        self.request = request
        self.number = number
        self.answer = answer
        self.now = now
        // Clients of HTTP/1.0 know no chunks.
        framing = answer.framing == .chunked && request.isOld ? .close : answer.framing
    }

    /// Sends the answer; throws when it, or anything else, ends the connection.
    func send() throws(Ended) {
        if answer.waitsFirst { try stall() }
        try sendHead()
        if hasBody {
            try sendBody()
            if let ending = answer.ending { throw .byAnswer(ending) }
        }
        if !staysOpen { throw .byAnswer(.close) }
    }

    private var hasBody: Bool { request.method != "HEAD" && answer.mayHaveBody }

    private var staysOpen: Bool {
        request.allowsKeepAlive && (framing != .close || !hasBody)
    }
}

// The header.
extension AnswerSender {
    private func sendHead() throws(Ended) {
        switch answer.head {
        case .raw(let bytes):
            try connection.send(bytes)
            throw .byAnswer(answer.ending ?? .close)
        case .half:
            let head = Array(headText.utf8)
            try connection.send(Array(head[..<(head.count / 2)]))
            throw .byAnswer(answer.ending ?? .close)
        case .whole:
            connection.host.ledger.record { $0.update(number) { $0.status = self.answer.status } }
            try connection.send(Array(headText.utf8))
        }
    }

    private var headText: String {
        var fields = LoopbackServer.Fields()
        fields.append("Date", HTTPDate.text(now))
        // A fault does not announce itself.
        fields.append("Connection", staysOpen ? "keep-alive" : "close")
        if answer.mayHaveBody { addFraming(to: &fields) }
        return answer.headText(fields: fields)
    }

    private func addFraming(to fields: inout LoopbackServer.Fields) {
        if let claimed = answer.claimedLength {
            fields.append("Content-Length", String(claimed))
            return
        }
        switch framing {
        case .contentLength: fields.append("Content-Length", String(answer.length))
        case .chunked: fields.append("Transfer-Encoding", "chunked")
        case .close: break
        }
    }
}

extension Answer {
    /// The status line and the header; the answer's own fields replace the given ones.
    func headText(fields given: LoopbackServer.Fields) -> String {
        var fields = given
        fields.override(with: self.fields)
        let lines = fields.lines.map { "\($0.name): \($0.value)\r\n" }
        return "HTTP/1.1 \(status) \(Answer.reason(status))\r\n" + lines.joined() + "\r\n"
    }
}

// The body.
extension AnswerSender {
    private func sendBody() throws(Ended) {
        if answer.stallsAfter == 0 { try stall() }
        for segment in answer.segments { try send(segment) }
        try stopWhenDue()
        if framing == .chunked { try connection.send(Array("0\r\n\r\n".utf8)) }
    }

    private func stopWhenDue() throws(Ended) {
        if let stop = answer.stopsAfter, sent >= stop { throw .byAnswer(answer.ending ?? .close) }
    }

    private func send(_ segment: Answer.Segment) throws(Ended) {
        var position = segment.range.lowerBound
        while position < segment.range.upperBound {
            try stopWhenDue()
            let count = nextCount(Int(clamping: segment.range.upperBound - position))
            try sendPiece(segment.body, at: position, count: count)
            position += Int64(count)
            if sent == answer.stallsAfter { try stall() }
        }
    }

    /// How much of what is left goes at once: up to the buffer's size, the pacer's portion, the next fault.
    private func nextCount(_ left: Int) -> Int {
        let rates = [answer.bytesPerSecond, connection.host.state.withLock { $0.bytesPerSecond }]
        connection.adjustPace(rates.compactMap(\.self).min())
        var count = min(left, Connection.bufferSize, connection.pacer?.portion ?? .max)
        for fault in [answer.stopsAfter, answer.stallsAfter] {
            if let fault, fault > sent { count = min(count, Int(clamping: fault - sent)) }
        }
        return count
    }

    private func sendPiece(_ body: LoopbackServer.Resource.Body, at position: Int64, count: Int) throws(Ended) {
        if framing == .chunked { try connection.send(Array("\(String(count, radix: 16))\r\n".utf8)) }
        try sendCounted(body, position..<position + Int64(count))
        if framing == .chunked { try connection.send(Array("\r\n".utf8)) }
        sent += Int64(count)
        if let deadline = connection.pacer?.count(count) { try connection.rest(until: deadline) }
    }

    /// Sends and counts; counts first, so that a client that has the bytes finds them counted.
    private func sendCounted(_ body: LoopbackServer.Resource.Body, _ range: Range<Int64>) throws(Ended) {
        connection.host.count(Int64(range.count), number, request.path)
        var taken = 0
        defer {
            if taken < range.count { connection.host.count(Int64(taken - range.count), number, request.path) }
        }
        try connection.send(body, range, counting: &taken)
    }

    private func stall() throws(Ended) {
        let gate = connection.host.state.withLock { $0.release }
        connection.host.ledger.record { $0.stalls += 1 }
        try connection.wait(for: gate)
    }
}
