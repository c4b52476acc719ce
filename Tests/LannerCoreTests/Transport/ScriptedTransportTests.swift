import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// What a test says to the scripted transport. That it is a transport is in the contract tests.
@Suite struct ScriptedTransportTests {
    private let transport = ScriptedTransport()

    /// Begins an exchange; what comes of it is in the tally, but for the head.
    private func begin(_ address: String) throws -> Tally {
        let tally = Tally()
        let url = try #require(URL(string: address))
        _ = transport.begin(TransportRequest(url: url)) { event in
            switch event {
            case .head: break
            case .bytes(let data): tally.add("\([UInt8](data))")
            case .failure(let failure): tally.add("\(failure.fault)")
            case .progress, .file, .end: tally.add("\(event)")
            }
        }
        return tally
    }

    @Test func aSlashAtTheEndMakesAnotherPlace() throws {
        transport.serve(.init([1]), at: "/a")
        transport.serve(.init([2]), at: "/a/")
        #expect(try begin("https://a.example/a").all == ["[1]", "end"])
        #expect(try begin("https://a.example/a/").all == ["[2]", "end"])
    }

    @Test func aHostAnswersSoManyInATimeWhileScriptsWait() throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(clock: clock)
        transport.serveElsewhere(.init([1]))
        transport.script("/a", .failure(.timedOut))
        transport.limitRate(ofHost: "a.example", to: .init(2, in: .seconds(1), refusal: .failure(.cannotConnect)))
        let urls = try ["https://A.example:8443/b", "http://a.example/a", "https://b.example/a"].map {
            try #require(URL(string: $0))
        }
        let tally = Tally()
        func begin(_ index: Int) {
            _ = transport.begin(TransportRequest(url: urls[index])) { event in
                if case .failure(let failure) = event { tally.add("\(index): \(failure.fault)") }
                if case .end = event { tally.add("\(index)") }
            }
        }
        for index in [0, 0, 1, 2, 2] { begin(index) }
        #expect(tally.all == ["0", "0", "1: cannotConnect", "2: timedOut", "2"])
        clock.advance(by: .milliseconds(999))
        begin(0)
        clock.advance(by: .milliseconds(1))
        begin(0)
        #expect(tally.all.suffix(2) == ["0: cannotConnect", "0"])
    }

    @Test func aChangeIsOfWhatIsServed() throws {
        transport.serve(.init([1]), at: "https://a.example/f")
        transport.serve(.init([2]), at: "/f")
        transport.script("https://a.example/f", .changeTo(.init([3])))
        for _ in 0..<2 { #expect(try begin("https://a.example/f").all == ["[3]", "end"]) }
        #expect(try begin("https://b.example/f").all == ["[2]", "end"])
        transport.script("/f", .changeTo(.init([4])))
        for host in ["b", "c"] { #expect(try begin("https://\(host).example/f").all == ["[4]", "end"]) }
    }

    @Test(arguments: [
        ("/a/b", "https://a.example/a/b"), ("a/b", "https://a.example/a/b"), ("/", "https://a.example"),
        ("https://a.example/f", "https://a.example/f"), ("/a/", "https://a.example/a/"),
        ("/a b", "https://a.example/a%20b"),
        ("/%FF", "https://a.example/%FF"), ("https://A.example:443/f#x", "https://a.example/f"),
        ("https://a.example", "https://a.example/"), ("https://a.example/a b", "https://a.example/a%20b"),
    ])
    func aPlaceIsTheSameInEveryCall(place: String, address: String) throws {
        transport.serve(.init([1]), at: place)
        transport.script(place, .status(503, body: [2]), .hold, .hold)
        transport.always(place, .status(404, body: [3]))
        #expect(try begin(address).all == ["[2]", "end"])
        let first = try begin(address)
        transport.release(place)
        #expect(first.all == ["[1]", "end"])
        let second = try begin(address)
        transport.fail(place, with: .timedOut)
        #expect(second.all == ["timedOut"])
        #expect(try begin(address).all == ["[3]", "end"])
        transport.always(place, nil)
        #expect(try begin(address).all == ["[1]", "end"])
    }

    /// The steps that are left, and those without effect, as words.
    private func leftOver(_ steps: [String: [ScriptedTransport.Step]]) -> [String: [String]] {
        steps.mapValues { steps in steps.map { "\($0)".prefix { $0 != "(" } }.map(String.init) }
    }

    @Test func whatNoRequestHasTakenIsLeft() throws {
        transport.serveElsewhere(.init([1, 2, 3]))
        transport.script("one", .status(503), .hold, .pass)
        transport.script("https://a.example/two", .pass)
        transport.always("/one", .ignoreRange)
        transport.always("/two", .hold)
        transport.always("/three", .pass)
        _ = try begin("https://a.example/one")
        _ = try begin("https://b.example/two")
        let url = "https://a.example/two"
        let expected = ["/one": ["hold", "pass", "ignoreRange"], url: ["pass"], "/three": ["pass"]]
        #expect(leftOver(transport.unusedSteps) == expected)
        for address in ["https://a.example/one", "https://a.example/one", "https://a.example/one", url] {
            _ = try begin(address)
        }
        transport.always("/three", nil)
        #expect(transport.unusedSteps.isEmpty)
    }

    @Test(
        arguments: [
            (.cut(afterBytes: 4), false), (.cut(afterBytes: 3), true), (.stall(afterBytes: 3), false),
            (.stall(afterBytes: 2), true), (.corrupt(at: 3), false), (.corrupt(at: 2), true), (.ignoreRange, false),
            (.wrongRange(offset: 1), false), (.contentRange(nil), false), (.multipart, false), (.pass, true),
        ] as [(ScriptedTransport.Step, Bool)])
    func whatChangesNothingIsTold(step: ScriptedTransport.Step, hasEffect: Bool) throws {
        transport.serve(.init([1, 2, 3]), at: "/f")
        transport.script("/f", step)
        _ = try begin("https://a.example/f")
        #expect(transport.stepsWithoutEffect.isEmpty == hasEffect)
        #expect(transport.stepsWithoutEffect["/f", default: []].count == (hasEffect ? 0 : 1))
    }

    /// Of what always holds it is told where it has changed nothing for any request.
    @Test(
        arguments: [
            (.cut(afterBytes: 4), 0), (.corrupt(at: 3), 0), (.ignoreRange, 1), (.corrupt(at: 2), 1), (.hold, 1),
            (.exactly(ResponseHead(status: 204)), 1),
        ] as [(ScriptedTransport.Step, Int)])
    func whatNeverChangesAnythingIsTold(step: ScriptedTransport.Step, effects: Int) throws {
        transport.serve(.init([1, 2, 3]), at: "/f")
        transport.always("/f", step)
        #expect(transport.stepsWithoutEffect.isEmpty)
        _ = try begin("https://a.example/f")
        let url = try #require(URL(string: "https://a.example/f"))
        _ = transport.begin(TransportRequest(url: url, fields: ["Range": "bytes=1-1"])) { _ in }
        #expect(transport.stepsWithoutEffect["/f", default: []].count == 1 - effects)
    }

    /// Counts are of what is sent, but for the position of the byte that is turned over.
    @Test(
        arguments: [
            (.cut(afterBytes: 2), false), (.cut(afterBytes: 1), true), (.stall(afterBytes: 1), false),
            (.stall(afterBytes: 0), true), (.corrupt(at: 0), false), (.corrupt(at: 1), true), (.ignoreRange, true),
            (.wrongRange(offset: 1), true), (.wrongRange(offset: 0), false), (.contentRange(nil), true),
            (.multipart, true),
        ] as [(ScriptedTransport.Step, Bool)])
    func whatChangesNothingOfAPartIsTold(step: ScriptedTransport.Step, hasEffect: Bool) throws {
        transport.serve(.init([1, 2, 3]), at: "/f")
        transport.script("/f", step)
        let url = try #require(URL(string: "https://a.example/f"))
        _ = transport.begin(TransportRequest(url: url, fields: ["Range": "bytes=1-1"])) { _ in }
        #expect(transport.stepsWithoutEffect.isEmpty == hasEffect)
    }

    @Test func howManyExchangesWereMetIsTold() throws {
        transport.serveElsewhere(.init([1, 2, 3]))
        transport.always("/f", .hold)
        _ = try begin("https://a.example/f")
        _ = try begin("https://b.example/f")
        #expect(transport.release("/g") == 0 && transport.fail("/g", with: .timedOut) == 0)
        #expect(transport.release("https://a.example/f") == 1 && transport.release() == 1)
        #expect(transport.release() == 0)
    }

    @Test(.timeLimit(.minutes(10))) func requestsThatHaveComeAreToldOneByOne() async throws {
        _ = try begin("https://a.example/1")
        _ = try begin("https://a.example/2")
        #expect(try await transport.nextRequest().url.path == "/1")
        #expect(try await transport.nextRequest().url.path == "/2")
    }

    /// From before it waits to well within its wait: so many turns for others.
    @Test(.timeLimit(.minutes(10)), arguments: 0..<20)
    func whoWaitsForARequestIsToldOfTheNext(_ turns: Int) async throws {
        _ = try begin("https://a.example/1")
        #expect(try await transport.nextRequest().url.path == "/1")
        let waiting = Task { [transport] in try await transport.nextRequest() }
        for _ in 0..<(5 * turns) { await Task.yield() }
        _ = try begin("https://a.example/2")
        #expect(try await waiting.value.url.path == "/2")
    }

    /// It has taken no request then.
    @Test(.timeLimit(.minutes(10)), arguments: 0..<20)
    func whoWaitsForARequestMayBeCanceled(_ turns: Int) async throws {
        let waiting = Task { [transport] in try await transport.nextRequest() }
        for _ in 0..<(5 * turns) { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        _ = try begin("https://a.example/1")
        #expect(try await transport.nextRequest().url.path == "/1")
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In processes of their own, which end.
    @Test func whatIsRequestedForEverEndsTheProcess() async throws {
        let byPolicy = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = SessionConfiguration()
            configuration.retryPolicy = RetryPolicy(maximumRetries: nil, baseDelay: .zero)
            let bench = TestBench(configuration: configuration)
            bench.transport.rushLimit.withLock { $0 = 1000 }
            bench.transport.always(place, .failure(.connectionLost))
            bench.manager.download(address)
            bench.run(for: .seconds(1))
        }
        let byHandler = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let bench = TestBench()
            bench.transport.rushLimit.withLock { $0 = 1000 }
            let task = try #require(bench.manager.download(address))
            task.failure(onMainQueue: false) { [manager = bench.manager] task in manager.start(task) }
            bench.settle()
        }
        for result in [byPolicy, byHandler] {
            let text = try #require(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) })
            #expect(text.contains("\(address) was requested 1000 times while the clock stood still"))
        }
    }
    #endif

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// The same where nobody counts requests: a disk that always fails, links that lead nowhere, a transport that has no
    /// connection.
    @Test func whatFailsForEverEndsTheProcess() async throws {
        let byDisk = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let bench = TestBench()
            bench.workLimit.withLock { $0 = 1000 }
            bench.disk.fail(.open, with: .notPermitted, times: .max)
            let task = try #require(bench.manager.download(address))
            task.failure(onMainQueue: false) { [manager = bench.manager] task in manager.start(task) }
            bench.settle()
        }
        let byLinks = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = SessionConfiguration()
            configuration.refreshesLinksBeforeStart = true
            let bench = TestBench(configuration: configuration, links: ManualLinks { _ in nil })
            bench.workLimit.withLock { $0 = 1000 }
            let task = try #require(bench.manager.download(address))
            task.failure(onMainQueue: false) { [manager = bench.manager] task in manager.start(task) }
            bench.run(for: .seconds(1))
        }
        let byTransport = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = SessionConfiguration()
            configuration.retryPolicy = RetryPolicy(maximumRetries: nil, baseDelay: .zero)
            let bench = TestBench(configuration: configuration, transport: { _ in LostTransport() })
            bench.workLimit.withLock { $0 = 1000 }
            bench.manager.download(address)
            bench.run(for: .seconds(1))
        }
        for result in [byDisk, byLinks, byTransport] {
            let text = try #require(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) })
            #expect(text.contains("1000 pieces of work were done while the clock stood still"))
            #expect(text.contains("\(address) ("), "\(text)")
        }
    }
    #endif

    @Test(arguments: ["/a b/c.mp3", "/a%20b%2Fc.mp3", "https://example.com/a%20b%2Fc.mp3"])
    func aPlaceMayBeEncodedOrNot(place: String) throws {
        transport.serve(.init([1, 2, 3]), at: place)
        transport.script(place, .pass)
        let statuses = Tally()
        let url = try #require(URL(string: "https://example.com/a%20b%2Fc.mp3"))
        _ = transport.begin(TransportRequest(url: url)) { event in
            if case .head(let head) = event { statuses.add("\(head.status)") }
        }
        #expect(statuses.all == ["200"])
        #expect(transport.unusedSteps.isEmpty)
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own, whose files may have no more than a page.
    @Test func whatCannotHandOverAFileSaysWhyAndLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            setenv("TMPDIR", directory.path, 1)
            #if canImport(Glibc)
            let length = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            #else
            let length = RLIMIT_FSIZE
            #endif
            var limit = rlimit()
            try #require(getrlimit(length, &limit) == 0)
            limit.rlim_cur = 4096
            signal(SIGXFSZ, SIG_IGN)
            try #require(setrlimit(length, &limit) == 0)
            let (transport, faults) = (ScriptedTransport(traits: TransportTraits(delivery: .file)), Tally())
            transport.serve(.init(Sample.bytes(100_000)), at: "/f")
            let url = try #require(URL(string: "https://a.example/f"))
            _ = transport.begin(TransportRequest(url: url)) { event in
                if case .failure(let failure) = event { faults.add("\(failure.fault)") }
            }
            try #require(faults.all == ["other"])
            try #require(FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        }
    }
    #endif

    /// As long as time passes, or another is asked for.
    @Test func whatIsRequestedOftenIsServed() throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(clock: clock)
        transport.serve(.init([1]), at: "/f")
        let urls = try ["a", "b"].map { try #require(URL(string: "https://\($0).example/f")) }
        for _ in 0..<2 {
            for url in urls {
                for _ in 0..<6000 { _ = transport.begin(TransportRequest(url: url)) { _ in } }
            }
            clock.advance(by: .seconds(1))
        }
        #expect(transport.requests.count == 24_000)
    }

    @Test(arguments: [true, false])
    func exchangesWithNamesEndInTheOrderOfTheNames(byHand: Bool) throws {
        let transport = ScriptedTransport(traits: .background)
        let url = try #require(URL(string: "https://a.example/f"))
        let names = (10..<26).map(String.init)
        let ended = Tally()
        for name in names.reversed() {
            transport.script("/f", .hold)
            _ = transport.begin(TransportRequest(url: url, name: name)) { _ in ended.add(name) }
        }
        if byHand { transport.forceQuit() } else { transport.invalidate() }
        #expect(ended.all == names)
    }
}

/// Fails at once.
private final class LostTransport: Transport, TransportExchange {
    let traits = TransportTraits(delivery: .pausable)

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        receive(.failure(TransportFailure(.connectionLost, "There is none.")))
        return self
    }

    func invalidate() {}
    func cancel() {}
    func pause() {}
    func resume() {}
}
