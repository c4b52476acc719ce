import LannerMachine

/// What the hasher of a partial file takes next: the contiguous prefix of the file, in order, from memory where the
/// bytes are still there and from the file where they are not.
///
/// Chunks are kept only when they continue what is already waiting, and only up to `limit`; a hasher that falls
/// behind reads the rest back, so it never holds up the writer and its memory is bounded.
struct HashBacklog {
    /// The next bytes to hash.
    enum Piece {
        /// From memory.
        case chunk(Chunk)
        /// From the file; never more than ``HashBacklog/pieceLimit``.
        case range(Range<Int64>)
    }

    /// How much is read back at once.
    static let pieceLimit: Int64 = 1 << 20

    /// How many bytes from 0 on have been handed out.
    private(set) var position: Int64 = 0
    /// The bytes that wait, which count against the limit.
    private(set) var memory = 0

    private let limit: Int
    private var waiting: [Chunk] = []
    private var end: Int64 = 0

    /// A backlog of at most `limit` bytes of memory.
    init(limit: Int = 8 << 20) {
        self.limit = limit
    }

    /// Keeps a chunk that has just been written, if it comes next and there is room.
    mutating func offer(_ chunk: Chunk, at offset: Int64) {
        guard chunk.count > 0, takes(chunk.count, at: offset) else { return }
        waiting.append(chunk)
        memory += chunk.count
        end += Int64(chunk.count)
    }

    /// Whether so many bytes come next and there is room for them.
    func takes(_ count: Int, at offset: Int64) -> Bool {
        offset == end && memory + count <= limit
    }

    /// Whether ``next(below:)`` has something to give.
    func hasNext(below prefix: Int64) -> Bool {
        !waiting.isEmpty || position < prefix
    }

    /// The next piece of a file whose bytes up to `prefix` are written; nil when all of them are handed out.
    mutating func next(below prefix: Int64) -> Piece? {
        if !waiting.isEmpty {
            let chunk = waiting.removeFirst()
            memory -= chunk.count
            position += Int64(chunk.count)
            return .chunk(chunk)
        }
        guard position < prefix else { return nil }
        let range = position..<min(prefix, position + Self.pieceLimit)
        position = range.upperBound
        end = position
        return .range(range)
    }

    /// Lets go of the memory.
    mutating func clear() {
        waiting = []
        memory = 0
        end = position
    }
}
