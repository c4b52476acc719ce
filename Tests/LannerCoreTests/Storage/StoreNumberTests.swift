import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Journals whose sequence numbers are near their end, as no store makes them.
@Suite struct StoreNumberTests {
    private static func journal(_ base: UInt64) -> [UInt8] {
        var buffer = FrameBuffer()
        buffer.appendHeader(.journal, base: base)
        buffer.appendFrame([.put("a", "old")], sequence: base + 1)
        return buffer.bytes
    }

    private static let snapshot: [UInt8] = {
        var buffer = FrameBuffer()
        buffer.appendHeader(.snapshot, base: 0)
        buffer.appendFrame([StoreChange](), sequence: 1)
        return buffer.bytes
    }()

    @Test(arguments: [1 << 61, StoreFormat.largestNumber - 2] as [UInt64], [false, true])
    func whatIsCommittedCanBeReadAgain(base: UInt64, isDamaged: Bool) throws {
        let damage: [UInt8] = isDamaged ? Array(repeating: 1, count: 50) : []
        let disk = CrashDisk(["snapshot-1": Self.snapshot, "journal-1": Self.journal(base) + damage])
        let (first, contents) = try SteppedStore.opened(disk)
        #expect(contents.values.texts == ["a": "old"])
        #expect(contents.problems.isEmpty != isDamaged)
        #expect(first.commitNow([.put("b", "new")]) == nil)
        first.store.close()
        let (second, again) = try SteppedStore.opened(disk)
        second.store.close()
        #expect(again.values.texts == ["a": "old", "b": "new"])
        #expect(again.problems == [])
    }
}
