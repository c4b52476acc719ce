// Answers to requests for a part that would cost the bytes in hand, and prove nothing: one of several servers may be odd
// for once, and a network that wants a login first has a page of its own for every file. They are not believed at once.

extension Download {
    /// Whether an answer is not believed: what is to be done instead of giving up the bytes in hand is done.
    mutating func doubt(_ verdict: Verdict, _ exchange: Exchange, _ context: inout Context) -> Bool {
        if let oddity = verdict.oddity { return askOtherwise(exchange, after: oddity, &context) }
        if case .whole = verdict, doubts.wholeTry == .sought, completed > 0 {
            // The server is up again, and may send parts as well.
            (doubts.wholeTry, seeksWhole) = (.possible, nil)
            close(for: .restart, &context)
            return true
        }
        guard completed > 0, !doubts.takesUnnamed, isUnnamed(verdict, exchange) else { return false }
        if doubts.unnamed < .max { doubts.unnamed += 1 }
        retryOrFail(.unnamed, at: exchange.ask.source, &context)
        return true
    }

    /// Whether a whole comes that is not said to be a version of anything, and is not of the size of the one in hand, which
    /// was.
    private func isUnnamed(_ verdict: Verdict, _ exchange: Exchange) -> Bool {
        let new: Version
        switch verdict {
        case .restart(let version, _): new = version
        case .whole(let version) where seeksWhole != nil: new = version
        case .part, .whole, .resumed, .fromZero, .complete, .unusable, .redirect, .refused: return false
        }
        guard let held = exchange.ask.held ?? version, held.isNamed, !new.isNamed(as: held) else { return false }
        return new.total == nil || new.total != held.total
    }

    /// Whether the whole is asked for since parts of it are refused, or of no use.
    var seeksWholeForParts: Bool { seeksWhole.map { $0 != .contentChanged } ?? false }

    /// An answer was found good.
    mutating func trust() {
        doubts = Doubts()
        mirrors.forgetPage()
    }

    /// An answer makes no sense: the part is asked for once more, beside others alone, else in another attempt, and then
    /// the whole. Not where nothing can be lost by that at once.
    private mutating func askOtherwise(
        _ exchange: Exchange, after oddity: Oddity, _ context: inout Context
    ) -> Bool {
        guard exchange.ask.range != nil, completed > 0 else { return false }
        let failure = DownloadFailure(.unusableResponse, oddity.words)
        doubts.partRefusals += 1
        // The first answer of the other attempt decides.
        if tryAgain(after: failure, exchange, over: nil, &context) { return true }
        if doubts.partRefusals == 1, context.settings.retry.maximumRetries != 0 {
            waitOnce(after: failure, over: nil, &context)
        } else {
            seeksWhole = oddity.reason
            restart(after: failure, over: nil, &context)
        }
        return true
    }

    /// Some servers have a file, and only refuse to send a part of it: all of it is asked for, where bytes are at stake
    /// after another try; where the failure may pass, once no retry is left. False when nothing speaks for that, that has
    /// been tried, or there is another place to ask: then it may be asked for that when the others have come to nothing.
    mutating func seekWhole(
        after failure: DownloadFailure, _ exchange: Exchange, retryAfter: Duration? = nil,
        over: ExchangeNumber? = nil, _ context: inout Context
    ) -> Bool {
        let mayPass = failure.reason.isWorthRetrying(retryAfter: retryAfter)
        // Who may have been asked for the whole in vain is asked for a part again first.
        if mayPass, !exchange.isAccepted, seeksWhole == .rangesNotServed {
            (seeksWhole, doubts.wholeTry) = (nil, .none)
        }
        guard exchange.ask.range != nil, !goesOnWithOldURL, failure.reason.maySpeakOfRanges,
            context.settings.retry.maximumRetries != 0
        else { return false }
        guard mirrors.isLast(exchange.ask.source) || doubts.wholeTry == .possible else {
            mirrors.refusePart(exchange.ask.source)
            return false
        }
        guard case .opening = state else {
            return !mayPass && tryAgain(after: failure, exchange, over: over, &context)
        }
        if mayPass {
            let tries = context.settings.retry.maximumRetries ?? Pace.fruitlessTries
            guard failures >= tries || doubts.wholeTry == .possible else { return false }
            doubts.wholeTry = doubts.wholeTry == .none ? .sought : .none
        }
        doubts.partRefusals += 1
        if doubts.partRefusals == 1, completed > 0, !mayPass {
            waitOnce(after: failure, over: over, &context)
        } else {
            seeksWhole = .rangesNotServed
            if let rest = restEnd(after: retryAfter, context) {
                retry(failure, at: rest, over: over, &context)
            } else {
                restart(after: failure, over: over, &context)
            }
        }
        return true
    }

    /// All places have come to nothing, and one has refused a part: it is asked for the whole, once. False when there is
    /// none.
    mutating func seekWholeOfPartless(
        after failure: DownloadFailure, over: ExchangeNumber?, _ context: inout Context
    ) -> Bool {
        guard failure.reason.isOfPlace, beginAtPartless() else { return false }
        restart(after: failure, over: over, &context)
        return true
    }

    /// The next attempt asks a place that has refused a part for the whole. False when there is none.
    mutating func beginAtPartless() -> Bool {
        guard mirrors.beginAtPartless() else { return false }
        (seeksWhole, doubts.wholeTry) = (.rangesNotServed, .sought)
        return true
    }

    /// Who has sent parts in this attempt is asked again in another, whose first request shows whether that is over. Not
    /// without a gain.
    private mutating func tryAgain(
        after failure: DownloadFailure, _ exchange: Exchange, over: ExchangeNumber?, _ context: inout Context
    ) -> Bool {
        guard case .transferring(let transfer) = state, transfer.received > 0, !exchange.isAccepted else {
            return false
        }
        restart(after: failure, over: over, &context)
        return true
    }

    /// Tries again after the time of a first failure, without counting it as one.
    private mutating func waitOnce(after failure: DownloadFailure, over: ExchangeNumber?, _ context: inout Context) {
        let time = context.now + context.settings.retry.delay(failures: 1, random: context.random.next())
        retry(failure, at: time, over: over, &context)
    }
}

/// What has come to nothing since the last answer that was found good.
struct Doubts: Sendable {
    /// How often in a row a request for a part was refused as such, or had an answer that was not believed.
    var partRefusals = 0
    /// How often something has come in the place of the rest that is not said to be a version, and whether that is taken,
    /// since the user has started the download again after it had failed for that.
    var unnamed: UInt8 = 0
    var takesUnnamed = false
    /// Where a server stands that has failed at parts for so long that it was asked for the whole.
    var wholeTry = WholeTry.none
}

/// Whether a server that fails at parts sends the whole.
enum WholeTry: Sendable, Hashable {
    case none
    /// It is asked for that.
    case sought
    /// It does, and is asked for the part once more: it may have been the server's bad moment.
    case possible
}

extension DownloadFailure {
    package static let unnamed = DownloadFailure(
        .transport(.other),
        "In the place of the rest came something that is not said to be a version of the file, as the page of a network "
            + "that wants a login; log in there and start again, or remove the download to begin anew.")
}

/// What makes no sense in an answer to a request for a part, whatever the file is like.
private struct Oddity {
    var words: String
    /// Why the bytes in hand are given up, when all of the file comes in their place.
    var reason: RestartReason
}

extension Verdict {
    fileprivate var oddity: Oddity? {
        switch self {
        case .unusable(let why): Oddity(words: why, reason: .unusableAnswer)
        case .fromZero(.unusableAnswer): Oddity(words: "status 416 without a size", reason: .unusableAnswer)
        case .fromZero(.rangesNotServed):
            Oddity(words: "status 416 for a part that there is", reason: .rangesNotServed)
        case .part, .whole, .resumed, .restart, .fromZero, .complete, .redirect, .refused: nil
        }
    }
}

extension Version {
    /// Whether something tells it from others of the same size.
    fileprivate var isNamed: Bool { hasValidators || digest != nil }

    /// Whether it is, and not by less than the other: frameworks give every page they make a weak tag.
    fileprivate func isNamed(as other: Version) -> Bool {
        let isOnlyWeak = entityTag?.isWeak == true && lastModified == nil && digest == nil
        let hasMore = other.entityTag?.isWeak == false || other.lastModified != nil || other.digest != nil
        return isNamed && !(isOnlyWeak && hasMore)
    }
}
