// Coming to rest: the file is closed, and what the intent says is done.

extension Download {
    mutating func stopAll(except kept: ExchangeNumber? = nil, keepBytes: Bool, _ context: inout Context) {
        for number in exchangeNumbers where number != kept {
            perform(.stop(number, keepBytes: keepBytes), &context)
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

    /// Ends the attempt: stops what is under way, `over` being no longer so, and closes the file; the intent says what
    /// comes then.
    mutating func close(
        for intent: Pausing.Intent, answering tickets: [Ticket] = [], over: ExchangeNumber? = nil,
        _ context: inout Context
    ) {
        cancelAsking(&context)
        let keepsBytes = keepsBytes(after: intent)
        stopAll(except: over, keepBytes: keepsBytes, &context)
        perform(.close(sync: keepsBytes), &context)
        let hasPart = slotClaim == .holdsPart
        go(to: .pausing(Pausing(intent: intent, step: .closing, hasPart: hasPart, tickets: tickets)), &context)
    }

    /// Whether the bytes are of any more use. A file that is complete has the wrong digest as a whole; where a piece is
    /// wrong, it is missing, and the others stay.
    private func keepsBytes(after intent: Pausing.Intent) -> Bool {
        switch intent {
        case .cancel(let keepsBytes): keepsBytes
        case .remove: false
        case .fail(let failure): failure.reason != .checksumMismatch || !isComplete
        case .suspend, .restart, .wait: true
        }
    }

    mutating func closed(written: ByteRanges, synced: ByteRanges, _ context: inout Context) {
        guard case .pausing(let pausing) = state, pausing.step == .closing else {
            return ignore(.late("closed"), &context)
        }
        settle(
            written: proven(written), synced: proven(synced), isUnproven ? .cannotResume : .bytesLost, &context)
        unproven = ByteRanges()
        switch pausing.intent {
        case .suspend: rest(in: .suspended, pausing, &context)
        case .cancel, .remove: forget(for: pausing.intent, pausing.tickets, &context)
        case .restart: waitAgain(.slot, pausing, &context)
        case .wait(let reason): waitAgain(reason, pausing, &context)
        case .fail(let failure):
            if !keepsBytes(after: .fail(failure)) { giveUpBytes(.wrongDigest, &context) }
            rest(in: .failed(failure), pausing, &context)
        }
    }

    /// The file says what it holds in the end. That is less than it told before when the device failed, or nobody has
    /// vouched for what it holds: `reason` says which.
    private mutating func settle(
        written: ByteRanges, synced: ByteRanges, _ reason: RestartReason, _ context: inout Context
    ) {
        let isLess = written.intersection(self.written) != self.written
        if isLess, isOlderThanPieces { return giveUpBytes(reason, &context) }
        let before = completed
        self.written = written
        self.synced = synced
        carried.settle(isOfUse: written.isEmpty)
        noteGain(written.count)
        // What comes in the place of lost bytes is a gain.
        if isLess, reason == .bytesLost { highMark = min(highMark, completed) }
        if isLess {
            if written.isEmpty { leaveFile() }
            tell(.restarted(reason), &context)
        } else if completed < before {
            tell(.restarted(.cannotResume), &context)
        }
        tell(.progress(completed: completed, total: total), &context)
    }

    private mutating func rest(in state: State, _ pausing: Pausing, _ context: inout Context) {
        go(to: state, &context)
        record(.status, &context)
        answer(pausing.tickets, &context)
    }

    private mutating func waitAgain(_ reason: Wait, _ pausing: Pausing, _ context: inout Context) {
        switch reason {
        case .retry(let time) where time > context.now && !isShelved: go(to: .waiting(reason), &context)
        case .disk(let time) where time > context.now && !isShelved: go(to: .waiting(reason), &context)
        case .network where !isShelved: go(to: .waiting(.network), &context)
        case .shelved where isShelved: go(to: .waiting(reason), &context)
        case .slot, .retry, .disk, .network, .shelved: wait(&context)
        }
        record(.status, &context)
        answer(pausing.tickets, &context)
    }

    /// Removes the record, then the files; or marks the record, when there are bytes that are to stay. No file is open.
    mutating func forget(for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context) {
        let leavesBytes = intent == .cancel(keepsBytes: true) && completed > 0 && !isPublished
        let step: Pausing.Step = leavesBytes ? .keeping : .forgetting
        go(to: .pausing(Pausing(intent: intent, step: step, tickets: tickets)), &context)
        if leavesBytes { record(.confirmed, &context) } else { perform(.unrecord, &context) }
    }

    /// The record says that only the bytes are kept; or cannot, which is tried again without the download.
    mutating func kept(_ pausing: Pausing, _ context: inout Context) {
        // More may have been asked for meanwhile.
        guard pausing.intent == .cancel(keepsBytes: true) else {
            return forget(for: pausing.intent, pausing.tickets, &context)
        }
        leave(pausing, &context)
    }

    mutating func discard(_ pausing: Pausing, _ context: inout Context) {
        let removesFinished = removesFinished(pausing.intent)
        guard hasFile || removesFinished else { return leave(pausing, &context) }
        var pausing = pausing
        pausing.step = .discarding(finished: removesFinished)
        state = .pausing(pausing)
        perform(.discard(finished: removesFinished), &context)
    }

    /// What is to become of a download that is on its way out, should all end now; nil for one that stays, and for one
    /// of which nothing more is to be done.
    package var parting: Parting? {
        switch state {
        case .pausing(let pausing): parting(pausing)
        case .publishing(let publishing): publishing.afterwards.flatMap(parting)
        case .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded: nil
        }
    }

    /// More may have been asked for since the present step began.
    private func parting(_ pausing: Pausing) -> Parting? {
        switch pausing.step {
        case .keeping where pausing.intent == .cancel(keepsBytes: true): nil
        case .discarding(let finished) where finished || !removesFinished(pausing.intent): nil
        case .closing, .keeping, .forgetting, .discarding: parting(for: pausing.intent)
        }
    }

    private func parting(for intent: Pausing.Intent) -> Parting? {
        switch intent {
        case .cancel(let keepsBytes): .cancel(keepsBytes: keepsBytes && !isPublished, finished: isPublished)
        case .remove(let finished): .remove(finished: finished)
        case .suspend, .restart, .wait, .fail: nil
        }
    }

    /// A canceled download leaves no file, not even one whose success was never told.
    private func removesFinished(_ intent: Pausing.Intent) -> Bool {
        intent == .remove(finished: true) || (intent.isCancel && isPublished)
    }

    mutating func discarded(_ context: inout Context) {
        guard case .pausing(let pausing) = state, case .discarding(let finished) = pausing.step else {
            return ignore(.late("discarded"), &context)
        }
        hasFile = false
        // More may have been asked for meanwhile.
        if removesFinished(pausing.intent), !finished { return discard(pausing, &context) }
        leave(pausing, &context)
    }

    /// The end: the machine forgets the download after this.
    private mutating func leave(_ pausing: Pausing, _ context: inout Context) {
        let phase: Phase = pausing.intent.isCancel ? .canceled : .removed
        tell(.status(phase), &context)
        answer(pausing.tickets, &context)
        isGone = true
    }

    /// There is no network that may be used any more, or there is one again.
    mutating func network(_ context: inout Context) {
        switch state {
        case .waiting(.network):
            if context.isNetworkAvailable { wait(&context) }
        case .pausing(var pausing) where pausing.intent == .wait(.network):
            guard context.isNetworkAvailable else { return }
            pausing.intent = .restart
            go(to: .pausing(pausing), &context)
        case .transferring(let transfer) where transfer.hasReceived(all: total):
            // All has come, and is only being written.
            break
        case .opening, .transferring:
            // Nobody is admitted meanwhile: it is in the queue until there is one.
            if !context.isNetworkAvailable { close(for: .restart, &context) }
        case .waiting, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded: break
        }
    }
}

/// How a download leaves.
package enum Parting: Sendable, Equatable {
    /// What it has received may stay, or goes; and with it the finished file whose success was never told.
    case cancel(keepsBytes: Bool, finished: Bool)
    /// Its partial file goes, and the finished one as well.
    case remove(finished: Bool)

    /// Whether a finished file goes as well.
    package var takesFileAlong: Bool {
        switch self {
        case .cancel(_, let finished), .remove(let finished): finished
        }
    }
}

extension Pausing.Intent {
    fileprivate var isCancel: Bool {
        if case .cancel = self { true } else { false }
    }
}
