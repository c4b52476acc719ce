import Testing

@testable import LannerCore

@Suite struct FifoTests {
    @Test func givesWhatWasAddedInOrder() {
        var fifo = Fifo<Int>()
        var (next, expected) = (0, 0)
        // Several are added for each that is taken, then the other way round: it is cut again and again.
        for round in 0..<1000 {
            for _ in 0..<(round < 300 ? 3 : 1) {
                #expect(fifo.append(next) == next)
                next += 1
            }
            for _ in 0..<(round < 300 ? 1 : 3) where fifo.count > 0 {
                #expect(fifo.firstNumber == expected)
                #expect(fifo.popFirst() == expected)
                expected += 1
            }
            #expect(fifo.count == next - expected)
        }
        while let element = fifo.popFirst() {
            #expect(element == expected)
            expected += 1
        }
        #expect(expected == next && fifo.count == 0 && fifo.popFirst() == nil)
    }

    @Test func replacesByNumberWhateverWasTaken() {
        var fifo = Fifo<String>()
        for number in 0..<200 { fifo.append("\(number)") }
        for _ in 0..<150 { _ = fifo.popFirst() }
        fifo.replace(180, by: "other")
        var rest: [String] = []
        while let element = fifo.popFirst() { rest.append(element) }
        #expect(rest == (150..<200).map { $0 == 180 ? "other" : "\($0)" })
    }

    /// What has been taken is let go at once, whatever memory is kept for it.
    @Test func holdsNothingThatWasTaken() {
        final class Mark {}
        var fifo = Fifo<Mark>()
        weak var first: Mark?
        do {
            let mark = Mark()
            first = mark
            fifo.append(mark)
        }
        fifo.append(Mark())
        #expect(first != nil)
        _ = fifo.popFirst()
        #expect(first == nil)
    }
}
