#if os(macOS) || os(Linux)
import Foundation
import LannerLoopback
import Testing

/// The servers of the system do what the other tests here take for granted.
@Suite(.timeLimit(.minutes(10)))
struct RealServerTests {
    private func get(_ server: RealServer, _ target: String, _ lines: String...) throws -> String {
        try #require(LocalConnection(port: server.port)).get(target, lines)
    }

    @Test(.enabled(if: RealServer.isThere(.nginx), "nginx is not installed"))
    func nginxServesRangesAndLogs() throws {
        let server = try RealServer(.nginx, bytesPerSecond: 1 << 20)
        try server.put("file.bin", .init("0123456789".utf8, lastModified: Date(timeIntervalSince1970: 784_111_777)))
        let whole = try get(server, "/file.bin")
        #expect(whole.hasPrefix("HTTP/1.1 200"))
        #expect(whole.contains("ETag: \""))
        #expect(whole.contains("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"))
        let part = try get(server, "/file.bin", "Range: bytes=2-4")
        #expect(part.hasPrefix("HTTP/1.1 206"))
        #expect(part.hasSuffix("\r\n\r\n234"))
        let log = try server.accessLog(atLeast: 2)
        #expect(log.map(\.status) == [200, 206])
        #expect(log.map(\.bodyBytes) == [10, 3])
        #expect(log[0].bytes == Int64(whole.utf8.count))
        #expect(log.map(\.path) == ["/file.bin", "/file.bin"])
        #expect(log.map(\.range) == ["-", "bytes=2-4"])
    }

    @Test(.enabled(if: RealServer.isThere(.lighttpd), "lighttpd is not installed"))
    func lighttpdServesRanges() throws {
        let server = try RealServer(.lighttpd)
        try server.put("file.bin", .init("0123456789".utf8))
        #expect(try get(server, "/file.bin").contains("ETag: \""))
        let part = try get(server, "/file.bin", "Range: bytes=2-4")
        #expect(part.hasPrefix("HTTP/1.1 206"))
        #expect(part.hasSuffix("\r\n\r\n234"))
    }

    @Test(.enabled(if: RealServer.isThere(.python3), "python3 is not installed"))
    func pythonKnowsNoRanges() throws {
        let server = try RealServer(.python3)
        try server.put("file.bin", .init("0123456789".utf8))
        let answer = try get(server, "/file.bin", "Range: bytes=2-4")
        #expect(answer.hasPrefix("HTTP/1.0 200"))
        #expect(answer.hasSuffix("\r\n\r\n0123456789"))
    }

    @Test(.enabled(if: RealServer.isThere(.nginx), "nginx is not installed"))
    func putReplacesAFile() throws {
        let server = try RealServer(.nginx)
        for text in ["one", "other"] {
            try server.put("a b.txt", .init(text.utf8))
            #expect(try get(server, server.url("a b.txt").path(percentEncoded: true)).hasSuffix("\r\n\r\n\(text)"))
        }
        #expect(server.url("a b.txt").absoluteString == "http://127.0.0.1:\(server.port)/a%20b.txt")
    }

    @Test(arguments: RealServer.Program.allCases.filter(RealServer.isThere))
    func stopEndsTheProgramAndRemovesItsFiles(_ program: RealServer.Program) throws {
        let server = try RealServer(program)
        #expect(LocalConnection(port: server.port) != nil)
        server.stop()
        server.stop()
        #expect(LocalConnection(port: server.port) == nil)
        #expect(!FileManager.default.fileExists(atPath: server.root.path))
    }
}
#endif
