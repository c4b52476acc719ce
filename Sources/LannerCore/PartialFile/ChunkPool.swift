/// Hands out chunks and uses their memory again, so that a running transfer does not ask the system for each.
///
/// It bounds what lies idle, not what is in use: the latter is the receiver's, who stops taking bytes while
/// ``PartialFile/outstanding`` is high. When the last chunk in use is gone, all idle memory goes back to the system.
package final class ChunkPool: Sendable {
    /// The capacity of every chunk of the pool.
    package let chunkCapacity: Int

    private struct Memory {
        var idle: [UnsafeMutableRawPointer] = []
        var inUse = 0
    }

    private let keeping: Int
    private let memory = Locked(Memory())

    /// A pool that keeps the memory of up to `keeping` chunks for use again.
    package init(chunkCapacity: Int = Chunk.standardCapacity, keeping: Int = 8) {
        self.chunkCapacity = max(chunkCapacity, 1)
        self.keeping = keeping
    }

    deinit {
        memory.withLock { $0.idle.forEach { $0.deallocate() } }
    }

    /// How many chunks of the pool are alive.
    package var inUse: Int { memory.withLock { $0.inUse } }

    /// How many chunks could be handed out without asking the system.
    package var idle: Int { memory.withLock { $0.idle.count } }

    /// An empty chunk.
    package func take() -> Chunk {
        let kept = memory.withLock { memory in
            memory.inUse += 1
            return memory.idle.popLast()
        }
        let pointer = kept ?? .allocate(byteCount: chunkCapacity, alignment: 16)
        return Chunk(memory: pointer, capacity: chunkCapacity, pool: self)
    }

    func giveBack(_ pointer: UnsafeMutableRawPointer) {
        let surplus = memory.withLock { memory -> [UnsafeMutableRawPointer] in
            memory.inUse -= 1
            if memory.inUse > 0, memory.idle.count < keeping {
                memory.idle.append(pointer)
                return []
            }
            guard memory.inUse == 0 else { return [pointer] }
            defer { memory.idle = [] }
            return memory.idle + [pointer]
        }
        surplus.forEach { $0.deallocate() }
    }
}
