import LannerMachine
import Testing

/// Downloads of several lists, and who of them holds a slot.
private struct Lists {
    var machine: Machine
    var settings = Settings()

    init(_ lists: [String?], limit: Int, of named: [String: Int] = [:]) {
        settings.maximumRunning = limit
        settings.listLimits.named = named
        machine = Machine(settings: settings, seed: 1)
        let new = lists.enumerated().map { NewDownload(id: id($0), rank: Int64($0), list: $1) }
        feed(.add(new))
        feed(.user(.start, new.map(\.id), nil))
    }

    func id(_ number: Int) -> DownloadID { DownloadID(UInt64(number)) }

    mutating func feed(_ event: Event) { _ = machine.handle(event, now: .zero, wallSeconds: 0) }

    mutating func suspend(_ number: Int) {
        feed(.user(.suspend, [id(number)], nil))
        close(number)
    }

    mutating func close(_ number: Int) {
        let attempt = machine[id(number)]?.attempt ?? 0
        feed(.file(id(number), attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
    }

    var running: [Int] { machine.running.map { Int($0.number) }.sorted() }
}

@Suite("R-02: lists") struct ListTests {
    @Test func eachListHasALimitBesideThatOfAll() {
        var lists = Lists(["a", "a", "a", "b", nil, nil, "b"], limit: 5, of: ["a": 2])
        #expect(lists.running == [0, 1, 3, 4, 5])
        #expect(lists.machine.isFull("a") && !lists.machine.isFull("b") && !lists.machine.isFull(nil))
        lists.suspend(4)
        #expect(lists.running == [0, 1, 3, 5, 6], "the first that may, not the first that waits")
        lists.suspend(0)
        #expect(lists.running == [1, 2, 3, 5, 6])
    }

    @Test func aListThatIsNotNamedHasTheStandardLimit() {
        let lists = Lists(Array(repeating: "a", count: 9), limit: 9)
        #expect(lists.running == [0, 1, 2])
        #expect(Lists(Array(repeating: nil, count: 9), limit: 9).running.count == 9)
    }

    @Test func aHigherLimitIsFilledAtOnceAndALowerOneStopsNobody() {
        var lists = Lists(Array(repeating: "a", count: 5), limit: 9, of: ["a": 1])
        lists.settings.listLimits.named["a"] = 4
        lists.feed(.settings(lists.settings))
        #expect(lists.running == [0, 1, 2, 3])
        lists.settings.listLimits.named["a"] = 0
        lists.feed(.settings(lists.settings))
        #expect(lists.running == [0, 1, 2, 3])
        for number in 0..<3 { lists.suspend(number) }
        #expect(lists.running == [3])
        lists.suspend(3)
        #expect(lists.running == [4], "less than one is no limit")
    }

    @Test func whoIsMovedToAnotherListLeavesRoom() {
        var lists = Lists(["a", "a", "b"], limit: 9, of: ["a": 1, "b": 1])
        #expect(lists.running == [0, 2])
        lists.feed(.relist(lists.id(0), "b"))
        #expect(lists.running == [0, 1, 2], "what runs goes on, though its list is full")
        lists.suspend(2)
        lists.feed(.user(.start, [lists.id(2)], nil))
        #expect(lists.running == [0, 1])
        lists.feed(.relist(lists.id(2), nil))
        #expect(lists.running == [0, 1, 2])
    }

    @Test("R-05: a slot stays empty until something is started") func slotsStayEmpty() {
        var lists = Lists([nil, "a", nil, "a", nil], limit: 2)
        #expect(lists.running == [0, 1])
        lists.feed(.withhold([lists.id(0), lists.id(2)]))
        lists.suspend(0)
        #expect(lists.running == [1])
        lists.suspend(1)
        #expect(lists.running == [2], "that of another is filled")
        lists.feed(.user(.start, [lists.id(2)], nil))
        #expect(lists.running == [2, 3])
    }

    @Test("R-05: a start before the slot is left is enough") func aStartMeanwhile() {
        var lists = Lists([nil, nil], limit: 1)
        lists.feed(.withhold([lists.id(0)]))
        lists.feed(.user(.suspend, [lists.id(0)], nil))
        lists.feed(.user(.start, [], nil))
        lists.close(0)
        #expect(lists.running == [1])
    }

    /// A list and all lists, with a plain model: after every change those run that the model says.
    @Test(arguments: 0..<50) func agreesWithASearchThroughAll(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let names: [String?] = [nil, "a", "b", "c"]
        var model = Model((0..<30).map { _ in names[random.below(4)] })
        var lists = Lists(model.lists, limit: model.limit, of: model.limits)
        model.admit()
        for _ in 0..<200 {
            let number = random.below(30)
            switch random.below(6) {
            case 0:
                lists.suspend(number)
                model.wanting.remove(number)
                model.running.remove(number)
            case 1:
                lists.feed(.user(.start, [lists.id(number)], nil))
                if !model.running.contains(number) { model.wanting.insert(number) }
            case 2:
                model.lists[number] = names[random.below(4)]
                lists.feed(.relist(lists.id(number), model.lists[number]))
            case 3:
                model.ranks[number] = random.below(10)
                lists.feed(.reorder([lists.id(number): Int64(model.ranks[number])]))
            default:
                model.limit = 1 + random.below(8)
                model.limits = ["a": 1 + random.below(4), "b": 1 + random.below(4)]
                lists.settings.maximumRunning = model.limit
                lists.settings.listLimits.named = model.limits
                lists.feed(.settings(lists.settings))
            }
            model.admit()
            #expect(Set(lists.running) == model.running)
        }
    }

    private struct Model {
        var lists: [String?]
        var ranks: [Int]
        var wanting: Set<Int>
        var running: Set<Int> = []
        var limit = 4
        var limits = ["a": 1, "b": 2]

        init(_ lists: [String?]) {
            self.lists = lists
            ranks = Array(lists.indices)
            wanting = Set(lists.indices)
        }

        mutating func admit() {
            while running.count < limit, let next = wanting.filter(mayRun).min(by: { order($0) < order($1) }) {
                wanting.remove(next)
                running.insert(next)
            }
        }

        private func order(_ number: Int) -> (Int, Int) { (ranks[number], number) }

        private func mayRun(_ number: Int) -> Bool {
            guard let list = lists[number] else { return true }
            return running.count { lists[$0] == list } < limits[list] ?? 3
        }
    }
}

@Suite("R-03: what is shelved") struct ShelfTests {
    @Test func whatRunsStopsAndGoesOn() {
        var bench = Bench.transferring()
        #expect(bench.verb(.shelve, 1).answers.isEmpty)
        let end = bench.closed(1, 0..<10)
        #expect(end.phases == [] && end.answers == [1] && bench.phase == .waiting(.shelved(until: nil)))
        #expect(end.records.last?.status == .active && end.records.last?.written == ByteRanges([0..<10]))
        #expect(bench.machine.running.isEmpty)
        #expect(bench.verb(.unshelve, 2).phases == [.waiting(.slot), .running])
    }

    @Test func whatWaitsForItsTimeWaitsNoLonger() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.timedOut), ""))))
        bench.closed()
        bench.verb(.shelve)
        #expect(bench.pass(.seconds(60)).isEmpty)
        #expect(bench.verb(.unshelve).phases == [.waiting(.slot), .running])
    }

    private static let busy = ExchangeEvent.head(ResponseHead(status: 503, fields: ["Retry-After": "3600"]))

    /// Whether its file is closed before it is shelved, or while it is, or after that.
    @Test(arguments: 0..<3) func theShelfDoesNotForgetATime(closedAt moment: Int) {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, Self.busy))
        if moment == 0 { bench.closed() }
        bench.verb(.shelve)
        if moment == 1 { bench.closed() }
        bench.verb(.shelve)
        bench.verb(.unshelve)
        if moment == 2 { bench.closed() }
        #expect(bench.phase == .waiting(.retry(at: .seconds(3600))))
        #expect(bench.pass(.seconds(3599)).phases.isEmpty)
        #expect(bench.pass(.seconds(1)).phases == [.waiting(.slot), .running])
    }

    @Test func aStartOnTheShelfForgetsTheTime() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, Self.busy))
        bench.closed()
        bench.verb(.shelve)
        bench.verb(.start)
        #expect(bench.verb(.unshelve).phases == [.waiting(.slot), .running])
    }

    /// While it waits, while its file is closed for that, and on the shelf.
    @Test("N-05: another URL does not wait for the old one's server", arguments: 0..<3)
    func anotherURLInstead(_ moment: Int) {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, Self.busy))
        if moment != 1 { bench.closed() }
        if moment == 2 { bench.verb(.shelve) }
        bench.feed(.readdress(bench.id, HostID(1)))
        if moment == 1 { bench.closed() }
        if moment == 2 { bench.verb(.unshelve) }
        #expect(bench.phase == .running)
    }

    @Test("N-05: what the old URL has just failed for says nothing of another") func anotherURLJustThen() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(ResponseHead(status: 404))))
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.closed().phases.allSatisfy { $0 == .running })
        #expect(bench.phase == .running)
        // The disk is the same.
        bench = Bench.requesting()
        bench.feed(.file(bench.id, 1, .failed(DownloadFailure(.disk(.inputOutput), ""))))
        bench.feed(.readdress(bench.id, HostID(1)))
        bench.closed()
        let isFailed = if case .failed = bench.phase { true } else { false }
        #expect(isFailed)
    }

    @Test func whatRestsStaysAsItIs() {
        for var bench in [Bench.resting(), .failed(), .succeeded()] {
            let phase = bench.phase
            #expect(bench.verb(.shelve, 1) == [.answer(1)])
            #expect(bench.verb(.unshelve, 2) == [.answer(2)])
            #expect(bench.phase == phase)
        }
    }

    @Test func aStartWaitsForTheShelf() {
        var bench = Bench.resting()
        bench.verb(.shelve)
        let start = bench.verb(.start, 1)
        #expect(start.phases == [.waiting(.shelved(until: nil))] && start.answers == [1])
        #expect(start.records.map(\.status) == [.active])
        #expect(bench.verb(.suspend).phases == [.suspended])
        #expect(bench.verb(.unshelve).isEmpty)
    }

    @Test func aFileOnItsWayToItsPlaceArrives() {
        var bench = Bench.recording()
        #expect(bench.verb(.shelve, 1).isEmpty)
        let end = bench.feed(.store(bench.id, 1, .recorded))
        #expect(end.phases == [.succeeded] && end.answers == [1])
    }

    @Test func shelvesWhileTheFileCloses() {
        var bench = Bench.transferring()
        bench.verb(.suspend, 1)
        bench.verb(.shelve, 2)
        bench.verb(.start, 3)
        #expect(bench.closed().answers == [1, 2])
        #expect(bench.phase == .waiting(.shelved(until: nil)))
    }

    @Test func aNetworkThatComesBackChangesNothing() {
        var bench = Bench.opening()
        bench.verb(.shelve)
        bench.closed()
        bench.feed(.network(available: false))
        #expect(bench.feed(.network(available: true)).isEmpty)
        #expect(bench.phase == .waiting(.shelved(until: nil)))
    }
}

@Suite struct AskedAgainTests {
    @Test("R-04: only what was added and never touched is started") func startsWhatWasAdded() {
        let added = Saved(status: .suspended, isUnstarted: true)
        var bench = Bench.resting(saved: added)
        #expect(bench.verb(.startAdded).phases == [.waiting(.slot), .running])
        #expect(bench.machine[bench.id]?.saved.isUnstarted == false)
        bench = Bench.resting(saved: added)
        #expect(bench.verb(.suspend, 1).answers == [1])
        #expect(bench.verb(.startAdded, 2) == [.answer(2)])
        bench = Bench.resting()
        #expect(bench.verb(.startAdded, 2) == [.answer(2)])
    }

    @Test("R-06: a wrong checksum is tried again as often as is wanted") func wrongChecksums() {
        var bench = Bench.verifying(Settings().with { $0.retry.maximumChecksumRetries = 2 }, hasDigest: true)
        for attempt in Attempt(1)...2 {
            #expect(bench.feed(.file(bench.id, attempt, .verified(.mismatch("")))).restarts == [.wrongDigest])
            bench.feed(.file(bench.id, attempt + 1, .opened(held: ByteRanges())))
            bench.feed(.exchange(bench.id, UInt64(attempt) + 1, .head(.file())))
            bench.feed(.file(bench.id, attempt + 1, .wrote(0..<1000)))
            bench.feed(.exchange(bench.id, UInt64(attempt) + 1, .ended(received: 1000)))
        }
        bench.feed(.file(bench.id, 3, .verified(.mismatch("why"))))
        #expect(bench.closed(3).phases == [.failed(DownloadFailure(.checksumMismatch, "why"))])
        // A start counts anew.
        bench.verb(.start)
        bench.feed(.file(bench.id, 4, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 4, .head(.file())))
        bench.feed(.file(bench.id, 4, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 4, .ended(received: 1000)))
        #expect(bench.feed(.file(bench.id, 4, .verified(.mismatch("")))).restarts == [.wrongDigest])
    }

    @Test("N-05: the bytes of another URL are given up") func anotherURL() {
        var bench = Bench.resting(saved: .holding(0..<500))
        #expect(bench.feed(.readdress(bench.id, HostID(1))) == [.transport(bench.id, .readdress)])
        #expect(bench.machine[bench.id]?.saved.isOfOtherURL == true)
        let start = bench.verb(.start)
        #expect(start.restarts == [.otherURL])
        #expect(bench.machine[bench.id]?.saved.isOfOtherURL == false)
    }

    @Test("N-05: the bytes of another URL are kept when a digest decides") func anotherURLWithADigest() {
        var bench = Bench.resting(hasDigest: true, saved: .holding(0..<500))
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.verb(.start).restarts.isEmpty)
        let ask = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges([0..<500])))).asks.first
        #expect(ask?.range?.lowerBound == 500 && ask?.ifRange == nil && ask?.rung == .digestOnly)
        bench.feed(.exchange(bench.id, 1, .head(.part(500..<1000, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        // Without the digest nothing ties the two halves.
        bench.feed(.expectDigest(bench.id, false))
        #expect(bench.feed(.file(bench.id, 1, .verified(.sizeOnly))).restarts == [.cannotResume])
    }

    @Test("N-05: an attempt that is under way goes on with the old URL") func anotherURLMeanwhile() {
        var bench = Bench.transferring()
        #expect(bench.feed(.readdress(bench.id, HostID(1))) == [.transport(bench.id, .readdress)])
        bench.verb(.suspend)
        let end = bench.closed(1, 0..<10)
        #expect(end.records.last?.isOfOtherURL == true)
        #expect(bench.verb(.start).restarts == [.otherURL])
    }

    private static let ends: [ExchangeEvent] = [
        .head(ResponseHead(status: 404)), .failed(DownloadFailure(.transport(.connectionLost), "")),
    ]

    /// Not even by a retry that counts, and whether or not there are mirrors.
    @Test("N-05: what the old URL comes to says nothing of the new one", arguments: ends, [0, 1])
    func anotherURLAfterTheOldOneFails(end: ExchangeEvent, mirrors: Int) {
        var bench = Bench.requesting(Settings().with { $0.retry = .never }, mirrors: mirrors)
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.feed(.exchange(bench.id, 1, end)).retry?.time == bench.now)
        bench.closed(1)
        #expect(bench.opened(2).asks == [.whole])
        // The new one has no more chances than any.
        let actions = bench.feed(.exchange(bench.id, 2, end))
        #expect((actions.retry == nil) == (mirrors == 0))
        #expect((bench.closed(2).phases == [.running]) == (mirrors == 1))
    }

    @Test("N-05: a wrong file of the old URL says nothing of the new one") func anotherURLAfterAWrongFile() {
        let settings = Settings().with { $0.retry.maximumChecksumRetries = 0 }
        var bench = Bench.verifying(settings, hasDigest: true)
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.feed(.file(bench.id, 1, .verified(.mismatch("")))).retry?.time == bench.now)
        bench.closed(2)
        #expect(bench.opened(3).asks == [.whole])
        // What the old server did with ranges says nothing, either.
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 3, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(3, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(4, 0..<400).asks.map(\.range) == [400..<1000])
    }

    @Test("N-05: what the old server did with ranges says nothing of the new one")
    func anotherURLIsAskedForRanges() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = Bench.plain()
        bench.feed(.exchange(bench.id, 3, .failed(lost)))
        bench.closed(3, 0..<500)
        bench.feed(.readdress(bench.id, HostID(1)))
        bench.pass(.seconds(100))
        bench.opened(4)
        bench.feed(.exchange(bench.id, 4, .head(.file())))
        bench.feed(.file(bench.id, 4, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 4, .failed(lost)))
        bench.closed(4, 0..<400)
        bench.pass(.seconds(100))
        #expect(bench.opened(5, 0..<400).asks.map(\.range) == [400..<1000])
    }

    /// The old one had as many as there may be.
    @Test("N-05: another URL has all its retries", arguments: [false, true])
    func anotherURLHasAllItsRetries(isUnderWay: Bool) {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = Bench.requesting(Settings().with { $0.retry = RetryPolicy(maximumRetries: 1) })
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        if !isUnderWay { bench.feed(.readdress(bench.id, HostID(1))) }
        bench.pass(.seconds(100))
        bench.opened(2)
        if isUnderWay {
            bench.feed(.readdress(bench.id, HostID(1)))
            bench.feed(.exchange(bench.id, 2, .failed(lost)))
            bench.closed(2)
            bench.opened(3)
        }
        let (last, attempt): (ExchangeNumber, Attempt) = isUnderWay ? (3, 3) : (2, 2)
        #expect(bench.feed(.exchange(bench.id, last, .failed(lost))).retry?.failure == lost)
        #expect(bench.closed(attempt).phases.isEmpty)
    }

    /// It may start over meanwhile, and so give up the bytes that it had: those that follow are of the old URL as well.
    @Test("N-05: an attempt that starts over goes on with the old URL") func anotherURLBeforeItStartsOver() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        bench.feed(.readdress(bench.id, HostID(1)))
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file()))).restarts == [.rangesNotServed])
        bench.feed(.file(bench.id, 2, .wrote(0..<500)))
        bench.verb(.suspend)
        #expect(bench.closed(2, 0..<500).records.last?.isOfOtherURL == true)
        #expect(bench.verb(.start).restarts == [.otherURL])
        // From then on it is the new one's.
        bench.opened(3)
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 3, .wrote(0..<500)))
        bench.verb(.suspend)
        #expect(bench.closed(3, 0..<500).records.last?.isOfOtherURL == false)
    }
}
