import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// What a transport holds of a file that it will hand over.
@Suite struct HeldTests {
    /// How much a sink has told that the transport holds.
    private func told(_ counts: [Int64], then more: [Int64] = []) throws -> [Int64] {
        let url = try #require(URL(string: address))
        let way = Sink.Way(source: 0, destination: try Destination(url: url, fields: [:]))
        let told = Locked<[Int64]>([])
        let sink = Sink(way, isPausable: false, meter: nil, lanes: ManualLanes()) { report in
            if case .holds(let count) = report { told.withLock { $0.append(count) } }
        }
        let file = PartialFile(
            path: "/partial", fileSystem: MemoryDisk(), lanes: PartialFile.Lanes(ManualLanes()), hasher: nil
        ) { _ in }
        sink.receive(.head(ResponseHead(status: 206)))
        for count in counts { sink.receive(.progress(count)) }
        sink.accept(0..<(8 << 20), into: file)
        for count in more { sink.receive(.progress(count)) }
        sink.flush()
        return told.withLock { $0 }
    }

    /// Where it goes on would not be seen else, the answer being judged later.
    @Test func whatWasThereBeforeIsToldByItself() throws {
        #expect(try told([5, 8]) == [5, 8])
        #expect(try told([5]) == [5])
        #expect(try told([], then: [5, 8]) == [5, 8])
        #expect(try told([5], then: [8]) == [5, 8])
    }

    @Test func laterNotEveryByteIsTold() throws {
        #expect(try told([5, 8, 9], then: [10, 11, 12]) == [5, 9, 12])
    }
}
