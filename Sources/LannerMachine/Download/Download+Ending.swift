// From the last byte, a failure or a verb to rest.

extension Download {
    // MARK: Success

    func verifyingTotal() -> Int64? {
        if case .verifying(let verifying) = state { return verifying.total }
        return nil
    }

    mutating func verifyIfComplete(_ context: inout Context) {
        guard case .transferring(let transfer) = state, transfer.exchanges.isEmpty, let total, isComplete else {
            return
        }
        verify(total, &context)
    }

    mutating func verify(_ total: Int64, _ context: inout Context) {
        context.actions.append(.tell(id, .progress(completed: total, total: total)))
        context.actions.append(.verify(id, attempt, total: total))
        go(to: .verifying(Verifying(total: total)), &context)
    }

    mutating func verified(_ from: Attempt, _ result: Verification, _ context: inout Context) {
        guard from == attempt, let total = verifyingTotal() else { return ignore(.late("verified"), &context) }
        context.actions.append(.tell(id, .verified(result)))
        switch result {
        case .sizeOnly, .correct:
            synced = written
            go(to: .publishing(Publishing(step: .announcing, total: total)), &context)
            record(.confirmed, &context)
        case .mismatch(let detail):
            mismatched(detail, &context)
        }
    }

    /// Bytes from more than one attempt may be of two versions: once more from zero. Else the file is wrong.
    private mutating func mismatched(_ detail: String, _ context: inout Context) {
        if wasResumed { return startOver(.contentChanged, plain: true, &context) }
        close(for: .fail(Failure(.checksumMismatch, detail)), [], &context)
    }

    mutating func recorded(_ from: Attempt, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        switch state {
        case .publishing(let publishing): recorded(publishing, &context)
        case .pausing(let pausing) where pausing.step == .forgetting: discard(pausing, &context)
        case .pausing, .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded:
            ignore(.late("recorded"), &context)
        }
    }

    private mutating func recorded(_ publishing: Publishing, _ context: inout Context) {
        var publishing = publishing
        switch publishing.step {
        case .announcing:
            publishing.step = .moving
            state = .publishing(publishing)
            context.actions.append(.publish(id, attempt))
        case .recording:
            succeed(publishing, &context)
        case .moving, .waitingToRecord:
            ignore(.late("recorded"), &context)
        }
    }

    mutating func published(_ from: Attempt, _ context: inout Context) {
        guard from == attempt, case .publishing(var publishing) = state, publishing.step == .moving else {
            return ignore(.late("published"), &context)
        }
        isPublished = true
        hasFile = false
        publishing.step = .recording(failures: 0)
        state = .publishing(publishing)
        record(.confirmed, &context)
    }

    /// The file was published in an earlier attempt; only its record is missing.
    mutating func recordSuccess(failures: Int, _ context: inout Context) {
        go(to: .publishing(Publishing(step: .recording(failures: failures), total: total ?? 0)), &context)
        record(.confirmed, &context)
    }

    private mutating func succeed(_ publishing: Publishing, _ context: inout Context) {
        if let intent = publishing.afterwards {
            return forget(for: intent, publishing.tickets, &context)
        }
        isPublished = false
        go(to: .succeeded, &context)
        answer(publishing.tickets, &context)
    }

    mutating func recordFailed(_ from: Attempt, _ failure: Failure, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        switch state {
        case .publishing(let publishing): recordFailed(publishing, failure, &context)
        case .pausing(let pausing) where pausing.step == .forgetting: discard(pausing, &context)
        case .pausing, .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded:
            ignore(.late("recordFailed"), &context)
        }
    }

    private mutating func recordFailed(_ publishing: Publishing, _ failure: Failure, _ context: inout Context) {
        var publishing = publishing
        switch publishing.step {
        case .announcing:
            close(for: publishing.afterwards ?? .fail(failure), publishing.tickets, &context)
        case .recording(let failures) where failures + 1 < Pace.recordTries:
            publishing.step = .waitingToRecord(failures: failures + 1, until: context.now + Pace.recordWait)
            state = .publishing(publishing)
        case .recording:
            settleFailed(failure, publishing, &context)
        case .moving, .waitingToRecord:
            ignore(.late("recordFailed"), &context)
        }
    }

    mutating func tick(_ publishing: Publishing, _ context: inout Context) {
        guard case .waitingToRecord(let failures, let until) = publishing.step, context.now >= until else { return }
        var publishing = publishing
        publishing.step = .recording(failures: failures)
        state = .publishing(publishing)
        record(.confirmed, &context)
    }

    /// Publishing came to nothing: what was asked meanwhile, or failed. No file is open.
    private mutating func settleFailed(_ failure: Failure, _ publishing: Publishing, _ context: inout Context) {
        if let intent = publishing.afterwards {
            return forget(for: intent, publishing.tickets, &context)
        }
        go(to: .failed(failure), &context)
        record(.status, &context)
        answer(publishing.tickets, &context)
    }

    // MARK: Failure

    /// A failure that may pass is tried again after a while; another ends the download.
    mutating func retryOrFail(_ failure: Failure, retryAfter: Duration?, _ context: inout Context) {
        failures += 1
        let decision = context.settings.retry.decide(
            failure, failures: failures, retryAfter: retryAfter, random: context.random.next())
        switch decision {
        case .retry(let delay):
            let time = context.now + delay
            context.actions.append(.tell(id, .retrying(failure, at: time)))
            close(for: .wait(.retry(at: time)), [], &context)
        case .fail:
            close(for: .fail(failure), [], &context)
        }
    }

    mutating func fileFailed(_ from: Attempt, _ failure: Failure, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        switch state {
        case .opening, .transferring, .verifying:
            if failure.reason == .disk(.noSpace), context.settings.waitsForDiskSpace {
                close(for: .wait(.disk(until: context.now + Pace.diskWait)), [], &context)
            } else {
                close(for: .fail(failure), [], &context)
            }
        case .publishing(let publishing):
            settleFailed(failure, publishing, &context)
        case .waiting, .pausing, .suspended, .failed, .succeeded:
            ignore(.late("fileFailed"), &context)
        }
    }

    // MARK: Rest

    mutating func stopAll(except kept: ExchangeNumber? = nil, keepBytes: Bool, _ context: inout Context) {
        for number in exchangeNumbers where number != kept {
            context.actions.append(.stop(id, number, keepBytes: keepBytes))
        }
    }

    private var exchangeNumbers: [ExchangeNumber] {
        switch state {
        case .opening(let opening):
            if case .request(let exchange) = opening.step { return [exchange.number] }
            return []
        case .transferring(let transfer): return transfer.exchanges.map(\.number)
        case .waiting, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded: return []
        }
    }

    /// Ends the attempt: stops what is under way and closes the file; the intent says what comes then.
    mutating func close(for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context) {
        stopAll(keepBytes: !intent.discards, &context)
        context.actions.append(.close(id, attempt, sync: !intent.discards))
        go(to: .pausing(Pausing(intent: intent, step: .closing, tickets: tickets)), &context)
    }

    mutating func closed(_ from: Attempt, written: ByteRanges, synced: ByteRanges, _ context: inout Context) {
        guard from == attempt, case .pausing(let pausing) = state, pausing.step == .closing else {
            return ignore(.late("closed"), &context)
        }
        self.written = written
        self.synced = synced
        context.actions.append(.tell(id, .progress(completed: written.count, total: total)))
        switch pausing.intent {
        case .suspend: rest(in: .suspended, pausing, &context)
        case .cancel, .remove: forget(for: pausing.intent, pausing.tickets, &context)
        case .restart: waitAgain(.slot, pausing, &context)
        case .wait(let reason): waitAgain(reason, pausing, &context)
        case .fail(let failure):
            if failure.reason == .checksumMismatch { giveUpBytes(.contentChanged, &context) }
            rest(in: .failed(failure), pausing, &context)
        }
    }

    private mutating func rest(in state: State, _ pausing: Pausing, _ context: inout Context) {
        go(to: state, &context)
        record(.status, &context)
        answer(pausing.tickets, &context)
    }

    private mutating func waitAgain(_ reason: WaitingReason, _ pausing: Pausing, _ context: inout Context) {
        go(to: .waiting(reason), &context)
        switch reason {
        case .slot, .network: wait(&context)
        case .retry, .disk: break
        }
        record(.status, &context)
        answer(pausing.tickets, &context)
    }

    /// Removes the record, then the files. No file is open.
    mutating func forget(for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context) {
        go(to: .pausing(Pausing(intent: intent, step: .forgetting, tickets: tickets)), &context)
        context.actions.append(.unrecord(id, attempt))
    }

    private mutating func discard(_ pausing: Pausing, _ context: inout Context) {
        var pausing = pausing
        pausing.step = .discarding
        state = .pausing(pausing)
        // A canceled download leaves no file, not even one whose success was never told.
        let removesFinished = pausing.intent == .remove(finished: true) || (pausing.intent == .cancel && isPublished)
        if hasFile || removesFinished {
            context.actions.append(.discard(id, finished: removesFinished))
        } else {
            discarded(&context)
        }
    }

    /// The end: the machine forgets the download after this.
    mutating func discarded(_ context: inout Context) {
        guard case .pausing(let pausing) = state, pausing.step == .discarding else {
            return ignore(.late("discarded"), &context)
        }
        let phase: Phase = pausing.intent == .cancel ? .canceled : .removed
        context.actions.append(.tell(id, .status(phase)))
        context.actions.append(.forget(id))
        answer(pausing.tickets, &context)
        isGone = true
    }

    /// There is no network, or there is one again.
    mutating func network(_ context: inout Context) {
        switch state {
        case .waiting(.network):
            if context.isNetworkAvailable { wait(&context) }
        case .waiting(.slot):
            if !context.isNetworkAvailable { wait(&context) }
        case .opening, .transferring:
            if !context.isNetworkAvailable { close(for: .wait(.network), [], &context) }
        case .waiting(.retry), .waiting(.disk), .pausing, .verifying, .publishing, .suspended, .failed, .succeeded:
            break
        }
    }
}

extension Pausing.Intent {
    /// Whether the bytes are of no more use.
    var discards: Bool {
        switch self {
        case .cancel, .remove: true
        case .fail(let failure): failure.reason == .checksumMismatch
        case .suspend, .restart, .wait: false
        }
    }
}
