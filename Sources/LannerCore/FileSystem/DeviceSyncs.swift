import CLannerDisk
import Dispatch
import Foundation

/// Brings files and names to their devices. Whoever wants that of something small while another such sync is under way
/// waits for one sync of the whole file system, together with all others who do: that costs little more than one of a
/// single file, and the many small files, the records of them and the names in two directories want many.
enum DeviceSyncs {
    /// A device takes longer for more that all programs have left to it than it would for single files: 64 MiB.
    private static let mostUnwritten: Int64 = 64 << 20
    /// Whether it was less when that was last looked at, and until when, in nanoseconds, that is good enough.
    private static let look = Locked((isLittle: false, end: UInt64(0)))
    private static let lookInterval: UInt64 = 10_000_000

    /// By the numbers of their devices.
    private static let fileSystems = SharedSyncs<dev_t>()

    /// The errors of a sync that was only begun which mean that bytes are lost. Any other, that something cannot be
    /// done here or now: the sync itself will tell.
    static let losses: Set<Int32> = {
        let everywhere: Set<Int32> = [EIO, ENOSPC, EDQUOT, EFBIG, EBADMSG, EROFS, ENODEV]
        #if canImport(Darwin)
        return everywhere
        #else
        return everywhere.union([EUCLEAN])
        #endif
    }()

    /// The errors of a check which mean that it cannot be made here. Any other, that bytes are lost, and the kernel may
    /// have told that for the last time.
    static let refusals: Set<Int32> = [ENOSYS, EPERM, EACCES, EINVAL, ENOTSUP, EOPNOTSUPP, EBADF]

    /// Whether the sync of a directory was refused by a file system that knows none: some in user space, and some of a
    /// network, say so with other errors than Linux's own, which have EINVAL.
    static func areWithoutDirectories(_ error: FileError) -> Bool {
        [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY].contains(error.code)
    }

    /// Has an open file or directory synced together with others, or else by its own sync.
    static func share(
        _ file: Descriptor, _ path: String, own: () throws(FileError) -> Void
    ) throws(FileError) {
        guard mayShare(file) else { return try own() }
        do throws(FileError) {
            try begin(file, path)
        } catch {
            if losses.contains(error.code) { throw error }
            return try own()
        }
        try shareBegun(file, path, own)
    }

    private static func shareBegun(
        _ file: Descriptor, _ path: String, _ own: () throws(FileError) -> Void
    ) throws(FileError) {
        let device = try file.status("sync", path).st_dev
        let isByOwn = try fileSystems.share(device, own: own) { () throws(FileError) in try syncAll(file, path) }
        if !isByOwn { try check(file, path) }
    }

    /// Has so many files of a device synced together with others, one of them being this; its own sync comes behind
    /// that of all.
    static func shareAll(
        _ file: Descriptor, _ path: String, _ device: dev_t, for count: Int, own: () throws(FileError) -> Void
    ) throws(FileError) {
        try fileSystems.perform(device, for: count) { (_) throws(FileError) in
            try syncAll(file, path)
            try own()
        }
    }

    /// Whether an open file may be synced together with others.
    static func mayShare(_ file: Descriptor) -> Bool {
        lanner_disk_may_sync_all(file.number) != 0 && isLittleUnwritten
    }

    private static var isLittleUnwritten: Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        let last = look.withLock { $0 }
        if now < last.end { return last.isLittle }
        let isLittle = (0...mostUnwritten).contains(lanner_disk_unwritten())
        look.withLock { $0 = (isLittle, now + lookInterval) }
        return isLittle
    }

    /// Has the device begin with what was written to an open file.
    static func begin(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_begin_sync(file.number, 0, 0) }
    }

    /// Throws when bytes of an open file could not be brought to the device.
    static func check(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_check(file.number) }
    }

    private static func syncAll(_ file: Descriptor, _ path: String) throws(FileError) {
        _ = try systemCall("sync", path) { lanner_disk_sync_all(file.number) }
    }
}
