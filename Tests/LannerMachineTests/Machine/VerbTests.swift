import LannerMachine
import Testing

@Suite struct VerbTests {
    /// Others see at once that it is on its way out, and may have its place.
    @Test func whatIsMovedAndNotWantedIsOnItsWayOut() {
        var bench = Bench.moving()
        #expect(bench.verb(.suspend).phases == [])
        #expect(bench.verb(.cancel).phases == [.willCancel])
        #expect(bench.verb(.remove(completely: true)).phases == [.willRemove])
        #expect(bench.phase == .willRemove && bench.verb(.start).phases == [])
    }

    @Test func startWaitsForASlotAndGetsOne() {
        var bench = Bench.resting()
        #expect(
            bench.verb(.start, 7) == [
                .tell(bench.id, .status(.waiting(.slot))),
                .store(bench.id, 0, .record(Saved(status: .active), .status)),
                .answer(7),
                .tell(bench.id, .status(.running)),
                .file(bench.id, 1, .open(generation: 1, claimed: ByteRanges(), total: nil)),
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
                .transport(bench.id, .stop(1, keepBytes: true)),
                .file(bench.id, 1, .close(sync: true)),
                .tell(bench.id, .status(.willSuspend)),
            ])
        let end = bench.closed(1, 0..<10)
        #expect(end.answers == [7])
        #expect(end.phases == [.suspended])
        #expect(end.records.last?.written == ByteRanges([0..<10]))
        #expect(bench.machine.running.isEmpty)
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
                .transport(bench.id, .stop(1, keepBytes: false)),
                .file(bench.id, 1, .close(sync: false)),
                .tell(bench.id, .status(.willCancel)),
            ])
        #expect(bench.closed().last == .store(bench.id, 1, .unrecord))
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.file(bench.id, 1, .discard(finished: false))])
        #expect(
            bench.feed(.file(bench.id, 1, .discarded)) == [
                .tell(bench.id, .status(.canceled)), .answer(7),
            ])
        #expect(bench.machine.count == 0)
    }

    private static let keeping = Settings().with { $0.cancelKeepsBytes = true }

    @Test func aCancelThatKeepsBytesMarksTheRecord() {
        var bench = Bench.transferring(Self.keeping)
        #expect(
            bench.verb(.cancel, 7) == [
                .transport(bench.id, .stop(1, keepBytes: true)),
                .file(bench.id, 1, .close(sync: true)),
                .tell(bench.id, .status(.willCancel)),
            ])
        guard case .store(_, 1, .record(let saved, .confirmed)) = bench.closed(1, 0..<10).last else {
            Issue.record("nothing was recorded")
            return
        }
        #expect(saved.isLeftover && saved.written == ByteRanges([0..<10]) && saved.status == .suspended)
        #expect(
            bench.feed(.store(bench.id, 1, .recorded)) == [
                .tell(bench.id, .status(.canceled)), .answer(7),
            ])
        #expect(bench.machine.count == 0)
    }

    @Test func aCancelThatKeepsBytesKeepsNoneWhereThereAreNone() {
        var bench = Bench.resting(Self.keeping)
        #expect(bench.verb(.cancel).last == .store(bench.id, 0, .unrecord))
        var other = Bench.transferring(Self.keeping)
        other.verb(.cancel)
        #expect(other.closed().last == .store(other.id, 1, .unrecord))
    }

    @Test func aRemovalWhileTheRecordIsMarkedRemoves() {
        var bench = Bench.resting(Self.keeping, saved: .holding(0..<10))
        bench.verb(.cancel, 1)
        #expect(bench.verb(.remove(completely: false), 2).phases == [.willRemove])
        #expect(bench.feed(.store(bench.id, 0, .recorded)) == [.store(bench.id, 0, .unrecord)])
        #expect(bench.feed(.store(bench.id, 0, .recorded)) == [.file(bench.id, 0, .discard(finished: false))])
        #expect(bench.feed(.file(bench.id, 0, .discarded)).answers == [1, 2])
    }

    @Test func theAttemptsOfATakenOverDownloadGoOn() {
        var bench = Bench.resting()
        let id = DownloadID(99)
        bench.feed(.add([NewDownload(id: id, rank: 0, lastAttempt: 7, saved: .holding(0..<10))]))
        let actions = bench.feed(.user(.start, [id], nil))
        #expect(actions.last == .file(id, 8, .open(generation: 1, claimed: ByteRanges([0..<10]), total: 1000)))
    }

    @Test func cancelOfWhatNeverHadAFileDiscardsNone() {
        var bench = Bench.resting()
        #expect(bench.verb(.cancel) == [.tell(bench.id, .status(.willCancel)), .store(bench.id, 0, .unrecord)])
        let end = bench.feed(.store(bench.id, 0, .recorded))
        #expect(end == [.tell(bench.id, .status(.canceled))])
    }

    @Test func aRecordThatCannotBeRemovedDoesNotKeepTheDownload() {
        var bench = Bench.resting()
        bench.verb(.cancel, 7)
        #expect(bench.feed(.store(bench.id, 0, .failed(DownloadFailure(.store, "")))).answers == [7])
        #expect(bench.machine.count == 0)
    }

    @Test func removeTakesTheFinishedFileOnlyWhenAsked() {
        for isComplete in [false, true] {
            var bench = Bench.resting(saved: .holding(0..<1000, status: .succeeded))
            bench.verb(.remove(completely: isComplete))
            #expect(bench.feed(.store(bench.id, 0, .recorded)) == [.file(bench.id, 0, .discard(finished: isComplete))])
            #expect(bench.feed(.file(bench.id, 0, .discarded)).phases == [.removed])
        }
    }

    @Test func theStrongerVerbStays() {
        var bench = Bench.transferring()
        bench.verb(.suspend, 1)
        #expect(bench.verb(.cancel, 2).phases == [.willCancel])
        #expect(bench.verb(.suspend, 3).isEmpty)
        bench.closed()
        bench.feed(.store(bench.id, 1, .recorded))
        #expect(bench.feed(.file(bench.id, 1, .discarded)).answers == [1, 2, 3])
    }

    @Test func startDuringASuspendRunsAgain() {
        var bench = Bench.transferring()
        bench.verb(.suspend, 1)
        #expect(bench.verb(.start, 2) == [.tell(bench.id, .status(.waiting(.slot))), .answer(2)])
        let actions = bench.closed(1, 0..<10)
        #expect(actions.answers == [1])
        #expect(actions.last == .file(bench.id, 2, .open(generation: 1, claimed: ByteRanges([0..<10]), total: 1000)))
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
        #expect(bench.feed(.file(bench.id, 1, .published)).answers.isEmpty)
        let end = bench.feed(.store(bench.id, 1, .recorded))
        #expect(end.answers == [7])
        #expect(end.phases == [.succeeded])
    }

    @Test func cancelWhileTheFileIsMovedTakesItAwayAgain() {
        var bench = Bench.moving()
        #expect(bench.verb(.cancel, 7) == [.tell(bench.id, .status(.willCancel))])
        bench.feed(.file(bench.id, 1, .published))
        #expect(bench.feed(.store(bench.id, 1, .recorded)).last == .store(bench.id, 1, .unrecord))
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.file(bench.id, 1, .discard(finished: true))])
        #expect(bench.feed(.file(bench.id, 1, .discarded)).answers == [7])
    }

    @Test func aStrongerVerbWhileTheFilesAreRemovedIsDoneToo() {
        var bench = Bench.resting(saved: .holding(0..<1000, status: .succeeded))
        bench.verb(.remove(completely: false), 1)
        bench.feed(.store(bench.id, 0, .recorded))
        bench.verb(.remove(completely: true), 2)
        #expect(bench.feed(.file(bench.id, 0, .discarded)) == [.file(bench.id, 0, .discard(finished: true))])
        #expect(bench.feed(.file(bench.id, 0, .discarded)).answers == [1, 2])
    }

    @Test func aFileThatIsGoneIsDownloadedAgain() {
        var bench = Bench.succeeded()
        let actions = bench.verb(.downloadAgain(starts: true), 7)
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.records.map(\.status) == [.active])
        #expect(actions.answers == [7])
        #expect(actions.last == .file(bench.id, 2, .open(generation: 2, claimed: ByteRanges(), total: nil)))
    }

    @Test func downloadingAgainIsForWhatHasSucceeded() {
        for var bench in [Bench.resting(), .opening(), .transferring(), .verifying(), .moving(), .failed()] {
            #expect(bench.verb(.downloadAgain(starts: true), 7) == [.answer(7)])
        }
    }

    @Test func startAgainTrustsTheServerWithRangesAgain() {
        var bench = Bench.gettingWhole()
        bench.feed(.file(bench.id, 4, .wrote(0..<500)))
        bench.verb(.suspend)
        bench.closed(4, 0..<500)
        #expect(
            bench.verb(.start).last
                == .file(bench.id, 5, .open(generation: 2, claimed: ByteRanges([0..<500]), total: 1000)))
    }
}

@Suite struct TicketTests {
    @Test func aTicketOverManyIsAnsweredWhenTheLastRests() {
        var bench = Bench(Settings())
        let ids = (1...3).map { DownloadID($0) }
        bench.feed(.add(ids.map { NewDownload(id: $0, rank: 0) }))
        bench.feed(.user(.start, Array(ids[0..<2]), nil))
        #expect(bench.feed(.user(.suspend, ids, 9)).answers.isEmpty)
        #expect(bench.feed(.file(ids[1], 1, .closed(written: ByteRanges(), synced: ByteRanges()))).answers.isEmpty)
        #expect(bench.feed(.file(ids[0], 1, .closed(written: ByteRanges(), synced: ByteRanges()))).answers == [9])
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
        let actions = bench.feed(.file(bench.id, 1, .failed(DownloadFailure(.disk(.notPermitted), ""))))
        #expect(actions.answers == [3])
        #expect(bench.machine.running.isEmpty)
    }

    @Test(arguments: [Verb.cancel, .remove(completely: true)], [false, true])
    func whatIsNotWantedAnyMoreIsNotMoved(_ verb: Verb, keepsBytes: Bool) {
        let settings = Settings().with { $0.cancelKeepsBytes = keepsBytes }
        let isKept = keepsBytes && verb == .cancel
        var bench = Bench.announcing(settings)
        bench.verb(verb, 7)
        #expect(bench.feed(.store(bench.id, 1, .recorded)).first == .file(bench.id, 1, .close(sync: isKept)))

        bench = Bench.moving(settings)
        bench.feed(.file(bench.id, 1, .placeTaken))
        bench.verb(verb, 7)
        let actions = bench.feed(.store(bench.id, 1, .recorded))
        #expect(actions.contains(.file(bench.id, 1, .publish)) == false)
        #expect(actions.contains(.store(bench.id, 1, .unrecord)) == !isKept)
    }

    /// Who removes only the task wants its file.
    @Test func whatIsOnlyNoTaskAnyMoreIsMoved() {
        var bench = Bench.announcing()
        bench.verb(.remove(completely: false))
        #expect(bench.feed(.store(bench.id, 1, .recorded)).contains(.file(bench.id, 1, .publish)))
    }

    @Test func aTicketIsAnsweredWhenTheIntentToPublishIsNotRecorded() {
        var bench = Bench.announcing()
        bench.verb(.suspend, 3)
        #expect(
            bench.feed(.store(bench.id, 1, .failed(DownloadFailure(.store, "")))).first
                == .file(bench.id, 1, .close(sync: true)))
        #expect(bench.closed(1, 0..<1000).answers == [3])
    }
}
