// Where redirects have led. One URL may lead to several servers in turn, each with validators of its own: what one of them
// began goes on there, before anything is given up for what another has.

/// What is known of where the bytes in hand came from.
enum OldWay: Sendable, Equatable {
    /// From the URL itself, or nobody knows any more.
    case none
    /// From where a redirect led.
    case known
    /// The same, and nothing came of asking it for the rest.
    case tried
}

extension Download {
    /// An answer was found good: the rest may be had where it comes from.
    mutating func keepWay(of exchange: Exchange, _ context: inout Context) {
        if exchange.ask.isElsewhere || exchange.wasLed { return }
        if exchange.takesOldWay {
            oldWay = .known
        } else if exchange.redirects > 0 {
            oldWay = .known
            perform(.keepWay(exchange.number), &context)
        } else {
            oldWay = .none
        }
    }

    /// Whether the first answer of an attempt would cost the bytes in hand, and comes from where a redirect led that may
    /// have led elsewhere before.
    func isLedAstray(_ verdict: Verdict, _ exchange: Exchange) -> Bool {
        guard case .opening = state, oldWay == .known, completed > 0 else { return false }
        return exchange.redirects > 0 && exchange.ask.range != nil && !exchange.ask.isElsewhere && verdict.costsBytes
    }

    /// Asks the same where the bytes in hand came from.
    mutating func takeOldWay(insteadOf exchange: Exchange, _ context: inout Context) {
        perform(.stop(exchange.number, keepBytes: false), &context)
        perform(.takeOldWay(exchange.ask.source), &context)
        beginAgain(exchange, takesOldWay: true, &context)
    }

    /// Nothing is to be had there any more: what the URL leads to counts.
    mutating func leaveOldWay(_ exchange: Exchange, isOver: Bool = false, _ context: inout Context) {
        oldWay = .tried
        if !isOver { perform(.stop(exchange.number, keepBytes: false), &context) }
        perform(.leadBack, &context)
        beginAgain(exchange, takesOldWay: false, &context)
    }

    private mutating func beginAgain(_ exchange: Exchange, takesOldWay: Bool, _ context: inout Context) {
        var next = Exchange(number: context.makeExchangeNumber(), ask: exchange.ask, begun: context.now)
        next.takesOldWay = takesOldWay
        replace(exchange.number, with: next)
        perform(.begin(next.number, next.ask), &context)
    }
}

extension Verdict {
    fileprivate var costsBytes: Bool {
        switch self {
        case .restart, .fromZero, .unusable: true
        case .part, .whole, .resumed, .complete, .redirect, .refused: false
        }
    }

    /// Whether it is what a request for a part was to bring.
    var isOfUse: Bool {
        switch self {
        case .part, .complete: true
        case .whole, .resumed, .restart, .fromZero, .unusable, .redirect, .refused: false
        }
    }
}
