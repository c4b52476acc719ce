import LannerMachine
import Testing

/// What limits on bandwidth do to watchdogs and to what is asked for.
@Suite struct LimitTests {
    private func failure(_ actions: [Action]) -> Bool {
        actions.contains { if case .tell(_, .retrying) = $0 { true } else { false } }
    }

    private var strict: Settings {
        var settings = Settings()
        settings.watchdog.silence = .seconds(5)
        settings.watchdog.minimumSpeed = 1000
        return settings
    }

    @Test func silenceCountsFromTheEndOfTheHold() {
        var bench = Bench.transferring(strict, head: .file(100 << 20))
        bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(100))))
        #expect(!failure(bench.pass(.seconds(104))))
        #expect(failure(bench.pass(.seconds(1))))
    }

    @Test func aHoldThatEndsSoonerIsOver() {
        var bench = Bench.transferring(strict, head: .file(100 << 20))
        bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(100))))
        bench.feed(.exchange(bench.id, 1, .heldBack(until: .zero)))
        #expect(!failure(bench.pass(.seconds(4))))
        #expect(failure(bench.pass(.seconds(1))))
    }

    @Test func bytesThatCameMeanwhileDoNotShortenIt() {
        var bench = Bench.transferring(strict, head: .file(100 << 20))
        bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(100))))
        bench.pass(.seconds(1))
        bench.feed(.exchange(bench.id, 1, .received(10)))
        bench.feed(.file(bench.id, 1, .wrote(0..<10)))
        #expect(!failure(bench.pass(.seconds(90))))
    }

    @Test func aRequestThatWaitsIsNotSilent() {
        var bench = Bench.requesting(strict)
        bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(100))))
        #expect(!failure(bench.pass(.seconds(104))))
        #expect(failure(bench.pass(.seconds(1))))
    }

    @Test func slowFollowsFromTheServerOnly() {
        var settings = strict
        settings.watchdog.silence = .seconds(1000)
        var bench = Bench.transferring(settings, head: .file(100 << 20))
        for second in 1...100 as ClosedRange<Int64> {
            bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(second))))
            #expect(!failure(bench.pass(.seconds(1))))
        }
        // Now it is the server's.
        #expect(failure(bench.pass(.seconds(31))))
    }

    @Test func whatComesLateIsIgnored() {
        var bench = Bench.transferring(strict, head: .file(100 << 20))
        let late = bench.feed(.exchange(bench.id, 9, .heldBack(until: .seconds(100))))
        #expect(late.contains(.ignored(bench.id, .unknownExchange(9))))
        bench.feed(.user(.suspend, [bench.id], nil))
        let later = bench.feed(.exchange(bench.id, 1, .heldBack(until: .seconds(100))))
        #expect(later.contains(.ignored(bench.id, .late("heldBack"))))
    }

    @Test(
        arguments: [
            (nil, nil, 4 << 20), (1 << 20, nil, 1 << 18), (nil, 1 << 20, 1 << 18), (1 << 20, 1 << 19, 1 << 17),
            (1, nil, 16 << 10), (1 << 40, nil, 4 << 20),
        ] as [(Int64?, Int64?, Int64)])
    func slicesAreAQuarterOfASecond(_ overall: Int64?, _ own: Int64?, _ length: Int64) {
        var settings = Settings()
        settings.delivery = .sliced((4 << 20)...(32 << 20), inFlight: 2)
        settings.rateLimit = overall
        var bench = Bench.resting(settings)
        bench.feed(.limit(bench.id, own))
        bench.feed(.user(.start, [bench.id], nil))
        let actions = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges())))
        let asks = actions.compactMap { if case .transport(_, .begin(_, let ask)) = $0 { ask } else { nil } }
        #expect(asks.map(\.range) == [0..<length])
    }
}
