import LannerCore

extension TransportContract {
    /// What the contract asks for.
    public enum Clause: String, ContractClause {
        // What comes, and when.
        /// Events come in the order that the protocol says.
        case order = "order of events"
        /// Exactly one ending comes.
        case oneEnding = "exactly one ending"
        /// Nothing comes after the ending.
        case nothingAfter = "nothing after the ending"
        /// No two events come at once.
        case oneAtATime = "one call at a time"
        /// A receiver may block, and still gets every byte.
        case blockedReceiver = "a receiver that blocks"
        /// While a receiver blocks, other exchanges of the transport begin and end.
        case others = "others while a receiver blocks"
        /// `pause()` and `resume()` return while the receiver blocks.
        case callsWhileBlocked = "pause and resume while the receiver blocks"
        /// An exchange may be begun inside `receive`.
        case beginInside = "begin inside receive"
        /// Many exchanges may be under way.
        case manyAtOnce = "many at once"
        /// Several exchanges may be begun by one call.
        case beginSeveral = "several begun by one call"

        // Bodies.
        /// A body without bytes brings none, and ends.
        case emptyBody = "empty body"
        /// A body ends where HTTP says, however it is framed.
        case framing = "every framing"
        /// A body that is too short is a failure.
        case shortBody = "short body"
        /// A connection that closes without an answer is a failure.
        case noAnswer = "no answer"
        /// No content coding is undone.
        case contentCoding = "content coding"
        /// Bytes stay as they are after `receive` has returned.
        case keptBytes = "bytes are kept"

        // Answers and requests.
        /// Every status is an answer, not a failure.
        case everyStatus = "every status"
        /// Of several heads the final one is told.
        case finalHead = "final head"
        /// Of fields that come twice both are told.
        case repeatedField = "a field that comes twice"
        /// No redirect is followed.
        case redirect = "no redirect followed"
        /// No challenge is answered.
        case challenge = "no challenge answered"
        /// No cookie comes back to the server.
        case cookie = "no cookie stored"
        /// No answer comes from a cache.
        case cache = "no cache used"
        /// The server sees the path and the query as they were given.
        case target = "target as given"
        /// The server sees the header fields as they were given.
        case fields = "fields as given"
        /// No header field is added that would change the answer.
        case ownFields = "no fields of its own"
        /// A range is asked for, and answered, as it is.
        case range = "ranges"
        /// The time that is given is for the connection and for silence, not for the whole exchange.
        case timeout = "timeout is for silence"

        // Ends that are asked for.
        /// An exchange may be canceled before the head.
        case cancelBeforeHead = "cancel before the head"
        /// An exchange may be canceled in the middle of the body.
        case cancelInBody = "cancel in the body"
        /// An exchange may be canceled as soon as it has begun.
        case cancelAtOnce = "cancel at once"
        /// An exchange may be canceled inside `receive`.
        case cancelInside = "cancel inside receive"
        /// `cancel()` returns while the receiver blocks.
        case cancelWhileBlocked = "cancel while the receiver blocks"
        /// `cancel()` after the ending does nothing.
        case cancelAfterEnd = "cancel after the end"
        /// `invalidate()` ends every exchange.
        case invalidate = "invalidate ends all"
        /// `invalidate()` returns while a receiver blocks.
        case invalidateWhileBlocked = "invalidate while a receiver blocks"
        /// `invalidate()` may be called inside `receive`.
        case invalidateInside = "invalidate inside receive"
        /// What is begun after `invalidate()` fails.
        case beginAfterInvalidate = "begin after invalidate"

        // What some transports promise beyond that.
        /// `pause()` stops the bytes until `resume()`.
        case pause = "pause stops bytes"
        /// `cancel()` and `invalidate()` end an exchange that is paused.
        case endWhilePaused = "cancel and invalidate while paused"
        /// `pause()` is ignored by a transport that cannot.
        case ignoredPause = "pause is ignored"
        /// What the transport holds is told as it grows.
        case progress = "progress"
        /// The body is handed over in a file, which the receiver may move away.
        case file = "file"
        /// With resume data an exchange goes on where it was canceled.
        case resume = "resume data"
        /// Resume data of a file that has changed bring the whole.
        case resumeChanged = "resume data of a changed file"
        /// Resume data that are none are a failure.
        case resumeUnusable = "resume data that cannot be used"

        // Exchanges that outlive the process.
        /// An exchange with a name goes on without its transport, and the next one takes it up without a request.
        case survivor = "an exchange outlives the process"
        /// The outcome of such an exchange is told again and again.
        case survivorEnded = "an outcome is kept"
        /// So is that it was canceled, with its resume data.
        case survivorCanceled = "a cancellation is kept"
        /// `discard(_:)` ends an exchange, and forgets it.
        case discard = "discard ends and forgets"
        /// An exchange without a name ends with its transport.
        case unnamed = "without a name nothing is left"
    }
}

extension TransportContract.Clause {
    /// What the documentation of `Transport` and its companions says.
    public var text: String {
        switch self {
        case .order: "`head`, then any number of `bytes`, or any number of `progress` and one `file`, then `end`"
        case .oneEnding: "Exactly one of `end` and `failure` comes, always"
        case .nothingAfter: "or at any point `failure`, and then nothing"
        case .oneAtATime: "The events come one at a time (never two calls at once)"
        case .blockedReceiver: "`receive` may block for a while when the receiver cannot keep up"
        case .others: "So it is not called on a thread that others need"
        case .invalidateWhileBlocked:
            "May be called … while a receiver blocks, and so does not wait for a thread that is there."
        case .beginInside, .invalidateInside, .cancelInside:
            "Methods may be called on any thread, also from inside `receive`."
        case .manyAtOnce: "Carries out single HTTP exchanges"
        case .beginSeveral:
            "Begins several exchanges …, each as by `begin(_:receive:)`, and returns as many, in that order."
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
        case .repeatedField: "A name may occur more than once"
        case .redirect: "follows no redirect"
        case .challenge: "answers no challenge"
        case .cookie: "stores no cookie"
        case .cache: "uses no cache"
        case .target: "a transport sends the request as it is given"
        case .fields: "Every header field to send, `Range` and `Accept-Encoding` included."
        case .ownFields: "it adds no header field of its own that would change the answer"
        case .range: "Redirects, retries, ranges and validators … are the manager's, once, for all transports"
        case .timeout: "How long a connection may take, and how long a response may stay silent"
        case .cancelBeforeHead, .cancelInBody, .cancelAtOnce:
            "also after `cancel()` (then `failure` with `canceled`, unless the end was already on its way)"
        case .cancelWhileBlocked, .callsWhileBlocked: "All methods return at once"
        case .cancelAfterEnd: "may be called after the end, where they do nothing"
        case .invalidate: "Ends every exchange and gives all resources back. … Calling it twice does nothing."
        case .beginAfterInvalidate: "Those under way and those begun later fail with `unavailable`."
        case .pause:
            "Asks for no more bytes until `resume()`; what is on its way still comes. … Of this and `resume()` the call "
                + "that came last counts, however often either was called"
        case .endWhilePaused:
            "Exactly one of `end` and `failure` comes, always, also after `cancel()` … and after `invalidate()`."
        case .ignoredPause: "A transport whose `Delivery` is not `pausable` ignores it."
        case .progress:
            "How many bytes of the file the transport holds so far … as bytes arrive … Not less than before."
        case .file:
            "The whole body in a file that the transport made; the receiver opens it or moves it away before it returns"
        case .resume:
            "goes on where that exchange stopped … A 206 is then the rest, up to the file's end, and the file that is "
                + "handed over is whole, what was held included."
        case .resumeChanged: "on condition that the file has not changed … A 200 is the whole file again."
        case .survivor: "A request with the name of an exchange that is kept … takes that exchange up."
        case .survivorEnded: "The same when the outcome was reported before, here or in another process."
        case .survivorCanceled: "keeps it under that name, with its outcome, until `discard(_:)`"
        case .discard: "it ends if it still runs, and what was kept of it is deleted"
        case .unnamed: "An exchange without a name ends with the process."
        case .resumeUnusable: "Data that it cannot use are a failure before the head …: `other`."
        }
    }

    /// Whether a transport has promised this.
    func applies(to traits: TransportTraits) -> Bool {
        switch self {
        case .order, .oneEnding, .nothingAfter, .oneAtATime, .blockedReceiver, .others, .callsWhileBlocked,
            .beginInside, .manyAtOnce, .beginSeveral, .emptyBody, .framing, .shortBody, .noAnswer, .contentCoding,
            .everyStatus, .finalHead, .repeatedField, .redirect, .challenge, .cookie, .cache, .target, .fields,
            .ownFields, .range, .timeout, .cancelBeforeHead, .cancelInBody, .cancelAtOnce, .cancelInside,
            .cancelWhileBlocked, .cancelAfterEnd, .invalidate, .invalidateWhileBlocked, .invalidateInside,
            .beginAfterInvalidate:
            true
        case .keptBytes: traits.delivery != .file
        case .pause, .endWhilePaused: traits.delivery == .pausable
        case .ignoredPause: traits.delivery != .pausable
        case .progress, .file: traits.delivery == .file
        case .survivor, .survivorEnded, .survivorCanceled, .discard, .unnamed: traits.outlivesProcess
        case .resume, .resumeChanged, .resumeUnusable: traits.delivery == .file && traits.hasResumeData
        }
    }

    func run(_ trial: TransportTrial) async throws {
        switch self {
        case .order: try await trial.order()
        case .oneEnding, .nothingAfter: try await trial.endings()
        case .oneAtATime: try await trial.oneAtATime()
        case .blockedReceiver: try await trial.blockedReceiver()
        case .others: try await trial.others()
        case .callsWhileBlocked: try await trial.callsWhileBlocked()
        case .beginInside: try await trial.beginInside()
        case .manyAtOnce: try await trial.manyAtOnce()
        case .beginSeveral: try await trial.beginSeveral()
        case .emptyBody: try await trial.emptyBody()
        case .framing: try await trial.framing()
        case .shortBody: try await trial.shortBody()
        case .noAnswer: try await trial.noAnswer()
        case .contentCoding: try await trial.contentCoding()
        case .keptBytes: try await trial.keptBytes()
        case .everyStatus: try await trial.everyStatus()
        case .finalHead: try await trial.finalHead()
        case .repeatedField: try await trial.repeatedField()
        case .redirect: try await trial.redirect()
        case .challenge: try await trial.challenge()
        case .cookie: try await trial.cookie()
        case .cache: try await trial.cache()
        case .target: try await trial.target()
        case .fields: try await trial.fields()
        case .ownFields: try await trial.ownFields()
        case .range: try await trial.range()
        case .timeout: try await trial.timeout()
        case .cancelBeforeHead: try await trial.cancelBeforeHead()
        case .cancelInBody: try await trial.cancelInBody()
        case .cancelAtOnce: try await trial.cancelAtOnce()
        case .cancelInside: try await trial.cancelInside()
        case .cancelWhileBlocked: try await trial.cancelWhileBlocked()
        case .cancelAfterEnd: try await trial.cancelAfterEnd()
        case .invalidate: try await trial.invalidate()
        case .invalidateWhileBlocked: try await trial.invalidateWhileBlocked()
        case .invalidateInside: try await trial.invalidateInside()
        case .beginAfterInvalidate: try await trial.beginAfterInvalidate()
        case .pause: try await trial.pause()
        case .endWhilePaused: try await trial.endWhilePaused()
        case .ignoredPause: try await trial.ignoredPause()
        case .progress: try await trial.progress()
        case .file: try await trial.file()
        case .resume: try await trial.resume()
        case .resumeChanged: try await trial.resumeChanged()
        case .resumeUnusable: try await trial.resumeUnusable()
        case .survivor: try await trial.survivor()
        case .survivorEnded: try await trial.survivorEnded()
        case .survivorCanceled: try await trial.survivorCanceled()
        case .discard: try await trial.discard()
        case .unnamed: try await trial.unnamed()
        }
    }
}
