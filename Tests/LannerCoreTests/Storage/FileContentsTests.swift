import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Files that are read whole.
@Suite struct FileContentsTests {
    private func file(_ bytes: [UInt8]) throws -> any OpenFile {
        let disk = MemoryDisk()
        disk.put(bytes, at: "/file")
        return try disk.open("/file", .read)
    }

    @Test(arguments: [0, 1, 100_000] as [Int64]) func holdsAllBytes(count: Int64) throws {
        let bytes = Sample.bytes(count)
        let contents = try file(bytes).readAll(upTo: count, at: "/file")
        #expect(contents.withBytes { Array($0) } == bytes)
    }

    @Test func memoryMayBeRefused() throws {
        let file = try file([1, 2, 3])
        func isTooLarge(_ error: any Error) -> Bool {
            guard let error = error as? FileError else { return false }
            return error.fault == .tooLarge && error.path == "/file"
        }
        #expect { try file.readAll(upTo: 3, at: "/file") { _ in nil } } throws: { isTooLarge($0) }
        #expect { try file.readAll(upTo: 2, at: "/file") } throws: { isTooLarge($0) }
    }

    /// A file of the lock as large as any may be.
    @Test func noTokenIsReadOfALargeFile() throws {
        let disk = MemoryDisk()
        let identity = StoreIdentity(token: 7)
        let token = UnrecordedToken(path: "/lock", fileSystem: disk)
        disk.put(Array(identity.encoded), at: "/lock")
        #expect(token.read() == 7)
        try disk.open("/lock", .readWrite).truncate(to: 1 << 33)
        #expect(token.read() == nil && disk.counters.bytesRead < 1 << 20)
    }
}
