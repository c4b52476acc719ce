import LannerCore
import LannerTesting
import Testing

/// A bench whose manager has a transport, or a store, of the test's own.
@Suite struct OwnTransportTests {
    /// Adds a field to what it hands on.
    private struct MarkingTransport: Transport {
        let base: any Transport
        let mark: String
        var traits: TransportTraits { base.traits }

        func begin(
            _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
        ) -> any TransportExchange {
            var request = request
            request.fields["Mark"] = mark
            return base.begin(request, receive: receive)
        }

        func invalidate() { base.invalidate() }
    }

    /// Has nothing.
    private struct EmptyTransport: Transport {
        let traits = TransportTraits(delivery: .pausable)

        func begin(
            _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
        ) -> any TransportExchange {
            receive(.head(ResponseHead(status: 404)))
            receive(.end)
            return EmptyExchange()
        }

        func invalidate() {}
    }

    private final class EmptyExchange: TransportExchange {
        func cancel() {}
        func pause() {}
        func resume() {}
    }

    private let url = "https://example.com/file"
    private let resource = LoopbackServer.Resource(.generated(seed: 1, length: 300_000))

    @Test func itStandsBeforeTheBenchsTransportInEveryLaunch() throws {
        let launches = Locked(0)
        let bench = TestBench(transport: { base in
            MarkingTransport(base: base, mark: "\(launches.withLock { $0 += 1; return $0 })")
        })
        bench.transport.serve(resource, at: "/file")
        bench.transport.script("/file", .stall(afterBytes: 100_000))
        bench.manager.download(url)
        bench.run(for: .seconds(2))
        let task = try #require(bench.relaunch().fetchTask(url))
        bench.manager.start(task)
        bench.settle()
        #expect(bench.contents(of: task) == resource.bytes)
        #expect(bench.transport.requests.map { $0.fields["Mark"] } == ["1", "2"])
        #expect(bench.transport.requests.last?.fields["Range"] == "bytes=100000-")
    }

    @Test func itMayTakeTheBenchsTransportsPlace() throws {
        let bench = TestBench(transport: { _ in EmptyTransport() })
        bench.transport.serve(resource, at: "/file")
        let task = try #require(bench.manager.download(url))
        #expect(bench.runToRest())
        guard case .unacceptableStatusCode(404) = task.error as? LannerError else {
            Issue.record("\(String(describing: task.error))")
            return
        }
        #expect(bench.transport.requests.isEmpty)
    }

    /// Counts the commits that it hands on.
    private final class CountingStore: Store {
        private let base: any Store
        private let count: Locked<Int>

        init(_ base: any Store, _ count: Locked<Int>) {
            (self.base, self.count) = (base, count)
        }

        func load() throws -> StoreContents { try base.load() }

        func commit(
            _ changes: [StoreChange], durability: StoreDurability,
            completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
        ) {
            count.withLock { $0 += 1 }
            base.commit(changes, durability: durability, completion: completion)
        }

        func close() { base.close() }
    }

    @Test(arguments: [false, true]) func aStoreStandsBeforeTheBenchsInEveryLaunch(onDisk: Bool) throws {
        let count = Locked(0)
        let bench = TestBench(store: { CountingStore($0, count) }, recordsOnDisk: onDisk)
        bench.transport.serve(resource, at: "/file")
        let task = try #require(bench.manager.download(url))
        bench.settle()
        #expect(task.status == .succeeded)
        let before = count.withLock { $0 }
        #expect(before > 0)
        bench.relaunch()
        #expect(bench.manager.fetchTask(url)?.status == .succeeded)
        bench.manager.remove(url)
        bench.settle()
        #expect(count.withLock { $0 } > before)
    }
}
