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
            .file(id, attempt, .opened(held: ByteRanges())), .file(id, attempt, .wrote(0..<1)),
            .file(id, attempt, .synced(ByteRanges())),
            .file(id, attempt, .verified(.correct)), .file(id, attempt, .published), .file(id, attempt, .failed(.disk)),
            .file(id, attempt, .closed(written: ByteRanges(), synced: ByteRanges())), .store(id, attempt, .recorded),
            .store(id, attempt, .failed(.disk)), .file(id, attempt, .discarded),
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
            .exchange(id, 99, .head(.file())), .exchange(id, 99, .redirected), .exchange(id, 99, .received(5)),
            .exchange(id, 99, .ended(received: 5)), .exchange(id, 99, .failed(.disk)), .exchange(id, 99, .holds(5)),
            .exchange(id, 99, .resumeData([1])),
        ]
        for event in events {
            var copy = bench
            #expect(copy.feed(event) == [.ignored(id, .unknownExchange(99))], "\(Self.states[index].name) \(event)")
            #expect(copy.state == bench.state)
        }
    }

    @Test(arguments: states.indices)
    func whatEarlierProcessesHaveLeftIsIgnoredByWhoIsUnderWay(index: Int) {
        let (name, bench) = Self.states[index]
        if name == "suspended" { return }
        var copy = bench
        let actions = copy.feed(.inherit(bench.id, Legacy([1], held: 5)))
        #expect(actions == [.ignored(bench.id, .late("inherit"))], "\(name)")
        #expect(copy.state == bench.state)
    }

    @Test func eventsOfUnknownDownloadsAreIgnored() {
        var bench = Bench()
        #expect(bench.feed(.file(bench.id, 1, .published)) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file()))) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.reorder([bench.id: 1])) == [.ignored(bench.id, .unknownDownload)])
        #expect(bench.feed(.expectDigest(bench.id, true)) == [.ignored(bench.id, .unknownDownload)])
    }

    @Test func eventsOfTheCurrentAttemptCanBeLateToo() {
        for (name, bench) in Self.states where name == "suspended" || name == "succeeded" || name == "failed" {
            let attempt = bench.machine[bench.id]?.attempt ?? 0
            let events: [Event] = [
                .file(bench.id, attempt, .opened(held: ByteRanges())), .file(bench.id, attempt, .wrote(0..<1)),
                .file(bench.id, attempt, .synced(ByteRanges())), .file(bench.id, attempt, .verified(.correct)),
                .file(bench.id, attempt, .published), .file(bench.id, attempt, .failed(.disk)),
                .file(bench.id, attempt, .closed(written: ByteRanges(), synced: ByteRanges())),
                .store(bench.id, attempt, .recorded),
                .store(bench.id, attempt, .failed(.disk)),
            ]
            for event in events {
                var copy = bench
                #expect(copy.feed(event).isOnlyIgnored, "\(name) \(event)")
            }
        }
    }

    @Test func aFileThatFailsAfterItWasMovedHasSucceeded() {
        var bench = Bench.recording()
        #expect(bench.feed(.file(bench.id, 1, .failed(.disk))).isOnlyIgnored)
        #expect(bench.feed(.store(bench.id, 1, .recorded)).phases == [.succeeded])
    }

    @Test func aHeaderThatComesTwiceIsIgnored() {
        var bench = Bench.transferring()
        #expect(bench.feed(.exchange(bench.id, 1, .head(.file(5)))) == [.ignored(bench.id, .unknownExchange(1))])
    }

    @Test func stopComesNoMoreForAnExchangeThatFailed() {
        var bench = Bench.transferring()
        let actions = bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        #expect(!actions.contains(.transport(bench.id, .stop(1, keepBytes: true))))
        #expect(actions.contains(.file(bench.id, 1, .close(sync: true))))
    }
}
