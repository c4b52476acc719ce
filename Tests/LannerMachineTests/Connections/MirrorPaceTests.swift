import LannerMachine
import Testing

/// What places bring decides where connections go.
@Suite("N-12: the pace of mirrors") struct MirrorPaceTests {
    private static let total: Int64 = 1 << 30
    private let lost = DownloadFailure(.transport(.connectionLost), "")

    /// A download of 1 GiB from its URL and one mirror, each of which brings so many bytes a second over every connection.
    private struct Line {
        var bench: Bench
        var speeds: [Int64]
        var received: [ExchangeNumber: Int64] = [:]
        /// Places that do not answer, places that refuse a connection beside another one, and what others answer to all.
        var dead: Set<Source> = []
        var narrow: Set<Source> = []
        var useless: [Source: ResponseHead] = [:]

        init(_ speeds: [Int64], connections: Int = 4, first: Int = 1) {
            self.speeds = speeds
            let settings = Settings().with { ($0.connections, $0.firstConnections) = (connections, first) }
            bench = .requesting(settings, mirrors: speeds.count - 1)
            bench.feed(.exchange(bench.id, 1, .head(.large(MirrorPaceTests.total))))
        }

        var exchanges: [Exchange] { bench.transfer?.exchanges ?? [] }

        func connections(to source: Source) -> Int { exchanges.count { $0.ask.source == source } }

        /// Answers come, and a quarter of a second of bytes, which are written at once.
        @discardableResult
        mutating func tick() -> [Action] {
            bench.now += .milliseconds(250)
            var actions: [Action] = []
            for exchange in exchanges where !exchange.isAccepted && !dead.contains(exchange.ask.source) {
                actions += bench.feed(.exchange(bench.id, exchange.number, .head(answer(to: exchange.ask))))
            }
            for exchange in exchanges {
                actions += bench.bring(speeds[exchange.ask.source] / 4, over: exchange, &received)
            }
            return actions + bench.feed(.timer)
        }

        private func answer(to ask: Ask) -> ResponseHead {
            let isBusy = exchanges.contains { $0.isAccepted && $0.ask.source == ask.source }
            if isBusy, narrow.contains(ask.source) { return ResponseHead(status: 503) }
            return useless[ask.source] ?? .part(ask.range ?? 0..<1, of: MirrorPaceTests.total)
        }

        mutating func run(_ seconds: Int) { for _ in 0..<seconds * 4 { tick() } }
    }

    @Test func aSlowMirrorDoesNotKeepTheURLToOneConnection() {
        var line = Line([5 << 20, 10 << 10])
        line.run(20)
        #expect(line.connections(to: 0) > 1)
    }

    @Test func aMirrorThatBreaksOffDoesNotKeepTheURLToOneConnection() {
        var line = Line([5 << 20, 1 << 10])
        for _ in 0..<80 {
            line.tick()
            for exchange in line.exchanges where exchange.ask.source == 1 && exchange.received > 0 {
                line.bench.feed(.exchange(line.bench.id, exchange.number, .failed(lost)))
            }
        }
        #expect(line.connections(to: 0) > 1)
    }

    @Test func aMirrorThatDoesNotAnswerDoesNotKeepTheURLToOneConnection() {
        var line = Line([5 << 20, 0])
        line.dead = [1]
        line.run(20)
        #expect(line.connections(to: 0) > 1)
    }

    /// What they bring says nothing of the URL, which is asked for more as soon as without them.
    @Test(arguments: [(0, 3), (100 << 10, 3), (0, 1), (100 << 10, 1)] as [(Int64, Int)])
    func severalMirrorsThatBringNothingHardlyDelayWhatTheURLBrings(speed: Int64, count: Int) {
        var line = Line([5 << 20] + Array(repeating: speed, count: count))
        if speed == 0 { line.dead = Set(1...count) }
        for _ in 0..<20 where line.connections(to: 0) < 4 { line.tick() }
        #expect(line.connections(to: 0) == 4)
    }

    /// One after the other, where there may be two.
    @Test func withTwoConnectionsEachMirrorThatDoesNotAnswerIsAskedOnce() {
        var line = Line([5 << 20, 0, 0, 0], connections: 2)
        line.dead = [1, 2, 3]
        var asks: [Ask] = []
        for _ in 0..<48 { asks += line.tick().asks }
        #expect(asks.map(\.source) == [1, 2, 3, 0])
    }

    /// A mirror that brings as much is found beside two that do not answer.
    @Test func whoAnswersIsJudgedWithoutThoseThatDoNot() {
        var line = Line([5 << 20, 0, 5 << 20, 0])
        line.dead = [1, 3]
        for _ in 0..<16 where line.exchanges.count(where: \.isAccepted) < 4 { line.tick() }
        #expect(line.exchanges.count(where: \.isAccepted) == 4)
    }

    /// One that has seemed to be worth it, or has been once; the first place as well.
    @Test(arguments: [0, 1] as [Source]) func aPlaceThatBringsATenthIsReplaced(slow: Source) {
        var line = Line([5 << 20, 5 << 20])
        for _ in 0..<20 where line.exchanges.count(where: \.isAccepted) < 4 { line.tick() }
        #expect(line.connections(to: slow) > 0)
        line.speeds[slow] = 100 << 10
        line.run(15)
        #expect(line.connections(to: 1 - slow) == 4)
    }

    /// Who brings something is not left for who might.
    @Test func aPlaceThatIsNotAskedYetReplacesNone() {
        var line = Line([5 << 20, 5 << 20, 0, 0], connections: 2)
        line.dead = [2, 3]
        line.run(3)
        #expect(line.exchanges.map(\.ask.source) == [0, 1])
        var asks: [Ask] = []
        for _ in 0..<120 { asks += line.tick().asks }
        #expect(line.exchanges.map(\.ask.source) == [0, 1] && asks.isEmpty)
    }

    /// What it brought before says nothing of the next.
    @Test func aPlaceThatHasBecomeSlowIsNotAskedInItsOwnStead() {
        var line = Line([5 << 20, 2 << 20], connections: 2, first: 2)
        line.run(10)
        line.speeds[0] = 50 << 10
        var asks: [Ask] = []
        for _ in 0..<120 { asks += line.tick().asks }
        #expect(line.exchanges.map(\.ask.source) == [1, 1] && asks.map(\.source) == [1])
    }

    /// The URL's connection was cut where the other mirror's part begins, before that which it was asked for.
    @Test func whatAMirrorDoesNotAnswerForIsNotWaitedForUntilItIsSilentForTooLong() {
        var line = Line([20 << 20, 5 << 20, 0])
        line.dead = [2]
        line.run(30)
        #expect(line.bench.transfer == nil && line.bench.phase == .running)
    }

    @Test func aMirrorThatTakesOneConnectionAtATimeIsAskedForMoreWhenThatIsDone() {
        var line = Line([1 << 20, 20 << 20])
        line.narrow = [0, 1]
        line.run(120)
        #expect(line.bench.transfer == nil)
    }

    @Test func whatAMirrorBringsGoesOnWhereTheURLTakesOneConnection() {
        var line = Line([5 << 20, 4 << 20])
        line.narrow = [0]
        line.run(4)
        var mirrors = 0
        for _ in 0..<80 {
            line.tick()
            mirrors += line.connections(to: 1) > 0 ? 1 : 0
        }
        #expect(mirrors == 80)
    }

    /// A moment's refusal is forgotten by and by.
    @Test func aURLThatHasRefusedOneIsAskedForMoreAfterAWhile() {
        var line = Line([5 << 20, 600 << 10])
        line.narrow = [0]
        line.run(5)
        #expect(line.connections(to: 0) == 1)
        line.narrow = []
        line.run(90)
        #expect(line.connections(to: 0) > 1)
    }

    /// The mirror is not to bring the rest alone.
    @Test func aPlaceThatWantsNoMoreMayHaveWhatItHad() {
        var line = Line([5 << 20, 600 << 10], connections: 3, first: 3)
        #expect(line.exchanges.map(\.ask.source) == [0, 1, 0])
        let head = ResponseHead(status: 429, fields: ["Retry-After": "3600"])
        line.bench.feed(.exchange(line.bench.id, 3, .head(head)))
        line.run(20)
        #expect(line.connections(to: 0) == 1)
        // Its first part has come to its end by then.
        line.run(100)
        #expect(line.connections(to: 0) == 1)
    }

    /// It has outlived all that the URL was asked for.
    @Test func theSlowestGoesFirstThoughItIsTheOldest() {
        var line = Line([5 << 20, 600 << 10], connections: 2, first: 2)
        for _ in 0..<600 where line.exchanges.first?.ask.source == 0 { line.tick() }
        line.run(10)
        #expect(line.exchanges.map(\.ask.source) == [1, 0])
        line.bench.feed(.settings(line.bench.settings.with { $0.connections = 1 }))
        line.tick()
        #expect(line.exchanges.map(\.ask.source) == [0])
    }

    /// The URL has brought more over one connection than the mirror does, and brings nothing more.
    @Test(arguments: [
        ResponseHead(status: 503), ResponseHead(status: 429), ResponseHead(status: 404),
        ResponseHead(status: 429, fields: ["Retry-After": "3600"]), .large(MirrorPaceTests.total, tag: "\"b\""),
    ])
    func aURLThatIsGoneDoesNotKeepAMirrorToOneConnection(head: ResponseHead) {
        var line = Line([2 << 20, 512 << 10])
        line.run(5)
        line.useless = [0: head]
        for _ in 0..<2000 where line.connections(to: 0) > 0 { line.tick() }
        #expect(line.connections(to: 0) == 0 && line.connections(to: 1) > 0)
        var asks: [Ask] = []
        for _ in 0..<240 { asks += line.tick().asks }
        #expect(line.connections(to: 1) > 1)
        #expect(asks.count { $0.source == 0 } <= 2)
    }

    /// One that stands still says nothing of the next.
    @Test func oneConnectionThatStandsStillDoesNotSendTheNextToASlowerPlace() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (4, 3) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large(Self.total))))
        for exchange in bench.transfer?.exchanges ?? [] where !exchange.isAccepted {
            bench.feed(.exchange(bench.id, exchange.number, .head(.part(exchange.ask.range!, of: Self.total))))
        }
        #expect(bench.transfer?.exchanges.map(\.ask.source) == [0, 1, 0])
        var received: [ExchangeNumber: Int64] = [:]
        var asks: [Ask] = []
        for _ in 0..<80 where asks.isEmpty {
            bench.now += .milliseconds(250)
            for exchange in bench.transfer?.exchanges ?? [] {
                let speed: Int64 = exchange.ask.source == 1 ? 3 << 20 : exchange.number == 1 ? 5 << 20 : 100
                _ = bench.bring(speed / 4, over: exchange, &received)
            }
            asks = bench.feed(.timer).asks
        }
        #expect(asks.map(\.source) == [0])
    }

    @Test func theEndDoesNotWaitForAMirrorThatBringsNextToNothing() {
        var line = Line([5 << 20, 5 << 20], connections: 2, first: 2)
        for _ in 0..<800 where line.exchanges.first(where: { $0.ask.source == 1 })?.remaining ?? .max > 1 << 20 {
            line.tick()
        }
        line.speeds[1] = 100
        line.run(30)
        #expect(line.bench.transfer == nil)
    }

    /// The URL's first connection stands almost still, its other one and that of the mirror bring so much.
    @Test(arguments: [(3 << 20, 2 << 20, 1), (3 << 20, 500, 0), (500, 500, nil)] as [(Int64, Int64, Source?)])
    func anEndThatIsHeldUpIsAskedForElsewhereIfThatBringsTenTimesAsMuch(url: Int64, mirror: Int64, source: Source?) {
        let settings = Settings().with { ($0.connections, $0.firstConnections, $0.smallestPiece) = (4, 4, 20 << 20) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        let speeds: [ExchangeNumber: Int64] = [1: 100, 2: mirror, 3: url]
        bench.feed(.settings(settings.with { $0.smallestPiece = 100 << 20 }))
        for exchange in bench.transfer?.exchanges ?? [] where !exchange.isAccepted {
            bench.feed(.exchange(bench.id, exchange.number, .head(.part(exchange.ask.range!, of: 100 << 20))))
        }
        #expect(bench.transfer?.exchanges.map(\.ask.source) == [0, 1, 0])
        var received: [ExchangeNumber: Int64] = [:]
        var asks: [Ask] = []
        for _ in 0..<24 {
            bench.now += .milliseconds(250)
            for exchange in bench.transfer?.exchanges.filter(\.isAccepted) ?? [] {
                _ = bench.bring((speeds[exchange.number] ?? 0) / 4, over: exchange, &received)
            }
            asks += bench.feed(.timer).asks
        }
        #expect(asks.map(\.source) == (source.map { [$0] } ?? []))
        // But what comes until the answer does.
        #expect(asks.allSatisfy { $0.range == 900..<25 << 20 })
    }

    @Test func theEndOfWhatALimitHoldsBackIsNotAskedForAgain() {
        var line = Line([5 << 20, 5 << 20], connections: 2, first: 2)
        for _ in 0..<800 where line.exchanges.first(where: { $0.ask.source == 1 })?.remaining ?? .max > 1 << 20 {
            line.tick()
        }
        line.bench.feed(.exchange(line.bench.id, 1, .heldBack(until: .seconds(10_000))))
        line.speeds[1] = 100
        var asks = 0
        for _ in 0..<120 { asks += line.tick().asks.count }
        #expect(asks == 0 && line.connections(to: 1) == 1)
    }

    /// It had failed, and the mirror had another version.
    @Test func aPlaceThatAnswersAgainHasSeveralConnections() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (4, 4) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.file(bench.id, 1, .wrote(0..<1 << 20)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        let mirror = bench.reopened(2, 0..<1 << 20)
        #expect(mirror.map(\.ask.source) == [1])
        let other = ResponseHead.part(1 << 20..<100 << 20, of: 100 << 20, tag: "\"b\"")
        bench.feed(.exchange(bench.id, mirror[0].number, .head(other)))
        let url = bench.reopened(3, 0..<1 << 20)
        #expect(url.map(\.ask.source) == [0])
        let asks = bench.feed(.exchange(bench.id, url[0].number, .head(.part(1 << 20..<100 << 20, of: 100 << 20)))).asks
        #expect(asks.map(\.source) == [0, 0, 0])
    }

    // MARK: Too slow

    /// So many places, each of which brings 10 bytes a second, where 100 are asked for: up to where the attempt ends.
    private func tooSlow(places: Int, connections: Int) -> (bench: Bench, retry: Duration?) {
        let settings = Settings().with {
            ($0.connections, $0.firstConnections) = (connections, connections)
            // Before one of them is replaced.
            ($0.watchdog.minimumSpeed, $0.watchdog.speedWindow) = (100, .seconds(4))
        }
        var bench = Bench.requesting(settings, mirrors: places - 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        for exchange in bench.transfer?.exchanges ?? [] where !exchange.isAccepted {
            bench.feed(.exchange(bench.id, exchange.number, .head(.part(exchange.ask.range ?? 0..<1, of: 100 << 20))))
        }
        var received: [ExchangeNumber: Int64] = [:]
        for _ in 0..<40 where bench.transfer != nil {
            bench.now += .seconds(1)
            for exchange in bench.transfer?.exchanges ?? [] { _ = bench.bring(10, over: exchange, &received) }
            if let retry = bench.feed(.timer).retry?.time { return (bench, retry) }
        }
        return (bench, nil)
    }

    /// None of them would do alone.
    @Test func whereSeveralPlacesTogetherAreTooSlowNoneOfThemIsAskedInsteadOfAnother() throws {
        var (bench, retry) = tooSlow(places: 2, connections: 2)
        #expect(try #require(retry) > bench.now)
        bench.closed(1, 0..<10)
        bench.now = try #require(retry)
        bench.pass(.zero)
        #expect(bench.opened(2, 0..<10).asks.map(\.source) == [0])
    }

    @Test func aPlaceThatWasNotAtWorkIsAskedInsteadOfThoseThatWereTooSlow() {
        var (bench, retry) = tooSlow(places: 3, connections: 2)
        #expect(retry == bench.now)
        #expect(bench.reopened(2, 0..<10).map(\.ask.source) == [2])
    }

    /// It was asked for the second half a moment before, and has had no time to bring anything.
    @Test func aPlaceThatHasNotAnsweredYetIsAskedInsteadOfOneThatIsTooSlow() {
        let settings = Settings().with {
            ($0.connections, $0.firstConnections) = (2, 2)
            ($0.watchdog.minimumSpeed, $0.watchdog.speedWindow) = (100, .seconds(3))
        }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        #expect(bench.transfer?.exchanges.map(\.ask.source) == [0, 1])
        bench.feed(.exchange(bench.id, 1, .received(1)))
        #expect(bench.pass(.seconds(3)).retry?.time == bench.now)
        #expect(bench.reopened(2, 0..<1).map(\.ask.source) == [1])
    }

    /// How fast it is says nothing of the others.
    @Test func anAttemptThatTakesTooLongIsNoFaultOfAMirror() {
        let settings = Settings().with {
            ($0.connections, $0.firstConnections, $0.watchdog.total) = (2, 2, .seconds(20))
        }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 2, .head(.part(50 << 20..<100 << 20, of: 100 << 20))))
        bench.feed(.exchange(bench.id, 2, .received(1 << 20)))
        #expect(bench.pass(.seconds(20)).retry?.time == bench.now)
        #expect(bench.reopened(2, 50 << 20..<51 << 20).map(\.ask.source) == [1])
    }

    // MARK: Retry-After

    private func refusal(_ status: Int, _ seconds: Int?) -> ExchangeEvent {
        .head(ResponseHead(status: status, fields: seconds.map { ["Retry-After": "\($0)"] } ?? [:]))
    }

    /// The URL is refused, then the mirror.
    private func refused(_ url: ExchangeEvent, _ mirror: ExchangeEvent) -> (bench: Bench, retry: Duration?) {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, url))
        #expect(bench.reopened(2).map(\.ask.source) == [1])
        let retry = bench.feed(.exchange(bench.id, 2, mirror)).retry?.time
        bench.closed(2)
        return (bench, retry)
    }

    @Test func aPlaceIsLeftAloneAsLongAsItWantsThoughTheOtherIsOfNoUse() {
        var (bench, retry) = refused(refusal(429, 120), refusal(404, nil))
        #expect(retry == .seconds(120))
        bench.pass(.seconds(120))
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    /// What is held is the URL's.
    @Test func aPlaceIsLeftAloneAsLongAsItWantsThoughTheOtherHasAnotherVersion() {
        var bench = Bench.requesting(mirrors: 1, saved: .holding(0..<100))
        bench.feed(.exchange(bench.id, 1, refusal(503, 120)))
        #expect(bench.reopened(2, 0..<100).map(\.ask.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.part(100..<1000, of: 1000, tag: "\"b\""))))
        bench.closed(2, 0..<100)
        #expect(bench.phase == .waiting(.retry(at: .seconds(120))))
        bench.pass(.seconds(120))
        #expect(bench.opened(3, 0..<100).asks.map(\.source) == [0])
    }

    @Test func whileItIsLeftAloneAThirdPlaceIsAsked() {
        var bench = Bench.requesting(mirrors: 2, saved: .holding(0..<100))
        bench.feed(.exchange(bench.id, 1, refusal(503, 3600)))
        #expect(bench.reopened(2, 0..<100).map(\.ask.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(.part(100..<1000, of: 1000, tag: "\"b\""))))
        #expect(bench.reopened(3, 0..<100).map(\.ask.source) == [2])
    }

    @Test(arguments: [nil, 10] as [Int?]) func whoMayBeAskedSoonerIsAskedUntilThen(seconds: Int?) {
        var (bench, retry) = refused(refusal(503, 120), refusal(503, seconds))
        #expect(seconds.map { retry == .seconds($0) } ?? (retry ?? .zero <= .seconds(1)))
        bench.pass(.seconds(10))
        #expect(bench.opened(3).asks.map(\.source) == [1])
        // Once more, and it is still too soon for the URL.
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(3)
        bench.pass(.seconds(10))
        #expect(bench.opened(4).asks.map(\.source) == [1])
        bench.now = .seconds(120)
        bench.feed(.exchange(bench.id, 4, .failed(lost)))
        bench.closed(4)
        bench.pass(.seconds(10))
        #expect(bench.opened(5).asks.map(\.source) == [0])
    }

    @Test func theLastPlaceThatWantsToBeLeftAloneIsWaitedFor() {
        var (bench, _) = refused(refusal(503, 120), refusal(503, nil))
        bench.pass(.seconds(10))
        #expect(bench.opened(3).asks.map(\.source) == [1])
        let retry = bench.feed(.exchange(bench.id, 3, refusal(404, nil))).retry
        #expect(retry?.time == .seconds(120))
    }

    /// Else a mirror that is down would use up the tries of a URL that only wants to be left alone.
    @Test func theLastTryWaitsForAll() throws {
        var (bench, retry) = refused(refusal(503, 600), .failed(lost))
        var sources: [Source] = []
        for attempt in Attempt(3)...9 {
            bench.now = try #require(retry)
            bench.pass(.zero)
            sources += bench.opened(attempt).asks.map(\.source)
            guard sources.last == 1 else { break }
            retry = bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(lost))).retry?.time
            bench.closed(attempt)
        }
        #expect(sources == [1, 1, 1, 1, 0] && bench.now >= .seconds(600))
    }

    @Test func noPlaceIsLeftAloneForLongerThanThePolicyAllows() {
        let settings = Settings().with { $0.retry.maximumRetryAfter = .zero }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, refusal(503, 600)))
        #expect(bench.reopened(2).map(\.ask.source) == [1])
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2)
        bench.pass(.seconds(1))
        #expect(bench.opened(3).asks.map(\.source) == [0])
    }

    /// Of two requests to one mirror the first is refused, and the second lost.
    @Test func whatIsLostDoesNotForgetThatAPlaceWantsToBeLeftAlone() {
        var mirrors = Mirrors(count: 1)
        mirrors.fail(1, until: .seconds(120))
        mirrors.fail(1)
        #expect(mirrors.rest(of: 1) == .seconds(120))
    }

    @Test func anotherURLDoesNotWantWhatTheLastOneDid() {
        var mirrors = Mirrors(count: 1)
        mirrors.fail(0, until: .seconds(3600))
        mirrors.renewURL()
        mirrors.fail(0)
        #expect(mirrors.rest(of: 0) == .zero)
    }

    /// It is all there is then.
    @Test func oneThatWantedToBeLeftAloneBesideAURLThatIsGoneIsToo() throws {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 2, refusal(503, 120)))
        bench.feed(.file(bench.id, 1, .wrote(0..<1 << 20)))
        let gone = DownloadFailure(.transport(.secureConnectionFailed), "")
        let retry = bench.feed(.exchange(bench.id, 1, .failed(gone))).retry?.time
        #expect(retry == .seconds(120))
        bench.closed(1, 0..<1 << 20)
        bench.now = try #require(retry)
        bench.pass(.zero)
        #expect(bench.opened(2, 0..<1 << 20).asks.map(\.source) == [1])
    }

    @Test func oneThatWantsToBeLeftAloneBesideOthersIsToo() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 2, refusal(503, 120)))
        bench.feed(.file(bench.id, 1, .wrote(0..<1 << 20)))
        #expect(bench.feed(.exchange(bench.id, 1, .failed(lost))).retry?.time ?? .zero <= .seconds(1))
        bench.closed(1, 0..<1 << 20)
        bench.pass(.seconds(1))
        let url = bench.opened(2, 0..<1 << 20)
        #expect(url.asks.map(\.source) == [0])
        let part = ResponseHead.part(1 << 20..<100 << 20, of: 100 << 20)
        #expect(bench.feed(.exchange(bench.id, 4, .head(part))).asks.map(\.source) == [0])
    }

    /// The URL takes one connection. What a mirror is asked for beside that it refuses for two seconds.
    @Test func oneThatWantedToBeLeftAloneIsAskedAgainAfterwards() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        bench.feed(.exchange(bench.id, 2, refusal(503, 2)))
        bench.feed(.exchange(bench.id, 3, refusal(503, nil)))
        let asked = bench.trickle(over: 1, 240, until: 1)
        #expect(asked.map { $0 >= .seconds(12) && $0 <= .seconds(30) } == true)
    }

    /// It was down for a moment, and says nothing of when it is back: not left for as long as another one trickles.
    @Test func aPlaceThatHasFailedIsAskedAgainLater() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
        bench.closed(1)
        bench.opened(2)
        bench.feed(.exchange(bench.id, 2, .head(.large())))
        bench.feed(.exchange(bench.id, 3, refusal(404, nil)))
        let asked = bench.trickle(over: 2, 400, until: 0)
        #expect(asked.map { $0 >= .seconds(60) && $0 <= .seconds(90) } == true)
    }

    /// Each of two sends a head and then nothing, for longer than places are left alone: that counts all the same.
    @Test func placesThatFailInTurnAreNotAskedForEver() {
        let settings = Settings().with { $0.watchdog.silence = .seconds(90) }
        var bench = Bench.requesting(settings, mirrors: 1)
        for attempt in 1..<40 as Range<Attempt> {
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(.large())))
            for _ in 0..<100 { bench.pass(.seconds(1)) }
            if case .failed = bench.closed(attempt).phases.last { return }
            bench.pass(.seconds(300))
            bench.opened(attempt + 1)
        }
        Issue.record("it is never given up")
    }

    /// However soon it says that it may be asked, it does not bring it each time.
    @Test func oneThatRefusesForNoTimeAtAllIsNotAskedWithoutAPause() {
        let settings = Settings().with { ($0.connections, $0.firstConnections) = (2, 2) }
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(.large())))
        var refusals = 0
        for count in 1...Int64(240) {
            for exchange in bench.transfer?.exchanges ?? [] where !exchange.isAccepted {
                refusals += exchange.ask.source == 1 ? 1 : 0
                bench.feed(.exchange(bench.id, exchange.number, refusal(503, 0)))
            }
            bench.feed(.file(bench.id, 1, .wrote(0..<count << 16)))
            bench.feed(.exchange(bench.id, 1, .received(count << 16)))
            bench.pass(.milliseconds(250))
        }
        #expect(refusals > 1 && refusals <= 7)
    }
}

extension Bench {
    /// The exchange and attempt of a number bring 64 KiB, so often and a quarter of a second apart; says when a place is
    /// asked for the first time meanwhile.
    fileprivate mutating func trickle(over number: UInt64, _ times: Int64, until source: Source) -> Duration? {
        var asked: Duration?
        for count in 1...times {
            feed(.file(id, Attempt(number), .wrote(0..<count << 16)))
            feed(.exchange(id, ExchangeNumber(number), .received(count << 16)))
            let asks = pass(.milliseconds(250)).asks
            if asked == nil, asks.contains(where: { $0.source == source }) { asked = now }
        }
        return asked
    }

    /// The file of the last attempt is closed and opened for the next; what is asked for then.
    fileprivate mutating func reopened(
        _ attempt: Attempt, _ ranges: Range<Int64>...
    ) -> [(number: ExchangeNumber, ask: Ask)] {
        let held = ByteRanges(ranges)
        feed(.file(id, attempt - 1, .closed(written: held, synced: held)))
        return feed(.file(id, attempt, .opened(held: held))).compactMap {
            if case .transport(_, .begin(let number, let ask)) = $0 { (number, ask) } else { nil }
        }
    }
}
