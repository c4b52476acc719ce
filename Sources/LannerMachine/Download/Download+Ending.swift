// From the last byte to a published file, or from a failure to another try.

extension Download {
    // MARK: Success

    /// Whether a digest decides in the end, one of the caller's or of the server's.
    func isDecidedByDigest(_ settings: Settings) -> Bool {
        hasDigest || (settings.takesServerDigests && version?.digest != nil)
    }

    /// Whether the server is not asked again once all bytes are there.
    func needsNoServer(_ settings: Settings) -> Bool { !isDecidedByDigest(settings) && !isTiedByDigest }

    mutating func verifyIfComplete(_ context: inout Context) {
        guard case .transferring(let transfer) = state, let total, isComplete else { return }
        // The end of an answer is waited for, since more may come than was announced; the answer to a request is not.
        guard transfer.running == 0 else { return }
        stopAll(keepBytes: true, &context)
        verify(total, &context)
    }

    mutating func verify(_ total: Int64, _ context: inout Context) {
        let hasPart = slotClaim == .holdsPart || needsNoServer(context.settings)
        carried.drop()
        tell(.progress(completed: total, total: total), &context)
        go(to: .verifying(Verifying(hasPart: hasPart)), &context)
        if let misfit = misfit(of: total) { return verified(.mismatch(misfit), &context) }
        perform(.verify(total: total), &context)
    }

    mutating func verified(_ result: Verification, _ context: inout Context) {
        guard case .verifying = state else { return ignore(.late("verified"), &context) }
        let result = withoutUnwanted(result, context.settings)
        tell(.verified(result), &context)
        switch result {
        case .sizeOnly where hasDigest:
            // The digest was given after the file was opened: open it again, and compare this time.
            close(for: .restart, &context)
        case .sizeOnly where isTiedByDigest:
            // The digest was taken back.
            startOver(.cannotResume, plain: true, &context)
        case .sizeOnly, .correct:
            synced = written
            hasOtherPieces = false
            go(to: .publishing(Publishing(step: .announcing)), &context)
            record(.confirmed, &context)
        case .mismatch(let detail):
            mismatched(detail, &context)
        }
    }

    /// The file may have been compared with a digest of the server's that is not to count, or was not when the slot was
    /// left: that is forgotten.
    private mutating func withoutUnwanted(_ result: Verification, _ settings: Settings) -> Verification {
        guard !hasDigest, case .verifying(let verifying) = state,
            verifying.hasPart || !settings.takesServerDigests
        else { return result }
        version = version?.withoutDigest
        return .sizeOnly
    }

    /// Bytes from more than one attempt may be of two versions: once more from zero, and in one piece, so that this
    /// ends. Else the file is wrong, which is no fault of ranges, and fetched again as often as is wanted.
    mutating func mismatched(_ detail: String, _ context: inout Context) {
        if goesOnWithOldURL {
            startOver(.wrongDigest, &context)
            return restart(after: DownloadFailure(.checksumMismatch, detail), &context)
        }
        // Where it was another version after all, that one may be resumed.
        if wasResumed { return startOver(.wrongDigest, plain: !ladder.endDigestTry(), &context) }
        if leaveWrongFile(context.settings) { return startOver(.wrongDigest, &context) }
        mismatches += 1
        if mismatches <= context.settings.retry.maximumChecksumRetries { return startOver(.wrongDigest, &context) }
        close(for: .fail(DownloadFailure(.checksumMismatch, detail + codingNote)), &context)
    }

    /// One transport keeps a body in its content coding, another undoes it: the digest may be of the other.
    private var codingNote: String {
        guard version?.isEncoded == true else { return "" }
        return " The server sent it in a Content-Encoding that nobody asked for; the checksum may be of another form."
    }

    mutating func recorded(_ context: inout Context) {
        switch state {
        case .publishing(let publishing): recorded(publishing, &context)
        case .pausing(let pausing) where pausing.step == .keeping: kept(pausing, &context)
        case .pausing(let pausing) where pausing.step == .forgetting: discard(pausing, &context)
        case .pausing, .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded:
            ignore(.late("recorded"), &context)
        }
    }

    private mutating func recorded(_ publishing: Publishing, _ context: inout Context) {
        var publishing = publishing
        switch (publishing.step, publishing.unwanted) {
        case (.announcing, let intent?):
            close(for: intent, answering: publishing.tickets, &context)
        case (.readdressing, let intent?):
            forget(for: intent, publishing.tickets, &context)
        case (.announcing, nil), (.readdressing, nil):
            publishing.step = .moving
            state = .publishing(publishing)
            perform(.publish, &context)
        case (.recording, _):
            succeed(publishing, &context)
        case (.disowning, _):
            disown(publishing, &context)
        case (.moving, _), (.waitingToRecord, _):
            ignore(.late("recorded"), &context)
        }
    }

    /// Whether its file is not to be moved to its place any more. What is there stays: it would have no successor.
    package var isUnwanted: Bool {
        if case .publishing(let publishing) = state { publishing.unwanted != nil } else { false }
    }

    mutating func published(_ context: inout Context) {
        guard case .publishing(var publishing) = state, publishing.step == .moving else {
            return ignore(.late("published"), &context)
        }
        isPublished = true
        hasFile = false
        publishing.step = .recording
        state = .publishing(publishing)
        record(.confirmed, &context)
    }

    /// Its place was taken, and it was given another name: who finds it there after a crash has to know that name.
    mutating func placeTaken(_ context: inout Context) {
        guard case .publishing(var publishing) = state, publishing.step == .moving else {
            return ignore(.late("placeTaken"), &context)
        }
        publishing.step = .readdressing
        state = .publishing(publishing)
        record(.confirmed, &context)
    }

    /// The file was moved before, and only its record is missing. Another download may have replaced it since, or somebody
    /// removed it: it is looked for before a success is told.
    mutating func publishAgain(_ publishing: Publishing, _ context: inout Context) {
        go(to: .publishing(publishing), &context)
        perform(.publish, &context)
    }

    /// Whether what was moved to its place is what is asked for now, as far as is known here: a digest is compared with
    /// the file.
    var isPublishedAsAsked: Bool { isPublished && !hasOtherPieces && (hasDigest || !isOfOtherURL) }

    /// It is not, and nobody was told of it: it is taken away, and what is asked for fetched. First that is recorded: an
    /// earlier record, which tells of a success, may have come to the disk though the store could not say so.
    mutating func leavePublished(_ publishing: Publishing, _ context: inout Context) {
        go(to: .publishing(publishing), &context)
        record(.confirmed, &context)
    }

    private mutating func disown(_ publishing: Publishing, _ context: inout Context) {
        if let intent = publishing.afterwards {
            return forget(for: intent, publishing.tickets, &context)
        }
        perform(.withdraw, &context)
        losePublished(publishing, isOfOtherURL ? .otherURL : .bytesLost, &context)
    }

    /// What follows may be another file: it gains from its first byte on.
    mutating func gainAnew() {
        highMark = 0
        ladder = RungLadder()
    }

    /// The file that was moved is not in its place any more, or not what is asked for: it is fetched again.
    private mutating func losePublished(
        _ publishing: Publishing, _ reason: RestartReason, _ context: inout Context
    ) {
        isPublished = false
        wait(&context)
        giveUpBytes(reason, &context)
        gainAnew()
        if publishing.isToRest { pauseAtRest(for: .suspend, [], &context) }
        answer(publishing.tickets, &context)
    }

    private mutating func succeed(_ publishing: Publishing, _ context: inout Context) {
        if let intent = publishing.afterwards {
            return forget(for: intent, publishing.tickets, &context)
        }
        isPublished = false
        go(to: .succeeded, &context)
        answer(publishing.tickets, &context)
    }

    mutating func recordFailed(_ failure: DownloadFailure, _ context: inout Context) {
        switch state {
        case .publishing(let publishing): recordFailed(publishing, failure, &context)
        case .pausing(let pausing) where pausing.step == .keeping: kept(pausing, &context)
        case .pausing(let pausing) where pausing.step == .forgetting: discard(pausing, &context)
        case .pausing, .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded:
            ignore(.late("recordFailed"), &context)
        }
    }

    private mutating func recordFailed(_ publishing: Publishing, _ failure: DownloadFailure, _ context: inout Context) {
        var publishing = publishing
        switch publishing.step {
        case .announcing:
            let intent = publishing.afterwards ?? intent(after: failure, isToRest: publishing.isToRest, &context)
            close(for: intent, answering: publishing.tickets, &context)
        case .readdressing:
            waitOrFail(failure, publishing, &context)
        case .disowning:
            settleFailed(failure, publishing, &context)
        case .recording where publishing.recordFailures + 1 < Pace.recordTries:
            publishing.recordFailures += 1
            publishing.step = .waitingToRecord(until: context.now + Pace.recordWait)
            state = .publishing(publishing)
        case .recording:
            waitOrFail(failure, publishing, &context)
        case .moving, .waitingToRecord:
            ignore(.late("recordFailed"), &context)
        }
    }

    mutating func tick(_ publishing: Publishing, _ context: inout Context) {
        guard case .waitingToRecord(let until) = publishing.step, context.now >= until else { return }
        var publishing = publishing
        publishing.step = .moving
        publishAgain(publishing, &context)
    }

    /// Publishing came to nothing: what was asked meanwhile, or failed. No file is open.
    private mutating func settleFailed(_ failure: DownloadFailure, _ publishing: Publishing, _ context: inout Context) {
        if let intent = publishing.afterwards {
            return forget(for: intent, publishing.tickets, &context)
        }
        go(to: .failed(failure), &context)
        record(.status, &context)
        answer(publishing.tickets, &context)
    }

    // MARK: Failure

    /// A failure that may pass is tried again after a while; another ends the download. The want of a network is none,
    /// where somebody tells when it is back, or where exchanges mostly wait for it by themselves. Unless it is said where
    /// it failed, that is where the attempt began.
    mutating func retryOrFail(
        _ failure: DownloadFailure, retryAfter: Duration? = nil, at source: Source? = nil, over: ExchangeNumber? = nil,
        _ context: inout Context
    ) {
        let isWaitedFor = context.isNetworkWatched || context.settings.outlivesProcess
        if isWaitedFor, failure.reason.isWantOfNetwork {
            tell(.retrying(failure, at: context.now + Pace.networkWait), &context)
            return close(for: .wait(.network), over: over, &context)
        }
        // What the old one comes to says nothing of the new one.
        if goesOnWithOldURL { return restart(after: failure, over: over, &context) }
        if context.isCrowd {
            isCrowdedOut = true
            if crowdRefusals < .max { crowdRefusals += 1 }
        }
        let source = source ?? mirrors.main
        guard
            let (failure, retryAfter) = goElsewhere(
                after: failure, retryAfter: retryAfter, at: source, over: over, &context)
        else { return }
        switch decide(failure, retryAfter, &context) {
        case .retry(let delay):
            let isEndless = context.settings.retry.maximumRetries == nil && failures > Pace.fruitlessTries
            if isEndless {
                if seekWholeOfPartless(after: failure, over: over, &context) { return }
                // After this wait.
                mirrors.forgetWholes()
            }
            retry(failure, at: context.now + delay, over: over, &context)
        case .fail:
            let mayPass = failure.reason.isWorthRetrying(retryAfter: retryAfter)
            if beginAnew(after: failure, mayPass: mayPass, over: over, &context) { return }
            if seekWholeOfPartless(after: failure, over: over, &context) { return }
            close(for: .fail(failure), over: over, &context)
        }
    }

    /// Ends the attempt; the next one is at that time.
    mutating func retry(
        _ failure: DownloadFailure, at time: Duration, over: ExchangeNumber?, _ context: inout Context
    ) {
        tell(.retrying(failure, at: time), &context)
        close(for: .wait(.retry(at: time)), over: over, &context)
    }

    /// Counts a failure. Who is refused while the host sends others waits for their end, be that as often as it may, or for
    /// its turn where the host takes only so many requests in a time; also where mirrors have come to nothing in between.
    private mutating func decide(
        _ failure: DownloadFailure, _ retryAfter: Duration?, _ context: inout Context
    ) -> RetryDecision {
        let (retry, random) = (context.settings.retry, context.random.next())
        if doubts.wholeTry == .possible { doubts.wholeTry = .none }
        if isCrowdedOut, retry.maximumRetries != 0 {
            isCrowdedOut = false
            let delay = retry.delay(failures: Int(crowdRefusals), retryAfter: retryAfter, random: random)
            return .retry(after: max(delay, Pace.crowdWait))
        }
        // Else nobody would ever be asked whether it is to be taken.
        if failure == .unnamed, retry.maximumRetries == nil, doubts.unnamed > Pace.fruitlessTries { return .fail }
        failures += 1
        return retry.decide(failure, failures: failures, retryAfter: retryAfter, random: random)
    }

    /// Tries again at once.
    mutating func restart(
        after failure: DownloadFailure, over: ExchangeNumber? = nil, _ context: inout Context
    ) {
        tell(.retrying(failure, at: context.now), &context)
        close(for: .restart, over: over, &context)
    }

    mutating func fileFailed(_ failure: DownloadFailure, _ context: inout Context) {
        switch state {
        case .opening(let opening) where opening.step == .file && isMissing(failure):
            startOver(.bytesLost, &context)
        case .opening, .transferring, .verifying:
            close(for: intent(after: failure, &context), &context)
        case .publishing(let publishing) where publishing.step == .moving:
            notMoved(failure, publishing, &context)
        case .waiting, .pausing, .publishing, .suspended, .failed, .succeeded:
            ignore(.late("fileFailed"), &context)
        }
    }

    /// Another attempt has nothing to fetch: only its name is still to be kept by the device.
    mutating func unconfirmed(_ failure: DownloadFailure, _ context: inout Context) {
        guard case .publishing(let publishing) = state, publishing.step == .moving else {
            return ignore(.late("unconfirmed"), &context)
        }
        isPublished = true
        hasFile = false
        waitOrFail(failure, publishing, &context)
    }

    /// Whether somebody has removed the partial file.
    private func isMissing(_ failure: DownloadFailure) -> Bool {
        failure.reason == .disk(.notFound) && !written.isEmpty
    }

    private mutating func notMoved(_ failure: DownloadFailure, _ publishing: Publishing, _ context: inout Context) {
        if publishing.afterwards == nil, isPublished, failure.reason == .disk(.notFound) {
            return losePublished(publishing, .bytesLost, &context)
        }
        waitOrFail(failure, publishing, &context)
    }

    private mutating func waitOrFail(_ failure: DownloadFailure, _ publishing: Publishing, _ context: inout Context) {
        guard publishing.afterwards == nil, let wait = diskWait(after: failure, &context) else {
            return settleFailed(failure, publishing, &context)
        }
        go(to: .waiting(wait), &context)
        record(.status, &context)
        if publishing.isToRest { pauseAtRest(for: .suspend, [], &context) }
        answer(publishing.tickets, &context)
    }

    /// What an attempt ends for whose file, or record, the disk has refused something. Who was to be suspended does not
    /// wait for space.
    private mutating func intent(
        after failure: DownloadFailure, isToRest: Bool = false, _ context: inout Context
    ) -> Pausing.Intent {
        guard let wait = diskWait(after: failure, &context) else { return .fail(failure) }
        return isToRest ? .suspend : .wait(wait)
    }

    /// What to wait for: space on the disk, if that is what is missing and wanted; or that others close their files. As long
    /// as downloads run that will, that is no retry.
    mutating func diskWait(after failure: DownloadFailure, _ context: inout Context) -> Wait? {
        switch failure.reason {
        case .disk(.noSpace) where context.settings.waitsForDiskSpace: .disk(until: context.now + Pace.diskWait)
        case .disk(.tooManyFiles): filesWait(after: failure, &context)
        case .disk, .store, .transport, .status, .unusableResponse, .redirect, .link, .checksumMismatch: nil
        }
    }

    private mutating func filesWait(after failure: DownloadFailure, _ context: inout Context) -> Wait? {
        context.lacksFiles = true
        var time = context.now + Pace.filesWait
        if context.isAlone {
            guard case .retry(let delay) = decide(failure, nil, &context) else { return nil }
            time = context.now + max(Pace.filesWait, delay)
        }
        tell(.retrying(failure, at: time), &context)
        return .retry(at: time)
    }
}

extension Publishing {
    /// What was asked meanwhile, if that leaves no file.
    fileprivate var unwanted: Pausing.Intent? {
        switch afterwards {
        case .cancel?, .remove(finished: true)?: afterwards
        case .remove(finished: false)?, .suspend?, .restart?, .wait?, .fail?, nil: nil
        }
    }
}
