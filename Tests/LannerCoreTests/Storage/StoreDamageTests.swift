import Foundation
import LannerCore
import LannerMachine
import Testing

/// Stores whose files were cut or changed at every place.
@Suite struct StoreDamageTests {
    private static let headerSize = 28
    private static let endMarkSize = 24
    private static let commits: [[StoreChange]] = [
        [.put("a", "first")],
        [.put("b", "second"), .put("c", ""), .remove("a")],
        [.put("a", "third"), .put("", "an empty key")],
        [.remove("b"), .remove("none")],
        [.put("é", String(repeating: "long ", count: 10))],
    ]

    /// What a store holds after the commits, without one of them.
    private static func state(_ commits: some Sequence<[StoreChange]>) -> [String: Data] {
        commits.reduce(into: [:]) { $0.make($1) }
    }

    /// The files after the commits, and where in the journal each begins; the last place is the journal's end. Those in
    /// a range are synced.
    private static func journal(
        synced: Range<Int> = commits.indices
    ) throws -> (files: [String: [UInt8]], starts: [Int]) {
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([]) == nil)
        var starts = [stepped.disk.files["journal-1"]?.count ?? 0]
        for (index, changes) in commits.enumerated() {
            #expect(stepped.commitNow(changes, synced.contains(index) ? .machine : .process) == nil)
            starts.append(stepped.disk.files["journal-1"]?.count ?? 0)
        }
        stepped.store.close()
        return (stepped.disk.files, starts)
    }

    /// Files whose snapshot holds ten records of one size, and whose journal holds one more.
    private static func snapshot() throws -> (files: [String: [UInt8]], values: [String: Data]) {
        let (stepped, _) = try SteppedStore.opened(smallestCompaction: 1)
        let values = Dictionary(uniqueKeysWithValues: (0..<10).map { ("key \($0)", Data("value \($0)".utf8)) })
        while stepped.disk.files["snapshot-2"] == nil {
            #expect(stepped.commitNow(values.map { .put(key: $0, value: $1) }) == nil)
        }
        #expect(stepped.disk.files.keys.sorted() == ["journal-2", "snapshot-2"])
        stepped.store.close()
        let (second, _) = try SteppedStore.opened(stepped.disk)
        #expect(second.commitNow([.put("after", "wards")]) == nil)
        second.store.close()
        return (stepped.disk.files, values)
    }

    /// Loads, checks that the store goes on well, and returns what it had.
    private static func load(_ files: [String: [UInt8]]) throws -> (contents: StoreContents, disk: CrashDisk) {
        let disk = CrashDisk(files)
        let (stepped, contents) = try SteppedStore.opened(disk)
        #expect(stepped.commitNow([.put("new", "one")], .machine) == nil)
        stepped.store.close()
        let (again, second) = try SteppedStore.opened(disk)
        again.store.close()
        #expect(second.problems == [])
        #expect(second.values == contents.values.merging(["new": Data("one".utf8)]) { $1 })
        return (contents, disk)
    }

    @Test func journalCutAtEveryOffset() throws {
        let (files, starts) = try Self.journal()
        for cut in 0...(starts.last ?? 0) {
            var files = files
            files["journal-1"]?.removeSubrange(cut...)
            let (contents, disk) = try Self.load(files)
            let whole = starts.dropFirst().count { $0 <= cut }
            #expect(contents.values == Self.state(Self.commits.prefix(whole)), "cut at \(cut)")
            #expect(contents.problems == [], "cut at \(cut)")
            #expect(disk.files["corrupt-1.bin"] == nil)
        }
    }

    @Test(arguments: [0x01, 0x80, 0xFF] as [UInt8])
    func journalWithEveryByteChanged(mask: UInt8) throws {
        let (files, starts) = try Self.journal()
        for offset in 0..<(starts.last ?? 0) {
            var files = files
            files["journal-1"]?[offset] ^= mask
            let (contents, disk) = try Self.load(files)
            let hit = starts.lastIndex { $0 <= offset }
            let others = Self.commits.enumerated().filter { $0.offset != hit }.map(\.element)
            #expect(contents.values == Self.state(others), "byte \(offset)")
            #expect(contents.problems.count == 1, "byte \(offset)")
            #expect(contents.problems.first?.contains("corrupt-1.bin") == true)
            let range = hit.map { starts[$0]..<starts[$0 + 1] } ?? 0..<(starts.first ?? 0)
            #expect(disk.files["corrupt-1.bin"] == files["journal-1"].map { Array($0[range]) }, "byte \(offset)")
        }
    }

    @Test func journalWithZerosBehind() throws {
        let (files, starts) = try Self.journal()
        for (whole, cut) in starts.enumerated() {
            var files = files
            files["journal-1"]?.removeSubrange(cut...)
            files["journal-1"]?.append(contentsOf: repeatElement(0, count: 4096))
            let (contents, _) = try Self.load(files)
            #expect(contents.values == Self.state(Self.commits.prefix(whole)))
            #expect(contents.problems == [])
        }
    }

    @Test func severalDamagedPlaces() throws {
        let (files, starts) = try Self.journal()
        var damaged = files
        damaged["journal-1"]?[starts[0] + 30] ^= 1
        damaged["journal-1"]?[starts[3] + 3] ^= 1
        damaged["journal-1"]?[starts[4] + 3] ^= 1
        let (contents, disk) = try Self.load(damaged)
        #expect(contents.values == Self.state(Self.commits[1...2]))
        #expect(contents.problems.count == 2)
        let pieces = damaged["journal-1"].map { Array($0[starts[0]..<starts[1]] + $0[starts[3]...]) }
        #expect(disk.files["corrupt-1.bin"] == pieces)
    }

    /// The death of the machine may take any of the commits that were not synced: none counts that came after.
    @Test(arguments: 0..<6)
    func whatStandsBehindAGapOfTheUnsyncedEnd(synced: Int) throws {
        let (files, starts) = try Self.journal(synced: 0..<synced)
        for lost in Self.commits.indices {
            var damaged = files
            let frame = starts[lost]..<starts[lost + 1]
            damaged["journal-1"]?.replaceSubrange(frame, with: repeatElement(0, count: frame.count))
            let (contents, disk) = try Self.load(damaged)
            // A commit says that all before it was synced: of the last it is not known.
            let isDamage = lost < min(synced, Self.commits.count - 1)
            let end = isDamage ? lost + 1 : Self.commits.count
            #expect(contents.values == Self.state(Self.commits[..<lost] + Self.commits[end...]), "\(lost) of \(synced)")
            let isTorn = lost == Self.commits.count - 1
            let aside = isTorn ? nil : damaged["journal-1"].map { Array($0[starts[lost]..<starts[end]]) }
            #expect(disk.files["corrupt-1.bin"] == aside, "\(lost) of \(synced)")
            #expect(contents.problems.count == (isTorn ? 0 : 1))
        }
    }

    @Test func snapshotCutAtEveryOffset() throws {
        let (files, values) = try Self.snapshot()
        let size = files["snapshot-2"]?.count ?? 0
        let recordSize = (size - Self.headerSize - Self.endMarkSize) / values.count
        for cut in 0..<size {
            var files = files
            files["snapshot-2"]?.removeSubrange(cut...)
            let (contents, disk) = try Self.load(files)
            let whole = max(0, cut - Self.headerSize) / recordSize
            Self.expect(contents, values, missing: values.count - min(whole, values.count), "cut at \(cut)")
            let tail = disk.files["corrupt-1.bin"] ?? []
            #expect(files["snapshot-2"]?.suffix(tail.count) == tail[...])
        }
    }

    @Test(arguments: [0x01, 0x80, 0xFF] as [UInt8])
    func snapshotWithEveryByteChanged(mask: UInt8) throws {
        let (files, values) = try Self.snapshot()
        let size = files["snapshot-2"]?.count ?? 0
        let recordSize = (size - Self.headerSize - Self.endMarkSize) / values.count
        for offset in 0..<size {
            var files = files
            files["snapshot-2"]?[offset] ^= mask
            let (contents, disk) = try Self.load(files)
            let isRecord = (Self.headerSize..<size - Self.endMarkSize).contains(offset)
            Self.expect(contents, values, missing: isRecord ? 1 : 0, "byte \(offset)")
            let damaged = disk.files["corrupt-1.bin"]?.count
            let other = offset < Self.headerSize ? Self.headerSize : Self.endMarkSize
            #expect(damaged == (isRecord ? recordSize : other), "byte \(offset)")
        }
    }

    private static func expect(_ contents: StoreContents, _ values: [String: Data], missing: Int, _ place: Comment) {
        var found = contents.values
        #expect(found.removeValue(forKey: "after") == Data("wards".utf8), place)
        #expect(found.count == values.count - missing, place)
        #expect(found.allSatisfy { values[$0.key] == $0.value }, place)
        #expect(contents.problems.count == 1, place)
    }

    /// What looks like the header of a longer frame, in a value whose own header is damaged, hides nothing behind it.
    @Test func valueThatLooksLikeAFrame() throws {
        let (donor, _) = try SteppedStore.opened()
        for key in ["1", "2", "3"] {
            #expect(donor.commitNow([.put(key, String(repeating: "long ", count: 1000))]) == nil)
        }
        let journal = try #require(donor.disk.files["journal-1"])
        let header = journal[(journal.count - (journal.count - Self.headerSize) / 3)...].prefix(24)
        let (stepped, _) = try SteppedStore.opened()
        #expect(stepped.commitNow([.put(key: "a", value: Data(header))], .machine) == nil)
        #expect(stepped.commitNow([.put("b", "behind")]) == nil)
        var files = stepped.disk.files
        files["journal-1"]?[Self.headerSize] ^= 1
        let (contents, _) = try Self.load(files)
        #expect(contents.values.texts == ["b": "behind"])
        #expect(contents.problems.count == 1)
    }

    @Test func snapshotThatIsGone() throws {
        var (files, _) = try Self.snapshot()
        files["snapshot-2"] = nil
        let (contents, _) = try Self.load(files)
        #expect(contents.values.texts == ["after": "wards"])
        #expect(contents.problems == ["snapshot-2 in /store is gone; the records that only it held are lost."])
    }

    @Test func filesOfNoise() throws {
        var random = SeededGenerator(seed: 1)
        for size in [1, 27, 28, 29, 100, 5000] {
            let noise = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            let (contents, _) = try Self.load(["snapshot-7": noise, "journal-7": noise, "corrupt-3.bin": [1]])
            #expect(contents.values == [:])
            #expect(contents.problems.count == (size < Self.headerSize ? 1 : 2))
        }
    }

    @Test func laterDamageIsSetAsideInAnotherFile() throws {
        let (files, starts) = try Self.journal()
        var damaged = files
        damaged["journal-1"]?[starts[0]] ^= 1
        damaged["corrupt-9.bin"] = [1, 2, 3]
        let (contents, disk) = try Self.load(damaged)
        #expect(disk.files["corrupt-9.bin"] == [1, 2, 3])
        #expect(disk.files["corrupt-10.bin"]?.count == starts[1] - starts[0])
        #expect(contents.problems.first?.contains("corrupt-10.bin") == true)
    }

    @Test func damageThatCannotBeSetAsideStaysWhereItIs() throws {
        let (files, starts) = try Self.journal()
        var damaged = files
        damaged["journal-1"]?[starts[1]] ^= 1
        let disk = CrashDisk(damaged)
        disk.fail { operation, _ in operation.contains("corrupt") ? .noSpace : nil }
        let (stepped, contents) = try SteppedStore.opened(disk)
        #expect(contents.values == Self.state(Self.commits[..<1] + Self.commits[2...]))
        #expect(contents.problems.first?.contains("could not be copied to corrupt-1.bin yet") == true)
        #expect(stepped.commitNow([.put("x", "y")]) == .disk(.noSpace))
        #expect(disk.files["journal-1"] == damaged["journal-1"])
        disk.fail { _, _ in nil }
        #expect(stepped.commitNow([.put("x", "y")]) == nil)
        #expect(disk.files["corrupt-1.bin"]?.count == starts[2] - starts[1])
        #expect(disk.files["journal-1"] == nil)
    }

    @Test func numbersAtTheirLimit() throws {
        let names = [
            "snapshot-18446744073709551615", "journal-18446744073709551615", "journal-", "journal-01", "snapshot--1",
        ]
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, [UInt8(1)]) })
        let (contents, disk) = try Self.load(files)
        #expect(contents == StoreContents())
        for name in names { #expect(disk.files[name] == [1]) }
    }
}
