import LannerMachine
import Testing

/// Another link for one that has expired or was refused.
@Suite struct LinkTests {
    private static let now: Int64 = 1_704_067_200

    private static func settings(_ links: Settings.Links = .whenNeeded) -> Settings {
        Settings().with {
            $0.links = links
            $0.retry = .never
        }
    }

    private static func refusal(_ status: Int = 403) -> ExchangeEvent { .head(ResponseHead(status: status)) }

    /// Five hundred bytes are there, and the server has refused the link.
    private func refused(_ status: Int = 403) -> Bench {
        var bench = Bench.requesting(Self.settings(), saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, Self.refusal(status)))
        return bench
    }

    /// The same, and another was asked for.
    private func asking() -> Bench {
        var bench = refused()
        bench.closed(1, 0..<500)
        bench.opened(2, 0..<500)
        return bench
    }

    private func give(_ bench: inout Bench, isOther: Bool = true, expires: Int64? = nil) -> [Action] {
        bench.feed(.link(bench.id, 2, .given(isOther: isOther, expires: expires)))
    }

    // MARK: When one is asked for

    @Test(arguments: [400, 401, 403, 410]) func aRefusalAsksForOne(status: Int) {
        var bench = refused(status)
        #expect(bench.closed(1, 0..<500).phases == [.running], "no failure, and no retry")
        let opened = bench.opened(2, 0..<500)
        #expect(opened.links == [.ask(.refused(status: status))])
        #expect(opened.asks.isEmpty)
        let ask = give(&bench).asks.first
        #expect(ask?.range == 500..<1000)
        #expect(ask?.ifRange == "\"a\"", "the validators decide")
    }

    @Test(arguments: [404, 500]) func otherStatusesDoNot(status: Int) {
        var bench = refused(status)
        bench.closed(1, 0..<500)
        #expect(bench.phase == .failed(DownloadFailure(.status(status), "The server answered with status \(status).")))
    }

    @Test func nobodyIsAskedWhereThereIsNobody() {
        var bench = Bench.requesting(Self.settings(.never))
        bench.feed(.expectLink(bench.id, expires: 0))
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        #expect(bench.phase == .failed(DownloadFailure(.status(403), "The server answered with status 403.")))
    }

    @Test func anExpiredLinkIsNotTried() {
        for (expires, links) in [(Self.now, [LinkAction.ask(.expired)]), (Self.now + 1, []), (nil, [])] {
            var bench = Bench.resting(Self.settings())
            bench.feed(.expectLink(bench.id, expires: expires))
            bench.verb(.start)
            #expect(bench.feed(.file(bench.id, 1, .opened(held: ByteRanges()))).links == links)
        }
    }

    @Test func aRestoredLinkMayHaveExpired() {
        var bench = Bench(Self.settings())
        bench.feed(.add([NewDownload(id: bench.id, rank: 0, linkExpires: Self.now - 5)]))
        bench.verb(.start)
        #expect(bench.feed(.file(bench.id, 1, .opened(held: ByteRanges()))).links == [.ask(.expired)])
    }

    @Test func everyAttemptAsksWhereThatIsWanted() {
        var bench = Bench.requesting(Self.settings(.always).with { $0.retry = RetryPolicy() })
        #expect(bench.state.map { "\($0)".contains("link") } == true)
        bench.feed(.link(bench.id, 1, .given(isOther: true, expires: nil)))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.timedOut), ""))))
        bench.closed()
        bench.pass(.seconds(2))
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).links == [.ask(.start)])
    }

    @Test func aFileThatIsCompleteNeedsNone() {
        var bench = Bench.opening(Self.settings(.always), saved: .holding(0..<1000))
        let opened = bench.opened(1, 0..<1000)
        #expect(opened.links.isEmpty)
        #expect(opened.contains(.file(bench.id, 1, .verify(total: 1000))))
    }

    // MARK: What bounds it

    @Test func aLinkThatIsRefusedAtOnceIsTheEnd() {
        var bench = asking()
        _ = give(&bench)
        bench.feed(.exchange(bench.id, 2, Self.refusal(401)))
        bench.closed(2, 0..<500)
        #expect(bench.phase == .failed(DownloadFailure(.status(401), "The server answered with status 401.")))
    }

    @Test func afterAGainOneIsAskedForAgain() {
        var bench = asking()
        _ = give(&bench)
        bench.feed(.exchange(bench.id, 2, .head(.part(500..<1000, of: 1000))))
        bench.feed(.exchange(bench.id, 2, .received(10)))
        bench.feed(.file(bench.id, 2, .wrote(500..<510)))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(2, 0..<510)
        bench.verb(.start)
        bench.opened(3, 0..<510)
        bench.feed(.exchange(bench.id, 3, Self.refusal()))
        bench.closed(3, 0..<510)
        #expect(bench.opened(4, 0..<510).links == [.ask(.refused(status: 403))])
    }

    @Test func aStartAfterTheEndAsksAgain() {
        var bench = asking()
        _ = give(&bench)
        bench.feed(.exchange(bench.id, 2, Self.refusal()))
        bench.closed(2, 0..<500)
        bench.verb(.start)
        #expect(bench.opened(3, 0..<500).asks.count == 1, "first as it is")
        bench.feed(.exchange(bench.id, 3, Self.refusal()))
        bench.closed(3, 0..<500)
        #expect(bench.opened(4, 0..<500).links == [.ask(.refused(status: 403))])
    }

    // MARK: Answers

    @Test func noLinkIsAFailure() {
        var bench = asking()
        let failure = DownloadFailure(.link, "none")
        bench.feed(.link(bench.id, 2, .none(failure)))
        #expect(bench.closed(2, 0..<500).phases == [.failed(failure)])
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    /// Whoever starts it then has the one in hand tried again: it may have been mended.
    @Test func withoutALinkTheOneInHandIsTriedAgain() {
        var bench = asking()
        bench.feed(.link(bench.id, 2, .none(DownloadFailure(.link, "none"))))
        bench.closed(2, 0..<500)
        bench.verb(.start)
        let actions = bench.opened(3, 0..<500)
        #expect(actions.links.isEmpty && actions.asks.map(\.range) == [500..<1000])
    }

    /// The link was not asked, but where it had led: that is over, and the link may lead elsewhere now.
    @Test(arguments: [401, 403, 404, 410]) func whereALinkLedMayExpire(status: Int) {
        var bench = Bench.requesting(.sliced(100...100, inFlight: 1).with { $0.links = .whenNeeded })
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 302, fields: ["Location": "/b"]))))
        bench.feed(.exchange(bench.id, 1, .redirected))
        bench.feed(.exchange(bench.id, 2, .head(.part(0..<100, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        bench.feed(.exchange(bench.id, 2, .received(100)))
        #expect(bench.feed(.exchange(bench.id, 2, .ended(received: 100))).begun == [3])
        bench.feed(.exchange(bench.id, 3, Self.refusal(status)))
        bench.closed(1, 0..<100)
        let actions = bench.opened(2, 0..<100)
        #expect(actions.links.isEmpty && actions.asks.map(\.range) == [100..<200])
        // There it is the link that is refused.
        bench.feed(.exchange(bench.id, 4, Self.refusal()))
        bench.closed(2, 0..<100)
        #expect(bench.opened(3, 0..<100).links == [.ask(.refused(status: 403))])
    }

    /// Mirrors need no link.
    @Test func withoutALinkTheMirrorIsAsked() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = Bench.requesting(Self.settings().with { $0.retry = RetryPolicy(maximumRetries: 1) }, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        #expect(bench.opened(2).links == [.ask(.refused(status: 403))])
        #expect(bench.feed(.link(bench.id, 2, .none(DownloadFailure(.link, "none")))).retry?.time == bench.now)
        bench.closed(2)
        #expect(bench.opened(3).asks.map(\.source) == [1])
        // The URL is of no use any more: nobody is asked for a link to it again.
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).retry?.failure == lost)
        bench.closed(3)
        bench.pass(.seconds(100))
        let opened = bench.opened(4)
        #expect(opened.links.isEmpty && opened.asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        #expect(bench.closed(4).phases == [.failed(lost)])
    }

    /// Another URL was given while a link to the old one was asked for, which there is none.
    @Test(arguments: [0, 1]) func withoutALinkToTheOldURLTheNewOneIsAsked(mirrors: Int) {
        var bench = Bench.requesting(Self.settings(), mirrors: mirrors)
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        #expect(bench.opened(2).links == [.ask(.refused(status: 403))])
        bench.feed(.readdress(bench.id, HostID(1)))
        bench.feed(.link(bench.id, 2, .none(DownloadFailure(.link, "none"))))
        bench.closed(2)
        let opened = bench.opened(3)
        #expect(opened.links.isEmpty && opened.asks.map(\.source) == [0])
    }

    /// The refusal is the old URL's.
    @Test func aRefusalOfTheOldURLAsksForNoLinkToTheNewOne() {
        var bench = Bench.requesting(Self.settings())
        bench.feed(.readdress(bench.id, HostID(1)))
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        let opened = bench.opened(2)
        #expect(opened.links.isEmpty && opened.asks == [.whole])
    }

    @Test func theTimeOfALinkToTheOldURLSaysNothingOfTheNewOne() {
        var bench = Bench.requesting(Self.settings())
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        bench.opened(2)
        bench.feed(.readdress(bench.id, HostID(1)))
        bench.feed(.link(bench.id, 2, .given(isOther: true, expires: 0)))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(2)
        #expect(bench.opened(3).links.isEmpty)
    }

    /// What it failed at was another connection.
    @Test func soIsOneThatHasFailed() {
        let settings = Self.settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        let held: Range<Int64> = 0..<1 << 20
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.feed(.file(bench.id, 1, .wrote(held)))
        bench.feed(.network(available: false))
        bench.closed(1, held)
        bench.feed(.network(available: true))
        #expect(bench.opened(2, held).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 4, Self.refusal()))
        bench.closed(2, held)
        bench.opened(3, held)
        bench.feed(.link(bench.id, 3, .none(DownloadFailure(.link, "none"))))
        bench.closed(3, held)
        let asks = bench.opened(4, held).asks
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [1 << 20..<100 << 20])
    }

    /// A weak tag says nothing at another place: better another version than none.
    @Test func whatTheMirrorCannotGoOnWithIsGivenUpForItsFile() {
        var bench = Bench.requesting(Self.settings(), mirrors: 1, saved: .holding(0..<500, tag: "W/\"a\""))
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed(1, 0..<500)
        bench.opened(2, 0..<500)
        #expect(bench.feed(.link(bench.id, 2, .none(DownloadFailure(.link, "none")))).restarts == [])
        bench.closed(2, 0..<500)
        #expect(bench.opened(3, 0..<500).asks == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file()))).restarts == [.contentChanged])
    }

    /// Bytes are held that no mirror can go on with; the URL has no link any more, and the mirror is asked for its own file.
    private func seeking() -> Bench {
        let settings = Self.settings().with { $0.retry = RetryPolicy(maximumRetries: 1) }
        var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<500, tag: "W/\"a\""))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1, 0..<500)
        bench.pass(.seconds(100))
        bench.opened(2, 0..<500)
        bench.feed(.exchange(bench.id, 2, Self.refusal()))
        bench.closed(2, 0..<500)
        bench.opened(3, 0..<500)
        bench.feed(.link(bench.id, 3, .none(DownloadFailure(.link, "none"))))
        bench.closed(3, 0..<500)
        #expect(bench.opened(4, 0..<500).asks == [.whole.at(1)])
        return bench
    }

    /// That there is no link does not pass.
    @Test func withoutALinkAMirrorWithoutTheFileIsNotWaitedFor() {
        var bench = seeking()
        bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 404))))
        bench.closed(4, 0..<500)
        #expect(bench.phase == .failed(DownloadFailure(.status(404), "The server answered with status 404.")))
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    /// What was tried at the URL does not count for it.
    @Test func withoutALinkAMirrorThatIsDownIsAskedAsOftenAsThePolicySays() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = seeking()
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(4, 0..<500)
        bench.pass(.seconds(100))
        #expect(bench.opened(5, 0..<500).asks == [.whole.at(1)])
        bench.feed(.exchange(bench.id, 4, .failed(lost)))
        #expect(bench.closed(5, 0..<500).phases == [.failed(lost)])
    }

    /// Nothing is held: the version was told, and the connection lost before the first byte.
    @Test func withoutALinkAMirrorWithAnotherVersionIsAskedForIt() {
        let settings = Settings.sliced(100...100).with { $0.links = .whenNeeded }
        var bench = Bench.transferring(settings, mirrors: 1, head: .part(0..<100, of: 1000))
        let first = bench.transfer?.exchanges.map(\.number) ?? []
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        for number in first {
            bench.feed(.exchange(bench.id, number, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        }
        bench.closed(1, 0..<100)
        let mirror = bench.opened(2, 0..<100)
        #expect(mirror.asks.map(\.source) == [1])
        for number in mirror.begun {
            bench.feed(.exchange(bench.id, number, .head(.part(100..<200, of: 900, tag: "\"b\""))))
        }
        bench.closed(2, 0..<100)
        let url = bench.opened(3, 0..<100)
        #expect(url.asks.map(\.source) == [0])
        for number in url.begun { bench.feed(.exchange(bench.id, number, Self.refusal())) }
        bench.closed(3, 0..<100)
        #expect(bench.opened(4, 0..<100).links == [.ask(.refused(status: 403))])
        bench.feed(.link(bench.id, 4, .none(DownloadFailure(.link, "none"))))
        bench.closed(4, 0..<100)
        #expect(bench.opened(5, 0..<100).asks.map(\.source) == [1])
    }

    @Test func anErrorIsTriedAgainAsThePolicySays() {
        var bench = Bench.requesting(Self.settings().with { $0.retry = RetryPolicy(maximumRetries: 1) })
        bench.feed(.exchange(bench.id, 1, Self.refusal()))
        bench.closed()
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        let failure = DownloadFailure(.link, "no server")
        #expect(bench.feed(.link(bench.id, 2, .failed(failure))).retry?.failure == failure)
        bench.closed(2)
        bench.pass(.seconds(2))
        #expect(bench.feed(.file(bench.id, 3, .opened(held: ByteRanges()))).links == [.ask(.refused(status: 403))])
        bench.feed(.link(bench.id, 3, .failed(failure)))
        #expect(bench.closed(3).phases == [.failed(failure)])
    }

    @Test func noAnswerIsAFailure() {
        var bench = asking()
        #expect(bench.pass(.seconds(59)).links.isEmpty)
        #expect(bench.pass(.seconds(1)).links == [.cancel])
        bench.closed(2, 0..<500)
        guard case .failed(let failure) = bench.phase else { return #expect(Bool(false), "it fails") }
        #expect(failure.reason == .link)
    }

    @Test func resumeDataLeadToTheOldLink() {
        let settings = Self.settings(.always).with { $0.takesResumeData = true }
        for isOther in [true, false] {
            let saved = Saved(status: .suspended, total: 1000, resumeData: ResumeData([1], held: 400))
            var bench = Bench.requesting(settings, saved: saved)
            let given = bench.feed(.link(bench.id, 1, .given(isOther: isOther, expires: nil)))
            #expect(given.restarts == (isOther ? [.cannotResume] : []))
            #expect(given.asks.map { $0.resumeData != nil } == (isOther ? [] : [true]))
            if isOther { #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole]) }
        }
    }

    // MARK: Meanwhile

    @Test(arguments: [Verb.suspend, .cancel, .remove(completely: true)])
    func aVerbEndsTheCall(verb: Verb) {
        var bench = asking()
        #expect(bench.verb(verb, 7).links == [.cancel])
        #expect(give(&bench).isOnlyIgnored)
        bench.closed(2, 0..<500)
        bench.feed(.store(bench.id, 2, .recorded))
        bench.feed(.file(bench.id, 2, .discarded))
        #expect(verb == .suspend ? bench.state == .suspended : bench.state == nil)
        #expect(give(&bench).isOnlyIgnored)
    }

    @Test func theLossOfTheNetworkEndsTheCall() {
        var bench = asking()
        #expect(bench.feed(.network(available: false)).links == [.cancel])
        bench.closed(2, 0..<500)
        bench.feed(.network(available: true))
        #expect(give(&bench).ignored == [.olderAttempt(2)])
        #expect(bench.opened(3, 0..<500).links == [.ask(.refused(status: 403))])
    }

    /// The server may only want one request at a time.
    @Test func aSliceThatIsRefusedIsAskedForAloneBeforeALinkIs() {
        var bench = Bench.transferring(
            .sliced(100...100).with { $0.links = .whenNeeded }, head: .part(0..<100, of: 1000))
        bench.feed(.exchange(bench.id, 1, .received(50)))
        #expect(bench.feed(.exchange(bench.id, 2, Self.refusal())).phases.isEmpty)
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.map(\.range) == [100..<200])
        #expect(bench.feed(.exchange(bench.id, 3, Self.refusal())).phases == [.waiting(.slot)])
    }
}
