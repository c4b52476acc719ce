import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// FNV-1a of 64 bits: enough to tell whether every byte came once and in order.
struct FNV64: Checksum.Hasher {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    func digest() -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
    }

    static func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        var hasher = FNV64()
        Array(bytes).withUnsafeBytes { hasher.update($0) }
        return hasher.digest()
    }
}

/// A file on the server: every byte tells where it belongs, as far as a byte can.
enum Sample {
    /// What the file repeats, so that it is copied and not computed byte by byte, which takes most of the time of some
    /// tests that are not optimized. Its length is a prime: no block of a disk and no chunk begins it anew.
    private static let pattern: [UInt8] = (0..<65_521).map {
        UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) ^ ($0 >> 16))
    }

    static func bytes(_ range: Range<Int64>) -> [UInt8] {
        // All threads share one empty array, and the initializer would write to it.
        guard !range.isEmpty else { return [] }
        return [UInt8](unsafeUninitializedCapacity: range.count) { bytes, count in
            while count < range.count {
                let place = Int((range.lowerBound + Int64(count)) % Int64(pattern.count))
                let piece = pattern[place...].prefix(range.count - count)
                count = bytes[count...].update(fromContentsOf: piece)
            }
        }
    }

    static func bytes(_ count: Int64) -> [UInt8] {
        bytes(0..<count)
    }

    static func chunk(_ range: Range<Int64>, counting memory: LiveMemory? = nil) -> Chunk {
        var chunk = Chunk()
        chunk.append(memory?.data(bytes(range)) ?? Data(bytes(range)))
        return chunk
    }
}

/// Counts the pieces of memory it gave out that are still held.
final class LiveMemory: Sendable {
    private let count = Locked(0)

    var pieces: Int { count.withLock { $0 } }

    func data(_ bytes: [UInt8]) -> Data {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 16)
        bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: memory, count: $0.count).copyMemory(from: $0) }
        count.withLock { $0 += 1 }
        return Data(
            bytesNoCopy: memory, count: bytes.count,
            deallocator: .custom { [count] pointer, _ in
                pointer.deallocate()
                count.withLock { $0 -= 1 }
            })
    }
}

/// A partial file on a disk in memory, its lanes run by hand.
final class PartialFileBench {
    static let path = "/Tmp/file.part"

    let disk: MemoryDisk
    let lanes = ManualLanes()
    let file: PartialFile
    private let recorded = Locked<[PartialFileEvent]>([])

    /// On the disk, or on a file system that is over it.
    init(
        disk: MemoryDisk = MemoryDisk(), over fileSystem: (any FileSystem)? = nil, holding: ByteRanges = ByteRanges(),
        durable: ByteRanges = ByteRanges(), hasher: (any Checksum.Hasher)? = FNV64(), pieces: Checksum.Pieces? = nil,
        load: WriteLoad = WriteLoad(), backlogLimit: Int = 8 << 20
    ) {
        self.disk = disk
        if disk.contents(of: "/Tmp/.here") == nil { disk.put([], at: "/Tmp/.here") }
        file = PartialFile(
            path: Self.path, fileSystem: fileSystem ?? disk, lanes: PartialFile.Lanes(lanes), hasher: hasher,
            pieces: pieces, claimed: holding, durable: durable, load: load, backlogLimit: backlogLimit
        ) { [recorded] event in
            recorded.withLock { $0.append(event) }
        }
    }

    /// What was reported since the last time this was asked, after everything has run.
    func events() -> [PartialFileEvent] {
        lanes.runAll()
        return recorded.withLock { events in
            defer { events = [] }
            return events
        }
    }

    func write(_ range: Range<Int64>) {
        file.write(Sample.chunk(range), at: range.lowerBound)
    }

    var contents: [UInt8]? { disk.contents(of: Self.path) }
}

extension ByteRanges: ExpressibleByArrayLiteral {
    package init(arrayLiteral ranges: Range<Int64>...) {
        self.init(ranges)
    }
}
