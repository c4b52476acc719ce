import LannerMachine
import Testing

/// Downloads of several hosts, and who of them holds a slot.
private struct Hosts {
    var machine: Machine
    var settings = Settings()

    /// A download for each host.
    init(_ hosts: [UInt64], limit: Int?, ofAll all: Int = 100, lists: [String?]? = nil) {
        settings.maximumRunning = all
        settings.hostLimit = limit
        machine = Machine(settings: settings, seed: 1)
        let new = hosts.indices.map {
            NewDownload(id: id($0), rank: Int64($0), list: lists?[$0], host: HostID(hosts[$0]))
        }
        feed(.add(new))
        feed(.user(.start, new.map(\.id), nil))
    }

    func id(_ number: Int) -> DownloadID { DownloadID(UInt64(number)) }

    mutating func feed(_ event: Event) { _ = machine.handle(event, now: .zero, wallSeconds: 0) }

    mutating func suspend(_ number: Int) {
        feed(.user(.suspend, [id(number)], nil))
        let attempt = machine[id(number)]?.attempt ?? 0
        feed(.file(id(number), attempt, .closed(written: ByteRanges(), synced: ByteRanges())))
    }

    mutating func start(_ number: Int) { feed(.user(.start, [id(number)], nil)) }

    mutating func limit(_ limit: Int?) {
        settings.hostLimit = limit
        feed(.settings(settings))
    }

    var running: [Int] { machine.running.map { Int($0.number) }.sorted() }
}

@Suite("N-13: limits per host") struct HostTests {
    @Test func aFullHostHoldsUpNobodyElse() {
        var hosts = Hosts([1, 1, 1, 2, 1, 2, 3], limit: 2, ofAll: 4)
        #expect(hosts.running == [0, 1, 3, 5])
        #expect(hosts.machine.isFull(HostID(1)) && hosts.machine.isFull(HostID(2)) && !hosts.machine.isFull(HostID(3)))
        hosts.suspend(3)
        #expect(hosts.running == [0, 1, 5, 6], "the first that may, not the first that waits")
        hosts.suspend(1)
        #expect(hosts.running == [0, 2, 5, 6])
    }

    @Test func itIsOneLimitForAllLists() {
        var hosts = Hosts([1, 1, 1, 2], limit: 1, lists: ["a", "b", nil, "b"])
        #expect(hosts.running == [0, 3])
        hosts.suspend(0)
        #expect(hosts.running == [1, 3])
        hosts.suspend(1)
        #expect(hosts.running == [2, 3])
    }

    @Test("N-09: what is missing is the list, the host or any") func whatIsMissing() {
        var settings = Settings()
        (settings.hostLimit, settings.listLimits.standard) = (1, 1)
        var machine = Machine(settings: settings, seed: 1)
        let places: [(list: String?, host: UInt64)] = [("a", 1), ("a", 1), ("a", 2), ("b", 1), (nil, 1), (nil, 2)]
        let new = places.enumerated().map {
            NewDownload(id: DownloadID(UInt64($0)), rank: Int64($0), list: $1.list, host: HostID($1.host))
        }
        _ = machine.handle(.add(new), now: .zero, wallSeconds: 0)
        _ = machine.handle(.user(.start, new.map(\.id), nil), now: .zero, wallSeconds: 0)
        #expect(
            new.map { machine.missingSlot(of: $0.id) } == [.listSlot, .listSlot, .listSlot] + [
                .hostSlot, .hostSlot, .hostSlot,
            ])
        #expect(machine.missingSlot(of: DownloadID(9)) == .slot)
    }

    @Test func aHigherLimitIsFilledAtOnceAndALowerOneStopsNobody() {
        var hosts = Hosts([1, 1, 1, 1, 1, 2], limit: 1)
        #expect(hosts.running == [0, 5])
        hosts.limit(3)
        #expect(hosts.running == [0, 1, 2, 5])
        hosts.limit(1)
        #expect(hosts.running == [0, 1, 2, 5])
        hosts.suspend(0)
        #expect(hosts.running == [1, 2, 5])
        hosts.limit(nil)
        #expect(hosts.running == [1, 2, 3, 4, 5])
        hosts.limit(2)
        hosts.start(0)
        #expect(hosts.running == [1, 2, 3, 4, 5], "those that began without a limit are counted")
        for number in 1...3 { hosts.suspend(number) }
        #expect(hosts.running == [0, 4, 5])
    }

    @Test func whatRunsCountsForTheHostItBeganWith() {
        var hosts = Hosts([1, 1, 2, 2], limit: 1)
        #expect(hosts.running == [0, 2])
        hosts.feed(.readdress(hosts.id(0), HostID(3)))
        hosts.feed(.readdress(hosts.id(3), HostID(3)))
        #expect(hosts.running == [0, 2, 3], "nobody has begun with the third host but the last")
        hosts.suspend(0)
        hosts.start(0)
        #expect(hosts.running == [1, 2, 3], "its next turn is one of the third host")
        hosts.suspend(3)
        #expect(hosts.running == [0, 1, 2])
    }

    @Test("R-05: a slot that stays empty stays so for its host, too") func slotsStayEmpty() {
        var hosts = Hosts([1, 1, 2], limit: 1, ofAll: 2)
        hosts.feed(.withhold([hosts.id(0)]))
        hosts.suspend(0)
        #expect(hosts.running == [2])
        hosts.suspend(2)
        #expect(hosts.running == [], "the host is as good as full")
        hosts.start(2)
        #expect(hosts.running == [1, 2])
    }

    /// A machine with lists, hosts and priorities, and a plain model: after every change those run that the model says.
    @Test(arguments: 0..<50) func agreesWithASearchThroughAll(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let lists: [String?] = [nil, "a", "b"]
        var model = Model((0..<30).map { _ in (lists[random.below(3)], UInt64(random.below(5))) })
        var hosts = Hosts(model.all.map(\.host), limit: model.hostLimit, ofAll: 5, lists: model.all.map(\.list))
        model.admit()
        for _ in 0..<200 {
            let number = random.below(30)
            switch random.below(7) {
            case 0:
                hosts.suspend(number)
                (model.all[number].wants, model.all[number].runsFor) = (false, nil)
            case 1:
                hosts.start(number)
                if model.all[number].runsFor == nil { model.all[number].wants = true }
            case 2:
                model.all[number].list = lists[random.below(3)]
                hosts.feed(.relist(hosts.id(number), model.all[number].list))
            case 3:
                model.all[number].host = UInt64(random.below(5))
                hosts.feed(.readdress(hosts.id(number), HostID(model.all[number].host)))
            case 4, 5:
                model.all[number].priority = DownloadPriority.allCases[random.below(5)]
                hosts.feed(.prioritize(hosts.id(number), model.all[number].priority))
            default:
                model.hostLimit = random.chance(30) ? nil : 1 + random.below(3)
                hosts.limit(model.hostLimit)
            }
            model.admit()
            #expect(hosts.running == model.running)
        }
    }

    private struct Model {
        struct Download {
            var list: String?
            var host: UInt64
            var priority = DownloadPriority.normal
            var wants = true
            var runsFor: UInt64?
        }

        var all: [Download]
        var hostLimit: Int? = 1
        var running: [Int] { all.indices.filter { all[$0].runsFor != nil } }

        init(_ downloads: [(list: String?, host: UInt64)]) {
            all = downloads.map { Download(list: $0.list, host: $0.host) }
        }

        mutating func admit() {
            while running.count < 5, let next = all.indices.filter(mayRun).min(by: comesBefore) {
                (all[next].wants, all[next].runsFor) = (false, all[next].host)
            }
        }

        private func comesBefore(_ one: Int, _ other: Int) -> Bool {
            (-all[one].priority.rawValue, one) < (-all[other].priority.rawValue, other)
        }

        private func mayRun(_ number: Int) -> Bool {
            let download = all[number]
            let ofHost = all.count { $0.runsFor == download.host }
            let ofList = all.count { $0.runsFor != nil && $0.list == download.list }
            return download.wants && ofHost < hostLimit ?? .max && (download.list == nil || ofList < 3)
        }
    }
}

@Suite("N-13: priorities") struct PriorityTests {
    private func queue(_ priorities: [DownloadPriority], lists: [String?]? = nil) -> Machine {
        var machine = Machine(settings: Settings(), seed: 1)
        feed(.settings(settings(0)), to: &machine)
        let new = priorities.enumerated().map {
            NewDownload(id: id($0), rank: Int64($0), list: lists?[$0], priority: $1)
        }
        feed(.add(new), to: &machine)
        feed(.user(.start, new.map(\.id), nil), to: &machine)
        return machine
    }

    private func id(_ number: Int) -> DownloadID { DownloadID(UInt64(number)) }

    private func settings(_ limit: Int) -> Settings {
        var settings = Settings()
        settings.maximumRunning = limit
        return settings
    }

    @discardableResult private func feed(_ event: Event, to machine: inout Machine) -> [Int] {
        machine.handle(event, now: .zero, wallSeconds: 0).compactMap {
            if case .file(let id, _, .open) = $0 { Int(id.number) } else { nil }
        }
    }

    @Test func theHigherComesFirstThenTheOrder() {
        var machine = queue([.normal, .low, .veryHigh, .veryLow, .high, .normal, .high])
        #expect(feed(.settings(settings(7)), to: &machine) == [2, 4, 6, 0, 5, 1, 3])
    }

    @Test func aPriorityMayChangeWhileOneWaits() {
        var machine = queue([.normal, .normal, .high])
        feed(.prioritize(id(1), .veryHigh), to: &machine)
        feed(.prioritize(id(2), .low), to: &machine)
        #expect(feed(.settings(settings(3)), to: &machine) == [1, 0, 2])
    }

    @Test func whatRunsGoesOnThoughAHigherOneWaits() {
        var machine = queue([.low, .normal])
        feed(.prioritize(id(0), .high), to: &machine)
        #expect(feed(.settings(settings(1)), to: &machine) == [0])
        #expect(machine.handle(.prioritize(id(0), .veryLow), now: .zero, wallSeconds: 0).isEmpty)
        #expect(machine.handle(.prioritize(id(1), .veryHigh), now: .zero, wallSeconds: 0).isEmpty)
        #expect(machine.running == [id(0)])
    }

    @Test func itDecidesBetweenLists() {
        var machine = queue([.normal, .high, .low, .veryHigh], lists: ["a", "a", "b", "b"])
        #expect(feed(.settings(settings(4)), to: &machine) == [3, 1, 0, 2])
    }

    @Test func aRetryWaitsWithThePriorityItHasThen() {
        var bench = Bench.requesting()
        bench.feed(.prioritize(bench.id, .low))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.timedOut), ""))))
        bench.closed()
        #expect(bench.machine[bench.id]?.priority == .low)
    }
}
