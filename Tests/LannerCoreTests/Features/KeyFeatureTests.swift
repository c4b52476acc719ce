import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("N-05: keys and metadata") struct KeyFeatureTests {
    private static let one = Sample.bytes(3000)
    private static let two = Sample.bytes(3000).reversed().map { $0 }
    private let bench: TestBench

    init() {
        bench = TestBench()
        bench.transport.serve(.init(Self.one), at: "/one")
        bench.transport.serve(.init(Self.two), at: "/two")
    }

    private func download(_ place: String, _ change: (inout DownloadRequest) -> Void = { _ in }) -> DownloadTask? {
        var request = DownloadRequest("https://a.example" + place, key: "key")
        change(&request)
        return bench.manager.download(request)
    }

    @Test("R-01: with keys of their own, two tasks have one URL") func oneURL() throws {
        let first = try #require(download("/one") { $0.fileName = "first" })
        let second = try #require(
            download("/one") { ($0.key, $0.fileName, $0.headers) = ("other", "second", ["Accept-Language": "fr"]) })
        bench.settle()
        #expect(first !== second && first.key == "key" && second.key == "other" && first.url == second.url)
        #expect(bench.holds(Self.one, in: first) && bench.holds(Self.one, in: second))
        #expect(bench.manager.fetchTask(key: "key") === first && bench.manager.fetchTask(key: "other") === second)
        #expect(bench.manager.fetchTask("https://a.example/one") == nil, "its key is not its URL")
        let plain = try #require(bench.manager.download("https://a.example/one", fileName: "third"))
        #expect(plain.key == "https://a.example/one" && bench.manager.fetchTask(key: plain.key) === plain)
        #expect(bench.manager.tasks.count == 3)
    }

    @Test func oneKeyIsOneTask() throws {
        let first = try #require(download("/one") { $0.startsImmediately = false })
        let second = try #require(download("/one") { $0.fileName = "named" })
        bench.settle()
        #expect(first === second && first.fileName == "named" && first.status == .succeeded)
        #expect(bench.manager.tasks.count == 1)
    }

    @Test func isRemembered() throws {
        _ = download("/one") { ($0.list, $0.metadata) = ("list", ["id": "7"]) }
        bench.settle()
        bench.relaunch()
        let task = try #require(bench.manager.fetchTask(key: "key"))
        #expect(task.status == .succeeded && task.list == "list" && task.metadata == ["id": "7"])
        #expect(bench.manager.fetchTask(task.url) == nil)
        task.metadata["id"] = nil
        task.metadata["more"] = "é"
        bench.settle()
        bench.relaunch()
        #expect(bench.manager.fetchTask(key: "key")?.metadata == ["more": "é"])
        _ = download("/one") { $0.metadata = ["new": "1"] }
        bench.settle()
        bench.relaunch()
        #expect(bench.manager.fetchTask(key: "key")?.metadata == ["new": "1"], "though it had succeeded")
    }

    /// Without names of their own the two have one place, and the file there is that of the one that came last.
    @Test(arguments: [false, true]) func oneWhoseFileTheOtherHasReplacedBeginsAgain(relaunches: Bool) throws {
        let checksum = LoopbackServer.Resource(Self.one).digest()
        var task = try #require(download("/one") { $0.checksum = checksum })
        bench.settle()
        #expect(task.validation == .correct)
        bench.transport.serve(.init(Self.two), at: "/one")
        let other = try #require(download("/one") { $0.key = "other" })
        bench.settle()
        #expect(other.filePath == task.filePath && bench.holds(Self.two, in: other))
        if relaunches {
            var configuration = SessionConfiguration()
            configuration.resumesAtLaunch = true
            task = try #require(bench.relaunch(configuration: configuration).fetchTask(key: "key"))
            bench.settle()
        }
        #expect(task.status == .succeeded && task.validation == .unknown)
        #expect(bench.transport.requests.count == 2, "the other's file is not compared with its checksum")
        bench.transport.serve(.init(Self.one), at: "/one")
        #expect(download("/one") { $0.checksum = checksum } === task)
        bench.settle()
        #expect(task.status == .succeeded && task.validation == .correct)
        #expect(bench.holds(Self.one, in: task) && bench.transport.requests.count == 3)
    }

    /// Also where it is replaced before its success is on record.
    @Test func oneThatIsReplacedAtOnceIsNotCalledCompared() {
        let checksum = LoopbackServer.Resource(Self.one).digest()
        let tasks = bench.manager.multiDownload(
            requests: ["a", "b"].map { DownloadRequest("https://a.example/one", checksum: checksum, key: $0) })
        bench.settle()
        #expect(tasks.map(\.status) == [.succeeded, .succeeded])
        #expect(Set(tasks.map(\.validation)) == [.correct, .unknown])
    }

    @Test func aKeyTwiceInABatchIsSkipped() {
        let requests = ["/one", "/two"].map { DownloadRequest("https://a.example" + $0, key: "key") }
        #expect(bench.manager.multiDownload(requests: requests).map(\.url.path) == ["/one"])
        #expect(bench.log.errors.contains { "\($0)" == LannerError.duplicateKey("key").description })
    }

    /// A key is the text of a URL unless it is given.
    @Test func aKeyIsLoggedWithoutItsCredentials() {
        let key = "https://me:secret@a.example/one?token=secret"
        bench.manager.start(keys: [key])
        bench.manager.multiDownload(
            requests: ["/one", "/two"].map { DownloadRequest("https://a.example" + $0, key: key) })
        bench.settle()
        #expect(bench.log.errors.count == 2)
        #expect(bench.log.errors.allSatisfy { "\($0)".contains("a.example/one") })
        #expect(!bench.log.lines.contains { $0.contains("secret") })
    }

    // MARK: Another URL

    /// Half of the first file is there, suspended.
    private func half(_ change: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadTask {
        bench.transport.script("/one", .stall(afterBytes: 1500))
        let started = download("/one", change)
        let task = try #require(started)
        bench.settle()
        bench.manager.suspend(key: "key")
        bench.settle()
        #expect(task.completedBytes == 1500)
        return task
    }

    /// Same length, same validator: nothing but the bytes tells the two apart.
    private func twins() {
        bench.transport.serve(.init(Self.one, entityTag: .strong("a")), at: "/one")
        bench.transport.serve(.init(Self.two, entityTag: .strong("a")), at: "/two")
    }

    @Test(arguments: [false, true]) func anotherURLBeginsAnew(relaunches: Bool) throws {
        twins()
        var task = try half()
        _ = download("/two") { $0.startsImmediately = false }
        bench.settle()
        if relaunches { task = try #require(bench.relaunch().fetchTask(key: "key")) }
        #expect(task.url.path == "/two" && task.completedBytes == 1500)
        bench.manager.start(key: "key")
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(Self.two, in: task))
        #expect(bench.ranges == ["whole", "whole"])
    }

    /// Another server may call the same bytes by another tag.
    @Test(arguments: ["a", "b"]) func withAChecksumTheBytesAreKept(tag: String) throws {
        twins()
        bench.transport.serve(.init(Self.one, entityTag: .strong(tag)), at: "/two")
        let task = try half { $0.checksum = LoopbackServer.Resource(Self.one).digest() }
        _ = download("/two")
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(Self.one, in: task))
        #expect(bench.ranges == ["whole", "bytes=1500-"])
    }

    @Test func withAChecksumAnotherFileIsNoticed() throws {
        twins()
        let task = try half { $0.checksum = LoopbackServer.Resource(Self.two).digest() }
        _ = download("/two")
        bench.settle()
        #expect(task.status == .succeeded && bench.holds(Self.two, in: task))
        #expect(bench.ranges == ["whole", "bytes=1500-", "whole"])
    }

    @Test func anAttemptGoesOnWithTheOldURL() throws {
        twins()
        bench.transport.script("/one", .stall(afterBytes: 1500))
        let task = try #require(download("/one"))
        bench.settle()
        _ = download("/two")
        bench.settle()
        #expect(task.url.path == "/two" && bench.transport.requests.map(\.url.path) == ["/one"])
        bench.manager.suspend(key: "key")
        bench.settle()
        bench.manager.start(key: "key")
        bench.settle()
        #expect(bench.holds(Self.two, in: task) && bench.ranges == ["whole", "whole"])
    }

    /// At whatever moment the URL changes, and wherever the process ends, the file is one of the two.
    @Test func neverMixesTheTwo() throws {
        for steps in 0... {
            var hasStalled = false
            for later in 0... {
                let test = KeyFeatureTests()
                let bench = test.bench
                test.twins()
                bench.transport.script("/one", .stall(afterBytes: 1500))
                _ = test.download("/one")
                hasStalled = bench.run(steps: steps)
                _ = test.download("/two")
                let isOver = bench.run(steps: later)
                bench.relaunch()
                _ = test.download("/two")
                #expect(bench.runToRest())
                let task = try #require(bench.manager.fetchTask(key: "key"))
                #expect(task.status == .succeeded, "\(steps) steps and \(later)")
                #expect(bench.holds(Self.two, in: task) || bench.holds(Self.one, in: task))
                if isOver { break }
            }
            if hasStalled {
                #expect(steps > 5)
                break
            }
        }
    }

    /// The same for one that is stopped just then: its last record may be of the old URL's bytes.
    @Test func neverMixesTheTwoWhileItIsStopped() throws {
        for steps in 0... {
            let test = KeyFeatureTests()
            let bench = test.bench
            test.twins()
            bench.transport.script("/one", .stall(afterBytes: 1500))
            _ = test.download("/one")
            bench.run(for: .seconds(3))
            #expect(bench.records.map(\.saved.written) == [ByteRanges([0..<1500])])
            bench.manager.suspend(key: "key")
            _ = test.download("/two") { $0.startsImmediately = false }
            let isOver = bench.run(steps: steps)
            bench.relaunch()
            let task = try #require(bench.manager.fetchTask(key: "key"))
            let expected = task.url.path == "/two" ? Self.two : Self.one
            bench.manager.start(key: "key")
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && bench.holds(expected, in: task), "\(steps) steps")
            if isOver { break }
        }
    }

    @Test("N-14: header fields do not go where they were not meant to") func credentials() throws {
        let task = try half { $0.headers = ["Authorization": "secret", "Accept-Language": "fr"] }
        bench.transport.serve(.init(Self.two), at: "https://b.example/two")
        _ = bench.manager.download(DownloadRequest("https://b.example/two", key: "key"))
        bench.settle()
        #expect(task.status == .succeeded)
        let last = try #require(bench.transport.requests.last)
        #expect(last.url.host == "b.example" && last.fields["Authorization"] == nil)
        #expect(last.fields["Accept-Language"] == "fr")
    }
}
