// What a user asks. A verb that has nothing to do is answered at once; one that has to wait for the file to be closed
// leaves its ticket in the state, which answers it when it comes to rest. So a ticket is answered exactly once.

extension Download {
    mutating func user(_ verb: Verb, _ ticket: Ticket?, _ context: inout Context) {
        switch verb {
        case .start: start(ticket, &context)
        case .downloadAgain: downloadAgain(ticket, &context)
        case .suspend: pause(for: .suspend, ticket, &context)
        case .cancel: pause(for: .cancel, ticket, &context)
        case .remove(let completely): pause(for: .remove(finished: completely), ticket, &context)
        }
    }

    private mutating func start(_ ticket: Ticket?, _ context: inout Context) {
        switch state {
        case .suspended, .failed:
            failures = 0
            // A server that could not be trusted with ranges may have been mended.
            isPlain = false
            wait(&context)
            record(.status, &context)
        case .waiting(let reason):
            switch reason {
            case .retry, .disk, .network: wait(&context)
            case .slot: break
            }
        case .pausing(var pausing):
            switch pausing.intent {
            case .suspend, .wait, .fail:
                failures = 0
                pausing.intent = .restart
                go(to: .pausing(pausing), &context)
            case .restart, .cancel, .remove: break
            }
        case .opening, .transferring, .verifying, .publishing, .succeeded: break
        }
        answer(ticket, &context)
    }

    /// The user has changed what the download is to be.
    mutating func expectDigest(_ hasDigest: Bool, _ context: inout Context) {
        self.hasDigest = hasDigest
        recordChange(&context)
    }

    /// Records what the user has changed.
    mutating func recordChange(_ context: inout Context) {
        switch state {
        case .waiting, .opening, .transferring, .verifying, .suspended, .failed:
            record(.status, &context)
        case .pausing, .publishing, .succeeded:
            // The first two record by themselves, or forget; the last is done.
            break
        }
    }

    private mutating func downloadAgain(_ ticket: Ticket?, _ context: inout Context) {
        if state == .succeeded {
            failures = 0
            isPlain = false
            wait(&context)
            giveUpBytes(.bytesLost, &context)
            // Another download of the same: it gains from its first byte on.
            highMark = 0
            ladder = RungLadder()
        }
        answer(ticket, &context)
    }

    /// Wants to run: waits for a slot, which nobody is given while there is no network.
    mutating func wait(_ context: inout Context) {
        go(to: .waiting(.slot), &context)
    }

    private mutating func pause(for intent: Pausing.Intent, _ ticket: Ticket?, _ context: inout Context) {
        switch state {
        case .opening, .transferring, .verifying:
            close(for: intent, ticket.map { [$0] } ?? [], &context)
        case .pausing(let pausing):
            change(pausing, to: intent, ticket, &context)
        case .publishing(let publishing):
            ask(publishing, for: intent, ticket, &context)
        case .waiting, .suspended, .failed, .succeeded:
            pauseAtRest(for: intent, ticket, &context)
        }
    }

    private mutating func pauseAtRest(for intent: Pausing.Intent, _ ticket: Ticket?, _ context: inout Context) {
        switch (intent, state) {
        case (.suspend, .waiting):
            go(to: .suspended, &context)
            record(.status, &context)
            answer(ticket, &context)
        case (.cancel, .waiting), (.cancel, .suspended), (.cancel, .failed), (.remove, _):
            forget(for: intent, ticket.map { [$0] } ?? [], &context)
        case (.suspend, _), (.cancel, _), (.restart, _), (.wait, _), (.fail, _):
            answer(ticket, &context)
        }
    }

    /// A verb while the file is being closed: the stronger intent stays.
    private mutating func change(
        _ pausing: Pausing, to intent: Pausing.Intent, _ ticket: Ticket?, _ context: inout Context
    ) {
        var pausing = pausing
        if let ticket { pausing.tickets.append(ticket) }
        if intent.strength > pausing.intent.strength { pausing.intent = intent }
        go(to: .pausing(pausing), &context)
    }

    /// A verb while the file is being moved: done afterwards.
    private mutating func ask(
        _ publishing: Publishing, for intent: Pausing.Intent, _ ticket: Ticket?, _ context: inout Context
    ) {
        var publishing = publishing
        if let ticket { publishing.tickets.append(ticket) }
        switch intent {
        case .cancel, .remove:
            if intent.strength > publishing.afterwards?.strength ?? 0 { publishing.afterwards = intent }
        case .suspend, .restart, .wait, .fail: break
        }
        go(to: .publishing(publishing), &context)
    }

    func answer(_ ticket: Ticket?, _ context: inout Context) {
        if let ticket { context.answer(ticket) }
    }

    func answer(_ tickets: [Ticket], _ context: inout Context) {
        for ticket in tickets { context.answer(ticket) }
    }
}

extension Pausing.Intent {
    /// Which of two intents stays when both were asked for: the one that keeps less.
    var strength: Int {
        switch self {
        case .restart: 1
        case .wait: 2
        case .fail: 3
        case .suspend: 4
        case .cancel: 5
        case .remove(let finished): finished ? 7 : 6
        }
    }
}
