import Foundation
import Lanner
import LannerTesting
import Testing

// The Swift code of Docs/Testing.md, word for word, compiled and run. `SnippetTests` compares the two.

struct TestingSnippets {
    // snippet: the bench
    @Test func keepsWhatTheServerHas() throws {
        let bench = TestBench()
        let audio = LoopbackServer.Resource(.generated(seed: 1, length: 1_000_000))
        bench.transport.serve(audio, at: "/one.mp3")
        let task = try #require(bench.manager.download("https://example.com/one.mp3"))
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.contents(of: task) == audio.bytes)
    }
    // end

    // snippet: states
    @Test @MainActor func passesThroughTheseStates() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.transport.script("/one.mp3", .stall(afterBytes: 400_000))
        let task = try #require(bench.manager.download("https://example.com/one.mp3"))
        var statuses: [Status] = []
        let observation = task.observe { event in
            if case .status(let status) = event { statuses.append(status) }
        }
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        bench.runToRest()
        #expect(statuses == [.running, .willSuspend, .suspended, .waiting, .running, .succeeded])
        observation.cancel()
    }
    // end

    // snippet: network
    @Test func survivesABadServer() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.transport.script("/one.mp3", .status(503), .cut(afterBytes: 400_000), .pass)
        let task = try #require(bench.manager.download("https://example.com/one.mp3"))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.transport.requests.map { $0.fields["Range"] ?? "whole" } == ["whole", "whole", "bytes=400000-"])
    }
    // end

    // snippet: rates
    @Test func leavesABusyHostAlone() throws {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
        bench.transport.limitRate(ofHost: "example.com", to: .init(2, in: .seconds(2), refusal: .status(429)))
        let tasks = bench.manager.multiDownload((1...12).map { "https://example.com/\($0).mp3" })
        bench.settle()
        #expect(tasks.contains { $0.waitingReason == .hostSlot && $0.waitingUntil != nil })
        #expect(bench.runToRest())
        #expect(tasks.allSatisfy { $0.status == .succeeded })
    }
    // end

    // snippet: relaunch
    @Test func goesOnAfterACrash() throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.transport.script("/one.mp3", .stall(afterBytes: 400_000))
        bench.manager.download("https://example.com/one.mp3")
        bench.run(for: .seconds(2))
        let manager = bench.relaunch()
        let task = try #require(manager.fetchTask("https://example.com/one.mp3"))
        #expect(task.status == .suspended)
        #expect(task.progress.fractionCompleted == 0.4)
    }
    // end

    // snippet: death
    @Test(arguments: 0..<20) func aDeathLosesNoDownload(operations: Int) throws {
        let bench = TestBench(recordsOnDisk: true)
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.manager.download(DownloadRequest("https://example.com/one.mp3", startsImmediately: false))
        bench.settle()
        bench.disk.operationsLeft = operations
        bench.manager.totalStart()
        bench.settle()
        let task = try #require(bench.relaunch().fetchTask("https://example.com/one.mp3"))
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.contents(of: task)?.count == 1_000_000)
    }
    // end

    // snippet: await
    @Test func waitsForTheServer() async throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        bench.transport.script("/one.mp3", .status(503))
        let file = try await bench.run { [manager = bench.manager] in
            try await manager.download("https://example.com/one.mp3")?.file
        }
        #expect(file?.path == bench.manager.tasks.first?.filePath)
    }
    // end

    // snippet: model
    @MainActor final class Episode {
        private(set) var isReady = false

        func load(_ manager: SessionManager) {
            let task = manager.download("https://example.com/one.mp3")
            Task {
                _ = try await task?.file
                isReady = true
            }
        }
    }

    @Test @MainActor func becomesReady() async throws {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        let episode = Episode()
        try await bench.run { @MainActor [manager = bench.manager] in
            episode.load(manager)
            while !episode.isReady {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        #expect(bench.manager.tasks.first?.status == .succeeded)
    }
    // end

    // snippet: disk
    @Test func failsOnAFullDisk() throws {
        let bench = TestBench(disk: MemoryDisk(capacity: 500_000))
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "/one.mp3")
        let task = try #require(bench.manager.download("https://example.com/one.mp3"))
        bench.settle()
        #expect(task.status == .failed)
        bench.disk.capacity = nil
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
    }
    // end

    // snippet: unimplemented
    @Test func opensWithoutTheNetwork() {
        let transport = UnimplementedTransport { Issue.record("\($0)") }
        let manager = SessionManager("offline", transport: transport, store: MemoryStore(), cache: temporaryCache())
        #expect(manager.tasks.isEmpty)
        manager.invalidate()
    }
    // end

    // snippet: loopback
    @Test func downloadsOverHTTP() async throws {
        let server = try LoopbackServer()
        let audio = LoopbackServer.Resource(.generated(seed: 1, length: 1_000_000))
        server.put("/one.mp3", audio)
        server.script("/one.mp3", [.reset(afterBytes: 400_000)])
        let manager = SessionManager("loopback", transport: URLSessionTransport(), cache: temporaryCache())
        let task = try #require(manager.download(server.url("/one.mp3"), checksum: audio.digest()))
        let file = try await task.file
        #expect(try Data(contentsOf: file).elementsEqual(audio.bytes))
        manager.invalidate()
    }
    // end

    // snippet: world
    @Test(arguments: 0..<20 as Range<UInt64>) func getsEverythingInTheEnd(seed: UInt64) throws {
        let world = World(seed: seed)
        world.isUserQuiet = true
        world.atEveryLaunch { [files = world.files] manager in manager.multiDownload(files) }
        try world.run(steps: 500)
        #expect(world.manager.succeededTasks.count == world.files.count)
    }
    // end

    // snippet: own transport's test
    @Test func keysGoToOurHostAlone() {
        let bench = TestBench(transport: { KeyedTransport(base: $0, host: "api.example.com", key: "secret") })
        bench.transport.script("https://api.example.com/one.mp3", .redirect(to: "https://cdn.example.net/one.mp3"))
        bench.transport.serve(.init(.generated(seed: 1, length: 1_000_000)), at: "https://cdn.example.net/one.mp3")
        bench.manager.download("https://api.example.com/one.mp3")
        bench.settle()
        #expect(bench.transport.requests.map { $0.fields["X-Key"] } == ["secret", nil])
    }
    // end

    @Test func itKeepsWhatTheTraitsPromise() async {
        let traits = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)
        let violations = await TransportContract.check {
            .init(ScriptedTransport(traits: traits)) { KeyedTransport(base: $0, host: "a.example", key: "secret") }
        }
        #expect(violations == [])
    }

    // snippet: contract
    @Test func ourStoreKeepsTheContract() async {
        let violations = await StoreContract.check {
            let directory = try TemporaryDirectory()
            return { FileStore(directory: directory.url) }
        }
        #expect(violations == [])
    }
    // end

    // snippet: cache
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func temporaryCache() -> Cache {
        Cache("test", downloadPath: directory.url.path)
    }
    // end
}

// snippet: directory
/// A directory of its own, removed with the value.
private final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        let name = "downloads-\(UUID().uuidString)"
        url = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
// end

func benchesOfApps() {
    // snippet: traits
    let bench = TestBench(traits: DefaultTransport.make().traits)  // of macOS, or of Linux
    let phone = TestBench(traits: TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true))
    // end
    _ = (bench, phone)
}

// snippet: own transport
/// Adds a key to each request of one host.
struct KeyedTransport: Transport {
    let base: any Transport
    let host: String
    let key: String
    var traits: TransportTraits { base.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        var request = request
        if request.url.host == host { request.fields["X-Key"] = key }
        return base.begin(request, receive: receive)
    }

    func invalidate() { base.invalidate() }

    // What its traits promise of exchanges that outlive the process.
    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) { base.recover(report) }
    func discard(_ name: String) { base.discard(name) }
}
// end
