// Another link to the same file: asked for when the server refuses the one in hand, when that one has expired, or before
// every attempt. Between slot and first request, so that no more calls are out than there are slots.

/// What is known of the link in hand.
struct HeldLink: Sendable, Hashable {
    /// When its time is over, in seconds since 1970; nil when that is not known.
    var expires: Int64?
    /// The status by which a server has refused it.
    var refusal: Int?
    /// Whether it was given since the slot was, and has brought nothing yet: another would fare no better.
    var isFresh = false
}

extension Download {
    /// Whether a refusal is worth another link.
    func wantsLink(after status: Int, _ settings: Settings) -> Bool {
        settings.links != .never && !link.isFresh && RefusalTables.ofLinks.contains(status)
    }

    /// Why another link is wanted before the first request; nil when the one in hand will do.
    private func wantedLink(_ context: Context) -> LinkReason? {
        guard context.settings.links != .never, !link.isFresh, mirrors.main == 0 else { return nil }
        if let status = link.refusal { return .refused(status: status) }
        if let expires = link.expires, context.wallSeconds >= expires { return .expired }
        return context.settings.links == .always ? .start : nil
    }

    /// Whether an attempt waits for a link.
    package func isAsking(in wanted: Attempt) -> Bool {
        guard case .opening(let opening) = state, case .link = opening.step else { return false }
        return attempt == wanted
    }

    /// Asks for another link if one is wanted; says whether it does.
    mutating func askForLink(_ opening: Opening, _ context: inout Context) -> Bool {
        guard let reason = wantedLink(context) else { return false }
        go(to: .opening(Opening(step: .link(asked: context.now))), &context)
        perform(.ask(reason), &context)
        return true
    }

    mutating func handle(_ event: LinkEvent, of from: Attempt, _ context: inout Context) {
        guard from == attempt else { return ignore(.olderAttempt(from), &context) }
        guard isAsking(in: from), case .opening(let opening) = state else { return ignore(.late("link"), &context) }
        switch event {
        case .given(let isOther, let expires): given(isOther, expires, opening, &context)
        case .none(let failure):
            // Whoever starts it again has the link that there is tried first.
            link.refusal = nil
            if goesOnWithOldURL { return restart(after: failure, &context) }
            if !leaveURL(after: failure, &context) { close(for: .fail(failure), &context) }
        case .failed(let failure): retryOrFail(failure, &context)
        }
    }

    private mutating func given(_ isOther: Bool, _ expires: Int64?, _ opening: Opening, _ context: inout Context) {
        // That of a link to the old URL says nothing of the new one.
        link = HeldLink(expires: goesOnWithOldURL ? link.expires : expires, isFresh: true)
        record(.status, &context)
        // Resume data lead where they were left, and to nowhere else.
        if isOther, carried.data != nil { return startOver(.cannotResume, &context) }
        beginFirst(opening, &context)
    }

    /// The user says when the link's time is over.
    mutating func expectLink(expires: Int64?, _ context: inout Context) {
        link.expires = expires
        recordChange(&context)
    }

    func cancelAsking(_ context: inout Context) {
        if isAsking(in: attempt) { perform(.cancel, &context) }
    }
}
