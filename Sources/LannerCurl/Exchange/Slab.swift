import CLannerCurl
import Foundation
import LannerCore

/// Memory that pieces of bodies are put into. It goes back to its pool when the last piece in it is gone. Bytes lie in it as
/// they do within a block of their file, so that whole ones can be written without a copy.
// @unchecked Sendable: the memory is written by libcurl's thread alone, and never again where a piece was made of it.
final class Slab: @unchecked Sendable {
    /// As much as libcurl reads at once where no limit is kept.
    static let size = 512 << 10

    let memory: UnsafeMutableRawPointer
    private let pool: SlabPool

    fileprivate init(_ memory: UnsafeMutableRawPointer, _ pool: SlabPool) {
        self.memory = memory
        self.pool = pool
    }

    deinit {
        pool.give(memory)
    }
}

/// Keeps some slabs, because the kernel clears memory that is taken anew, which costs as much as to fill it.
// @unchecked Sendable: the only property is locked; pointers are what is in it.
final class SlabPool: @unchecked Sendable {
    /// What one download has under way at most, engine included.
    private static let limit = 16

    private let spare = Locked<[UnsafeMutableRawPointer]>([])

    deinit {
        drain()
    }

    func take() -> Slab {
        let memory = spare.withLock { $0.popLast() } ?? .allocate(byteCount: Slab.size, alignment: Chunk.block)
        return Slab(memory, self)
    }

    fileprivate func give(_ memory: UnsafeMutableRawPointer) {
        let isKept = spare.withLock { spare in
            guard spare.count < Self.limit else { return false }
            spare.append(memory)
            return true
        }
        if !isKept { memory.deallocate() }
    }

    /// Gives back what is spare, when nothing is under way.
    func drain() {
        let spare = spare.withLock { spare in
            defer { spare = [] }
            return spare
        }
        for memory in spare { memory.deallocate() }
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
