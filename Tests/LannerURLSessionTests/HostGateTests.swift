import Testing

@testable import LannerURLSession

struct HostGateTests {
    private enum Call {
        case enter(Int, String)
        case leave(String)
    }

    /// The items that pass, in the order of the calls that let them.
    private func passed(limit: Int, _ calls: Call...) -> [Int?] {
        var gate = HostGate<Int>(limit: limit)
        return calls.map { call in
            switch call {
            case .enter(let item, let host): gate.enter(item, host: host) ? item : nil
            case .leave(let host): gate.leave(host: host)
            }
        }
    }

    @Test func soManyPassAndTheOthersWaitInOrder() {
        let first = passed(
            limit: 2, .enter(1, "a"), .enter(2, "a"), .enter(3, "a"), .enter(4, "a"), .leave("a"), .enter(5, "a"),
            .leave("a"), .leave("a"), .leave("a"), .leave("a"), .enter(6, "a"))
        #expect(first == [1, 2, nil, nil, 3, nil, 4, 5, nil, nil, 6])
    }

    @Test func hostsDoNotHinderEachOther() {
        let items = passed(
            limit: 1, .enter(1, "a"), .enter(2, "b"), .enter(3, "a"), .leave("b"), .leave("a"), .leave("a"))
        #expect(items == [1, 2, nil, nil, 3, nil])
    }

    @Test func leavingWithoutHavingEnteredDoesNothing() {
        #expect(passed(limit: 1, .leave("a"), .enter(1, "a"), .enter(2, "a")) == [nil, 1, nil])
    }
}
