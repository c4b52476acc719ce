#if os(Linux)
import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// What a program that is started meanwhile does not have: it would keep files open, and locks taken.
@Suite struct InheritanceTests {
    private let disk = PosixFileSystem()
    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    /// For each descriptor of a path whether such a program has it.
    private func inherited(_ path: String) throws -> [Bool] {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let ours = names.filter { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) == path
        }
        return ours.compactMap { Int32($0) }.map { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }
    }

    @Test func aFileIsNotInherited() throws {
        let file = try disk.open(place("file"), .create)
        #expect(try inherited(place("file")) == [false])
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 1)
        try file.writeDirectly([UnsafeRawBufferPointer(memory)], at: 0)
        // It is opened once more where there are direct writes.
        #expect(try inherited(place("file")).allSatisfy { !$0 })
        file.close()
    }

    @Test func aDirectoryIsNotInherited() throws {
        let directory = try Descriptor(opening: place.path, O_RDONLY | O_DIRECTORY)
        #expect(try inherited(place.path) == [false])
        withExtendedLifetime(directory) {}
    }

    @Test func aLockIsNotInherited() throws {
        let lock = try disk.lock(place("lock"))
        #expect(try inherited(place("lock")) == [false])
        lock.release()
    }

    /// It is held open until its blocks are given back.
    @Test func aFileThatIsRemovedIsNotInherited() throws {
        let lanes = ManualLanes()
        let returns = BlockReturns(lane: lanes.makeLane("blocks"), large: 1) { _ in true }
        try disk.open(place("file"), .create).close()
        try PosixFileSystem(returns: returns).remove(place("file"))
        #expect(try inherited(place("file") + " (deleted)") == [false])
        lanes.runAll()
    }
}
#endif
