import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("R-01: destinations") struct DestinationFeatureTests {
    private let cache = Cache(
        "a", downloadPath: "/data/app", downloadFilePath: "/data/app/File",
        allowedDirectories: ["/media/", "/data", "/caf\u{E9}", "/data/app/File/own"])

    @Test(arguments: [
        ("a.pdf", "a.pdf"), ("pdf/2024/a.pdf", "pdf/2024/a.pdf"), ("/data/app/File/pdf/a.pdf", "pdf/a.pdf"),
        ("/data/app/File/a.pdf", "a.pdf"), ("/data/app/File/own/a", "own/a"), ("/media/a.pdf", "/media/a.pdf"),
        ("/media/x/y", "/media/x/y"), ("/data/b/c", "/data/b/c"), ("~/a", "~/a"), ("...", "..."),
        ("/caf\u{E9}/a", "/caf\u{E9}/a"),
        // A mark that makes one character of the slash before it.
        ("x/\u{301}/\u{301}a", "x/\u{301}/\u{301}a"), ("/media/\u{301}a", "/media/\u{301}a"),
        ("/data/app/File/\u{301}x/\u{301}a", "\u{301}x/\u{301}a"),
    ])
    func isRead(text: String, expected: String) throws {
        let place = try FilePlace(destination: text, in: cache)
        #expect("\(place)" == expected)
        #expect(cache.path(of: place) == (expected.hasPrefix("/") ? expected : "/data/app/File/" + expected))
    }

    @Test(arguments: [
        "", "/", "a/", "../a", "a/../b", "./a", "a//b", "a\0b", "/media/../etc/passwd", "/media//a", "..",
    ])
    func isNoPath(text: String) {
        #expect { try FilePlace(destination: text, in: cache) } throws: {
            if case LannerError.invalidDestination(text) = $0 { true } else { false }
        }
    }

    /// Outside, also where the names look the same, or among the records and the unfinished files.
    @Test(arguments: [
        "/etc/passwd", "/media", "/mediax/a", "/data/app/journal", "/data/app/Tmp/a", "/data/app/Tmp/\u{301}a",
        "/data/app/File", "/cafe\u{301}/a",
    ])
    func isNotAllowed(text: String) {
        #expect { try FilePlace(destination: text, in: cache) } throws: {
            if case LannerError.destinationNotAllowed(text) = $0 { true } else { false }
        }
    }

    /// As a variable that is not set.
    @Test(arguments: ["", "media"]) func whatIsNotAbsoluteAllowsNothing(directory: String) {
        let cache = Cache("a", downloadPath: "/data/app", allowedDirectories: [directory])
        #expect(throws: LannerError.self) { try FilePlace(destination: "/media/a", in: cache) }
    }

    /// Whatever directory the process works in later.
    @Test func whatIsNotAbsoluteIsWhereTheProcessWorksNow() {
        let cache = Cache("a", downloadPath: "data", downloadFilePath: "files")
        let here = FileManager.default.currentDirectoryPath
        #expect(cache.downloadPath == here + "/data" && cache.downloadTmpPath == here + "/data/Tmp")
        #expect(cache.downloadFilePath == here + "/files")
    }

    /// Slashes too many, at the end of a directory or before it, change nothing.
    @Test(arguments: ["/data/app/", "//data/app", "/data//app//"]) func slashesDoNotMatter(directory: String) throws {
        let cache = Cache("a", downloadPath: directory, downloadFilePath: "/files//", allowedDirectories: ["/data/"])
        #expect(cache.downloadPath == "/data/app" && cache.downloadTmpPath == "/data/app/Tmp")
        #expect(try "\(FilePlace(destination: "/files/a", in: cache))" == "a")
        for path in ["/data/app/journal-1", "/data/app/Tmp/1-1-1.part"] {
            #expect(throws: LannerError.self) { try FilePlace(destination: path, in: cache) }
        }
        #expect(try "\(FilePlace(destination: "/a/b", in: Cache("a", allowedDirectories: ["/"])))" == "/a/b")
    }

    // MARK: Downloads

    private func bench() -> TestBench {
        let bench = TestBench()
        bench.transport.serve(.init([1, 1]), at: "/one")
        bench.transport.serve(.init([2, 2, 2]), at: "/two")
        return bench
    }

    private func request(_ place: String, _ destination: String, _ policy: FileConflictPolicy? = nil) -> DownloadRequest
    {
        DownloadRequest("https://a.example" + place, destination: destination, conflictPolicy: policy)
    }

    @Test func aNameBesideItIsIgnored() throws {
        let bench = bench()
        var request = request("/one", "pdf/a.pdf")
        request.fileName = "no/name"
        let task = try #require(bench.manager.download(request))
        #expect(task.filePath == "/downloads/File/pdf/a.pdf")
    }

    @Test func theFileIsWhereItIsWanted() throws {
        let bench = bench()
        let task = try #require(bench.manager.download(request("/one", "pdf/2024/a.pdf")))
        #expect(task.fileName == "a.pdf" && task.filePath == "/downloads/File/pdf/2024/a.pdf")
        bench.settle()
        #expect(task.status == .succeeded && bench.contents(of: task) == [1, 1])
        let again = try #require(bench.relaunch().fetchTask(task.url))
        #expect(again.filePath == task.filePath && again.status == .succeeded)
        bench.manager.remove(again, completely: true)
        bench.settle()
        #expect(bench.files.isEmpty)
    }

    @Test func oneThatIsOutsideIsRefused() {
        let (bench, calls) = (bench(), Tally())
        let task = bench.manager.download(request("/one", "/etc/passwd")) {
            calls.add("\($0.status) \($0.error as Any)")
        }
        bench.settle()
        #expect(task == nil && bench.manager.tasks.isEmpty && calls.all.count == 1)
        #expect(calls.all.first?.hasPrefix("failed") == true && calls.all.first?.contains("/etc/passwd") == true)
    }

    @Test func twoCannotReplaceEachOther() throws {
        let bench = bench()
        let one = try #require(bench.manager.download(request("/one", "x/a")))
        #expect(bench.manager.download(request("/two", "x/a")) == nil)
        #expect(bench.log.errors.contains { "\($0)" == LannerError.destinationTaken("x/a").description })
        bench.settle()
        // That one has ended: its file is replaced, as configured.
        let two = try #require(bench.manager.download(request("/two", "x/a")))
        bench.settle()
        #expect(one.filePath == two.filePath && bench.contents(of: two) == [2, 2, 2])
    }

    @Test(arguments: [false, true], ["/one", "/two"])
    func whoIsOnItsWayOutHasNoPlace(cancels: Bool, path: String) throws {
        let bench = bench()
        bench.transport.script("/one", .stall(afterBytes: 1))
        let one = try #require(bench.manager.download(request("/one", "x/a")))
        bench.settle()
        if cancels { bench.manager.cancel(one) } else { bench.manager.remove(one) }
        let next = try #require(bench.manager.download(request(path, "x/a")))
        bench.settle()
        #expect(next !== one && next.status == .succeeded)
        #expect(bench.contents(of: next) == (path == "/one" ? [1, 1] : [2, 2, 2]))
    }

    /// As for a program that has a container to itself.
    @Test func aFileMayLieInTheDirectoryOfAll() throws {
        let bench = TestBench()
        let cache = Cache("own", downloadPath: "/own", allowedDirectories: ["/"])
        let store = MemoryStore([:], lanes: bench.lanes)
        let first = bench.manager(on: store, cache)
        let task = try #require(first.download(DownloadRequest(address, destination: "/model.bin")))
        #expect(task.filePath == "/model.bin")
        bench.settle()
        #expect(bench.holds(large, in: task) == true)
        first.invalidate()
        let next = bench.manager(on: MemoryStore(store.contents, lanes: bench.lanes), cache)
        let again = try #require(next.fetchTask(address))
        #expect(again.status == .succeeded && again.filePath == "/model.bin")
        next.remove(again, completely: true)
        bench.settle()
        #expect(bench.disk.contents(of: "/model.bin") == nil)
        next.invalidate()
    }

    /// On a bench as well, in every launch.
    @Test func aBenchAllowsWhatItIsTold() throws {
        let bench = TestBench(allowedDirectories: ["/media"])
        bench.transport.serve(.init([1, 2, 3]), at: "/file.bin")
        let task = try #require(bench.manager.download(DownloadRequest(address, destination: "/media/a")))
        bench.settle()
        #expect(bench.disk.contents(of: "/media/a") == [1, 2, 3] && task.filePath == "/media/a")
        bench.relaunch()
        #expect(bench.manager.download(DownloadRequest(address + "?b", destination: "/media/b")) != nil)
        #expect(bench.manager.download(DownloadRequest(address + "?c", destination: "/other/c")) == nil)
    }

    /// A directory among the finished files may be allowed by itself.
    @Test func aFileHasOnePlaceHoweverItIsGiven() throws {
        let bench = TestBench()
        let cache = Cache("own", downloadPath: "/own", allowedDirectories: ["/own/File/pdf"])
        let manager = bench.manager(on: MemoryStore([:], lanes: bench.lanes), cache)
        let first = DownloadRequest("https://one.example/file.bin", destination: "pdf/a")
        let second = DownloadRequest("https://two.example/file.bin", destination: "/own/File/pdf/a")
        let one = try #require(manager.download(first))
        #expect(manager.download(second) == nil)
        bench.settle()
        let two = try #require(manager.download(second))
        bench.settle()
        #expect(one.filePath == two.filePath)
        manager.remove(one, completely: true)
        bench.settle()
        #expect(bench.holds(large, in: two) == true)
        manager.invalidate()
    }

    /// The finished files may have another directory in the next launch.
    @Test func aPlaceThatIsRememberedIsNoOther() throws {
        let bench = TestBench()
        let store = MemoryStore([:], lanes: bench.lanes)
        let first = bench.manager(
            on: store,
            Cache("own", downloadPath: "/own", downloadFilePath: "/media", allowedDirectories: ["/own/File"]))
        first.download(DownloadRequest(address, destination: "/own/File/a"))
        bench.settle()
        first.invalidate()
        let next = bench.manager(
            on: MemoryStore(store.contents, lanes: bench.lanes), Cache("own", downloadPath: "/own"))
        let one = try #require(next.fetchTask(address))
        #expect(one.status == .succeeded && one.place == FilePlace("a"))
        let two = try #require(next.download("https://two.example/file.bin", fileName: "a"))
        bench.settle()
        next.remove(one, completely: true)
        bench.settle()
        #expect(bench.holds(large, in: two) == true)
        next.invalidate()
    }

    private static let containers = [
        "/var/mobile/Containers/Data/Application/0A6E5B1C-7D0E-4B6F-9A51-2C3D4E5F6071",
        "/var/mobile/Containers/Data/Application/F1E2D3C4-B5A6-4788-99AA-BBCCDDEEFF00",
    ]

    /// The system gives an app's container another name when the app is updated.
    @Test func aPlaceInTheContainerMovesWithIt() throws {
        let bench = TestBench()
        let caches = Self.containers.map {
            Cache("own", downloadPath: $0 + "/Library/Caches", allowedDirectories: [$0 + "/Documents"])
        }
        let store = MemoryStore([:], lanes: bench.lanes)
        let first = bench.manager(on: store, caches[0])
        first.download(
            DownloadRequest(address, destination: Self.containers[0] + "/Documents/pdf/a", startsImmediately: false))
        bench.settle()
        first.invalidate()
        let next = bench.manager(on: MemoryStore(store.contents, lanes: bench.lanes), caches[1])
        let task = try #require(next.download(address))
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(task.filePath == Self.containers[1] + "/Documents/pdf/a")
        #expect(bench.holds(large, in: task) == true)
        next.invalidate()
    }

    @Test(arguments: [
        "/etc/passwd", "\(containers[0])/Library/a", "\(containers[0])0/Documents/a", "\(containers[0])/Documents",
        "/private\(containers[0])/Documents/a", "/var/mobile/Containers/Data/Application/current/Documents/a",
    ])
    func whatWouldNotBeAllowedThereStays(path: String) {
        let cache = Cache("a", downloadPath: "/data", allowedDirectories: [Self.containers[1] + "/Documents"])
        let place = FilePlace(FilePlace(path.lastComponent, in: path.directory), in: cache)
        #expect(cache.path(of: place) == path)
        #expect(cache.base(ofFile: path) == nil)
    }

    @Test func twoOfABatchCannotReplaceEachOther() throws {
        let bench = bench()
        let tasks = bench.manager.multiDownload(requests: [request("/one", "x/a"), request("/two", "x/a")])
        #expect(tasks.map { $0.url.path } == ["/one"])
        bench.settle()
        #expect(tasks.map(\.status) == [.succeeded] && tasks.map(bench.contents) == [[1, 1]])
    }

    @Test(arguments: [false, true]) func whoIsThereFirstHasThePlace(relaunches: Bool) throws {
        let bench = bench()
        var idle = request("/one", "a")
        idle.startsImmediately = false
        bench.manager.download(idle)
        bench.settle()
        if relaunches { bench.relaunch() }
        #expect(bench.manager.download(request("/two", "a")) == nil)
        #expect(bench.manager.download(request("/one", "a")) != nil, "itself is not in its way")
        #expect(bench.manager.download(request("/two", "b")) != nil)
        bench.manager.remove("https://a.example/one")
        bench.settle()
        let two = try #require(bench.manager.download(request("/two", "a")))
        bench.settle()
        #expect(two.status == .succeeded && two.filePath.hasSuffix("/b"), "its file is there: it keeps its place")
    }

    @Test func eachHasItsOwnPolicy() throws {
        let bench = bench()
        bench.manager.download(request("/one", "x/a.txt"))
        bench.settle()
        let two = try #require(bench.manager.download(request("/two", "x/a.txt", .fail)))
        bench.settle()
        #expect(two.reason == .disk(.inTheWay))
        bench.manager.download(request("/two", "x/a.txt", .keepBoth))
        bench.settle()
        #expect(two.status == .succeeded && two.filePath == "/downloads/File/x/a 2.txt")
        bench.relaunch()
        #expect(bench.records.map(\.conflictPolicy) == [nil, .keepBoth])
        bench.manager.configuration.fileConflictPolicy = .fail
        let other = bench.manager.download(
            DownloadRequest("https://a.example/one", key: "k", destination: "x/a.txt", conflictPolicy: .replace))
        bench.settle()
        #expect(other?.status == .succeeded && other?.filePath == "/downloads/File/x/a.txt")
    }

    @Test func aDirectoryThatIsAllowedNoMoreGetsNoFile() throws {
        let directory = try TemporaryDirectory()
        let cache = Cache("a", downloadPath: directory.path + "/app", allowedDirectories: [directory.path + "/media"])
        let place = try FilePlace(destination: directory.path + "/media/a", in: cache)
        #expect(Cache("a", downloadPath: directory.path + "/app").base(ofFile: cache.path(of: place)) == nil)
    }
}

/// On a real disk.
@Suite("R-01: destinations and symbolic links") struct DestinationLinkTests {
    private let directory: TemporaryDirectory
    private let cache: Cache
    private let transport = ScriptedTransport()

    init() throws {
        directory = try TemporaryDirectory()
        cache = Cache("links", downloadPath: directory.path + "/cache", allowedDirectories: [directory.path + "/media"])
        transport.serve(.init([1, 2, 3]), at: "/one")
        for name in ["/cache/File", "/elsewhere", "/real"] {
            try FileManager.default.createDirectory(
                atPath: directory.path + name, withIntermediateDirectories: true)
        }
    }

    private func download(_ destination: String) async throws -> (SessionManager, DownloadTask) {
        let manager = SessionManager("links", transport: transport, cache: cache)
        let task = try #require(
            manager.download(DownloadRequest("https://a.example/one", destination: destination)))
        for await event in task.events {
            if case .status(let status) = event, status.isAtRest { break }
        }
        return (manager, task)
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + path, withDestinationPath: directory.path + target)
    }

    @Test(arguments: ["out/a", "out/deeper/a", "out/\u{301}/a"])
    func aLinkInsideIsNotFollowed(destination: String) async throws {
        try link("/cache/File/out", to: "/elsewhere")
        let (manager, task) = try await download(destination)
        #expect(task.reason == .disk(.notPermitted))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/elsewhere").isEmpty)
        manager.invalidate()
    }

    @Test func aLinkThatIsAllowedItselfIsFollowed() async throws {
        try link("/media", to: "/real")
        let (manager, task) = try await download(directory.path + "/media/new/a")
        #expect(task.status == .succeeded)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/real/new/a"))
        manager.invalidate()
    }

    @Test func aLinkThatComesLaterProtectsWhatItLeadsTo() async throws {
        let (manager, task) = try await download("x/a")
        #expect(task.status == .succeeded)
        let foreign = directory.path + "/elsewhere/a"
        try FileManager.default.moveItem(atPath: directory.path + "/cache/File/x", toPath: directory.path + "/x")
        try Data([9]).write(to: URL(fileURLWithPath: foreign))
        try link("/cache/File/x", to: "/elsewhere")
        await withCheckedContinuation { done in
            manager.remove(task, completely: true, onMainQueue: false) { _ in done.resume() }
        }
        #expect(FileManager.default.fileExists(atPath: foreign))
        manager.invalidate()
    }
}
