#if os(Linux)
import Foundation
import LannerCore
import LannerCurl
import LannerLoopback
import Testing
import TransportSupport

/// What a program that is started meanwhile does not have: it would keep connections open.
@Suite(.timeLimit(.minutes(10)))
struct InheritanceTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource([1], framing: .close))
        server.always("/file", .hold)
    }

    private func port(ofPeer descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
        }
        guard isKnown, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }

    /// For each connection to the server whether such a program has it.
    private func inherited() throws -> [Bool] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            .filter { port(ofPeer: $0) == server.port }.map { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }
    }

    /// The second one is made by a handle that is used again.
    @Test func aConnectionIsNotInherited() async throws {
        let transport = try CurlTransport()
        for number in 1...2 {
            let recorder = Recorder()
            let exchange = transport.start(server.url("/file"), recorder)
            try await server.waitForStalls(number)
            let isInherited = try inherited()
            #expect(!isInherited.isEmpty && isInherited.allSatisfy { !$0 })
            try server.release()
            #expect(await recorder.end().isComplete)
            #expect(server.activity.connections == number)
            withExtendedLifetime(exchange) {}
        }
    }
}
#endif
