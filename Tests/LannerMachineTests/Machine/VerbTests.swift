import LannerMachine
import Testing

@Suite struct VerbTests {
    @Test func startWaitsForASlotAndGetsOne() {
        var bench = Bench.resting()
        #expect(
            bench.verb(.start, 7) == [
                .tell(bench.id, .status(.waiting(.slot))),
                .record(bench.id, 0, Saved(status: .active), .status),
                .answer(7),
                .tell(bench.id, .status(.running)),
                .open(bench.id, 1, generation: 1, claimed: ByteRanges(), total: nil),
            ])
    }

    @Test func startOnWhatRunsDoesNothing() {
        for var bench in [Bench.opening(), .requesting(), .transferring(), .verifying(), .moving(), .succeeded()] {
            #expect(bench.verb(.start, 7) == [.answer(7)])
        }
    }

    @Test func suspendStopsTheExchangeAndClosesTheFile() {
        var bench = Bench.transferring()
        #expect(
            bench.verb(.suspend, 7) == [
                .stop(bench.id, 1, keepBytes: true),
                .close(bench.id, 1, sync: true),
                .tell(bench.id, .status(.willSuspend)),
            ])
        let end = bench.closed(1, 0..<10)
        #expect(end.answers == [7])
        #expect(end.phases == [.suspended])
        #expect(end.records.last?.written == ByteRanges([0..<10]))
        #expect(bench.machine.runningCount == 0)
    }

    @Test func suspendOfAWaitingDownloadNeedsNoFile() {
        var bench = Bench(Settings().with { $0.maximumRunning = 0 })
        bench.feed(.add([NewDownload(id: bench.id, rank: 0)]))
        bench.verb(.start)
        let actions = bench.verb(.suspend, 7)
        #expect(actions.phases == [.suspended])
        #expect(actions.answers == [7])
    }

    @Test(arguments: [Verb.suspend, .cancel])
    func whatHasNothingToDoIsAnsweredAtOnce(verb: Verb) {
        var bench = Bench.succeeded()
        #expect(bench.verb(verb, 7) == [.answer(7)])
        #expect(bench.state == .succeeded)
    }

    @Test func cancelForgetsTheRecordThenTheFiles() {
        var bench = Bench.transferring()
        #expect(
            bench.verb(.cancel, 7) == [
                .stop(bench.id, 1, keepBytes: false),
                .close(bench.id, 1, sync: false),
                .tell(bench.id, .status(.willCancel)),
            ])
        #expect(bench.closed().last == .unrecord(bench.id, 1))
        #expect(bench.feed(.recorded(bench.id, 1)) == [.discard(bench.id, finished: false)])
        #expect(
            bench.feed(.discarded(bench.id)) == [
                .tell(bench.id, .status(.canceled)), .forget(bench.id), .answer(7),
            ])
        #expect(bench.machine.count == 0)
    }

    @Test func cancelOfWhatNeverHadAFileDiscardsNone() {
        var bench = Bench.resting()
        #expect(bench.verb(.cancel) == [.tell(bench.id, .status(.willCancel)), .unrecord(bench.id, 0)])
        let end = bench.feed(.recorded(bench.id, 0))
        #expect(end == [.tell(bench.id, .status(.canceled)), .forget(bench.id)])
    }

    @Test func aRecordThatCannotBeRemovedDoesNotKeepTheDownload() {
        var bench = Bench.resting()
        bench.verb(.cancel, 7)
        #expect(bench.feed(.recordFailed(bench.id, 0, Failure(.store, ""))).answers == [7])
        #expect(bench.machine.count == 0)
    }

    @Test func removeTakesTheFinishedFileOnlyWhenAsked() {
        for isComplete in [false, true] {
            var bench = Bench.resting(saved: .holding(0..<1000, status: .succeeded))
            bench.verb(.remove(completely: isComplete))
            #expect(bench.feed(.recorded(bench.id, 0)) == [.discard(bench.id, finished: isComplete)])
            #expect(bench.feed(.discarded(bench.id)).phases == [.removed])
        }
    }

    @Test func theStrongerVerbStays() {
        var bench = Bench.transferring()
        bench.verb(.suspend, 1)
        #expect(bench.verb(.cancel, 2).phases == [.willCancel])
        #expect(bench.verb(.suspend, 3).isEmpty)
        bench.closed()
        bench.feed(.recorded(bench.id, 1))
        #expect(bench.feed(.discarded(bench.id)).answers == [1, 2, 3])
    }

    @Test func startDuringASuspendRunsAgain() {
        var bench = Bench.transferring()
        bench.verb(.suspend, 1)
        #expect(bench.verb(.start, 2) == [.tell(bench.id, .status(.waiting(.slot))), .answer(2)])
        let actions = bench.closed(1, 0..<10)
        #expect(actions.answers == [1])
        #expect(actions.last == .open(bench.id, 2, generation: 1, claimed: ByteRanges([0..<10]), total: 1000))
    }

    @Test func startDoesNotUndoACancel() {
        var bench = Bench.transferring()
        bench.verb(.cancel)
        #expect(bench.verb(.start, 2) == [.answer(2)])
        #expect(bench.phase == .willCancel)
    }

    @Test func suspendWhileTheFileIsMovedIsAnsweredWhenItIsDone() {
        var bench = Bench.moving()
        #expect(bench.verb(.suspend, 7).isEmpty)
        #expect(bench.feed(.published(bench.id, 1)).answers.isEmpty)
        let end = bench.feed(.recorded(bench.id, 1))
        #expect(end.answers == [7])
        #expect(end.phases == [.succeeded])
    }

    @Test func cancelWhileTheFileIsMovedTakesItAwayAgain() {
        var bench = Bench.moving()
        #expect(bench.verb(.cancel, 7).isEmpty)
        bench.feed(.published(bench.id, 1))
        #expect(bench.feed(.recorded(bench.id, 1)).last == .unrecord(bench.id, 1))
        #expect(bench.feed(.recorded(bench.id, 1)) == [.discard(bench.id, finished: true)])
        #expect(bench.feed(.discarded(bench.id)).answers == [7])
    }

    @Test func aStrongerVerbWhileTheFilesAreRemovedIsDoneToo() {
        var bench = Bench.resting(saved: .holding(0..<1000, status: .succeeded))
        bench.verb(.remove(completely: false), 1)
        bench.feed(.recorded(bench.id, 0))
        bench.verb(.remove(completely: true), 2)
        #expect(bench.feed(.discarded(bench.id)) == [.discard(bench.id, finished: true)])
        #expect(bench.feed(.discarded(bench.id)).answers == [1, 2])
    }

    @Test func aFileThatIsGoneIsDownloadedAgain() {
        var bench = Bench.succeeded()
        let actions = bench.verb(.downloadAgain, 7)
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.records.map(\.status) == [.active])
        #expect(actions.answers == [7])
        #expect(actions.last == .open(bench.id, 2, generation: 2, claimed: ByteRanges(), total: nil))
    }

    @Test func downloadingAgainIsForWhatHasSucceeded() {
        for var bench in [Bench.resting(), .opening(), .transferring(), .verifying(), .moving(), .failed()] {
            #expect(bench.verb(.downloadAgain, 7) == [.answer(7)])
        }
    }

    @Test func startAgainTrustsTheServerWithRangesAgain() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        bench.feed(.head(bench.id, 1, .part(0..<10, of: 1000)))
        bench.feed(.opened(bench.id, 2, held: ByteRanges()))
        bench.feed(.head(bench.id, 2, .file()))
        bench.feed(.wrote(bench.id, 2, 0..<500))
        bench.verb(.suspend)
        bench.closed(2, 0..<500)
        #expect(
            bench.verb(.start).last == .open(bench.id, 3, generation: 2, claimed: ByteRanges([0..<500]), total: 1000))
    }
}

@Suite struct TicketTests {
    @Test func aTicketOverManyIsAnsweredWhenTheLastRests() {
        var bench = Bench(Settings())
        let ids = (1...3).map { DownloadID($0) }
        bench.feed(.add(ids.map { NewDownload(id: $0, rank: 0) }))
        bench.feed(.user(.start, Array(ids[0..<2]), nil))
        #expect(bench.feed(.user(.suspend, ids, 9)).answers.isEmpty)
        #expect(bench.feed(.closed(ids[1], 1, written: ByteRanges(), synced: ByteRanges())).answers.isEmpty)
        #expect(bench.feed(.closed(ids[0], 1, written: ByteRanges(), synced: ByteRanges())).answers == [9])
    }

    @Test func aTicketForNobodyIsAnsweredAtOnce() {
        var bench = Bench()
        #expect(bench.feed(.user(.suspend, [], 1)) == [.answer(1)])
        #expect(bench.feed(.user(.suspend, [DownloadID(5)], 2)) == [.answer(2)])
    }

    @Test func unknownDownloadsDoNotHoldATicket() {
        var bench = Bench.resting()
        #expect(bench.feed(.user(.suspend, [DownloadID(5), bench.id], 2)) == [.answer(2)])
    }

    @Test func aDownloadNamedTwiceCountsTwice() {
        var bench = Bench.transferring()
        #expect(bench.feed(.user(.suspend, [bench.id, bench.id], 2)).answers.isEmpty)
        #expect(bench.closed().answers == [2])
    }

    @Test func aTicketIsAnsweredWhenPublishingFails() {
        var bench = Bench.moving()
        bench.verb(.suspend, 3)
        let actions = bench.feed(.fileFailed(bench.id, 1, Failure(.disk(.notPermitted), "")))
        #expect(actions.answers == [3])
        #expect(bench.machine.runningCount == 0)
    }

    @Test func aTicketIsAnsweredWhenTheIntentToPublishIsNotRecorded() {
        var bench = Bench.announcing()
        bench.verb(.suspend, 3)
        #expect(bench.feed(.recordFailed(bench.id, 1, Failure(.store, ""))).first == .close(bench.id, 1, sync: true))
        #expect(bench.closed(1, 0..<1000).answers == [3])
    }
}
