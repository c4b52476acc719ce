import LannerMachine
import Testing

@testable import LannerCore

@Suite struct HashBacklogTests {
    private func offer(_ range: Range<Int64>, to backlog: inout HashBacklog) {
        backlog.offer(Sample.chunk(range), at: range.lowerBound)
    }

    /// "chunk 0..<10" or "read 10..<30" for each piece there is.
    private func pieces(of backlog: inout HashBacklog, below prefix: Int64) -> [String] {
        var pieces: [String] = []
        while backlog.hasNext(below: prefix), let piece = backlog.next(below: prefix) {
            switch piece {
            case .chunk(let chunk): pieces.append("chunk \(chunk.count)")
            case .range(let range): pieces.append("read \(range)")
            }
        }
        return pieces
    }

    @Test func keepsWhatContinues() {
        var backlog = HashBacklog()
        offer(0..<10, to: &backlog)
        offer(10..<30, to: &backlog)
        offer(40..<50, to: &backlog)
        #expect(backlog.memory == 30)
        #expect(pieces(of: &backlog, below: 50) == ["chunk 10", "chunk 20", "read 30..<50"])
        #expect(backlog.position == 50)
        #expect(backlog.memory == 0)
    }

    @Test func readsBackWhatDidNotFit() {
        var backlog = HashBacklog(limit: 30)
        for start: Int64 in [0, 10, 20, 30, 40] { offer(start..<(start + 10), to: &backlog) }
        #expect(backlog.memory == 30)
        #expect(pieces(of: &backlog, below: 50) == ["chunk 10", "chunk 10", "chunk 10", "read 30..<50"])
        offer(50..<60, to: &backlog)
        #expect(pieces(of: &backlog, below: 60) == ["chunk 10"], "caught up, it takes from memory again")
    }

    @Test func takesFromMemoryWhileALongReadIsUnderWay() {
        var backlog = HashBacklog()
        _ = backlog.next(below: 100)
        offer(100..<110, to: &backlog)
        #expect(pieces(of: &backlog, below: 110) == ["chunk 10"])
    }

    @Test func countsTheMemoryOfAChunkNotItsBytes() {
        var backlog = HashBacklog(limit: 2000)
        for position in 0..<3 {
            let chunk = Chunk(capacity: 1000)
            _ = [UInt8(position)].withUnsafeBytes { chunk.append(contentsOf: $0) }
            backlog.offer(chunk, at: Int64(position))
        }
        #expect(backlog.memory == 2000)
        #expect(pieces(of: &backlog, below: 3) == ["chunk 1", "chunk 1", "read 2..<3"])
    }

    @Test func readsAtMostAMebibyteAtOnce() {
        var backlog = HashBacklog()
        let expected = ["read 0..<1048576", "read 1048576..<2097152", "read 2097152..<2097153"]
        #expect(pieces(of: &backlog, below: (2 << 20) + 1) == expected)
    }
}

@Suite struct ChunkTests {
    @Test func takesWhatFits() {
        let chunk = Chunk(capacity: 5)
        #expect(
            [1, 2, 3].withUnsafeBytes { chunk.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<3])) } == 3)
        #expect(!chunk.isFull)
        #expect([UInt8](4...9).withUnsafeBytes { chunk.append(contentsOf: $0) } == 2)
        #expect(chunk.isFull)
        #expect([UInt8](4...9).withUnsafeBytes { chunk.append(contentsOf: $0) } == 0)
        #expect(chunk.withBytes { Array($0.suffix(2)) } == [4, 5])
        #expect(Chunk(capacity: -1).capacity == 1)
    }

    @Test func poolKeepsSomeMemoryAndNoneWhenIdle() {
        let pool = ChunkPool(chunkCapacity: 100, keeping: 2)
        var chunks = (0..<5).map { _ in pool.take() }
        #expect(pool.inUse == 5)
        chunks.removeLast(4)
        #expect(pool.inUse == 1)
        #expect(pool.idle == 2)
        chunks.append(pool.take())
        #expect(pool.idle == 1)
        #expect(chunks[1].count == 0)
        chunks = []
        #expect(pool.inUse == 0)
        #expect(pool.idle == 0)
    }
}
