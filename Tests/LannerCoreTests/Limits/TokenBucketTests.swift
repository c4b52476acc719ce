import LannerMachine
import Testing

@testable import LannerCore

@Suite struct TokenBucketTests {
    @Test func beginsFullAndHoldsAQuarterOfASecond() {
        #expect(TokenBucket(rate: 1 << 20, at: .zero).level == 1 << 18)
        #expect(TokenBucket(rate: 10, at: .zero).level == 16 << 10)
        #expect(TokenBucket(rate: -5, at: .zero).rate == 1)
        var bucket = TokenBucket(rate: 1 << 20, at: .zero)
        bucket.fill(at: .seconds(100))
        #expect(bucket.level == 1 << 18)
    }

    @Test func fillsAtItsRate() {
        var bucket = TokenBucket(rate: 1000, at: .zero)
        bucket.take(20_000)
        #expect(bucket.level == 16_384 - 20_000)
        bucket.fill(at: .milliseconds(2500))
        #expect(bucket.level == 16_384 - 17_500)
        // Time does not go back.
        bucket.fill(at: .seconds(1))
        #expect(bucket.level == 16_384 - 17_500)
    }

    @Test func losesNothingHoweverOftenItIsLookedAt() {
        for rate in [1, 3, 7, 1000, 999_999_937] as [Int64] {
            var often = TokenBucket(rate: rate, at: .zero)
            often.take(often.capacity + rate * 100)
            var once = often
            var random = SeededGenerator(seed: UInt64(rate))
            var now = Duration.zero
            while now < .seconds(10) {
                now += .nanoseconds(1 + random.below(50_000_000))
                often.fill(at: now)
            }
            once.fill(at: now)
            #expect(often == once)
        }
    }

    @Test func saysHowLongItTakes() {
        var bucket = TokenBucket(rate: 3, at: .zero)
        bucket.take(bucket.level)
        #expect(bucket.wait(for: 0) == .zero)
        let time = bucket.wait(for: 1)
        #expect(time == .nanoseconds(333_333_334))
        bucket.fill(at: time - .nanoseconds(1))
        #expect(bucket.level == 0)
        bucket.fill(at: time)
        #expect(bucket.level == 1)
        bucket.take(1 << 40)
        #expect(bucket.wait(for: 1) == .seconds(86_400))
    }

    @Test func aDebtIsPaidOffNoLaterAtAnotherRate() {
        var bucket = TokenBucket(rate: 1000, at: .zero)
        bucket.take(bucket.level + 1000)
        var (lower, higher) = (bucket, bucket)
        lower.setRate(10, at: .zero)
        #expect(lower.level == -10)
        higher.setRate(1_000_000, at: .zero)
        #expect(higher.level == -1000)
        // What is there is no more than it holds.
        var full = TokenBucket(rate: 1 << 30, at: .zero)
        full.setRate(1, at: .zero)
        #expect(full.level == 16 << 10)
    }

    @Test func aDebtIsNoDeeperThanTenSecondsOrOneMebibyte() {
        var slow = TokenBucket(rate: 1000, at: .zero)
        slow.take(1 << 40)
        #expect(slow.level == -1 << 20)
        var fast = TokenBucket(rate: 1 << 20, at: .zero)
        fast.settle(-1 << 40)
        #expect(fast.level == -10 << 20 && fast.wait(for: 0) == .seconds(10))
    }

    @Test func neverTraps() {
        for rate in [.min, 0, 1, .max] as [Int64] {
            var bucket = TokenBucket(rate: rate, at: .zero)
            for count in [.max, .max, 0, .min] as [Int64] {
                bucket.take(count)
                _ = bucket.wait(for: 1)
                bucket.settle(count)
                bucket.setRate(rate / 2, at: .seconds(1))
                bucket.fill(at: .seconds(Int64.max))
                #expect(bucket.level <= bucket.capacity)
            }
        }
    }
}
