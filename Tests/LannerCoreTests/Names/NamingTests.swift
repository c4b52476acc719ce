import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite("N-10: whose name a file has") struct NamingTests {
    private static let url = "https://example.com/dir/file.bin"

    private static func bench(_ naming: FileNaming, _ disposition: String? = nil) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.fileNaming = naming
        let bench = TestBench(configuration: configuration)
        let fields: LoopbackServer.Fields = disposition.map { ["Content-Disposition": $0] } ?? [:]
        bench.transport.serve(.init([1, 2, 3], fields: fields), at: "/dir/file.bin")
        bench.transport.serve(.init([1, 2, 3], fields: fields), at: "/")
        return bench
    }

    @Test func theDigestIsTheDefault() throws {
        #expect(SessionConfiguration().fileNaming == .urlDigest)
        let bench = Self.bench(.urlDigest, "attachment; filename=served.txt")
        let task = try #require(bench.manager.download(Self.url))
        bench.settle()
        #expect(task.fileName == FileName.standard(for: task.url) && task.fileName.hasSuffix(".bin"))
        #expect(bench.contents(of: task) == [1, 2, 3])
    }

    /// The extension comes from the URL.
    @Test(arguments: [
        ("http://h/a.b%0Ac", ""), ("http://h/a.b:c", ""), ("http://h/a.b%5Cc", ""),
        ("http://h/a.b%20", ""), ("http://h/a.%D1%84", ".\u{444}"), ("http://h/a.tar.gz", ".gz"), ("http://h/a.", ""),
    ])
    func theDefaultIsSafe(_ text: String, _ suffix: String) throws {
        let name = FileName.standard(for: try #require(URL(string: text)))
        #expect(FileName.safe(name) == name && name.utf8.dropFirst(32).elementsEqual(suffix.utf8))
    }

    /// What is plain is not asked about; what comes of it is the same.
    @Test(arguments: [
        "http://h.com", "http://h.com?a/b.c", "http://h/a.bin?x=y.z#q.r", "http://h/.bin", "http://h/a..bin",
        "http://h/a.bin/", "http://h/a.b-c", "http://h/a.PART", "http://h/a.copy", "http://h/a.lock", "http://h/a.con",
        "http://u:p@h:1/x.y", "http://h/a_.7z", "http://h/%20.7z", "http://h/a.7z%20", "http://h/a.b/c",
        "http://h/a.b;c.d", "http://h/a." + String(repeating: "x", count: 32),
        "http://h/a." + String(repeating: "x", count: 33),
    ])
    func theExtensionIsThatOfThePath(_ text: String) throws {
        let url = try #require(URL(string: text))
        let (name, suffix) = (FileName.standard(for: url), url.pathExtension)
        let digest = String(name.prefix(32))
        let whole = "\(digest).\(suffix)"
        let isFit = !suffix.isEmpty && suffix.utf8.count <= 32 && FileName.safe(whole) == whole
        #expect(name == (isFit ? whole : digest))
    }

    /// An empty file has no parts: that it is empty is all that a server says to who asks for one. A name is given once.
    @Test func theServersNameOfAnEmptyFile() throws {
        var configuration = SessionConfiguration()
        configuration.fileNaming = .serverName
        let bench = TestBench(
            configuration: configuration, traits: .init(delivery: .sliced(16_384...65_536, inFlight: 2)))
        bench.transport.serve(.init([UInt8]()), at: "/dir/file.bin")
        let task = try #require(bench.manager.download(Self.url))
        bench.settle()
        #expect(task.status == .succeeded && task.fileName == "file.bin" && task.response?.status == 416)
        #expect(bench.records.map(\.isNameOpen) == [false])
        let others: LoopbackServer.Fields = ["Content-Disposition": "attachment; filename=other"]
        bench.transport.serve(.init([1, 2, 3], fields: others), at: "/dir/file.bin")
        bench.manager.download(Self.url, checksum: try digest(of: [1, 2, 3]))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.contents(of: task) == [1, 2, 3])
        #expect(bench.files == ["/downloads/File/file.bin"])
    }

    @Test("T1-04, N-10: the last path component, on request") func theLastPathComponent() throws {
        let bench = Self.bench(.lastPathComponent, "attachment; filename=served.txt")
        let task = try #require(bench.manager.download(Self.url))
        let bare = try #require(bench.manager.download("https://example.com/"))
        bench.settle()
        #expect(task.fileName == "file.bin" && task.status == .succeeded)
        #expect(bare.fileName == FileName.standard(for: bare.url) && bare.status == .succeeded)
    }

    @Test(arguments: [
        ("attachment; filename=\"served name.txt\"", "served name.txt"),
        ("attachment; filename=x; filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "_.._etc_passwd"), ("attachment; filename=\"...\"", "file.bin"),
        ("attachment; filename=\"broken", "file.bin"), ("attachment", "file.bin"), (nil, "file.bin"),
    ])
    func theServersName(_ disposition: String?, _ name: String) throws {
        let bench = Self.bench(.serverName, disposition)
        let task = try #require(bench.manager.download(Self.url))
        #expect(task.fileName == "file.bin")
        bench.settle()
        #expect(task.fileName == name && task.filePath == "/downloads/File/" + name)
        #expect(bench.files == ["/downloads/File/" + name])
        #expect(bench.records.map(\.place.name) == [name] && bench.records.map(\.isNameOpen) == [false])
    }

    @Test func theServersNameIsThatOfTheLastRedirect() throws {
        let bench = Self.bench(.serverName)
        bench.transport.script("/latest", .redirect(to: Self.url))
        let task = try #require(bench.manager.download("https://example.com/latest"))
        bench.settle()
        #expect(task.fileName == "file.bin" && task.status == .succeeded)
        bench.transport.script("/go", .redirect(to: "/"))
        let bare = try #require(bench.manager.download("https://example.com/go"))
        bench.settle()
        #expect(bare.fileName == FileName.standard(for: bare.url) && bare.status == .succeeded)
    }

    @Test func anAnswerThatIsNoFileDecidesNothing() throws {
        let bench = Self.bench(.serverName, "attachment; filename=good")
        bench.transport.script("/dir/file.bin", .status(503, ["Content-Disposition": "attachment; filename=bad"]))
        let task = try #require(bench.manager.download(Self.url))
        #expect(bench.runToRest())
        #expect(task.fileName == "good")
    }

    /// Bytes on record go with the name that came with them, whatever the server says later.
    @Test func theServersNameIsDecidedOnce() throws {
        let bench = Self.bench(.serverName, "attachment; filename=first")
        bench.transport.script("/dir/file.bin", .stall(afterBytes: 2))
        let task = try #require(bench.manager.download(Self.url))
        bench.settle()
        #expect(task.fileName == "first" && task.response != nil)
        bench.manager.suspend(task)
        bench.settle()
        bench.transport.serve(
            .init([1, 2, 3], fields: ["Content-Disposition": "attachment; filename=second"]), at: "/dir/file.bin")
        bench.relaunch()
        let again = try #require(bench.manager.fetchTask(Self.url))
        #expect(again.fileName == "first" && again.completedBytes == 2)
        bench.manager.start(again)
        bench.settle()
        #expect(again.fileName == "first" && bench.contents(of: again) == [1, 2, 3])
    }

    @Test func aRelaunchBeforeTheAnswerLeavesTheNameOpen() throws {
        let bench = Self.bench(.serverName, "attachment; filename=served")
        bench.transport.script("/dir/file.bin", .hold)
        bench.manager.download(Self.url)
        bench.settle()
        bench.relaunch(configuration: SessionConfiguration())
        let task = try #require(bench.manager.fetchTask(Self.url))
        #expect(task.fileName == "file.bin")
        bench.manager.start(task)
        bench.settle()
        #expect(task.fileName == "served" && task.status == .succeeded)
    }

    @Test func theCallersNameComesFirst() throws {
        let bench = Self.bench(.serverName, "attachment; filename=served")
        let task = try #require(bench.manager.download(Self.url, fileName: ".mine"))
        bench.settle()
        #expect(task.fileName == ".mine" && bench.files == ["/downloads/File/.mine"])
        bench.transport.script("/dir/file.bin", .hold)
        let late = try #require(bench.manager.download("https://example.com/dir/file.bin?2"))
        bench.manager.download("https://example.com/dir/file.bin?2", fileName: "late")
        bench.settle()
        #expect(late.fileName == "late")
    }

    @Test func anEmptyNameOfTheCallerIsNone() throws {
        let bench = Self.bench(.lastPathComponent)
        let task = try #require(bench.manager.download("https://example.com/dir/file.bin", fileName: ""))
        #expect(task.fileName == "file.bin")
        bench.manager.download("https://example.com/dir/file.bin", fileName: "")
        bench.settle()
        #expect(task.fileName == "file.bin" && bench.log.errors.isEmpty)
    }

    @Test(arguments: [".", "..", "a/b", "a\0b", String(repeating: "x", count: 256)])
    func aCallersNameThatIsNoneIsRefused(_ name: String) throws {
        let bench = Self.bench(.serverName)
        #expect(bench.manager.download(Self.url, fileName: name) == nil)
        let errors = bench.log.errors.compactMap { $0 as? LannerError }
        guard case .invalidFileName(name) = errors.last else { return #expect(Bool(false), "\(errors)") }
        #expect(bench.manager.tasks.isEmpty)
    }
}
