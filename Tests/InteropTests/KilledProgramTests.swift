#if os(macOS) || os(Linux)
import Foundation
import Lanner
import LannerLoopback
import LannerMachine
import ProgramSupport
import Testing

/// The program, stopped and killed again and again at any moment, and nginx, whose file may be replaced meanwhile.
@Suite(.timeLimit(.minutes(10)), .enabled(if: RealServer.isThere(.nginx)))
struct KilledProgramTests {
    private static let lengths: [Int64] = [0, 1, 100_000, 3 << 20, (5 << 20) + 17]

    @Test(arguments: [("curl", "1"), ("curl", "4"), ("urlsession", "1")])
    func oneVersionIsThereInTheEnd(_ transport: String, _ connections: String) async throws {
        let server = try await RealServer.started(.nginx, isSlow: true)
        defer { server.stop() }
        let seed = UInt64.random(in: 0..<1 << 32)
        var random = SeededGenerator(seed: seed)
        for (round, length) in Self.lengths.enumerated() {
            let comment: Comment = "seed \(seed), round \(round)"
            let (place, name) = (try Workplace(), "file\(round)")
            let url = server.url(name).absoluteString
            let words = ["get", "-q", "-x", connections, "--transport", transport, url]
            var versions = [try server.put(name, length: length, version: 0)]
            for version in 1...Int.random(in: 1...4, using: &random) {
                let program = try Program(words, in: place)
                // Whatever it is at by then.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<600, using: &random)))
                if Bool.random(using: &random) {
                    let change = [0, 4097, -length / 2][Int.random(in: 0..<3, using: &random)]
                    versions.append(try server.put(name, length: length + change, version: version))
                }
                // What has come is on record behind the one; behind the other, what was on record already.
                program.send(Bool.random(using: &random) ? SIGTERM : SIGKILL)
                _ = await program.result()
            }
            let last = try await Program.run(words, in: place)
            #expect(last.code == 0 && last.errors.isEmpty, comment)
            try #require(place.names == [name], comment)
            let file = place.url.appendingPathComponent(name).path
            try #expect(versions.contains(Checksum.digest(ofFileAt: file, algorithm: .sha256)), comment)
        }
    }
}

extension RealServer {
    /// Puts a version of a file in the place of the one before, and tells its digest. Each has a date of its own: nginx
    /// tells versions apart by that and the length.
    fileprivate func put(_ name: String, length: Int64, version: Int) throws -> Checksum.Digest {
        let date = Date(timeIntervalSince1970: 1_500_000_000 + Double(version))
        try put(name, .init(.generated(seed: UInt64(version), length: length), lastModified: date))
        return try digest(name)
    }
}
#endif
