import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connection to a port of 127.0.0.1, for looking whether a server is there and for single requests.
struct LocalConnection {
    private let handle: FileHandle

    /// Connects; nil when no one listens.
    init?(port: UInt16) {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return nil }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if connected != 0 { return nil }
    }

    /// Sends a GET that closes, with the given lines; everything that comes back, as text.
    func get(_ target: String, _ lines: [String] = []) throws -> String {
        let head = ["GET \(target) HTTP/1.1", "Host: 127.0.0.1", "Connection: close"] + lines
        try handle.write(contentsOf: Data((head.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }
}

/// Waiting for another process, which cannot be asked to tell.
enum Patience {
    /// Tries until it succeeds, for some minutes at most, which a machine with much else to do may need; whether it did.
    static func tries(_ attempt: (Int) throws -> Bool) rethrows -> Bool {
        for count in 0..<20_000 {
            if try attempt(count) { return true }
            poll(nil, 0, 10)
        }
        return false
    }
}
