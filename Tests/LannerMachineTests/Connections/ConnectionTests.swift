import LannerMachine
import Testing

/// Several connections for one file: when they are begun, what each brings, and what becomes of the others when one is
/// lost.
@Suite struct ConnectionTests {
    private static let megabyte: Int64 = 1 << 20
    private let megabyte = Self.megabyte

    /// A file of 100 MiB, of which one connection brings 5 MiB a second, each at its own pace.
    private struct Line {
        var bench: Bench
        var received: [ExchangeNumber: Int64] = [:]

        init(
            _ connections: Int = 4, first: Int = 1, hasDigest: Bool = false, saved: Saved? = nil,
            head: ResponseHead = .large(), smallestPiece: Int64 = ConnectionTests.megabyte
        ) {
            var settings = Settings()
            (settings.connections, settings.firstConnections) = (connections, first)
            settings.smallestPiece = smallestPiece
            bench = .transferring(settings, hasDigest: hasDigest, saved: saved, head: head)
        }

        var exchanges: [Exchange] { bench.transfer?.exchanges ?? [] }

        /// Bytes come over every connection but one, and are written at once; a quarter of a second passes.
        @discardableResult
        mutating func tick(_ perSecond: Int64 = 5 << 20, butOver silent: ExchangeNumber? = nil) -> [Action] {
            bench.now += .milliseconds(250)
            var actions: [Action] = []
            for exchange in exchanges where exchange.number != silent {
                actions += bench.bring(perSecond / 4, over: exchange, &received)
            }
            return actions + bench.feed(.timer)
        }

        /// The server answers every request that is out as it should.
        @discardableResult
        mutating func answer(but silent: ExchangeNumber? = nil) -> [Action] {
            exchanges.filter { !$0.isAccepted && $0.number != silent }.flatMap { exchange in
                bench.feed(
                    .exchange(bench.id, exchange.number, .head(.part(exchange.ask.range ?? 0..<1, of: 100 << 20))))
            }
        }

        /// Up to where another request is out; its number.
        mutating func toSecond() -> ExchangeNumber {
            for _ in 0..<3 { tick() }
            return exchanges.last?.number ?? 0
        }
    }

    @Test func itBeginsWithOneForAllThereIs() {
        var line = Line()
        #expect(line.exchanges.map(\.number) == [1])
        #expect(line.exchanges[0].ask.range == nil)
        #expect(line.tick().asks.isEmpty)
    }

    @Test func aSecondIsAskedForTheSecondHalfOfWhatIsToCome() {
        var line = Line()
        line.tick()
        line.tick()
        let asks = line.tick().asks
        #expect(asks.count == 1)
        // 3.75 of 100 MiB have come.
        #expect(asks.first?.headerFields["Range"] == "bytes=\(51 * megabyte)-")
        #expect(asks.first?.headerFields["If-Range"] == "\"a\"")
        #expect(line.exchanges[0].body == 0..<100 * megabyte)
    }

    @Test func theFirstEndsWhereTheSecondBegins() {
        var line = Line()
        let second = line.toSecond()
        let actions = line.answer()
        #expect(actions.contains(.transport(line.bench.id, .cut(1, at: 51 * megabyte))))
        #expect(actions.contains(.transport(line.bench.id, .accept(second, 51 * megabyte..<100 * megabyte))))
        #expect(line.exchanges.map(\.body) == [0..<51 * megabyte, 51 * megabyte..<100 * megabyte])
    }

    @Test func theFileIsWholeInTheEndAndRequestsAreFew() {
        var line = Line(8)
        var asks = 1
        for _ in 0..<400 where line.bench.transfer != nil {
            asks += line.tick().asks.count
            line.answer()
        }
        #expect(line.bench.phase == .running)
        if case .verifying = line.bench.state {
            #expect(line.bench.machine[line.bench.id]?.saved.total == 100 * megabyte)
        } else {
            Issue.record("the file is not complete: \(String(describing: line.bench.state))")
        }
        #expect(asks >= 8)
        #expect(asks <= 24)
        // 100 MiB at 5 a second take 20 seconds over one.
        #expect(line.bench.now <= .seconds(5))
    }

    @Test func oneMayBeginWithSeveral() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (3, 8) }
        var bench = Bench.requesting(settings)
        let asks = bench.feed(.exchange(bench.id, 1, .head(.large()))).asks
        #expect(asks.map(\.range) == [50 * megabyte..<100 * megabyte, 25 * megabyte..<50 * megabyte])
    }

    @Test func noMoreThanMayBeAreOut() {
        var line = Line(3)
        for _ in 0..<20 {
            line.tick()
            line.answer()
            #expect(line.exchanges.count <= 3)
        }
        #expect(line.exchanges.count == 3)
    }

    @Test(arguments: [
        // No word of ranges, no validator, a weak one, no size, a content coding, and too small a file.
        ResponseHead.file(100 << 20),
        .large(tag: nil), .large(tag: "W/\"a\""), .large(nil),
        .large().with("Content-Encoding", "gzip"), .large(1 << 20),
    ])
    func oneIsAllWhereMoreWouldNotBeSafe(head: ResponseHead) {
        var line = Line(head: head)
        for _ in 0..<3 { #expect(line.tick(100_000).asks.isEmpty) }
        for _ in 0..<20 { #expect(line.tick(40_000).asks.isEmpty) }
        #expect(line.exchanges.count == 1)
    }

    @Test(arguments: [nil, "W/\"a\""])
    func aDigestTiesWhatValidatorsDoNot(tag: String?) {
        var line = Line(hasDigest: true, head: .large(tag: tag))
        #expect(line.toSecond() == 2)
    }

    @Test func aDigestThatWasTakenBackEndsIt() {
        var line = Line(hasDigest: true, head: .large(tag: nil))
        let second = line.toSecond()
        line.bench.feed(.expectDigest(line.bench.id, false))
        let head = ResponseHead.part(51 * megabyte..<100 * megabyte, of: 100 * megabyte, tag: nil)
        let actions = line.bench.feed(.exchange(line.bench.id, second, .head(head)))
        #expect(actions == [.transport(line.bench.id, .stop(second, keepBytes: true))])
    }

    private static let useless: [ResponseHead] =
        [429, 503, 404, 401, 412, 416, 206].map { ResponseHead(status: $0) } + [
            .file(100 * megabyte), .large(tag: "\"b\""), .part(0..<10, of: 100 * megabyte),
            .part(51 * megabyte..<100 * megabyte, of: 100 * megabyte, tag: "\"b\""),
            .part(51 * megabyte..<100 * megabyte, of: 200 * megabyte),
        ]

    @Test(arguments: useless)
    func anAnswerThatIsOfNoUseIsStoppedAndTheFirstGoesOn(head: ResponseHead) {
        var line = Line()
        let second = line.toSecond()
        let actions = line.bench.feed(.exchange(line.bench.id, second, .head(head)))
        #expect(actions == [.transport(line.bench.id, .stop(second, keepBytes: true))])
        #expect(line.exchanges.map(\.body) == [0..<100 * megabyte])
        for _ in 0..<15 { #expect(line.tick().asks.isEmpty) }
    }

    /// It would end the first one, and what is behind it be asked for in many small parts.
    @Test func anAnswerThatIsShorterThanWasAskedForIsOfNoUse() {
        var line = Line()
        let second = line.toSecond()
        let head = ResponseHead.part(51 << 20..<(51 << 20) + 65_536, of: 100 << 20)
        let actions = line.bench.feed(.exchange(line.bench.id, second, .head(head)))
        #expect(actions == [.transport(line.bench.id, .stop(second, keepBytes: true))])
        #expect(line.exchanges.map(\.body) == [0..<100 * megabyte])
    }

    @Test func aServerThatAsksForPatienceGetsIt() {
        var line = Line()
        let second = line.toSecond()
        let head = ResponseHead(status: 503, fields: ["Retry-After": "10"])
        line.bench.feed(.exchange(line.bench.id, second, .head(head)))
        for _ in 0..<39 { #expect(line.tick(1 << 20).asks.isEmpty) }
        for _ in 0..<4 { line.tick(1 << 20) }
        #expect(line.exchanges.count == 2)
    }

    /// What it was asked for is all that is missing in the end, and the server sends it to others.
    @Test(arguments: 2...6 as ClosedRange<ExchangeNumber>)
    func aRequestThatIsLeftWithoutAnAnswerIsMadeAgain(silent: ExchangeNumber) {
        var line = Line(8, first: 4)
        while line.bench.transfer != nil, line.bench.now < .seconds(40) {
            line.answer(but: silent)
            line.tick()
        }
        #expect(line.bench.transfer == nil && line.bench.phase == .running, "\(line.exchanges.map(\.number))")
        #expect(line.bench.now < .seconds(20), "\(line.bench.now)")
    }

    /// Who answers none of those any more either is as silent as any other.
    @Test func whoIsSilentThenIsWaitedFor() {
        var line = Line(8, first: 4)
        var asks = 0
        while line.bench.transfer != nil, line.bench.now < .seconds(100) {
            if line.bench.now < .seconds(1) { line.answer(but: 3) }
            let asked = line.tick().asks.count
            if line.bench.now >= .seconds(10) { asks += asked }
        }
        #expect(line.bench.now > .seconds(60) && line.bench.now < .seconds(80), "\(line.bench.now)")
        #expect((1...4).contains(asks), "\(asks)")
        guard case .pausing(let pausing) = line.bench.state, case .wait(.retry) = pausing.intent else {
            Issue.record("\(String(describing: line.bench.state))")
            return
        }
    }

    /// A second connection was refused for 100 seconds, and the first is lost, with a megabyte.
    private func askedForPatience(_ settings: Settings) -> Bench {
        var bench = Bench.transferring(settings, head: .large())
        bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 429, fields: ["Retry-After": "100"]))))
        bench.feed(.file(bench.id, 1, .wrote(0..<megabyte)))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        return bench
    }

    @Test func aServerThatAsksForPatienceGetsItFromTheNextAttemptAsWell() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = askedForPatience(settings)
        bench.closed(1, 0..<megabyte)
        bench.pass(.seconds(10))
        #expect(bench.opened(2, 0..<megabyte).asks.count == 1)
        let part = ResponseHead.part(megabyte..<100 * megabyte, of: 100 * megabyte)
        #expect(bench.feed(.exchange(bench.id, 3, .head(part))).asks.isEmpty)
        bench.now = .seconds(99)
        #expect(bench.feed(.exchange(bench.id, 3, .received(1))).asks.isEmpty)
        bench.now = .seconds(100)
        #expect(bench.feed(.exchange(bench.id, 3, .received(2))).asks.count == 1)
    }

    /// No connection could be tried meanwhile, so nothing says that none is worth it.
    @Test func afterThatTheNextAttemptTriesMoreAtOnce() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (4, 2) }
        var bench = askedForPatience(settings)
        bench.feed(.settings(settings.with { $0.firstConnections = 1 }))
        bench.closed(1, 0..<megabyte)
        bench.pass(.seconds(10))
        bench.opened(2, 0..<megabyte)
        bench.feed(.exchange(bench.id, 3, .head(.part(megabyte..<100 * megabyte, of: 100 * megabyte))))
        var asks: [Ask] = []
        for count in 1...Int64(400) where asks.isEmpty {
            bench.feed(.file(bench.id, 2, .wrote(megabyte..<megabyte + count << 16)))
            bench.feed(.exchange(bench.id, 3, .received(count << 16)))
            asks = bench.pass(.milliseconds(250)).asks
        }
        #expect(asks.count == 1 && bench.now >= .seconds(100) && bench.now <= .seconds(101))
    }

    /// Though what it refuses so may have been led to, or wanted, too long ago.
    @Test func aServerThatAsksForPatienceGetsItWhateverItRefusesWith() throws {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        line.bench.feed(.exchange(line.bench.id, second, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        line.bench.feed(.file(line.bench.id, 1, .wrote(0..<51 * megabyte)))
        line.bench.feed(.exchange(line.bench.id, 1, .ended(received: 51 * megabyte)))
        let last = try #require(line.exchanges.last?.number)
        let head = ResponseHead(status: 403, fields: ["Retry-After": "60"])
        let retry = line.bench.feed(.exchange(line.bench.id, last, .head(head))).retry
        #expect(retry?.time == line.bench.now + .seconds(60))

        var (bench, _) = led(2)
        #expect(bench.feed(.exchange(bench.id, 3, .head(head))) == [.transport(bench.id, .stop(3, keepBytes: true))])
    }

    @Test func aRefusalBringsItBackToOneWithoutLosingBytes() throws {
        var line = Line()
        for _ in 0..<4 {
            line.tick()
            line.answer()
        }
        line.tick()
        #expect(line.exchanges.count == 4)
        let refused = try #require(line.exchanges.first { !$0.isAccepted })
        line.bench.feed(.exchange(line.bench.id, refused.number, .head(ResponseHead(status: 429))))
        #expect(line.exchanges.map(\.number) == [1])
        #expect(line.bench.phase == .running)
    }

    @Test func aLostConnectionIsNoFailureWhileAnotherGoesOn() {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        let lost = DownloadFailure(.transport(.connectionLost), "")
        #expect(line.bench.feed(.exchange(line.bench.id, second, .failed(lost))).isEmpty)
        #expect(line.exchanges.map(\.body) == [0..<51 * megabyte])
        // The first comes to its end, and what the second has not brought is asked for.
        line.bench.feed(.file(line.bench.id, 1, .wrote(0..<51 * megabyte)))
        let asks = line.bench.feed(.exchange(line.bench.id, 1, .ended(received: 51 * megabyte))).asks
        #expect(asks.map(\.range) == [51 * megabyte..<100 * megabyte])
    }

    @Test func theFirstMayBeTheOneThatIsLost() {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        let lost = DownloadFailure(.transport(.connectionLost), "")
        #expect(line.bench.feed(.exchange(line.bench.id, 1, .failed(lost))).isEmpty)
        line.bench.feed(.file(line.bench.id, 1, .wrote(51 * megabyte..<100 * megabyte)))
        let asks = line.bench.feed(.exchange(line.bench.id, second, .ended(received: 49 * megabyte))).asks
        #expect(asks.map(\.range) == [line.received[1]!..<51 * megabyte])
    }

    @Test func theLastOneThatIsLostIsAFailure() {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        let lost = DownloadFailure(.transport(.connectionLost), "")
        line.bench.feed(.exchange(line.bench.id, 1, .failed(lost)))
        #expect(line.bench.feed(.exchange(line.bench.id, second, .failed(lost))).retry?.failure == lost)
    }

    @Test func anAnswerThatEndsTooSoonIsALossAsWell() {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        #expect(line.bench.feed(.exchange(line.bench.id, second, .ended(received: 10))).retry == nil)
        #expect(line.exchanges.map(\.number) == [1])
    }

    @Test func aFullDiskIsAFailureOverAnyConnection() {
        var line = Line()
        let second = line.toSecond()
        let full = DownloadFailure(.disk(.noSpace), "")
        line.bench.feed(.exchange(line.bench.id, second, .failed(full)))
        #expect(line.bench.transfer == nil)
    }

    @Test func aRequestThatIsOvertakenIsStopped() {
        var line = Line()
        let second = line.toSecond()
        let actions = line.bench.feed(.exchange(line.bench.id, 1, .received(52 * megabyte)))
        #expect(actions.contains(.transport(line.bench.id, .stop(second, keepBytes: true))))
        let head = ResponseHead.part(51 * megabyte..<100 * megabyte, of: 100 * megabyte)
        #expect(line.bench.feed(.exchange(line.bench.id, second, .head(head))).isOnlyIgnored)
        #expect(line.exchanges[0].body == 0..<100 * megabyte)
    }

    @Test func aRequestIsStoppedWhenAllHasComeWithoutIt() {
        var line = Line()
        let second = line.toSecond()
        let actions = line.bench.feed(.exchange(line.bench.id, 1, .ended(received: 100 * megabyte)))
        #expect(actions.contains(.transport(line.bench.id, .stop(second, keepBytes: true))))
        #expect(line.exchanges.isEmpty)
    }

    @Test func whatCameBehindTheCutIsNotCounted() {
        var line = Line()
        _ = line.toSecond()
        line.answer()
        line.bench.feed(.exchange(line.bench.id, 1, .ended(received: 53 * megabyte)))
        #expect(line.bench.transfer?.received == 51 * megabyte)
    }

    @Test func aSilentConnectionIsGivenUpBesideOneThatIsNot() {
        var line = Line()
        let second = line.toSecond()
        line.answer()
        var actions: [Action] = []
        for count in 1...Int64(60) {
            line.bench.feed(.exchange(line.bench.id, 1, .received(4 * megabyte + count)))
            actions = line.bench.pass(.seconds(1))
            if line.exchanges.count == 1 { break }
        }
        #expect(line.exchanges.map(\.number) == [1])
        #expect(line.bench.phase == .running)
        #expect(actions.contains(.transport(line.bench.id, .stop(second, keepBytes: true))))
    }

    /// Of each connection up to a mebibyte waits in memory until it is written together.
    @Test func whatIsGatheredOfManyIsNoSlowDisk() throws {
        let total: Int64 = 1 << 30
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (16, 16) }
        var bench = Bench.transferring(settings, head: .large(total))
        while let exchange = bench.transfer?.exchanges.first(where: { !$0.isAccepted }) {
            let range = try #require(exchange.ask.range)
            bench.feed(.exchange(bench.id, exchange.number, .head(.part(range, of: total))))
        }
        #expect(bench.transfer?.exchanges.map(\.number).sorted() == Array(1...16))
        for count in 1...Int64(280) {
            for exchange in bench.transfer?.exchanges ?? [] where exchange.number != 16 {
                guard let body = exchange.body else { continue }
                let received = megabyte + count << 16
                bench.feed(.file(bench.id, 1, .wrote(body.lowerBound..<body.lowerBound + received - megabyte / 2)))
                bench.feed(.exchange(bench.id, exchange.number, .received(received)))
            }
            bench.pass(.milliseconds(250))
        }
        #expect(bench.transfer?.exchanges.contains { $0.number == 16 } == false)
        #expect(bench.phase == .running)
    }

    /// The first connection ends where that one was to begin.
    @Test func theEndDoesNotWaitForAConnectionThatBringsNothingAfterItsAnswer() {
        var line = Line(2, first: 2)
        var actions: [Action] = []
        for _ in 0..<200 where line.bench.transfer != nil {
            actions += line.answer()
            actions += line.tick(butOver: 2)
        }
        #expect(actions.contains(.transport(line.bench.id, .stop(2, keepBytes: true))))
        #expect(line.bench.transfer == nil && line.bench.phase == .running)
        // One alone takes 20 seconds.
        #expect(line.bench.now < .seconds(25))
    }

    @Test(arguments: 1...8 as ClosedRange<ExchangeNumber>)
    func theEndDoesNotWaitForOneOfManyThatBringsNothingAfterItsAnswer(silent: ExchangeNumber) {
        var line = Line(8, first: 4)
        while line.bench.transfer != nil, line.bench.now < .seconds(80) {
            line.answer()
            line.tick(butOver: silent)
        }
        #expect(line.bench.transfer == nil && line.bench.phase == .running, "\(line.exchanges.map(\.number))")
        #expect(line.bench.now < .seconds(20), "\(line.bench.now)")
    }

    /// No connection has brought anything lately that another one could be expected to.
    @Test func aServerThatBringsNothingAtAllIsNotAskedAgainAndAgain() {
        var line = Line(2, first: 2)
        line.answer()
        var asks = 0
        for _ in 0..<230 {
            line.answer()
            asks += line.tick(0).asks.count
        }
        #expect(asks == 0 && line.exchanges.map(\.number) == [1, 2])
    }

    @Test func whatAlreadyCameAtTheEndOfAFileIsAskedForFirst() {
        // Two holes: the first is asked for as always, the other by the second connection.
        var saved = Saved.holding()
        let version = Version(
            entityTag: EntityTag("\"a\""), lastModified: nil, isLastModifiedStrong: false, total: 100 << 20)
        let held = ByteRanges([0..<megabyte, 40 * megabyte..<50 * megabyte])
        saved = Saved(
            status: .suspended, version: version, generation: 1, written: held, synced: held, total: 100 << 20)
        var line = Line(saved: saved, head: .part(megabyte..<40 * megabyte, of: 100 << 20))
        line.tick()
        line.tick()
        #expect(line.tick().asks.map(\.range) == [50 * megabyte..<100 * megabyte])
    }

    /// Of three holes the first is filled, and nothing is known of the other two, that were asked for meanwhile.
    private func unanswered(mirrors: Int = 0) -> Bench {
        let version = Version(
            entityTag: EntityTag("\"a\""), lastModified: nil, isLastModifiedStrong: false, total: 100 << 20)
        let held = ByteRanges([10 * megabyte..<20 * megabyte, 30 * megabyte..<40 * megabyte])
        let saved = Saved(
            status: .suspended, version: version, generation: 1, written: held, synced: held, total: 100 << 20)
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (3, 3) }
        var bench = Bench.transferring(
            settings, mirrors: mirrors, saved: saved, head: .part(0..<10 * megabyte, of: 100 << 20))
        bench.feed(.file(bench.id, 1, .wrote(0..<10 * megabyte)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 10 * megabyte)))
        return bench
    }

    @Test(arguments: [
        ExchangeEvent.head(ResponseHead(status: 503)), .head(ResponseHead(status: 404)), .head(.large(tag: "\"b\"")),
        .failed(DownloadFailure(.transport(.connectionLost), "")),
    ])
    func oneOfTwoRequestsThatComesToNothingLeavesTheOther(event: ExchangeEvent) throws {
        for mirrors in [0, 1] {
            var bench = unanswered(mirrors: mirrors)
            let before = try #require(bench.transfer?.exchanges)
            #expect(before.map(\.isAccepted) == [false, false])
            let actions = bench.feed(.exchange(bench.id, before[0].number, event))
            #expect(actions.restarts.isEmpty && actions.retry == nil)
            #expect(!actions.contains(.transport(bench.id, .stop(before[1].number, keepBytes: true))))
            let part = ResponseHead.part(try #require(before[1].ask.range), of: 100 << 20)
            let answer = bench.feed(.exchange(bench.id, before[1].number, .head(part)))
            #expect(answer.contains(.transport(bench.id, .accept(before[1].number, before[1].ask.range!))))
        }
    }

    @Test func theLastRequestThatComesToNothingIsAFailure() throws {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = unanswered()
        for exchange in try #require(bench.transfer?.exchanges) {
            #expect(bench.transfer != nil)
            bench.feed(.exchange(bench.id, exchange.number, .failed(lost)))
        }
        #expect(bench.transfer == nil)
    }

    @Test func aPlainDownloadHasOneOnly() throws {
        // Ranges prove unusable, and it begins again.
        var line = Line(saved: .holding(0..<100), head: .part(100..<1000, of: 1000))
        line.bench.feed(.exchange(line.bench.id, 1, .overflowed))
        let actions = line.bench.opened(2)
        #expect(actions.asks == [.whole])
        let number = try #require(
            actions.compactMap { if case .transport(_, .begin(let number, _)) = $0 { number } else { nil } }.first)
        line.bench.feed(.exchange(line.bench.id, number, .head(.large())))
        for count in 1...Int64(20) {
            line.bench.feed(.exchange(line.bench.id, number, .received(count * megabyte)))
            #expect(line.bench.pass(.milliseconds(250)).asks.isEmpty)
            #expect(line.exchanges.count == 1 && line.exchanges.first?.received == count * megabyte)
        }
    }

    /// As where a proxy ends each after a time: it was not one too many.
    @Test func oneThatIsLostAfterALongTimeIsReplacedAtOnce() {
        var line = Line()
        for _ in 0..<12 {
            line.tick(1 << 20)
            line.answer()
        }
        #expect(line.exchanges.count == 4)
        for _ in 0..<24 { line.tick(1 << 20) }
        let lost = ExchangeEvent.failed(DownloadFailure(.transport(.connectionLost), ""))
        let asks = line.bench.feed(.exchange(line.bench.id, line.exchanges[1].number, lost)).asks
        #expect(asks.count == 1 && line.exchanges.count == 4)
    }

    @Test func fewerSettingsStopTheLatest() {
        var line = Line()
        for _ in 0..<8 {
            line.tick()
            line.answer()
        }
        #expect(line.exchanges.count == 4)
        line.bench.feed(.settings(line.bench.settings.with { $0.connections = 1 }))
        line.tick()
        #expect(line.exchanges.map(\.number) == [1])
        #expect(line.bench.phase == .running)
    }

    @Test func whereTheHostHasALimitAllConnectionsCountForIt() {
        var settings = Settings().with { ($0.connections, $0.firstConnections, $0.hostLimit) = (8, 8, 5) }
        var bench = Bench.transferring(settings, head: .large())
        #expect(bench.transfer?.exchanges.count == 5)
        // Another one begins there: both share what there is.
        let other = DownloadID(2)
        bench.feed(.add([NewDownload(id: other, rank: 1)]))
        bench.feed(.user(.start, [other], nil))
        bench.pass(Pace.tick)
        #expect(bench.transfer?.exchanges.count == 2)
        // As many as there may be run there already: one each, whatever the limit.
        settings.hostLimit = 1
        bench.feed(.settings(settings))
        bench.feed(.exchange(bench.id, 1, .received(1)))
        bench.pass(Pace.tick)
        #expect(bench.transfer?.exchanges.count == 1)
        #expect(bench.phase == .running)
    }

    /// Of what a server sends in bursts each is held back for a moment, by a limit of which much is left; another limit
    /// holds all the time.
    @Test(arguments: [true, false]) func bursts(areHeldForAMoment: Bool) {
        var line = Line()
        for count in 0..<40 where line.exchanges.count < 2 {
            line.answer()
            line.tick()
            guard let number = line.exchanges.first?.number, count.isMultiple(of: 2) || !areHeldForAMoment else {
                continue
            }
            line.bench.feed(.exchange(line.bench.id, number, .heldBack(until: line.bench.now + .milliseconds(300))))
            guard areHeldForAMoment else { continue }
            line.bench.now += .milliseconds(60)
            line.bench.feed(.exchange(line.bench.id, number, .heldBack(until: line.bench.now)))
        }
        #expect((line.exchanges.count > 1) == areHeldForAMoment)
    }

    /// Half of the files that may be open are for those that run, and each of them has its own open besides.
    @Test func thereAreNoMoreThanFilesMayBeOpen() {
        let settings = Settings().with {
            ($0.connections, $0.firstConnections, $0.maximumOpenFiles) = (8, 8, 12)
        }
        var bench = Bench.transferring(settings, head: .large())
        #expect(bench.transfer?.exchanges.count == 5)
        let other = DownloadID(2)
        bench.feed(.add([NewDownload(id: other, rank: 1)]))
        bench.feed(.user(.start, [other], nil))
        bench.pass(Pace.tick)
        #expect(bench.transfer?.exchanges.count == 2)
    }

    @Test func theDigestOfAServerTiesParts() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        let digest = "sha-256=:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=:"
        var bench = Bench.requesting(settings)
        let head = ResponseHead.large(tag: nil).with("Repr-Digest", digest)
        let asks = bench.feed(.exchange(bench.id, 1, .head(head))).asks
        #expect(asks.map(\.rung) == [.digestOnly])
        let half = 50 * megabyte..<100 * megabyte
        let actions = bench.feed(.exchange(bench.id, 2, .head(.part(half, of: 100 * megabyte, tag: nil))))
        #expect(actions.contains(.transport(bench.id, .accept(2, half))))
    }

    private let redirect = ExchangeEvent.head(ResponseHead(status: 302, fields: ["Location": "/signed"]))
    private let refusal = ExchangeEvent.head(ResponseHead(status: 403))

    /// A redirect has led somewhere, and further requests go there at once.
    private func led(_ connections: Int) -> (bench: Bench, asks: [Ask]) {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (connections, connections) }
        var bench = Bench.requesting(settings)
        bench.feed(.exchange(bench.id, 1, redirect))
        bench.feed(.exchange(bench.id, 1, .redirected))
        let asks = bench.feed(.exchange(bench.id, 2, .head(.large()))).asks
        return (bench, asks)
    }

    /// As a signed link does after some minutes.
    @Test func whereARedirectLedMayExpire() {
        var (bench, asks) = led(2)
        #expect(asks.map(\.range) == [50 * megabyte..<100 * megabyte])
        let anew: [Action] = [
            .transport(bench.id, .stop(3, keepBytes: true)), .transport(bench.id, .leadBack),
            .transport(bench.id, .begin(4, asks[0])),
        ]
        #expect(bench.feed(.exchange(bench.id, 3, refusal)) == anew)
        bench.feed(.exchange(bench.id, 4, redirect))
        bench.feed(.exchange(bench.id, 4, .redirected))
        // What is refused at once is not wanted.
        #expect(bench.feed(.exchange(bench.id, 5, refusal)) == [.transport(bench.id, .stop(5, keepBytes: true))])
        #expect(bench.transfer?.exchanges.map(\.number) == [2])
    }

    /// Several were on the way there at once.
    @Test func whereARedirectLedMayExpireForSeveral() {
        var (bench, asks) = led(4)
        #expect(asks.count == 3)
        var actions: [Action] = []
        for number in 3...5 { actions += bench.feed(.exchange(bench.id, ExchangeNumber(number), refusal)) }
        #expect(actions.count { $0 == .transport(bench.id, .leadBack) } == 1)
        #expect(bench.transfer?.exchanges.map(\.number) == [2, 6, 7, 8])
    }

    @Test func aRedirectIsFollowed() {
        var line = Line()
        let second = line.toSecond()
        let head = ResponseHead(status: 302, fields: ["Location": "/elsewhere"])
        let actions = line.bench.feed(.exchange(line.bench.id, second, .head(head)))
        #expect(actions.contains(.transport(line.bench.id, .follow(second, location: "/elsewhere"))))
        #expect(
            line.bench.feed(.exchange(line.bench.id, second, .redirected)).asks.first?.range?.lowerBound == 51 << 20)
    }
}

extension ResponseHead {
    /// A 200 of a large file, from a server that sends parts.
    static func large(_ total: Int64? = 100 << 20, tag: String? = "\"a\"") -> ResponseHead {
        file(total, tag: tag).with("Accept-Ranges", "bytes")
    }

    func with(_ name: String, _ value: String) -> ResponseHead {
        var head = self
        head.fields[name] = value
        return head
    }
}
