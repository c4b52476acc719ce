import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// On a real disk.
@Suite("N-10: no path leaves the directory") struct PublisherTests {
    private let directory: TemporaryDirectory
    private let disk = PosixFileSystem()

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["outside", "File"] { try disk.makeDirectory(directory(name)) }
        try write("new", "1-1-1.part")
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory(name)))
    }

    private func read(_ name: String) -> String? {
        try? String(contentsOfFile: directory(name), encoding: .utf8)
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: directory(name), withDestinationPath: directory(target))
    }

    private func isLink(_ name: String) throws -> Bool {
        let attributes = try FileManager.default.attributesOfItem(atPath: directory(name))
        return attributes[.type] as? FileAttributeType == .typeSymbolicLink
    }

    /// Moves the only file, with a copy where it has to be one.
    private func move(_ publisher: Publisher, to target: String, ifFree: Bool = false) throws -> Publisher.Move? {
        let (source, target) = (directory("1-1-1.part"), directory(target))
        func rename(_ copy: String? = nil) throws -> Publisher.Move? {
            ifFree
                ? try publisher.moveIfFree(source, to: target, copiedTo: copy)
                : try publisher.move(source, to: target, copiedTo: copy)
        }
        let way = try rename()
        guard way == .apart else { return way }
        let copy = try #require(try publisher.copy(source, beside: target))
        defer { try? disk.remove(copy) }
        return try rename(copy)
    }

    private func names(_ name: String) throws -> [String] { try disk.list(directory(name)).sorted() }

    /// A large one takes minutes, in which others wait.
    @Test func aFileIsComparedAsLongAsThatIsWanted() throws {
        try write("new", "File/a")
        let digest = try digest(of: Array("new".utf8))
        let publisher = Publisher(fileSystem: disk)
        func isMoved(_ isWanted: Bool) throws -> Bool? {
            try publisher.isMoved(
                directory("gone"), to: directory("File/a"), size: 3, digest: digest, while: { isWanted })
        }
        #expect(try isMoved(true) == true && isMoved(false) == nil)
    }

    @Test(arguments: [false, true], [nil, "outside/file", "outside"])
    func aLinkInThePlaceIsReplacedNotFollowed(acrossDevices: Bool, target: String?) throws {
        try write("theirs", "outside/file")
        try link("File/a", to: target ?? "nowhere")
        let publisher = Publisher(fileSystem: acrossDevices ? TwoDevices(disk) : disk)
        let move = try move(publisher, to: "File/a")
        #expect(move == (acrossDevices ? .copied : .renamed))
        #expect(try !isLink("File/a") && read("File/a") == "new" && read("outside/file") == "theirs")
        #expect(try names("File") == ["a"] && names("outside") == ["file"])
        #expect(read("1-1-1.part") == (acrossDevices ? "new" : nil))
    }

    @Test(arguments: [false, true], ["nowhere", "outside/file", "outside"])
    func aLinkInThePlaceIsTaken(acrossDevices: Bool, target: String) throws {
        try write("theirs", "outside/file")
        try link("File/a", to: target)
        let publisher = Publisher(fileSystem: acrossDevices ? TwoDevices(disk) : disk)
        #expect(try move(publisher, to: "File/a", ifFree: true) == nil)
        #expect(try isLink("File/a") && read("outside/file") == "theirs" && read("1-1-1.part") == "new")
        let move = try move(publisher, to: "File/b", ifFree: true)
        #expect(move == (acrossDevices ? .copied : .renamed))
        #expect(read("File/b") == "new" && read("1-1-1.part") == (acrossDevices ? "new" : nil))
        #expect(try names("File") == ["a", "b"])
    }

    @Test(arguments: [false, true]) func aFileOrDirectoryInThePlaceIsTaken(acrossDevices: Bool) throws {
        try write("theirs", "File/a")
        try disk.makeDirectory(directory("File/d"))
        let publisher = Publisher(fileSystem: acrossDevices ? TwoDevices(disk) : disk)
        for name in ["File/a", "File/d"] {
            #expect(try move(publisher, to: name, ifFree: true) == nil)
        }
        #expect(read("File/a") == "theirs" && read("1-1-1.part") == "new")
        #expect(try names("File") == ["a", "d"])
    }

    private func permissions(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: directory(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    /// What was to be read by nobody else still is not. Of permissions that go with a program none are.
    @Test(arguments: [false, true], [(0o600, 0o600), (0o640, 0o640), (0o444, 0o444), (0o4755, 0o755), (0o200, 0o600)])
    func aFileTakesOverThePermissionsOfTheOneItReplaces(acrossDevices: Bool, _ modes: (old: Int, new: Int)) throws {
        try write("old", "File/a")
        #expect(chmod(directory("File/a"), mode_t(modes.old)) == 0)
        let publisher = Publisher(fileSystem: acrossDevices ? TwoDevices(disk) : disk)
        _ = try move(publisher, to: "File/a")
        #expect(read("File/a") == "new")
        #expect(try permissions("File/a") == modes.new)
    }

    @Test(.enabled(if: geteuid() == 0), arguments: [(0o666, 0o644), (0o640, 0o600)])
    func ofAnotherUsersPermissionsItTakesNoneThatANewOneHasNot(_ modes: (old: Int, new: Int)) throws {
        try write("old", "File/a")
        #expect(chmod(directory("1-1-1.part"), 0o644) == 0 && chmod(directory("File/a"), mode_t(modes.old)) == 0)
        #expect(chown(directory("File/a"), 12345, 12345) == 0)
        _ = try move(Publisher(fileSystem: disk), to: "File/a")
        #expect(try permissions("File/a") == modes.new)
    }

    /// Others may be of the group that was kept out, or of the one that has come.
    @Test(.enabled(if: geteuid() == 0)) func nobodyGainsByAnotherGroup() throws {
        try write("old", "File/a")
        #expect(chmod(directory("File/a"), 0o604) == 0 && chown(directory("File/a"), geteuid(), 12345) == 0)
        _ = try move(Publisher(fileSystem: disk), to: "File/a")
        #expect(try permissions("File/a") == 0o600)
    }

    /// Who tries again may have to write it.
    @Test func aFileThatReplacesNoneStaysWritable() throws {
        let usual = try permissions("1-1-1.part")
        try link("File/a", to: "outside")
        try disk.makeDirectory(directory("File/d"))
        let publisher = Publisher(fileSystem: disk)
        #expect(throws: FileError.self) { try move(publisher, to: "File/d") }
        #expect(try permissions("1-1-1.part") == usual)
        _ = try move(publisher, to: "File/a")
        #expect(try permissions("File/a") == usual)
    }

    /// The user's own link, to a directory that may be anywhere.
    @Test func theDirectoryItselfMayBeALink() throws {
        try link("Link", to: "outside")
        try disk.makeDirectory(directory("Link"))
        let publisher = Publisher(fileSystem: disk)
        #expect(try move(publisher, to: "Link/a", ifFree: true) == .renamed)
        #expect(read("outside/a") == "new")
    }

    /// The process ended between the two steps of a rename that must not replace: both names are of one file.
    @Test func aRenameThatWasCutOffIsFinished() throws {
        try FileManager.default.linkItem(atPath: directory("1-1-1.part"), toPath: directory("File/a"))
        #if !canImport(Darwin)
        #expect(try disk.renameIfFree(directory("1-1-1.part"), to: directory("File/a")))
        #expect(read("File/a") == "new" && read("1-1-1.part") == nil)
        #endif
    }

    @Test func aCopyIsKnownByItsBytes() throws {
        let publisher = Publisher(fileSystem: disk)
        try write("new", "File/a")
        try write("old", "File/b")
        try link("File/c", to: "File/a")
        for name in ["File/b", "File/c", "File/d"] {
            #expect(try publisher.isCopied(directory("1-1-1.part"), to: directory(name)) { true } == false)
        }
        #expect(try publisher.isCopied(directory("1-1-1.part"), to: directory("File/a")) { true } == true)
        #expect(read("File/a") == "new" && read("File/b") == "old" && read("1-1-1.part") == "new")
    }

    @Test func aLargeCopyIsKnownByItsLastByte() throws {
        let disk = MemoryDisk()
        var bytes = [UInt8](repeating: 7, count: 1_200_000)
        for name in ["/a", "/b"] { disk.put(bytes, at: name) }
        bytes[bytes.count - 1] = 8
        disk.put(bytes, at: "/c")
        let publisher = Publisher(fileSystem: disk)
        #expect(try publisher.isCopied("/a", to: "/b") { true } == true)
        #expect(try publisher.isCopied("/a", to: "/c") { true } == false)
        #expect(try publisher.isCopied("/a", to: "/b") { false } == nil)
    }

    /// An application waits for its launch.
    @Test func aLaunchReadsNoLargeCopy() throws {
        let disk = MemoryDisk()
        for (name, count) in [("/a", 16 << 20), ("/b", 16 << 20), ("/c", 16 << 20 + 1), ("/d", 16 << 20 + 1)] {
            disk.put([UInt8](repeating: 7, count: count), at: name)
        }
        let publisher = Publisher(fileSystem: disk)
        #expect(publisher.isFoundCopied("/a", to: "/b") == true && publisher.isFoundCopied("/c", to: "/d") == nil)
    }

    /// The kernel moves no file from one mount to another, though both be of one directory.
    @Test(arguments: [false, true]) func aDirectoryThatIsMountedTwiceKeepsTheFile(ifFree: Bool) throws {
        try link("Again", to: "")
        let publisher = Publisher(fileSystem: TwoDevices(disk))
        if ifFree {
            #expect(try move(publisher, to: "Again/a", ifFree: true) == .copied)
        } else {
            #expect(try move(publisher, to: "Again/a") == .copied)
        }
        #expect(read("a") == "new")
        #expect(try names("") == ["1-1-1.part", "Again", "File", "a", "outside"])
    }

    /// A directory is where the file is to be.
    @Test func aCopyThatCannotBeMovedIsRemoved() throws {
        try disk.makeDirectory(directory("File/d/e"))
        let publisher = Publisher(fileSystem: TwoDevices(disk))
        #expect(throws: FileError.self) { _ = try move(publisher, to: "File/d") }
        #expect(try names("File") == ["d"] && read("1-1-1.part") == "new")
    }

    /// The copy is beside it under a name of its own: the longest name is not too long for that, and no mark that makes
    /// one character of the slash before it leads elsewhere.
    @Test(arguments: [String(repeating: "x", count: 255), "\u{301}a"])
    func anyNameGoesToAnotherDevice(_ name: String) throws {
        let publisher = Publisher(fileSystem: TwoDevices(disk))
        #expect(try move(publisher, to: "File/" + name) == .copied)
        #expect(read("File/" + name) == "new")
        #expect(try names("File") == [name] && names("") == ["1-1-1.part", "File", "outside"])
    }
}

/// A disk on which every directory is a device of its own.
private struct TwoDevices: FileSystem {
    let disk: any FileSystem

    init(_ disk: any FileSystem) { self.disk = disk }

    private func check(_ path: String, _ target: String) throws(FileError) {
        if path.directory != target.directory { throw FileError(operation: "rename", path: path, code: EXDEV) }
    }

    func rename(_ path: String, to target: String) throws(FileError) {
        try check(path, target)
        try disk.rename(path, to: target)
    }

    func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        try check(path, target)
        return try disk.renameIfFree(path, to: target)
    }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile { try disk.open(path, mode) }
    func makeDirectory(_ path: String) throws(FileError) { try disk.makeDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String] { try disk.list(path) }
    func size(of path: String) throws(FileError) -> Int64? { try disk.size(of: path) }
    func remove(_ path: String) throws(FileError) { try disk.remove(path) }
    func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
    func hasRoom(for count: Int64, in directory: String) -> Bool { disk.hasRoom(for: count, in: directory) }
    func lock(_ path: String) throws(FileError) -> any FileLock { try disk.lock(path) }
    func bootIdentifier() -> String? { disk.bootIdentifier() }
}
