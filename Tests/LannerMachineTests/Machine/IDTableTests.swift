import LannerMachine
import Testing

@Suite struct IDTableTests {
    @Test func anEmptyTableHasNothing() {
        var table = IDTable<Int>()
        #expect(table.isEmpty && table.count == 0 && table.keys == [] && table.values == [])
        #expect(table[DownloadID(0)] == nil)
        #expect(table.removeValue(forKey: DownloadID(1)) == nil)
    }

    /// Numbers that follow each other, as they are given, and such as are far apart.
    @Test(arguments: [1, 1 << 8, 1 << 32, 1 << 55] as [UInt64]) func isWhatADictionaryIs(stride: UInt64) {
        var (table, dictionary) = (IDTable<Int>(), [DownloadID: Int]())
        var random = SeededGenerator(seed: 7)
        for step in 0..<20_000 {
            // First more and more, then fewer and fewer.
            let id = DownloadID(UInt64.random(in: 0..<64, using: &random) * stride)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<(step < 10_000 ? 5 : 2): (table[id], dictionary[id]) = (step, step)
            case 7: (table[id], dictionary[id]) = (nil, nil)
            case _: #expect(table.removeValue(forKey: id) == dictionary.removeValue(forKey: id))
            }
            #expect(table.count == dictionary.count && table[id] == dictionary[id])
        }
        #expect(table.keys.sorted() == dictionary.keys.sorted() && table.values.sorted() == dictionary.values.sorted())
        for (id, value) in dictionary { #expect(table[id] == value) }
    }

    /// Runs of numbers here and there, of which whole eights want the same places.
    @Test func runsOfNumbersAreWhatADictionaryIs() {
        var (table, dictionary) = (IDTable<Int>(), [DownloadID: Int]())
        var random = SeededGenerator(seed: 3)
        let starts = (0..<400).map { _ in UInt64.random(in: 0..<1 << 40, using: &random) & ~7 }
        for step in 0..<12_000 {
            let start = starts[Int.random(in: 0..<400, using: &random)]
            let ids = (0..<8).map { DownloadID(start + $0) }
            let isAdded = Int.random(in: 0..<8, using: &random) < (step < 6000 ? 5 : 2)
            for id in ids.shuffled(using: &random).prefix(isAdded ? 8 : 5) {
                (table[id], dictionary[id]) = isAdded ? (step, step) : (nil, nil)
            }
            #expect(table.count == dictionary.count)
            let asked = DownloadID(starts[step % 400] + UInt64(step % 8))
            #expect(table[asked] == dictionary[asked])
        }
        #expect(table.keys.sorted() == dictionary.keys.sorted())
        for (id, value) in dictionary { #expect(table[id] == value) }
    }

    @Test func keepsFewOfMany() {
        var table = IDTable<UInt64>()
        table.reserveCapacity(5000)
        for number in 1...10_000 as ClosedRange<UInt64> { table[DownloadID(number)] = number }
        for number in 1...9_990 as ClosedRange<UInt64> {
            #expect(table.removeValue(forKey: DownloadID(number)) == number)
        }
        #expect(table.count == 10 && table.values.sorted() == Array(9_991...10_000))
    }

    @Test func aCopyIsOfItsOwn() {
        var table = IDTable<Int>()
        table[DownloadID(1)] = 1
        let copy = table
        (table[DownloadID(1)], table[DownloadID(2)]) = (nil, 2)
        #expect(copy[DownloadID(1)] == 1 && copy.count == 1 && table[DownloadID(1)] == nil)
    }
}
