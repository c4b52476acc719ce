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
        let (mayGoTooEarly, events, mayGo) = (inbox.leave(), inbox.takeAll().map(\.event), inbox.leave())
        #expect(!mayGoTooEarly && mayGo)
        #expect(events == [.timer, .timer, .timer])
        let isSeenBehind = inbox.add([.timer], time)
        #expect(!isSeenBehind)
    }

    @Test func nothingIsKeptBehindTheEnd() {
        var inbox = Inbox()
        inbox.close()
        let isSettled = inbox.add([.timer], time)
        let rest = inbox.takeAll()
        #expect(isSettled && rest.isEmpty)
    }
}
