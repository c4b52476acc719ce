import LannerCore
import LannerLoopback

/// Whole bodies and those that are not.
extension TransportTrial {
    func emptyBody() async throws {
        let resource = serve(0)
        let record = try await fetch()
        expect(record, resource.bytes, "A file without bytes")
        expect(record.head?.status == 200, "The head had the status \(record.head?.status ?? 0).")
    }

    func framing() async throws {
        for framing in [LoopbackServer.Resource.Framing.contentLength, .chunked, .close] {
            let resource = serve(100_000, framing: framing)
            expect(try await fetch(), resource.bytes, "A body with the framing \(framing)")
        }
    }

    func shortBody() async throws {
        for framing in [LoopbackServer.Resource.Framing.contentLength, .chunked] {
            let resource = serve(100_000, .cut(afterBytes: 20_000), framing: framing)
            let record = try await fetch()
            let what = "A body with the framing \(framing) that was cut off"
            expect(record, failed: [.lengthMismatch, .connectionLost], beginning: resource.bytes, what)
            expect(record.file == nil, "\(what) was handed over as a file.")
        }
    }

    func noAnswer() async throws {
        _ = serve(100, .broken)
        let record = try await fetch()
        expect(record, failed: [.connectionLost], "A request without an answer")
        expect(record.head == nil, "There was a head.")
    }

    func contentCoding() async throws {
        site.put(LoopbackServer.Resource(Self.gzip, fields: ["Content-Encoding": "gzip"]), at: Self.path)
        let record = try await fetch()
        expect(record, Self.gzip, "A body with a content coding")
        expect(record.head?.fields["Content-Encoding"] == "gzip", "The head came without its `Content-Encoding`.")
    }

    /// Six bytes, "lanner", stored as they are (RFC 1951, 3.2.4; RFC 1952).
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 6, 0, 0xF9, 0xFF, 0x6C, 0x61, 0x6E, 0x6E, 0x65, 0x72, 0x97, 0xD9, 0x97,
        0x55, 6, 0, 0, 0,
    ]

    func keptBytes() async throws {
        let resource = serve(1_000_000)
        let record = try await fetch()
        expect(record, resource.bytes, "A file of 1,000,000 bytes")
        let changed = record.pieces.first { !$0.copy.elementsEqual($0.kept) }
        expect(changed == nil, "A piece of \(changed?.copy.count ?? 0) bytes has changed since.")
    }
}
