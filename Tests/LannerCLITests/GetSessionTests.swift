import Foundation
import Lanner
import LannerLoopback
import ProgramSupport
import Testing

@testable import LannerCLI

@Suite(.timeLimit(.minutes(10))) struct GetSessionTests {
    /// Keeps what is reported.
    private final class Record: Reporter {
        let interval = Duration.zero
        let reports = Locked<[DownloadReport]>([])

        func report(_ report: DownloadReport) { reports.withLock { $0.append(report) } }
        func note(_ line: String) {}
        func finish() {}
    }

    @Test func failsWithAMessageWhenTheLibraryRefuses() async throws {
        let place = try Workplace()
        var plan = try GetPlan(GetOptions(urls: ["http://127.0.0.1/x"], directory: place.url.path))
        plan.items[0].url = try #require(URL(string: "ftp://127.0.0.1/x"))
        let record = Record()
        let session = session(plan, record)
        let outcomes = await session.run()
        #expect(outcomes.map(\.exitCode) == [.failure])
        let lines = record.reports.withLock { $0 }.compactMap(Wording.line)
        #expect(
            lines == [
                "lanner: http://127.0.0.1/x: “ftp://127.0.0.1/x” is not an http or https URL: it has the scheme “ftp”; "
                    + "only http and https can be downloaded"
            ])
        #expect(await session.tidy(outcomes) == .nothing)
    }

    /// A task that an earlier call has left is not what was asked for.
    @Test func followsNoOlderTaskOfARefusedRequest() async throws {
        let place = try Workplace()
        let url = "http://127.0.0.1/x"
        var plan = try GetPlan(GetOptions(urls: [url], directory: place.url.path))
        plan.items[0].mirrors = [try #require(URL(string: "ftp://127.0.0.1/x"))]
        let session = session(plan, Record())
        session.manager.download(DownloadRequest(url, startsImmediately: false))
        let outcomes = await session.run()
        #expect(outcomes.map(\.exitCode) == [.failure] && !outcomes.contains(.suspended(goesOn: true)))
        #expect(await session.tidy(outcomes) == .nothing)
    }

    @Test func downloadsMoreThanAreAddedAtOnce() async throws {
        let place = try Workplace()
        let server = try LoopbackServer()
        let names = (0..<600).map { "file-\($0).bin" }
        for (index, name) in names.enumerated() {
            server.put(name, .init(.generated(seed: UInt64(index), length: 10)))
        }
        let urls = names.map { server.url($0).absoluteString }
        let record = Record()
        let session = session(try GetPlan(GetOptions(urls: urls, directory: place.url.path)), record)
        let outcomes = await session.run()
        #expect(outcomes.count == names.count && outcomes.allSatisfy { $0 == .done })
        let done = record.reports.withLock { $0.count { if case .done = $0.event { true } else { false } } }
        #expect(done == names.count)
        for (index, name) in names.enumerated() {
            let expected = LoopbackServer.Resource(.generated(seed: UInt64(index), length: 10)).bytes
            #expect(try Data(contentsOf: place.url.appendingPathComponent(name)) == Data(expected))
        }
        #expect(await session.tidy(outcomes) == .nothing)
    }

    /// What an earlier command has left there is not lost, though this one is done.
    @Test func keepsTheRecordsOfOthers() async throws {
        let place = try Workplace()
        let server = try LoopbackServer()
        server.put("file.bin", .init(.generated(seed: 1, length: 10)))
        let url = server.url("file.bin").absoluteString
        let plan = try GetPlan(GetOptions(urls: [url], directory: place.url.path))
        let session = session(plan, Record())
        let other = "http://127.0.0.1/other"
        session.manager.download(DownloadRequest(other, startsImmediately: false))
        let outcomes = await session.run()
        #expect(outcomes == [.done])
        #expect(await session.tidy(outcomes) == .own)
        let state = StateDirectory(in: plan.directory)
        #expect(state.seal.isIntact(try PosixFileSystem().list(state.path)), "whoever has made it")
        let next = self.session(plan, Record()).manager
        #expect(next.tasks.map(\.key) == [other])
        next.invalidate()
    }

    /// Nobody would find them.
    @Test func tellsOfTheBytesOfOthers() async throws {
        let place = try Workplace()
        let server = try LoopbackServer()
        server.put("file.bin", .init(.generated(seed: 1, length: 10)))
        server.put("other.bin", .init(.generated(seed: 2, length: 3_000_000)))
        server.script("other.bin", [.cut(afterBytes: 2_000_000), .status(404)])
        let urls = ["other.bin", "file.bin"].map { server.url($0).absoluteString }
        let plans = try urls.map { try GetPlan(GetOptions(urls: [$0], directory: place.url.path)) }
        let first = session(plans[0], Record())
        #expect(await first.run().map(\.exitCode) == [.failure])
        _ = await first.tidy([.suspended(goesOn: true)])
        let second = session(plans[1], Record())
        let outcomes = await second.run()
        guard case .others(let words) = await second.tidy(outcomes) else {
            Issue.record("says nothing")
            return
        }
        #expect(words.contains(urls[0]) && words.contains("2.0 MB of what other calls have not finished"), "\(words)")
    }

    /// The same command goes on from there, as it is told.
    @Test func remembersWhatWasDoneWhenItIsInterruptedAtTheEnd() async throws {
        let place = try Workplace()
        let server = try LoopbackServer()
        server.put("file.bin", .init(.generated(seed: 1, length: 10)))
        let plan = try GetPlan(
            GetOptions(urls: [server.url("file.bin").absoluteString], directory: place.url.path))
        let stopped = session(plan, Record())
        let outcomes = await stopped.run()
        #expect(outcomes == [.done])
        #expect(await stopped.tidy(outcomes, isStopped: true) == .own)
        let again = session(plan, Record())
        #expect(await again.run() == [.done])
        #expect(server.requests.count == 1)
        #expect(await again.tidy([.done]) == .nothing)
    }

    @Test func tellsOfEachThatIsNotBegun() async throws {
        let place = try Workplace()
        let (interruption, record) = (Interruption(by: []), Record())
        interruption.onSignal {}
        interruption.receive(SIGTERM)
        let options = GetOptions(urls: ["http://127.0.0.1/a", "http://127.0.0.1/b"], directory: place.url.path)
        let session = session(try GetPlan(options), record, interruption, over: SilentTransport())
        #expect(await session.run() == [.suspended(goesOn: true), .suspended(goesOn: true)])
        let told = record.reports.withLock { $0.map(\.index) }
        #expect(told == [0, 1] && record.reports.withLock { $0.allSatisfy { $0.event == .suspended } })
        #expect(await session.tidy([.suspended(goesOn: true), .suspended(goesOn: true)]) == .nothing)
    }

    @Test func addsNoMoreWhenItIsInterrupted() async throws {
        let place = try Workplace()
        let urls = (0..<600).map { "http://127.0.0.1/\($0)" }
        let (interruption, record) = (Interruption(by: []), Record())
        let session = session(
            try GetPlan(GetOptions(urls: urls, directory: place.url.path)), record, interruption,
            over: SilentTransport(), Interrupting(interruption))
        let outcomes = await session.run()
        #expect(outcomes.count == urls.count && outcomes.allSatisfy { $0 == .suspended(goesOn: true) })
        let suspended = record.reports.withLock { $0.filter { $0.event == .suspended }.map(\.index) }
        #expect(suspended.sorted() == Array(urls.indices), "each hears of it once")
        #expect(session.manager.tasks.count == 256)
        // Nothing has come of any.
        #expect(await session.tidy(outcomes) == .nothing)
    }

    private func session(
        _ plan: GetPlan, _ record: Record, _ interruption: Interruption = Interruption(by: []),
        over transport: (any Transport)? = nil, _ store: (any Store)? = nil
    ) -> GetSession {
        let state = StateDirectory(in: plan.directory)
        let manager = SessionManager(
            "lanner", transport: transport ?? DefaultTransport.make(), store: store,
            logger: ConsoleLogger(identifier: "lanner", option: .none), cache: state.cache(filesIn: plan.directory))
        return GetSession(plan: plan, headers: nil, manager: manager, reporter: record, interruption: interruption)
    }
}

/// Nothing comes of any request.
private struct SilentTransport: Transport {
    final class Exchange: TransportExchange {
        let receive: @Sendable (TransportEvent) -> Void

        init(_ receive: @escaping @Sendable (TransportEvent) -> Void) {
            self.receive = receive
        }

        func cancel() { receive(.failure(TransportFailure(.canceled, "It was canceled."))) }
        func pause() {}
        func resume() {}
    }

    let traits = TransportTraits(delivery: .pausable)

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        Exchange(receive)
    }

    func invalidate() {}
}

/// A store at whose first downloads the user stops the program: they are recorded as they are added.
private final class Interrupting: Store {
    private let store = MemoryStore()
    private let interruption: Interruption
    private let isFirst = Locked(true)

    init(_ interruption: Interruption) {
        self.interruption = interruption
    }

    func load() throws -> StoreContents { try store.load() }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        store.commit(changes, durability: durability, completion: completion)
        let isFirst = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isFirst { interruption.receive(SIGINT) }
    }

    func close() { store.close() }
}
