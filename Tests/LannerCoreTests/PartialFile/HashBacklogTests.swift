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

    @Test func readsAtMostAMebibyteAtOnce() {
        var backlog = HashBacklog()
        let expected = ["read 0..<1048576", "read 1048576..<2097152", "read 2097152..<2097153"]
        #expect(pieces(of: &backlog, below: (2 << 20) + 1) == expected)
    }
}
