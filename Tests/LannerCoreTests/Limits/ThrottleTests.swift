import LannerMachine
import Testing

@testable import LannerCore

@Suite struct ThrottleTests {
    /// Downloads that take pieces as fast as they may, and what each has taken.
    private struct Site {
        var throttle = Throttle()
        var now = Duration.zero
        var taken: [DownloadID: Int64] = [:]
        let pieces: [DownloadID: Int64]

        /// Downloads by the size of their pieces; 0 for one that takes nothing.
        init(_ sizes: [Int64], limit: Int64?, limits: [Int64?] = []) {
            pieces = Dictionary(
                uniqueKeysWithValues: sizes.enumerated().map { (DownloadID(UInt64($0) + 1), $1) })
            throttle.setLimit(limit, at: now)
            for (index, id) in ids.enumerated() {
                throttle.open(id, limit: index < limits.count ? limits[index] : nil, at: now)
            }
        }

        var ids: [DownloadID] { pieces.keys.sorted() }
        var all: Int64 { taken.values.reduce(0, +) }

        /// Everybody takes until held, one piece in turn.
        mutating func take() {
            var isDone = false
            while !isDone {
                isDone = true
                for id in ids {
                    guard let piece = pieces[id], piece > 0, !throttle.isHeld(id) else { continue }
                    taken[id, default: 0] += piece
                    _ = throttle.charge(piece, to: id, at: now)
                    isDone = false
                }
            }
        }

        /// Goes from one look to the next, as the engine does.
        mutating func run(for duration: Duration) {
            let end = now + duration
            take()
            while let next = throttle.arm(at: now).time, next <= end {
                now = next
                throttle.disarm(at: now)
                _ = throttle.release(at: now)
                take()
            }
            now = end
        }
    }

    @Test func oneHasAllThereIs() {
        var site = Site([1000], limit: 100_000)
        site.run(for: .seconds(10))
        // What came in, what was there at first, and less than one piece more.
        let due: Int64 = 1_000_000 + 25_000
        #expect((due - 25_000...due + 1000).contains(site.all))
    }

    @Test(arguments: [2, 3, 7, 50]) func manyHaveEqualShares(_ count: Int) {
        // Some in small pieces, some in large ones.
        var site = Site((0..<count).map { $0 % 2 == 0 ? 1000 : 16_000 }, limit: 1 << 20)
        site.run(for: .seconds(100))
        let share = (100 << 20) / Int64(count)
        for id in site.ids {
            let taken = site.taken[id] ?? 0
            #expect(abs(taken - share) < share / 20 + 32_000, "\(id) has taken \(taken) of \(share)")
        }
        #expect(site.all <= (100 << 20) + (1 << 18) + Int64(count) * 16_000)
        #expect(site.all >= 99 << 20)
    }

    @Test func whatOneDoesNotUseIsTheOthers() {
        var site = Site([0, 1000, 1000], limit: 100_000, limits: [nil, 10_000, nil])
        site.run(for: .seconds(100))
        #expect(site.all >= 9_900_000)
        let own = site.taken[DownloadID(2)] ?? 0
        #expect((990_000...1_020_000).contains(own), "\(own)")
    }

    @Test func keepsBothLimits() {
        var site = Site([1000], limit: 100_000, limits: [1_000_000])
        site.run(for: .seconds(10))
        #expect(site.all < 1_030_000)
        site = Site([1000], limit: 1_000_000, limits: [100_000])
        site.run(for: .seconds(10))
        #expect(site.all < 1_030_000)
    }

    @Test func theLeastRateServesAllInTurn() {
        var site = Site([16_384, 16_384, 16_384], limit: 1)
        // Each piece takes half a day.
        site.run(for: .seconds(10 * 86_400))
        #expect(site.all >= 10 * 86_400 && site.all <= 10 * 86_400 + 4 * 16_384)
        let least = site.ids.map { site.taken[$0] ?? 0 }.min() ?? 0
        #expect(least >= 3 * 86_400)
    }

    @Test func beginningAnewEvadesNothing() {
        var site = Site([10_000], limit: 10_000)
        let id = site.ids[0]
        for _ in 0..<100 {
            site.take()
            site.throttle.close(id, at: site.now)
            site.throttle.open(id, limit: nil, at: site.now)
            _ = site.throttle.mayBegin(id, at: site.now)
        }
        #expect(site.all <= 30_000)
        // The same under a limit of its own.
        site = Site([10_000], limit: nil, limits: [10_000])
        for _ in 0..<100 {
            site.take()
            site.throttle.close(id, at: site.now)
            site.throttle.open(id, limit: 10_000, at: site.now)
            _ = site.throttle.mayBegin(id, at: site.now)
        }
        #expect(site.all <= 30_000)
    }

    @Test func withoutLimitsNobodyIsHeld() {
        var site = Site([1000], limit: nil)
        let id = site.ids[0]
        #expect(site.throttle.isFree(id))
        let isHeld = site.throttle.charge(.max, to: id, at: .zero)
        #expect(!isHeld)
        let next = site.throttle.arm(at: .zero).time
        #expect(next == nil)
        // One that does not run is not charged.
        site.throttle.setLimit(1, at: .zero)
        let isOtherHeld = site.throttle.charge(.max, to: DownloadID(99), at: .zero)
        #expect(!isOtherHeld)
    }

    @Test func aLimitThatIsLiftedLetsAllGo() {
        var site = Site([1000, 1000], limit: 10)
        site.take()
        #expect(site.throttle.held.count == 2)
        site.throttle.setLimit(nil, at: .zero)
        let free = site.throttle.release(at: .zero)
        #expect(free == site.ids)
        #expect(site.throttle.held.isEmpty)
    }

    @Test func changesWithinARun() {
        var site = Site([1000], limit: 1_000_000)
        site.run(for: .seconds(10))
        let before = site.all
        site.throttle.setLimit(10_000, at: site.now)
        site.run(for: .seconds(100))
        #expect((980_000...1_050_000).contains(site.all - before))
        site.throttle.setLimit(1_000_000, at: site.now)
        _ = site.throttle.release(at: site.now)
        let then = site.all
        site.run(for: .seconds(10))
        #expect((9_700_000...10_300_000).contains(site.all - then))
    }
}
