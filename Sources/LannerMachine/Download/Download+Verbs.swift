// What a user asks. A verb that has nothing to do is answered at once; one that has to wait for the file to be closed
// leaves its ticket in the state, which answers it when it comes to rest. So a ticket is answered exactly once.

extension Download {
    mutating func user(_ verb: Verb, _ tickets: [Ticket], _ context: inout Context) {
        switch verb {
        case .start: start(tickets, &context)
        case .startAdded: if isUnstarted { start(tickets, &context) } else { answer(tickets, &context) }
        case .downloadAgain(let starts): downloadAgain(starts: starts, tickets, &context)
        case .suspend: pause(for: .suspend, tickets, &context)
        case .cancel: pause(for: .cancel(keepsBytes: context.settings.cancelKeepsBytes), tickets, &context)
        case .remove(let completely): pause(for: .remove(finished: completely), tickets, &context)
        case .shelve: shelve(tickets, &context)
        case .unshelve: unshelve(tickets, &context)
        case .settle: settle(tickets, &context)
        }
    }

    private mutating func start(_ tickets: [Ticket], _ context: inout Context) {
        isUnstarted = false
        switch state {
        case .suspended, .failed:
            forgive()
            wait(&context)
            record(.status, &context)
        case .waiting(let reason):
            forgetTries()
            switch reason {
            case .retry, .disk, .network, .shelved: wait(&context)
            case .slot: break
            }
        case .pausing(var pausing):
            switch pausing.intent {
            case .suspend, .wait, .fail:
                if case .wait = pausing.intent { forgetTries() } else { forgive() }
                pausing.intent = again
                go(to: .pausing(pausing), &context)
            case .restart, .cancel, .remove: break
            }
        case .publishing(var publishing):
            publishing.isToRest = false
            state = .publishing(publishing)
        case .opening, .transferring, .verifying, .succeeded: break
        }
        answer(tickets, &context)
    }

    /// The user wants another try, whatever has failed before.
    private mutating func forgive() {
        let takesUnnamed = doubts.unnamed > 0 && failure == .unnamed
        forgetFailures()
        doubts.takesUnnamed = takesUnnamed
        ladder = RungLadder()
        highMark = completed
        seeksWhole = nil
        if oldWay == .tried { oldWay = .known }
        mirrors = Mirrors(count: mirrors.count, ofVersion: mirrors.ofVersion)
    }

    /// Why it has come to nothing, be it that its file is being closed yet.
    private var failure: DownloadFailure? {
        switch state {
        case .failed(let failure): failure
        case .pausing(let pausing): if case .fail(let failure) = pausing.intent { failure } else { nil }
        case .waiting, .opening, .transferring, .verifying, .publishing, .suspended, .succeeded: nil
        }
    }

    /// What has failed does not count any more; a server that could not be trusted with ranges may have been mended.
    mutating func forgetFailures() {
        forgetTries()
        mismatches = 0
        (changes, otherTags) = (0, 0)
        (pieceFailures, wholeRepairs) = ([:], 0)
        doubts = Doubts()
        partUse = .possible
    }

    /// The next failure is the first again.
    mutating func forgetTries() {
        (failures, crowdRefusals, isCrowdedOut) = (0, 0, false)
    }

    /// The user gives another URL. An attempt that is under way goes on with the old one.
    mutating func readdress(to host: HostID, _ context: inout Context) {
        self.host = host
        perform(.readdress, &context)
        // Whether it was given for this attempt still counts.
        (link.expires, link.refusal) = (nil, nil)
        switch state {
        case .waiting(let reason):
            turnToNewURL()
            // That is what the old one has asked for.
            if reason.nextAttempt != nil { wait(&context) }
        case .suspended, .failed: turnToNewURL()
        case .pausing(var pausing):
            (isOfOtherURL, goesOnWithOldURL) = (true, true)
            guard pausing.intent.isOfURL else { return }
            pausing.intent = again
            go(to: .pausing(pausing), &context)
        case .opening, .transferring, .verifying, .publishing: (isOfOtherURL, goesOnWithOldURL) = (true, true)
        case .succeeded: break
        }
    }

    private mutating func turnToNewURL() {
        renewURL()
        isOfOtherURL = isOfOtherURL || completed > 0 || version != nil
    }

    /// Another attempt, as soon as may be.
    private var again: Pausing.Intent { isShelved ? .wait(.shelved(until: nil)) : .restart }

    /// The user has changed what the download is to be.
    mutating func expectDigest(_ hasDigest: Bool, mirrors: MirrorChange?, _ context: inout Context) {
        self.hasDigest = hasDigest
        if let mirrors { renewedMirrors = renewedMirrors?.then(mirrors) ?? mirrors }
        recordChange(&context)
    }

    /// Records what the user has changed.
    mutating func recordChange(_ context: inout Context) {
        switch state {
        case .waiting, .opening, .transferring, .verifying, .suspended, .failed, .succeeded:
            record(.status, &context)
        case .publishing(let publishing):
            // The last record is under way already; before it one is still to come.
            if publishing.step == .recording { record(.status, &context) }
        case .pausing:
            // It records by itself, or forgets.
            break
        }
    }

    private mutating func downloadAgain(starts: Bool, _ tickets: [Ticket], _ context: inout Context) {
        if state == .succeeded {
            forgive()
            wait(&context)
            if !starts {
                isUnstarted = true
                go(to: .suspended, &context)
            }
            giveUpBytes(.bytesLost, &context)
            // Nothing is held of what a mirror may have told: the URL is the first to be asked.
            mirrors = Mirrors(count: mirrors.count)
            gainAnew()
        }
        answer(tickets, &context)
    }

    /// Wants to run: waits for a slot, which nobody is given while there is no network, or for being wanted again.
    mutating func wait(_ context: inout Context) {
        go(to: .waiting(isShelved ? .shelved(until: nil) : .slot), &context)
    }

    private mutating func shelve(_ tickets: [Ticket], _ context: inout Context) {
        isShelved = true
        switch state {
        case .opening, .transferring, .verifying:
            close(for: .wait(.shelved(until: nil)), answering: tickets, &context)
        case .pausing(var pausing):
            pausing.tickets += tickets
            switch pausing.intent {
            case .restart: pausing.intent = .wait(.shelved(until: nil))
            case .wait(let reason): pausing.intent = .wait(.shelved(until: reason.nextAttempt))
            case .suspend, .cancel, .remove, .fail: break
            }
            go(to: .pausing(pausing), &context)
        case .publishing(var publishing):
            publishing.tickets += tickets
            state = .publishing(publishing)
        case .waiting(let reason):
            go(to: .waiting(.shelved(until: reason.nextAttempt)), &context)
            answer(tickets, &context)
        case .suspended, .failed, .succeeded:
            answer(tickets, &context)
        }
    }

    private mutating func unshelve(_ tickets: [Ticket], _ context: inout Context) {
        isShelved = false
        switch state {
        case .waiting(.shelved(let time)):
            if let time, time > context.now { go(to: .waiting(.retry(at: time)), &context) } else { wait(&context) }
        case .pausing(var pausing):
            guard case .wait(.shelved(let time)) = pausing.intent else { break }
            pausing.intent = time.map { .wait(.retry(at: $0)) } ?? .restart
            go(to: .pausing(pausing), &context)
        case .waiting, .opening, .transferring, .verifying, .publishing: break
        case .suspended, .failed, .succeeded: break
        }
        answer(tickets, &context)
    }

    private mutating func settle(_ tickets: [Ticket], _ context: inout Context) {
        switch state {
        case .pausing(var pausing) where pausing.intent.strength >= Pausing.Intent.suspend.strength:
            pausing.tickets += tickets
            state = .pausing(pausing)
        case .publishing(var publishing) where publishing.afterwards != nil:
            publishing.tickets += tickets
            state = .publishing(publishing)
        case .waiting, .opening, .transferring, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded:
            answer(tickets, &context)
        }
    }

    private mutating func pause(for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context) {
        switch state {
        case .opening, .transferring, .verifying:
            close(for: intent, answering: tickets, &context)
        case .pausing(let pausing):
            change(pausing, to: intent, tickets, &context)
        case .publishing(let publishing):
            ask(publishing, for: intent, tickets, &context)
        case .waiting, .suspended, .failed, .succeeded:
            pauseAtRest(for: intent, tickets, &context)
        }
    }

    mutating func pauseAtRest(for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context) {
        switch (intent, state) {
        case (.suspend, .waiting),
            (.suspend, .suspended) where isUnstarted:
            isUnstarted = false
            go(to: .suspended, &context)
            record(.status, &context)
            answer(tickets, &context)
        case (.cancel, .waiting), (.cancel, .suspended), (.cancel, .failed), (.remove, _):
            forget(for: intent, tickets, &context)
        case (.suspend, _), (.cancel, _), (.restart, _), (.wait, _), (.fail, _):
            answer(tickets, &context)
        }
    }

    /// A verb while the file is being closed: the stronger intent stays.
    private mutating func change(
        _ pausing: Pausing, to intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context
    ) {
        var pausing = pausing
        pausing.tickets += tickets
        if intent.strength > pausing.intent.strength { pausing.intent = intent }
        go(to: .pausing(pausing), &context)
    }

    /// A verb while the file is being moved: done afterwards.
    private mutating func ask(
        _ publishing: Publishing, for intent: Pausing.Intent, _ tickets: [Ticket], _ context: inout Context
    ) {
        var publishing = publishing
        publishing.tickets += tickets
        switch intent {
        case .cancel, .remove:
            if intent.strength > publishing.afterwards?.strength ?? 0 { publishing.afterwards = intent }
        case .suspend: publishing.isToRest = true
        case .restart, .wait, .fail: break
        }
        go(to: .publishing(publishing), &context)
    }

    func answer(_ tickets: [Ticket], _ context: inout Context) {
        for ticket in tickets { context.answer(ticket) }
    }
}

extension Verb {
    /// Whether it fills slots that were kept empty.
    var startsSomething: Bool {
        switch self {
        case .start, .startAdded, .unshelve: true
        case .downloadAgain(let starts): starts
        case .suspend, .cancel, .remove, .shelve, .settle: false
        }
    }
}

extension Pausing.Intent {
    /// Whether it is for what the URL has come to, which says nothing of another.
    fileprivate var isOfURL: Bool {
        switch self {
        case .wait(let reason): reason.nextAttempt != nil
        case .fail(let failure):
            switch failure.reason {
            case .transport, .status, .unusableResponse, .redirect, .link: true
            case .checksumMismatch, .disk, .store: false
            }
        case .restart, .suspend, .cancel, .remove: false
        }
    }

    /// Which of two intents stays when both were asked for: the one that keeps less.
    var strength: Int {
        switch self {
        case .restart: 1
        case .wait: 2
        case .fail: 3
        case .suspend: 4
        case .cancel(let keepsBytes): keepsBytes ? 5 : 6
        case .remove(let finished): finished ? 8 : 7
        }
    }
}
