import Foundation
import LannerCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A server on ::1 that answers the first request with the same bytes whatever it is, and closes.
final class OneAnswerServer: Sendable {
    let port: UInt16
    private let listener: Listener

    /// What it was sent, once it has answered.
    var request: String { String(decoding: listener.received.withLock { $0 }, as: UTF8.self) }

    /// Closed when neither the server nor its thread holds it, so that the number is nobody else's before.
    private final class Listener: Sendable {
        let descriptor: Int32
        let received = Locked<[UInt8]>([])

        init(_ descriptor: Int32) {
            self.descriptor = descriptor
        }

        deinit {
            close(descriptor)
        }
    }

    /// Nil where there is no IPv6.
    init?(_ answer: String) {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET6, SOCK_STREAM, 0)
        #endif
        let listener = Listener(descriptor)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 1) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else { return nil }
        port = UInt16(bigEndian: address.sin6_port)
        self.listener = listener
        Thread.detachNewThread { Self.serve(listener, Array(answer.utf8)) }
    }

    deinit {
        // Ends a wait for a connection that never came.
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
    }

    private static func serve(_ listener: Listener, _ answer: [UInt8]) {
        let connection = accept(listener.descriptor, nil, nil)
        guard connection >= 0 else { return }
        defer { close(connection) }
        var byte: UInt8 = 0
        var request: [UInt8] = []
        while request.suffix(4) != Array("\r\n\r\n".utf8), read(connection, &byte, 1) == 1 { request.append(byte) }
        listener.received.withLock { $0 = request }
        _ = write(connection, answer, answer.count)
    }
}
