import Foundation
import LannerMachine
import Testing

@testable import LannerCore

@Suite struct RecordTests {
    private static let failures: [DownloadFailure] =
        ([
            .status(404), .unusableResponse, .redirect, .link, .checksumMismatch, .store,
        ] + TransportFault.allCases.map { .transport($0) } + DiskFault.allCases.map { .disk($0) })
        .map { DownloadFailure($0, "why “\($0)”") }

    static let statuses: [Saved.Status] =
        [.active, .suspended, .publishing, .succeeded] + failures.map { .failed($0) }

    @Test func knowsALinkWithoutFieldsFromOneWithNone() {
        var record = DownloadRecord.sample(.active)
        for fields in [nil, [:]] as [HeaderFields?] {
            record.link?.fields = fields
            #expect(DownloadRecord(record.encoded)?.link == record.link)
        }
    }

    @Test(arguments: statuses) func comesBackAsItWas(status: Saved.Status) {
        let record = DownloadRecord.sample(status)
        #expect(DownloadRecord(record.encoded) == record)
        // A slice counts its bytes from somewhere else.
        let slice = (Data([1, 2, 3]) + record.encoded).dropFirst(3)
        #expect(DownloadRecord(slice) == record)
    }

    @Test func aPriorityThatNobodyKnowsIsNormal() throws {
        for number in [-3, 3, 256, .max] as [Int64] {
            var record = DownloadRecord.sample(.active)
            record.priority = .normal
            var writer = RecordWriter()
            writer.put(39, number)
            let read = DownloadRecord(record.encoded + Data(writer.bytes))
            #expect(read == record)
        }
    }

    /// Bytes of a mirror that is none any more are of another URL.
    @Test func aVersionOfAMirrorThatIsGoneIsOfAnotherURL() {
        var record = DownloadRecord.sample(.active)
        record.saved.isOfOtherURL = false
        record.mirrors.removeLast()
        let read = DownloadRecord(record.encoded)
        #expect(read?.saved.source == 0)
        #expect(read?.saved.isOfOtherURL == true)
    }

    @Test func comesBackWithoutAnythingOptional() {
        let record = DownloadRecord(
            id: DownloadID(1), token: 0, url: "http://a", place: FilePlace("f"), rank: 0, key: "http://a",
            saved: Saved(status: .active))
        #expect(DownloadRecord(record.encoded) == record)
    }

    /// A record of the first version, of a file of 700 bytes.
    private static func old(
        _ status: Saved.Status, _ written: Range<Int64>..., synced: Int64 = 0, _ change: (inout DownloadRecord) -> Void
    ) -> DownloadRecord {
        var saved = Saved(status: status)
        (saved.written, saved.synced) = (ByteRanges(written), ByteRanges([0..<synced]))
        let url = "https://example.com/f"
        var record = DownloadRecord(
            id: DownloadID(7), token: 0x1234, url: url, place: FilePlace("f"), rank: 3, key: url, saved: saved)
        change(&record)
        return record
    }

    private static func makeKnown(_ record: inout DownloadRecord) {
        record.saved.total = 700
        record.saved.version = Version(
            entityTag: EntityTag("\"7792ea559c9f85c0\""), lastModified: nil, isLastModifiedStrong: false, total: 700)
    }

    /// What the first version wrote, and what it meant.
    private static let firsts: [(name: String, record: DownloadRecord)] = [
        ("fresh", old(.active) { _ in }),
        (
            "partial",
            old(.suspended, 0..<400, synced: 200) {
                ($0.fields, $0.boot, $0.saved.generation) = (["X-A": "b"], "boot-1", 1)
                makeKnown(&$0)
            }
        ),
        (
            "publishing",
            old(.publishing, 0..<700, synced: 700) {
                $0.saved.generation = 1
                makeKnown(&$0)
            }
        ),
        (
            "resumed",
            old(.suspended) {
                $0.saved.resumeData = ResumeData(Array("data".utf8), held: 100)
                makeKnown(&$0)
            }
        ),
        (
            "succeeded",
            old(.succeeded) {
                ($0.digest, $0.validation) = ("md5:0123456789abcdef0123456789ABCDEF", .correct)
                ($0.saved.generation, $0.saved.total) = (1, 700)
            }
        ),
        (
            "failed",
            old(.failed(DownloadFailure(.status(503), "no")), 0..<10) { ($0.startDate, $0.saved.generation) = (9.5, 1) }
        ),
        (
            "holes",
            old(.active, 0..<100, 200..<300, 500..<700, synced: 100) {
                ($0.boot, $0.saved.generation) = ("boot-1", 2)
                makeKnown(&$0)
            }
        ),
    ]

    @Test(arguments: firsts) func readsWhatTheFirstVersionWrote(name: String, expected: DownloadRecord) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let bytes = try Data(contentsOf: root.appendingPathComponent("Fixtures/Fuzz/record/" + name))
        let record = try #require(DownloadRecord(bytes))
        #expect(record == expected)
        let written = try #require(RecordReader(record.encoded))
        #expect((28...60).allSatisfy { written.data($0) == nil }, "what has none of these is written as before")
    }

    @Test(arguments: ["", "//", "../a", "a/../b", "a//b", "a/"]) func refusesADirectoryThatIsNone(directory: String) {
        var record = DownloadRecord.sample(.suspended)
        record.place.directory = directory
        #expect(DownloadRecord(record.encoded) == nil)
    }

    @Test func passesOverFieldsOfLaterVersions() {
        let record = DownloadRecord.sample(.active)
        let later = Data([200, 3, 0, 0, 0, 1, 2, 3])
        #expect(DownloadRecord(later + record.encoded + later) == record)
    }

    @Test func isNilWhenCutOff() {
        let bytes = DownloadRecord.sample(.active).encoded
        // Each field is its tag, its length in four bytes, and so much.
        var ends: Set<Int> = []
        var end = 0
        while end < bytes.count {
            let length = bytes[(end + 1)..<(end + 5)].reversed().reduce(0) { $0 << 8 | Int($1) }
            end += 5 + length
            ends.insert(end)
        }
        #expect(end == bytes.count && ends.count > 40)
        var records = 0
        for count in 0..<bytes.count {
            guard let record = DownloadRecord(bytes.prefix(count)) else { continue }
            // Cut between two fields it may still be a record, with less in it.
            records += 1
            #expect(ends.contains(count), "cut after \(count) bytes")
            #expect(record.url == "https://example.com/ä?q")
        }
        #expect(records > 0 && records < ends.count)
        #expect(DownloadRecord(Data()) == nil)
    }

    @Test func neverTrapsOnGarbage() {
        var generator = SeededGenerator(seed: 42)
        let bytes = Array(DownloadRecord.sample(.failed(DownloadFailure(.redirect, "x"))).encoded)
        var count = 0
        for position in bytes.indices {
            for bit in 0..<8 {
                var spoiled = bytes
                spoiled[position] ^= 1 << UInt8(bit)
                if let record = DownloadRecord(Data(spoiled)) { count += check(record) }
            }
        }
        for _ in 0..<2000 {
            var garbage = bytes
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                garbage[Int.random(in: 0..<garbage.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            if let record = DownloadRecord(Data(garbage)) { count += check(record) }
        }
        #expect(count > 0, "some of it is still a record")
    }

    /// What the rest of the library counts on.
    private func check(_ record: DownloadRecord) -> Int {
        #expect(FileName.isName(record.place.name))
        #expect(record.saved.total ?? 0 >= 0)
        #expect(record.saved.written.ranges.allSatisfy { $0.lowerBound >= 0 && !$0.isEmpty })
        #expect(record.startDate.isFinite && record.endDate.isFinite)
        #expect(DownloadRecord(record.encoded) == record)
        return 1
    }
}
