import LannerMachine
import Testing

@testable import LannerCore

@Suite struct ExchangeListTests {
    @Test func isInTheOrderOfNumbers() {
        var list = ExchangeList<String>()
        for number in [3, 1, 4, 2] as [ExchangeNumber] { list.put("\(number)", at: number) }
        list.put("one", at: 1)
        #expect(list.numbers == [1, 2, 3, 4] && list.values == ["one", "2", "3", "4"])
        #expect(list[4] == "4" && list[5] == nil)
        #expect(list.remove(2) == "2" && list.remove(2) == nil)
        for number in [1, 3, 4] as [ExchangeNumber] { list.remove(number) }
        #expect(list.numbers.isEmpty && list.values.isEmpty)
        list.put("5", at: 5)
        #expect(list.values == ["5"])
    }
}
