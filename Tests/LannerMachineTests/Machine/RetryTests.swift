import LannerMachine
import Testing

@Suite struct RetryTests {
    private let lost = DownloadFailure(.transport(.connectionLost), "")

    @Test func aFailureThatMayPassIsTriedAgainAfterTheBackoff() {
        var bench = Bench.transferring()
        var random = SeededGenerator(seed: 1)
        let delay = RetryPolicy().delay(failures: 1, random: random.next())
        let actions = bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(
            actions == [
                .tell(bench.id, .retrying(lost, at: delay)), .file(bench.id, 1, .close(sync: true)),
                .tell(bench.id, .status(.waiting(.retry(at: delay)))),
            ])
        #expect(bench.closed(1, 0..<10).phases.isEmpty)
        #expect(bench.pass(delay - .nanoseconds(1)).phases.isEmpty)
        let again = bench.pass(.nanoseconds(1))
        #expect(again.phases == [.waiting(.slot), .running])
        #expect(again.contains(.file(bench.id, 2, .open(generation: 1, claimed: ByteRanges([0..<10]), total: 1000))))
    }

    /// As where a server dies amid a body in chunks, and says so in its place; a head that is none is final. What it has
    /// brought may be out of place; not what was there before, or came otherwise.
    @Test(arguments: [false, true]) func aBodyWhoseFramingBreaksOffIsTriedAgain(hasDigest: Bool) {
        var held = Saved.holding(0..<300)
        held.written.insert(900..<950)
        var bench = Bench.transferring(hasDigest: hasDigest, saved: held, head: .part(300..<900, of: 1000))
        let lost = DownloadFailure(.transport(.connectionLost), "a chunk")
        bench.feed(.file(bench.id, 1, .wrote(300..<800)))
        bench.feed(.exchange(bench.id, 1, .received(500)))
        let end = bench.feed(.exchange(bench.id, 1, .failed(Self.malformed)))
        let proven = ByteRanges([0..<300, 900..<950])
        // Before the file is closed: the process may die meanwhile.
        #expect(end.retry?.failure == lost && end.records.last?.written == proven)
        let closed = bench.closed(1, 0..<800, 900..<950)
        #expect(closed.restarts == [.cannotResume] && closed.records.last?.written == proven)
        bench = .requesting()
        #expect(bench.feed(.exchange(bench.id, 1, .failed(Self.malformed))).retry == nil)
    }

    private static let malformed = DownloadFailure(.transport(.malformedResponse), "a chunk")

    private static func refused(_ status: Int) -> DownloadFailure {
        DownloadFailure(.status(status), "The server answered with status \(status).")
    }

    /// Answers to a request for a part, by a server that would send all of the file.
    @Test(
        arguments: [
            .head(ResponseHead(status: 400)), .head(ResponseHead(status: 501)), .failed(Self.malformed),
        ] as [ExchangeEvent])
    func whatRefusesAPartIsAskedForTheWhole(_ refusal: ExchangeEvent) {
        var bench = Bench.requesting(saved: .holding(0..<500))
        let actions = bench.feed(.exchange(bench.id, 1, refusal))
        #expect(actions.restarts.isEmpty && actions.retry?.time ?? .zero > .zero)
        // Once more, for what is held.
        bench.closed(1, 0..<500)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<500).asks.map(\.range) == [500..<1000])
        #expect(bench.feed(.exchange(bench.id, 2, refusal)).restarts.isEmpty)
        #expect(bench.closed(2, 0..<500).phases == [.running])
        #expect(bench.opened(3, 0..<500).asks == [.whole])
        // What is held is given up when that comes, and no part asked for any more.
        #expect(bench.feed(.exchange(bench.id, 3, .head(.file()))).restarts == [.rangesNotServed])
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(4)
        bench.pass(.seconds(100))
        #expect(bench.opened(5).asks == [.whole])
    }

    /// Asks for the rest of 1000 bytes, of which 500 are held, until the failures are as many; returns what was asked for.
    private static func refusing(
        _ status: Int, _ failures: Int, _ settings: Settings = Settings()
    ) -> (Bench, [Ask], [Action]) {
        var bench = Bench.requesting(settings, saved: .holding(0..<500))
        var (asks, actions): ([Ask], [Action]) = ([], [])
        for attempt in 1...UInt64(failures) {
            actions = bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(ResponseHead(status: status))))
            actions += bench.closed(Attempt(attempt), 0..<500)
            actions += bench.pass(.seconds(100))
            asks += bench.opened(Attempt(attempt + 1), 0..<500).asks
        }
        return (bench, asks, actions)
    }

    /// A program behind a server that fails at every part would never bring the rest.
    @Test(arguments: [500, 502]) func whoFailsAtEveryPartIsAskedForTheWholeInTheEnd(_ status: Int) {
        var (bench, asks, _) = Self.refusing(status, 6)
        #expect(asks.map(\.range) == Array(repeating: 500..<1000, count: 5) + [nil])
        var failing = bench
        // It was no failure of the server at all, or it is over: that shows once more.
        #expect(bench.feed(.exchange(bench.id, 7, .head(.file()))).restarts.isEmpty)
        bench.closed(7, 0..<500)
        #expect(bench.opened(8, 0..<500).asks.map(\.range) == [500..<1000])
        var mended = bench
        mended.feed(.exchange(bench.id, 8, .head(.part(500..<1000, of: 1000))))
        #expect(mended.transfer?.exchanges.map(\.isAccepted) == [true])
        bench.feed(.exchange(bench.id, 8, .head(ResponseHead(status: status))))
        bench.closed(8, 0..<500)
        #expect(bench.opened(9, 0..<500).asks == [.whole])
        #expect(bench.feed(.exchange(bench.id, 9, .head(.file()))).restarts == [.rangesNotServed])
        // What fails there, too, is as before: nothing is lost.
        failing.feed(.exchange(bench.id, 7, .head(ResponseHead(status: status))))
        #expect(failing.closed(7, 0..<500).phases == [.failed(Self.refused(status))])
        failing.verb(.start)
        #expect(failing.opened(8, 0..<500).asks.map(\.range) == [500..<1000])
    }

    /// Those speak of the moment.
    @Test(arguments: [429, 503, 504]) func whoHasNoTimeNowIsNotAskedForTheWhole(_ status: Int) {
        let (_, asks, actions) = Self.refusing(status, 6)
        #expect(asks.map(\.range) == Array(repeating: 500..<1000, count: 5))
        #expect(actions.phases == [.failed(Self.refused(status))])
    }

    /// Where retries are not counted parts come first again, in case that is over.
    @Test func whoFailsAtPartsForLongIsAskedForBothInTurn() {
        let (_, asks, _) = Self.refusing(500, 14, Settings().with { $0.retry.maximumRetries = nil })
        let parts: [Range<Int64>?] = Array(repeating: 500..<1000, count: 10)
        #expect(asks.map(\.range) == parts + [nil, 500..<1000, nil, 500..<1000])
    }

    /// The last place that is left is asked for the whole, as one that has no mirror is.
    @Test func whenAllPlacesRefusePartsTheLastIsAskedForTheWhole() {
        var bench = Bench.requesting(mirrors: 1, saved: .holding(0..<500))
        let refusal = ResponseHead(status: 400)
        var asks: [Ask] = []
        for attempt in 1..<4 as Range<Attempt> {
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(refusal)))
            bench.closed(attempt, 0..<500)
            bench.pass(.seconds(100))
            asks += bench.opened(attempt + 1, 0..<500).asks
        }
        #expect(asks.map(\.range) == [500..<1000, 500..<1000, nil])
        #expect(asks.map(\.source) == [1, 1, 1])
    }

    /// The URL refuses parts, and its mirror is of no use, be it for a while or for good: the URL is asked for the whole
    /// once, when retries are used up or, where they are not counted, have been many.
    @Test(
        arguments: [400, 500],
        [.failed(DownloadFailure(.transport(.cannotConnect), "")), .head(ResponseHead(status: 404))] as [ExchangeEvent])
    func aMirrorOfNoUseDoesNotKeepTheWholeAway(status: Int, mirror: ExchangeEvent) {
        for (retries, whole) in [(2, status), (2, 503), (2, 200), (nil, status), (nil, 200)] {
            let settings = Settings().with { $0.retry.maximumRetries = retries }
            var bench = Bench.requesting(settings, mirrors: 1, saved: .holding(0..<500))
            var (wholes, attempt) = ([Source](), Attempt(1))
            var next = (source: 0, isWhole: false) as (Source, Bool)?
            while let (source, isWhole) = next, attempt < 40 {
                if isWhole { wholes.append(source) }
                if isWhole, retries == nil, whole != 200 { break }
                let head = isWhole && whole == 200 ? .file() : ResponseHead(status: isWhole ? whole : status)
                let answer = source == 0 ? ExchangeEvent.head(head) : mirror
                if !bench.feed(.exchange(bench.id, ExchangeNumber(attempt), answer)).restarts.isEmpty { break }
                bench.closed(attempt, 0..<500)
                bench.pass(.seconds(100))
                attempt += 1
                next = bench.opened(attempt, 0..<500).asks.first.map { ($0.source, $0.range == nil) }
            }
            // A mirror that is gone for good leaves the URL alone, as it were without one.
            #expect(wholes.first == 0 && wholes.count <= 3, "\(wholes)")
            if whole == 200 { #expect(bench.transfer != nil) }
            if retries == nil || whole == 200 { continue }
            guard case .failed = bench.phase else { return #expect(Bool(false), "\(bench.phase as Any)") }
        }
    }

    /// The mirror is up again in the last round, and goes on: nothing is given up.
    @Test func whoGoesOnInTheEndComesBeforeTheWhole() {
        var bench = Bench.requesting(
            Settings().with { $0.retry.maximumRetries = 2 }, mirrors: 1, saved: .holding(0..<500))
        let down = ExchangeEvent.failed(DownloadFailure(.transport(.cannotConnect), ""))
        var sources: [Source] = [0]
        for attempt in 1...5 as ClosedRange<Attempt> {
            let refusal = ExchangeEvent.head(ResponseHead(status: 500))
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), sources.last == 0 ? refusal : down))
            bench.closed(attempt, 0..<500)
            bench.pass(.seconds(100))
            let asks = bench.opened(attempt + 1, 0..<500).asks
            #expect(asks.map(\.range) == [500..<1000])
            sources += asks.map(\.source)
        }
        #expect(sources == [0, 1, 0, 1, 0, 1])
        bench.feed(.exchange(bench.id, 6, .head(.part(500..<1000, of: 1000))))
        #expect(bench.transfer?.exchanges.map(\.isAccepted) == [true])
    }

    /// An answer that announces more than it brings measures no other one of the same version.
    @Test func aSizeThatDidNotComeIsNotExpectedAgain() {
        var bench = Bench.transferring()
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 400))).retry != nil)
        bench.closed(1, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<400).asks.map(\.range) == [400..<Int64.max])
        // In chunks, and without ranges.
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file(nil)))).restarts == [.rangesNotServed])
        bench.feed(.file(bench.id, 3, .wrote(0..<400)))
        let end = bench.feed(.exchange(bench.id, 2, .ended(received: 400)))
        #expect(end.contains(.file(bench.id, 3, .verify(total: 400))), "\(end)")
    }

    // MARK: Redirects to one of several servers

    /// The URL led to a server that has brought 400 bytes; when that is asked for the rest, this is what it comes to.
    private func ledElsewhere(_ verdict: ResponseHead) -> (Bench, [Action]) {
        var bench = Bench.requesting()
        let redirect = ResponseHead(status: 302, fields: ["Location": "/a"])
        bench.feed(.exchange(bench.id, 1, .head(redirect)))
        bench.feed(.exchange(bench.id, 1, .redirected))
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file()))).contains(.transport(bench.id, .keepWay(2))))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(1, 0..<400)
        bench.pass(.seconds(100))
        bench.opened(2, 0..<400)
        bench.feed(.exchange(bench.id, 3, .head(redirect)))
        bench.feed(.exchange(bench.id, 3, .redirected))
        let actions = bench.feed(.exchange(bench.id, 4, .head(verdict)))
        return (bench, actions)
    }

    /// What servers that have another version, or no ranges, answer to a request for the rest.
    private static let others = [
        .file(tag: "\"b\""), .file(), .part(400..<1000, of: 1000, tag: "\"b\""), ResponseHead(status: 416),
    ]

    @Test(arguments: others) func whatOneServerBeganGoesOnThereWhenTheURLLeadsToAnother(_ other: ResponseHead) {
        var (bench, actions) = ledElsewhere(other)
        #expect(actions.restarts.isEmpty && actions.retry == nil)
        #expect(actions.contains(.transport(bench.id, .stop(4, keepBytes: false))))
        #expect(actions.contains(.transport(bench.id, .takeOldWay(0))) && actions.asks.map(\.range) == [400..<1000])
        bench.feed(.exchange(bench.id, 5, .head(.part(400..<1000, of: 1000))))
        bench.feed(.file(bench.id, 2, .wrote(400..<1000)))
        let end = bench.feed(.exchange(bench.id, 5, .ended(received: 600)))
        #expect(end.contains(.file(bench.id, 2, .verify(total: 1000))), "\(end)")
    }

    /// What the first one comes to when it is asked once more.
    private static let ends: [ExchangeEvent] = [
        .head(ResponseHead(status: 404)), .head(.file(tag: "\"c\"")),
        .head(ResponseHead(status: 302, fields: ["Location": "/login"])),
        .failed(DownloadFailure(.transport(.cannotFindHost), "")),
    ]

    /// Then what the URL leads to counts, and that is not asked again without a gain.
    @Test(arguments: ends) func aServerThatIsGoneIsLeft(_ end: ExchangeEvent) {
        var (bench, _) = ledElsewhere(.file(tag: "\"b\""))
        let actions = bench.feed(.exchange(bench.id, 5, end))
        #expect(actions.contains(.transport(bench.id, .leadBack)) && actions.asks.map(\.range) == [400..<1000])
        bench.feed(.exchange(bench.id, 6, .head(ResponseHead(status: 302, fields: ["Location": "/b"]))))
        bench.feed(.exchange(bench.id, 6, .redirected))
        #expect(bench.feed(.exchange(bench.id, 7, .head(.file(tag: "\"b\"")))).restarts == [.contentChanged])
    }

    /// That the network goes says nothing of it.
    @Test func aServerThatCouldNotBeAskedIsAskedLater() {
        var (bench, _) = ledElsewhere(.file(tag: "\"b\""))
        bench.feed(.exchange(bench.id, 5, .failed(DownloadFailure(.transport(.notConnected), ""))))
        bench.closed(2, 0..<400)
        bench.pass(.seconds(100))
        bench.opened(3, 0..<400)
        bench.feed(.exchange(bench.id, 6, .head(ResponseHead(status: 302, fields: ["Location": "/b"]))))
        bench.feed(.exchange(bench.id, 6, .redirected))
        let actions = bench.feed(.exchange(bench.id, 7, .head(.file(tag: "\"b\""))))
        #expect(actions.restarts.isEmpty && actions.contains(.transport(bench.id, .takeOldWay(0))))
    }

    @Test func aServerThatIsSilentIsLeft() {
        var (bench, _) = ledElsewhere(.file(tag: "\"b\""))
        #expect(bench.pass(.seconds(60)).contains(.transport(bench.id, .leadBack)))
    }

    /// As of a transport that takes slices, from a server that knows none.
    @Test func theFirstPartIsNotAskedForTwice() {
        var bench = Bench.requesting(.sliced(100...200))
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 400))))
        bench.closed()
        #expect(bench.opened(2).asks == [.whole])
    }

    /// Nothing is lost where that is refused as well, and the next start asks for a part again.
    @Test func whatRefusesTheWholeAsWellFails() {
        var bench = Bench.requesting(saved: .holding(0..<500))
        let refusal = ResponseHead(status: 400)
        for attempt in 1..<3 as Range<Attempt> {
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(refusal)))
            bench.closed(attempt, 0..<500)
            bench.pass(.seconds(100))
            bench.opened(attempt + 1, 0..<500)
        }
        #expect(bench.feed(.exchange(bench.id, 3, .head(refusal))).retry == nil)
        #expect(bench.closed(3, 0..<500).phases == [.failed(Self.refused(400))])
        bench.verb(.start)
        #expect(bench.opened(4, 0..<500).asks.map(\.range) == [500..<1000])
    }

    /// What speaks of the file, or of who asks, is no matter of ranges.
    @Test(arguments: [401, 403, 404, 410]) func otherRefusalsAreFinal(_ status: Int) {
        var bench = Bench.requesting(saved: .holding(0..<500))
        #expect(bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: status)))).retry == nil)
        #expect(bench.closed(1, 0..<500).phases == [.failed(Self.refused(status))])
    }

    @Test(arguments: [(403, true), (413, true), (404, false), (410, false)])
    func someRefusalsMayPassWhereTheySayWhen(_ status: Int, _ mayPass: Bool) {
        var bench = Bench.requesting()
        let dated = ResponseHead(status: status, fields: ["Retry-After": "60"])
        #expect(bench.feed(.exchange(bench.id, 1, .head(dated))).retry?.time == (mayPass ? .seconds(60) : nil))
        bench = .requesting()
        #expect(bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: status)))).retry == nil)
    }

    /// Also of a part: the whole is not asked for before, nor with anything lost.
    @Test func aPartIsAskedForAgainWhenTheServerSays() {
        var bench = Bench.requesting(saved: .holding(0..<500))
        let dated = ResponseHead(status: 413, fields: ["Retry-After": "60"])
        for attempt in 1...4 as ClosedRange<Attempt> {
            let now = bench.now
            let actions = bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(dated)))
            #expect(actions.retry?.time == now + .seconds(60) && actions.restarts.isEmpty, "attempt \(attempt)")
            bench.closed(attempt, 0..<500)
            bench.pass(.seconds(60))
            #expect(bench.opened(attempt + 1, 0..<500).asks.map(\.range) == [500..<1000])
        }
    }

    /// What comes in the place of bytes that the device has lost is a gain.
    @Test func whatTheDeviceHasLostIsGainedAgain() {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 1 })
        bench.feed(.file(bench.id, 1, .wrote(0..<900)))
        for attempt in 1..<5 as Range<Attempt> {
            let held = Int64(attempt - 1) * 100
            let actions = bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(lost)))
            #expect(actions.retry != nil, "attempt \(attempt)")
            bench.closed(attempt, 0..<max(held, 1))
            bench.pass(.seconds(100))
            bench.opened(attempt + 1, 0..<max(held, 1))
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt + 1), .head(.part(max(held, 1)..<1000, of: 1000))))
            bench.feed(.file(bench.id, attempt + 1, .wrote(max(held, 1)..<held + 100)))
        }
    }

    @Test func theSameSeedGivesTheSameTimes() {
        for seed in 0..<UInt64(20) {
            let times = (0..<2).map { _ in
                var bench = Bench(seed: seed)
                bench.feed(.add([NewDownload(id: bench.id, rank: 0)]))
                bench.verb(.start)
                bench.feed(.file(bench.id, 1, .opened(held: ByteRanges())))
                return bench.feed(.exchange(bench.id, 1, .failed(lost))).retry?.time
            }
            #expect(times[0] == times[1])
            #expect((.milliseconds(500)...(.seconds(1))).contains(times[0] ?? .zero))
        }
    }

    @Test func theSlotIsFreeDuringTheWait() {
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(bench.machine.heldSlots == 1)
        bench.closed()
        #expect(bench.machine.running.isEmpty)
    }

    @Test func whatTheServerAsksForIsWaitedFor() {
        var bench = Bench.requesting()
        let head = ResponseHead(status: 429, fields: ["Retry-After": "120"])
        #expect(bench.feed(.exchange(bench.id, 1, .head(head))).retry?.time == .seconds(120))
        bench = .requesting()
        let dated = ResponseHead(
            status: 503,
            fields: ["Date": "Mon, 01 Jan 2024 00:00:00 GMT", "Retry-After": "Mon, 01 Jan 2024 00:05:00 GMT"])
        #expect(bench.feed(.exchange(bench.id, 1, .head(dated))).retry?.time == .seconds(300))
    }

    /// Two downloads of one host, of which the first has had bytes, and the second has just been asked for.
    private static func neighbors(
        _ retries: Int? = 2, hosts: [HostID] = [HostID(7), HostID(7)], mirrors: Int = 0,
        delivery: Settings.Delivery = .whole, head: ResponseHead = .file()
    ) -> (Bench, DownloadID) {
        var bench = Bench(
            Settings().with {
                ($0.retry.maximumRetries, $0.connections, $0.delivery) = (retries, 4, delivery)
                $0.watchdog.silence = .seconds(1_000_000)
            })
        let second = DownloadID(2)
        for (id, host) in zip([bench.id, second], hosts) {
            bench.feed(.add([NewDownload(id: id, rank: 0, host: host, mirrors: id == second ? mirrors : 0)]))
            bench.feed(.user(.start, [id], nil))
            bench.feed(.file(id, 1, .opened(held: ByteRanges())))
        }
        bench.feed(.exchange(bench.id, 1, .head(head)))
        bench.feed(.exchange(bench.id, 1, .received(10)))
        return (bench, second)
    }

    /// The host refuses the second download, in each of its attempts, so often; whether it goes on.
    private func isRefused(_ attempts: ClosedRange<Attempt>, _ id: DownloadID, _ bench: inout Bench) -> Bool {
        for attempt in attempts {
            guard case .opening(let opening) = bench.machine[id]?.state, case .request(let exchange) = opening.step
            else { return false }
            bench.feed(.exchange(id, exchange.number, .head(ResponseHead(status: 503))))
            bench.feed(.file(id, attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
            bench.pass(.seconds(61))
            bench.feed(.file(id, attempt + 1, .opened(held: ByteRanges())))
        }
        return bench.machine[id]?.phase == .running
    }

    /// Its turn comes.
    @Test func whatAHostRefusesWhileItSendsAnotherWaits() {
        var (bench, second) = Self.neighbors()
        #expect(isRefused(1...20, second, &bench))
        // What it is refused when it is alone counts, and nothing before.
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(isRefused(21...22, second, &bench))
        #expect(!isRefused(23...23, second, &bench))
        guard case .failed = bench.machine[second]?.phase else {
            Issue.record("\(String(describing: bench.machine[second]?.phase))")
            return
        }
    }

    /// Nor does a mirror that is down.
    @Test func aMirrorThatIsDownDoesNotMakeItAFailure() {
        var (bench, second) = Self.neighbors(mirrors: 1)
        for attempt in 1...30 as ClosedRange<Attempt> {
            guard case .opening(let opening) = bench.machine[second]?.state, case .request(let exchange) = opening.step
            else {
                Issue.record("attempt \(attempt): \(String(describing: bench.machine[second]?.state))")
                return
            }
            let down = DownloadFailure(.transport(.cannotConnect), "")
            let refusal = ExchangeEvent.head(ResponseHead(status: 503))
            bench.feed(.exchange(second, exchange.number, exchange.ask.source == 0 ? refusal : .failed(down)))
            bench.feed(.file(second, attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
            bench.pass(.seconds(61))
            bench.feed(.file(second, attempt + 1, .opened(held: ByteRanges())))
        }
        #expect(bench.machine[second]?.phase == .running)
    }

    /// Between two slices nothing comes.
    @Test func whoIsBetweenTwoSlicesIsServed() {
        var (bench, second) = Self.neighbors(
            delivery: .sliced(100...100, inFlight: 1), head: .part(0..<100, of: 1000))
        bench.feed(.exchange(bench.id, 1, .received(90)))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 100)))
        #expect(bench.transfer?.exchanges.map(\.isAccepted) == [false])
        #expect(isRefused(1...10, second, &bench))
    }

    /// Not in a hurry, whatever the policy says.
    @Test func whoWaitsForAnotherDoesNotKeepAsking() {
        var (bench, second) = Self.neighbors()
        bench.settings.retry.baseDelay = .zero
        bench.feed(.settings(bench.settings))
        let refusal = bench.feed(.exchange(second, 2, .head(ResponseHead(status: 503))))
        #expect(refusal.retry?.time == bench.now + .seconds(5))
    }

    @Test func whatAnotherHostSendsDoesNotHelp() {
        var (bench, second) = Self.neighbors(hosts: [HostID(7), HostID(8)])
        #expect(!isRefused(1...3, second, &bench))
    }

    @Test func whoWantsNoRetriesHasNoneBesideOthers() {
        var (bench, second) = Self.neighbors(0)
        #expect(!isRefused(1...1, second, &bench))
    }

    /// Fails as soon as the request is out, after so many new bytes; the number of retries until it is final.
    private func retries(gaining bytes: [Int64], limit: Int) -> Int {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = limit })
        var held: Int64 = 0
        for (index, gain) in bytes.enumerated() {
            let attempt = Attempt(index + 1)
            let number = ExchangeNumber(index + 1)
            if index > 0 {
                bench.feed(.file(bench.id, attempt, .opened(held: ByteRanges([0..<held]))))
                let head = held == 0 ? ResponseHead.file() : .part(held..<1000, of: 1000)
                bench.feed(.exchange(bench.id, number, .head(head)))
            }
            if gain > 0 { bench.feed(.file(bench.id, attempt, .wrote(held..<held + gain))) }
            held += gain
            bench.feed(.exchange(bench.id, number, .failed(lost)))
            if case .failed = bench.closed(attempt, 0..<held).phases.last { return index }
            bench.pass(.seconds(100))
        }
        return bytes.count
    }

    /// Whoever wants another try has as many as at first, whenever that is asked for.
    @Test(arguments: [false, true]) func aStartForgivesWhatFailedBefore(whileClosing: Bool) {
        var bench = Bench.requesting(Settings().with { $0.retry.maximumRetries = 1 })
        for attempt in 1...Attempt(4) {
            let number = ExchangeNumber(attempt)
            #expect(bench.feed(.exchange(bench.id, number, .failed(lost))).retry != nil)
            if whileClosing { bench.verb(.start) }
            bench.closed(attempt)
            if !whileClosing { bench.verb(.start) }
            bench.opened(attempt + 1)
        }
    }

    @Test func failuresInARowAreCounted() {
        #expect(retries(gaining: [0, 0, 0, 0, 0, 0], limit: 2) == 2)
        #expect(retries(gaining: [0, 0], limit: 0) == 0)
    }

    @Test func bytesForgiveWhatFailedBefore() {
        #expect(retries(gaining: [0, 0, 5, 0, 0, 0], limit: 2) == 4)
        #expect(retries(gaining: [1, 1, 1, 1, 1, 1, 1], limit: 1) == 7)
    }

    @Test func bytesThatComeWithTheCloseForgiveToo() {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 1 })
        for attempt in 1...Attempt(5) {
            let held = Int64(attempt) * 10
            #expect(bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(lost))).retry != nil)
            bench.closed(attempt, 0..<held)
            bench.pass(.seconds(100))
            bench.feed(.file(bench.id, attempt + 1, .opened(held: ByteRanges([0..<held]))))
            bench.feed(.exchange(bench.id, ExchangeNumber(attempt + 1), .head(.part(held..<1000, of: 1000))))
        }
    }

    /// None of them may be written yet.
    @Test func bytesThatAnEndTellsOfForgiveToo() {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 1 })
        #expect(bench.feed(.exchange(bench.id, 1, .failed(lost))).retry != nil)
        bench.closed(1, 0..<0)
        bench.pass(.seconds(100))
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        // Too soon: it had announced more.
        #expect(bench.feed(.exchange(bench.id, 2, .ended(received: 10))).retry != nil)
    }

    @Test func theSameBytesAgainAreNoGain() {
        // From zero each time, and never farther than before: a server that always sends another file. What comes after the
        // first is a gain once more.
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 2 })
        var retries = 0
        for attempt in 1...Attempt(10) {
            if attempt > 1 {
                bench.feed(.file(bench.id, attempt * 2 - 2, .opened(held: ByteRanges([0..<10]))))
                bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .head(.file(tag: "\"\(attempt)\""))))
            }
            let current = bench.machine[bench.id]?.attempt ?? 0
            bench.feed(.file(bench.id, current, .wrote(0..<10)))
            if bench.feed(.exchange(bench.id, ExchangeNumber(attempt), .failed(lost))).retry == nil { break }
            retries += 1
            bench.closed(current, 0..<10)
            bench.pass(.seconds(100))
        }
        #expect(retries == 3)
    }

    /// Whether an attempt that has been answered, and each after it, may gain a hundred bytes before its connection is
    /// lost.
    private func goesOn(
        from attempt: Attempt, _ exchange: ExchangeNumber, tag: String, _ bench: inout Bench
    ) -> Bool {
        for step in 0..<9 {
            let (attempt, exchange) = (attempt + Attempt(step), exchange + ExchangeNumber(step))
            let held = Int64(step) * 100
            if step > 0 {
                bench.pass(.seconds(100))
                bench.opened(attempt, 0..<held)
                bench.feed(.exchange(bench.id, exchange, .head(.part(held..<1000, of: 1000, tag: tag))))
            }
            bench.feed(.file(bench.id, attempt, .wrote(held..<held + 100)))
            if bench.feed(.exchange(bench.id, exchange, .failed(lost))).retry == nil { return false }
            bench.closed(attempt, 0..<held + 100)
        }
        return true
    }

    @Test func whatComesOfAnotherVersionIsAGain() {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 1 })
        bench.feed(.file(bench.id, 1, .wrote(0..<900)))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1, 0..<900)
        bench.pass(.seconds(100))
        bench.opened(2, 0..<900)
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"b\"")))).restarts == [.contentChanged])
        bench.opened(3)
        #expect(goesOn(from: 3, 2, tag: "\"b\"", &bench))
    }

    @Test func whatComesAfterAWrongFileIsAGainOnceTheUserWantsIt() {
        let settings = Settings().with { ($0.retry.maximumRetries, $0.retry.maximumChecksumRetries) = (1, 0) }
        var bench = Bench.verifying(settings, hasDigest: true)
        bench.feed(.file(bench.id, 1, .verified(.mismatch(""))))
        bench.closed(1, 0..<1000)
        bench.verb(.start)
        bench.opened(2)
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        #expect(goesOn(from: 2, 2, tag: "\"a\"", &bench))
    }

    /// A download that began anew for a part that was of no use, and has so much of the file now.
    private func anew(with held: Int64) -> Bench {
        var bench = Bench.gettingWhole(held: 100)
        bench.feed(.file(bench.id, 4, .wrote(0..<held)))
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(4, 0..<held)
        return bench
    }

    @Test func partsThatAreOfNoUseAreWhyItStartsOver() {
        var bench = anew(with: 80)
        #expect(bench.pass(.seconds(100)).restarts == [.rangesNotServed])
    }

    /// The server may have been odd once. If it is so again, nothing is lost by that which would have stayed.
    @Test func aPartIsAskedForOnceMoreWhereMoreIsAtStakeThanWasLost() {
        var bench = anew(with: 400)
        #expect(bench.pass(.seconds(100)).restarts == [])
        #expect(bench.opened(5, 0..<400).asks.map(\.range) == [400..<1000])
        var odd = bench
        #expect(odd.feed(.exchange(bench.id, 4, .head(.part(0..<100, of: 1000)))).restarts.isEmpty)
        odd.closed(5, 0..<400)
        odd.pass(.seconds(100))
        #expect(odd.opened(6, 0..<400).asks.map(\.isPlain) == [false])
        odd.feed(.exchange(bench.id, 5, .head(.part(0..<100, of: 1000))))
        odd.closed(6, 0..<400)
        #expect(odd.opened(7, 0..<400).asks.map(\.isPlain) == [true])
        #expect(bench.feed(.exchange(bench.id, 4, .head(.part(400..<1000, of: 1000)))).restarts == [])
    }

    @Test func startForgetsTheCount() {
        var bench = Bench.transferring(Settings().with { $0.retry.maximumRetries = 1 })
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed()
        bench.pass(.seconds(10))
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        #expect(bench.closed(2).phases == [.failed(lost)])
        bench.verb(.start)
        bench.feed(.file(bench.id, 3, .opened(held: ByteRanges())))
        #expect(bench.feed(.exchange(bench.id, 3, .failed(lost))).retry != nil)
    }

    @Test func startDoesNotWaitForTheRetry() {
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed()
        #expect(bench.verb(.start, 4).phases == [.waiting(.slot), .running])
        #expect(bench.pass(.seconds(10)).isEmpty)
    }

    @Test func aWaitThatIsOverWhenTheFileIsClosedIsNotArmed() {
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.now += .seconds(10)
        let actions = bench.closed()
        #expect(actions.wakes.allSatisfy { $0 >= bench.now })
        #expect(actions.phases == [.waiting(.slot), .running])
    }

    @Test func aFailureWithAllBytesThereIsNone() {
        var bench = Bench.transferring()
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        let actions = bench.feed(.exchange(bench.id, 1, .failed(lost)))
        #expect(actions.contains(.file(bench.id, 1, .verify(total: 1000))))
        #expect(actions.retry == nil)
    }

    /// Each time it comes a little farther before it changes.
    @Test func aFileThatChangesAgainAndAgainIsLeftAlone() {
        var bench = Bench.opening(.sliced(100...100, inFlight: 1).with { $0.retry = RetryPolicy(maximumRetries: 2) })
        var (attempt, number, waits) = (Attempt(1), ExchangeNumber(0), 0)
        for count in 1...20 as ClosedRange<Int64> {
            bench.opened(attempt)
            number += 1
            bench.feed(.exchange(bench.id, number, .head(.part(0..<count, of: 1000, tag: "\"\(number)\""))))
            bench.feed(.file(bench.id, attempt, .wrote(0..<count)))
            bench.feed(.exchange(bench.id, number, .ended(received: count)))
            number += 1
            let head = ResponseHead.part(count..<count + 100, of: 1000, tag: "\"\(number)\"")
            #expect(bench.feed(.exchange(bench.id, number, .head(head))).restarts == [.contentChanged])
            attempt += 1
            guard bench.isPausing else { continue }
            bench.closed(attempt)
            if case .failed = bench.phase { break }
            waits += 1
            bench.pass(.seconds(100))
            attempt += 1
        }
        #expect(waits == 2)
        guard case .failed(let failure) = bench.phase else { Issue.record("It is asked for for ever."); return }
        #expect(failure.detail.hasPrefix("The file changes again and again"))
    }
}

extension Bench {
    fileprivate var isPausing: Bool { if case .pausing = state { true } else { false } }
}
