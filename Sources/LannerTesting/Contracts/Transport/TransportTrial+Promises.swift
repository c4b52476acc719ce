import Foundation
import LannerCore
import LannerLoopback

/// What some transports promise beyond what all do.
extension TransportTrial {
    func pause() async throws {
        let begun = Locked<(any TransportExchange)?>(nil)
        let (resource, exchange, witness) = try await paused(begun)
        expectUnsent(of: resource, "an exchange that was paused")
        try await comesToRest(witness) { Thread.detachNewThread { exchange.resume() } }
        begun.withLock { $0 = nil }
        Thread.detachNewThread { exchange.resume() }
        expect(try await witness.end(), resource, "A paused exchange")
    }

    func endWhilePaused() async throws {
        let begun = Locked<(any TransportExchange)?>(nil)
        var (_, exchange, witness) = try await paused(begun)
        try await cancel(exchange)
        expect(try await witness.end(), failed: [.canceled], "A paused exchange that was canceled")
        (_, exchange, witness) = try await paused(begun, after: 1)
        try await invalidate(transport)
        expect(try await witness.end(), failed: [.unavailable], "A paused exchange whose transport was invalidated")
        begun.withLock { $0 = nil }
        withExtendedLifetime(exchange) {}
    }

    /// An exchange that all bytes pause that come while it is held there. Calls are made more than once, of which the last
    /// counts.
    private func paused(
        _ begun: Locked<(any TransportExchange)?>, after others: Int = 0
    ) async throws -> (LoopbackServer.Resource, any TransportExchange, TransportWitness) {
        // More than can be on its way.
        let resource = serve(64 << 20, .hold)
        let witness = witness(comparing: resource) { event in
            guard case .bytes = event, let exchange = begun.withLock({ $0 }) else { return }
            for _ in 0..<2 { exchange.pause() }
        }
        let exchange = try await beginHeld(witness, after: others)
        try await Arrival.of("The return of `resume` and `pause`") {
            for call in [exchange.resume, exchange.resume, exchange.pause] { call() }
        }
        release()
        try await rests(witness)
        begun.withLock { $0 = exchange }
        try await comesToRest(witness) { Thread.detachNewThread { exchange.resume() } }
        return (resource, exchange, witness)
    }

    /// Has more bytes come, the first of which pauses the exchange.
    private func comesToRest(_ witness: TransportWitness, after start: () -> Void) async throws {
        let count = witness.record.byteCount
        start()
        try await witness.wait(for: "More bytes") { $0.byteCount > count || $0.isOver }
        try await rests(witness)
    }

    private func rests(_ witness: TransportWitness) async throws {
        try await settle {
            witness.record.isOver ? nil : Int64(witness.record.byteCount) + (site.bytesSent(Self.path) ?? 0)
        }
        expect(!witness.record.isOver, "All of 64 MiB came after `pause()`.")
    }

    func ignoredPause() async throws {
        let resource = serve(300_000, .hold)
        let witness = witness()
        let exchange = try await beginHeld(witness)
        try await Arrival.of("The return of `pause`") { exchange.pause() }
        release()
        expect(try await witness.end(), resource.bytes, "An exchange that was paused")
    }

    func progress() async throws {
        let (held, resource) = (1_000_000 as Int64, serve(3_000_000, .stall(afterBytes: 1_000_000)))
        let witness = witness()
        let exchange = try await beginHeld(witness)
        defer { withExtendedLifetime(exchange) {} }
        try await witness.wait(for: "Progress with a third of the file") { !$0.progress.isEmpty }
        release()
        let record = try await witness.end()
        expect(record, resource.bytes, "A file")
        let last = record.progress.last ?? 0
        expect(last <= resource.length, "Progress went to \(last) of \(resource.length) bytes.")
        expect(last >= held, "Progress went to \(last), though \(held) bytes had come before the last ones.")
    }

    func file() async throws {
        let resource = serve(300_000)
        let record = try await fetch()
        expect(record, resource.bytes, "A file")
        expect(record.file != nil, "No file was handed over.")
        try await openedFile()
    }

    /// As a receiver does that goes on reading when the exchange is over.
    private func openedFile() async throws {
        let resource = serve(3_000_000, .hold)
        let opened = Locked<FileHandle?>(nil)
        let witness = TransportWitness(findings, transport.traits.delivery, leavesFile: true) { event in
            if case .file(let url) = event { opened.withLock { $0 = try? FileHandle(forReadingFrom: url) } }
        }
        let exchange = try await beginHeld(witness)
        defer { withExtendedLifetime(exchange) {} }
        release()
        expect(try await witness.end(), resource.bytes, "A file that is left")
        try await fence()
        let bytes = try opened.withLock { $0 }?.readToEnd().map { [UInt8]($0) }
        expect(bytes == resource.bytes, "A file that was opened had other bytes afterwards.")
    }

    func resume() async throws {
        let resource = serve(3_000_000, .stall(afterBytes: 1_000_000))
        guard let data = try await broken() else { return }
        site.always(Self.path, .whole)
        let record = try await fetch(request(resume: data))
        expect(record, resource.bytes, "The exchange with resume data")
        expect(record.head?.status == 206, "It was answered with \(record.head?.status ?? 0).")
        let range = site.requests(Self.path).last?.fields["Range"] ?? "no range"
        expect(range.hasPrefix("bytes=") && !range.hasPrefix("bytes=0-"), "It asked for \(range).")
        let (first, held) = (record.progress.first ?? 0, range.dropFirst("bytes=".count).prefix { $0 != "-" })
        expect(String(first) == held, "Its progress began with \(first), where the resume data stand for \(held).")
    }

    func resumeChanged() async throws {
        _ = serve(3_000_000, .stall(afterBytes: 1_000_000))
        guard let data = try await broken() else { return }
        let changed = serve(2_000_000, seed: 2)
        let record = try await fetch(request(resume: data))
        expect(record, changed.bytes, "The exchange with resume data of a file that has changed")
        expect(record.head?.status == 200, "It was answered with \(record.head?.status ?? 0).")
    }

    func resumeUnusable() async throws {
        _ = serve(100)
        let record = try await fetch(request(resume: Data("not resume data".utf8)))
        expect(record, failed: [.other], "An exchange with resume data that are none")
        expect(record.head == nil, "There was a head.")
    }

    /// Breaks an exchange off in its body; what it leaves.
    private func broken() async throws -> Data? {
        let witness = witness()
        let exchange = try await beginHeld(witness)
        try await witness.wait(for: "Progress with a part of the file") { !$0.progress.isEmpty }
        try await cancel(exchange)
        let failure = try await witness.end().failure
        expect(failure?.resumeData != nil, "An exchange that was canceled in its body left no resume data.")
        return failure?.resumeData
    }
}
