import Dispatch
import Foundation
import LannerTesting

@testable import LannerCore

/// A scripted transport whose answers come by themselves, on threads of their own.
final class StressTransport: Transport {
    static let host = "https://stress.example"
    static let places = (0..<12).map { "/file-\($0)" }
    static let addresses = places.map { host + $0 }
    /// Its server is silent in the middle of the body, until all is well.
    private static let silent = places[9]
    /// Made once: it takes its time.
    private static let contents: [[UInt8]] = {
        let longest = Sample.bytes(120_000)
        return [0, 1, 1000, 40_000, 120_000, 5000, 7000, 80_000, 10_000, 100_000, 20_000, 30_000].map {
            Array(longest.prefix($0))
        }
    }()

    let scripted: ScriptedTransport
    private let isWell = Locked(false)

    init(_ traits: TransportTraits) {
        scripted = ScriptedTransport(traits: traits, pieceLength: 4096)
        scripted.holdsAll = true
        for (place, bytes) in zip(Self.places, Self.contents) { scripted.serve(.init(bytes), at: place) }
        let troubles: [(Int, ScriptedTransport.Step)] = [
            (3, .cut(afterBytes: 9000)), (5, .status(503)), (6, .redirect(to: "/file-2")), (7, .corrupt(at: 70_000)),
            (8, .failure(.notConnected)), (10, .status(403)), (11, .ignoreRange),
        ]
        for (index, trouble) in troubles { scripted.always(Self.places[index], trouble) }
    }

    /// No trouble from now on.
    func becomeWell() {
        isWell.withLock { $0 = true }
        scripted.endScripts()
        scripted.release()
    }

    var traits: TransportTraits { scripted.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let exchange = scripted.begin(request, receive: receive)
        let place = request.url.path
        DispatchQueue.global().async { [self] in
            let stops = place == Self.silent && !isWell.withLock { $0 }
            scripted.release(place, bytes: stops ? 5000 : nil)
        }
        return exchange
    }

    func invalidate() { scripted.invalidate() }
}
