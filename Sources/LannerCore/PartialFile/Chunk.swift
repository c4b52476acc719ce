/// Bytes on their way into a file: memory of a fixed capacity that is filled once.
///
/// Network pieces are small (16 KiB); written one by one they cost a system call each. They are gathered here instead
/// and written together.
// @unchecked Sendable: filled by one owner, who gives it away by `PartialFile.write` and does not touch it again;
// from then on it is only read.
package final class Chunk: @unchecked Sendable {
    /// The capacity a download uses, 1 MiB: large enough that the system calls no longer show, small enough that a
    /// few of them in flight are no burden.
    package static let standardCapacity = 1 << 20

    /// How many bytes fit.
    package let capacity: Int
    /// How many bytes are in it.
    package private(set) var count = 0

    private let memory: UnsafeMutableRawPointer
    private let pool: ChunkPool?

    /// A chunk with memory of its own; a capacity below 1 counts as 1.
    package init(capacity: Int = Chunk.standardCapacity) {
        self.capacity = max(capacity, 1)
        self.memory = .allocate(byteCount: self.capacity, alignment: 16)
        self.pool = nil
    }

    /// A chunk whose memory goes back to `pool`.
    init(memory: UnsafeMutableRawPointer, capacity: Int, pool: ChunkPool) {
        self.memory = memory
        self.capacity = capacity
        self.pool = pool
    }

    deinit {
        if let pool { pool.giveBack(memory) } else { memory.deallocate() }
    }

    package var isFull: Bool { count == capacity }

    /// Appends as many of the bytes as fit and says how many those were.
    package func append(contentsOf bytes: UnsafeRawBufferPointer) -> Int {
        let fitting = min(bytes.count, capacity - count)
        guard fitting > 0, let source = bytes.baseAddress else { return 0 }
        (memory + count).copyMemory(from: source, byteCount: fitting)
        count += fitting
        return fitting
    }

    /// Replaces what is in the chunk by what `body` puts at the front of the memory it gets; it returns how much.
    func fill<Failure: Error>(
        upTo limit: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        count = 0
        let room = UnsafeMutableRawBufferPointer(start: memory, count: max(0, min(limit, capacity)))
        count = max(0, min(try body(room), room.count))
    }

    /// Lends the bytes for the duration of `body`.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }
}
