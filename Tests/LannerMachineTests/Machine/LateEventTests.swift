import LannerMachine
import Testing

/// Every state against every event that can come too late: nothing may come of it but a note.
@Suite struct LateEventTests {
    static let states: [(name: String, bench: Bench)] = [
        ("suspended", .resting()), ("opening", .opening()), ("requesting", .requesting()),
        ("transferring", .transferring()), ("verifying", .verifying()), ("announcing", .announcing()),
        ("moving", .moving()), ("recording", .recording()), ("succeeded", .succeeded()), ("failed", .failed()),
    ]

    @Test(arguments: states.indices)
    func eventsOfAnOlderAttemptAreIgnored(index: Int) {
        let bench = Self.states[index].bench
        let id = bench.id
        let attempt = (bench.machine[id]?.attempt ?? 0) &- 1
        let events: [Event] = [
            .opened(id, attempt, held: ByteRanges()), .wrote(id, attempt, 0..<1), .synced(id, attempt, ByteRanges()),
            .verified(id, attempt, .correct), .published(id, attempt), .fileFailed(id, attempt, .disk),
            .closed(id, attempt, written: ByteRanges(), synced: ByteRanges()), .recorded(id, attempt),
            .recordFailed(id, attempt, .disk), .discarded(id),
        ]
        for event in events {
            var copy = bench
            #expect(copy.feed(event).isOnlyIgnored, "\(Self.states[index].name) \(event)")
            #expect(copy.state == bench.state)
        }
    }

    @Test(arguments: states.indices)
    func eventsOfUnknownExchangesAreIgnored(index: Int) {
        let bench = Self.states[index].bench
        let id = bench.id
        let events: [Event] = [
            .head(id, 99, .file()), .redirected(id, 99), .received(id, 99, 5), .ended(id, 99, received: 5),
            .exchangeFailed(id, 99, .disk),
        ]
        for event in events {
            var copy = bench
            #expect(copy.feed(event) == [.ignored(id, .unknownExchange(99))], "\(Self.states[index].name) \(event)")
            #expect(copy.state == bench.state)
        }
    }

    @Test func eventsOfUnknownDownloadsAreIgnored() {
        var bench = Bench()
        #expect(bench.feed(.published(bench.id, 1)) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.head(bench.id, 1, .file())) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.reorder([bench.id: 1])) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.expectDigest(bench.id, true)) == [.ignored(bench.id, .unknownDownload)])
    }

    @Test func eventsOfTheCurrentAttemptCanBeLateToo() {
        for (name, bench) in Self.states where name == "suspended" || name == "succeeded" || name == "failed" {
            let attempt = bench.machine[bench.id]?.attempt ?? 0
            let events: [Event] = [
                .opened(bench.id, attempt, held: ByteRanges()), .wrote(bench.id, attempt, 0..<1),
                .synced(bench.id, attempt, ByteRanges()), .verified(bench.id, attempt, .correct),
                .published(bench.id, attempt), .fileFailed(bench.id, attempt, .disk),
                .closed(bench.id, attempt, written: ByteRanges(), synced: ByteRanges()), .recorded(bench.id, attempt),
                .recordFailed(bench.id, attempt, .disk),
            ]
            for event in events {
                var copy = bench
                #expect(copy.feed(event).isOnlyIgnored, "\(name) \(event)")
            }
        }
    }

    @Test func aFileThatFailsAfterItWasMovedHasSucceeded() {
        var bench = Bench.recording()
        #expect(bench.feed(.fileFailed(bench.id, 1, .disk)).isOnlyIgnored)
        #expect(bench.feed(.recorded(bench.id, 1)).phases == [.succeeded])
    }

    @Test func aHeaderThatComesTwiceIsIgnored() {
        var bench = Bench.transferring()
        #expect(bench.feed(.head(bench.id, 1, .file(5))) == [.ignored(bench.id, .unknownExchange(1))])
    }

    @Test func stopComesNoMoreForAnExchangeThatFailed() {
        var bench = Bench.transferring()
        let actions = bench.feed(.exchangeFailed(bench.id, 1, Failure(.transport(.connectionLost), "")))
        #expect(!actions.contains(.stop(bench.id, 1, keepBytes: true)))
        #expect(actions.contains(.close(bench.id, 1, sync: true)))
    }
}
