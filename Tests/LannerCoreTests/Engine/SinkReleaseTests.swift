import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// With an exchange go things of a transport's own, which may call back.
@Suite struct SinkReleaseTests {
    private final class Exchange: TransportExchange {
        private let sink: Sink
        private let calls: Tally

        init(_ sink: Sink, _ calls: Tally) { (self.sink, self.calls) = (sink, calls) }
        deinit { calls.add(sink.isClosed ? "closed" : "open") }
        func cancel() {}
        func pause() {}
        func resume() {}
    }

    private func sink(_ calls: Tally) throws -> Sink {
        let url = try #require(URL(string: address))
        let way = Sink.Way(source: 0, destination: try Destination(url: url, fields: [:]))
        let sink = Sink(way, isPausable: true, meter: nil, lanes: ManualLanes()) { _ in }
        sink.attach(Exchange(sink, calls))
        return sink
    }

    @Test func anExchangeIsLetGoOfOutsideTheLock() throws {
        let ends: [(Sink) -> Void] = [
            { $0.receive(.end) }, { $0.leave() }, { $0.abandon() }, { $0.stop(keepBytes: false) },
        ]
        for end in ends {
            let calls = Tally()
            end(try sink(calls))
            #expect(calls.all.count == 1)
        }
    }
}
