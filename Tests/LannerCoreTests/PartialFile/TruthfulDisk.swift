import LannerCore
import LannerMachine
import LannerTesting

/// A disk that remembers which bytes of its one open file were written rightly, and which of them were synced since:
/// what a report may claim at most. Finds out when bytes are read that were never written.
final class TruthfulDisk: FileSystem {
    /// The operation that fails when bytes are read before they are written.
    static let earlyRead = "early read"

    fileprivate struct Truth {
        var kernel = ByteRanges()
        var device = ByteRanges()
        var direct: [Range<Int64>] = []
    }

    private let disk: MemoryDisk
    fileprivate let truth = Locked(Truth())
    /// What happens before a file is closed.
    let beforeClose = Locked<(@Sendable () -> Void)?>(nil)

    init(_ disk: MemoryDisk) {
        self.disk = disk
    }

    /// What was written with the bytes of the sample.
    var kernel: ByteRanges { truth.withLock { $0.kernel } }
    /// What of it was written before a sync that succeeded.
    var device: ByteRanges { truth.withLock { $0.device } }

    /// The direct writes, in their order.
    var direct: [Range<Int64>] { truth.withLock { $0.direct } }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile {
        let file = try disk.open(path, mode)
        if mode == .create { truth.withLock { $0 = Truth() } }
        return TruthfulFile(file, self)
    }

    func makeDirectory(_ path: String) throws(FileError) { try disk.makeDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String] { try disk.list(path) }
    func size(of path: String) throws(FileError) -> Int64? { try disk.size(of: path) }
    func remove(_ path: String) throws(FileError) { try disk.remove(path) }
    func rename(_ path: String, to target: String) throws(FileError) { try disk.rename(path, to: target) }
    func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
    func hasRoom(for count: Int64, in directory: String) -> Bool { disk.hasRoom(for: count, in: directory) }
    func lock(_ path: String) throws(FileError) -> any FileLock { try disk.lock(path) }
    func bootIdentifier() -> String? { disk.bootIdentifier() }
}

private final class TruthfulFile: OpenFile {
    private let file: any OpenFile
    private let disk: TruthfulDisk

    init(_ file: any OpenFile, _ disk: TruthfulDisk) {
        self.file = file
        self.disk = disk
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try file.write(bytes, at: offset)
        let range = offset..<(offset + Int64(bytes.count))
        if Array(bytes) == Sample.bytes(range) { disk.truth.withLock { $0.kernel.insert(range) } }
    }

    var takesDirectWrites: Bool { true }

    func writeDirectly(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError) {
        let count = buffers.reduce(0) { $0 + $1.count }
        disk.truth.withLock { $0.direct.append(offset..<(offset + Int64(count))) }
        try write(buffers, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        let range = offset..<(offset + Int64(buffer.count))
        guard disk.kernel.contains(range) else {
            throw FileError(fault: .other, operation: TruthfulDisk.earlyRead, path: "")
        }
        return try file.read(into: buffer, at: offset)
    }

    func sync() throws(FileError) {
        let kernel = disk.kernel
        try file.sync()
        disk.truth.withLock { $0.device.formUnion(kernel) }
    }

    func allocate(_ size: Int64) throws(FileError) { try file.allocate(size) }
    func truncate(to size: Int64) throws(FileError) { try file.truncate(to: size) }
    func size() throws(FileError) -> Int64 { try file.size() }

    func close() {
        disk.beforeClose.withLock { $0 }?()
        file.close()
    }
}
