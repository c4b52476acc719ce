import Testing

@testable import LannerCore

@Suite struct InboxTests {
    private let time = EngineState.Time(now: .zero, wallSeconds: 0)

    @Test func whoWatchesDoesNotGoFromWhatIsThere() {
        var inbox = Inbox()
        let isSeenBefore = inbox.add([.timer], time)
        inbox.watch()
        let isSeen = inbox.add([.timer, .timer], time)
        #expect(!isSeenBefore && isSeen)
        let mayGoTooEarly = inbox.leave()
        var taken: [Inbox.Entry] = []
        inbox.takeAll(into: &taken)
        let mayGo = inbox.leave()
        #expect(!mayGoTooEarly && mayGo)
        #expect(taken.map(\.event) == [.timer, .timer, .timer])
        let isSeenBehind = inbox.add(.timer, time)
        #expect(!isSeenBehind)
    }

    @Test func nothingIsKeptBehindTheEnd() {
        var inbox = Inbox()
        inbox.close()
        let isSettled = inbox.add([.timer], time)
        var rest: [Inbox.Entry] = []
        inbox.takeAll(into: &rest)
        #expect(isSettled && rest.isEmpty)
    }
}
