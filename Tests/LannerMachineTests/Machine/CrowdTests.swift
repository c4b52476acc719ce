import LannerMachine
import Testing

/// A server that sends so many files at once and refuses whoever else asks.
private struct Server: SelfAnswering {
    var bench: Bench
    var wakes: [Duration] = []
    var takes: Int
    private(set) var sending: [DownloadID: ExchangeNumber] = [:]
    private(set) var refusals: [DownloadID] = []
    private let others: Set<DownloadID>
    /// Whether first bytes come a while after the answer, but for the first of all.
    private let isSlow: Bool
    private let banned: Set<DownloadID>
    /// Files that take a second to be closed, where the disk is slow.
    private var closing: [Event]?

    /// Asked for so many files, of one host but for those that are another's.
    init(
        _ count: UInt64, takes: Int, others: Set<UInt64> = [], banned: Set<UInt64> = [], isSlow: Bool = false,
        hasSlowDisk: Bool = false
    ) {
        if hasSlowDisk { closing = [] }
        (self.takes, self.isSlow) = (takes, isSlow)
        self.banned = Set(banned.map { DownloadID($0) })
        self.others = Set(others.map { DownloadID($0) })
        bench = Bench(
            Settings().with {
                ($0.maximumRunning, $0.connections) = (6, 1)
                $0.watchdog.silence = .seconds(1_000_000)
            })
        begin(count, host: { HostID(others.contains($0) ? 8 : 7) })
    }

    mutating func handle(_ action: Action) -> Bool {
        switch action {
        case .file(let id, let attempt, .close) where closing != nil:
            closing?.append(.file(id, attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
        case .transport(let id, .begin(let number, _)): head(id, number)
        case .transport(let id, .stop): sending[id] = nil
        default: return false
        }
        return true
    }

    private mutating func head(_ id: DownloadID, _ number: ExchangeNumber) {
        let isTaken = others.contains(id) || sending.keys.count(where: { !others.contains($0) }) < takes
        guard isTaken, !banned.contains(id) else {
            refusals.append(id)
            return feed(.exchange(id, number, .head(ResponseHead(status: 503))))
        }
        sending[id] = number
        feed(.exchange(id, number, .head(.file(1_000_000))))
        if sending.count == 1 || !isSlow { feed(.exchange(id, number, .received(1))) }
    }

    /// Time passes second by second, and everybody is sent something.
    mutating func pass(seconds: Int) {
        for _ in 0..<seconds {
            for (id, number) in sending { feed(.exchange(id, number, .received(1))) }
            bench.now += .seconds(1)
            let closed = closing ?? []
            if closing != nil { closing = [] }
            for event in closed { feed(event) }
            fire()
        }
    }

    /// Those that are sent something are suspended, and nobody is to begin in their place.
    mutating func suspendAll() {
        let ids = sending.keys.sorted()
        feed(.withhold(ids))
        feed(.user(.suspend, ids, nil))
    }

    /// A file is sent no more, for good.
    mutating func end(_ id: DownloadID) {
        guard let number = sending.removeValue(forKey: id) else { return }
        feed(.exchange(id, number, .head(ResponseHead(status: 404))))
        feed(.exchange(id, number, .failed(DownloadFailure(.transport(.unacceptableRequest), ""))))
    }

    /// Whether as many run there as may.
    var isFull: Bool { bench.machine.isFull(HostID(7)) }
}

/// Hosts that take so many connections at once.
@Suite struct CrowdTests {
    /// Of a long queue each would be refused, again and again, for as long as somebody is sent something.
    @Test func aHostThatRefusesSeveralIsAskedForNoMore() {
        var server = Server(300, takes: 2)
        #expect(server.sending.count == 2 && server.isFull)
        #expect(server.refusals.count <= 6)
        #expect(server.bench.machine.missingSlot(of: DownloadID(300)) == .hostSlot)
        // A few a minute, in case it takes more by now, and no more as time goes by.
        for _ in 0..<4 {
            let before = server.refusals.count
            server.pass(seconds: 600)
            #expect(server.refusals.count - before <= 80)
        }
        server.takes = 6
        server.pass(seconds: 130)
        #expect(server.sending.count == 6)
    }

    @Test func whoIsNextBeginsWhenOneHasEnded() {
        var server = Server(20, takes: 2)
        for number in 1...10 as ClosedRange<UInt64> {
            #expect(server.sending.count == 2)
            guard let first = server.sending.keys.min() else { return }
            server.end(first)
            // One that was refused a moment ago waits for a few seconds; somebody else is asked for at once.
            #expect(server.sending.count == 2, "after \(number)")
            server.pass(seconds: 1)
        }
    }

    @Test func otherHostsAreNotHeldUp() {
        let server = Server(20, takes: 2, others: [18, 19])
        #expect(server.isFull && [18, 19].allSatisfy { server.sending[DownloadID($0)] != nil })
    }

    /// Several are refused before the file of one is closed.
    @Test func whoIsJustRefusedDoesNotCount() {
        var server = Server(300, takes: 2, hasSlowDisk: true)
        server.pass(seconds: 30)
        #expect(server.sending.count == 2 && server.isFull)
        #expect(server.refusals.count <= 6, "\(server.refusals.count)")
    }

    /// Also when nothing else happens.
    @Test func aHostIsAskedAgainAfterAWhile() {
        var server = Server(20, takes: 2)
        #expect(server.isFull)
        server.suspendAll()
        #expect(server.sending.isEmpty)
        server.pass(seconds: 59)
        #expect(server.isFull && server.sending.isEmpty)
        server.pass(seconds: 10)
        #expect(server.sending.count == 2)
    }

    /// Servers take a while before they send.
    @Test func whoHasYetToBeSentSomethingCountsAsWell() {
        var server = Server(100, takes: 4, isSlow: true)
        for _ in 0..<20 {
            #expect(server.sending.count == 4)
            server.pass(seconds: 1)
            if let first = server.sending.keys.min() { server.end(first) }
        }
        #expect(server.refusals.count < 20, "\(server.refusals.count)")
    }

    /// Three that are refused for a reason of their own, whenever they ask.
    @Test func whoIsRefusedForGoodHoldsUpNobodyElse() {
        var server = Server(400, takes: 100, banned: [1, 2, 3])
        for _ in 0..<300 {
            server.pass(seconds: 1)
            #expect(server.bench.machine.limit(of: HostID(7)) >= 3)
            if let first = server.sending.keys.min() { server.end(first) }
        }
        #expect(server.refusals.count > 20)
        #expect(server.sending.count >= 3)
    }

    /// As where two files are refused for a reason of their own.
    @Test func aFewRefusalsMakeNoCrowd() {
        let server = Server(6, takes: 4)
        #expect(server.sending.count == 4 && server.refusals.count == 2 && !server.isFull)
    }
}
