import LannerMachine
import Testing

/// A server that answers so many requests a second.
private struct RateServer: LateAnswering {
    var bench: Bench
    var wakes: [Duration] = []
    /// Between one that is answered and the next.
    var gap: Duration
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
        _ count: UInt64, gap: Duration, status: Int = 429, retryAfter: String? = nil, banned: Set<DownloadID> = [],
        way: Duration = .zero, list: (UInt64) -> String? = { _ in nil }
    ) {
        (self.gap, self.status, self.retryAfter, self.banned, self.way) = (gap, status, retryAfter, banned, way)
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
        guard next <= bench.now, !banned.contains(id) else {
            refusals += 1
            let fields: HeaderFields = retryAfter.map { ["Retry-After": $0] } ?? [:]
            return feed(.exchange(id, number, .head(ResponseHead(status: status, fields: fields))))
        }
        next = bench.now + gap
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
