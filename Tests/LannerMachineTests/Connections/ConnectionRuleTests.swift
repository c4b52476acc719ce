import LannerMachine
import Testing

/// How many connections are worth it, by what they bring.
@Suite struct ConnectionRuleTests {
    private static let second: Int64 = 1000

    /// A rule that is told four times a second what a server sends: so much a second over so many connections.
    private struct Line {
        var rule = ConnectionRule()
        var now = Duration.zero
        var received: Int64 = 0
        var left: Int64 = 1 << 40
        var isHeldUp = false
        var most = 16
        /// How many connections have come about; as many as are wanted unless set.
        var running: Int?
        /// Places that are asked for the first time in each try.
        var newPlaces = 0
        var speed: (Int) -> Int64

        mutating func tick() {
            now += .milliseconds(250)
            let running = running ?? rule.wanted
            received += speed(running) / 4
            var look = ConnectionRule.Look(
                now: now, received: received, running: running, left: left, isHeldUp: isHeldUp, most: most)
            (look.unasked, look.toUnknown) = (newPlaces, newPlaces)
            rule.look(look)
        }

        mutating func run(_ time: Duration) {
            let end = now + time
            while now < end { tick() }
        }

        /// What is wanted at each look in which that changes.
        mutating func changes(in time: Duration) -> [Int] {
            let end = now + time
            var all = [rule.wanted]
            while now < end {
                tick()
                if rule.wanted != all.last { all.append(rule.wanted) }
            }
            return all
        }
    }

    @Test func whereEachBringsAsMuchAsTheFirstThereAreSoonAsManyAsMayBe() {
        var line = Line(most: 8) { Int64($0) * 5_000_000 }
        #expect(line.changes(in: .milliseconds(1250)) == [1, 2, 8])
        #expect(line.changes(in: .seconds(60)) == [8])
    }

    @Test func whereTheSecondBringsNothingItIsDropped() {
        var line = Line { _ in 5_000_000 }
        #expect(line.changes(in: .seconds(4)) == [1, 2, 1])
    }

    @Test func aGainOfATenthIsTooLittle() {
        var line = Line { $0 == 1 ? 5_000_000 : 5_400_000 }
        #expect(line.changes(in: .seconds(4)) == [1, 2, 1])
    }

    @Test func aGainOfMoreThanATenthIsEnoughThoughItTakesLongerToTell() {
        var line = Line(most: 2) { $0 == 1 ? 5_000_000 : 5_600_000 }
        line.run(.milliseconds(1750))
        #expect(line.rule.wanted == 2)
        line.run(.seconds(60))
        #expect(line.rule.wanted == 2)
    }

    @Test func afterATryThatBroughtNothingOneIsTriedAtATimeAndMoreAndMoreSeldom() {
        // Three are as good as it gets.
        var line = Line { Int64(min($0, 3)) * 5_000_000 }
        #expect(line.changes(in: .seconds(5)) == [1, 2, 8, 3])
        var tries: [Duration] = []
        var wanted = line.rule.wanted
        for _ in 0..<2400 {
            line.tick()
            if line.rule.wanted > wanted { tries.append(line.now) }
            wanted = line.rule.wanted
        }
        let pauses = zip(tries, tries.dropFirst()).map { $1 - $0 }
        #expect(pauses.count >= 3)
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $1 > $0 || $1 > ConnectionRuleTests.longest })
    }

    private static let longest: Duration = .seconds(256)

    @Test func nothingIsTriedForTheLastSecond() {
        var line = Line(left: 5_000_000) { _ in 5_000_000 }
        #expect(line.changes(in: .seconds(10)) == [1])
    }

    @Test func nothingIsTriedWhileNothingComes() {
        var line = Line { Int64($0) * 5_000_000 }
        line.tick()
        line.speed = { _ in 0 }
        #expect(line.changes(in: .seconds(60)) == [1])
    }

    @Test func nothingIsTriedWhileTheDiskIsSlow() {
        var line = Line(isHeldUp: true) { Int64($0) * 5_000_000 }
        #expect(line.changes(in: .seconds(10)) == [1])
    }

    @Test func nothingIsTriedWhereOneIsAllThereMayBe() {
        var line = Line(most: 1) { Int64($0) * 5_000_000 }
        #expect(line.changes(in: .seconds(10)) == [1])
    }

    @Test func aConnectionThatDoesNotComeAboutIsGivenUp() {
        var line = Line(running: 1) { Int64($0) * 5_000_000 }
        #expect(line.changes(in: .seconds(5)) == [1, 2, 1])
    }

    @Test func itIsJudgedFromWhenItComesAbout() {
        var line = Line(most: 2, running: 1) { Int64($0) * 5_000_000 }
        line.run(.milliseconds(1750))
        #expect(line.rule.wanted == 2)
        line.running = nil
        line.run(.seconds(10))
        #expect(line.rule.wanted == 2)
    }

    /// Three places may be asked for the first time, and none is as good as the one there is.
    @Test func placesThatAreAskedForTheFirstTimeAreTriedAtOnceAndAreNoReasonToWait() {
        var line = Line { _ in 5_000_000 }
        line.newPlaces = 3
        #expect(line.changes(in: .milliseconds(2500)) == [1, 4, 1])
        line.newPlaces = 0
        line.speed = { Int64($0) * 5_000_000 }
        #expect(line.changes(in: .seconds(2)) == [1, 2, 8, 16])
    }

    @Test func aTryGoesOnWithoutThoseThatComeToNothing() {
        var line = Line(most: 4, running: 2) { Int64($0) * 5_000_000 }
        line.newPlaces = 3
        line.run(.milliseconds(750))
        #expect(line.rule.wanted == 4 && line.rule.triedSince == .milliseconds(750))
        line.rule.isWithout(2)
        #expect(line.rule.wanted == 2 && line.rule.triedSince != nil)
        line.rule.isWithout(1)
        #expect(line.rule.wanted == 1 && line.rule.triedSince == nil)
        // Nothing of a try that is over.
        line.rule.isWithout(1)
        #expect(line.rule.wanted == 1)
    }

    @Test func aRefusalBringsItBackToOneForAWhile() {
        var line = Line(most: 4) { Int64($0) * 5_000_000 }
        line.run(.seconds(3))
        #expect(line.rule.wanted == 4)
        line.rule.wasRefused(at: line.now, left: 1)
        #expect(line.changes(in: .milliseconds(3750)) == [1])
        #expect(line.changes(in: .seconds(10)) == [1, 2, 3, 4])
    }

    /// Of a server that takes three the fourth is asked for more and more seldom, the others soon.
    @Test func whatWasRefusedIsTriedMoreAndMoreSeldom() {
        var line = Line(most: 16) { Int64($0) * 5_000_000 }
        var (tries, connections) = (0, 0)
        let looks = 4 * 600
        for _ in 0..<looks {
            line.tick()
            // Those that are too many are refused one after the other.
            if line.rule.wanted > 3 { tries += 1 }
            for _ in stride(from: 3, to: line.rule.wanted, by: 1) { line.rule.wasRefused(at: line.now, left: 1) }
            connections += line.rule.wanted
        }
        #expect(tries <= 8)
        #expect(Double(connections) / Double(looks) > 2.8)
    }

    @Test func whileNoneMayBeTriedNothingSaysThatNoneIsWorthIt() {
        var line = Line(most: 1) { Int64($0) * 5_000_000 }
        line.rule.wasRefused(at: line.now, left: 1)
        #expect(line.changes(in: .milliseconds(59_750)) == [1])
        line.most = 4
        line.run(.milliseconds(500))
        #expect(line.rule.wanted == 2)
    }

    @Test func aLossLeavesTheOthers() {
        var line = Line(most: 4) { Int64($0) * 5_000_000 }
        line.run(.seconds(3))
        line.rule.wasLost(at: line.now, left: 3)
        #expect(line.changes(in: .milliseconds(3750)) == [3])
        line.run(.seconds(3))
        #expect(line.rule.wanted == 4)
        line.rule.wasLost(at: line.now, left: 0)
        #expect(line.rule.wanted == 1)
    }

    @Test func thoseThatAreLostTogetherAreOneReasonToWait() {
        var line = Line(most: 8) { Int64($0) * 5_000_000 }
        line.run(.seconds(3))
        for left in (2..<8).reversed() { line.rule.wasLost(at: line.now, left: left) }
        #expect(line.rule.wanted == 2)
        #expect(line.changes(in: .seconds(6)).prefix(2) == [2, 3])
    }

    /// What came in a burst is not taken for what a connection brings.
    @Test func aBurstDoesNotMakeTheOthersLookSlow() {
        var line = Line(most: 8) { Int64($0) * 5_000_000 }
        line.run(.milliseconds(1000))
        #expect(line.rule.wanted == 2)
        line.received += 2_000_000
        line.run(.seconds(10))
        #expect(line.rule.wanted == 8)
    }

    /// Nginx does so every 0.4 seconds, others once a second: most looks see nothing come.
    @Test func ofAServerThatSendsInBurstsMoreAreTriedAsWell() {
        var line = Line(most: 8) { _ in 0 }
        for _ in 0..<4 {
            line.received += Int64(line.rule.wanted) * 5_000_000
            line.run(.seconds(1))
        }
        #expect(line.rule.wanted == 8)
    }

    @Test func aLowerLimitHoldsAtOnce() {
        var line = Line(most: 4) { Int64($0) * 5_000_000 }
        line.run(.seconds(3))
        line.most = 2
        line.tick()
        #expect(line.rule.wanted == 2)
        line.most = 0
        line.tick()
        #expect(line.rule.wanted == 1)
    }

    @Test func numbersThatMakeNoSenseDoNoHarm() {
        var rule = ConnectionRule()
        for (second, received) in [(0, Int64.max), (11, 0), (12, .max), (13, 5), (200, .max), (202, 0)] {
            rule.look(.init(now: .seconds(second), received: received, running: -1, left: .max, most: .max))
            #expect(rule.wanted >= 1)
        }
    }
}
