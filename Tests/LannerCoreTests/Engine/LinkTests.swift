import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Links that expire or are refused, and others in their place.
@Suite struct LinkTests {
    private static let signed = "https://cdn.example/signed?key=secret"
    private struct Trouble: Error {}

    /// A bench whose server refuses the usual link, once a megabyte has come of it.
    private func refusing(
        _ links: ManualLinks, configuration: SessionConfiguration = SessionConfiguration(),
        signed: [UInt8] = large
    ) throws -> (TestBench, DownloadTask) {
        let bench = TestBench(configuration: configuration, links: links)
        bench.transport.serve(.init(large), at: place)
        bench.transport.serve(.init(signed), at: "/signed")
        bench.transport.script(place, .cut(afterBytes: 1 << 20), .status(403))
        let task = try #require(bench.manager.download(address, headers: ["Authorization": "mine", "Accept": "x"]))
        return (bench, task)
    }

    private static func link(_ text: String = signed, headers: [String: String]? = nil) -> DownloadLink {
        DownloadLink(url: URL(string: text), headers: headers)
    }

    private func hosts(_ bench: TestBench) -> [String?] { bench.transport.requests.map { $0.url.host } }

    // MARK: What becomes of it

    @Test func goesOnWithItsBytes() throws {
        let links = ManualLinks { _ in Self.link() }
        let (bench, task) = try refusing(links)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.holds(large, in: task) == true)
        #expect(links.requests.map(\.reason) == [.refused(status: 403)])
        #expect(links.requests.map(\.url.absoluteString) == [address])
        #expect(links.requests.first?.task === task)
        #expect(bench.ranges == ["whole", "bytes=1048576-", "bytes=1048576-"])
        #expect(hosts(bench) == ["example.com", "example.com", "cdn.example"])
        #expect(task.url.absoluteString == address, "the task stays known by its URL")
        #expect(bench.manager.fetchTask(address) === task)
        #expect(task.currentURL.absoluteString == Self.signed)
        #expect(!bench.log.lines.contains { $0.contains("secret") })
    }

    @Test func startsOverWhereAnotherFileIs() throws {
        let other = Sample.bytes(200_000)
        let (bench, task) = try refusing(ManualLinks { _ in Self.link() }, signed: other)
        #expect(bench.runToRest())
        #expect(bench.holds(other, in: task) == true)
    }

    @Test func keepsCredentialsWhereTheyBelong() throws {
        let given = Self.link(headers: ["X-Key": "theirs", "User-Agent": "them"])
        let (bench, _) = try refusing(ManualLinks { _ in given })
        bench.transport.script("/signed", .redirect(to: "https://other.example/signed"))
        #expect(bench.runToRest())
        let requests = bench.transport.requests
        #expect(hosts(bench) == ["example.com", "example.com", "cdn.example", "other.example"])
        #expect(requests.map { $0.fields["Authorization"] } == ["mine", "mine", nil, nil])
        #expect(requests.map { $0.fields["X-Key"] } == [nil, nil, "theirs", nil])
        #expect(requests.map { $0.fields["User-Agent"] } == [nil, nil, "them", "them"])
    }

    @Test(arguments: [(signed, nil), ("https://example.com/signed", "mine")])
    func theCallersFieldsStayInTheirOrigin(url: String, authorization: String?) throws {
        let (bench, _) = try refusing(ManualLinks { _ in Self.link(url) })
        #expect(bench.runToRest())
        let last = try #require(bench.transport.requests.last)
        #expect(last.url.path == "/signed")
        #expect(last.fields["Authorization"] == authorization)
        #expect(last.fields["Accept"] == "x")
    }

    @Test func headersAloneAreForTheSamePlace() throws {
        let (bench, task) = try refusing(ManualLinks { _ in DownloadLink(headers: ["Authorization": "new"]) })
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(hosts(bench) == ["example.com", "example.com", "example.com"])
        #expect(bench.transport.requests.last?.fields["Authorization"] == "new")
        #expect(bench.transport.requests.last?.fields["Accept"] == "*/*")
    }

    // MARK: When it is asked for

    @Test func beforeEveryStart() throws {
        var configuration = SessionConfiguration()
        configuration.refreshesLinksBeforeStart = true
        let links = ManualLinks { request in Self.link("https://cdn.example/file.bin?\(request.reason)") }
        let bench = TestBench(configuration: configuration, links: links)
        bench.transport.serve(.init(large), at: place)
        let task = try bench.download(.cut(afterBytes: 1 << 20), .stall(afterBytes: 1 << 20))
        bench.run(for: .seconds(3))
        bench.manager.suspend(task)
        bench.settle()
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
        #expect(links.requests.map(\.reason) == [.start, .start, .start])
        #expect(Set(hosts(bench)) == ["cdn.example"], "its own URL was never asked")
    }

    @Test func whenItHasExpired() throws {
        let links = ManualLinks { _ in Self.link() }
        let (bench, task) = try refusing(links)
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        task.linkExpirationDate = bench.clock.date + 60
        bench.run(for: .seconds(61))
        bench.manager.start(task)
        #expect(bench.runToRest())
        #expect(links.requests.map(\.reason) == [.expired])
        #expect(hosts(bench) == ["example.com", "cdn.example"])
        #expect(task.linkExpirationDate == nil, "the new link has no end")
    }

    /// A new URL and its time, while the manager is busy.
    @Test func aTimeThatIsSetForANewURLStays() throws {
        let bench = TestBench()
        for path in ["/1", "/2", "/other"] { bench.transport.serve(.init([1, 2, 3]), at: path) }
        for path in ["/1", "/other"] { bench.transport.script(path, .hold) }
        let task = try #require(bench.manager.download(DownloadRequest("https://example.com/1", key: "key")))
        let other = try #require(bench.manager.download("https://example.com/other"))
        bench.settle()
        bench.manager.suspend(task)
        bench.settle()
        task.linkExpirationDate = bench.clock.date + 10
        let date = bench.clock.date + 60
        bench.manager.logger = LogThatCalls { [bench] in
            bench.manager.download(
                DownloadRequest("https://example.com/2", key: "key", startsImmediately: false))
            task.linkExpirationDate = date
        }
        bench.manager.suspend(other)
        bench.settle()
        #expect(task.url.path == "/2" && task.linkExpirationDate == date)
        #expect(bench.relaunch().fetchTask("key")?.linkExpirationDate == date)
        bench.manager.download(DownloadRequest("https://example.com/1", key: "key", startsImmediately: false))
        bench.settle()
        #expect(bench.manager.fetchTask("key")?.linkExpirationDate == nil, "that was of the other URL")
    }

    @Test func aTimeWithoutEndIsNoneAfterALaunch() throws {
        let links = ManualLinks { _ in nil }
        let bench = TestBench(links: links)
        bench.transport.serve(.init([1, 2, 3]), at: place)
        bench.transport.script(place, .stall(afterBytes: 1))
        let task = try #require(bench.manager.download(address))
        task.linkExpirationDate = Date(timeIntervalSince1970: .infinity)
        bench.settle()
        let restored = try #require(bench.relaunch().fetchTask(address))
        #expect(restored.linkExpirationDate == nil)
        bench.manager.start(restored)
        #expect(bench.runToRest())
        #expect(restored.status == .succeeded && links.requests.isEmpty)
    }

    @Test func isRememberedWithItsTime() throws {
        let links = ManualLinks { request in
            DownloadLink(
                url: URL(string: Self.signed), headers: ["X-Key": "theirs"],
                expirationDate: Date(timeIntervalSince1970: 1_735_689_600 + 100))
        }
        let (bench, task) = try refusing(links)
        bench.transport.script("/signed", .stall(afterBytes: 1 << 19))
        bench.run(for: .seconds(3))
        #expect(task.status == .running)
        let again = try #require(bench.relaunch().fetchTask(address))
        #expect(again.linkExpirationDate == bench.clock.date + 97)
        bench.transport.script("/signed", .stall(afterBytes: 1 << 18))
        bench.manager.start(again)
        bench.settle()
        #expect(links.requests.count == 1, "it has time left")
        #expect(bench.transport.requests.last?.url.absoluteString == Self.signed)
        #expect(bench.transport.requests.last?.fields["X-Key"] == "theirs")
        bench.manager.suspend(again)
        bench.run(for: .seconds(100))
        bench.manager.start(again)
        #expect(bench.runToRest())
        #expect(links.requests.map(\.reason) == [.refused(status: 403), .expired])
        #expect(links.requests.last?.url.absoluteString == Self.signed)
        #expect(bench.holds(large, in: again) == true)
    }

    // MARK: When it comes to nothing

    @Test func isAskedForOncePerRefusal() throws {
        let links = ManualLinks { _ in Self.link() }
        let (bench, task) = try refusing(links)
        bench.transport.always("/signed", .status(410))
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        guard case .unacceptableStatusCode(410) = task.error as? LannerError else {
            return #expect(Bool(false), "the status is what failed, not \(String(describing: task.error))")
        }
        #expect(links.requests.count == 1)
        #expect(task.completedBytes == 1 << 20)
    }

    @Test func noOtherIsATypedFailure() throws {
        let (bench, task) = try refusing(ManualLinks { _ in nil })
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(task.reason == .link)
        #expect(task.completedBytes == 1 << 20)
        #expect(bench.transport.underway == 0)
    }

    @Test func aProviderMaySayWhyThereIsNoOther() throws {
        let links = ManualLinks { _ in throw DownloadLink.Unavailable("This episode was withdrawn.") }
        let (bench, task) = try refusing(links)
        #expect(bench.runToRest())
        #expect(task.reason == .link)
        #expect("\(try #require(task.error))".hasSuffix(": This episode was withdrawn."))
        #expect(links.requests.count == 1, "nobody asks again")
        #expect(task.completedBytes == 1 << 20)
    }

    @Test func anErrorIsATypedFailureInTheEnd() throws {
        let links = ManualLinks { _ in throw Trouble() }
        let (bench, task) = try refusing(links)
        #expect(bench.runToRest())
        #expect(task.reason == .link)
        #expect(links.requests.count == 5, "with the cut six failures in a row: five retries")
    }

    @Test(arguments: ["ftp://cdn.example/x", "https:///x", "file:///etc/passwd"])
    func aLinkThatCannotBeUsedIsNone(text: String) throws {
        let (bench, task) = try refusing(ManualLinks { _ in Self.link(text) })
        #expect(bench.runToRest())
        #expect(task.reason == .link)
        #expect(Set(hosts(bench)) == ["example.com"])
    }

    @Test func aHeaderThatCannotBeSentIsNone() throws {
        let (bench, task) = try refusing(ManualLinks { _ in Self.link(headers: ["X": "a\r\nHost: evil"]) })
        #expect(bench.runToRest())
        #expect(task.reason == .link)
    }

    // MARK: Meanwhile

    /// A task whose call is out.
    private func asking(resumesAtLaunch: Bool = false) throws -> (TestBench, DownloadTask, ManualLinks) {
        var configuration = SessionConfiguration()
        configuration.resumesAtLaunch = resumesAtLaunch
        let links = ManualLinks()
        let (bench, task) = try refusing(links, configuration: configuration)
        bench.run(for: .seconds(3))
        #expect(links.waitingCount == 1)
        #expect(task.status == .running)
        return (bench, task, links)
    }

    @Test func oneCallIsOutAtATime() throws {
        let (bench, task, links) = try asking()
        let calls = Tally()
        for _ in 0..<3 {
            bench.manager.suspend(task) { _ in calls.add("suspended") }
            bench.settle()
            bench.manager.start(task)
            bench.settle()
        }
        #expect(calls.all.count == 3)
        #expect(links.requests.count == 1, "nobody is asked again before the first has answered")
        #expect(links.canceledCount == 1)
        links.answer(.success(Self.link("https://late.example/signed")))
        bench.settle()
        #expect(links.requests.count == 2)
        links.answer(.success(Self.link()))
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
        #expect(!hosts(bench).contains("late.example"), "the late answer changed nothing")
        #expect(bench.log.lines.contains { $0.contains("late") })
    }

    @Test(arguments: [Verb.suspend, .cancel, .remove(completely: true)])
    func verbsDoNotWaitForIt(verb: Verb) throws {
        let (bench, task, links) = try asking()
        let calls = Tally()
        switch verb {
        case .suspend: bench.manager.suspend(task) { calls.add($0.status.rawValue) }
        case .cancel: bench.manager.cancel(task) { calls.add($0.status.rawValue) }
        case .remove: bench.manager.remove(task, completely: true) { calls.add($0.status.rawValue) }
        case .start, .startAdded, .downloadAgain, .shelve, .unshelve, .settle: break
        }
        bench.settle()
        #expect(calls.all.count == 1)
        #expect(task.status.isAtRest)
        #expect(links.canceledCount == 1)
        let requests = bench.transport.requests.count
        links.answer(.success(Self.link()))
        bench.settle()
        #expect(bench.transport.requests.count == requests)
        #expect(bench.manager.status == task.status)
    }

    @Test func silenceIsAFailure() throws {
        let (bench, task, links) = try asking()
        bench.run(for: .seconds(60))
        #expect(links.canceledCount == 1)
        #expect(bench.runToRest())
        #expect(task.reason == .link)
        #expect(links.requests.count == 1, "the first has not answered yet")
        bench.manager.start(task)
        bench.settle()
        links.answer(.failure(Trouble()))
        links.answer(.success(Self.link()))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
    }

    @Test func theLossOfTheNetworkCountsForNothing() throws {
        let (bench, task, links) = try asking()
        bench.network.path = .unavailable
        bench.run(for: .seconds(600))
        #expect(task.waitingReason == .network)
        links.answer(.failure(Trouble()))
        bench.network.path = NetworkPath()
        bench.settle()
        links.answer(.success(Self.link()))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(task.error == nil)
    }

    @Test func theEndDoesNotWaitForIt() throws {
        let (bench, task, links) = try asking()
        bench.manager.invalidate()
        #expect(links.canceledCount == 1)
        links.answer(.success(Self.link()))
        bench.settle()
        #expect(task.currentURL.absoluteString == address)
        #expect(bench.records.first?.link == nil)
        #expect(bench.records.first?.saved.written == [0..<1 << 20])
    }

    @Test func aLaunchAsksAnew() throws {
        let (bench, _, links) = try asking(resumesAtLaunch: true)
        bench.transport.script(place, .status(403))
        let task = try #require(bench.relaunch().fetchTask(address))
        bench.settle()
        #expect(links.requests.count == 2)
        #expect(links.waitingCount == 1, "the process that asked first is dead")
        #expect(links.canceledCount == 0)
        links.answer(.success(Self.link()))
        #expect(bench.runToRest())
        #expect(bench.holds(large, in: task) == true)
    }
}

/// A provider as a program has one, with threads. It is never too slow: no time passes for the manager.
@Suite(.timeLimit(.minutes(10))) struct LinkProviderTests {
    private func manager(
        _ transport: ScriptedTransport, _ provider: @escaping DownloadLink.Provider
    ) -> SessionManager {
        SessionManager(
            "links", configuration: SessionConfiguration(), transport: transport, store: MemoryStore(),
            logger: RecordingLog(), cache: Cache("links", downloadPath: "/downloads"),
            operationQueue: DispatchQueue(label: "links"),
            environment: Environment(clock: ManualClock(), fileSystem: MemoryDisk(), links: ProvidedLinks(provider)))
    }

    /// However long it takes: no time passes on the bench meanwhile.
    @Test func isAskedOnABench() async throws {
        let bench = TestBench(linkProvider: { @MainActor _ in
            for _ in 0..<100 { await Task.yield() }
            return DownloadLink(url: URL(string: "https://cdn.example/signed"))
        })
        bench.transport.serve(.init([1, 2, 3]), at: "/signed")
        bench.transport.script(place, .status(401))
        let task = try bench.download()
        _ = try await bench.run { try await task.file }
        #expect(bench.contents(of: task) == [1, 2, 3])
        #expect(bench.clock.now < .seconds(1))
    }

    /// Nobody waits for an answer that was given up, and that may never come.
    @Test func isNotWaitedForOnABenchOnceItIsCanceled() async throws {
        let bench = TestBench(linkProvider: { _ in
            // Whatever is canceled.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return nil
        })
        bench.transport.script(place, .status(401))
        let task = try bench.download()
        bench.settle()
        bench.manager.cancel(task)
        bench.transport.serve(.init([1]), at: "/other")
        bench.transport.script("/other", .status(503))
        let other = try #require(bench.manager.download("https://example.com/other"))
        _ = try await bench.run(within: .seconds(300)) { try await other.file }
        #expect(other.status == .succeeded)
    }

    @Test func isAskedInTheBackground() async throws {
        let transport = ScriptedTransport()
        transport.serve(.init([1, 2, 3]), at: "/signed")
        transport.script(place, .status(401))
        let manager = manager(transport) { request in
            await Task.yield()
            return DownloadLink(url: URL(string: request.task.url.absoluteString + "/../signed")?.standardized)
        }
        let task = try #require(manager.download(address))
        _ = try await task.file
        #expect(task.status == .succeeded)
        manager.invalidate()
    }

    @Test func theEndCancelsIt() async throws {
        let transport = ScriptedTransport()
        transport.script(place, .status(401))
        let (began, ended) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let manager = manager(transport) { _ in
            began.continuation.yield()
            // Until it is canceled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            ended.continuation.yield()
            return nil
        }
        let task = try #require(manager.download(address))
        for await _ in began.stream { break }
        manager.invalidate()
        for await _ in ended.stream { break }
        #expect(task.error == nil)
    }
}
