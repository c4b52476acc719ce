import LannerCore

extension TransportContract {
    /// What the contract asks for.
    public enum Clause: String, ContractClause {
        // What comes, and when.
        case order = "order of events"
        case oneEnding = "exactly one ending"
        case nothingAfter = "nothing after the ending"
        case oneAtATime = "one call at a time"
        case blockedReceiver = "a receiver that blocks"
        case beginInside = "begin inside receive"
        case manyAtOnce = "many at once"

        // Bodies.
        case emptyBody = "empty body"
        case framing = "every framing"
        case shortBody = "short body"
        case noAnswer = "no answer"
        case contentCoding = "content coding"
        case keptBytes = "bytes are kept"

        // Answers and requests.
        case everyStatus = "every status"
        case finalHead = "final head"
        case redirect = "no redirect followed"
        case challenge = "no challenge answered"
        case cookie = "no cookie stored"
        case target = "target as given"
        case fields = "fields as given"
        case ownFields = "no fields of its own"
        case range = "ranges"

        // Ends that are asked for.
        case cancelBeforeHead = "cancel before the head"
        case cancelInBody = "cancel in the body"
        case cancelAtOnce = "cancel at once"
        case cancelInside = "cancel inside receive"
        case cancelWhileBlocked = "cancel while the receiver blocks"
        case cancelAfterEnd = "cancel after the end"
        case invalidate = "invalidate ends all"
        case invalidateInside = "invalidate inside receive"
        case beginAfterInvalidate = "begin after invalidate"

        // What some transports promise beyond that.
        case pause = "pause stops bytes"
        case ignoredPause = "pause is ignored"
        case progress = "progress"
        case file = "file"
        case resume = "resume data"
        case resumeChanged = "resume data of a changed file"
        case resumeUnusable = "resume data that cannot be used"
    }
}

extension TransportContract.Clause {
    /// What the documentation of ``Transport`` and its companions says.
    public var text: String {
        switch self {
        case .order: "`head`, then any number of `bytes`, or any number of `progress` and one `file`, then `end`"
        case .oneEnding: "Exactly one of `end` and `failure` comes, always"
        case .nothingAfter: "or at any point `failure`, and then nothing"
        case .oneAtATime: "The events come one at a time (never two calls at once)"
        case .blockedReceiver: "`receive` may block for a while when the receiver cannot keep up"
        case .beginInside, .invalidateInside, .cancelInside:
            "Methods may be called on any thread, also from inside `receive`."
        case .manyAtOnce: "Carries out single HTTP exchanges"
        case .emptyBody: "Never empty."
        case .framing:
            "`end` says that the body is complete by the framing of HTTP: the number of bytes announced by "
                + "`Content-Length`, the last chunk, or the close of the connection where neither was given."
        case .shortBody: "A shorter body is a failure, `lengthMismatch` or `connectionLost`."
        case .noAnswer: "(`connectionLost`) The connection was reset or closed before the response was complete."
        case .contentCoding: "as it was sent (no content coding is undone)"
        case .keptBytes:
            "It is kept, not copied: the memory behind it must not change after `receive` has returned."
        case .everyStatus: "reports what came back"
        case .finalHead: "The final response's status and header."
        case .redirect: "follows no redirect"
        case .challenge: "answers no challenge"
        case .cookie: "stores no cookie"
        case .target: "a transport sends the request as it is given"
        case .fields: "Every header field to send, `Range` and `Accept-Encoding` included."
        case .ownFields: "it adds no header field of its own but what its protocol demands"
        case .range: "Redirects, retries, ranges and validators … are the manager's, once, for all transports"
        case .cancelBeforeHead, .cancelInBody, .cancelAtOnce:
            "also after `cancel()` (then `failure` with `canceled`, unless the end was already on its way)"
        case .cancelWhileBlocked: "All methods return at once"
        case .cancelAfterEnd: "may be called after the end, where they do nothing"
        case .invalidate: "Ends every exchange and gives all resources back. … Calling it twice does nothing."
        case .beginAfterInvalidate: "Exchanges begun later fail with `unavailable`."
        case .pause: "Asks for no more bytes until `resume()`; what is on its way still comes."
        case .ignoredPause: "A transport whose `Delivery` is not `pausable` ignores it."
        case .progress:
            "How many bytes of the file the transport holds so far … as bytes arrive … Not less than before."
        case .file:
            "The whole body in a file that the transport made; the receiver moves it away before it returns"
        case .resume:
            "goes on where that exchange stopped … A 206 is then the rest, up to the file's end, and the file that is "
                + "handed over is whole, what was held included."
        case .resumeChanged: "on condition that the file has not changed … A 200 is the whole file again."
        case .resumeUnusable: "Data that it cannot use are a failure before the head …: `other`."
        }
    }

    /// Whether a transport has promised this.
    func applies(to traits: TransportTraits) -> Bool {
        switch self {
        case .order, .oneEnding, .nothingAfter, .oneAtATime, .blockedReceiver, .beginInside, .manyAtOnce, .emptyBody,
            .framing, .shortBody, .noAnswer, .contentCoding, .everyStatus, .finalHead, .redirect, .challenge, .cookie,
            .target, .fields, .ownFields, .range, .cancelBeforeHead, .cancelInBody, .cancelAtOnce, .cancelInside,
            .cancelWhileBlocked, .cancelAfterEnd, .invalidate, .invalidateInside, .beginAfterInvalidate:
            true
        case .keptBytes: traits.delivery != .file
        case .pause: traits.delivery == .pausable
        case .ignoredPause: traits.delivery != .pausable
        case .progress, .file: traits.delivery == .file
        case .resume, .resumeChanged, .resumeUnusable: traits.delivery == .file && traits.hasResumeData
        }
    }

    func run(_ trial: TransportTrial) async throws {
        switch self {
        case .order: try await trial.order()
        case .oneEnding, .nothingAfter: try await trial.endings()
        case .oneAtATime: try await trial.oneAtATime()
        case .blockedReceiver: try await trial.blockedReceiver()
        case .beginInside: try await trial.beginInside()
        case .manyAtOnce: try await trial.manyAtOnce()
        case .emptyBody: try await trial.emptyBody()
        case .framing: try await trial.framing()
        case .shortBody: try await trial.shortBody()
        case .noAnswer: try await trial.noAnswer()
        case .contentCoding: try await trial.contentCoding()
        case .keptBytes: try await trial.keptBytes()
        case .everyStatus: try await trial.everyStatus()
        case .finalHead: try await trial.finalHead()
        case .redirect: try await trial.redirect()
        case .challenge: try await trial.challenge()
        case .cookie: try await trial.cookie()
        case .target: try await trial.target()
        case .fields: try await trial.fields()
        case .ownFields: try await trial.ownFields()
        case .range: try await trial.range()
        case .cancelBeforeHead: try await trial.cancelBeforeHead()
        case .cancelInBody: try await trial.cancelInBody()
        case .cancelAtOnce: try await trial.cancelAtOnce()
        case .cancelInside: try await trial.cancelInside()
        case .cancelWhileBlocked: try await trial.cancelWhileBlocked()
        case .cancelAfterEnd: try await trial.cancelAfterEnd()
        case .invalidate: try await trial.invalidate()
        case .invalidateInside: try await trial.invalidateInside()
        case .beginAfterInvalidate: try await trial.beginAfterInvalidate()
        case .pause: try await trial.pause()
        case .ignoredPause: try await trial.ignoredPause()
        case .progress: try await trial.progress()
        case .file: try await trial.file()
        case .resume: try await trial.resume()
        case .resumeChanged: try await trial.resumeChanged()
        case .resumeUnusable: try await trial.resumeUnusable()
        }
    }
}
