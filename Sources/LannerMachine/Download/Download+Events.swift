// What comes from the parts of the engine, told apart; and what is wanted of them.

extension Download {
    mutating func handle(_ event: FileEvent, of from: Attempt, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        switch event {
        case .opened(let held): opened(held: held, &context)
        case .wrote(let range): wrote(range, &context)
        case .damaged(let piece): damaged(piece, &context)
        case .synced(let ranges): synced(ranges, &context)
        case .verified(let result): verified(result, &context)
        case .published: published(&context)
        case .placeTaken: placeTaken(&context)
        case .unconfirmed(let failure): unconfirmed(failure, &context)
        case .failed(let failure): fileFailed(failure, &context)
        case .closed(let written, let synced): closed(written: written, synced: synced, &context)
        case .discarded: discarded(&context)
        }
    }

    mutating func handle(_ event: StoreEvent, of from: Attempt, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        switch event {
        case .recorded: recorded(&context)
        case .failed(let failure): recordFailed(failure, &context)
        }
    }

    mutating func handle(_ event: ExchangeEvent, of number: ExchangeNumber, _ context: inout Context) {
        switch event {
        case .head(let head): self.head(number, head, &context)
        case .redirected: redirected(number, &context)
        case .received(let count): received(number, count, &context)
        case .holds(let count): holds(number, count, &context)
        case .resumeData(let data): resumeData(number, data, &context)
        case .heldBack(let time): heldBack(number, until: time, &context)
        case .ended(let count): ended(number, received: count, &context)
        case .overflowed: overflowed(number, &context)
        case .failed(let failure): exchangeFailed(number, failure, &context)
        }
    }

    func perform(_ action: FileAction, _ context: inout Context) {
        context.actions.append(.file(id, attempt, action))
    }

    func perform(_ action: TransportAction, _ context: inout Context) {
        context.actions.append(.transport(id, action))
    }

    func perform(_ action: LinkAction, _ context: inout Context) {
        context.actions.append(.link(id, attempt, action))
    }

    func perform(_ action: StoreAction, _ context: inout Context) {
        context.actions.append(.store(id, attempt, action))
    }

    func tell(_ notice: Notice, _ context: inout Context) {
        context.actions.append(.tell(id, notice))
    }

    func ignore(_ reason: IgnoredReason, _ context: inout Context) {
        context.actions.append(.ignored(id, reason))
    }
}
