import LannerMachine
import Testing

/// The same set as one flag per position.
private struct Flags {
    var held = [Bool](repeating: false, count: 64)

    mutating func insert(_ range: Range<Int64>) {
        guard range.lowerBound >= 0 else { return }
        for position in range { held[Int(position)] = true }
    }

    func holds(_ position: Int64) -> Bool { held.indices.contains(Int(position)) && held[Int(position)] }

    var runs: [Range<Int64>] {
        var runs: [Range<Int64>] = []
        for position in Int64(0)..<64 where holds(position) {
            if let last = runs.last, last.upperBound == position {
                runs[runs.count - 1] = last.lowerBound..<(position + 1)
            } else {
                runs.append(position..<(position + 1))
            }
        }
        return runs
    }

    func firstGap(from position: Int64, below limit: Int64) -> Range<Int64>? {
        guard let start = (position..<max(position, limit)).first(where: { !holds($0) }) else { return nil }
        return start..<((start..<limit).first(where: holds) ?? limit)
    }
}

private func randomRange(_ generator: inout SeededGenerator) -> Range<Int64> {
    let ends = [Int64.random(in: 0...64, using: &generator), Int64.random(in: 0...64, using: &generator)].sorted()
    // Mostly short ones, so that there are gaps.
    return Bool.random(using: &generator) ? ends[0]..<ends[1] : ends[0]..<min(64, ends[0] + 3)
}

@Suite struct ByteRangesTests {
    /// As a damaged record may have them.
    @Test func rangesMayComeInAnyOrder() {
        let ranges = (0..<1000 as Range<Int64>).map { 2 * $0..<2 * $0 + 1 }
        #expect(ByteRanges(ranges.reversed()) == ByteRanges(ranges))
    }

    @Test(arguments: 0..<200)
    func agreesWithOneFlagPerPosition(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var (ranges, flags) = (ByteRanges(), Flags())
        for _ in 0..<12 {
            let range = randomRange(&generator)
            ranges.insert(range)
            flags.insert(range)
            expectSame(ranges, flags)
            let probe = randomRange(&generator)
            #expect(ranges.contains(probe) == probe.allSatisfy(flags.holds))
            #expect(
                ranges.firstGap(from: probe.lowerBound, below: probe.upperBound)
                    == flags.firstGap(from: probe.lowerBound, below: probe.upperBound))
            var clipped = flags
            for position in probe.lowerBound..<64 { clipped.held[Int(position)] = false }
            expectSame(ranges.clipped(to: probe.lowerBound), clipped)
        }
    }

    @Test(arguments: 0..<200)
    func joinsAndMeetsLikeFlags(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 1000)
        let some = (0..<Int.random(in: 0...8, using: &generator)).map { _ in randomRange(&generator) }
        let others = (0..<Int.random(in: 0...8, using: &generator)).map { _ in randomRange(&generator) }
        var (left, right, both, either) = (Flags(), Flags(), Flags(), Flags())
        some.forEach { left.insert($0) }
        others.forEach { right.insert($0) }
        for index in 0..<64 {
            both.held[index] = left.held[index] && right.held[index]
            either.held[index] = left.held[index] || right.held[index]
        }
        expectSame(ByteRanges(some).intersection(ByteRanges(others)), both)
        var union = ByteRanges(some)
        union.formUnion(ByteRanges(others))
        expectSame(union, either)
    }

    private func expectSame(_ ranges: ByteRanges, _ flags: Flags) {
        #expect(ranges.ranges == flags.runs)
        #expect(ranges.isEmpty == flags.runs.isEmpty)
        #expect(ranges.count == Int64(flags.held.filter { $0 }.count))
        #expect(ranges.end == (flags.held.lastIndex(of: true).map { Int64($0) + 1 } ?? 0))
        #expect(ranges.prefix == Int64(flags.held.prefix { $0 }.count))
    }

    @Test func whatIsOutsideAddsNothing() {
        var ranges = ByteRanges([5..<5, -3..<2, -9 ..< -1])
        #expect(ranges.isEmpty)
        ranges.insert((Int64.max - 1)..<Int64.max)
        ranges.insert(0..<1)
        #expect(ranges.end == .max && ranges.count == 2 && ranges.prefix == 1)
        #expect(ranges.firstGap(below: .max) == 1..<(Int64.max - 1))
        #expect(ranges.clipped(to: -1).isEmpty && ranges.clipped(to: .max) == ranges)
        #expect(!ranges.contains(Int64.min..<1) && ranges.contains(Int64.min..<Int64.min))
    }
}
