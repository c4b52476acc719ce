import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ChunkTests {
    /// Bytes of the sample in pieces of one size.
    private func chunk(_ range: Range<Int64>, inPiecesOf size: Int64) -> Chunk {
        var chunk = Chunk()
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(size)) {
            chunk.append(Data(Sample.bytes(start..<min(start + size, range.upperBound))))
        }
        return chunk
    }

    private func lent(_ chunk: Chunk) throws -> (positions: [Int], bytes: [UInt8]) {
        var positions: [Int] = []
        var bytes: [UInt8] = []
        try chunk.lend { position, buffers in
            positions.append(position)
            for buffer in buffers { bytes += Array(buffer) }
            return .success(())
        }
        return (positions, bytes)
    }

    @Test func gathersPiecesInOrder() throws {
        let chunk = chunk(0..<100_000, inPiecesOf: 5000)
        #expect(chunk.count == 100_000)
        #expect(chunk.pieces.count == 20, "they are not copied")
        let (positions, bytes) = try lent(chunk)
        #expect(positions == [0, 80_000])
        #expect(bytes == Sample.bytes(100_000))
    }

    @Test func putsATrickleTogether() throws {
        let chunk = chunk(0..<10_000, inPiecesOf: 1)
        #expect(chunk.pieces.map(\.count) == [4096, 4096, 1808])
        #expect(try lent(chunk).bytes == Sample.bytes(10_000))
    }

    @Test func lendsNothingOfAnEmptyChunk() throws {
        var chunk = Chunk()
        chunk.append(Data())
        #expect(chunk.count == 0)
        #expect(try lent(chunk).positions == [])
    }

    @Test func aFailureEndsTheLending() {
        let failure = FileError(fault: .noSpace, operation: "write", path: "/f")
        var calls = 0
        #expect(throws: failure) {
            try chunk(0..<200_000, inPiecesOf: 5000).lend { _, _ in
                calls += 1
                return .failure(failure)
            }
        }
        #expect(calls == 1)
    }

    @Test(arguments: [0..<0, 0..<10, 3..<4, 2..<9, 4..<7, 8..<100, 10..<12] as [Range<Int>])
    func aPartOfSeveralBuffers(range: Range<Int>) {
        let (first, second, third): ([UInt8], [UInt8], [UInt8]) = ([0, 1, 2, 3], [4, 5, 6], [7, 8, 9])
        let part = first.withUnsafeBytes { first in
            second.withUnsafeBytes { second in
                third.withUnsafeBytes { third in
                    [first, second, third].part(range).flatMap { Array($0) }
                }
            }
        }
        #expect(part == (0..<10).filter { range.contains(Int($0)) })
    }

    @Test func onlyTheMissingPartsOfALongChunkAreWritten() {
        let bench = PartialFileBench()
        bench.file.open(total: nil)
        // Gaps that begin and end inside pieces and reach from one group of pieces into the next.
        let held: [Range<Int64>] = [1..<2, 70_000..<70_001, 80_500..<81_000, 99_999..<150_000]
        for range in held {
            var junk = Chunk()
            junk.append(Data(repeating: 0xAA, count: range.count))
            bench.file.write(junk, at: range.lowerBound)
        }
        bench.file.write(chunk(0..<200_000, inPiecesOf: 5000), at: 0)
        bench.file.finish(total: 200_000)
        var expected = Sample.bytes(200_000)
        for range in held {
            for position in range { expected[Int(position)] = 0xAA }
        }
        #expect(bench.events().last == .finished(digest: FNV64.digest(of: expected)))
        #expect(bench.contents == expected)
    }
}
