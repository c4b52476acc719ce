import Foundation
import LannerCore
import LannerTesting
import Testing

/// The fakes that must not be touched.
@Suite struct UnimplementedTests {
    private let messages = Tally()
    private var handler: UnimplementedHandler { { [messages] in messages.add($0) } }

    @Test func theTransportNamesTheURL() throws {
        let transport = UnimplementedTransport(handler)
        let url = try #require(URL(string: address))
        let failures = Locked<[TransportFault]>([])
        let exchange = transport.begin(TransportRequest(url: url)) { event in
            guard case .failure(let failure) = event else { return }
            failures.withLock { $0.append(failure.fault) }
        }
        exchange.cancel()
        transport.invalidate()
        #expect(failures.withLock { $0 } == [.unavailable])
        #expect(
            messages.all == [
                "UnimplementedTransport was asked for \(address), in a test that says it must not be used."
            ])
    }

    @Test func theStoreNamesWhatWasAsked() async {
        let store = UnimplementedStore(handler)
        #expect(throws: StoreError.self) { try store.load() }
        #expect(await store.commit([.remove(key: "a")]) == .closed)
        #expect(await store.commit([]) == .closed)
        store.close()
        #expect(messages.all.count == 3)
        #expect(messages.all[1].contains("a commit of 1 change,"))
    }

    @Test func theClockNamesWhatWasAsked() {
        let clock = UnimplementedClock(handler)
        #expect(clock.now == .zero)
        #expect(clock.date == Date(timeIntervalSince1970: 0))
        clock.schedule(at: .seconds(3)) { Issue.record("called") }
        #expect(messages.all.map { $0.contains("UnimplementedClock was asked for") } == [true, true, true])
    }

    /// A manager that downloads nothing uses no network.
    @Test func aManagerMayBeMadeAndEnded() throws {
        let directory = try TemporaryDirectory()
        let cache = Cache("unimplemented", downloadPath: directory("downloads"))
        let manager = SessionManager("unimplemented", transport: UnimplementedTransport(handler), cache: cache)
        #expect(manager.unavailable == nil)
        manager.invalidate()
        #expect(messages.all.isEmpty)
    }
}
