import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// What is open of a process can be looked at on Linux.
#if os(Linux)
/// A lane that stands still until somebody waits for what is on it.
private final class LateLane: Lane {
    private let waiting = Locked<[@Sendable () -> Void]>([])

    func run(_ work: @escaping @Sendable () -> Void) {
        let due = waiting.withLock { waiting in
            waiting.append(work)
            return waiting.count == 2 ? waiting : []
        }
        DispatchQueue.global().async { due.forEach { $0() } }
    }
}

@Suite struct BlockReturnsTests {
    private let disk = PosixFileSystem()
    private let lanes = ManualLanes()
    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    /// Small files are large here, and those of any file system, or of none, are held.
    private func returns(on lane: (any Lane)? = nil, most: Int = 16, holds: Bool = true) -> BlockReturns {
        BlockReturns(lane: lane ?? lanes.makeLane("blocks"), large: 64 << 10, most: most) { _ in holds }
    }

    private func make(_ name: String, size: Int) throws {
        let file = try disk.open(place(name), .create)
        try [UInt8](repeating: 1, count: size).withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
        file.close()
    }

    private func remove(_ name: String, _ returns: BlockReturns) throws {
        try returns.remove(place(name)) { () throws(FileError) in _ = unlink(place(name)) }
    }

    /// How many files of the directory this process has open, those without a name included.
    private func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(place.path + "/") ?? false
        }
    }

    @Test func aLargeFileLosesItsNameAtOnceAndItsBlocksLater() throws {
        try make("large", size: 64 << 10)
        try remove("large", returns())
        #expect(try disk.list(place.path).isEmpty)
        #expect(try openFiles() == 1)
        #expect(lanes.runAll() == 1)
        #expect(try openFiles() == 0)
    }

    @Test func nothingElseIsHeld() throws {
        let returns = returns()
        try make("small", size: 100)
        try make("linked", size: 64 << 10)
        try FileManager.default.linkItem(atPath: place("linked"), toPath: place("other"))
        try FileManager.default.createSymbolicLink(atPath: place("symbolic"), withDestinationPath: place("other"))
        for name in ["small", "linked", "symbolic", "none"] { try remove(name, returns) }
        #expect(lanes.count == 0)
        #expect(try disk.list(place.path) == ["other"])
    }

    @Test func onlySoManyAreHeldAtOnce() throws {
        let returns = returns(most: 2)
        for _ in 0..<2 {
            for name in ["a", "b", "c"] {
                try make(name, size: 64 << 10)
                try remove(name, returns)
            }
            #expect(try disk.list(place.path).isEmpty)
            #expect(try openFiles() == 2)
            lanes.runAll()
            #expect(try openFiles() == 0)
        }
    }

    @Test func whatCannotBeRemovedIsLetGo() throws {
        try make("kept", size: 64 << 10)
        let error = FileError(fault: .notPermitted, operation: "remove", path: place("kept"))
        #expect(throws: FileError.self) {
            try returns().remove(place("kept")) { () throws(FileError) in throw error }
        }
        lanes.runAll()
        #expect(try openFiles() == 0)
        #expect(try disk.size(of: place("kept")) == 64 << 10)
    }

    @Test func thereIsNothingElseToHoldOnFileSystemsThatAreNotKnown() throws {
        let returns = returns(holds: false)
        try make("large", size: 64 << 10)
        try remove("large", returns)
        #expect(try openFiles() == 0)
        #expect(lanes.count == 0 && !returns.wait())
    }

    @Test func whoNeedsTheRoomWaitsForIt() throws {
        let returns = returns(on: LateLane())
        #expect(!returns.wait())
        try make("large", size: 64 << 10)
        try remove("large", returns)
        #expect(try openFiles() == 1)
        #expect(returns.wait())
        #expect(try openFiles() == 0)
    }

    /// As often as it is tried, and what it says in the end, where only the first try finds no room.
    private func attempt(_ returns: BlockReturns, _ fault: DiskFault) -> (tries: Int, fault: DiskFault?) {
        var tries = 0
        do throws(FileError) {
            try returns.makingRoom { () throws(FileError) in
                tries += 1
                if tries == 1 { throw FileError(fault: fault, operation: "write", path: place.path) }
            }
            return (tries, nil)
        } catch {
            return (tries, error.fault)
        }
    }

    @Test func whatFindsNoRoomIsDoneAgainWhenThereMayBeSome() throws {
        let returns = returns(on: LateLane())
        #expect(attempt(returns, .noSpace) == (1, .noSpace), "nothing is held")
        try make("large", size: 64 << 10)
        try remove("large", returns)
        #expect(attempt(returns, .notPermitted) == (1, .notPermitted))
        #expect(attempt(returns, .noSpace) == (2, nil))
    }

    @Test func roomThatComesDuringTheFirstTryIsTakenByASecond() throws {
        let returns = returns()
        try make("large", size: 64 << 10)
        try remove("large", returns)
        var tries = 0
        try returns.makingRoom { () throws(FileError) in
            tries += 1
            guard tries == 1 else { return }
            lanes.runAll()
            throw FileError(fault: .noSpace, operation: "write", path: place.path)
        }
        #expect(tries == 2)
    }

    @Test func theFileSystemRemovesLargeFilesSo() throws {
        let disk = PosixFileSystem(returns: returns())
        try make("large", size: 64 << 10)
        try disk.remove(place("large"))
        #expect(try disk.size(of: place("large")) == nil)
        #expect(try openFiles() == 1)
        lanes.runAll()
        #expect(try openFiles() == 0)
    }
}
#endif
