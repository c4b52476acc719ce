import LannerMachine
import Testing

@Suite struct RetryPolicyTests {
    let policy = RetryPolicy()

    @Test(arguments: [
        (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 16.0), (6, 32.0), (7, 60.0), (8, 60.0), (64, 60.0), (Int.max, 60.0),
        (0, 1.0), (Int.min, 1.0),
    ])
    func halfTheDelayIsFixedAndHalfRandom(_ failures: Int, _ seconds: Double) {
        #expect(policy.delay(failures: failures, random: 0) == .seconds(seconds / 2))
        #expect(policy.delay(failures: failures, random: 1 << 63) == .seconds(seconds * 3 / 4))
        let most = policy.delay(failures: failures, random: .max)
        #expect(most < .seconds(seconds) && most > .seconds(seconds * 0.999_999))
    }

    @Test func randomDelaysCoverTheHalf() {
        var generator = SeededGenerator(seed: 7)
        let delays = (0..<1000).map { _ in policy.delay(failures: 3, random: generator.next()) }
        #expect(delays.allSatisfy { $0 >= .seconds(2) && $0 < .seconds(4) })
        for quarter in 0..<4 {
            let from = Duration.seconds(2) + .milliseconds(500) * quarter
            let hits = delays.filter { $0 >= from && $0 < from + .milliseconds(500) }.count
            #expect(200...300 ~= hits)
        }
    }

    @Test(
        arguments: [
            (nil, 1), (.seconds(0), 1), (.milliseconds(10), 1), (.seconds(30), 30), (.seconds(3600), 3600),
            (.seconds(86_400), 3600), (.seconds(-5), 1),
        ] as [(Duration?, Int64)])
    func aServerMayAskForMoreButNotForLess(_ asked: Duration?, _ seconds: Int64) {
        let delay = policy.delay(failures: 2, retryAfter: asked, random: 0)
        #expect(delay == .seconds(seconds))
    }

    @Test func aServerIsNotListenedToWhenToldSo() {
        let deaf = RetryPolicy(maximumRetryAfter: .zero)
        #expect(deaf.delay(failures: 2, retryAfter: .seconds(30), random: 0) == .seconds(1))
    }

    @Test(arguments: [
        (Duration.seconds(-1), Duration.seconds(60), Duration.zero), (.zero, .seconds(60), .zero),
        (.seconds(90), .seconds(60), .seconds(30)), (.seconds(1), .seconds(-1), .zero),
        (.seconds(Int64.max), .seconds(Int64.max), .seconds(365 * 43_200)), (.seconds(Int64.min), .seconds(1), .zero),
        (.nanoseconds(1), .seconds(Int64.max), .seconds(365 * 43_200)),
    ])
    func nonsenseIsMovedToTheNearestSense(_ base: Duration, _ maximum: Duration, _ least: Duration) {
        let policy = RetryPolicy(baseDelay: base, maximumDelay: maximum, maximumRetryAfter: .seconds(Int64.min))
        #expect(policy.delay(failures: .max, retryAfter: .seconds(Int64.max), random: 0) == least)
        #expect(policy.delay(failures: .max, random: .max) >= least)
    }

    @Test func theCountIsBounded() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        for failures in 1...5 {
            let expected = policy.delay(failures: failures, random: 9)
            #expect(policy.decide(lost, failures: failures, random: 9) == .retry(after: expected))
        }
        #expect(policy.decide(lost, failures: 6, random: 9) == .fail)
        #expect(RetryPolicy.never.decide(lost, failures: 1, random: 9) == .fail)
        let stubborn = RetryPolicy(maximumRetries: nil)
        #expect(stubborn.decide(lost, failures: .max, random: 0) == .retry(after: .seconds(30)))
        #expect(RetryPolicy(maximumRetries: -1).decide(lost, failures: 1, random: 0) == .fail)
    }

    @Test func onlyTheseStatusesAreRetried() {
        let retried = (0...999).filter { DownloadFailure.Reason.status($0).isWorthRetrying }
        // An unknown status is the 500 of its class (RFC 9110, 15); 501, 505 to 508 and 510 are known.
        #expect(retried == [408, 421, 425, 429, 500, 502, 503, 504, 509] + Array(511...599))
    }

    @Test func onlyTheseFaultsAreRetried() {
        let retried = TransportFault.allCases.filter { DownloadFailure.Reason.transport($0).isWorthRetrying }
        #expect(
            retried == [
                .timedOut, .connectionLost, .cannotConnect, .cannotFindHost, .notConnected, .lengthMismatch, .other,
            ])
        let others: [DownloadFailure.Reason] = [
            .unusableResponse, .redirect, .checksumMismatch, .store, .disk(.noSpace),
        ]
        #expect(others.allSatisfy { !$0.isWorthRetrying })
        #expect(DownloadFailure.Reason.link.isWorthRetrying)
        #expect(policy.decide(DownloadFailure(.checksumMismatch, ""), failures: 1, random: 0) == .fail)
    }
}

@Suite struct SeededGeneratorTests {
    /// The sequence that the published algorithm gives.
    @Test func givesTheKnownSequence() {
        var generator = SeededGenerator(seed: 1_234_567)
        let known: [UInt64] = [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ]
        #expect(known.map { _ in generator.next() } == known)
        var (one, other) = (SeededGenerator(seed: .max), SeededGenerator(seed: .max))
        #expect(one == other && one.next() == other.next() && one.next() != other.next() &+ 1)
    }
}
