import Testing

@testable import LannerMachine

/// A server that answers so many requests in a time.
private struct RateServer: LateAnswering {
    var bench: Bench
    var wakes: [Duration] = []
    /// The time in which it answers so many.
    var gap: Duration
    private let burst: Int
    private var left = 0
    private let status: Int
    private let retryAfter: String?
    private var next: Duration = .zero
    private(set) var answered: [DownloadID] = []
    private(set) var refusals = 0
    private(set) var failed: [DownloadID] = []
    /// Refused, whenever they ask.
    var banned: Set<DownloadID>
    /// How long answers are on their way, a half to one and a half times this.
    private let way: Duration
    var underway: [(time: Duration, id: DownloadID, number: ExchangeNumber)] = []

    /// When the last was answered, or has failed.
    private(set) var ended: Duration = .zero
    private(set) var lastAnswer: Duration = .zero

    init(
        _ count: UInt64, gap: Duration, burst: Int = 1, status: Int = 429, retryAfter: String? = nil,
        banned: Set<DownloadID> = [], way: Duration = .zero, list: (UInt64) -> String? = { _ in nil }
    ) {
        (self.gap, self.burst, self.status, self.retryAfter) = (gap, burst, status, retryAfter)
        (self.banned, self.way) = (banned, way)
        bench = Bench(Settings().with { $0.maximumRunning = 4 })
        begin(count, list: list)
    }

    mutating func start(_ id: DownloadID) { feed(.user(.start, [id], nil)) }

    mutating func handle(_ action: Action) -> Bool {
        switch action {
        case .transport(let id, .begin(let number, _)) where way == .zero: answer(id, number)
        case .transport(let id, .begin(let number, _)):
            underway.append((bench.now + way * Int(5 + id.number * 7 % 10) / 10, id, number))
        case .tell(let id, .status(.failed)):
            failed.append(id)
            ended = bench.now
        default: return false
        }
        return true
    }

    mutating func answer(_ id: DownloadID, _ number: ExchangeNumber) {
        if next <= bench.now { (next, left) = (bench.now + gap, burst) }
        guard left > 0, !banned.contains(id) else {
            refusals += 1
            let seconds = retryAfter == "rest" ? "\((next - bench.now).components.seconds + 1)" : retryAfter
            let fields: HeaderFields = seconds.map { ["Retry-After": $0] } ?? [:]
            return feed(.exchange(id, number, .head(ResponseHead(status: status, fields: fields))))
        }
        left -= 1
        answered.append(id)
        (ended, lastAnswer) = (bench.now, bench.now)
        sendFile(id, number)
    }
}

/// Hosts that take so many requests in a time.
@Suite struct RateTests {
    @Test(arguments: [nil, "2"]) func aListIsFetchedAtTheRateOfItsHost(_ retryAfter: String?) {
        let gap: Duration = retryAfter == nil ? .seconds(1) : .seconds(2)
        var server = RateServer(30, gap: gap, retryAfter: retryAfter)
        server.pass(.seconds(600))
        #expect(server.answered.count == 30 && server.failed.isEmpty)
        #expect(server.ended <= gap * 60, "\(server.ended)")
        #expect(server.refusals <= 60, "\(server.refusals)")
    }

    /// As many at once as before, once the host takes them.
    @Test func aHostThatTakesAllAgainIsAskedForMore() {
        var server = RateServer(100, gap: .seconds(1))
        server.pass(.seconds(5))
        #expect((4...7).contains(server.answered.count))
        server.gap = .zero
        server.pass(.seconds(30))
        #expect(server.answered.count == 100 && server.ended <= .seconds(15), "\(server.ended)")
    }

    @Test func whoIsRefusedForGoodFailsInTheEndAndHoldsUpNobody() {
        var server = RateServer(20, gap: .milliseconds(100), banned: [DownloadID(3)])
        server.pass(.seconds(1800))
        #expect(server.answered.count == 19 && server.failed == [DownloadID(3)])
    }

    /// Each that is not refused comes to its turn, however long answers take, and however often it has asked too early.
    @Test(arguments: [50, 500], [(1, 1), (5, 1), (5, 2)] as [(Int, UInt64)])
    func nobodyFailsForTheRate(way: Int, _ host: (gap: Int, lists: UInt64)) {
        let gap = host.gap
        var server = RateServer(300, gap: .seconds(gap), way: .milliseconds(way)) {
            host.lists == 1 ? nil : "\($0 * host.lists / 301)"
        }
        server.pass(.seconds(20_000))
        #expect(server.answered.count == 300 && server.failed.isEmpty)
        #expect(server.ended <= .seconds(2 * 300 * gap), "\(server.ended)")
        #expect(server.refusals <= 4 * 300, "\(server.refusals)")
    }

    /// Whatever they say of themselves.
    @Test(
        arguments: [(90, 5), (10, 5), (2, 60)] as [(UInt64, Int)],
        [(503, nil), (503, "3600"), (429, nil)] as [(Int, String?)])
    func manyThatAreRefusedForGoodHoldUpNobody(
        _ crowd: (nth: UInt64, seconds: Int), _ answer: (status: Int, retryAfter: String?)
    ) {
        let banned = Set((1...400).filter { $0.isMultiple(of: crowd.nth) }.map { DownloadID($0) })
        var server = RateServer(
            400, gap: .zero, status: answer.status, retryAfter: answer.retryAfter, banned: banned,
            way: .milliseconds(10))
        server.pass(.seconds(30_000))
        #expect(server.answered.count == 400 - banned.count)
        #expect(server.lastAnswer <= .seconds(crowd.seconds), "\(server.lastAnswer)")
        #expect(Set(server.failed) == banned, "\(server.failed.count) of \(banned.count)")
    }

    /// However long it wants to be left alone, nobody fails for that, and only one asks before that is over.
    @Test(
        arguments: [(100, 300, 1000, "rest"), (1, 90, 100, "rest"), (1, 60, 100, "30")] as [(Int, Int, UInt64, String)])
    func aHostThatSaysWhenIsNotAskedByAllMeanwhile(_ host: (burst: Int, gap: Int, count: UInt64, retryAfter: String)) {
        var server = RateServer(
            host.count, gap: .seconds(host.gap), burst: host.burst, retryAfter: host.retryAfter)
        server.pass(.seconds(40_000))
        #expect(server.answered.count == host.count && server.failed.isEmpty, "\(server.failed.count)")
        let windows = Int(host.count) / host.burst
        #expect(server.ended <= .seconds(windows * (host.gap + 60)), "\(server.ended)")
        #expect(server.refusals <= windows * (host.gap / 30 + 6), "\(server.refusals)")
    }

    /// What is refused for a reason of its own, and says when, holds up the others for a minute each time, and no longer.
    @Test func urlsThatAreToWaitLongHoldUpNobodyAsLong() {
        let banned = Set((5...10).map { DownloadID($0) })
        var server = RateServer(400, gap: .zero, retryAfter: "3600", banned: banned, way: .milliseconds(10))
        server.pass(.seconds(1800))
        #expect(server.answered.count == 394 && server.lastAnswer <= .seconds(6 * 60 + 10), "\(server.lastAnswer)")
    }

    /// When it has answered nobody for as long as its word is taken, each fails as with any other failure.
    @Test func aHostThatAlwaysSaysWhenIsLeftInTheEnd() {
        var server = RateServer(20, gap: .milliseconds(100), retryAfter: "60")
        server.pass(.seconds(1))
        server.banned = Set((1...20).map { DownloadID($0) })
        server.pass(.seconds(4 * 3600))
        #expect(server.answered.count + server.failed.count == 20)
        #expect(server.ended > .seconds(3600) && server.ended <= .seconds(2 * 3600), "\(server.ended)")
    }

    /// It is left alone, but who is asked to start is not left out.
    @Test func aStartAsksAtOnce() {
        var server = RateServer(20, gap: .seconds(40), retryAfter: "50")
        #expect(server.answered.count == 1)
        server.pass(.seconds(2))
        let before = server.refusals
        server.pass(.seconds(30))
        #expect(server.refusals == before)
        server.start(DownloadID(20))
        #expect(server.refusals == before + 1)
    }

    /// One more that waits for it is none that is to be tried at once, nor is one of another host.
    @Test func whatIsAddedLeavesAHostAlone() {
        var server = RateServer(20, gap: .seconds(40), retryAfter: "50")
        server.pass(.seconds(2))
        let before = server.refusals
        for (id, host) in [(100, 7), (101, 8), (102, 7)] as [(UInt64, UInt64)] {
            server.feed(.add([NewDownload(id: DownloadID(id), rank: Int64(id), host: HostID(host))]))
            server.start(DownloadID(id))
        }
        #expect(server.refusals == before + 1, "that of the other host")
        server.start(DownloadID(102))
        #expect(server.refusals == before + 2)
    }

    /// Who is sent a large file part by part does not keep others out until that ends.
    @Test func oneThatIsSentPartsHoldsUpNobodyForLong() throws {
        var bench = Bench(Settings.sliced(400...400, inFlight: 1).with { $0.maximumRunning = 3 })
        let ids = (1...3).map { DownloadID($0) }
        bench.feed(.add(ids.map { NewDownload(id: $0, rank: 0, host: HostID(7)) }))
        bench.feed(.user(.start, ids, nil))
        var numbers = try ids.map { id in
            try #require(bench.feed(.file(id, 1, .opened(held: ByteRanges()))).begun.last)
        }
        bench.feed(.exchange(ids[0], numbers[0], .head(.part(0..<400, of: 1_000_000))))
        for index in [1, 2] {
            bench.feed(.exchange(ids[index], numbers[index], .head(ResponseHead(status: 429))))
        }
        #expect(bench.machine.limit(of: HostID(7)) == 0)
        bench.pass(.milliseconds(300))
        #expect(bench.machine.limit(of: HostID(7)) == 1)
        for second in 0..<70 {
            let range = Int64(second) * 400..<Int64(second + 1) * 400
            bench.feed(.exchange(ids[0], numbers[0], .received(400)))
            bench.feed(.file(ids[0], 1, .wrote(range)))
            let next = bench.feed(.exchange(ids[0], numbers[0], .ended(received: 400))).begun
            bench.pass(.seconds(1))
            numbers[0] = next.last ?? bench.exchange
            let part = range.upperBound..<range.upperBound + 400
            bench.feed(.exchange(ids[0], numbers[0], .head(.part(part, of: 1_000_000))))
        }
        #expect((bench.machine[ids[0]]?.written.count).map(Int.init) == 70 * 400)
        #expect(bench.machine.limit(of: HostID(7)) > 1)
    }

    /// What was looked at before, and comes behind what was looked at later, does not turn back the time.
    @Test func noWakeIsAskedForThatIsOver() {
        var bench = Bench()
        bench.feed(.add([NewDownload(id: bench.id, rank: 0)]))
        bench.pass(.seconds(100))
        bench.now -= .seconds(50)
        bench.verb(.start)
        let wakes = (bench.opened(1) + bench.feed(.timer)).compactMap {
            if case .wake(let time) = $0 { time } else { nil }
        }
        #expect(!wakes.isEmpty && wakes.allSatisfy { $0 > .seconds(100) }, "\(wakes)")
    }

    /// Of a download that is sent something one connection more was too many.
    @Test func aConnectionTooManyHoldsUpNobody() throws {
        var bench = Bench(Settings().with { ($0.maximumRunning, $0.connections, $0.firstConnections) = (4, 2, 2) })
        let ids = (1...4).map { DownloadID($0) }
        bench.feed(.add(ids.map { NewDownload(id: $0, rank: 0, host: HostID(7)) }))
        bench.feed(.user(.start, ids, nil))
        for (id, status) in zip(ids, [200, 429, 429]) {
            let number = try #require(bench.feed(.file(id, 1, .opened(held: ByteRanges()))).begun.last)
            bench.feed(.exchange(id, number, .head(status == 200 ? .file(10) : ResponseHead(status: status))))
            if status == 200 { bench.feed(.exchange(id, number, .ended(received: 10))) }
        }
        #expect(bench.machine.limit(of: HostID(7)) == 0)
        bench.pass(.milliseconds(300))
        let first = try #require(bench.feed(.file(ids[3], 1, .opened(held: ByteRanges()))).begun.last)
        var head = ResponseHead.file(100_000_000)
        head.fields["Accept-Ranges"] = "bytes"
        let second = try #require(bench.feed(.exchange(ids[3], first, .head(head))).begun.last)
        #expect(bench.machine.limit(of: HostID(7)) == 2)
        bench.feed(.exchange(ids[3], first, .received(1000)))
        bench.feed(.exchange(ids[3], second, .head(ResponseHead(status: 429))))
        #expect(bench.machine.limit(of: HostID(7)) == 2)
    }

    /// Nothing is refused for the rate any more: each fails as with any other failure.
    @Test func aHostThatRefusesAllFromThenOnIsLeftInTheEnd() {
        var server = RateServer(20, gap: .milliseconds(100))
        server.pass(.seconds(1))
        let answered = Set(server.answered)
        let rest = Set((1...20).map { DownloadID($0) }).subtracting(answered)
        #expect(!answered.isEmpty && !rest.isEmpty)
        server.banned = rest
        server.pass(.seconds(1800))
        #expect(Set(server.failed) == rest && server.ended <= .seconds(600), "\(server.ended)")
    }
}
