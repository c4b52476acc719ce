import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A port of 127.0.0.1 on which nobody answers, and nobody will: it is taken by a socket that does not listen, or never
/// accepts.
package final class ClosedPort: Sendable {
    package struct Failed: Error {
        package var code: Int32
    }

    package let url: URL
    private let descriptor: Int32

    /// Refuses connections or, when it is to be silent, takes them and says nothing.
    package init(isSilent: Bool = false) throws {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                    && (!isSilent || listen(descriptor, 64) == 0)
            }
        }
        guard isBound, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/file") else {
            let code = errno
            close(descriptor)
            throw Failed(code: code)
        }
        self.url = url
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
