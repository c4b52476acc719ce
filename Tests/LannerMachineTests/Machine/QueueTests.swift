import LannerMachine
import Testing

@Suite struct QueueTests {
    private func queue(_ count: Int, limit: Int, rank: (Int) -> Int64 = { Int64($0) }) -> Bench {
        var bench = Bench(Settings().with { $0.maximumRunning = limit })
        bench.feed(.add((1...count).map { NewDownload(id: DownloadID(UInt64($0)), rank: rank($0)) }))
        return bench
    }

    private func opened(_ actions: [Action]) -> [UInt64] {
        actions.compactMap { if case .file(let id, _, .open(_, _, _)) = $0 { id.number } else { nil } }
    }

    private func ids(_ numbers: UInt64...) -> [DownloadID] { numbers.map { DownloadID($0) } }

    @Test(arguments: [
        (0, 0, 1024), (1, 1, 1024), (2, 4, 1024), (6, 36, 1024), (16, 256, 1024), (100, 256, .max), (300, 300, 1024),
        (.max, .max, .max), (6, 36, 256), (16, 64, 256), (16, 16, 20), (16, 16, 0),
    ])
    func onlySoManyMayBeFinishing(running: Int, finishing: Int, openFiles: Int) {
        var settings = Settings()
        (settings.maximumRunning, settings.maximumOpenFiles) = (running, openFiles)
        #expect(settings.maximumFinishing == finishing)
    }

    @Test func noMoreThanTheLimitRun() {
        var bench = queue(5, limit: 2)
        #expect(opened(bench.feed(.user(.start, ids(1, 2, 3, 4, 5), nil))) == [1, 2])
        #expect(bench.machine.heldSlots == 2)
        bench.feed(.user(.suspend, ids(1), nil))
        #expect(bench.machine.heldSlots == 2)
        #expect(
            opened(bench.feed(.file(DownloadID(1), 1, .closed(written: ByteRanges(), synced: ByteRanges())))) == [3])
    }

    /// Brings a download to where all of its bytes are there; returns what that led to.
    @discardableResult
    private func fill(_ id: UInt64, exchange: ExchangeNumber = 1, _ bench: inout Bench) -> [Action] {
        let id = DownloadID(id)
        bench.feed(.file(id, 1, .opened(held: ByteRanges())))
        bench.feed(.exchange(id, exchange, .head(.file())))
        bench.feed(.file(id, 1, .wrote(0..<1000)))
        return bench.feed(.exchange(id, exchange, .ended(received: 1000)))
    }

    /// Brings a download from the last byte to where its file is moved; returns what that led to.
    private func complete(_ id: UInt64, exchange: ExchangeNumber = 1, _ bench: inout Bench) -> [Action] {
        let filled = fill(id, exchange: exchange, &bench)
        let verified = bench.feed(.file(DownloadID(id), 1, .verified(.sizeOnly)))
        return filled + verified + bench.feed(.store(DownloadID(id), 1, .recorded))
    }

    @Test func whatIsOnlySyncedMakesRoomForAnother() {
        var bench = queue(5, limit: 2)
        bench.feed(.user(.start, ids(1, 2, 3, 4, 5), nil))
        let filled = fill(1, &bench)
        #expect(filled.contains(.file(DownloadID(1), 1, .verify(total: 1000))) && opened(filled) == [3])
        #expect(bench.machine.heldSlots == 2 && bench.machine.running.sorted() == ids(1, 2, 3))
        // It is closed without asking for the slot back.
        #expect(opened(bench.feed(.user(.suspend, ids(1), nil))).isEmpty)
        #expect(bench.machine.heldSlots == 2 && bench.machine.running.sorted() == ids(1, 2, 3))
        let whole = ByteRanges([0..<1000])
        #expect(opened(bench.feed(.file(DownloadID(1), 1, .closed(written: whole, synced: whole)))).isEmpty)
        #expect(bench.machine.running.sorted() == ids(2, 3))
    }

    /// A large file does only when it is written, since what waits for the disk is memory; and one whose digest decides may
    /// have to be fetched again.
    @Test(arguments: [(Pace.smallFile, false, true), (Pace.smallFile + 1, false, false), (1000, true, false)])
    func whatIsOnlyWrittenMakesRoomForAnother(_ size: Int64, hasDigest: Bool, makesRoom: Bool) {
        var bench = Bench(Settings().with { $0.maximumRunning = 2 })
        bench.feed(
            .add((1...4).map { NewDownload(id: DownloadID($0), rank: Int64($0), hasDigest: $0 == 1 && hasDigest) }))
        bench.feed(.user(.start, ids(1, 2, 3, 4), nil))
        bench.feed(.file(DownloadID(1), 1, .opened(held: ByteRanges())))
        bench.feed(.exchange(DownloadID(1), 1, .head(.file(size))))
        #expect(opened(bench.feed(.exchange(DownloadID(1), 1, .received(size)))).isEmpty)
        let ended = bench.feed(.exchange(DownloadID(1), 1, .ended(received: size)))
        #expect(opened(ended) == (makesRoom ? [3] : []) && bench.machine.heldSlots == 2)
        let written = bench.feed(.file(DownloadID(1), 1, .wrote(0..<size)))
        #expect(written.contains(.file(DownloadID(1), 1, .verify(total: size))))
        #expect(opened(written) == (makesRoom || hasDigest ? [] : [3]) && bench.machine.heldSlots == 2)
    }

    /// It is closed with what it has of a slot, and waits for a whole one before anything is asked for again.
    @Test func whoHasMadeRoomAndCannotBeWrittenWaitsForAnotherSlot() {
        var bench = queue(4, limit: 2)
        bench.feed(.user(.start, ids(1, 2, 3, 4), nil))
        bench.feed(.file(DownloadID(1), 1, .opened(held: ByteRanges())))
        bench.feed(.exchange(DownloadID(1), 1, .head(.file())))
        #expect(opened(bench.feed(.exchange(DownloadID(1), 1, .ended(received: 1000)))) == [3])
        // A digest that comes now decides, but not on how much of a slot it has.
        bench.feed(.expectDigest(DownloadID(1), true))
        #expect(bench.machine.heldSlots == 2 && bench.machine.running.sorted() == ids(1, 2, 3))
        bench.feed(.file(DownloadID(1), 1, .wrote(0..<1000)))
        #expect(bench.machine.heldSlots == 2)
        #expect(opened(bench.feed(.file(DownloadID(1), 1, .verified(.sizeOnly)))).isEmpty)
        let closed = bench.feed(.file(DownloadID(1), 1, .closed(written: ByteRanges([0..<1000]), synced: ByteRanges())))
        #expect(opened(closed).isEmpty && bench.machine.running.sorted() == ids(2, 3))
        #expect(bench.machine[DownloadID(1)]?.phase == .waiting(.slot))
    }

    /// A digest may say that it has to be fetched again.
    @Test func whatIsComparedKeepsItsSlot() {
        var bench = Bench(Settings().with { $0.maximumRunning = 2 })
        bench.feed(.add((1...4).map { NewDownload(id: DownloadID($0), rank: Int64($0), hasDigest: $0 == 1) }))
        bench.feed(.user(.start, ids(1, 2, 3, 4), nil))
        #expect(opened(fill(1, &bench)).isEmpty)
        #expect(opened(bench.feed(.file(DownloadID(1), 1, .verified(.correct)))) == [3])
    }

    /// Else they would pile up before a slow disk.
    @Test func onlySoManyMakeRoom() {
        var bench = queue(20, limit: 2)
        bench.feed(.user(.start, (1...20).map { DownloadID(UInt64($0)) }, nil))
        for number in 1...5 as ClosedRange<UInt64> { fill(number, exchange: number, &bench) }
        // Three of them have made room for one more each.
        #expect(bench.machine.heldSlots == 0 && bench.machine.running.sorted() == ids(1, 2, 3, 4, 5))
        #expect(opened(end(1, &bench)).isEmpty)
        #expect(opened(end(2, &bench)) == [6, 7])
    }

    /// Brings a download from where all of its bytes are there to its end; returns what that led to.
    private func end(_ id: UInt64, _ bench: inout Bench) -> [Action] {
        let id = DownloadID(id)
        bench.feed(.file(id, 1, .verified(.sizeOnly)))
        bench.feed(.store(id, 1, .recorded))
        bench.feed(.file(id, 1, .published))
        return bench.feed(.store(id, 1, .recorded))
    }

    @Test func whatIsOnlyMovedMakesRoomForAnother() {
        var bench = queue(5, limit: 2)
        bench.feed(.user(.start, ids(1, 2, 3, 4, 5), nil))
        let first = complete(1, &bench)
        #expect(first.contains(.file(DownloadID(1), 1, .publish)) && opened(first) == [3])
        #expect(bench.machine.heldSlots == 2 && bench.machine.running.sorted() == ids(1, 2, 3))
        #expect(bench.machine[DownloadID(1)]?.phase == .running)
        bench.feed(.file(DownloadID(1), 1, .published))
        #expect(opened(bench.feed(.store(DownloadID(1), 1, .recorded))).isEmpty)
        #expect(opened(complete(2, exchange: 2, &bench)) == [4])
    }

    /// Whether its place was given to another already, or is yet to be.
    @Test(arguments: [1, 2]) func whatSucceedsInSpiteOfAStopLeavesNoPlaceEmpty(_ limit: Int) {
        var bench = queue(4, limit: limit)
        bench.feed(.user(.start, ids(1, 2, 3, 4), nil))
        #expect(opened(complete(1, &bench)) == (limit == 1 ? [] : [3]))
        bench.feed(.withhold(ids(1)))
        bench.feed(.user(.suspend, ids(1), nil))
        bench.feed(.file(DownloadID(1), 1, .published))
        #expect(opened(bench.feed(.store(DownloadID(1), 1, .recorded))) == (limit == 1 ? [2] : []))
        if limit == 2 { #expect(opened(complete(2, exchange: 2, &bench)) == [4]) }
    }

    /// What stays empty is of those that may run: with fewer of these nobody is kept out for it.
    @Test func aLowerLimitTakesThePlacesThatStayEmptyFirst() {
        var bench = queue(8, limit: 4)
        bench.feed(.user(.start, (1...8).map { DownloadID($0) }, nil))
        bench.feed(.withhold(ids(1, 2, 3)))
        bench.feed(.user(.suspend, ids(1, 2, 3), nil))
        for id in ids(1, 2, 3) { bench.feed(.file(id, 1, .closed(written: ByteRanges(), synced: ByteRanges()))) }
        #expect(bench.machine.running == ids(4))
        bench.settings.maximumRunning = 2
        #expect(opened(bench.feed(.settings(bench.settings))).isEmpty)
        bench.settings.maximumRunning = 1
        #expect(opened(bench.feed(.settings(bench.settings))).isEmpty)
        bench.feed(.user(.cancel, ids(4), nil))
        #expect(
            opened(bench.feed(.file(DownloadID(4), 1, .closed(written: ByteRanges(), synced: ByteRanges())))) == [5])
    }

    /// What of it was another's by then is not kept from others.
    @Test func onlyWhatIsLeftOfAPlaceStaysEmpty() {
        var bench = Bench(
            Settings().with {
                $0.maximumRunning = 2
                $0.listLimits.named = ["one": 1]
            })
        bench.feed(
            .add((1...5).map { NewDownload(id: DownloadID($0), rank: Int64($0), list: $0 < 3 ? "one" : nil) }))
        #expect(opened(bench.feed(.user(.start, ids(1, 2, 3, 4, 5), nil))) == [1, 3])
        #expect(opened(fill(1, &bench)) == [4])
        bench.feed(.withhold(ids(1)))
        bench.feed(.user(.suspend, ids(1), nil))
        let written = ByteRanges([0..<1000])
        #expect(opened(bench.feed(.file(DownloadID(1), 1, .closed(written: written, synced: written)))).isEmpty)
        #expect(opened(complete(3, exchange: 2, &bench)) == [5])
        #expect(opened(complete(4, exchange: 3, &bench)).isEmpty, "that of its list stays empty")
        #expect(opened(bench.feed(.user(.start, [], nil))) == [2])
    }

    @Test func whatIsMovedCountsForItsListAndItsHost() {
        for isOfList in [true, false] {
            var bench = Bench(
                Settings().with {
                    $0.maximumRunning = 5
                    $0.listLimits.standard = isOfList ? 1 : 5
                    $0.hostLimit = isOfList ? nil : 1
                })
            bench.feed(
                .add((1...2).map { NewDownload(id: DownloadID($0), rank: Int64($0), list: "one", host: HostID(7)) }))
            bench.feed(.user(.start, ids(1, 2), nil))
            #expect(opened(complete(1, &bench)).isEmpty)
            bench.feed(.file(DownloadID(1), 1, .published))
            #expect(opened(bench.feed(.store(DownloadID(1), 1, .recorded))) == [2])
        }
    }

    @Test func noMoreAreMovedThanMayRun() {
        var bench = queue(5, limit: 1)
        bench.feed(.user(.start, ids(1, 2, 3, 4, 5), nil))
        #expect(opened(complete(1, &bench)).isEmpty, "one is moved, so none may run")
        bench.feed(.file(DownloadID(1), 1, .published))
        #expect(opened(bench.feed(.store(DownloadID(1), 1, .recorded))) == [2])
    }

    @Test func theLeastRankIsFirstThenTheLeastNumber() {
        var bench = queue(4, limit: 4) { [9, 3, 5, 3][$0 - 1] }
        bench.feed(.settings(Settings().with { $0.maximumRunning = 0 }))
        bench.feed(.user(.start, ids(1, 2, 3, 4), nil))
        #expect(opened(bench.feed(.settings(Settings()))) == [2, 4, 3, 1])
    }

    @Test func anotherPlaceInTheOrderCounts() {
        var bench = queue(3, limit: 0)
        bench.feed(.user(.start, ids(1, 2, 3), nil))
        bench.feed(.reorder([DownloadID(3): 0, DownloadID(1): 7]))
        #expect(opened(bench.feed(.settings(Settings()))) == [3, 2, 1])
    }

    @Test func aLowerLimitStopsNobody() {
        var bench = queue(3, limit: 2)
        bench.feed(.user(.start, ids(1, 2, 3), nil))
        #expect(bench.feed(.settings(Settings().with { $0.maximumRunning = 1 })).isEmpty)
        bench.feed(.user(.suspend, ids(1), nil))
        #expect(
            opened(bench.feed(.file(DownloadID(1), 1, .closed(written: ByteRanges(), synced: ByteRanges())))).isEmpty)
        bench.feed(.user(.suspend, ids(2), nil))
        #expect(
            opened(bench.feed(.file(DownloadID(2), 1, .closed(written: ByteRanges(), synced: ByteRanges())))) == [3])
    }

    @Test func whoIsAdmittedBySettingsLivesByThem() {
        var bench = queue(1, limit: 0)
        bench.feed(.user(.start, ids(1), nil))
        bench.feed(.settings(.sliced(100...100)))
        #expect(bench.feed(.file(bench.id, 1, .opened(held: ByteRanges()))).asks.first?.range == 0..<100)
    }

    @Test func withoutANetworkNobodyRuns() {
        var bench = queue(3, limit: 2)
        bench.feed(.user(.start, ids(1, 2, 3), nil))
        let gone = bench.feed(.network(available: false))
        #expect(gone.phases == [.waiting(.slot), .waiting(.slot)], "who waits goes on waiting")
        for id in ids(1, 2) {
            #expect(opened(bench.feed(.file(id, 1, .closed(written: ByteRanges(), synced: ByteRanges())))).isEmpty)
        }
        #expect(bench.machine.running.isEmpty)
        let back = bench.feed(.network(available: true))
        #expect(opened(back) == [1, 2])
        #expect(back.phases == [.running, .running])
    }

    @Test func aNetworkThatComesBackWhileFilesCloseIsEnough() {
        var bench = queue(1, limit: 1)
        bench.feed(.user(.start, ids(1), nil))
        bench.feed(.network(available: false))
        #expect(bench.feed(.network(available: true)).isEmpty)
        #expect(opened(bench.closed()) == [1])
    }

    @Test func startWithoutANetworkWaitsForOne() {
        var bench = queue(1, limit: 1)
        bench.feed(.network(available: false))
        let start = bench.verb(.start, 2)
        #expect(start.phases == [.waiting(.slot)])
        #expect(start.answers == [2])
        #expect(bench.machine.running.isEmpty)
        #expect(bench.verb(.suspend, 3).answers == [3])
        #expect(bench.feed(.network(available: true)).isEmpty)
    }

    @Test func aRetryThatIsDueWithoutANetworkWaitsForOne() {
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.timedOut), ""))))
        bench.closed()
        #expect(bench.feed(.network(available: false)).isEmpty)
        #expect(bench.pass(.seconds(2)).phases == [.waiting(.slot)])
        #expect(bench.feed(.network(available: true)).phases == [.running])
    }

    @Test func aChangeOfTheNetworkConcernsThoseWhoRun() {
        var bench = queue(10_000, limit: 3)
        bench.feed(.user(.start, (1...10_000).map { DownloadID($0) }, nil))
        #expect(bench.feed(.network(available: false)).count == 6, "a close and a word for each that runs")
        for id in ids(1, 2, 3) { bench.feed(.file(id, 1, .closed(written: ByteRanges(), synced: ByteRanges()))) }
        #expect(opened(bench.feed(.network(available: true))) == [1, 2, 3])
    }

    @Test func verbsWorkWithoutANetwork() {
        var bench = queue(1, limit: 1)
        bench.verb(.start)
        bench.feed(.network(available: false))
        #expect(bench.verb(.suspend, 4).answers.isEmpty)
        #expect(bench.closed().answers == [4])
        #expect(bench.state == .suspended)
        #expect(bench.verb(.start, 5).answers == [5])
        #expect(bench.feed(.network(available: true)).phases == [.running])
    }

    @Test func aFileThatIsCompleteNeedsNoNetwork() {
        var bench = Bench.verifying()
        #expect(bench.feed(.network(available: false)).isEmpty)
        #expect(bench.feed(.file(bench.id, 1, .verified(.sizeOnly))).records.map(\.status) == [.publishing])
    }
}

@Suite struct IndexedHeapTests {
    @Test func agreesWithASortedArray() {
        for seed in 0..<UInt64(200) {
            var random = SeededGenerator(seed: seed)
            var heap = IndexedHeap<Int>()
            var model: [Int: Int] = [:]
            for _ in 0..<100 {
                let key = random.below(20)
                if random.chance(60) {
                    let priority = random.below(10)
                    heap.set(key, to: priority)
                    model[key] = priority
                } else {
                    heap.remove(key)
                    model[key] = nil
                }
                #expect(heap.count == model.count)
                #expect(heap.isEmpty == model.isEmpty)
                #expect(heap.first?.priority == model.values.min())
                #expect(heap.first.flatMap { model[$0.key] } == heap.first?.priority)
                #expect(heap[key] == model[key])
                #expect(Set(heap.keys) == Set(model.keys))
            }
            #expect(drained(&heap) == model.values.sorted())
        }
    }

    private func drained(_ heap: inout IndexedHeap<Int>) -> [Int] {
        var priorities: [Int] = []
        while let first = heap.first {
            priorities.append(first.priority)
            heap.remove(first.key)
        }
        return priorities
    }

    /// Counts how often two are compared.
    private struct Counted: Comparable, Sendable {
        final class Counter: @unchecked Sendable { var count = 0 }  // One test, one thread.

        let value: Int
        let counter: Counter

        static func == (left: Counted, right: Counted) -> Bool { left.value == right.value }

        static func < (left: Counted, right: Counted) -> Bool {
            left.counter.count += 1
            return left.value < right.value
        }
    }

    @Test func everyChangeCostsALogarithmOfComparisons() {
        let counter = Counted.Counter()
        var random = SeededGenerator(seed: 1)
        var heap = IndexedHeap<Counted>()
        let count = 1 << 12
        var worst = 0
        func measure(_ change: (inout IndexedHeap<Counted>) -> Void) {
            let before = counter.count
            change(&heap)
            worst = max(worst, counter.count - before)
        }
        for key in 0..<count {
            let priority = Counted(value: random.below(1 << 30), counter: counter)
            measure { $0.set(key, to: priority) }
        }
        for key in 0..<count {
            let priority = Counted(value: random.below(1 << 30), counter: counter)
            measure { $0.set(key, to: priority) }
        }
        for key in 0..<count { measure { $0.remove(key) } }
        // Two comparisons for each of twelve levels on the way down, one on the way up, and one more.
        #expect(worst <= 2 * 12 + 2)
    }
}
