import Dispatch
import Figures
import Foundation
import LannerCore
import LannerTesting

/// How long it takes from a call that adds downloads until something of the first is there, in milliseconds.
struct FirstByte {
    /// Until the first request is made, and until the first byte is there.
    let request: Double
    let byte: Double
    /// Until the call returns.
    let call: Double

    /// Adds so many to a manager that has none, with real threads and real records.
    init(of count: Int) {
        Self.waitForThreads()
        let name = "scale-bench-\(UUID().uuidString)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        defer { try? FileManager.default.removeItem(at: directory) }
        let transport = WatchedTransport()
        let manager = SessionManager(
            "bench", transport: transport, store: FileStore(directory: directory),
            cache: Cache("bench", downloadPath: directory.path))
        manager.logger.option = .none
        let all = urls(count)
        let start = ContinuousClock.now
        manager.multiDownload(all)
        call = (.now - start).milliseconds
        let seen = transport.wait()
        request = (seen.request - start).milliseconds
        byte = (seen.byte - start).milliseconds
        manager.invalidate()
    }

    /// What is left of the last manager is given back on other threads, for a while where it had many: that is not to
    /// take a processor from what is measured.
    private static func waitForThreads() {
        var last = clock()
        while true {
            Thread.sleep(forTimeInterval: 0.05)
            let now = clock()
            // A hundredth of that time.
            if now - last < CLOCKS_PER_SEC / 2000 { return }
            last = now
        }
    }
}

/// Answers every request with the beginning of a file, and says when it came to the first.
private final class WatchedTransport: Transport {
    private let transport = ScriptedTransport()
    private let seen = Seen()

    init() {
        transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
    }

    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        seen.noteRequest()
        // Those behind it would only take the processor from what is measured.
        transport.always(request.url.absoluteString, .stall(afterBytes: 1))
        return transport.begin(request) { [seen] event in
            receive(event)
            if case .bytes = event { seen.noteByte() }
        }
    }

    func invalidate() { transport.invalidate() }
    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) { transport.recover(report) }
    func discard(_ name: String) { transport.discard(name) }

    func wait() -> (request: ContinuousClock.Instant, byte: ContinuousClock.Instant) { seen.wait() }
}

/// When something was seen for the first time.
// @unchecked Sendable: the instants are only touched under the lock.
private final class Seen: @unchecked Sendable {
    private let lock = NSLock()
    private let isThere = DispatchSemaphore(value: 0)
    private var request: ContinuousClock.Instant?
    private var byte: ContinuousClock.Instant?

    func noteRequest() {
        lock.withLock { request = request ?? .now }
    }

    func noteByte() {
        let isFirst = lock.withLock {
            defer { byte = byte ?? .now }
            return byte == nil
        }
        if isFirst { isThere.signal() }
    }

    func wait() -> (request: ContinuousClock.Instant, byte: ContinuousClock.Instant) {
        isThere.wait()
        return lock.withLock { (request ?? .now, byte ?? .now) }
    }
}
