import LannerMachine
import Testing

/// Several places that are said to have one file: when each is asked, and what counts of what it answers.
@Suite("N-12: mirrors") struct MirrorTests {
    private let lost = DownloadFailure(.transport(.connectionLost), "")
    private static let total: Int64 = 100 << 20
    private let half = 50 << 20..<Self.total

    /// A download of 100 MiB that asks a mirror for its second half.
    private func asking(
        hasDigest: Bool = false, tag: String? = "\"a\"", mirrors: Int = 1, connections: Int = 2
    ) -> (bench: Bench, ask: Ask?) {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (connections, connections) }
        var bench = Bench.requesting(settings, hasDigest: hasDigest, mirrors: mirrors)
        let asks = bench.feed(.exchange(bench.id, 1, .head(.large(tag: tag)))).asks
        return (bench, asks.first)
    }

    /// A mirror was lost beside the URL, which has brought 1 MiB and is gone in the next attempt.
    private func losingBoth(mirrors: Int = 1) -> Bench {
        var (bench, _) = asking(mirrors: mirrors)
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.feed(.file(bench.id, 1, .wrote(0..<1 << 20)))
        bench.feed(.network(available: false))
        bench.closed(1, 0..<1 << 20)
        bench.feed(.network(available: true))
        #expect(bench.opened(2, 0..<1 << 20).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 4, .head(ResponseHead(status: 404))))
        return bench
    }

    // MARK: Alone

    /// Nothing is held: any place's own file will do.
    @Test func withNothingHeldNothingHasToBeContinued() {
        var bench = Bench.transferring(.sliced(100...100, inFlight: 1), mirrors: 1, head: .part(0..<100, of: 1000))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        let asks = bench.opened(2).asks
        #expect(asks.map(\.source) == [1] && asks.map(\.ifRange) == [nil] && asks.map(\.held) == [nil])
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(0..<100, of: 900, tag: "\"b\""))))
        #expect(actions.contains(.transport(bench.id, .accept(2, 0..<100))) && actions.restarts == [])
        #expect(bench.machine[bench.id]?.saved.version?.entityTag == EntityTag("\"b\""))
    }

    /// As long as another may answer none is waited for as one alone is; the last one is, and each once a failure counts.
    @Test func whoIsSilentIsLeftForAnotherSoon() {
        var bench = Bench.requesting(mirrors: 1)
        #expect(bench.pass(.seconds(9)).retry == nil)
        #expect(bench.pass(.seconds(1)).retry?.time == bench.now)
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        #expect(bench.pass(.seconds(59)).retry == nil)
        let retry = bench.pass(.seconds(1)).retry
        #expect(retry.map { $0.time > bench.now } == true)
        bench.closed(2)
        bench.pass(.seconds(100))
        #expect(bench.opened(3).asks.map(\.source) == [0])
        #expect(bench.pass(.seconds(59)).retry == nil)
        #expect(bench.pass(.seconds(1)).retry?.time == bench.now)
    }

    @Test func whoMayBeAskedOnlyOnceIsWaitedFor() {
        var bench = Bench.requesting(Settings().with { $0.retry.maximumRetries = 0 }, mirrors: 1)
        #expect(bench.pass(.seconds(59)).retry == nil)
        #expect(bench.pass(.seconds(1)).retry?.time == bench.now)
    }

    /// Nothing is held of what the mirror told, and its file may be the reason.
    @Test func whatIsFetchedAgainIsAskedForAtTheURL() {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        bench.feed(.file(bench.id, 2, .verified(.sizeOnly)))
        bench.feed(.store(bench.id, 2, .recorded))
        bench.feed(.file(bench.id, 2, .published))
        bench.feed(.store(bench.id, 2, .recorded))
        #expect(bench.phase == .succeeded)
        bench.verb(.downloadAgain(starts: true))
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    /// Whose place has just failed is not asked again for each mirror that has another version.
    @Test func allMirrorsComeBeforeAPlaceThatHasFailed() {
        var bench = Bench.requesting(mirrors: 3, saved: .holding(0..<400))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.timedOut), ""))))
        var sources: [Source] = []
        for attempt in 1..<5 as Range<Attempt> {
            bench.closed(attempt, 0..<400)
            sources += bench.opened(attempt + 1, 0..<400).asks.map(\.source)
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt + 1), .head(.file(tag: "\"b\""))))
        }
        #expect(sources == [1, 2, 3, 0])
    }

    /// The place of what is held refuses parts of it, and may send it all.
    @Test func theWholeOfThisVersionComesBeforeAnother() {
        var bench = Bench.requesting(mirrors: 1, saved: .holding(0..<400))
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 400))))
        bench.closed(1, 0..<400)
        #expect(bench.opened(2, 0..<400).asks.map(\.source) == [1])
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"b\"")))).restarts.isEmpty)
        bench.closed(2, 0..<400)
        let asks = bench.opened(3, 0..<400).asks
        #expect(asks.map(\.source) == [0] && asks.map(\.range) == [nil])
    }

    /// It is another version than the one that was held then.
    @Test func whatIsSaidOfAMirrorIsSaidOfOneVersion() {
        var bench = Bench.requesting(mirrors: 1, saved: .holding(0..<400))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1, 0..<400)
        #expect(bench.opened(2, 0..<400).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.part(400..<1000, of: 1000, tag: "\"b\""))))
        bench.closed(2, 0..<400)
        #expect(bench.opened(3, 0..<400).asks.map(\.source) == [0])
        // The URL has it as well now.
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file(tag: "\"b\"")))).restarts == [.contentChanged])
        bench.feed(.file(bench.id, 4, .opened(held: ByteRanges())))
        bench.feed(.file(bench.id, 4, .wrote(0..<300)))
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(4, 0..<300)
        bench.pass(.seconds(100))
        #expect(bench.opened(5, 0..<300).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 4, .failed(lost)))
        bench.closed(5, 0..<300)
        let asks = bench.opened(6, 0..<300).asks
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [300..<1000])
    }

    // MARK: Beside the URL

    @Test func aSecondConnectionGoesToAMirror() {
        var (bench, ask) = asking()
        #expect(ask?.source == 1)
        #expect(ask?.headerFields["If-Range"] == "\"a\"")
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        #expect(actions.contains(.transport(bench.id, .accept(2, half))))
    }

    @Test func withADigestNoTagIsNeeded() {
        var (bench, ask) = asking(hasDigest: true)
        #expect(ask?.source == 1)
        #expect(ask?.headerFields["If-Range"] == nil)
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total, tag: "\"b\""))))
        #expect(actions.contains(.transport(bench.id, .accept(2, half))))
        // What it brought counts only while a digest decides.
        bench.feed(.file(bench.id, 1, .wrote(0..<Self.total)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 50 << 20)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 50 << 20)))
        bench.feed(.expectDigest(bench.id, false))
        #expect(bench.feed(.file(bench.id, 1, .verified(.sizeOnly))).restarts == [.cannotResume])
    }

    /// Bytes that only a digest ties to the others are of no version by its tag: not by a later answer's, either.
    @Test func theTagDoesNotComeBack() throws {
        var (bench, _) = asking(hasDigest: true, connections: 3)
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total, tag: "\"b\""))))
        bench.feed(.exchange(bench.id, 3, .head(.part(25 << 20..<50 << 20, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(half)))
        bench.verb(.suspend)
        let record = try #require(bench.closed(1, half).records.last)
        #expect(record.version?.total == Self.total && record.version?.entityTag == nil)
        // Without a digest nothing ties them to what is still to come.
        var later = Bench.resting(saved: record)
        #expect(later.verb(.start).restarts == [.cannotResume])
    }

    private static let second: Range<Int64> = 52_428_800..<104_857_600
    private static let others: [ResponseHead] = [
        .part(second, of: total, tag: "\"b\""), .part(second, of: total, tag: nil),
        .part(second, of: total, tag: "W/\"a\""), .part(second, of: nil), .part(second, of: 2 * total), .large(),
        ResponseHead(status: 416),
    ]

    @Test(arguments: others)
    func oneThatDoesNotProveToHaveTheSameIsDropped(head: ResponseHead) {
        var (bench, _) = asking()
        let actions = bench.feed(.exchange(bench.id, 2, .head(head)))
        #expect(actions.contains(.transport(bench.id, .stop(2, keepBytes: true))))
        #expect(bench.transfer?.exchanges.first?.body == 0..<Self.total)
        // At once another connection, which says nothing of the URL; but not to the mirror.
        #expect(actions.asks.map(\.source) == [0])
    }

    @Test func withADigestTheSizeIsAllThatHasToBeTheSame() {
        for head in [ResponseHead.part(half, of: 200 << 20), .part(half, of: nil)] {
            var (bench, _) = asking(hasDigest: true)
            #expect(
                bench.feed(.exchange(bench.id, 2, .head(head))).contains(
                    .transport(bench.id, .stop(2, keepBytes: true))))
        }
    }

    @Test(arguments: [nil, "W/\"a\""]) func withoutAStrongTagOrADigestMirrorsAreNotAsked(tag: String?) {
        #expect(asking(tag: tag).ask == nil)
    }

    /// One connection is lost by it, whichever that is.
    @Test(arguments: [0, 1]) func anAnswerWithoutAHeaderDoesNotEndWhatOthersBring(mirrors: Int) {
        var (bench, _) = asking(mirrors: mirrors)
        let actions = bench.feed(.exchange(bench.id, 2, .ended(received: 0)))
        #expect(actions.retry == nil)
        #expect(bench.transfer?.exchanges.contains { $0.number == 1 } == true)
    }

    @Test func oneThatFailsIsLeftAlone() {
        for event in [ExchangeEvent.failed(lost), .head(ResponseHead(status: 503))] {
            var (bench, _) = asking()
            let actions = bench.feed(.exchange(bench.id, 2, event))
            #expect(actions.asks.map(\.source) == [0])
            #expect(actions.retry == nil)
        }
    }

    /// A piece that is wrong may be so at the place that brought it.
    @Test func aPieceThatWasWrongIsAskedForWhereTheAttemptBegan() {
        var (bench, _) = asking(hasDigest: true)
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(half)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 50 << 20)))
        let asks = bench.feed(.file(bench.id, 1, .damaged(50 << 20..<51 << 20))).asks
        #expect(asks.map(\.source) == [0] && asks.map(\.range) == [50 << 20..<51 << 20])
    }

    @Test func aMirrorThatBringsAWrongPieceIsLeft() {
        var (bench, _) = asking(hasDigest: true)
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        bench.feed(.exchange(bench.id, 2, .received(1 << 20)))
        bench.feed(.file(bench.id, 1, .wrote(50 << 20..<51 << 20)))
        let actions = bench.feed(.file(bench.id, 1, .damaged(50 << 20..<51 << 20)))
        #expect(actions.contains(.transport(bench.id, .stop(2, keepBytes: true))))
        #expect(actions.asks.map(\.source) == [0] && actions.asks.map(\.range) == [50 << 20..<Self.total])
    }

    /// Also when it has brought all it was asked for by then.
    @Test func aMirrorThatHasBroughtAWrongPieceIsNotAskedAgain() {
        var (bench, _) = asking(hasDigest: true)
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(half)))
        bench.now = .seconds(100)
        let asks = bench.feed(.exchange(bench.id, 2, .ended(received: 50 << 20))).asks
        #expect(asks.map(\.source) == [1])
        let actions = bench.feed(.file(bench.id, 1, .damaged(50 << 20..<51 << 20)))
        #expect(actions.contains(.transport(bench.id, .stop(3, keepBytes: true))))
        #expect(actions.asks.map(\.source) == [0])
    }

    /// Nor does it say that the URL's server does not send parts.
    @Test func aMirrorThatSendsTooMuchIsNotAskedAgain() {
        var (bench, _) = asking()
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(50 << 20..<51 << 20)))
        #expect(bench.feed(.exchange(bench.id, 2, .overflowed)).restarts == [.unusableAnswer])
        #expect(bench.opened(2).asks == [.whole.at(0)])
        let asks = bench.feed(.exchange(bench.id, 3, .head(.large()))).asks
        #expect(asks.map(\.source) == [0] && asks.map(\.range) == [half])
    }

    @Test(arguments: [
        ExchangeEvent.failed(DownloadFailure(.transport(.secureConnectionFailed), "")),
        .failed(DownloadFailure(.transport(.connectionLost), "")), .head(ResponseHead(status: 503)),
    ])
    func theLastExchangeOfAMirrorIsNoFaultOfTheURL(event: ExchangeEvent) {
        let settings = Settings().with { ($0.connections, $0.firstConnections, $0.smallestPiece) = (3, 3, 20 << 20) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 3, .head(.part(25 << 20..<50 << 20, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(0..<50 << 20)))
        for number in [ExchangeNumber(1), 3] {
            bench.feed(.exchange(bench.id, number, .ended(received: 25 << 20)))
        }
        #expect(bench.transfer?.exchanges.map(\.ask.source) == [1])
        bench.feed(.exchange(bench.id, 2, event))
        #expect(bench.reopened(2, 0..<50 << 20).map(\.source) == [0])
    }

    @Test func theSilenceOfAMirrorIsNoFaultOfTheURL() {
        var (bench, _) = asking()
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: Self.total))))
        bench.feed(.file(bench.id, 1, .wrote(0..<50 << 20)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 50 << 20)))
        #expect(bench.transfer?.exchanges.map(\.ask.source) == [1])
        bench.pass(bench.settings.watchdog.silence)
        #expect(bench.reopened(2, 0..<50 << 20).map(\.source) == [0])
    }

    @Test func eachPlaceIsAskedBeforeOneIsAskedTwice() {
        let (bench, _) = asking(mirrors: 2, connections: 4)
        let sources = bench.transfer?.exchanges.map(\.ask.source) ?? []
        #expect(sources.count == 4)
        #expect(Set(sources) == [0, 1, 2])
    }

    @Test func theFastestGetsMore() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (4, 3) }
        var bench = Bench.requesting(settings, mirrors: 2)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        for exchange in bench.transfer?.exchanges ?? [] where !exchange.isAccepted {
            bench.feed(.exchange(bench.id, exchange.number, .head(.part(exchange.ask.range!, of: Self.total))))
        }
        #expect(bench.transfer?.exchanges.allSatisfy(\.isAccepted) == true)
        bench.now += .seconds(1)
        for exchange in bench.transfer?.exchanges ?? [] {
            let count: Int64 = exchange.ask.source == 2 ? 4 << 20 : 1 << 20
            bench.feed(.exchange(bench.id, exchange.number, .received(count)))
            guard let start = exchange.body?.lowerBound else { continue }
            bench.feed(.file(bench.id, 1, .wrote(start..<start + count)))
        }
        var asks: [Ask] = []
        for _ in 0..<8 where asks.isEmpty {
            for exchange in bench.transfer?.exchanges ?? [] {
                bench.feed(.exchange(bench.id, exchange.number, .received(exchange.received + 1000)))
            }
            asks = bench.pass(.milliseconds(250)).asks
        }
        #expect(asks.map(\.source) == [2])
    }

    // MARK: Instead of the URL

    /// A download that holds half of what only its own URL can go on with, where nobody answers any more: the attempt
    /// that asks the mirror for its own file.
    private func seeking() -> (bench: Bench, asks: [Ask]) {
        let settings = Settings().with { $0.retry.maximumRetries = 1 }
        var bench = Bench.opening(settings, mirrors: 1, saved: .holding(0..<500, tag: "W/\"a\""))
        for number in 1...Attempt(2) {
            #expect(bench.opened(number, 0..<500).asks.map(\.source) == [0])
            #expect(bench.feed(.exchange(bench.id, ExchangeNumber(number), .failed(lost))).restarts == [])
            bench.closed(number, 0..<500)
            bench.pass(.seconds(100))
        }
        let asks = bench.opened(3, 0..<500).asks
        return (bench, asks)
    }

    @Test func whereTheURLDoesNotComeBackAMirrorsOwnFileIsTaken() {
        var (bench, asks) = seeking()
        #expect(asks == [.whole.at(1)])
        let actions = bench.feed(.exchange(bench.id, 3, .head(.file(900, tag: "\"b\""))))
        #expect(actions.restarts == [.contentChanged])
        bench.feed(.file(bench.id, 4, .wrote(0..<900)))
        #expect(
            bench.feed(.exchange(bench.id, 3, .ended(received: 900))).contains(.file(bench.id, 4, .verify(total: 900))))
    }

    /// Of the URL's file a piece stays wrong, and the mirror does not go on with the others: nobody goes back to the URL.
    @Test func whereAPieceOfTheURLStaysWrongAMirrorsOwnFileIsTaken() {
        let settings = Settings().with { $0.retry.maximumPieceRetries = 0 }
        var bench = Bench.transferring(settings, hasDigest: true, mirrors: 1)
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        #expect(bench.feed(.file(bench.id, 1, .damaged(0..<900))).retry?.failure.reason == .checksumMismatch)
        #expect(bench.reopened(2, 900..<1000).map(\.source) == [1])
        #expect(bench.feed(.exchange(bench.id, 2, .head(.part(0..<900, of: 1100)))).restarts == [])
        #expect(bench.reopened(3, 900..<1000) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file(1100)))).restarts == [.contentChanged])
        bench.feed(.file(bench.id, 4, .wrote(0..<1100)))
        #expect(
            bench.feed(.exchange(bench.id, 3, .ended(received: 1100))).contains(
                .file(bench.id, 4, .verify(total: 1100))))
    }

    /// The file of the URL is gone, and of two mirrors the one has another version, while the other is only down.
    @Test func aMirrorThatIsDownIsWaitedForBeforeAnotherVersionIsTaken() {
        var bench = Bench.requesting(mirrors: 2, saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        #expect(bench.reopened(2, 0..<500).map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 503))))
        #expect(bench.reopened(3, 0..<500).map(\.source) == [2])
        #expect(bench.feed(.exchange(bench.id, 3, .head(.part(500..<1000, of: 1000, tag: "\"b\"")))).restarts == [])
        bench.closed(3, 0..<500)
        bench.pass(.seconds(100))
        let asks = bench.opened(4, 0..<500).asks
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [500..<1000])
    }

    /// It was only lost beside the URL.
    @Test func aMirrorThatFailedBesideTheURLGoesOnBeforeAnotherVersionIsTaken() {
        var bench = losingBoth(mirrors: 2)
        #expect(bench.reopened(3, 0..<1 << 20).map(\.source) == [2])
        bench.feed(.exchange(bench.id, 5, .head(.part(1 << 20..<Self.total, of: Self.total, tag: "\"b\""))))
        let asks = bench.reopened(4, 0..<1 << 20)
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [1 << 20..<Self.total])
    }

    /// One that is asked for another version than the one that is not to be had any more has its own tries.
    @Test func whatFailedBeforeDoesNotCountForAnotherVersion() {
        let settings = Settings().with { $0.retry = RetryPolicy(maximumRetries: 1) }
        var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<500))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        _ = bench.reopened(2, 0..<500)
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2, 0..<500)
        bench.pass(.seconds(100))
        #expect(bench.opened(3, 0..<500).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 404))))
        #expect(bench.reopened(4, 0..<500).map(\.source) == [1])
        bench.feed(.exchange(bench.id, 4, .head(.part(500..<1000, of: 1000, tag: "\"b\""))))
        #expect(bench.reopened(5, 0..<500) == [.whole.at(1)])
        bench.feed(.exchange(bench.id, 5, .failed(lost)))
        bench.closed(5, 0..<500)
        guard case .waiting(.retry) = bench.phase else { return #expect(Bool(false), "it is tried again") }
    }

    @Test(arguments: [
        ExchangeEvent.failed(DownloadFailure(.transport(.cannotConnect), "")), .head(ResponseHead(status: 503)),
        .head(ResponseHead(status: 404)),
    ])
    func whatIsHeldStaysWhereNoMirrorAnswersEither(event: ExchangeEvent) {
        var (bench, _) = seeking()
        #expect(bench.feed(.exchange(bench.id, 3, event)).restarts == [])
        let last = bench.closed(3, 0..<500)
        #expect(last.restarts == [] && last.records.last?.written == ByteRanges([0..<500]))
        if case .failed = bench.phase {} else { Issue.record("It goes on.") }
        // Once more, from the beginning.
        bench.verb(.start)
        #expect(bench.opened(4, 0..<500).asks.map(\.source) == [0])
    }

    /// One after the other, though one of them says that it has nothing.
    @Test func eachMirrorIsSoughtWhileWhatIsHeldStays() {
        let settings = Settings().with { $0.retry = .never }
        var bench = Bench.opening(settings, mirrors: 2, saved: .holding(0..<500, tag: "W/\"a\""))
        #expect(bench.opened(1, 0..<500).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.reopened(2, 0..<500) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 404)))).restarts == [])
        #expect(bench.reopened(3, 0..<500) == [.whole.at(2)])
        #expect(bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 410)))).restarts == [])
        #expect(bench.closed(3, 0..<500).restarts == [])
        // What passes is what counts.
        #expect(bench.phase == .failed(lost))
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    /// Resume data go where they lead; no mirror goes on with them.
    @Test func resumeDataStayUntilAMirrorAnswers() {
        let settings = Settings().with { ($0.retry, $0.takesResumeData) = (.never, true) }
        var saved = Saved.holding(tag: "\"a\"")
        saved.resumeData = ResumeData([1], held: 500)
        var bench = Bench.opening(settings, mirrors: 1, saved: saved)
        #expect(bench.opened(1).asks.map(\.resumeData) == [[1]])
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.reopened(2) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).restarts == [])
        bench.closed(2)
        #expect(bench.phase == .failed(lost))
        #expect(bench.machine[bench.id]?.saved.resumeData == saved.resumeData)
    }

    @Test func whereNothingCanBeGoneOnWithAMirrorIsAskedAtOnce() {
        var bench = Bench.transferring(mirrors: 1, head: .file(tag: nil))
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.closed(1, 0..<500).restarts == [.cannotResume])
        #expect(bench.opened(2).asks == [.whole.at(1)])
    }

    @Test(arguments: [
        ExchangeEvent.failed(DownloadFailure(.transport(.cannotConnect), "")), .head(ResponseHead(status: 404)),
        .head(ResponseHead(status: 503)), .head(ResponseHead(status: 206)),
    ])
    func aMirrorIsAskedAtOnceWhenTheURLFails(event: ExchangeEvent) {
        var bench = Bench.requesting(mirrors: 2)
        #expect(bench.feed(.exchange(bench.id, 1, event)).retry?.time == bench.now)
        #expect(bench.reopened(2).map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, event))
        #expect(bench.reopened(3).map(\.source) == [2])
        // That was the last one: now it counts.
        bench.feed(.exchange(bench.id, 3, event))
        bench.closed(3)
        #expect(bench.phase != .running)
    }

    /// What it failed at was another connection; alone it may do.
    @Test func oneThatFailedBesideTheURLIsAskedWhenThatIsGone() {
        var bench = losingBoth()
        #expect(bench.reopened(3, 0..<1 << 20).map(\.source) == [1])
        // Once.
        bench.feed(.exchange(bench.id, 5, .head(ResponseHead(status: 404))))
        bench.closed(3, 0..<1 << 20)
        #expect(bench.phase == .failed(DownloadFailure(.status(404), "The server answered with status 404.")))
    }

    @Test func withoutNetworkNoMirrorIsAsked() {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.notConnected), ""))))
        bench.closed()
        bench.pass(.seconds(100))
        #expect(bench.opened(2).asks.map(\.source) == [0])
    }

    @Test func bytesGoOnFromAMirrorThatProvesToHaveTheSame() {
        var bench = Bench.transferring(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .received(400)))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.pass(.seconds(5))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        // One that has brought something for a while is asked again, after a while.
        bench.closed(1, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<400).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        let asks = bench.reopened(3, 0..<400)
        #expect(asks.map(\.source) == [1])
        #expect(asks.map(\.range) == [400..<1000])
        let actions = bench.feed(.exchange(bench.id, 3, .head(.part(400..<1000, of: 1000))))
        #expect(actions.contains(.transport(bench.id, .accept(3, 400..<1000))))
        #expect(actions.restarts.isEmpty)
    }

    /// A place that always dies at the same byte is not asked for ever, and who wants no retries has the mirror at once.
    @Test(arguments: [nil, 0] as [Int?]) func aConnectionThatIsLostAgainWithoutAGainLeavesThePlace(retries: Int?) {
        let settings = Settings().with { $0.retry.maximumRetries = retries }
        var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<400))
        let count: Attempt = retries == nil ? 2 : 1
        for attempt in 1...count {
            let part = ResponseHead.part(400..<1000, of: 1000)
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(part)))
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .received(10)))
            bench.pass(.seconds(5))
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(lost)))
            // What has come is not written.
            bench.closed(attempt, 0..<400)
            bench.pass(.seconds(100))
            let asks = bench.opened(attempt + 1, 0..<400).asks
            #expect(asks.map(\.source) == [attempt == count ? 1 : 0])
        }
    }

    /// Each time there would be a wait: a place that brings a little before it breaks off would take for ever.
    @Test func aConnectionThatIsLostAtOnceLeavesThePlace() {
        var bench = Bench.transferring(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .received(400)))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.pass(.seconds(1))
        #expect(bench.feed(.exchange(bench.id, 1, .failed(lost))).retry?.time == bench.now)
        bench.closed(1, 0..<400)
        #expect(bench.opened(2, 0..<400).asks.map(\.source) == [1])
        // Much in little time is worth it.
        bench = .transferring(mirrors: 1, head: .file(1 << 30))
        bench.feed(.exchange(bench.id, 1, .received(16 << 20)))
        bench.feed(.file(bench.id, 1, .wrote(0..<16 << 20)))
        bench.pass(.seconds(1))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1, 0..<16 << 20)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<16 << 20).asks.map(\.source) == [0])
    }

    /// It may do with parts what the URL does not.
    @Test func aMirrorIsAskedForThePartWhenTheWholeIsNotToBeHad() {
        var bench = Bench.plain(mirrors: 1)
        bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 404))))
        let asks = bench.reopened(4, 0..<500)
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [500..<1000])
    }

    @Test(arguments: [
        ResponseHead.file(), .file(tag: "\"b\""), .part(400..<1000, of: 1000, tag: nil), ResponseHead(status: 416),
    ])
    func bytesStayWhereTheMirrorHasAnother(head: ResponseHead) {
        var bench = Bench.transferring(mirrors: 1)
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        _ = bench.reopened(2, 0..<400)
        #expect(bench.feed(.exchange(bench.id, 2, .head(head))).restarts.isEmpty)
        #expect(bench.reopened(3, 0..<400).map(\.source) == [0])
        // And it is not asked again.
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(3, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(4, 0..<400).asks.map(\.source) == [0])
    }

    @Test func withoutAStrongTagOrADigestBytesGoOnWhereTheyCameFrom() {
        var bench = Bench.transferring(mirrors: 1, head: .file(tag: "W/\"a\""))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<400).asks.map(\.source) == [0])
    }

    /// The URL has failed, and its mirror has brought 400 bytes in the second attempt.
    private func begunByAMirror() -> Bench {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        _ = bench.reopened(2)
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<400)))
        return bench
    }

    /// Bytes that a mirror began go on there, also in a later process.
    @Test func whatAMirrorBeganIsRememberedSo() throws {
        var bench = begunByAMirror()
        bench.verb(.suspend)
        let saved = try #require(bench.closed(2, 0..<400).records.last)
        #expect(saved.source == 1)
        #expect(!saved.isOfOtherURL)
        bench.verb(.start)
        let asks = bench.opened(3, 0..<400).asks
        #expect(asks.map(\.source) == [1])
        #expect(asks.first?.isElsewhere == false)
        var later = Bench.opening(mirrors: 1, saved: saved)
        #expect(later.opened(1, 0..<400).asks == asks)
        // A record that speaks of no mirror there is: then nobody knows where they are from.
        var other = Bench.resting(saved: saved)
        #expect(other.verb(.start).restarts == [.otherURL])
    }

    /// The new URL is asked then, also in a later process.
    @Test func whatAMirrorBeganIsOfAnotherURLWhenThereIsOne() throws {
        var bench = begunByAMirror()
        bench.feed(.readdress(bench.id, .unknown))
        bench.verb(.suspend)
        let saved = try #require(bench.closed(2, 0..<400).records.last)
        #expect(saved.isOfOtherURL && saved.source == 0)
        // Somebody else may have recorded the URL before.
        var mixed = saved
        mixed.source = 1
        for record in [saved, mixed] {
            var later = Bench.resting(mirrors: 1, saved: record)
            #expect(later.verb(.start).restarts == [.otherURL])
            #expect(later.opened(1).asks.map(\.source) == [0])
        }
    }

    /// Other mirrors, twice: the one that began is the second of those now, or none of them.
    @Test(arguments: [2, nil]) func whatAMirrorBeganGoesOnAmongOthers(place: Int?) {
        var bench = begunByAMirror()
        bench.feed(.expectDigest(bench.id, false, mirrors: MirrorChange(count: 3, places: [3])))
        bench.feed(.expectDigest(bench.id, false, mirrors: MirrorChange(count: 2, places: [nil, 1, place])))
        bench.verb(.suspend)
        // The record is of the mirrors there were, until they are no more.
        let saved = bench.closed(2, 0..<400).records.last
        #expect(saved?.source == (place == nil ? 0 : 1))
        #expect(saved?.isOfOtherURL == (place == nil))
        let actions = bench.verb(.start)
        #expect(actions.contains(.transport(bench.id, .remirror(steps: 2))))
        #expect(actions.restarts == (place == nil ? [.otherURL] : []))
        #expect(bench.opened(3, place == nil ? 0..<0 : 0..<400).asks.map(\.source) == [place ?? 0])
    }

    @Test func theURLIsElsewhereForWhatAMirrorBegan() {
        var bench = begunByAMirror()
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2, 0..<400)
        bench.pass(.seconds(100))
        let asks = bench.opened(3, 0..<400).asks
        #expect(asks.first?.isElsewhere == (asks.first?.source == 0))
    }

    /// No place goes on with what is held: better another version than none.
    @Test func theVersionOfTheURLIsTakenWhenThatOfAMirrorIsGone() {
        var bench = begunByAMirror()
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2, 0..<400)
        bench.pass(.seconds(100))
        bench.opened(3, 0..<400)
        bench.feed(.exchange(bench.id, 3, .head(.file(tag: "\"b\""))))
        #expect(bench.reopened(4, 0..<400).map(\.source) == [1])
        let end = bench.feed(.exchange(bench.id, 4, .head(ResponseHead(status: 404))))
        #expect(end.restarts == [])
        #expect(bench.reopened(5, 0..<400) == [.whole])
        var other = bench
        #expect(other.feed(.exchange(other.id, 5, .head(.file(tag: "\"b\"")))).restarts == [.contentChanged])
        // Once: where that is gone, too, it is a failure, and what is held stays.
        #expect(bench.feed(.exchange(bench.id, 5, .head(ResponseHead(status: 404)))).restarts == [])
        bench.closed(5, 0..<400)
        #expect(bench.phase == .failed(DownloadFailure(.status(404), "The server answered with status 404.")))
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<400]))
    }

    /// A file that is gone may come back; one that was given up does not.
    @Test(arguments: [404, 503]) func whatIsHeldOfAFileThatIsGoneStaysWhereNoMirrorAnswers(status: Int) {
        let settings = Settings().with { $0.retry.maximumRetries = 1 }
        var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<500, tag: "W/\"a\""))
        #expect(bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404)))).restarts == [])
        #expect(bench.reopened(2, 0..<500) == [.whole.at(1)])
        for number in Attempt(2)...4 where bench.phase == .running {
            let head = ResponseHead(status: status)
            #expect(bench.feed(.exchange(bench.id, ExchangeNumber(number), .head(head))).restarts == [])
            bench.closed(number, 0..<500)
            bench.pass(.seconds(100))
            bench.opened(number + 1, 0..<500)
        }
        if case .failed = bench.phase {} else { Issue.record("It goes on.") }
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    /// As one after the other is asked where nothing is held.
    @Test func whereAFileIsGoneAMirrorThatIsDownIsNoReasonToWaitForItBeforeTheNext() {
        var bench = Bench.requesting(mirrors: 2, saved: .holding(0..<500, tag: "W/\"a\""))
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        #expect(bench.reopened(2, 0..<500) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).retry?.time == bench.now)
        #expect(bench.reopened(3, 0..<500) == [.whole.at(2)])
    }

    @Test func anOutageCostsNoBytes() {
        let settings = Settings().with { $0.retry = .never }
        var bench = Bench.transferring(settings, mirrors: 1)
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        _ = bench.reopened(2, 0..<400)
        bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"b\""))))
        #expect(bench.reopened(3, 0..<400).map(\.source) == [0])
        #expect(bench.feed(.exchange(bench.id, 3, .failed(lost))).restarts == [])
        // Before it fails: if it answers, its version is taken.
        #expect(bench.reopened(4, 0..<400) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 4, .failed(lost))).restarts == [])
        bench.closed(4, 0..<400)
        #expect(bench.phase == .failed(lost))
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<400]))
    }

    /// A weak tag says nothing at another place.
    @Test func whatCannotBeAskedForElsewhereIsGivenUpForAnothersFileWhenItsPlaceIsGone() {
        let settings = Settings().with { $0.retry = .never }
        var bench = Bench.transferring(settings, mirrors: 1, head: .file(tag: "W/\"a\""))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.reopened(2, 0..<400) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).restarts == [])
        bench.closed(2, 0..<400)
        #expect(bench.phase == .failed(lost))
        bench.verb(.start)
        #expect(bench.opened(3, 0..<400).asks.map(\.source) == [0])
        #expect(bench.feed(.exchange(bench.id, 3, .head(ResponseHead(status: 410)))).restarts == [])
        #expect(bench.reopened(4, 0..<400) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 4, .head(.file()))).restarts == [.contentChanged])
    }

    // MARK: Sizes that the pieces cannot have

    /// A download that holds 500 of 1000 bytes, whose pieces are for a file of such a size; the first request is out.
    private func holding(sizes: ClosedRange<Int64>, mirrors: Int = 1, tag: String = "W/\"a\"") -> Bench {
        var bench = Bench(Settings().with { $0.retry = .never })
        let new = NewDownload(
            id: bench.id, rank: 0, hasDigest: true, sizes: sizes, mirrors: mirrors,
            saved: .holding(0..<500, tag: tag))
        bench.feed(.add([new]))
        bench.verb(.start)
        #expect(bench.opened(1, 0..<500).asks.map(\.source) == [0])
        return bench
    }

    @Test func whatIsHeldOfAFileOfAWrongSizeStaysUntilAMirrorSendsItsOwn() {
        var bench = holding(sizes: 1...400)
        let part = ResponseHead.part(500..<1000, of: 1000, tag: "W/\"a\"")
        #expect(bench.feed(.exchange(bench.id, 1, .head(part))).restarts == [])
        #expect(bench.reopened(2, 0..<500) == [.whole.at(1)])
        var other = bench
        let actions = other.feed(.exchange(other.id, 2, .head(.file(400))))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.contains(.transport(other.id, .accept(2, 0..<400))))
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).restarts == [])
        bench.closed(2, 0..<500)
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    @Test func eachMirrorIsAskedForAFileOfTheRightSize() {
        var bench = holding(sizes: 1...400, mirrors: 2)
        let part = ResponseHead.part(500..<1000, of: 1000, tag: "W/\"a\"")
        #expect(bench.feed(.exchange(bench.id, 1, .head(part))).restarts == [])
        #expect(bench.reopened(2, 0..<500) == [.whole.at(1)])
        #expect(bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 404)))).restarts == [])
        #expect(bench.reopened(3, 0..<500) == [.whole.at(2)])
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file(300)))).restarts == [.contentChanged])
    }

    @Test func aMirrorsFileOfAWrongSizeCostsNoBytes() {
        var bench = holding(sizes: 901...1000)
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.reopened(2, 0..<500).map(\.source) == [1])
        // It has another one.
        bench.feed(.exchange(bench.id, 2, .head(.part(500..<900, of: 900))))
        #expect(bench.reopened(3, 0..<500).map(\.source) == [0])
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        #expect(bench.reopened(4, 0..<500) == [.whole.at(1)])
        let actions = bench.feed(.exchange(bench.id, 4, .head(.file(900))))
        #expect(actions.restarts == [] && actions.contains(.transport(bench.id, .stop(4, keepBytes: true))))
        bench.closed(4, 0..<500)
        // What the URL has failed with may pass.
        #expect(bench.phase == .failed(lost))
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
    }

    /// Whether or not there is a mirror.
    @Test(arguments: [0, 1]) func aFileOfAWrongSizeCostsNoBytesOfTheOneBefore(mirrors: Int) {
        var bench = holding(sizes: 901...1000, mirrors: mirrors)
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file(900, tag: "\"b\"")))).restarts == [])
        if mirrors > 0 {
            #expect(bench.reopened(2, 0..<500).map(\.range) == [500..<1000])
        } else {
            bench.closed(1, 0..<500)
            guard case .failed(let failure) = bench.phase else {
                Issue.record("It goes on.")
                return
            }
            #expect(failure.reason == .checksumMismatch)
        }
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<500]))
        #expect(bench.machine[bench.id]?.saved.total == 1000)
    }

    @Test func aMirrorOfWrongBytesIsLeftForAnother() {
        var bench = Bench.requesting(hasDigest: true, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.file())))
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        let actions = bench.feed(.file(bench.id, 1, .verified(.mismatch(""))))
        #expect(actions.restarts == [.wrongDigest])
        #expect(bench.opened(2).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        // None is left.
        bench.feed(.file(bench.id, 2, .verified(.mismatch(""))))
        bench.closed(2)
        #expect(bench.phase == .failed(DownloadFailure(.checksumMismatch, "")))
    }

    /// A connection that was lost says nothing of the file.
    @Test func afterAWrongFileAPlaceThatHadFailedIsAskedAgain() {
        var bench = Bench.requesting(hasDigest: true, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.reopened(2).map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        #expect(bench.feed(.file(bench.id, 2, .verified(.mismatch("")))).restarts == [.wrongDigest])
        #expect(bench.opened(3).asks.map(\.source) == [0])
        // Once: then both have had a wrong file.
        bench.feed(.exchange(bench.id, 3, .head(.file())))
        bench.feed(.file(bench.id, 3, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 3, .ended(received: 1000)))
        bench.feed(.file(bench.id, 3, .verified(.mismatch(""))))
        bench.closed(3)
        #expect(bench.phase == .failed(DownloadFailure(.checksumMismatch, "")))
    }

    /// What it differed from was wrong.
    @Test func afterAWrongFileAPlaceWithAnotherIsAskedAgain() {
        var (bench, _) = asking(hasDigest: true)
        bench.feed(.exchange(bench.id, 2, .head(.part(half, of: 200 << 20))))
        bench.feed(.file(bench.id, 1, .wrote(0..<Self.total)))
        bench.feed(.exchange(bench.id, 1, .ended(received: Self.total)))
        #expect(bench.feed(.file(bench.id, 1, .verified(.mismatch("")))).restarts == [.wrongDigest])
        #expect(bench.opened(2).asks == [.whole.at(1)])
    }

    @Test func afterAWrongFileRangesAreAskedForAllTheSame() {
        var bench = Bench.transferring(hasDigest: true, mirrors: 1)
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        bench.feed(.file(bench.id, 1, .verified(.mismatch(""))))
        bench.opened(2)
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2, 0..<400)
        #expect(bench.pass(.seconds(100)).restarts == [])
        #expect(bench.opened(3, 0..<400).asks.map(\.range) == [400..<1000])
    }

    /// That ranges do not work is known of the server that showed it.
    @Test func whatOneServerDoesWithRangesSaysNothingOfTheNext() {
        var bench = Bench.gettingWhole(mirrors: 1)
        bench.feed(.file(bench.id, 4, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        let asks = bench.reopened(5, 0..<400)
        #expect(asks.map(\.source) == [1] && asks.map(\.range) == [400..<1000])
    }

    /// What is found of it after a death counts as an answer of the URL.
    @Test func whatOutlivesTheProcessIsNotAskedOfAMirror() {
        let settings = Settings().with {
            ($0.outlivesProcess, $0.retry.maximumChecksumRetries) = (true, 1)
        }
        var bench = Bench.requesting(settings, hasDigest: true, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        bench.pass(.seconds(100))
        #expect(bench.opened(2).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        bench.feed(.file(bench.id, 2, .verified(.mismatch(""))))
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    @Test func otherMirrorsCountFromTheNextAttemptOn() {
        var bench = Bench.transferring(mirrors: 0)
        let actions = bench.feed(.expectDigest(bench.id, false, mirrors: MirrorChange(count: 1)))
        #expect(!actions.contains(.transport(bench.id, .remirror(steps: 1))))
        bench.verb(.suspend)
        bench.closed(1)
        #expect(bench.verb(.start).contains(.transport(bench.id, .remirror(steps: 1))))
        bench.opened(2)
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        #expect(bench.reopened(3).map(\.source) == [1])
    }

    /// The old one was dropped: that says nothing of the new one.
    @Test(arguments: [false, true]) func anotherURLIsAskedBeforeTheMirrors(isUnderWay: Bool) {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        #expect(bench.reopened(2).map(\.source) == [1])
        if isUnderWay { bench.feed(.readdress(bench.id, HostID(1))) }
        bench.verb(.shelve)
        bench.closed(2)
        if !isUnderWay { bench.feed(.readdress(bench.id, HostID(1))) }
        bench.verb(.unshelve)
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    /// Whether it was given while the mirror was asked, which is the last there is, or afterwards.
    @Test(arguments: [false, true]) func anotherURLIsAskedWhenTheMirrorsFail(isUnderWay: Bool) {
        let gone = ExchangeEvent.head(ResponseHead(status: 404))
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, gone))
        #expect(bench.reopened(2).map(\.source) == [1])
        if isUnderWay {
            bench.feed(.readdress(bench.id, HostID(1)))
            bench.feed(.exchange(bench.id, 2, gone))
            bench.closed(2)
        } else {
            bench.feed(.exchange(bench.id, 2, gone))
            bench.closed(2)
            bench.feed(.readdress(bench.id, HostID(1)))
            bench.verb(.start)
        }
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    /// Also where the bytes that are held came from a mirror.
    @Test(arguments: [false, true]) func anotherURLIsAskedThoughAMirrorToldTheVersion(hasDigest: Bool) {
        var bench = Bench.requesting(hasDigest: hasDigest, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        #expect(bench.reopened(2).map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<400)))
        bench.verb(.suspend)
        bench.closed(2, 0..<400)
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.verb(.start).restarts == (hasDigest ? [] : [.otherURL]))
        let asks = hasDigest ? bench.opened(3, 0..<400).asks : bench.opened(3).asks
        #expect(asks.map(\.source) == [0] && asks.map(\.range) == [hasDigest ? 400..<1000 : nil])
    }

    @Test func moreThanMayBeAreNotAsked() {
        #expect(Mirrors(count: 1000).usable.count == Mirrors.most + 1)
        #expect(Mirrors(count: -1).usable == [0])
        var mirrors = Mirrors(count: 2)
        mirrors.drop(1)
        mirrors.fail(0)
        mirrors.fail(1000)
        #expect(mirrors.usable == [2])
        mirrors.forgetFailures()
        #expect(mirrors.usable == [0, 2])
    }
}

extension Bench {
    /// The file of the last attempt is closed and opened for the next; what is asked for then.
    fileprivate mutating func reopened(_ attempt: Attempt, _ ranges: Range<Int64>...) -> [Ask] {
        let held = ByteRanges(ranges)
        feed(.file(id, attempt - 1, .closed(written: held, synced: held)))
        return feed(.file(id, attempt, .opened(held: held))).asks
    }
}
