import CLannerDisk
import Foundation
import LannerMachine

/// A file of the operating system.
package final class PosixFile: OpenFile {
    let path: String
    let device: dev_t
    private let returns: BlockReturns
    let descriptors: Locked<Descriptors>

    /// More in one call fails on Darwin and is cut short on Linux.
    private static let largestTransfer = 1 << 30

    /// Written in one call, up to the next multiple: 16 KiB. The kernel takes memory for its cache in blocks of the
    /// size of a write. Large blocks are quicker only where they are at hand: in a virtual machine that gives free
    /// memory back to its host each is fetched anew, and writes of 1 MiB then take several times as long
    /// (`Tests/Benchmarks/get.py writes`).
    static let writeSize = 16 << 10
    /// Every system takes so many buffers in one call.
    private static let largestVector = 16

    /// One file, opened for ordinary work and, once it comes to that, for direct writes.
    struct Descriptors {
        enum Direct {
            case untried, refused
            case open(Descriptor)
        }

        var file: Descriptor?
        var direct = Direct.untried
    }

    init(_ descriptor: Descriptor, path: String, device: dev_t, _ returns: BlockReturns) {
        (self.path, self.device) = (path, device)
        self.returns = returns
        descriptors = Locked(Descriptors(file: descriptor))
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try write([bytes], at: offset)
    }

    package func write(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError) {
        try write(buffers, at: offset, to: try current("write"), atOnce: Self.writeSize)
    }

    /// Writes in calls that end at multiples of a size.
    func write(
        _ buffers: [UnsafeRawBufferPointer], at offset: Int64, to file: Descriptor, atOnce size: Int
    ) throws(FileError) {
        let total = buffers.reduce(0) { $0 + $1.count }
        var done = 0
        while done < total {
            let position = try position(offset, plus: done, "write")
            let length = min(total - done, size - Int(position % off_t(size)))
            let vectors = buffers.part(done..<(done + length)).prefix(Self.largestVector).map(iovec.init)
            let count = try returns.makingRoom { () throws(FileError) in
                try systemCall("write", path) { pwritev(file.number, vectors, Int32(vectors.count), position) }
            }
            // The loop would not end otherwise.
            if count == 0 { throw FileError(operation: "write", path: path, code: EIO) }
            done += count
        }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        let file = try current("read")
        let position = try position(offset, plus: 0, "read")
        return try systemCall("read", path) {
            pread(file.number, buffer.baseAddress, min(buffer.count, Self.largestTransfer), position)
        }
    }

    package func truncate(to size: Int64) throws(FileError) {
        let file = try current("truncate")
        let size = try position(size, plus: 0, "truncate")
        try systemCall("truncate", path) { ftruncate(file.number, size) }
    }

    package func beginSync(of range: Range<Int64>) throws(FileError) {
        // An empty range would be all of the file to Linux.
        guard !range.isEmpty, let file = descriptors.withLock({ $0.file }) else { return }
        do throws(FileError) {
            try systemCall("sync", path) {
                lanner_disk_begin_sync(file.number, range.lowerBound, range.upperBound - range.lowerBound)
            }
        } catch {
            if DeviceSyncs.losses.contains(error.code) { throw error }
        }
    }

    package func sync() throws(FileError) {
        let file = try current("sync")
        if lanner_disk_is_memory(file.number) != 0 { return }
        try LanePool.shared.block { () throws(FileError) in try syncNow(file) }
    }

    func syncNow(_ file: Descriptor) throws(FileError) {
        #if canImport(Darwin)
        try file.syncFully("sync", path)
        #else
        try systemCall("sync", path) { fdatasync(file.number) }
        #endif
    }

    package func checkWhole() throws(FileError) {
        let file = try current("sync")
        if lanner_disk_is_whole(file.number) != 0 { return }
        // It is mostly for want of space that bytes find no place.
        var system = statvfs()
        let isFull = fstatvfs(file.number, &system) == 0 && system.f_bavail == 0
        throw FileError(operation: "sync", path: path, code: isFull ? ENOSPC : EIO)
    }

    package func holes(in ranges: ByteRanges) -> ByteRanges {
        guard let file = descriptors.withLock({ $0.file }) else { return ByteRanges() }
        var holes = ByteRanges()
        for range in ranges.ranges {
            var (position, begin, end) = (range.lowerBound, Int64(0), Int64(0))
            while position < range.upperBound, lanner_disk_hole(file.number, position, &begin, &end) != 0 {
                holes.insert((begin..<end).clamped(to: range))
                position = end
            }
        }
        return holes
    }

    package func syncShared() throws(FileError) {
        let file = try current("sync")
        if lanner_disk_is_memory(file.number) != 0 { return }
        try LanePool.shared.block { () throws(FileError) in
            try DeviceSyncs.share(file, path) { () throws(FileError) in try syncNow(file) }
        }
    }

    package func size() throws(FileError) -> Int64 {
        Int64(try current("size").status("size", path).st_size)
    }

    package var isInPlace: Bool { descriptors.withLock { $0.file }?.isInPlace(path) ?? true }
    package var isRemoved: Bool { descriptors.withLock { $0.file }?.isRemoved(from: path) ?? false }

    package func close() {
        descriptors.withLock { $0 = Descriptors(file: nil, direct: .refused) }
    }

    func current(_ operation: String) throws(FileError) -> Descriptor {
        guard let file = descriptors.withLock({ $0.file }) else {
            throw FileError(operation: operation, path: path, code: EBADF)
        }
        return file
    }

    private func position(_ offset: Int64, plus done: Int, _ operation: String) throws(FileError) -> off_t {
        let (sum, overflow) = offset.addingReportingOverflow(Int64(done))
        guard !overflow, sum >= 0, let position = off_t(exactly: sum) else {
            throw FileError(operation: operation, path: path, code: EINVAL)
        }
        return position
    }
}

extension PosixFile {
    package func allocate(_ size: Int64) throws(FileError) {
        let file = try current("allocate")
        let size = try position(size, plus: 0, "allocate")
        if size == 0 { return }
        do throws(FileError) {
            try returns.makingRoom { () throws(FileError) in try reserve(size, in: file) }
        } catch {
            // Space is then taken as it is written.
            if Self.cannotAllocate.contains(error.code) { return }
            giveBackSurplus(of: file)
            throw error
        }
    }

    /// A call that fails for want of space may leave the file with all there was (ext4 does): cutting the file where it
    /// ends gives it back.
    private func giveBackSurplus(of file: Descriptor) {
        guard let size = try? file.status("allocate", path).st_size else { return }
        _ = ftruncate(file.number, size)
    }

    /// What a file system without preallocation answers. On Apple's there may be room that has to be made first: whether
    /// there is none shows when something is written.
    private static let cannotAllocate: Set<Int32> = {
        let answers: Set<Int32> = [EOPNOTSUPP, ENOTSUP, ENOSYS, EINVAL, ENOTTY]
        #if canImport(Darwin)
        return answers.union([ENOSPC])
        #else
        return answers
        #endif
    }()

    private func reserve(_ size: off_t, in file: Descriptor) throws(FileError) {
        #if canImport(Darwin)
        // It is set aside behind all that the file has, not behind its end.
        let status = try file.status("allocate", path)
        let missing = size - max(status.st_size, off_t(status.st_blocks) * 512)
        if missing <= 0 { return }
        var request = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: missing,
            fst_bytesalloc: 0)
        try systemCall("allocate", path) { fcntl(file.number, F_PREALLOCATE, &request) }
        #else
        try systemCall("allocate", path) { lanner_disk_allocate(file.number, Int64(size)) }
        #endif
    }
}

/// An advisory lock on a lock file. Each belongs to one opening of the file, so that it also holds off a second one
/// in the same process.
package final class PosixFileLock: FileLock {
    private let path: String
    private let descriptor: Locked<Descriptor?>

    init(_ path: String) throws(FileError) {
        self.path = path
        descriptor = Locked(try Self.locked(path))
    }

    /// Who removes a lock file while it is his may do so between our opening and our locking it: then the lock is on a
    /// file that nobody else will find, and worth nothing.
    private static func locked(_ path: String) throws(FileError) -> Descriptor {
        while true {
            let file = try Descriptor(
                opening: path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, permissions: 0o600, operation: "lock")
            try systemCall("lock", path) { flock(file.number, LOCK_EX | LOCK_NB) }
            if !file.isRemoved(from: path) { return file }
        }
    }

    deinit {
        release()
    }

    package var isInPlace: Bool { descriptor.withLock { $0 }?.isInPlace(path) ?? true }

    /// Unlocks by itself, not by closing: a child process that has been forked at this moment holds a copy of the
    /// descriptor until it executes its program, and the lock with it.
    package func release() {
        descriptor.withLock { file in
            if let file { flock(file.number, LOCK_UN) }
            file = nil
        }
    }
}

extension iovec {
    fileprivate init(_ buffer: UnsafeRawBufferPointer) {
        self.init(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
    }
}
