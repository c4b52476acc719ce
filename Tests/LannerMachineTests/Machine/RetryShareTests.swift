import Testing

@testable import LannerMachine

/// Hosts of which some never answer, which is found out after a minute; the others send a file in a second.
private struct Hosts: LateAnswering {
    var bench: Bench
    var wakes: [Duration] = []
    private let dead: UInt64
    var underway: [(time: Duration, id: DownloadID, number: ExchangeNumber)] = []
    /// Who was asked for, in order.
    private(set) var asked: [UInt64] = []
    private(set) var ends: [UInt64: Duration] = [:]

    /// Whose connections are lost once before they bring anything.
    var breaksOff: Set<UInt64> = []

    /// So many downloads, of which the first never answer: those of hosts of their own, unless told otherwise.
    init(
        _ count: UInt64, dead: UInt64, slots: Int, list: String? = nil, of listed: Set<UInt64>? = nil,
        _ more: (inout Settings) -> Void = { _ in }, host: ((UInt64) -> HostID)? = nil
    ) {
        self.dead = dead
        var settings = Settings().with {
            ($0.maximumRunning, $0.connections) = (slots, 1)
            $0.watchdog.silence = .seconds(1_000_000)
        }
        more(&settings)
        bench = Bench(settings)
        begin(
            count, list: { listed?.contains($0) == false ? nil : list },
            host: host ?? { HostID($0 <= dead ? $0 : 1_000_000) })
    }

    mutating func handle(_ action: Action) -> Bool {
        switch action {
        case .transport(let id, .begin(let number, _)):
            asked.append(id.number)
            underway.append((bench.now + .seconds(id.number <= dead ? 60 : 1), id, number))
        case .tell(let id, .status(.failed)), .tell(let id, .status(.succeeded)): ends[id.number] = bench.now
        default: return false
        }
        return true
    }

    mutating func answer(_ id: DownloadID, _ number: ExchangeNumber) {
        if id.number <= dead || breaksOff.remove(id.number) != nil {
            return feed(.exchange(id, number, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
        }
        sendFile(id, number)
    }

    /// When the last of the others was there.
    var lastEnd: Duration? {
        let others = ends.filter { $0.key > dead }
        return others.count == asked.filter { $0 > dead }.count ? others.values.max() : nil
    }
}

/// Those that fail and are tried again have the first ranks, and yet do not hold up the others.
@Suite struct RetryShareTests {
    /// All are tried once, the first in all slots and the others in half of them, where those come next that answer.
    @Test(arguments: [(6, nil, 3), (6, "list", 5), (2, nil, 11)] as [(Int, String?, Int)], [5, nil])
    func deadHostsHoldUpNobody(_ slots: (count: Int, list: String?, minutes: Int), retries: Int?) throws {
        var hosts = Hosts(12 + 60, dead: 12, slots: slots.count, list: slots.list) {
            $0.retry.maximumRetries = retries
            if let list = slots.list { $0.listLimits.named[list] = 4 }
        }
        hosts.pass(.seconds(3600))
        #expect(Set(hosts.asked) == Set(1...72))
        #expect(try #require(hosts.lastEnd) <= .seconds(60 * (slots.minutes + 1)), "\(hosts.lastEnd ?? .zero)")
        #expect(hosts.ends.count == (retries == nil ? 60 : 72))
    }

    /// Nor do URLs that never answer hold up the others of their host, which may have so many connections and no more.
    @Test(arguments: [(6, 3), (2, 11)], [5, nil])
    func deadURLsHoldUpNobodyOfTheirHost(_ host: (limit: Int, minutes: Int), retries: Int?) throws {
        var hosts = Hosts(12 + 60, dead: 12, slots: 16) {
            $0.retry.maximumRetries = retries
            $0.hostLimit = host.limit
        } host: { _ in
            HostID(1)
        }
        hosts.pass(.seconds(3600))
        #expect(Set(hosts.asked) == Set(1...72))
        #expect(try #require(hosts.lastEnd) <= .seconds(60 * (host.minutes + 1)), "\(hosts.lastEnd ?? .zero)")
        #expect(hosts.ends.count == (retries == nil ? 60 : 72))
    }

    /// With one slot of the host, too; and the one that comes instead has the turn of the one that is held back.
    @Test func theSingleSlotOfAHostIsSharedByTurns() {
        var hosts = Hosts(8, dead: 2, slots: 16) {
            $0.hostLimit = 1
        } host: { _ in
            HostID(1)
        }
        hosts.pass(.seconds(400))
        #expect(Array(hosts.asked.prefix(10)) == [1, 2, 1, 3, 2, 4, 1, 5, 2, 6])
    }

    /// With one slot every other turn is that of somebody who never failed.
    @Test func aSingleSlotIsSharedByTurns() {
        var hosts = Hosts(8, dead: 2, slots: 1)
        hosts.pass(.seconds(400))
        #expect(Array(hosts.asked.prefix(10)) == [1, 2, 1, 3, 2, 4, 1, 5, 2, 6])
    }

    /// Where all have failed they come by their ranks.
    @Test func whereNobodyElseWaitsAllSlotsAreTheirs() {
        var hosts = Hosts(6, dead: 6, slots: 4)
        hosts.pass(.seconds(3600))
        #expect(hosts.ends.count == 6)
        #expect((hosts.ends.values.max() ?? .zero) <= .seconds(6 * 60 * 2 + 120), "\(hosts.ends)")
    }

    /// Who has failed once is not behind those that do so for good.
    @Test func whoHasFailedLessOftenIsTriedAgainBeforeOthers() {
        let policy = RetryPolicy(maximumRetries: nil, maximumDelay: .seconds(1))
        var hosts = Hosts(13, dead: 12, slots: 4) { $0.retry = policy }
        hosts.breaksOff = [13]
        hosts.pass(.seconds(3600))
        #expect(hosts.asked.count { $0 == 13 } == 2 && hosts.ends.keys.sorted() == [13])
    }

    /// Nor does a list lose its turn when it is that of its second.
    @Test func aListWhoseRetryIsHeldBackKeepsItsTurn() {
        var hosts = Hosts(1000, dead: 1, slots: 6, list: "list", of: [1, 1000]) {
            $0.listLimits.named["list"] = 1
        }
        hosts.pass(.seconds(130))
        #expect(hosts.asked.contains(1000) && hosts.asked.count < 900, "\(hosts.asked.count)")
    }

    /// Nor a host.
    @Test func aHostWhoseRetryIsHeldBackKeepsItsTurn() {
        var hosts = Hosts(1000, dead: 1, slots: 6) {
            $0.hostLimit = 1
        } host: {
            HostID($0 == 1000 ? 1 : $0)
        }
        hosts.pass(.seconds(130))
        #expect(hosts.asked.contains(1000) && hosts.asked.count < 900, "\(hosts.asked.count)")
    }

    /// A priority goes before that.
    @Test func whoHasAHigherPriorityComesFirstHoweverOftenItFailed() {
        var hosts = Hosts(8, dead: 2, slots: 1)
        hosts.feed(.prioritize(DownloadID(1), .high))
        hosts.feed(.prioritize(DownloadID(2), .high))
        hosts.pass(.seconds(300))
        #expect(hosts.asked == [1, 2, 1, 2, 1, 2])
    }

    /// Of a host in doubt no retry is next while a fresh one waits, which does not take over a priority that it has not.
    @Test func theFreshOneOfAHostInDoubtKeepsItsPriority() {
        var queue = SlotQueue(Settings().with { $0.hostLimit = 4 })
        queue.limit(HostID(1), to: nil, freshFirst: true)
        func join(_ seat: Int, _ host: UInt64, _ priority: DownloadPriority, isRetry: Bool = false) {
            let turn = SlotQueue.Turn(
                rank: Int64(seat), id: DownloadID(UInt64(seat)), priority: priority, failures: isRetry ? 1 : 0)
            queue.join(seat, nil, HostID(host), turn, isRetry: isRetry)
        }
        join(1, 1, .high, isRetry: true)
        join(2, 2, .normal)
        join(3, 1, .normal)
        #expect(queue.next(limit: 2) == 2)
        queue.leave(2)
        #expect(queue.next(limit: 2) == 3)
        queue.leave(3)
        #expect(queue.next(limit: 2) == 1)
    }

    /// Also of the same host.
    @Test func whoHasAHigherPriorityComesFirstOfItsHost() {
        var hosts = Hosts(8, dead: 2, slots: 16) {
            $0.hostLimit = 1
        } host: { _ in
            HostID(1)
        }
        hosts.feed(.prioritize(DownloadID(1), .high))
        hosts.feed(.prioritize(DownloadID(2), .high))
        hosts.pass(.seconds(300))
        #expect(hosts.asked == [1, 2, 1, 2, 1, 2])
    }
}
