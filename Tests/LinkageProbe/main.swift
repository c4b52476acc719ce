// A program on LannerCore alone: uses it, then prints what the loader brought into the process, one path a line.

import Foundation
import LannerCore

/// Brings a transport of its own, as those who link only LannerCore do.
struct NoTransport: Transport {
    let traits = TransportTraits(delivery: .pausable)

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        receive(.failure(TransportFailure(.unavailable, "There is no network here.")))
        return NoExchange()
    }

    func invalidate() {}
}

final class NoExchange: TransportExchange {
    func cancel() {}
    func pause() {}
    func resume() {}
}

let directory = NSTemporaryDirectory() + "linkage-probe-\(ProcessInfo.processInfo.processIdentifier)"
let manager = SessionManager(
    "probe", transport: NoTransport(), store: MemoryStore(), cache: Cache("probe", downloadPath: directory))
manager.logger.option = .none
manager.download("http://127.0.0.1/nothing", onMainQueue: false)
manager.invalidate()
try FileManager.default.removeItem(atPath: directory)

// To its end: a file of no known size is not read beyond the first pages otherwise.
let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
let libraries = Set(
    maps.split(separator: "\n").compactMap { line in
        line.split(separator: " ", omittingEmptySubsequences: true).last.map(String.init)
    }.filter { $0.hasPrefix("/") && $0.contains(".so") })
print(libraries.sorted().joined(separator: "\n"))
