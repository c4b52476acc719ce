import CLannerCurl
import Foundation
import LannerCore

/// Memory that pieces of bodies are put into. It goes back to its pool when the last piece in it is gone. Bytes lie in
/// it as they do within a block of their file, so that whole ones can be written without a copy.
// @unchecked Sendable: the memory is written by libcurl's thread alone, and never again where a piece was made of it.
final class Slab: @unchecked Sendable {
    /// As much as libcurl reads at once where no limit is kept.
    static let size = 512 << 10

    let memory: UnsafeMutableRawPointer
    private let region: SlabRegion
    private let pool: SlabPool

    fileprivate init(_ memory: UnsafeMutableRawPointer, in region: SlabRegion, of pool: SlabPool) {
        self.memory = memory
        self.region = region
        self.pool = pool
    }

    deinit {
        pool.give(memory, of: region)
    }
}

/// The memory of several slabs, in one page where the system has pages so large: the kernel then makes one of it instead of
/// hundreds, and a device takes what lies there in as many parts fewer.
// @unchecked Sendable: what changes is only touched under the pool's lock.
private final class SlabRegion: @unchecked Sendable {
    /// A large page of x86-64, and of ARM where others have 4 KiB: 2 MiB.
    private static let size = 2 << 20

    private let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: size)
    /// Where no slab is.
    var free: [UnsafeMutableRawPointer]

    var isIdle: Bool { free.count == Self.size / Slab.size }

    init() {
        free = stride(from: 0, to: Self.size, by: Slab.size).map { [memory] in memory + $0 }
        lanner_curl_want_large_pages(memory, Self.size)
    }

    deinit {
        memory.deallocate()
    }
}

/// Keeps some memory for slabs, because the kernel clears what is taken anew, which costs as much as to fill it.
final class SlabPool: Sendable {
    /// Regions without a slab that are kept: what one download has under way at most, engine included.
    private static let idleLimit = 12

    private struct Regions {
        /// Those that have room for a slab.
        var vacant: [SlabRegion] = []
        /// Nothing is under way: what comes back now is not wanted soon.
        var isDrained = true

        var idle: Int { vacant.count(where: \.isIdle) }
    }

    private let regions = Locked(Regions())

    /// How many regions without a slab there are; for tests.
    var idle: Int { regions.withLock { $0.idle } }

    func take() -> Slab {
        regions.withLock { regions in
            regions.isDrained = false
            let region = regions.vacant.last ?? SlabRegion()
            if regions.vacant.isEmpty { regions.vacant.append(region) }
            let memory = region.free.removeLast()
            if region.free.isEmpty { regions.vacant.removeLast() }
            return Slab(memory, in: region, of: self)
        }
    }

    // A region that is dropped here is freed out of the lock, with its last slab: the kernel takes a while.
    fileprivate func give(_ memory: UnsafeMutableRawPointer, of region: SlabRegion) {
        regions.withLock { regions in
            if region.free.isEmpty { regions.vacant.append(region) }
            region.free.append(memory)
            guard region.isIdle, regions.isDrained || regions.idle > Self.idleLimit else { return }
            regions.vacant.removeAll { $0 === region }
        }
    }

    /// For when nothing is under way: gives back what has no slab, and what comes back before the next is taken.
    func drain() {
        // Freed out of the lock, too.
        _ = regions.withLock { regions in
            let all = regions.vacant
            regions = Regions(vacant: all.filter { !$0.isIdle })
            return all
        }
    }
}

/// Gathers the small pieces that libcurl hands over, so that they cross threads as few large ones.
struct Gatherer {
    /// Smaller pieces are copied out, so that a trickle does not keep whole slabs.
    static let smallest = 16 << 10

    private let pool: SlabPool
    private var slab: Slab?
    /// All there is, when that is small and there is no slab: most small bodies need none.
    private var first: Data?
    /// What is gathered lies from `start` to `end` of the slab.
    private var start = 0
    private var end = 0

    init(_ pool: SlabPool) {
        self.pool = pool
    }

    var count: Int { first?.count ?? end - start }

    /// What comes has this position in its file, as far as that counts within a block. While nothing is gathered.
    mutating func begin(at position: Int64) {
        start = Int(position % Int64(Chunk.block))
        end = start
    }

    /// Adds bytes, and hands over what no longer fits.
    mutating func append(_ bytes: UnsafeRawBufferPointer, handOver: (Data) -> Void) {
        if slab == nil, first == nil, !bytes.isEmpty, bytes.count < Self.smallest {
            first = Data(bytes)
            return
        }
        if let first {
            self.first = nil
            first.withUnsafeBytes { gather($0, handOver) }
        }
        gather(bytes, handOver)
    }

    private mutating func gather(_ bytes: UnsafeRawBufferPointer, _ handOver: (Data) -> Void) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let slab = slab ?? pool.take()
            self.slab = slab
            let part = rest.prefix(Slab.size - end)
            if let bytes = UnsafeRawBufferPointer(rebasing: part).baseAddress {
                lanner_curl_copy(slab.memory + end, bytes, part.count)
            }
            end += part.count
            rest = rest.dropFirst(part.count)
            if end == Slab.size, let piece = take() { handOver(piece) }
        }
    }

    /// What has been gathered; nil when there is nothing.
    mutating func take() -> Data? {
        if let first {
            self.first = nil
            begin(at: Int64(start + first.count))
            return first
        }
        guard let slab, count > 0 else { return nil }
        let (memory, size) = (slab.memory + start, count)
        let isSmall = size < Self.smallest
        if end == Slab.size {
            (self.slab, start, end) = (nil, 0, 0)
        } else {
            // What is copied out leaves its place to what follows, as far as that keeps its own within a block.
            start = isSmall ? start + size % Chunk.block : end
            end = start
        }
        if isSmall { return withExtendedLifetime(slab) { Data(bytes: memory, count: size) } }
        return Data(bytesNoCopy: memory, count: size, deallocator: .custom { _, _ in withExtendedLifetime(slab) {} })
    }
}
