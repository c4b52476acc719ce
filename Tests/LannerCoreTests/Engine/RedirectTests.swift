import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct RedirectTests {
    @Test func followsARelativeRedirect() throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.transport.script("/a/start", .redirect(to: "../file.bin"))
        let task = try #require(bench.manager.download("https://example.com/a/start", headers: ["Authorization": "x"]))
        bench.settle()
        #expect(bench.contents(of: task) == [1, 2, 3])
        #expect(bench.transport.requests.map(\.url.absoluteString) == ["https://example.com/a/start", address])
        #expect(bench.transport.requests.allSatisfy { $0.fields["Authorization"] == "x" })
        #expect(task.currentURL.absoluteString == address)
        #expect(task.url.absoluteString == "https://example.com/a/start")
        #expect(bench.manager.fetchTask("https://example.com/a/start") === task)
    }

    @Test func keepsCredentialsFromAnotherOrigin() throws {
        let bench = TestBench.serving([1])
        bench.transport.script("/start", .redirect(to: "https://other.example/file.bin"))
        let secrets = ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"]
        var headers = Dictionary(uniqueKeysWithValues: secrets.map { ($0, "secret") })
        headers["User-Agent"] = "Test"
        let task = try #require(bench.manager.download("https://example.com/start", headers: headers))
        bench.settle()
        #expect(task.status == .succeeded)
        let first = try #require(bench.transport.requests.first)
        #expect(secrets.allSatisfy { first.fields[$0] == "secret" })
        let last = try #require(bench.transport.requests.last)
        #expect(last.url.host == "other.example")
        #expect(!last.fields.fields.contains { $0.value == "secret" })
        #expect(last.fields["User-Agent"] == "Test")
    }

    @Test func beginsEachAttemptAtTheURLThatWasGiven() throws {
        let bench = TestBench.serving(large)
        bench.transport.always("/start", .redirect(to: "https://other.example/file.bin"))
        bench.transport.script(place, .cut(afterBytes: 1 << 20))
        let task = try #require(bench.manager.download("https://example.com/start", headers: ["Authorization": "x"]))
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(
            bench.transport.requests.map { $0.url.host } == [
                "example.com", "other.example", "example.com", "other.example",
            ])
        #expect(bench.transport.requests.map { $0.fields["Authorization"] } == ["x", nil, "x", nil])
        #expect(bench.transport.requests.last?.fields["Range"] == "bytes=1048576-")
    }

    /// The next attempt may not be redirected.
    @Test func showsWhereTheLastRequestWent() throws {
        let (bench, start) = (TestBench.serving(large), "https://example.com/start")
        bench.transport.serve(.init(large), at: "/start")
        bench.transport.script("/start", .redirect(to: address))
        bench.transport.script(place, .cut(afterBytes: 1 << 20))
        let task = try #require(bench.manager.download(start))
        #expect(task.currentURL == task.url)
        bench.settle()
        #expect(task.status == .waiting && task.currentURL.absoluteString == address)
        bench.runToRest()
        #expect(task.status == .succeeded && task.currentURL.absoluteString == start)
    }

    @Test func isKnownByItsFirstURLAfterADeathBehindARedirect() throws {
        let (bench, start) = (TestBench.serving(large), "https://example.com/start")
        bench.transport.always("/start", .redirect(to: "https://other.example/file.bin"))
        bench.transport.script(place, .stall(afterBytes: 1 << 20))
        bench.manager.download(start)
        bench.run(for: .seconds(3))
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(start))
        #expect(task.completedBytes == 1 << 20)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(large, in: task) == true)
        #expect(bench.transport.requests.map(\.url.path) == ["/start", place, "/start", place])
        #expect(bench.ranges == ["whole", "whole", "bytes=1048576-", "bytes=1048576-"])
    }

    /// One URL leads to servers in turn that tell tags of their own: what one has begun goes on there. Where that is gone,
    /// what the URL leads to counts.
    @Test(arguments: [false, true]) func goesOnWhereItBegan(isGone: Bool) throws {
        let (bench, start) = (TestBench.serving(large), "https://example.com/start")
        let (one, two) = ("https://one.example/file", "https://two.example/file")
        bench.transport.serve(.init(large, entityTag: .strong("one")), at: one)
        bench.transport.serve(.init(large, entityTag: .strong("two")), at: two)
        bench.transport.always("/start", .redirect(to: two))
        bench.transport.script("/start", .redirect(to: one))
        bench.transport.script(one, .cut(afterBytes: 1 << 20))
        if isGone { bench.transport.script(one, .status(404)) }
        let task = try #require(bench.manager.download(start, headers: ["Authorization": "x"]))
        bench.runToRest()
        #expect(bench.holds(large, in: task) == true)
        let hosts = bench.transport.requests.map { $0.url.host?.dropLast(8) }
        #expect(hosts == ["exa", "one", "exa", "two", "one"] + (isGone ? ["exa", "two"] : []))
        #expect(bench.ranges.dropFirst(2).allSatisfy { $0 == "bytes=1048576-" })
        #expect(bench.transport.requests.allSatisfy { ($0.fields["Authorization"] == nil) == ($0.url.path == "/file") })
    }

    @Test func givesUpAfterTwentyRedirects() throws {
        let bench = TestBench()
        bench.transport.always(place, .redirect(to: "?again"))
        let task = try bench.download()
        bench.runToRest()
        #expect(task.status == .failed)
        #expect(task.reason == .redirect)
        #expect(bench.transport.requests.count == 21)
    }

    @Test(arguments: ["ftp://example.com/f", "file:///etc/passwd", "http://", "data:,x"])
    func refusesToLeaveTheWeb(location: String) throws {
        let bench = TestBench()
        let task = try bench.download(.redirect(to: location))
        bench.runToRest()
        #expect(task.status == .failed)
        #expect(task.reason == .redirect)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.transport.underway == 0)
    }

    /// However a download ends behind a redirect: what the location holds is in no line and no failure.
    @Test(arguments: [
        ScriptedTransport.Step.redirect(to: "?key=secret"), .redirect(to: "ftp://me:secret@h/?secret#secret"),
        .status(403), .status(503), .failure(.secureConnectionFailed),
        .cut(afterBytes: 1), .ignoreRange, .exactly(ResponseHead(status: 206)),
    ])
    func showsNoSecretOfARedirect(step: ScriptedTransport.Step) throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.transport.always("/start", .redirect(to: "https://me:secret@cdn.example/file.bin?key=secret#secret"))
        bench.transport.always(place, step)
        let task = try #require(bench.manager.download("https://example.com/start"))
        bench.runToRest()
        #expect(bench.transport.requests.contains { $0.url.query?.contains("secret") == true })
        #expect(!bench.log.lines.contains { $0.contains("secret") })
        #expect(task.error.map { "\($0)\($0.localizedDescription)".contains("secret") } != true)
        #expect(!bench.records.contains { "\($0.saved.status)".contains("secret") })
    }

    @Test func redirectsSlices() throws {
        let bytes = Sample.bytes(400_000)
        let bench = TestBench(traits: TransportTraits(delivery: .sliced(100_000...100_000, inFlight: 2)))
        bench.transport.serve(.init(bytes), at: "/real")
        bench.transport.script(place, .redirect(to: "/real"))
        let task = try bench.download()
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true)
    }
}
