#if os(Linux)
import CLannerDisk
import Foundation
import Testing

@testable import LannerCore

/// Every sync asks the system, and tells what it says: a descriptor that stands for a path alone can be looked at, but no
/// call syncs it.
@Suite struct SyncCallTests {
    /// `O_PATH`, which Swift does not see.
    private static let pathOnly: Int32 = 0o10_000_000

    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    private func openPath() throws -> Descriptor {
        try PosixFileSystem().open(place("file"), .create).close()
        return try Descriptor(opening: place("file"), O_RDONLY | Self.pathOnly)
    }

    private func code(_ body: () throws -> Void) -> Int32? { fileError(body)?.code }

    @Test func aFileIsSyncedByTheSystem() throws {
        let descriptor = try openPath()
        let file = PosixFile(descriptor, path: place("file"), device: 0, .shared)
        #expect(code { try file.syncNow(descriptor) } == EBADF)
        // Nothing is synced where all is memory.
        let isInMemory = lanner_disk_is_memory(descriptor.number) != 0
        #expect(code { try file.sync() } == (isInMemory ? nil : EBADF))
        #expect(code { try file.syncShared() } == (isInMemory ? nil : EBADF))
    }

    @Test func aDirectoryIsSyncedByTheSystem() throws {
        let directory = try Descriptor(opening: place.path, O_RDONLY | O_DIRECTORY | Self.pathOnly)
        #expect(code { try PosixFileSystem.syncNow(directory, place.path) } == EBADF)
    }

    /// On a device of its own: of one that others sync, they might do it for this one.
    @Test func aWholeFileSystemIsSyncedByTheSystem() throws {
        let descriptor = try openPath()
        var isOwnMade = false
        let told = code {
            try DeviceSyncs.shareAll(descriptor, place("file"), .max, for: 2) { () throws(FileError) in
                isOwnMade = true
            }
        }
        #expect(told == EBADF && !isOwnMade)
    }

    @Test func whatASyncOfAllLeavesIsAskedOfTheSystem() throws {
        let descriptor = try openPath()
        #expect(code { try DeviceSyncs.begin(descriptor, place("file")) } == EBADF)
        #expect(code { try DeviceSyncs.check(descriptor, place("file")) } == EBADF)
    }
}
#endif
