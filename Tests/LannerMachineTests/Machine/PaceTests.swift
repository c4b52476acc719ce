import LannerMachine
import Testing

/// What time does to a running download: marks, syncs, watchdogs.
@Suite struct PaceTests {
    private let megabyte: Int64 = 1 << 20

    private func large(_ settings: Settings = Settings()) -> Bench {
        .transferring(settings, head: .file(100 << 20))
    }

    @Test func theMarkIsRecordedEachEightMegabytes() {
        var bench = large()
        for count in 1..<Int64(8) {
            #expect(bench.feed(.file(bench.id, 1, .wrote((count - 1) * megabyte..<count * megabyte))).records.isEmpty)
        }
        let actions = bench.feed(.file(bench.id, 1, .wrote(7 * megabyte..<8 * megabyte)))
        #expect(actions.records.first?.written == ByteRanges([0..<8 * megabyte]))
        #expect(actions.records.first?.status == .active)
        #expect(bench.feed(.file(bench.id, 1, .wrote(8 * megabyte..<9 * megabyte))).records.isEmpty)
    }

    @Test func theMarkIsRecordedEachSecond() {
        var bench = large()
        bench.feed(.file(bench.id, 1, .wrote(0..<10)))
        for _ in 0..<3 { #expect(bench.pass(.milliseconds(250)).records.isEmpty) }
        #expect(bench.pass(.milliseconds(250)).records.first?.written == ByteRanges([0..<10]))
        for _ in 0..<8 { #expect(bench.pass(.milliseconds(250)).records.isEmpty) }
    }

    @Test func bytesAreSyncedEachFiveSecondsOneSyncAtATime() {
        var bench = large()
        bench.feed(.file(bench.id, 1, .wrote(0..<10)))
        for _ in 0..<19 { #expect(!bench.pass(.milliseconds(250)).contains(.file(bench.id, 1, .sync))) }
        #expect(bench.pass(.milliseconds(250)).contains(.file(bench.id, 1, .sync)))
        for _ in 0..<40 { #expect(!bench.pass(.milliseconds(250)).contains(.file(bench.id, 1, .sync))) }
        let actions = bench.feed(.file(bench.id, 1, .synced(ByteRanges([0..<10]))))
        #expect(actions.records.first?.synced == ByteRanges([0..<10]))
        #expect(!bench.pass(.seconds(6)).contains(.file(bench.id, 1, .sync)))
        bench.feed(.file(bench.id, 1, .wrote(10..<20)))
        #expect(bench.pass(.milliseconds(250)).contains(.file(bench.id, 1, .sync)))
    }

    @Test func aRunningDownloadIsLookedAtFourTimesASecond() {
        var bench = large()
        for count in 1...4 {
            #expect(bench.pass(.milliseconds(250)).wakes == [.milliseconds(250 * (count + 1))])
        }
    }

    @Test func aTimerThatIsEarlyChangesNothing() {
        var bench = large()
        bench.pass(.milliseconds(250))
        #expect(bench.pass(.milliseconds(10)).isEmpty)
        #expect(bench.pass(.milliseconds(240)).wakes == [.milliseconds(750)])
    }

    @Test func aSoonerWakeLeavesTheLaterOneToCome() {
        var bench = Bench.requesting()
        let retry = ResponseHead(status: 503, fields: ["Retry-After": "100"])
        bench.feed(.exchange(bench.id, 1, .head(retry)))
        #expect(bench.closed().wakes.isEmpty)  // The look at the request is still to come.
        #expect(bench.pass(.milliseconds(250)).wakes == [.seconds(100)])
        bench.feed(.add([NewDownload(id: DownloadID(2), rank: 0)]))
        bench.feed(.user(.start, [DownloadID(2)], nil))
        #expect(bench.feed(.file(DownloadID(2), 1, .opened(held: ByteRanges()))).wakes == [.milliseconds(500)])
        bench.feed(.user(.suspend, [DownloadID(2)], nil))
        bench.feed(.file(DownloadID(2), 1, .closed(written: ByteRanges(), synced: ByteRanges())))
        #expect(bench.pass(.milliseconds(250)).isEmpty)
        #expect(bench.pass(.milliseconds(99_500)).phases == [.waiting(.slot), .running])
    }

    @Test func silenceBeforeTheHeaderIsAFailure() {
        var bench = Bench.requesting()
        #expect(bench.pass(.milliseconds(59_750)).retry == nil)
        #expect(bench.pass(.milliseconds(250)).retry?.failure.reason == .transport(.timedOut))
    }

    @Test func silenceWithinTheBodyIsAFailure() {
        var bench = large()
        bench.pass(.seconds(50))
        bench.feed(.exchange(bench.id, 1, .received(10)))
        bench.pass(.seconds(50))
        bench.feed(.file(bench.id, 1, .wrote(0..<10)))
        #expect(bench.pass(.milliseconds(59_750)).retry == nil)
        let actions = bench.pass(.milliseconds(250))
        #expect(actions.retry?.failure.reason == .transport(.timedOut))
        #expect(actions.contains(.transport(bench.id, .stop(1, keepBytes: true))))
    }

    @Test func aDiskThatIsSlowIsNotSilence() {
        var bench = Bench.transferring()
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        #expect(bench.pass(.seconds(1000)).retry == nil)
        #expect(bench.feed(.file(bench.id, 1, .wrote(0..<1000))).contains(.file(bench.id, 1, .verify(total: 1000))))
    }

    @Test func tooFewBytesASecondAreAFailure() {
        var bench = large(Settings().with { $0.watchdog.minimumSpeed = 100 })
        var received: Int64 = 0
        func second(_ bytes: Int64) -> [Action] {
            received += bytes
            bench.feed(.exchange(bench.id, 1, .received(received)))
            return bench.pass(.seconds(1))
        }
        for _ in 0..<30 { #expect(second(100).retry == nil) }
        for _ in 0..<29 { #expect(second(99).retry == nil) }
        #expect(second(99).retry?.failure.reason == .transport(.timedOut))
    }

    @Test func aDiskThatStandsStillIsNoSilentServer() {
        var bench = large()
        bench.feed(.exchange(bench.id, 1, .received(Pace.backlog + 1)))
        for _ in 0..<100 { #expect(bench.pass(.seconds(1)).retry == nil) }
        bench.feed(.file(bench.id, 1, .wrote(0..<Pace.backlog + 1)))
        for _ in 0..<59 { #expect(bench.pass(.seconds(1)).retry == nil) }
        #expect(bench.pass(.seconds(1)).retry?.failure.reason == .transport(.timedOut))
    }

    @Test func aDiskThatIsSlowIsNoSlowServer() {
        var bench = large(Settings().with { $0.watchdog.minimumSpeed = 100 })
        bench.feed(.exchange(bench.id, 1, .received(Pace.backlog + 1)))
        for _ in 0..<59 { #expect(bench.pass(.seconds(1)).retry == nil) }
        bench.feed(.file(bench.id, 1, .wrote(0..<Pace.backlog + 1)))
        for _ in 0..<29 { #expect(bench.pass(.seconds(1)).retry == nil) }
    }

    @Test func anAttemptMayTakeSoLong() {
        var bench = large(Settings().with { $0.watchdog.total = .seconds(100) })
        for second in 1..<Int64(100) {
            bench.feed(.exchange(bench.id, 1, .received(second)))
            #expect(bench.pass(.seconds(1)).retry == nil)
        }
        bench.feed(.exchange(bench.id, 1, .received(100)))
        #expect(bench.pass(.seconds(1)).retry?.failure.reason == .transport(.timedOut))
    }

    @Test func progressIsToldWithEachLook() {
        var bench = large()
        bench.feed(.file(bench.id, 1, .wrote(0..<10)))
        let actions = bench.pass(.milliseconds(250))
        #expect(actions.contains(.transport(bench.id, .flush)))
        #expect(actions.contains(.tell(bench.id, .progress(completed: 10, total: 100 << 20))))
    }
}

/// Which ranges are asked for, and when.
@Suite struct SliceTests {
    private let megabyte: Int64 = 1 << 20

    private func sliced(inFlight: Int = 3) -> Bench {
        .transferring(
            .sliced(4 * megabyte...8 * megabyte, inFlight: inFlight),
            head: .part(0..<4 * megabyte, of: 100 * megabyte))
    }

    @Test func theFirstRequestIsForTheShortestSlice() {
        var bench = Bench.opening(.sliced(100...200))
        let ask = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges()))).asks.first
        #expect(ask?.headerFields["Range"] == "bytes=0-99")
    }

    @Test func theNextSliceIsAskedForShortlyBeforeTheLastEnds() {
        var bench = sliced()
        #expect(bench.feed(.exchange(bench.id, 1, .received(2 * megabyte - 1))).asks.isEmpty)
        let ask = bench.feed(.exchange(bench.id, 1, .received(2 * megabyte))).asks.first
        #expect(ask?.range?.lowerBound == 4 * megabyte)
        #expect(ask?.headerFields["If-Range"] == "\"a\"")
        #expect(bench.feed(.exchange(bench.id, 1, .received(3 * megabyte))).asks.isEmpty)
    }

    @Test func aLongWayAsksEarlier() {
        var bench = Bench.requesting(.sliced(8 * megabyte...8 * megabyte, inFlight: 2))
        bench.now += .seconds(1)
        bench.feed(.exchange(bench.id, 1, .head(.part(0..<8 * megabyte, of: 100 * megabyte))))
        bench.now += .seconds(1)
        // 4 MiB a second, one second away: six are asked for ahead.
        #expect(bench.feed(.exchange(bench.id, 1, .received(4 * megabyte))).asks.count == 1)
    }

    @Test func aFastServerIsAskedForLongSlices() {
        var bench = sliced()
        bench.feed(.exchange(bench.id, 1, .received(1)))
        #expect(
            bench.feed(.exchange(bench.id, 1, .received(3 * megabyte))).asks.first?.range?.count == Int(4 * megabyte))
        bench = sliced()
        bench.now += .milliseconds(100)
        bench.feed(.exchange(bench.id, 2, .head(.part(0..<1, of: 5))))
        bench.feed(.exchange(bench.id, 1, .received(4 * megabyte)))
        bench.feed(.exchange(bench.id, 2, .head(.part(4 * megabyte..<8 * megabyte, of: 100 * megabyte))))
        #expect(
            bench.feed(.exchange(bench.id, 2, .received(4 * megabyte))).asks.first?.range?.count == Int(8 * megabyte))
    }

    @Test func noMoreThanTheWindowIsUnderWay() {
        var bench = sliced(inFlight: 8)
        var number: ExchangeNumber = 1
        var asked = 4 * megabyte
        while true {
            let length = (bench.transfer?.exchanges.first?.body).map { $0.upperBound - $0.lowerBound } ?? 0
            bench.feed(.exchange(bench.id, number, .ended(received: length)))
            guard let exchange = bench.transfer?.exchanges.last, let range = exchange.ask.range else { break }
            number = exchange.number
            asked = range.upperBound
            bench.feed(.exchange(bench.id, number, .head(.part(range, of: 100 * megabyte))))
        }
        #expect(asked <= Pace.window)
        #expect(asked > Pace.window / 2)
        #expect(bench.feed(.file(bench.id, 1, .wrote(0..<8 * megabyte))).asks.count == 1)
    }

    @Test func noMoreThanSoManyAreInFlight() {
        var bench = sliced(inFlight: 1)
        #expect(bench.feed(.exchange(bench.id, 1, .received(4 * megabyte))).asks.isEmpty)
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 4 * megabyte))).asks.count == 1)
    }

    @Test func lessThanWasAskedForIsFollowedByTheRest() {
        var bench = Bench.requesting(.sliced(100...100))
        #expect(bench.feed(.exchange(bench.id, 1, .head(.part(0..<30, of: 50)))).asks.first?.range == 30..<50)
    }

    @Test func lessThanWasAskedForIsFollowedByTheRestWithoutSlicesToo() {
        var bench = Bench.transferring(saved: .holding(0..<100), head: .part(100..<300, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(100..<300)))
        let ask = bench.feed(.exchange(bench.id, 1, .ended(received: 200))).asks.first
        #expect(ask?.headerFields["Range"] == "bytes=300-")
    }

    @Test func holesAreFilledOneByOneWithoutSlices() {
        var bench = Bench.transferring(
            saved: .holding(0..<100, 200..<300), head: .part(100..<200, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(100..<200)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.first?.range == 300..<1000)
    }

    @Test func slicesGoOnAsAWholeWhenTheSettingsChange() {
        var bench = Bench.transferring(.sliced(100...100), head: .part(0..<100, of: 1000))
        bench.feed(.settings(Settings()))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        let next = bench.transfer?.exchanges.first { $0.number != 1 }?.number ?? 2
        bench.feed(.exchange(bench.id, 1, .ended(received: 100)))
        bench.feed(.exchange(bench.id, next, .head(.part(100..<200, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(100..<200)))
        #expect(bench.feed(.exchange(bench.id, next, .ended(received: 100))).asks.first?.range == 200..<1000)
    }

    @Test(arguments: [0...0, -5...0, 1...Int64.max, Int64.max...Int64.max])
    func slicesThatMakeNoSenseStillCome(lengths: ClosedRange<Int64>) {
        var bench = Bench.opening(.sliced(lengths, inFlight: 0))
        let total = Int64.max - 1
        let ask = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges()))).asks.first
        guard let range = ask?.range else {
            Issue.record("nothing was asked for")
            return
        }
        bench.feed(.exchange(bench.id, 1, .head(.part(range, of: total))))
        bench.feed(.file(bench.id, 1, .wrote(range)))
        let next = bench.feed(.exchange(bench.id, 1, .ended(received: range.upperBound))).asks.first
        #expect(next?.range?.lowerBound == range.upperBound)
    }
}
