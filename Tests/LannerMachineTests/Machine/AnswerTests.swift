import LannerMachine
import Testing

/// Each verdict over a header, for the first request and for a later one.
@Suite struct AnswerTests {
    // MARK: The first request

    @Test func aWholeFileIsTaken() {
        var bench = Bench.requesting()
        #expect(
            bench.feed(.exchange(bench.id, 1, .head(.file()))) == [
                .tell(bench.id, .head(.file(), from: 0)), .file(bench.id, 1, .setTotal(1000)),
                .tell(bench.id, .progress(completed: 0, total: 1000)), .transport(bench.id, .accept(1, 0..<1000)),
            ])
    }

    @Test func theRestIsTakenAsAsked() {
        var bench = Bench.opening(saved: .holding(0..<100))
        let ask = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges([0..<100])))).asks.first
        #expect(ask?.headerFields["Range"] == "bytes=100-")
        #expect(ask?.headerFields["If-Range"] == "\"a\"")
        #expect(
            bench.feed(.exchange(bench.id, 1, .head(.part(100..<1000, of: 1000)))).last
                == .transport(bench.id, .accept(1, 100..<1000)))
    }

    @Test func anotherFileIsTakenIntoANewPartialFile() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        let head = ResponseHead.file(500, tag: "\"b\"")
        let actions = bench.feed(.exchange(bench.id, 1, .head(head)))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.contains(.file(bench.id, 2, .startOver(generation: 2, total: 500))))
        #expect(actions.last == .transport(bench.id, .accept(1, 0..<500)))
        #expect(actions.asks.isEmpty)
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).isEmpty)
        bench.feed(.file(bench.id, 2, .wrote(0..<500)))
        #expect(
            bench.feed(.exchange(bench.id, 1, .ended(received: 500))).contains(.file(bench.id, 2, .verify(total: 500))))
    }

    /// As behind a name that leads to two servers in turn: of one the part comes, and the other has it under its own tag.
    @Test(arguments: [true, false]) func aTagOfAnotherServerIsAskedForAgain(isPart: Bool) {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        var saved = Saved.holding(0..<500)
        saved.version = Version(
            entityTag: EntityTag("\"a\""), lastModified: date, isLastModifiedStrong: true, total: 1000)
        func head(_ modified: String) -> ResponseHead {
            var head = isPart ? ResponseHead.part(500..<1000, of: 1000, tag: "\"b\"") : .file(tag: "\"b\"")
            head.fields["Last-Modified"] = modified
            return head
        }
        var bench = Bench.requesting(saved: saved)
        for attempt in 1...3 as ClosedRange<UInt32> {
            let actions = bench.feed(.exchange(bench.id, bench.exchange, .head(head(date))))
            #expect(actions.restarts.isEmpty && actions.retry == nil)
            bench.closed(attempt, 0..<500)
            let ask = bench.opened(attempt + 1, 0..<500).asks.first
            #expect(ask?.range == 500..<1000 && ask?.ifRange == "\"a\"")
        }
        // The one that knows it, and then none that does.
        var happy = bench
        happy.feed(.exchange(happy.id, happy.exchange, .head(.part(500..<1000, of: 1000))))
        #expect(happy.feed(.file(happy.id, 4, .wrote(500..<1000))).restarts.isEmpty)
        #expect(bench.feed(.exchange(bench.id, bench.exchange, .head(head(date)))).restarts == [.contentChanged])
        // What was changed at another time is another version, at once.
        var changed = Bench.requesting(saved: saved)
        let later = head("Sun, 06 Nov 1994 08:49:38 GMT")
        #expect(changed.feed(.exchange(changed.id, 1, .head(later))).restarts == [.contentChanged])
    }

    @Test func aServerWithoutRangesIsNamed() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file()))).restarts == [.rangesNotServed])
    }

    @Test func aPreconditionThatFailedBeginsAnew() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        let actions = bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 412))))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.first == .transport(bench.id, .stop(1, keepBytes: false)))
        #expect(actions.last == .file(bench.id, 2, .startOver(generation: 2, total: nil)))
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole])
    }

    @Test func nothingIsMissingWhenTheServerSaysSo() {
        var saved = Saved.holding(0..<1000)
        saved.total = nil
        saved.version = Version(
            entityTag: EntityTag("\"a\""), lastModified: nil, isLastModifiedStrong: false, total: nil)
        var bench = Bench.requesting(saved: saved)
        let head = ResponseHead(status: 416, fields: ["Content-Range": "bytes */1000"])
        #expect(bench.feed(.exchange(bench.id, 1, .head(head))).contains(.file(bench.id, 1, .verify(total: 1000))))
    }

    @Test func anUnusableAnswerToAPlainRequestIsAFailure() {
        var bench = Bench.plain()
        let odd = ResponseHead.part(0..<10, of: 1000)
        #expect(bench.feed(.exchange(bench.id, 3, .head(odd))).contains(.file(bench.id, 3, .close(sync: true))))
        // What is held stays.
        let actions = bench.closed(3, 0..<500)
        guard case .failed(let failure) = actions.phases.last else {
            Issue.record("did not fail")
            return
        }
        #expect(failure.reason == .unusableResponse && actions.restarts.isEmpty)
    }

    @Test(arguments: [0, 5] as [Int64])
    func whatIsFollowedByMoreThanWasAnnouncedIsNotTheWholeFile(announced: Int64) {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(.file(announced))))
        if announced > 0 { bench.feed(.file(bench.id, 1, .wrote(0..<announced))) }
        let actions = bench.feed(.exchange(bench.id, 1, .overflowed))
        #expect(actions.contains(.file(bench.id, 2, .startOver(generation: 2, total: nil))))
        #expect(actions.contains(.file(bench.id, 2, .close(sync: true))))
        guard case .failed(let failure) = bench.closed(2).phases.last else {
            Issue.record("did not fail")
            return
        }
        #expect(failure.reason == .unusableResponse)
        bench.verb(.start)
        #expect(bench.opened(3).asks == [.whole])
    }

    /// Nothing was lost, and nothing is to be said against the server: what comes can be resumed as any file.
    @Test func anotherVersionCostsNothingWhereNothingIsHeld() {
        let saved = Saved.holding(tag: "W/\"a\"")
        var bench = Bench.requesting(.sliced(100...100, inFlight: 1), saved: saved)
        bench.feed(.exchange(bench.id, 1, .head(.part(0..<100, of: 900, tag: "W/\"b\""))))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1, 0..<100)
        bench.pass(.seconds(100))
        let asks = bench.opened(2, 0..<100).asks
        #expect(asks.map(\.range) == [100..<200] && asks.map(\.rung) == [.weak])
    }

    @Test func aRedirectIsFollowedByANewExchange() {
        var bench = Bench.requesting()
        let head = ResponseHead(status: 302, fields: ["Location": "/b"])
        #expect(bench.feed(.exchange(bench.id, 1, .head(head))) == [.transport(bench.id, .follow(1, location: "/b"))])
        #expect(bench.feed(.exchange(bench.id, 1, .redirected)) == [.transport(bench.id, .begin(2, .whole))])
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 0))) == [.ignored(bench.id, .unknownExchange(1))])
    }

    @Test func theEndOfARedirectsBodyIsNoFailure() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 302, fields: ["Location": "/b"]))))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 20))) == [.ignored(bench.id, .late("ended"))])
        #expect(bench.feed(.exchange(bench.id, 1, .redirected)) == [.transport(bench.id, .begin(2, .whole))])
    }

    @Test func twentyRedirectsAreFollowedAndNoMore() {
        var bench = Bench.requesting()
        let head = ResponseHead(status: 302, fields: ["Location": "/b"])
        for number in 1...ExchangeNumber(20) {
            #expect(
                bench.feed(.exchange(bench.id, number, .head(head))) == [
                    .transport(bench.id, .follow(number, location: "/b"))
                ])
            bench.feed(.exchange(bench.id, number, .redirected))
        }
        bench.feed(.exchange(bench.id, 21, .head(head)))
        guard case .failed(let failure) = bench.closed().phases.last else {
            Issue.record("did not fail")
            return
        }
        #expect(failure.reason == .redirect)
    }

    @Test func aRedirectThatMayNotBeFollowedEndsTheDownload() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 302, fields: ["Location": "ftp://b"]))))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.redirect, ""))))
        #expect(bench.closed().phases == [.failed(DownloadFailure(.redirect, ""))])
    }

    @Test func aRefusalThatStaysEndsTheDownload() {
        var bench = Bench.requesting()
        let actions = bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        #expect(actions.retry == nil)
        #expect(actions == [.transport(bench.id, .stop(1, keepBytes: true)), .file(bench.id, 1, .close(sync: true))])
    }

    @Test func anAnswerWithoutAHeaderIsAFailure() {
        var bench = Bench.requesting()
        let actions = bench.feed(.exchange(bench.id, 1, .ended(received: 0)))
        #expect(actions.contains(.file(bench.id, 1, .close(sync: true))))
        let failure = DownloadFailure(.transport(.malformedResponse), "The answer ended without a header.")
        #expect(bench.closed().phases == [.failed(failure)])
    }

    // MARK: Sizes

    @Test func theSizeOfAnotherVersionIsForgotten() {
        // The size of the first version must not be taken for the size of the second, which does not tell its own.
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed()
        bench.pass(.seconds(1))
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        #expect(
            bench.feed(.exchange(bench.id, 2, .head(.file(nil, tag: "\"b\"")))).contains(
                .tell(bench.id, .progress(completed: 0, total: nil))))
        bench.feed(.file(bench.id, 2, .wrote(0..<1500)))
        #expect(
            bench.feed(.exchange(bench.id, 2, .ended(received: 1500))).contains(
                .file(bench.id, 2, .verify(total: 1500))))
    }

    @Test func aPartOfAFileOfUnknownSizeIsNotTheFile() {
        var bench = Bench.requesting(.sliced(100...200))
        #expect(
            bench.feed(.exchange(bench.id, 1, .head(.part(0..<100, of: nil)))).contains(
                .transport(bench.id, .stop(1, keepBytes: false))))
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole])
    }

    @Test func theEndTellsTheSize() {
        var bench = Bench.transferring(head: .file(nil))
        #expect(bench.feed(.file(bench.id, 1, .wrote(0..<700))).isEmpty)
        let actions = bench.feed(.exchange(bench.id, 1, .ended(received: 700)))
        #expect(actions.contains(.tell(bench.id, .progress(completed: 700, total: 700))))
        #expect(actions.contains(.file(bench.id, 1, .verify(total: 700))))
    }

    @Test func anEmptyFileIsAFile() {
        var bench = Bench.transferring(head: .file(0))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 0))).contains(.file(bench.id, 1, .verify(total: 0))))
    }

    @Test func aBodyThatEndsEarlyIsNotTheFile() {
        var bench = Bench.transferring()
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        let actions = bench.feed(.exchange(bench.id, 1, .ended(received: 400)))
        #expect(actions.retry?.failure.reason == .transport(.lengthMismatch))
    }

    @Test func countsThatMakeNoSenseDoNoHarm() {
        var bench = Bench.transferring(head: .file(nil))
        bench.feed(.exchange(bench.id, 1, .received(.max)))
        bench.feed(.exchange(bench.id, 1, .received(.min)))
        bench.pass(.milliseconds(1))
        bench.feed(.exchange(bench.id, 1, .ended(received: .min)))
        #expect(bench.phase == .running)
        var other = Bench.transferring(saved: .holding(0..<100), head: .part(100..<1000, of: 1000))
        other.feed(.exchange(other.id, 1, .received(.max)))
        other.feed(.exchange(other.id, 1, .ended(received: .max)))
        #expect(other.phase == .running)
        // What is there is what was written.
        #expect(other.feed(.file(other.id, 1, .wrote(100..<1000))).contains(.file(other.id, 1, .verify(total: 1000))))
    }

    // MARK: A later request

    /// The first slice has come, the second is asked for.
    private var slicing: Bench {
        var bench = Bench.transferring(.sliced(100...100), head: .part(0..<100, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 100)))
        return bench
    }

    /// A slice comes, and the next one is asked for.
    private func askingAhead() -> Bench {
        let bench = Bench.transferring(.sliced(100...100), head: .part(0..<100, of: 1000))
        #expect(bench.transfer?.exchanges.map(\.ask.range) == [0..<100, 100..<200])
        return bench
    }

    /// The one that comes ends, and the next is asked for and comes, and beside it none.
    private func expectOneByOne(_ bench: inout Bench) {
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.map(\.range) == [100..<200])
        bench.feed(.exchange(bench.id, 3, .head(.part(100..<200, of: 1000))))
        #expect(bench.feed(.exchange(bench.id, 3, .received(99))).asks.isEmpty)
    }

    /// A server may take one connection of a client, and no more.
    @Test(arguments: [403, 404, 429, 503]) func aSliceThatIsRefusedBesideAnotherIsAskedForAlone(status: Int) {
        var bench = askingAhead()
        let actions = bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: status, fields: [:]))))
        #expect(actions.retry == nil && actions.asks.isEmpty)
        #expect(actions.contains(.transport(bench.id, .stop(2, keepBytes: false))))
        expectOneByOne(&bench)
    }

    @Test func aSliceThatIsLostBesideAnotherIsAskedForAlone() {
        var bench = askingAhead()
        let failure = DownloadFailure(.transport(.cannotConnect), "")
        let actions = bench.feed(.exchange(bench.id, 2, .failed(failure)))
        #expect(actions.retry == nil && actions.asks.isEmpty)
        expectOneByOne(&bench)
    }

    @Test func theNextAttemptAsksAheadAgain() {
        var bench = askingAhead()
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
        bench.feed(.file(bench.id, 1, .wrote(0..<50)))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1, 0..<50)
        bench.pass(.seconds(100))
        let first = bench.opened(2, 0..<50).begun
        #expect(first.count == 1)
        let head = ResponseHead.part(50..<150, of: 1000)
        #expect(bench.feed(.exchange(bench.id, first[0], .head(head))).asks.map(\.range) == [150..<250])
    }

    /// A place that was led to may say so by 400.
    @Test(arguments: [400, 403]) func aLaterRefusalBeginsAtTheFirstURL(status: Int) {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: status))))
        #expect(actions.retry == nil)
        #expect(bench.closed(1, 0..<100).phases == [.running])
    }

    /// As where a page in the place of the file means that one is enough, or another server knows another version.
    @Test(arguments: [
        ResponseHead(status: 200, fields: ["Content-Length": "0"]), .file(tag: "\"b\""), .file(),
        .part(100..<200, of: 1000, tag: "\"b\""), ResponseHead(status: 206), ResponseHead(status: 416),
    ]) func aSliceThatIsNoUseBesideAnotherIsAskedForAlone(head: ResponseHead) {
        var bench = askingAhead()
        let actions = bench.feed(.exchange(bench.id, 2, .head(head)))
        #expect(actions.retry == nil && actions.restarts.isEmpty && actions.asks.isEmpty)
        #expect(actions.contains(.transport(bench.id, .stop(2, keepBytes: false))))
        expectOneByOne(&bench)
    }

    /// What it says of a second request may not hold of one alone. If it does, it is kept to.
    @Test(arguments: [404, 429, 503]) func whenToComeBackIsAskedForAlone(status: Int) {
        var bench = askingAhead()
        let head = ResponseHead(status: status, fields: ["Retry-After": "100"])
        let actions = bench.feed(.exchange(bench.id, 2, .head(head)))
        #expect(actions.retry == nil && actions.asks.isEmpty)
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.map(\.range) == [100..<200])
        let alone = ResponseHead(status: 503, fields: ["Retry-After": "100"])
        #expect(bench.feed(.exchange(bench.id, 3, .head(alone))).retry?.time == .seconds(100))
    }

    @Test func aLaterSliceOfAnotherVersionBeginsAnew() {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(100..<200, of: 1000, tag: "\"b\""))))
        #expect(actions.restarts == [.contentChanged])
        let asks = bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks
        #expect(asks.first?.range == 0..<100)
        #expect(asks.first?.held == nil)
    }

    @Test func aLaterAnswerWithTheWholeFileIsKept() {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"b\""))))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.last == .transport(bench.id, .accept(2, 0..<1000)))
        #expect(actions.asks.isEmpty)
    }

    @Test func aLaterRefusalIsRetriedWithTheBytesKept() {
        var bench = slicing
        let actions = bench.feed(
            .exchange(bench.id, 2, .head(ResponseHead(status: 503, fields: ["Retry-After": "100"]))))
        #expect(actions.retry?.time == .seconds(100))
        #expect(actions.contains(.file(bench.id, 1, .close(sync: true))))
    }

    @Test func aLaterRedirectIsFollowed() {
        var bench = slicing
        bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 307, fields: ["Location": "/b"]))))
        #expect(bench.feed(.exchange(bench.id, 2, .received(10))).isOnlyIgnored)
        #expect(bench.feed(.exchange(bench.id, 2, .ended(received: 10))).isOnlyIgnored)
        let ask = bench.feed(.exchange(bench.id, 2, .redirected)).asks.first
        #expect(ask?.range == 100..<200)
    }

    /// Answers to a request for 100..<200, or 100..<1000, that make no sense.
    private static let oddities = [
        .part(150..<200, of: 1000), .part(0..<10, of: 1000), ResponseHead(status: 206), ResponseHead(status: 416),
        ResponseHead(status: 416, fields: ["Content-Range": "bytes */1000"]),
    ]

    /// As of one odd server of many.
    @Test(arguments: oddities) func aFirstAnswerOfNoSenseCostsNothing(_ odd: ResponseHead) {
        var bench = Bench.requesting(saved: .holding(0..<100))
        bench.answer(100, with: odd)
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(100..<1000, of: 1000))))
        #expect(actions.last == .transport(bench.id, .accept(2, 100..<1000)))
        // Later it may be so once more.
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(2, 0..<100)
        bench.pass(.seconds(100))
        bench.opened(3, 0..<100)
        #expect(bench.feed(.exchange(bench.id, 3, .head(odd))).retry?.time ?? .zero > .zero)
        #expect(bench.closed(3, 0..<100).restarts.isEmpty)
    }

    /// What is held is given up when all of the file comes, and not before.
    @Test(arguments: oddities) func afterASecondOneTheWholeIsAskedFor(_ odd: ResponseHead) {
        var bench = Bench.requesting(saved: .holding(0..<100))
        bench.answer(100, with: odd)
        #expect(bench.feed(.exchange(bench.id, 2, .head(odd))).retry?.time == .seconds(100))
        #expect(bench.closed(2, 0..<100).restarts.isEmpty)
        #expect(bench.opened(3, 0..<100).asks == [.whole])
        var other = bench
        other.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 404))))
        #expect(other.closed(3, 0..<100).restarts.isEmpty && other.phase.isFailed)
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file()))).restarts.count == 1)
    }

    @Test(arguments: oddities) func whoWantsNoRetriesIsSentTheWholeAtOnce(_ odd: ResponseHead) {
        let settings = Settings().with { $0.retry.maximumRetries = 0 }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        #expect(bench.feed(.exchange(bench.id, 1, .head(odd))).restarts.isEmpty)
        bench.closed(1, 0..<100)
        #expect(bench.opened(2, 0..<100).asks == [.whole])
    }

    /// What a network that wants a login answers for a file that has a tag.
    private static let pages = [
        .file(230, tag: nil), .file(nil, tag: nil), .file(230, tag: "W/\"p\""),
        ResponseHead(status: 203, fields: ["Content-Length": "230", "ETag": "\"p\""]),
    ]

    @Test(arguments: pages) func aPageInThePlaceOfTheRestCostsNothing(_ page: ResponseHead) {
        let settings = Settings().with { $0.retry.maximumRetries = 3 }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        for number in 1..<4 as Range<UInt32> {
            let actions = bench.feed(.exchange(bench.id, ExchangeNumber(number), .head(page)))
            #expect(actions.restarts.isEmpty && actions.retry?.failure.reason == .transport(.other))
            bench.closed(Attempt(number), 0..<100)
            bench.pass(.seconds(100))
            #expect(bench.opened(Attempt(number + 1), 0..<100).asks.map(\.range) == [100..<1000])
        }
        var patient = bench
        #expect(patient.feed(.exchange(bench.id, 4, .head(.part(100..<1000, of: 1000)))).retry == nil)
        #expect(patient.transfer?.exchanges.first?.isAccepted == true)
        // The network stays as it is.
        bench.feed(.exchange(bench.id, 4, .head(page)))
        #expect(bench.closed(4, 0..<100).restarts.isEmpty && bench.phase.isFailed)
        bench.verb(.start)
        #expect(bench.opened(5, 0..<100).asks.map(\.range) == [100..<1000])
        // Who starts it again nevertheless has the last word.
        #expect(bench.feed(.exchange(bench.id, 5, .head(page))).restarts.count == 1)
    }

    /// Nor when nothing but the whole was asked for any more.
    @Test(arguments: pages) func aPageInThePlaceOfTheWholeCostsNothing(_ page: ResponseHead) {
        var bench = Bench.plain()
        let actions = bench.feed(.exchange(bench.id, 3, .head(page)))
        #expect(actions.restarts.isEmpty && actions.retry?.failure == .unnamed)
        #expect(bench.closed(3, 0..<500).restarts.isEmpty)
        bench.pass(.seconds(100))
        #expect(bench.opened(4, 0..<500).asks == [.whole])
        #expect(bench.feed(.exchange(bench.id, 4, .head(.file()))).restarts == [.unusableAnswer])
    }

    /// Whoever is started again while it is coming to its end as well.
    @Test func theLastWordMayComeBeforeTheEnd() {
        let settings = Settings().with { $0.retry.maximumRetries = 0 }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        bench.feed(.exchange(bench.id, 1, .head(.file(230, tag: nil))))
        bench.verb(.start)
        bench.closed(1, 0..<100)
        #expect(bench.opened(2, 0..<100).asks.map(\.range) == [100..<1000])
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file(230, tag: nil)))).restarts == [.contentChanged])
    }

    /// A page is hardly as long as the file.
    @Test func aServerThatLeavesItsValidatorsOutIsBelieved() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file(tag: nil)))).restarts == [.rangesNotServed])
    }

    /// A version that has no more than a weak tag either is another one by it.
    @Test func aWeakTagIsANameAmongWeakTags() {
        var bench = Bench.requesting(saved: .holding(0..<100, tag: "W/\"a\""))
        let actions = bench.feed(.exchange(bench.id, 1, .head(.file(230, tag: "W/\"p\""))))
        #expect(actions.restarts == [.contentChanged])
    }

    /// Whoever has failed for something else was not asked whether the page is to be taken.
    @Test func theLastWordIsOfThePage() {
        let settings = Settings().with { $0.retry.maximumRetries = 1 }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        bench.feed(.exchange(bench.id, 1, .head(.file(230, tag: nil))))
        bench.closed(1, 0..<100)
        bench.pass(.seconds(100))
        bench.opened(2, 0..<100)
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.timedOut), ""))))
        bench.closed(2, 0..<100)
        #expect(bench.phase.isFailed)
        bench.verb(.start)
        bench.opened(3, 0..<100)
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file(230, tag: nil)))).restarts.isEmpty)
    }

    /// What failed before is none of its doing.
    @Test func onePageAfterAnOutageIsNoFailure() {
        let settings = Settings().with { $0.retry.maximumRetries = nil }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        for attempt in 1...20 as ClosedRange<Attempt> {
            let outage = DownloadFailure(.transport(.timedOut), "")
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(outage)))
            bench.closed(attempt, 0..<100)
            bench.pass(.seconds(100))
            bench.opened(attempt + 1, 0..<100)
        }
        #expect(bench.feed(.exchange(bench.id, 21, .head(.file(230, tag: nil)))).retry?.failure == .unnamed)
    }

    /// Where there is a mirror as well that is not to be had, it is the page that a user has to know of.
    @Test(arguments: [1, nil] as [Int?]) func aPageOutweighsAMirrorThatIsDown(retries: Int?) {
        let settings = Settings().with { $0.retry.maximumRetries = retries }
        var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<100))
        var attempt: Attempt = 0
        while !bench.phase.isFailed, attempt < 50 {
            attempt += 1
            guard case .opening(let opening) = bench.state, case .request(let exchange) = opening.step else { break }
            let down = DownloadFailure(.transport(.cannotConnect), "")
            let page = ExchangeEvent.head(.file(230, tag: nil))
            bench.feed(.exchange(bench.id, exchange.number, exchange.ask.source == 0 ? page : .failed(down)))
            bench.closed(attempt, 0..<100)
            bench.pass(.seconds(100))
            bench.opened(attempt + 1, 0..<100)
        }
        #expect(bench.state == .failed(.unnamed))
        // And that is what the user decides on.
        bench.verb(.start)
        bench.opened(attempt + 1, 0..<100)
        guard case .opening(let opening) = bench.state, case .request(let exchange) = opening.step else {
            Issue.record("\(String(describing: bench.state))")
            return
        }
        let page = ExchangeEvent.head(.file(230, tag: nil))
        #expect(bench.feed(.exchange(bench.id, exchange.number, page)).restarts.count == 1)
    }

    /// Where retries are not counted it fails as well: somebody has to say what is to become of it.
    @Test func aPageThatStaysIsAFailure() {
        let settings = Settings().with { $0.retry.maximumRetries = nil }
        var bench = Bench.requesting(settings, saved: .holding(0..<100))
        for attempt in 1...10 as ClosedRange<Attempt> {
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(.file(230, tag: nil))))
            bench.closed(attempt, 0..<100)
            #expect(!bench.phase.isFailed)
            bench.pass(.seconds(100))
            bench.opened(attempt + 1, 0..<100)
        }
        bench.feed(.exchange(bench.id, 11, .head(.file(230, tag: nil))))
        #expect(bench.closed(11, 0..<100).phases == [.failed(.unnamed)])
        bench.verb(.start)
        bench.opened(12, 0..<100)
        #expect(bench.feed(.exchange(bench.id, 12, .head(.file(230, tag: nil)))).restarts.count == 1)
    }

    /// A login that has run out while slices come.
    @Test func aLaterPageCostsNothing() {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(.file(230, tag: nil))))
        #expect(actions.restarts.isEmpty && actions.retry?.failure.reason == .transport(.other))
        #expect(bench.closed(1, 0..<100).restarts.isEmpty)
    }

    /// Nothing tells a page of theirs from a new version.
    @Test func serversWithoutValidatorsAreBelieved() {
        var bench = Bench.requesting(hasDigest: true, saved: .holding(0..<100, tag: nil))
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file(230, tag: nil)))).restarts == [.contentChanged])
    }

    /// One of several servers may be odd: nothing is given up before it is asked once more.
    @Test(arguments: oddities) func aLaterUnusableAnswerIsFollowedByAnotherTry(_ oddity: ResponseHead) {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(oddity)))
        #expect(actions.restarts.isEmpty && actions.retry?.time == .zero)
        #expect(bench.closed(1, 0..<100).phases == [.running])
        #expect(bench.opened(2, 0..<100).asks.map(\.range) == [100..<200])
        // The first answer of an attempt is what servers do.
        #expect(bench.feed(.exchange(bench.id, 3, .head(oddity))).restarts.isEmpty)
        bench.closed(2, 0..<100)
        #expect(bench.opened(3, 0..<100).asks == [.whole])
    }

    @Test(arguments: oddities) func aSliceOfNoSenseBesideAnotherIsAskedForAlone(_ oddity: ResponseHead) {
        var bench = askingAhead()
        let actions = bench.feed(.exchange(bench.id, 2, .head(oddity)))
        #expect(actions.restarts.isEmpty && actions.retry == nil && actions.asks.isEmpty)
        #expect(actions.contains(.transport(bench.id, .stop(2, keepBytes: false))))
        expectOneByOne(&bench)
    }

    /// What would be tried again as the first answer of an attempt does not end one that has brought something.
    @Test(arguments: [202, 405, 406, 501]) func aLaterStrangeRefusalIsFollowedByAnotherTry(status: Int) {
        var bench = slicing
        let actions = bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: status))))
        #expect(actions.retry?.time == .zero)
        #expect(bench.closed(1, 0..<100).phases == [.running])
        #expect(bench.opened(2, 0..<100).asks.map(\.range) == [100..<200])
        // And that is tried once more, after a while.
        let next = bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: status))))
        #expect(next.retry?.time ?? .zero > .zero)
    }

    /// What was asked for as a whole says nothing of how to go on with a part.
    @Test func plainRequestsThatAreLostCostNoTrust() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = Bench.requesting(saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, .head(.part(0..<10, of: 1000))))
        bench.opened(2)
        for (attempt, exchange) in [(2, 2), (4, 3)] as [(Attempt, ExchangeNumber)] {
            bench.feed(.exchange(bench.id, exchange, .head(.file())))
            bench.feed(.file(bench.id, attempt, .wrote(0..<400)))
            bench.feed(.exchange(bench.id, exchange, .failed(lost)))
            bench.closed(attempt, 0..<400)
            bench.pass(.seconds(100))
            bench.opened(bench.attempt)
        }
        let ask = bench.askAfterAPause(holding: 400)
        #expect(ask?.range == 400..<1000 && ask?.rung == .strongTag)
    }

    @Test func aVersionThatNothingTiesIsFetchedPlain() {
        var bench = Bench.requesting(.sliced(100...100))
        bench.feed(.exchange(bench.id, 1, .head(.part(0..<100, of: 1000, tag: nil))))
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole])
    }
}

/// Where every answer has another tag, only a digest ties one to the next.
@Suite struct DigestOnlyTests {
    /// A download that holds bytes of two versions, after its server has sent another tag with each answer.
    private static func mixed() -> Bench {
        var bench = Bench.requesting(hasDigest: true, saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, .head(.part(500..<1000, of: 1000, tag: "\"b\""))))
        bench.closed(1, 0..<500)
        bench.opened(2, 0..<500)
        bench.feed(.exchange(bench.id, 2, .head(.part(500..<1000, of: 1000, tag: "\"c\""))))
        return bench
    }

    /// As behind one URL that leads to many servers in turn, each with a tag of its own for the file.
    @Test(arguments: [ResponseHead.file(tag: "\"b\""), .part(500..<1000, of: 1000, tag: "\"b\"")])
    func anotherTagCostsNothingWhereADigestDecides(head: ResponseHead) {
        var bench = Bench.requesting(hasDigest: true, saved: .holding(0..<500))
        let actions = bench.feed(.exchange(bench.id, 1, .head(head)))
        #expect(actions.restarts.isEmpty && actions.retry == nil)
        #expect(actions.contains(.transport(bench.id, .stop(1, keepBytes: true))))
        bench.closed(1, 0..<500)
        let ask = bench.opened(2, 0..<500).asks.first
        #expect(ask?.range == 500..<1000 && ask?.rung == .digestOnly && ask?.ifRange == nil)
        // A server that does not go on without a condition, either, does not go on.
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"c\"")))).restarts == [.contentChanged])
    }

    /// What came of two versions was of no use, but the later one may be resumed by its own tag.
    @Test func anotherVersionMayBeResumedOnceTheDigestHasSaidSo() {
        var bench = Bench.requesting(hasDigest: true, saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, .head(.file(tag: "\"b\""))))
        bench.closed(1, 0..<500)
        bench.opened(2, 0..<500)
        bench.feed(.exchange(bench.id, bench.exchange, .head(.part(500..<1000, of: 1000, tag: "\"b\""))))
        bench.feed(.file(bench.id, 2, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, bench.exchange, .ended(received: 500)))
        #expect(bench.feed(.file(bench.id, 2, .verified(.mismatch("")))).restarts == [.wrongDigest])
        bench.opened(bench.attempt)
        bench.feed(.exchange(bench.id, bench.exchange, .head(.file(tag: "\"b\""))))
        bench.feed(.file(bench.id, bench.attempt, .wrote(0..<600)))
        bench.feed(
            .exchange(bench.id, bench.exchange, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(bench.attempt, 0..<600)
        bench.pass(.seconds(100))
        let ask = bench.opened(bench.attempt, 0..<600).asks.first
        #expect(ask?.range == 600..<1000 && ask?.rung == .strongTag)
        // Not once more without it.
        let actions = bench.feed(.exchange(bench.id, bench.exchange, .head(.file(tag: "\"c\""))))
        #expect(actions.restarts == [.contentChanged])
    }

    /// Another size is another file, and so is another tag where nothing decides.
    @Test(arguments: [(true, 1001), (false, 1000)] as [(Bool, Int64)])
    func elseAnotherTagIsAnotherFile(hasDigest: Bool, total: Int64) {
        var bench = Bench.requesting(hasDigest: hasDigest, saved: .holding(0..<500))
        let actions = bench.feed(.exchange(bench.id, 1, .head(.file(total, tag: "\"b\""))))
        #expect(actions.restarts == [.contentChanged])
    }

    /// It may have been mended; and the next process trusts it, too.
    @Test func aUsersStartTrustsTheServerAnew() {
        var bench = Bench.requesting(saved: .holding(0..<600))
        let lost = DownloadFailure(.transport(.connectionLost), "")
        // Tells its tag, and sends all each time it is asked for the rest.
        for round in 0..<3 {
            #expect(bench.feed(.exchange(bench.id, bench.exchange, .head(.file()))).restarts == [.rangesNotServed])
            bench.feed(.file(bench.id, bench.attempt, .wrote(0..<300)))
            bench.feed(.exchange(bench.id, bench.exchange, .failed(lost)))
            bench.closed(bench.attempt, 0..<300)
            #expect(bench.pass(.seconds(100)).restarts == (round < 2 ? [] : [.cannotResume]))
            if round < 2 { bench.opened(bench.attempt, 0..<300) } else { bench.opened(bench.attempt) }
        }
        let ask = bench.askAfterAPause(holding: 500)
        #expect(ask?.range == 500..<1000 && ask?.rung == .strongTag)
    }

    @Test func isRememberedAsThat() {
        var bench = Self.mixed()
        #expect(bench.transfer?.exchanges.first?.ask.rung == .digestOnly)
        bench.feed(.file(bench.id, bench.attempt, .wrote(1..<600)))
        bench.verb(.suspend)
        let saved = bench.closed(bench.attempt, 0..<600).records.last
        #expect(saved?.written == ByteRanges([0..<600]))
        #expect(saved?.version?.entityTag == nil)
        // The next process asks for it without a digest.
        var next = Bench.resting(saved: saved)
        #expect(next.verb(.start).restarts == [.cannotResume])
    }
}

extension Bench {
    /// Brings so much of the whole file, is suspended and started again; what is asked for then.
    fileprivate mutating func askAfterAPause(holding end: Int64) -> Ask? {
        feed(.exchange(id, exchange, .head(.file())))
        feed(.file(id, attempt, .wrote(0..<end)))
        verb(.suspend)
        closed(attempt, 0..<end)
        #expect(verb(.start).restarts.isEmpty)
        return opened(attempt, 0..<end).asks.first
    }
}

extension Bench {
    /// The first request, for the rest of so many bytes, has an answer that is not believed: it is asked again after a
    /// while.
    fileprivate mutating func answer(_ held: Int64, with doubt: ResponseHead) {
        let actions = feed(.exchange(id, 1, .head(doubt)))
        #expect(actions.restarts.isEmpty && actions.retry?.failure.reason == .unusableResponse)
        #expect(actions.retry?.time ?? .zero > .zero)
        closed(1, 0..<held)
        #expect(pass(.seconds(100)).restarts.isEmpty)
        #expect(opened(2, 0..<held).asks.map(\.range) == [held..<1000])
    }
}

extension Phase? {
    fileprivate var isFailed: Bool {
        if case .failed = self { true } else { false }
    }
}
