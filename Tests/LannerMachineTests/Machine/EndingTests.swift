import LannerMachine
import Testing

@Suite struct EndingTests {
    private let full = DownloadFailure(.disk(.noSpace), "")
    private let store = DownloadFailure(.store, "")
    private let gone = DownloadFailure(.disk(.notFound), "")

    // MARK: Success

    @Test func successIsVerifiedAnnouncedMovedAndRecorded() {
        var bench = Bench.verifying()
        let verified = bench.feed(.file(bench.id, 1, .verified(.sizeOnly)))
        #expect(verified.records.map(\.status) == [.publishing])
        #expect(!verified.contains(.file(bench.id, 1, .publish)))
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.file(bench.id, 1, .publish)])
        #expect(bench.feed(.file(bench.id, 1, .published)).records.map(\.status) == [.succeeded])
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.tell(bench.id, .status(.succeeded))])
        #expect(bench.machine.running.isEmpty)
    }

    @Test("N-10: a file whose place is taken is announced again before it is moved")
    func aTakenPlaceIsAnnouncedAgain() {
        var bench = Bench.moving()
        #expect(bench.feed(.file(bench.id, 1, .placeTaken)).records.map(\.status) == [.publishing])
        #expect(bench.feed(.file(bench.id, 1, .placeTaken)) == [.ignored(bench.id, .late("placeTaken"))])
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.file(bench.id, 1, .publish)])
        #expect(bench.feed(.file(bench.id, 1, .published)).records.map(\.status) == [.succeeded])
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.tell(bench.id, .status(.succeeded))])
    }

    @Test("N-10: what was asked while a place was taken is done when that cannot be recorded")
    func aPlaceThatCannotBeAnnouncedAgain() {
        var bench = Bench.moving()
        bench.feed(.file(bench.id, 1, .placeTaken))
        var other = bench
        // No file is open: nothing has to be closed.
        #expect(bench.feed(.store(bench.id, 1, .failed(store))).phases == [.failed(store)])
        other.feed(.user(.cancel, [other.id], 7))
        #expect(other.feed(.store(other.id, 1, .failed(store))).contains(.store(other.id, 1, .unrecord)))
    }

    @Test func aSuccessThatCannotBeRecordedIsTriedThreeTimes() {
        var bench = Bench.recording()
        for _ in 0..<2 {
            #expect(bench.feed(.store(bench.id, 1, .failed(store))).phases.isEmpty)
            #expect(!bench.pass(.milliseconds(999)).contains(.file(bench.id, 1, .publish)))
            #expect(bench.pass(.milliseconds(1)).contains(.file(bench.id, 1, .publish)))
            #expect(bench.feed(.file(bench.id, 1, .published)).records.map(\.status) == [.succeeded])
        }
        let end = bench.feed(.store(bench.id, 1, .failed(store)))
        #expect(end.phases == [.failed(store)])
        // The file is in its place: a launch after this finds it.
        #expect(end.records.map(\.status) == [.failed(store)])
        #expect(end.records.map(\.isPublished) == [true])
        #expect(bench.machine.running.isEmpty)
    }

    @Test func recordsThatFindNoSpaceWaitForIt() {
        let settings = Settings().with { $0.waitsForDiskSpace = true }
        var bench = Bench.announcing(settings)
        var stopped = bench
        #expect(bench.feed(.store(bench.id, 1, .failed(full))).phases == [.waiting(.disk(until: .seconds(30)))])
        stopped.verb(.suspend)
        stopped.feed(.store(stopped.id, 1, .failed(full)))
        #expect(stopped.closed(1, 0..<1000).phases == [.suspended])
        var moved = Bench.recording(settings)
        for _ in 0..<2 {
            #expect(moved.feed(.store(moved.id, 1, .failed(full))).phases.isEmpty)
            moved.pass(.seconds(1))
            moved.feed(.file(moved.id, 1, .published))
        }
        let end = moved.feed(.store(moved.id, 1, .failed(full)))
        #expect(end.phases == [.waiting(.disk(until: .seconds(32)))] && end.records.map(\.isPublished) == [true])
        #expect(moved.pass(.seconds(30)).contains(.file(moved.id, 2, .publish)))
    }

    /// A failed download whose file is in its place.
    private func unconfirmed(_ failure: DownloadFailure = .disk) -> Bench {
        var bench = Bench.moving()
        let end = bench.feed(.file(bench.id, 1, .unconfirmed(failure)))
        #expect(end.phases == [.failed(failure)])
        #expect(end.records.map(\.status) == [.failed(failure)] && end.records.map(\.isPublished) == [true])
        return bench
    }

    /// The directory may be gone, or seem so: fetching the file again would not help.
    @Test(arguments: [DiskFault.inputOutput, .notFound])
    func aNameThatCannotBeKeptIsTriedAgainWithoutAnotherTransfer(fault: DiskFault) {
        var bench = unconfirmed(DownloadFailure(.disk(fault), ""))
        let actions = bench.verb(.start)
        #expect(actions.contains(.file(bench.id, 2, .publish)))
        #expect(!actions.contains { if case .file(_, _, .open) = $0 { true } else { false } })
        #expect(bench.feed(.file(bench.id, 2, .published)).records.map(\.isPublished) == [false])
        #expect(bench.feed(.store(bench.id, 2, .recorded)).phases == [.succeeded])
    }

    @Test func aNameThatCannotBeKeptWaitsForSpace() {
        var bench = Bench.moving(Settings().with { $0.waitsForDiskSpace = true })
        let end = bench.feed(.file(bench.id, 1, .unconfirmed(DownloadFailure(.disk(.noSpace), ""))))
        #expect(end.records.map(\.isPublished) == [true] && end.records.map(\.status) == [.active])
        #expect(bench.pass(Pace.diskWait).contains(.file(bench.id, 2, .publish)))
    }

    @Test func whatIsCanceledMeanwhileLeavesNoFileInItsPlace() {
        var bench = Bench.moving()
        bench.verb(.cancel)
        bench.feed(.file(bench.id, 1, .unconfirmed(.disk)))
        #expect(bench.feed(.store(bench.id, 1, .recorded)).contains(.file(bench.id, 1, .discard(finished: true))))
    }

    /// Not before the store has it that the file in its place is another's: an earlier record of a success may be there.
    private func isFetchedAgain(_ bench: inout Bench, _ reason: RestartReason) -> Bool {
        let start = bench.verb(.start)
        #expect(start.records.map(\.status).last == .active && start.records.map(\.isPublished).last == false)
        #expect(!start.contains { if case .file = $0 { true } else { false } })
        let actions = bench.feed(.store(bench.id, 2, .recorded))
        let opens = actions.contains { if case .file(_, _, .open(_, ByteRanges(), _)) = $0 { true } else { false } }
        let withdraws = actions.contains { if case .file(_, _, .withdraw) = $0 { true } else { false } }
        return opens && withdraws && actions.restarts == [reason]
    }

    @Test func whatIsInItsPlaceIsNotTakenForThatOfAnotherURL() {
        var bench = unconfirmed()
        bench.feed(.readdress(bench.id, HostID(2)))
        #expect(bench.feed(.expectDigest(bench.id, false)).records.map(\.isPublished) == [false])
        #expect(isFetchedAgain(&bench, .otherURL))
        // A digest tells: it is compared where the file is.
        var other = unconfirmed()
        other.feed(.readdress(other.id, HostID(2)))
        #expect(other.feed(.expectDigest(other.id, true)).records.map(\.isPublished) == [true])
        #expect(other.verb(.start).contains(.file(other.id, 2, .publish)))
    }

    /// The process ended before it could say so: that is recorded, which takes no slot of all, and only then told.
    @Test func whatWasFoundInItsPlaceIsRecordedBeforeItIsTold() {
        var bench = Bench()
        let saved = Saved(status: .publishing, generation: 1, total: 1000)
        bench.feed(.add([NewDownload(id: bench.id, rank: 0, saved: saved, isMoving: true)]))
        #expect(bench.machine[bench.id]?.phase == .running)
        #expect(bench.machine.heldSlots == 0 && bench.machine.running == [bench.id])
        let actions = bench.feed(.file(bench.id, 0, .published))
        #expect(actions.records.map(\.status) == [.succeeded] && actions.phases.isEmpty)
        #expect(bench.feed(.store(bench.id, 0, .recorded)).phases == [.succeeded])
        #expect(bench.machine.running.isEmpty)
    }

    @Test func whatIsInItsPlaceIsNotTakenForOtherPieces() {
        var bench = unconfirmed()
        #expect(bench.feed(.expectPieces(bench.id, sizes: 1...1000)).records.map(\.isPublished) == [false])
        #expect(isFetchedAgain(&bench, .bytesLost))
    }

    @Test func whatIsNotAskedForStaysInItsPlaceWhileThatCannotBeRecorded() {
        var bench = unconfirmed()
        bench.feed(.readdress(bench.id, HostID(2)))
        bench.verb(.start)
        let end = bench.feed(.store(bench.id, 2, .failed(store)))
        #expect(end.phases == [.failed(store)])
        #expect(!end.contains { if case .file = $0 { true } else { false } })
        bench.verb(.start)
        bench.verb(.suspend)
        let rest = bench.feed(.store(bench.id, 3, .recorded))
        #expect(rest.contains { if case .file(_, _, .withdraw) = $0 { true } else { false } })
        #expect(bench.phase == .suspended)
    }

    @Test func whatIsCanceledWhileItIsGivenUpLeavesNoFileInItsPlace() {
        var bench = unconfirmed()
        bench.feed(.readdress(bench.id, HostID(2)))
        bench.verb(.start)
        bench.verb(.cancel)
        #expect(bench.feed(.store(bench.id, 2, .recorded)).contains(.store(bench.id, 2, .unrecord)))
        #expect(bench.feed(.store(bench.id, 2, .recorded)).contains(.file(bench.id, 2, .discard(finished: true))))
    }

    /// The file is what was asked for when its attempt began; another attempt is for what is asked for now.
    @Test func whatIsAskedForWhileItIsMovedCountsWhenItsNameCannotBeKept() {
        var bench = Bench.moving()
        bench.feed(.readdress(bench.id, HostID(2)))
        #expect(bench.feed(.file(bench.id, 1, .unconfirmed(.disk))).records.map(\.isPublished) == [false])
        #expect(isFetchedAgain(&bench, .otherURL))
        var other = Bench.moving()
        other.feed(.expectPieces(other.id, sizes: 1...1000))
        #expect(other.feed(.file(other.id, 1, .unconfirmed(.disk))).records.map(\.isPublished) == [false])
        #expect(isFetchedAgain(&other, .bytesLost))
    }

    /// Pieces that were there before are those it was compared with, though bytes are older than they are.
    @Test func whatIsInItsPlaceHasThePiecesItWasComparedWith() {
        var bench = Bench.resting(hasDigest: true, saved: .holding(0..<500))
        bench.feed(.expectPieces(bench.id, sizes: 1...1000))
        bench.verb(.start)
        bench.opened(1, 0..<500)
        bench.feed(.exchange(bench.id, 1, .head(.part(500..<1000, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 500)))
        bench.feed(.file(bench.id, 1, .verified(.correct)))
        bench.feed(.store(bench.id, 1, .recorded))
        #expect(bench.feed(.file(bench.id, 1, .unconfirmed(.disk))).records.map(\.isPublished) == [true])
        #expect(bench.verb(.start).contains(.file(bench.id, 2, .publish)))
    }

    /// Else failures would add up although it comes farther each time.
    @Test func whatFollowsAnotherFileGainsFromItsFirstByteOn() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        var bench = Bench.moving(Settings().with { $0.retry = RetryPolicy(maximumRetries: 1) })
        bench.feed(.file(bench.id, 1, .unconfirmed(.disk)))
        bench.feed(.expectDigest(bench.id, true))
        bench.verb(.start)
        // It does not have the digest.
        bench.feed(.file(bench.id, 2, .failed(gone)))
        for (number, end) in [(2, 100), (3, 200), (4, 300)] as [(UInt64, Int64)] {
            let attempt = Attempt(number + 1)
            let held = end == 100 ? [] : [0..<end - 100]
            let opened = bench.feed(.file(bench.id, attempt, .opened(held: ByteRanges(held))))
            #expect(opened.asks.count == 1)
            let head = end == 100 ? ResponseHead.file() : .part(end - 100..<1000, of: 1000)
            bench.feed(.exchange(bench.id, number, .head(head)))
            bench.feed(.exchange(bench.id, number, .received(100)))
            bench.feed(.file(bench.id, attempt, .wrote(end - 100..<end)))
            #expect(bench.feed(.exchange(bench.id, number, .failed(lost))).retry != nil)
            bench.closed(attempt, 0..<end)
            bench.pass(.seconds(100))
        }
    }

    @Test func aRecordOfAFileInItsPlaceOnlyLooksAndRecords() {
        var saved = Saved.holding(0..<1000)
        (saved.status, saved.isPublished) = (.failed(.disk), true)
        var bench = Bench.resting(saved: saved)
        #expect(bench.verb(.start).contains(.file(bench.id, 1, .publish)))
        #expect(bench.feed(.file(bench.id, 1, .published)).records.map(\.status) == [.succeeded])
    }

    @Test func aChangeThatComesBehindTheLastRecordIsRecorded() {
        var bench = Bench.recording()
        #expect(bench.feed(.expectDigest(bench.id, false)).records.map(\.status) == [.succeeded])
        #expect(bench.feed(.store(bench.id, 1, .recorded)).phases == [.succeeded])
        // Another record follows by itself.
        var moving = Bench.moving()
        #expect(moving.feed(.expectDigest(moving.id, false)).records.isEmpty)
    }

    @Test func startAfterwardsOnlyLooksAndRecords() {
        var bench = unrecorded()
        let actions = bench.verb(.start)
        #expect(actions.contains(.file(bench.id, 2, .publish)))
        #expect(!actions.contains { if case .file(_, _, .open) = $0 { true } else { false } })
        #expect(bench.feed(.file(bench.id, 2, .published)).records.map(\.status) == [.succeeded])
        #expect(bench.feed(.store(bench.id, 2, .recorded)).phases == [.succeeded])
    }

    @Test func aMovedFileThatIsGoneBeforeItIsRecordedIsFetchedAgain() {
        var bench = unrecorded()
        bench.verb(.start)
        let actions = bench.feed(.file(bench.id, 2, .failed(gone)))
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.records.map(\.status) == [.active])
        #expect(actions.contains(.file(bench.id, 3, .open(generation: 2, claimed: ByteRanges(), total: nil))))
    }

    @Test func aMovedFileThatCannotBeLookedForIsNotGivenUp() {
        var bench = unrecorded()
        bench.verb(.start)
        let actions = bench.feed(.file(bench.id, 2, .failed(.disk)))
        #expect(actions.phases == [.failed(.disk)] && actions.restarts.isEmpty)
        #expect(bench.verb(.start).contains(.file(bench.id, 3, .publish)))
    }

    @Test(arguments: [false, true]) func aMovedFileThatIsGoneIsNotFetchedForWhoWantsARest(startsAgain: Bool) {
        var bench = unrecorded()
        bench.verb(.start)
        bench.verb(.suspend, 1)
        if startsAgain { bench.verb(.start) }
        let actions = bench.feed(.file(bench.id, 2, .failed(gone)))
        #expect(actions.restarts == [.bytesLost])
        #expect((bench.state == .suspended) == !startsAgain)
        #expect(actions.asks.isEmpty && actions.contains(.answer(1)))
    }

    @Test func whatWasAskedIsDoneThoughAMovedFileIsGone() {
        var bench = unrecorded()
        bench.verb(.start)
        bench.verb(.cancel)
        #expect(bench.feed(.file(bench.id, 2, .failed(gone))).contains(.store(bench.id, 2, .unrecord)))
    }

    /// The file is in its place, and the download has failed for want of a record.
    private func unrecorded() -> Bench {
        var bench = Bench.recording()
        for _ in 0..<2 {
            bench.feed(.store(bench.id, 1, .failed(store)))
            bench.pass(.seconds(1))
            bench.feed(.file(bench.id, 1, .published))
        }
        bench.feed(.store(bench.id, 1, .failed(store)))
        return bench
    }

    @Test func cancelOfAFileThatWasMovedButNotRecordedTakesItAway() {
        var bench = unrecorded()
        bench.verb(.cancel)
        #expect(bench.feed(.store(bench.id, 1, .recorded)) == [.file(bench.id, 1, .discard(finished: true))])
    }

    @Test func anIntentThatCannotBeRecordedKeepsTheBytes() {
        var bench = Bench.announcing()
        #expect(bench.feed(.store(bench.id, 1, .failed(store))).contains(.file(bench.id, 1, .close(sync: true))))
        #expect(bench.closed(1, 0..<1000).phases == [.failed(store)])
        bench.verb(.start)
        let actions = bench.feed(.file(bench.id, 2, .opened(held: ByteRanges([0..<1000]))))
        #expect(actions.contains(.file(bench.id, 2, .verify(total: 1000))))
    }

    @Test func aFileThatCannotBeMovedFails() {
        var bench = Bench.moving()
        let failure = DownloadFailure(.disk(.inTheWay), "")
        #expect(bench.feed(.file(bench.id, 1, .failed(failure))).phases == [.failed(failure)])
        #expect(bench.machine.running.isEmpty)
    }

    @Test func aMoveThatFindsNoSpaceWaitsForIt() {
        var bench = Bench.moving(Settings().with { $0.waitsForDiskSpace = true })
        #expect(bench.feed(.file(bench.id, 1, .failed(full))).phases == [.waiting(.disk(until: .seconds(30)))])
        let again = bench.pass(.seconds(30))
        #expect(again.contains(.file(bench.id, 2, .open(generation: 1, claimed: ByteRanges([0..<1000]), total: 1000))))
    }

    // MARK: The digest

    @Test func aWrongDigestOfOneAttemptIsFinal() {
        var bench = Bench.verifying(hasDigest: true)
        let actions = bench.feed(.file(bench.id, 1, .verified(.mismatch("a, not b"))))
        #expect(actions.contains(.file(bench.id, 1, .close(sync: false))))
        let end = bench.closed(1, 0..<1000)
        #expect(end.phases == [.failed(DownloadFailure(.checksumMismatch, "a, not b"))])
        #expect(end.records.last?.written.isEmpty == true)
        #expect(end.records.last?.generation == 2)
    }

    /// One transport hands over the coded bytes, another what they stand for.
    @Test func aWrongDigestOfACodedBodySaysSo() {
        var head = ResponseHead.file()
        head.fields["Content-Encoding"] = "gzip"
        var bench = Bench.transferring(hasDigest: true, head: head)
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        bench.feed(.file(bench.id, 1, .verified(.mismatch("a, not b."))))
        guard case .failed(let failure)? = bench.closed(1, 0..<1000).phases.last else {
            Issue.record("It did not fail.")
            return
        }
        #expect(failure.detail.hasPrefix("a, not b. The server sent it in a Content-Encoding"))
    }

    @Test func aWrongDigestOfSeveralAttemptsIsTriedOnceFromZero() {
        var bench = Bench.transferring(hasDigest: true, saved: .holding(0..<500), head: .part(500..<1000, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 500)))
        let actions = bench.feed(.file(bench.id, 1, .verified(.mismatch(""))))
        #expect(actions.restarts == [.wrongDigest])
        #expect(actions.contains(.file(bench.id, 2, .startOver(generation: 2, total: nil))))
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        #expect(
            bench.feed(.file(bench.id, 2, .verified(.mismatch("")))).contains(.file(bench.id, 2, .close(sync: false))))
    }

    /// Wrong parts are why each attempt begins anew; not those of an earlier start, where later ones are of no use.
    @Test func wrongPartsCountUntilTheUserStartsAgain() {
        var bench = Bench.transferring(hasDigest: true, saved: .holding(0..<500), head: .part(500..<1000, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 500)))
        #expect(bench.feed(.file(bench.id, 1, .verified(.mismatch("")))).restarts == [.wrongDigest])
        bench.opened(2)
        bench.verb(.suspend)
        bench.closed(2)
        bench.verb(.start)
        bench.opened(3)
        bench.feed(.exchange(bench.id, bench.exchange, .head(.file())))
        var held: Int64 = 100
        func breakOff() {
            bench.feed(.file(bench.id, bench.attempt, .wrote(0..<held)))
            bench.feed(
                .exchange(bench.id, bench.exchange, .failed(DownloadFailure(.transport(.connectionLost), ""))))
            bench.closed(bench.attempt, 0..<held)
            bench.pass(.seconds(100))
        }
        breakOff()
        for _ in 0..<2 {
            #expect(bench.opened(bench.attempt, 0..<held).asks.map(\.range) == [held..<1000])
            bench.feed(.exchange(bench.id, bench.exchange, .head(.part(0..<10, of: 1000))))
            bench.closed(bench.attempt, 0..<held)
            bench.pass(.seconds(100))
        }
        #expect(bench.opened(bench.attempt, 0..<held).asks == [.whole])
        bench.feed(.exchange(bench.id, bench.exchange, .head(.file())))
        held = 900
        breakOff()
        #expect(bench.opened(bench.attempt, 0..<held).asks.map(\.range) == [held..<1000])
    }

    /// A wrong file says nothing of ranges.
    @Test func aFileThatIsFetchedAgainGoesOnWhereItEnded() {
        var bench = Bench.verifying(Settings().with { $0.retry.maximumChecksumRetries = 1 }, hasDigest: true)
        #expect(bench.feed(.file(bench.id, 1, .verified(.mismatch("")))).restarts == [.wrongDigest])
        bench.opened(2)
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<400)))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(2, 0..<400)
        #expect(bench.pass(.seconds(100)).restarts == [])
        #expect(bench.opened(3, 0..<400).asks.map(\.range) == [400..<1000])
    }

    @Test func bytesThatOnlyADigestTiesAreNotPublishedWithoutOne() {
        var bench = Bench.transferring(
            hasDigest: true, saved: .holding(0..<500, tag: nil), head: .part(500..<1000, of: 1000, tag: nil))
        bench.feed(.expectDigest(bench.id, false))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 500)))
        #expect(bench.feed(.file(bench.id, 1, .verified(.sizeOnly))).restarts == [.cannotResume])
    }

    @Test func slicesThatOnlyADigestTiesAreNotGoneOnWithWithoutOne() {
        var bench = Bench.transferring(
            .sliced(100...100, inFlight: 1), hasDigest: true, head: .part(0..<100, of: 1000, tag: nil))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        bench.feed(.expectDigest(bench.id, false))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).restarts == [.cannotResume])
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole])
    }

    @Test func aRestartFromZeroWaitsForTheNetwork() {
        var bench = Bench.transferring(hasDigest: true, saved: .holding(0..<500), head: .part(500..<1000, of: 1000))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        bench.feed(.exchange(bench.id, 1, .ended(received: 500)))
        bench.feed(.network(available: false))
        bench.feed(.file(bench.id, 1, .verified(.mismatch(""))))
        let actions = bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        #expect(actions.asks.isEmpty)
        #expect(actions.phases == [.waiting(.slot)])
    }

    // MARK: The disk

    @Test func aFullDiskFails() {
        var bench = Bench.transferring()
        #expect(bench.feed(.file(bench.id, 1, .failed(full))).contains(.file(bench.id, 1, .close(sync: true))))
        #expect(bench.closed(1, 0..<10).phases == [.failed(full)])
    }

    @Test func aFullDiskIsWaitedForWhenWanted() {
        var bench = Bench.transferring(Settings().with { $0.waitsForDiskSpace = true })
        #expect(bench.feed(.file(bench.id, 1, .failed(full))).phases == [.waiting(.disk(until: .seconds(30)))])
        #expect(bench.closed(1, 0..<10).wakes.isEmpty)
        #expect(bench.pass(.seconds(29)).phases.isEmpty)
        #expect(bench.pass(.seconds(1)).phases == [.waiting(.slot), .running])
    }

    @Test func otherFailuresOfTheDiskAreNotWaitedFor() {
        var bench = Bench.transferring(Settings().with { $0.waitsForDiskSpace = true })
        bench.feed(.file(bench.id, 1, .failed(.disk)))
        #expect(bench.closed(1, 0..<10).phases == [.failed(.disk)])
    }

    @Test func bytesThatTheDiskLosesAreToldOf() {
        var bench = Bench.transferring()
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        bench.pass(.milliseconds(250))
        bench.feed(.file(bench.id, 1, .failed(.disk)))
        let actions = bench.closed(1, 0..<100)
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.contains(.tell(bench.id, .progress(completed: 100, total: 1000))))
    }

    @Test func aPartialFileThatHoldsLessIsRecordedAsSuch() {
        var bench = Bench.opening(saved: .holding(0..<500))
        let actions = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges([0..<100]))))
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.records.last?.written == ByteRanges([0..<100]))
        #expect(actions.asks.first?.range == 100..<1000)
    }

    @Test func bytesThatTheDiskLosesAltogetherComeAgainInAnotherFile() {
        var bench = Bench.transferring()
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        bench.feed(.file(bench.id, 1, .failed(.disk)))
        #expect(bench.closed(1).restarts == [.bytesLost])
        #expect(
            bench.verb(.start).last
                == .file(bench.id, 2, .open(generation: 2, claimed: ByteRanges(), total: nil)))
    }

    /// Under another name: nobody knows whether the record of it is kept.
    @Test func aPartialFileThatHoldsNothingIsBegunAfresh() {
        var bench = Bench.opening(saved: .holding(0..<500))
        let actions = bench.feed(.file(bench.id, 1, .opened(held: ByteRanges())))
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.last == .file(bench.id, 2, .startOver(generation: 2, total: nil)))
        #expect(bench.feed(.file(bench.id, 2, .opened(held: ByteRanges()))).asks == [.whole])
    }

    @Test func aPartialFileThatIsGoneIsBegunAfresh() {
        var bench = Bench.opening(saved: .holding(0..<500))
        let gone = DownloadFailure(.disk(.notFound), "")
        let actions = bench.feed(.file(bench.id, 1, .failed(gone)))
        #expect(actions.restarts == [.bytesLost])
        #expect(actions.last == .file(bench.id, 2, .startOver(generation: 2, total: nil)))
        #expect(bench.feed(.file(bench.id, 2, .failed(gone))).last == .file(bench.id, 2, .close(sync: true)))
        #expect(bench.closed(2).phases == [.failed(gone)])
    }
}

@Suite struct RestoredRecordTests {
    @Test func whatWasUnderWayIsSuspended() {
        for status in [Saved.Status.active, .suspended, .publishing] {
            #expect(Bench.resting(saved: .holding(0..<10, status: status)).phase == .suspended)
        }
        #expect(Bench.resting(saved: .holding(0..<10, status: .succeeded)).phase == .succeeded)
        #expect(Bench.failed(.disk).phase == .failed(.disk))
    }

    @Test func bytesOfNoVersionAreNotGoneOnWith() {
        var saved = Saved.holding(500..<600)
        saved.version = nil
        var bench = Bench.resting(.sliced(100...100), hasDigest: true, saved: saved)
        let actions = bench.verb(.start)
        #expect(actions.restarts == [.cannotResume])
        #expect(actions.contains(.file(bench.id, 1, .open(generation: 2, claimed: ByteRanges(), total: nil))))
    }

    @Test func aWholeFileThatNothingTiesIsTrustedOnlyWithADigestOrOnceVerified() {
        for (hasDigest, status, isKept) in [
            (false, Saved.Status.active, false), (true, .active, true), (false, .publishing, true),
        ] {
            let saved = Saved.holding(0..<1000, tag: nil, status: status)
            var bench = Bench.resting(hasDigest: hasDigest, saved: saved)
            #expect(bench.verb(.start).restarts == (isKept ? [] : [.cannotResume]))
        }
    }

    @Test func aSizeBelowZeroIsNone() {
        var saved = Saved.holding(0..<100)
        saved.total = -5
        var bench = Bench.opening(saved: saved)
        #expect(bench.feed(.file(bench.id, 1, .opened(held: ByteRanges([0..<100])))).asks.count == 1)
    }

    @Test func bytesBeyondTheEndAreNone() {
        var saved = Saved.holding(0..<2000)
        saved.synced = ByteRanges([0..<5000])
        var bench = Bench.resting(saved: saved)
        #expect(
            bench.verb(.start).contains(
                .file(bench.id, 1, .open(generation: 1, claimed: ByteRanges([0..<1000]), total: 1000))))
        #expect(bench.machine[bench.id]?.saved.synced == ByteRanges([0..<1000]))
    }

    @Test func theLastGenerationIsFollowedByTheFirst() {
        var saved = Saved.holding(0..<100, tag: nil)
        saved.generation = .max
        var bench = Bench.resting(saved: saved)
        #expect(
            bench.verb(.start).contains(.file(bench.id, 1, .open(generation: 1, claimed: ByteRanges(), total: nil))))
    }

    @Test func aDownloadThatIsThereIsNotReplaced() {
        var bench = Bench.transferring()
        bench.feed(.add([NewDownload(id: bench.id, rank: 0)]))
        #expect(bench.phase == .running)
    }
}
