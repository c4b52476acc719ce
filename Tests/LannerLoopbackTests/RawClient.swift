import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A client that says exactly what it is told to, and reads what comes byte by byte.
final class RawClient {
    /// How the bytes of a connection ended.
    enum End: Equatable {
        case closed
        case reset
    }

    struct Failed: Error {
        var call: String
        var code: Int32
    }

    struct Answer {
        var status: Int
        var fields: [(name: String, value: String)]
        var body: [UInt8] = []
        /// Why the body is shorter than announced; nil when it is complete.
        var end: End?

        subscript(name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let descriptor: Int32
    private var pending: [UInt8] = []
    private var end: End?

    init(port: UInt16) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        // A server that says nothing fails the test instead of holding it.
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        #if canImport(Darwin)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failed(call: "connect", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            #if canImport(Darwin)
            let count = bytes[sent...].withUnsafeBytes { Darwin.send(descriptor, $0.baseAddress, $0.count, 0) }
            #else
            let count = bytes[sent...].withUnsafeBytes {
                sendto(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), nil, 0)
            }
            #endif
            guard count > 0 else { throw Failed(call: "send", code: errno) }
            sent += count
        }
    }

    func finishSending() {
        #if canImport(Glibc)
        shutdown(descriptor, Int32(SHUT_WR))
        #else
        shutdown(descriptor, SHUT_WR)
        #endif
    }

    /// Everything until the connection ends.
    func readToEnd() throws -> (bytes: [UInt8], end: End) {
        while try fill() {}
        defer { pending = [] }
        return (pending, end ?? .closed)
    }

    /// Exactly so many bytes, or fewer when the connection ends.
    func read(_ count: Int) throws -> [UInt8] {
        while pending.count < count, try fill() {}
        let taken = Array(pending.prefix(count))
        pending.removeFirst(taken.count)
        return taken
    }

    /// One answer; the body by its framing.
    func readAnswer(toHead isHead: Bool = false) throws -> Answer {
        var answer = try readHead()
        if isHead || answer.status == 304 || answer.status == 204 { return answer }
        if answer["Transfer-Encoding"] == "chunked" {
            while let chunk = try readChunk(), !chunk.isEmpty { answer.body += chunk }
            answer.end = end
        } else if let length = answer["Content-Length"].flatMap({ Int($0) }) {
            answer.body = try read(length)
            if answer.body.count < length { answer.end = end }
        } else {
            answer.body = try readToEnd().bytes
        }
        return answer
    }

    /// The status line and the header of an answer.
    func readHead() throws -> Answer {
        var lines: [String] = []
        while let line = try readLine(), !line.isEmpty { lines.append(line) }
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw Failed(call: "head: \(lines)", code: 0)
        }
        let fields = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (String(line[..<colon]), line[colon...].dropFirst().trimmingCharacters(in: .whitespaces))
        }
        return Answer(status: status, fields: fields)
    }

    /// The next chunk, empty for the last; nil when the connection ends.
    private func readChunk() throws -> [UInt8]? {
        guard let line = try readLine(), let size = Int(line, radix: 16) else { return nil }
        let chunk = try read(size)
        _ = try readLine()
        return chunk
    }

    private func readLine() throws -> String? {
        while true {
            if let index = pending.firstIndex(of: 0x0A) {
                let line = pending[..<index]
                pending.removeFirst(index + 1)
                return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            }
            if try !fill() { return nil }
        }
    }

    /// Waits for more; false when the connection has ended.
    private func fill() throws -> Bool {
        if end != nil { return false }
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { throw Failed(call: "recv", code: errno) }
        if count <= 0 {
            end = count == 0 ? .closed : .reset
            return false
        }
        pending += buffer[..<count]
        return true
    }
}

extension RawClient {
    /// Sends a request with the given lines after `Host`.
    func ask(_ target: String, _ lines: [String] = [], method: String = "GET", version: String = "1.1") throws {
        let head = ["\(method) \(target) HTTP/\(version)", "Host: 127.0.0.1"] + lines
        try send(head.joined(separator: "\r\n") + "\r\n\r\n")
    }

    /// Sends a request and reads its answer.
    func get(_ target: String, _ lines: [String] = []) throws -> Answer {
        try ask(target, lines)
        return try readAnswer()
    }
}
